"""Rank texts: ask in rounds, fit, and say what came of it."""
