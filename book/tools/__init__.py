"""Build tooling: executes the chapters and renders the book. Nothing in poe/ knows it."""
