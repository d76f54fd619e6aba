"""The papers' figures, drawn from results for the book's pages: a picture a panel."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from string import ascii_lowercase
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judging import plots
from reproduction import verdicts
from reproduction.published import NAMES, TEXTS
from reproduction.targets import CHOSEN, TARGETS

WIDTH = 5.2  # inches of a picture across the page
LETTERS = 10.7  # points of the smallest letters at this width: 11 pixels on a phone
SMALL = (3.9, 2.7)  # of a small multiple
GAP = 0.085  # between two names, as a share of the height
DASHED, DOTTED = (0, (4, 2)), (0, (1, 1))


class Look(NamedTuple):
    """How one line and its name are drawn."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]] = "-"
    filled: bool = True


# Words, dash and whether markers are filled, by selection and bias. Two orders are one design, so
# they look the same.
DESIGNS: Mapping[tuple[str, str], tuple[str, str | tuple[int, tuple[int, ...]], bool]] = {
    ("random", "none"): ("random", "-", True),
    ("symmetric", "none"): ("both orders", "-", True),
    ("greedy", "none"): ("greedy", DASHED, False),
    ("laplace", "none"): ("greedy, by Laplace", DOTTED, False),
    ("no-repeat", "none"): ("one order", DOTTED, False),
    ("no-repeat", "plug-in"): ("one order, plug-in", DASHED, False),
    ("random", "reweighted"): ("random, debiased", DASHED, False),
    ("no-repeat", "reweighted"): ("one order, debiased", DASHED, False),
    ("symmetric", "reweighted"): ("both orders, debiased", DASHED, False),
}
# Where there is one method only, colour and marker tell the designs apart.
RULES = {
    "random": (plots.ITEMS[0], "o"),
    "no-repeat": (plots.ITEMS[1], "s"),
    "symmetric": (plots.ITEMS[2], "^"),
}


def gallery(results: Mapping[str, pd.DataFrame]) -> Markup:
    """Small multiples of several results, by target: each panel a picture with letter and caption.

    Two stand side by side where there is room, and one below the other on a phone. A caption names
    the paper's panel and what is shown, and says where the choice of it, or its labels, are ours.
    """
    plots.use_style()
    panel = Markup(
        '<figure><img src="data:image/svg+xml;base64,{}" alt="{}">'
        "<figcaption><b>({})</b> {}</figcaption></figure>"
    )
    drawn = [(name, *one) for name, table in results.items() for one in panels(table)]
    made = []
    for at, (name, draw, rows) in enumerate(drawn):
        figure, ax = plt.subplots(figsize=SMALL, layout="constrained")
        draw(ax, rows)
        said = ax.get_title(loc=plt.rcParams["axes.titlelocation"]).replace("\n", ", ")
        ax.set_title("")  # it stands in the caption
        file = BytesIO()
        with plt.rc_context({"svg.fonttype": "none"}):  # letters as letters: a third of the size
            figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)
        alt = f"{said}: {ax.get_ylabel()} against {ax.get_xlabel()}"
        number = str(rows["panel"].iloc[0]).rpartition("figure")[2]
        caption = f"Figure {number}: {said}{_ours(name, rows)}."
        content = b64encode(file.getvalue()).decode()
        made.append(panel.format(content, alt, ascii_lowercase[at], caption))
    return Markup('<div class="multiples">{}</div>').format(Markup().join(made))


def _ours(name: str, rows: pd.DataFrame) -> str:
    """Say of a panel what the paper does not: whose choice it is, and whose labels."""
    chosen = name in TARGETS and CHOSEN in TARGETS[name].what
    words = ["our choice, the paper names none"] * chosen
    words += ["labels drawn at random"] * (rows["labels"].iloc[0] != "real")
    return f" ({'; '.join(words)})" if words else ""


def panels(table: pd.DataFrame) -> list[tuple[Callable[[Axes, pd.DataFrame], None], pd.DataFrame]]:
    """What draws each panel, and its rows: one method a panel where designs are compared."""
    if "p" in table:
        draw = joint if "difference" in table else moments
        return [(draw, rows) for _, rows in table.groupby("panel", sort=False)]
    if not table.duplicated(["k", "method"]).any():
        return [(efficiency, table)]
    methods = [rows for _, rows in table.groupby("method", sort=False)]
    return [(partial(designs, alone=len(methods) == 1), rows) for rows in methods]


def efficiency(ax: Axes, table: pd.DataFrame) -> None:
    """Correlation against calls, one line a method, with its 95 % band."""
    looks = {m: Look(*plots.METHODS[m][1:]) for m in table["method"].unique()}
    _curves(ax, table, table["method"], looks)
    ax.set_title(_title(table))


def designs(ax: Axes, table: pd.DataFrame, *, alone: bool) -> None:
    """One method under several ways to choose and correct calls.

    alone : whether no other method is shown, so that colours are free for the ways to choose.
    """
    method = str(table["method"].iloc[0])
    words, looks = [], {}
    for rule, bias in zip(table["selection"], table["bias"], strict=True):
        word, dash, filled = DESIGNS[rule, bias]
        colour, marker = RULES[rule] if alone else plots.METHODS[method][1:3]
        words.append(word)
        looks[word] = Look(colour, marker, dash, filled)
    _curves(ax, table, pd.Series(words, index=table.index), looks)
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
    looks = {"mean": Look(plots.ITEMS[0], "o"), "variance": Look(plots.ITEMS[1], "s", DASHED)}
    lines = {"mean": table["value"], "variance": table["variance"]}
    for name, look in looks.items():
        ax.plot(table["p"], lines[name], color=look.colour, marker=look.marker, ls=look.dash)
    ends = {name: float(line.iloc[-1]) for name, line in lines.items()}
    _names(ax, pd.DataFrame({"last": ends, "mean": ends}), looks)
    ax.set_title(_title(table))
    ax.set(xlabel="probability of the first text", ylabel="score difference")


def _curves(ax: Axes, table: pd.DataFrame, names: pd.Series, looks: Mapping[str, Look]) -> None:
    """A line with its band for each name, on axes of calls, and the names beside them."""
    for name, rows in table.groupby(names, sort=False):
        look = looks[str(name)]
        ax.fill_between(rows["k"], rows["low"], rows["high"], color=look.colour, alpha=0.15, lw=0)
        ax.plot(rows["k"], rows["value"], ls=look.dash, ms=4, lw=1.6, **_marker(look))
    calls, n = sorted(table["k"].unique()), TEXTS[str(table["dataset"].iloc[0])]
    if n > 100:  # calls are counted in multiples of the texts
        ax.set_xscale("log")
        ax.set_xticks(calls, [f"{k // n}N" for k in calls])
        ax.minorticks_off()
        ax.set_xlabel(f"calls (N = {n} texts)")
    else:
        ax.set_xlabel("calls per context, K")
    ax.set_ylabel("Spearman × 100")
    _names(ax, table.groupby(names)["value"].agg(["last", "mean"]), looks)


def _marker(look: Look) -> dict[str, Any]:
    face = look.colour if look.filled else "white"
    return {"color": look.colour, "marker": look.marker, "mfc": face}


def _names(ax: Axes, lines: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    """Names with markers right of the axes, in the lines' order (column mean), near their ends.

    Most lines end together when all calls are made, so the order of the ends would say nothing.
    """
    bottom, top = ax.get_ylim()
    lines = lines.sort_values("mean")
    at = (lines["last"].to_numpy() - bottom) / (top - bottom)
    spaced = GAP * np.arange(len(lines))
    if np.ptp(at) < spaced[-1]:
        at = spaced + np.clip(at.mean() - spaced[-1] / 2.0, 0.0, 0.95 - spaced[-1])
    for name, y in zip(lines.index, at, strict=True):
        look = _marker(looks[str(name)])
        ax.plot([1.03], [y], transform=ax.transAxes, clip_on=False, ms=4, **look)
        ax.annotate(str(name), (1.06, y), xycoords="axes fraction", va="center", fontsize=9.5)


def _title(table: pd.DataFrame) -> str:
    row = table.iloc[0]
    return f"{row['system']}, {NAMES[row['dataset']]} {row['attribute']}"


SHORT = {  # the causes of data/causes.toml, by a word of each
    verdicts.UNKNOWN: "unknown",
    "parameters": "calibration\nerror",
    "shape": "shape of what\nit perceives",
    "tails": "long\ntails",
    "confidence": "uneven\nconfidence",
    "prompts": "another\nprompt",
}


def causes(rows: pd.DataFrame) -> Figure:
    """One bar of the predictions that differ, cut by cause, the largest piece first.

    rows : predictions that differ, with a column `cause`.
    """
    words = [next(k for k in SHORT if k in cause) for cause in rows["cause"]]
    counts = pd.Series(words).value_counts()
    figure, ax = plt.subplots(figsize=(WIDTH, 1.9))
    left, colours = 0, (*plots.ITEMS, "#F0E442")
    for at, (word, count) in enumerate(counts.items()):
        shade = "#C8C8C8" if word == verdicts.UNKNOWN else colours[at % len(colours)]
        ax.barh(0, count, left=left, color=shade, alpha=0.65, edgecolor="white", height=0.6)
        middle, under = left + count / 2, at % 2
        ax.text(middle, 0, str(count), ha="center", va="center", color="black")
        put: dict[str, Any] = {
            "ha": "center",
            "va": "top" if under else "bottom",
            "fontsize": LETTERS,
        }
        ax.text(middle, -0.36 if under else 0.36, SHORT[str(word)], linespacing=1.0, **put)
        left += count
    ax.set(xlim=(0, left), ylim=(-1.1, 1.1))
    ax.axis("off")
    return figure


def at_a_glance(ax: Axes, table: pd.DataFrame, *, all_calls: int) -> None:
    """Agreement against the share of all calls: the case for products of experts."""
    words = {"PoE-BT": "product\nof experts", "avg-prob": "average\nprobability"}
    by = {str(name): rows for name, rows in table.groupby("method", sort=False)}
    share = [100.0 * k / all_calls for k in np.unique(table["k"])]
    plots.curves(
        ax,
        share,
        {name: rows["value"].to_numpy() for name, rows in by.items()},
        errors={name: 1.96 * rows["se"].to_numpy() for name, rows in by.items()},
        label=False,
    )
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9.5}
    for name, rows in by.items():
        colour, start = plots.METHODS[name].colour, (share[0], rows["value"].iloc[0])
        put: dict[str, Any] = {"xytext": (-8, 0), "ha": "right", "va": "center", "color": colour}
        ax.annotate(words.get(name, name), start, **put, **beside)
    ax.set_xlim(-9, 101)
    ax.set_xticks(range(0, 101, 20))
    ax.axvline(20, color="#bbbbbb", lw=1, zorder=0)
    fifth = (20, ax.get_ylim()[0])
    ax.annotate("a fifth of the calls", fifth, xytext=(6, 5), color="#666666", **beside)
    ax.set_xlabel("comparisons asked for (% of all)")
    ax.set_ylabel("agreement with people\n(Spearman × 100)")
