"""One module a case; each has `rows(mode)` for the modes "tiny", "quick" and "full"."""
