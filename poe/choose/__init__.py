"""Which comparisons to ask for, before any answer and given answers; and when to stop."""
