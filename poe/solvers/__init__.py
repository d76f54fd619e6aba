"""Solvers: stacks of small dense problems, and one large sparse problem."""
