"""Tables and figures of the reproduction pages, so that their cells stay short."""

from __future__ import annotations

from html import escape

import pandas as pd
from matplotlib.axes import Axes

from poe import plots
from reproduction.results import VERDICTS

SIGNS = {
    "same digits": "=",
    "within noise": "≈",
    "deviates": "≠",
    "inputs differ": "~",
    "not attempted": "·",
    "not readable": "?",
}


def badge(kind: str) -> str:
    """The evidence label as HTML."""
    return f'<span class="evidence-{kind}">{kind}</span>'


def css(verdict: str) -> str:
    """CSS class of a verdict."""
    return "verdict-" + verdict.replace(" ", "-")


def comparison_html(compared: pd.DataFrame) -> str:
    """The paper's table with ours above the published value in each cell.

    Each cell carries its verdict as a sign and a colour; hovering shows the difference, the
    tolerance and the role. Calibrated and implied cells are set in brackets.
    """
    methods = list(dict.fromkeys(compared["method"]))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in methods)
    body = []
    for (system, k), rows in compared.groupby(["system", "k"], sort=False):
        cells = "".join(_cell(row) for _, row in rows.iterrows())
        body.append(f'<tr><th scope="row">{system}</th><td>{k}</td>{cells}</tr>')
    return scrolling("", f'<th scope="col">judge</th><th scope="col">calls</th>{head}', body)


def _cell(row: pd.Series) -> str:
    ours = f"{row['ours']:.1f}"
    if row["role"] != "predicted":
        ours = f"({ours})"
    title = (
        f"{row['verdict']}: difference {row['difference']:+.2f}, tolerance "
        f"{row['tolerance']:.2f}, standard error {row['se']:.2f}; {row['role']}"
    )
    return (
        f'<td class="{css(row["verdict"])}" title="{title}"><b>{ours}</b>'
        f'<span class="verdict-sign" aria-label="{row["verdict"]}">{SIGNS[row["verdict"]]}</span>'
        f'<br><span class="printed">{row["published"]}</span></td>'
    )


def legend_html() -> str:
    """What the signs mean."""
    items = [
        f'<span class="{css(name)} verdict-key">{SIGNS[name]} {name}</span>' for name in VERDICTS
    ]
    return f'<p class="verdict-legend">{" ".join(items)}</p>'


def totals_html(totals: pd.DataFrame) -> str:
    """Numbers of cells by table and verdict."""
    head = "".join(
        f'<th scope="col">{name if name == "cells" else f"{SIGNS[name]} {name}"}</th>'
        for name in totals.columns
    )
    body = []
    for table, counts in totals.iterrows():
        cells = "".join(
            f'<td class="{css(name) if count and name in VERDICTS else ""}">{count or ""}</td>'
            for name, count in counts.items()
        )
        label = "all" if table == "all" else f"Table {str(table).removeprefix('table')}"
        body.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    return scrolling("totals", f'<th scope="col"></th>{head}', body)


def scrolling(name: str, head: str, body: list[str]) -> str:
    """A table of that CSS class that scrolls inside itself."""
    return (
        f'<div class="comparison-scroll" tabindex="0"><table class="comparison {name}"><thead><tr>'
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def agreement_figure(ax: Axes, compared: pd.DataFrame) -> None:
    """Ours against the published value, each method in its look; the diagonal is agreement."""
    rows = compared[compared["role"] == "predicted"]
    low, high = rows[["number", "ours"]].min().min() - 1, rows[["number", "ours"]].max().max() + 1
    ax.plot([low, high], [low, high], color="#999999", lw=1, zorder=0)
    for method, group in rows.groupby("method", sort=False):
        look = plots.METHODS[str(method)]
        ax.errorbar(
            group["number"],
            group["ours"],
            yerr=group["tolerance"],
            fmt=look.marker,
            color=look.colour,
            ms=6,
            lw=1,
            label=look.label,
        )
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.set_xlabel("published (Spearman × 100)")
    ax.set_ylabel("ours, simulated (Spearman × 100)")
    ax.legend(loc="upper left", fontsize=8.5)


def at_a_glance(ax: Axes, table: pd.DataFrame, *, all_calls: int) -> None:
    """Agreement against the share of all calls: the case for products of experts."""
    words = {"PoE-BT": "product\nof experts", "avg-prob": "average\nprobability"}
    methods = list(dict.fromkeys(table["method"]))
    share = 100.0 * table.loc[table["method"] == methods[0], "k"].to_numpy() / all_calls
    by = {name: table[table["method"] == name] for name in methods}
    plots.curves(
        ax,
        share,
        {name: rows["value"].to_numpy() for name, rows in by.items()},
        errors={name: 1.96 * rows["se"].to_numpy() for name, rows in by.items()},
        label=False,
    )
    for name, rows in by.items():
        start = (share[0], rows["value"].iloc[0])
        ax.annotate(
            words.get(name, name),
            start,
            xytext=(-8, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9.5,
            color=plots.METHODS[name].colour,
        )
    ax.set_xlim(-9, 101)
    ax.set_xticks(range(0, 101, 20))
    ax.axvline(20, color="#bbbbbb", lw=1, zorder=0)
    ax.annotate(
        "a fifth of the calls",
        (20, ax.get_ylim()[0]),
        xytext=(6, 5),
        textcoords="offset points",
        fontsize=9.5,
        color="#666666",
    )
    ax.set_xlabel("comparisons asked for (% of all)")
    ax.set_ylabel("agreement with people\n(Spearman × 100)")
