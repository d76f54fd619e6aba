"""The commands of `poe`, a module each; `add` puts a command into the parser."""
