"""Questions of this book's own, one file a study, each with what was declared before it was run."""
