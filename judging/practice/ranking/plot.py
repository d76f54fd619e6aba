"""The figure of a ranking: scores with their intervals, the best on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from judging.plots import INK, METHODS
from judging.quoting import short

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot"]

NAMED = 60  # texts up to which each has its name
EDGES = (12, 6)  # how many of more have one, at the top and at the bottom


def plot(table: pd.DataFrame, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """A ranking (`Ranking.to_frame`) with its intervals, best on top, named at the side.

    Of many texts the first and the last are named, beside the plot and led to their dots.
    """
    table = table[table["same_text_as"] == ""]
    n = len(table)
    names = [short(name, 32).replace("$", r"\$") for name in table["name"]]  # no formulas
    if ax is None:
        height = 1.0 + 0.22 * n if n <= NAMED else 8.0
        _, ax = plt.subplots(figsize=(6.6, height), layout="constrained")
    y, look, many = np.arange(1, n + 1), METHODS["PoE-BT"], n > NAMED
    low, high, score, ranks = (table[c].to_numpy() for c in ("low", "high", "score", "rank"))
    ax.hlines(y, low, high, color=look.colour, alpha=0.35 if many else 0.45, lw=1 if many else 3)
    ax.plot(score, y, "o", color=look.colour, ms=2 if many else 5)
    ax.set_ylim(n + 0.8, 0.2)
    ax.set_xlabel(f"score with its {level:.0%} interval")
    if not many:
        ax.set_yticks(y, names)
        ax.tick_params(axis="y", length=0)
        return ax
    ax.set_ylabel("rank")
    top, bottom = EDGES
    gap = 0.023 * n
    places = [(k, 1 + gap * k) for k in range(top)]
    places += [(n - 1 - k, n - gap * k) for k in range(bottom)]
    for k, at in places:
        ax.annotate(
            f"{ranks[k]}  {names[k]}",
            xy=(high[k], y[k]),
            xytext=(1.03, at),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#BBBBBB", "lw": 0.6, "shrinkB": 1},
        )
    return ax
