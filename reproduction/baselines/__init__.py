"""Baselines of the papers that no product of experts needs."""
