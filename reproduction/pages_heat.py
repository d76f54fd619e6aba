"""The scorecard's pages: totals at a glance, tables as heat maps of differences, claims.

Plain HTML: every number stands in the text, colour only repeats it; tables scroll inside
themselves on a phone and sort by a click or Enter on a heading (`book/_static`: reproduction.css,
sort-tables.js).
"""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from reproduction.pages import SIGNS, badge, css
from reproduction.results import VERDICTS
from reproduction.scorecard import error_of, errors, summary

MAIN_TABLES = ("table1", "table2", "table5", "table6", "table7", "table8")
FULL = 5.0  # points at which the colour is full
LOW, HIGH = (33, 102, 172), (178, 24, 43)  # ours lower, ours higher: apart to colour-blind eyes
KEYS = ("system", "k", "selection", "dataset", "attribute", "metric")
CLAIM_CSS = {
    "holds": "verdict-same-digits",
    "does not hold": "verdict-deviates",
    "cannot be checked": "verdict-not-attempted",
}


def glance_html(card: pd.DataFrame) -> str:
    """The totals at a glance: how many cells, how many of each verdict and kind, how far off."""
    found = summary(card)
    counts = card["verdict"].value_counts()
    items = [_item(f"{found['cells']}", "printed cells")]
    items += [
        _item(str(int(counts[name])), f"{SIGNS[name]} {name}", css(name))
        for name in VERDICTS
        if counts.get(name, 0)
    ]
    if np.isfinite(found["error"]):
        text = f"points off on average, over {found['predicted']} predictions"
        items.append(_item(f"{found['error']:.2f}", text))
    main = error_of(card, tables=MAIN_TABLES)
    if np.isfinite(main):
        items.append(_item(f"{main:.2f}", "points off in Tables 1, 2 and 5 to 8"))
    for kind, count in card["kind"].dropna().value_counts().items():
        items.append(f"<li><b>{count}</b>{badge(str(kind))}</li>")
    return f'<ul class="glance">{"".join(items)}</ul>'


def _item(number: str, text: str, name: str = "") -> str:
    return f'<li class="{name}"><b>{number}</b>{escape(text)}</li>'


def errors_html(card: pd.DataFrame) -> str:
    """Mean absolute difference of the predictions, by table."""
    rows = [
        f'<tr><th scope="row">{escape(_title(row["table"]))}</th><td>{escape(row["role"])}</td>'
        f"<td>{row['cells']}</td><td>{row['error']:.2f}</td></tr>"
        for _, row in errors(card).iterrows()
    ]
    heads = ("table", "cells that are", "cells", "mean absolute difference")
    return _table("heat errors", heads, rows)


def heat_html(card: pd.DataFrame, table: str) -> str:
    """One table as a heat map: the difference, with ours and the published value under it.

    Hovering (or the label a screen reader reads) gives verdict, tolerance, role and cause.
    """
    rows = card[card["table"] == table]
    keys = [name for name in KEYS if rows[name].fillna("").nunique() > 1]
    methods = list(dict.fromkeys(rows["method"]))
    body = []
    for names, group in rows.groupby(keys, sort=False, dropna=False):
        of = dict(zip(group["method"], group.to_dict("records"), strict=True))
        first = "".join(
            f'<th scope="row">{escape(str(v))}</th>' if k == 0 else f"<td>{escape(str(v))}</td>"
            for k, v in enumerate(names)
        )
        cells = "".join(_cell(of[m]) if m in of else '<td class="cell"></td>' for m in methods)
        body.append(f"<tr>{first}{cells}</tr>")
    kinds = " ".join(badge(str(kind)) for kind in rows["kind"].dropna().unique())
    caption = f"{_title(table)}: ours less published, in points. {badge('published')} {kinds}"
    return _table("heat", (*keys, *methods), body, caption)


def _cell(row: dict[str, object]) -> str:
    published = escape(str(row["published"]))
    difference, verdict = float(str(row["difference"])), str(row["verdict"])
    if not np.isfinite(difference):
        ours, why = float(str(row["ours"])), escape(str(row["reason"]) or verdict)
        both = f"{ours:.1f} for {published}" if np.isfinite(ours) else published
        if verdict == "not readable":
            why = "the printed value is missing from the text at hand"
            both = f"{ours:.1f}, print lost" if np.isfinite(ours) else "print lost"
        return (
            f'<td class="cell {css(verdict)}" title="{verdict}: {why}" data-sort="">'
            f'{SIGNS[verdict]}<br><span class="printed">{both}</span></td>'
        )
    shown = f"{difference:+.1f}".replace("-", "−")
    shown = "0.0" if shown[1:] == "0.0" else shown
    why = "; ".join(str(row[name]) for name in ("role", "cause") if row[name])
    title = f"{verdict}: tolerance {float(str(row['tolerance'])):.2f}; {why}"
    return (
        f'<td class="cell" style="{_colour(difference)}" title="{escape(title)}" '
        f'data-sort="{difference:.4f}"><b>{shown}</b> '
        f'<span aria-label="{verdict}">{SIGNS[verdict]}</span><br>'
        f'<span class="printed">{float(str(row["ours"])):.1f} for {published}</span></td>'
    )


def _colour(difference: float) -> str:
    """A tint, transparent at zero, so that it reads on light and dark pages alike."""
    red, green, blue = HIGH if difference > 0 else LOW
    share = min(abs(difference) / FULL, 1.0) * 0.55
    return f"background:rgba({red},{green},{blue},{share:.2f})"


def overview_html(claims: pd.DataFrame) -> str:
    """Every claim with its verdict under each kind of number (`claims.overview`)."""
    kinds = ("published", "simulated", "recorded", "measured")
    body = []
    for _, row in claims.iterrows():
        cells = "".join(_verdict(str(row[f"{k} verdict"]), str(row[k])) for k in kinds)
        place = f"{row['paper'].replace('_', ' ')}, {row['place']}"
        text = f'{escape(row["claim"])} <span class="printed">({escape(place)})</span>'
        body.append(
            f'<tr><td class="claim" title="{escape(row["measure"])}">{text}</td>{cells}</tr>'
        )
    return _table("heat claims", ("claim", *kinds), body)


def _verdict(verdict: str, shown: str) -> str:
    if not verdict:
        return "<td></td>"
    if verdict == "cannot be checked":  # most of them; words would drown the others
        return f'<td title="{verdict}" data-sort="{verdict}">not checked</td>'
    return (
        f'<td class="{CLAIM_CSS[verdict]}" data-sort="{verdict}">{verdict}<br>'
        f'<span class="printed">{escape(shown)}</span></td>'
    )


def _title(table: str) -> str:
    return f"Table {table.removeprefix('table')}"


def _table(name: str, heads: tuple[str, ...], body: list[str], caption: str = "") -> str:
    head = "".join(
        f'<th scope="col"><button type="button">{escape(text)}</button></th>' for text in heads
    )
    named = f"<caption>{caption}</caption>" if caption else ""
    return (
        '<div class="comparison-scroll" tabindex="0">'
        f'<table class="comparison sortable {name}">{named}'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
