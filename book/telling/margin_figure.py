"""Why soft answers win, drawn and told: margin and cancellation over the share of calls asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from book.telling.drawings import DASHED, Look
from book.telling.pictures import TEXTS
from judging import plots
from reproduction import significance
from reproduction.significance import CHANCE
from studies import margin

TITLES = {
    "margin": "Margin: to know by how much",
    "cancellation": "Cancellation: to take out the position bias",
}
LIMITS = {"margin": (-3.9, 6.5), "cancellation": (-3.9, 18.0)}  # one scale for both


class Line(NamedTuple):
    """How a line looks, and where each panel names it: which point, and points to right and up."""

    look: Look
    names: dict[str, tuple[int, int, int, str]]


LINES = {
    ("SmolLM2", "topicalchat"): Line(
        Look(plots.ITEMS[2], "^"),
        {"margin": (0, -8, 15, "right"), "cancellation": (2, 0, 14, "left")},
    ),
    ("Qwen2.5", "topicalchat"): Line(
        Look(plots.ITEMS[0], "o"),
        {"margin": (1, 8, 4, "left"), "cancellation": (0, -6, -18, "right")},
    ),
    ("Qwen2.5", "summeval"): Line(
        Look(plots.ITEMS[1], "s", DASHED, filled=False),
        {"margin": (0, -3, -32, "left"), "cancellation": (4, 0, 18, "left")},
    ),
}


def main_lines(rows: pd.DataFrame) -> pd.DataFrame:
    """Select from `margin.table` judges above chance under the papers' prompt, both parts."""
    keep = (rows["method"] == margin.OF) & (rows["template"] == "poe") & ~rows["chance"]
    rows = rows[keep & rows["quantity"].isin(TITLES)]
    return rows.assign(judge=rows["system"].str.split("-").str[0])


def two_parts(rows: pd.DataFrame) -> Figure:
    """A panel for each part, a line for each judge and data set, its name beside it.

    Both have one scale. Bars: one standard error over contexts, with the fewest calls and with all.
    """
    plots.use_style()
    heights = [high - low for low, high in LIMITS.values()]
    figure, axes = plt.subplots(
        2, 1, figsize=(5.6, 5.4), sharex=True, gridspec_kw={"height_ratios": heights}
    )
    for ax, (part, title) in zip(axes, TITLES.items(), strict=True):
        ax.axhline(0.0, color="#999999", lw=1)
        ax.set(xlim=(8, 104), ylim=LIMITS[part], yticks=range(0, int(LIMITS[part][1]), 5))
        ax.set_title(title, fontsize=11)
        lines = main_lines(rows).query("quantity == @part")
        for (judge, dataset), line in lines.groupby(["judge", "dataset"], sort=False):
            look, names = LINES[judge, dataset]
            line = line.sort_values("k")
            x, y, error = (line[name].to_numpy() for name in ("share", "value", "se"))
            bars: dict[str, Any] = {"color": look.colour, "ls": "", "lw": 1.5, "zorder": 1}
            ax.errorbar(x[[0, -1]], y[[0, -1]], yerr=error[[0, -1]], **bars)
            face = look.colour if look.filled else "white"
            ax.plot(x, y, color=look.colour, ls=look.dash, marker=look.marker, mfc=face)
            point, right, up, side = names[part]
            ax.annotate(
                f"{judge}, {TEXTS[dataset]}",
                xy=(x[point], y[point]),
                xytext=(right, up),
                textcoords="offset points",
                ha=side,
                color=look.colour,
                fontsize=10,
            )
    plots.evidence(axes[0], "measured")
    axes[1].set_xlabel("share of all calls asked, %")
    figure.supylabel("points of correlation gained", fontsize=11, color=plots.INK)
    return figure


PLACE = ["system", "dataset", "template"]


def few(rows: pd.DataFrame) -> pd.DataFrame:
    """Margin and cancellation with two calls a text in the counted cells, one family of tests.

    Columns of `margin.table`, and said : `significance.words` of each.
    """
    rows = rows[(rows["method"] == margin.OF) & rows["quantity"].isin(TITLES) & ~rows["chance"]]
    rows = rows[rows["template"].isin(margin.TEMPLATES)]
    rows = rows[rows["k"] == rows.groupby(PLACE)["k"].transform("min")]
    return rows.assign(said=significance.words(rows))


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, data set and prompt: both parts with few calls and with all, and our guesses.

    Words stand where a cell is counted; "first, %" is the share of calls that prefer it.
    """
    rows = rows[(rows["method"] == margin.OF) & rows["quantity"].isin(TITLES)]
    said = few(rows).set_index([*PLACE, "quantity"])["said"]
    guess = margin.expected().set_index([*PLACE, "quantity"])
    made = []
    for key, cell in rows.groupby(PLACE, sort=False):
        system, dataset, template = map(str, key)
        row = {
            "judge, texts, prompt (how many)": f"{system.split('-')[0]}, {TEXTS[dataset]}, "
            f"{template} ({cell['contexts'].iloc[0]})",
            "first, %": f"{cell['first'].iloc[0]:.0f}",
        }
        for part in TITLES:
            line = cell[cell["quantity"] == part].sort_values("k")
            at = (*key, part)
            word = said.get(at, CHANCE)
            row |= {
                f"{part}, few": points(line.iloc[0], "" if word == CHANCE else f" ({word})"),
                f"{part}, all": points(line.iloc[-1]),
                f"{part}, guess": _guess(guess.loc[at]) if at in guess.index else "",
            }
        made.append(row)
    return pd.DataFrame(made)


def points(row: pd.Series, word: str = "") -> str:
    """Write "+1.6 ± 0.9", and a word behind it."""
    return f"{row['value']:+.1f} ± {row['se']:.1f}{word}".replace("-", "−")


def _guess(row: pd.Series) -> str:
    known = ", known" if row["known"] else ""
    return f"{row['low']:+.1f} to {row['high']:+.1f}{known}".replace("-", "−")


def guessed(rows: pd.DataFrame) -> pd.DataFrame:
    """Our guesses beside what was found: columns of `margin.expected`, value, inside."""
    least = rows.groupby(PLACE)["k"].transform("min")
    found = rows[(rows["method"] == margin.OF) & (rows["k"] == least)]
    both = margin.expected().merge(found[[*PLACE, "quantity", "value"]], on=[*PLACE, "quantity"])
    return both.assign(inside=both["value"].between(both["low"], both["high"]))
