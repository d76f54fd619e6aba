"""One look for every figure: colours and markers a method, direct labels, evidence labels.

matplotlib is imported with this module alone; nothing in the core imports it.
The colours are Okabe and Ito's, distinguishable to colour-blind readers; they also differ
in lightness and each method has its own marker and dash, so figures survive a grey printer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "INK",
    "ITEMS",
    "METHODS",
    "PAPER",
    "Look",
    "curves",
    "evidence",
    "use_style",
]


class Look(NamedTuple):
    """How a method is drawn everywhere in the book."""

    label: str
    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]]


METHODS: dict[str, Look] = {
    "win-ratio": Look("win-ratio", "#7A7A7A", "s", (0, (1, 1))),
    "BT": Look("Bradley-Terry, decisions", "#56B4E9", "^", (0, (4, 2))),
    "PoE-g-hard": Look("Gaussian, decisions", "#CC79A7", "v", (0, (3, 1, 1, 1))),
    "avg-prob": Look("average probability", "#E69F00", "D", (0, (5, 1))),
    "PoE-BT": Look("product of experts, Bradley-Terry", "#0072B2", "o", "-"),
    "PoE-g": Look("product of experts, Gaussian", "#009E73", "P", "-"),
}

INK = "#222222"
PAPER = "#B22222"  # a published value, wherever one is drawn
ITEMS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # the four texts of the worked examples


def use_style() -> None:
    """Set matplotlib's defaults for the book: quiet axes, readable sizes, sharp output."""
    plt.rcParams.update(
        {
            "figure.figsize": (5.8, 3.6),
            "figure.dpi": 110,
            "savefig.dpi": 200,
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "font.family": "DejaVu Sans",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#555555",
            "axes.labelcolor": INK,
            "axes.titlelocation": "left",
            "axes.titlesize": 12,
            "axes.grid": False,
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            "lines.markersize": 5.5,
            "xtick.color": "#555555",
            "ytick.color": "#555555",
            "svg.hashsalt": "poe",
        }
    )


def evidence(ax: Axes, kind: str, *, outside: bool = False) -> None:
    """Write the kind of number above the plot's right corner, or beside it over the names."""
    if kind not in ("published", "measured", "recorded", "simulated"):
        raise ValueError(f"evidence is published, measured, recorded or simulated, not {kind!r}")
    ax.annotate(
        kind,
        xy=(1.02 if outside else 1.0, 1.02),
        xycoords="axes fraction",
        ha="left" if outside else "right",
        va="bottom",
        fontsize=10,  # at 4.4 to 5.2 inches across, 10 to 12 pixels on a phone
        color="#666666",
        style="italic",
    )


def curves(
    ax: Axes,
    x: Sequence[float],
    values: Mapping[str, ArrayLike],
    *,
    errors: Mapping[str, ArrayLike] | None = None,
    label: bool = True,
) -> None:
    """One line a method in its own look, labelled at its right end, with bands if given."""
    for method, y in values.items():
        look, line = METHODS[method], np.asarray(y, dtype=float)
        ax.plot(x, line, color=look.colour, ls=look.dash, marker=look.marker, markevery=1)
        if errors and method in errors:
            half = np.asarray(errors[method], dtype=float)
            ax.fill_between(x, line - half, line + half, color=look.colour, alpha=0.15, lw=0)
    if label:
        _end_labels(ax, x[-1], {m: float(np.asarray(y)[-1]) for m, y in values.items()})


def _end_labels(ax: Axes, x: float, heights: Mapping[str, float]) -> None:
    """Label lines at their right ends, pushed apart until no two overlap."""
    bottom, top = ax.get_ylim()
    gap = 0.075 * (top - bottom)
    placed: list[tuple[str, float]] = []
    for method, height in sorted(heights.items(), key=lambda pair: pair[1]):
        low = placed[-1][1] + gap if placed else -np.inf
        placed.append((method, max(height, low)))
    # Pushing apart only moved labels up; put the block back around the lines.
    shift = np.mean([y - heights[m] for m, y in placed])
    for method, height in placed:
        look = METHODS[method]
        ax.annotate(
            look.label,
            xy=(x, height - shift),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=look.colour,
            fontsize=10,
            annotation_clip=False,
        )
