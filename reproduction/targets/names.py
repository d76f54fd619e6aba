"""Short names of the datasets, and a panel in words."""

from __future__ import annotations

from reproduction.curves import Panel

S, T, H, C = "summeval", "topicalchat", "hanna", "cmcqrd"


CAPTIONED = "panel as captioned"
CHOSEN = "panel of our choice, the text at hand names none"


def panel(of: Panel, said: str = CAPTIONED) -> str:
    """Judge, dataset and attribute for a list of targets, and whether the paper names them."""
    return f"{of[0]}, {of[1]} {of[2]} ({said})"
