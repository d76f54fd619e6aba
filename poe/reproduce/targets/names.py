"""Short names of the datasets, and a panel in words."""

from __future__ import annotations

from poe.reproduce.curves import Panel

S, T, H, C = "summeval", "topicalchat", "hanna", "cmcqrd"


def panel(of: Panel) -> str:
    """Judge, dataset and attribute for a list of targets."""
    return f"{of[0]}, {of[1]} {of[2]}"
