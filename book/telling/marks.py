"""Marks that the pictures share: rows with names, intervals, legends, grids of numbers.

Every picture is as wide as a phone's page, labels its marks directly, and tells the kinds of
number apart by marker as well as by colour, so that it survives a grey printer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import t as student

from book.telling.drawings import LETTERS
from judging import plots
from poe.arrays import Floats

Look = tuple[str, str, str]  # colour, marker and its face

# By kind of number, with the colour of the labels in the text.
KINDS: dict[str, Look] = {
    "published": ("#5b4a8a", "D", "#5b4a8a"),
    "measured": ("#17673f", "o", "#17673f"),
    "recorded": ("#1f5a94", "s", "#1f5a94"),
    "simulated": ("#95500b", "o", "white"),
}
TEXTS = {"topicalchat": "dialogues", "summeval": "articles"}
FAINT, GREY = "#BBBBBB", "#666666"
POINTS = "points of Spearman × 100"


def short(system: str) -> str:
    """Name a judge in a picture: "Qwen2.5 1.5B"."""
    family, _, rest = system.partition("-")
    return f"{family} {rest.rpartition('-')[2]}"


def minus(text: str) -> str:
    """Write minus signs in place of the hyphens of numbers."""
    return text.replace("-", "\N{MINUS SIGN}")


def with_t(rows: pd.DataFrame, of: str = "contexts") -> pd.DataFrame:
    """Add the ends of Student's 95% interval over as many units as column `of` says."""
    half = student.ppf(0.975, rows[of] - 1) * rows["se"]
    return rows.assign(low=rows["value"] - half, high=rows["value"] + half)


def effects(label: str, kind: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows for `forest`: columns value and, with an interval, low and high of `rows`."""
    bare = {name: rows.get(name, np.nan) for name in ("low", "high")}
    return pd.DataFrame({"label": label, "kind": kind, "value": rows["value"], **bare})


def spread(count: int, width: float) -> Floats:
    """Heights around a row at which its marks stand, so that none hides another."""
    return width * np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)


def name_rows(ax: Axes, names: Sequence[str], at: Sequence[float] | None = None) -> None:
    """Write names beside rows, by default at 0, 1, ..., in place of an axis."""
    ax.set_yticks(range(len(names)) if at is None else at, names, linespacing=1.0)
    ax.tick_params(axis="y", length=0, labelsize=LETTERS)
    ax.spines["left"].set_visible(False)


def forest(ax: Axes, rows: pd.DataFrame, *, line: float = 0.0, labels: bool = True) -> None:
    """Draw effects with their intervals: one height a label, the first on top.

    rows : columns label, kind (of number), value, low and high (NaN: no interval). Several rows
    with one label share its height; those with intervals are spread so that none hides another.
    line : where nothing happens.
    """
    names = list(dict.fromkeys(rows["label"]))
    ax.axvline(line, color=FAINT, lw=1.2, zorder=0)
    for (label, kind), part in rows.groupby(["label", "kind"], sort=False):
        colour, marker, face = KINDS[kind]
        many = len(part) > 1
        for at, row in zip(spread(len(part), 0.24), part.itertuples(), strict=True):
            interval = np.isfinite(row.low)
            y = names.index(label) + (at if interval else 0.0)
            if interval:
                ax.hlines(y, row.low, row.high, color=colour, lw=1.4 if many else 2.4)
            look: dict[str, Any] = {"ms": 4 if many else 6, "alpha": 1.0 if interval else 0.75}
            ax.plot(row.value, y, marker, color=colour, mfc=face, **look)
    ax.set(ylim=(len(names) - 0.4, -0.6))
    name_rows(ax, names if labels else [""] * len(names))


def legend(figure: Figure, looks: Mapping[str, Look]) -> None:
    """Say above all panels what each marker is."""
    marks = [
        plt.Line2D([], [], color=colour, marker=marker, mfc=face, ls="", label=word)
        for word, (colour, marker, face) in looks.items()
    ]
    where: dict[str, Any] = {"loc": "outside upper left", "ncols": len(marks), "fontsize": LETTERS}
    figure.legend(handles=marks, handletextpad=0.1, columnspacing=1.0, **where)


def key(figure: Figure, kinds: Sequence[str]) -> None:
    """Say above all panels which marker is which kind of number."""
    legend(figure, {kind: KINDS[kind] for kind in dict.fromkeys(kinds)})


def grid(ax: Axes, shades: Floats, words: Floats, form: str, *, full: float, **image: Any) -> None:
    """Draw a grid of cells, each shaded and with its number; white where the shade is full."""
    ax.imshow(shades, aspect="auto", **image)
    for (y, x), value in np.ndenumerate(words):
        if np.isfinite(value):
            ink = "white" if abs(shades[y, x]) > full else plots.INK
            said = minus(f"{value:{form}}")
            ax.text(x, y, said, ha="center", va="center", fontsize=LETTERS, color=ink)
    ax.tick_params(length=0, labelsize=LETTERS)
    ax.spines[:].set_visible(False)
