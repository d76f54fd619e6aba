"""The reproduction: published numbers, ours, and how far apart they are."""
