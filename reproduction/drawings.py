"""The papers' figures, drawn from results: for the book's page and, as vectors, for print.

    >>> from reproduction import drawings
    >>> drawings.save("figure4", results.read("figure4"), Path("figures"))  # doctest: +SKIP

A figure is a stack of panels as wide as a phone's page. Needs matplotlib, as `poe.plots` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poe import plots
from reproduction.facts import NAMES
from reproduction.figures import TIMES
from reproduction.measured import LARGE

WIDTH = 5.2  # inches; the fonts are chosen for this width
GAP = 0.085  # between two names, as a share of the height
FORMATS = ("svg", "pdf")
Variant = tuple[str, str]  # selection, bias
Dash = str | tuple[int, tuple[int, ...]]
Look = tuple[str, str, bool]  # colour, marker, whether it is filled

# Words, dash and whether markers are filled. Two orders are one design, so they look the same.
VARIANTS: Mapping[Variant, tuple[str, Dash, bool]] = {
    ("random", "none"): ("random", "-", True),
    ("symmetric", "none"): ("both orders", "-", True),
    ("greedy", "none"): ("greedy", (0, (4, 2)), False),
    ("laplace", "none"): ("greedy, by Laplace", (0, (1, 1)), False),
    ("no-repeat", "none"): ("one order", (0, (1, 1)), False),
    ("no-repeat", "plug-in"): ("one order, plug-in", (0, (4, 2)), False),
    ("random", "reweighted"): ("random, debiased", (0, (4, 2)), False),
    ("no-repeat", "reweighted"): ("one order, debiased", (0, (4, 2)), False),
    ("symmetric", "reweighted"): ("both orders, debiased", (0, (4, 2)), False),
}
# Where there is one method only, colour and marker tell the designs apart.
RULES = {
    "random": (plots.ITEMS[0], "o"),
    "no-repeat": (plots.ITEMS[1], "s"),
    "symmetric": (plots.ITEMS[2], "^"),
}


def page(tables: Sequence[pd.DataFrame]) -> Figure:
    """Panels of several results below each other."""
    plots.use_style()
    panels = [panel for table in tables for panel in _panels(table)]
    figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, 2.75 * len(panels)), squeeze=False)
    figure.set_layout_engine("constrained", hspace=0.08)
    for ax, (draw, part) in zip(axes[:, 0], panels, strict=True):
        draw(ax, part)
        plots.evidence(ax, str(part["kind"].iloc[0]), outside="difference" not in part)
        ax.title.set_fontsize(10.5)
        if part["labels"].iloc[0] != "real":
            ax.text(
                0.03, 0.9, "stand-in labels", transform=ax.transAxes, fontsize=9.5, style="italic"
            )
    return figure


def save(name: str, table: pd.DataFrame, folder: Path) -> list[Path]:
    """Write NAME.svg and NAME.pdf, vectors with text as text; the same bytes for the same table.

    Raises
    ------
    ValueError
        If the table is none of the papers' figures.
    """
    if not drawable(table):
        raise ValueError(f"{name} is a table of numbers, not a figure that can be drawn")
    folder.mkdir(parents=True, exist_ok=True)
    figure = page([table])
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    with plt.rc_context({"pdf.fonttype": 42}):
        for path in paths:
            date = "CreationDate" if path.suffix == ".pdf" else "Date"
            figure.savefig(path, metadata={date: None})
    plt.close(figure)
    return paths


def drawable(table: pd.DataFrame) -> bool:
    """Whether a result is one of the figures: a curve, a joint distribution or its moments."""
    columns = set(table.columns)
    return {"panel", "k", "low", "high"} <= columns or {"panel", "p", "count"} <= columns


def _panels(table: pd.DataFrame) -> list[tuple[Callable[[Axes, pd.DataFrame], None], pd.DataFrame]]:
    """What draws each panel, and its rows: one method a panel where designs are compared."""
    if "difference" in table:
        return [(joint, part) for _, part in table.groupby("panel", sort=False)]
    if "variance" in table:
        return [(moments, part) for _, part in table.groupby("panel", sort=False)]
    if len(table) == len(table.drop_duplicates(["k", "method"])):
        return [(efficiency, table)]
    methods = list(table.groupby("method", sort=False))
    return [(partial(designs, alone=len(methods) == 1), part) for _, part in methods]


def efficiency(ax: Axes, table: pd.DataFrame) -> None:
    """Correlation against calls, one line a method, with its 95 % band."""
    looks = {}
    for method, part in table.groupby("method", sort=False):
        look = plots.METHODS[str(method)]
        _line(ax, part, (look.colour, look.marker, True), look.dash)
        looks[str(method)] = (look.colour, look.marker, True)
    _calls(ax, table)
    _names(ax, table.groupby("method")["value"].agg(["last", "mean"]), looks)
    ax.set_title(_title(table))


def designs(ax: Axes, table: pd.DataFrame, *, alone: bool) -> None:
    """One method under several ways to choose and correct calls.

    alone : whether no other method is shown, so that colours are free for the ways to choose.
    """
    method = str(table["method"].iloc[0])
    own, looks = plots.METHODS[method], {}
    table = table.assign(
        words=[VARIANTS[key][0] for key in zip(table["selection"], table["bias"], strict=True)]
    )
    for words, part in table.groupby("words", sort=False):
        rule, bias = part[["selection", "bias"]].iloc[0]
        _, dash, filled = VARIANTS[rule, bias]
        colour, marker = RULES[rule] if alone else (own.colour, own.marker)
        looks[str(words)] = (colour, marker, filled)
        _line(ax, part, looks[str(words)], dash)
    _calls(ax, table)
    _names(ax, table.groupby("words")["value"].agg(["last", "mean"]), looks)
    ax.set_title(f"{_title(table)}\n{method}")


def joint(ax: Axes, table: pd.DataFrame) -> None:
    """Probability against score difference: the more calls, the darker."""
    grid = table.pivot(index="difference", columns="p", values="count")
    shade = np.sqrt(grid.to_numpy())
    ax.pcolormesh(grid.columns, grid.index, shade, cmap="Blues", rasterized=True)
    r = float(table["value"].iloc[0])
    ax.set_title(_title(table))
    ax.text(0.97, 0.06, f"correlation {r / 100:.2f}", transform=ax.transAxes, ha="right")
    ax.set(xlabel="probability of the first text", ylabel="score difference")


def moments(ax: Axes, table: pd.DataFrame) -> None:
    """Mean and variance of the score difference by probability."""
    for column, colour, marker, dash in (
        ("value", plots.ITEMS[0], "o", "-"),
        ("variance", plots.ITEMS[1], "s", (0, (4, 2))),
    ):
        ax.plot(table["p"], table[column], color=colour, marker=marker, ls=dash)
    ends = table[["value", "variance"]].rename(columns={"value": "mean"}).iloc[[-1]].T
    _names(
        ax,
        pd.DataFrame({"last": ends.iloc[:, 0], "mean": ends.iloc[:, 0]}),
        {"mean": (plots.ITEMS[0], "o", True), "variance": (plots.ITEMS[1], "s", True)},
    )
    ax.set_title(_title(table))
    ax.set(xlabel="probability of the first text", ylabel="score difference")


def _line(ax: Axes, part: pd.DataFrame, look: Look, dash: Dash) -> None:
    colour, marker, filled = look
    face = colour if filled else "white"
    ax.fill_between(part["k"], part["low"], part["high"], color=colour, alpha=0.15, lw=0)
    ax.plot(part["k"], part["value"], color=colour, ls=dash, marker=marker, mfc=face, ms=4, lw=1.6)


def _calls(ax: Axes, table: pd.DataFrame) -> None:
    calls = sorted(table["k"].unique())
    if table["dataset"].iloc[0] in LARGE:  # calls are counted in multiples of the texts
        n = calls[0] // TIMES[0]
        ax.set_xscale("log")
        ax.set_xticks(calls, [f"{k // n}N" for k in calls])
        ax.minorticks_off()
        ax.set_xlabel(f"calls (N = {n} texts)")
    else:
        ax.set_xlabel("calls a context, K")
    ax.set_ylabel("Spearman × 100")


def _names(ax: Axes, lines: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    """Names with markers right of the axes, in the lines' order (column mean), near their ends.

    Most lines end together when all calls are made, so the order of the ends would say nothing.
    """
    bottom, top = ax.get_ylim()
    lines = lines.sort_values("mean")
    ends = (lines["last"].to_numpy() - bottom) / (top - bottom)
    spaced = GAP * np.arange(len(lines))
    middle = ends.mean() - spaced[-1] / 2.0 if np.ptp(ends) < spaced[-1] else None
    at = spaced + np.clip(middle, 0.0, 0.95 - spaced[-1]) if middle is not None else ends
    for name, y in zip(lines.index, at, strict=True):
        colour, marker, filled = looks[str(name)]
        face = colour if filled else "white"
        ax.plot(
            [1.03], [y], transform=ax.transAxes, clip_on=False, color=colour, marker=marker,
            mfc=face, ms=4,
        )  # fmt: skip
        ax.annotate(str(name), (1.06, y), xycoords="axes fraction", va="center", fontsize=9.5)


def _title(table: pd.DataFrame) -> str:
    row = table.iloc[0]
    return f"{row['system']}, {NAMES[row['dataset']]} {row['attribute']}"
