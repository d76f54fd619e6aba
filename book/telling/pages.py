"""The tables of the reproduction pages: what came out, heat maps of differences, causes.

Every number stands in the text, colour and sign only repeat it; tables scroll inside themselves on
a phone and sort by a click or Enter on a heading (book/_static: reproduction.css, sort-tables.js).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from reproduction.claims import written
from reproduction.power import ATTRIBUTES, JUDGES, METHODS, overview, power
from reproduction.published import TITLES
from reproduction.twins import ROLES
from reproduction.verdicts import UNKNOWN, USED, VERDICTS, effects, in_points, predictions

SIGNS = dict(zip(VERDICTS, "≈≠·", strict=True))
KEYS = ("system", "k", "selection", "dataset", "attribute", "metric", "prompt", "level")
MARKS = dict(zip(ROLES, "■◧□◇", strict=True))  # full: used for a twin; open: a prediction
# What a table comes to, by its share of predictions that agree: round numbers, fixed with the
# shares in view. A weak test can show that something differs, not that it agrees.
AGREES, MOSTLY = 90.0, 200.0 / 3.0
WORDS = {
    "agrees": "agrees",
    "mostly agrees": "agrees",
    "differs": "differs",
    "cannot tell": "undecided",
    "not tested": "not tested",
}
KEPT = "PoE-BT"  # its column stays in sight on a phone
MAX_METHOD_COLUMNS = 7  # methods that fit beside each other
FULL = 5.0  # points at which the colour is full
LOW, HIGH = "33,102,172", "178,24,43"  # ours lower, ours higher: apart to colour-blind eyes

TABLE = Environment(autoescape=True).from_string(
    '<div class="comparison-scroll" tabindex="0"><table class="{{ name }}">'
    "{% if caption %}<caption>{{ caption }}</caption>{% endif %}<thead><tr>{% for head in heads %}"
    '<th scope="col"{% if "heat" in name and head == "PoE-BT" %} class="kept"{% endif %}>'
    '{% if "sortable" in name %}<button type="button">{{ head }}</button>'
    "{% else %}{{ head }}{% endif %}</th>{% endfor %}</tr></thead><tbody>{% for row in rows %}<tr>"
    "{% for cell in row %}<{{ cell.tag }}{{ cell.attributes | xmlattr }}"
    '{% if "stacks" in name and loop.index0 %} data-label="{{ heads[loop.index0] | striptags }}"'
    "{% endif %}>{{ cell.content }}</{{ cell.tag }}>{% endfor %}</tr>{% endfor %}"
    "</tbody></table></div>"
)
WIDE = 3  # columns that a phone can show beside each other
MINUS = re.compile(r"(?<![\w.)\]-])-(?=\d)")  # before a number, no hyphen in a word or a date
RANGE = re.compile(r"([-−+]?[\d.,]+%?) (to|±) ([-−+]?[\d.,]+%?)")  # "1.2 to 3.4", "5.6 ± 0.7"


class Cell(NamedTuple):
    """One cell of a table. Its content is escaped unless it is Markup."""

    content: object
    attributes: Mapping[str, object]  # of the HTML element; those that are None are left out
    tag: str = "td"


def table(
    heads: Iterable[object],
    rows: Iterable[Sequence[object]],
    *,
    name: str = "comparison",
    caption: object = "",
) -> Markup:
    """A table of cells or plain values; numbers have two decimals, missing ones are left out.

    The first cell of a row is its heading. name : CSS classes; "sortable" makes the table sort,
    "claims" is for rows that begin with a sentence, "stacks" writes each row as a short list on a
    phone, every value behind its column's name.
    """
    first = Cell("", {"class": "claim"}) if "claims" in name else Cell("", {"scope": "row"}, "th")
    cells = [[_cell(x, Cell("", {}) if at else first) for at, x in enumerate(row)] for row in rows]
    return Markup(TABLE.render(heads=list(heads), rows=cells, name=name, caption=caption))


def _cell(value: object, like: Cell) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, float):
        value = f"{value:.2f}" if np.isfinite(value) else ""
    if isinstance(value, str) and not isinstance(value, Markup):
        value = MINUS.sub("−", value)
        if RANGE.search(value):
            whole = r'<span class="range">\1&nbsp;\2 \3</span>'  # in one line where there is room
            value = Markup(RANGE.sub(whole, str(escape(value))))
    return like._replace(content=value)


def frame(
    rows: pd.DataFrame, *, name: str = "comparison", kind: str = "", fold: str = ""
) -> Markup:
    """A data frame as such a table, under the names of its columns and the evidence label.

    kind : of its numbers; several, with a space between, where columns or rows are of different
    ones and say so themselves.
    fold : words under which a long table is folded, with its number of rows, and a link to it as a
    file. A table of more than `WIDE` columns stacks on a phone; with twice as many its letters are
    smaller.
    """
    caption = Markup(" ").join(badge(one) for one in kind.split())
    if len(rows.columns) > WIDE and "heat" not in name:
        name += " stacks dense" if len(rows.columns) > 2 * WIDE else " stacks"
    body = rows.itertuples(index=False, name=None)
    markup = table(rows.columns, body, name=name, caption=caption)
    if not fold:
        return markup
    return folded(f"{fold} ({len(rows)} rows)", markup, rows)


def folded(words: str, inside: Markup, rows: pd.DataFrame) -> Markup:
    """Fold something under words, with a link to the rows that it shows as a file."""
    plain = rows.map(lambda cell: cell.striptags() if isinstance(cell, Markup) else cell)
    file = quote(plain.to_csv(index=False, lineterminator="\n"))
    fold = Markup(
        '<details class="fold"><summary>{}</summary>{}<p class="printed">'
        '<a download="table.csv" href="data:text/csv;charset=utf-8,{}">This table as CSV</a></p>'
        "</details>"
    )
    return fold.format(words, inside, file)


def files(*names: str) -> Markup:
    """Links to stored results as CSV files, which the build of the book lays beside its pages."""
    link = Markup('<a download href="_static/results/{0}.csv">{0}</a>')
    linked = Markup(", ").join(link.format(name) for name in names)
    return Markup('<p class="printed">As CSV: {}</p>').format(linked)


def badge(kind: str) -> Markup:
    """The evidence label."""
    return Markup('<span class="evidence-{0}">{0}</span>').format(kind)


def css(verdict: str) -> str:
    """CSS class of a verdict."""
    return "verdict-" + verdict.replace(" ", "-")


def title(name: str) -> str:
    """The words for "table1"."""
    return name.replace("table", "Table ")


def small(text: object) -> Markup:
    """Something said beside a number, in smaller letters."""
    return Markup('<span class="printed">{}</span>').format(text)


def legend() -> Markup:
    """What the signs and the marks mean."""
    key = Markup('<span class="{} verdict-key">{} {}</span>')
    items = [key.format(css(name), sign, name) for name, sign in SIGNS.items()]
    items += [key.format("role-key", mark, name) for name, mark in MARKS.items()]
    return Markup('<p class="verdict-legend">{}</p>').format(Markup(" ").join(items))


# What came out, in a minute ----------------------------------------------------------------------


def standing(card: pd.DataFrame) -> pd.DataFrame:
    """One row a table of every paper, in print order: what it comes to, and the numbers behind it.

    Columns: paper, table, cells, tested, predicted, agree (per cent of the predictions), error
    (mean absolute difference, points), tolerance (their median), worst (position in the card of the
    largest difference of a prediction), passes and swapped (per cent of wrong answers that would
    have agreed, and what was swapped), nearer (whether the trivial baseline is nearer to print),
    word (one of `WORDS`).
    """
    summary = overview(card).set_index(["paper", "table"])
    rows = []
    for (paper, name), cells in in_points(card).groupby(["paper", "table"], sort=False):
        known = summary.loc[(TITLES[paper], name)] if (TITLES[paper], name) in summary.index else {}
        foretold = predictions(cells)
        sizes = foretold["difference"].abs()
        swaps = {of: known.get(f"wrong {of}", np.nan) for of in (METHODS, JUDGES, ATTRIBUTES)}
        swapped = next((of for of, share in swaps.items() if np.isfinite(share)), "")
        row = {
            "paper": paper,
            "table": name,
            "cells": len(cells),
            **{key: known.get(key, 0) for key in ("tested", "predicted")},
            **{key: known.get(key, np.nan) for key in ("agree", "error")},
            "tolerance": float(foretold["tolerance"].median()),
            "worst": sizes.idxmax() if len(sizes) else None,
            "swapped": swapped,
            "passes": swaps.get(swapped, np.nan),
            "nearer": bool(known.get("baseline", np.nan) < known.get("twins", np.nan)),
        }
        rows.append(row | {"word": _word(row, known.get("power", ""))})
    return pd.DataFrame(rows)


def _word(row: Mapping[str, Any], test: str) -> str:
    """What a table comes to; a difference counts before the test's weakness."""
    if not row["predicted"]:
        return "not tested"
    if row["agree"] < MOSTLY:
        return "differs"
    if test:
        return "cannot tell"
    return "agrees" if row["agree"] >= AGREES else "mostly agrees"


def listing(form: str, items: Iterable[object]) -> Markup:
    """Every item in this form, one behind the other."""
    return Markup().join(Markup(form).format(item) for item in items)


def tables(card: pd.DataFrame, rows: pd.DataFrame) -> Markup:
    """One row a table (some rows of `standing`), which opens to its command and heat map."""
    heads = ("table", "predicted", "agree", "error", "worst", "wrong pass", "comes to")
    return Markup(
        '<div class="tables"><div class="row head" aria-hidden="true">{}</div>{}</div>'
    ).format(
        listing("<span>{}</span>", heads),
        listing("{}", (_opening(row, card) for _, row in rows.iterrows())),
    )


def _opening(row: pd.Series, card: pd.DataFrame) -> Markup:
    cells = card[(card["paper"] == row["paper"]) & (card["table"] == row["table"])]
    about = [", ".join(x for x in cells[of].unique() if x) for of in ("dataset", "metric")]
    name = Markup("{}{}").format(title(row["table"]), small(" · ".join(x for x in about if x)))
    command, numbers = cells["command"].iloc[0], [Markup()] * 5
    if row["predicted"]:
        worst, swapped = in_points(cells).loc[row["worst"]], row["swapped"]
        place = worst["id"].removeprefix(f"{row['paper']}/{row['table']}/").replace("/", ", ")
        said = f"Largest difference: {place}, ours {_ours(worst)}, printed {worst['published']}. "
        known = worst["cause"] not in ("", UNKNOWN)
        said += f"Likely {worst['cause']}." if known else _sentence(worst["cause"])
        numbers = [
            _labelled(row["predicted"], "predicted"),
            _labelled(f"{row['agree']:.0f}%", "agree"),
            _labelled(
                Markup("{} {}").format(f"{row['error']:.2f}", small(f"±{row['tolerance']:.1f}")),
                "points off",
            ),
            _labelled(minus(written(worst["difference"], 1, "+")), "worst"),
            _labelled(f"{row['passes']:.0f}%", f"of wrong {swapped} pass")
            if swapped
            else _labelled("no swap", "to test"),
        ]
    else:
        counts = cells.loc[cells["reason"] != "", "reason"].value_counts()
        said = _sentence(
            counts.index[0] if len(counts) else "all of its tested cells calibrate twins"
        )
    nearer = "A guess that needs no simulation is nearer to print than the twins."
    lines = [said, nearer] if row["nearer"] else [said]
    word = Markup('<span class="word {}">{}{}</span>').format(
        css(WORDS[row["word"]]), row["word"], " *" if row["nearer"] else ""
    )
    return Markup(
        '<details><summary class="row"><span class="name">{}</span>{}{}</summary>{}{}{}</details>'
    ).format(
        name,
        listing('<span class="number">{}</span>', numbers),
        word,
        Markup("<p><code>{}</code></p>").format(command) if command else "",
        listing("<p>{}</p>", lines),
        heat(cells, row["table"]),
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _labelled(value: object, what: str) -> Markup:
    """A number with its words, which a wide page shows once, as the heading."""
    return Markup("{} <i>{}</i>").format(value, what)


def roles() -> Markup:
    """What a published cell can be to us, with its mark."""
    item = Markup("{} <b>{}</b>: {}.")
    rows = (item.format(MARKS[name], name, text) for name, text in ROLES.items())
    return Markup('<ul class="marks">{}</ul>').format(listing("<li>{}</li>", rows))


def swaps(card: pd.DataFrame) -> Markup:
    """Every swap of methods and what it would have passed (`power.power`)."""
    rows = power(card)
    rows = rows[rows["kind"] == METHODS].drop(columns="kind")
    for name in ("right", "wrong"):
        rows[name] = rows[name].map("{:.0%}".format)
    rows["paper"], rows["table"] = rows["paper"].map(TITLES), rows["table"].map(title)
    names = {"right": "right cells that agree", "wrong": "wrong cells that would"}
    fold = "Every pair of methods, and how many cells would agree with the other's numbers"
    return frame(rows.rename(columns=names), name="comparison sortable heat", fold=fold)


def heat(card: pd.DataFrame, name: str) -> Markup:
    """One table as a heat map: the difference, with ours and the published value under it.

    Hovering (or the label a screen reader reads) gives verdict, tolerance, role and cause. On a
    phone the column of PoE-BT stays in sight. More than `MAX_METHOD_COLUMNS` methods are rows, not
    columns.
    """
    cells = in_points(card[card["table"] == name])
    keys = [key for key in KEYS if cells[key].fillna("").nunique() > 1]
    others = [key for key in keys if key != "selection"]
    if others and cells.groupby(others, dropna=False)["selection"].nunique().max() == 1:
        keys = others  # rows of one k have one selection, which k says then
    methods = list(cells["method"].unique())
    turns = len(methods) > MAX_METHOD_COLUMNS
    places, by_place = [], []
    for place, group in cells.groupby(keys, sort=False, dropna=False):
        of = {row["method"]: row for _, row in group.iterrows()}
        places.append(list(place))
        by_place.append(
            [
                _heat(of[m], kept=m == KEPT and not turns) if m in of else Cell("", {})
                for m in methods
            ]
        )
    kinds = Markup(" ").join(
        badge(kind) for kind in ("published", *cells["kind"].dropna().unique())
    )
    caption = Markup("{}: ours minus published, in points. {}").format(title(name), kinds)
    name = "comparison sortable heat"
    if turns:
        heads = ["method", *(", ".join(map(str, place)) for place in places)]
        turned = [[method, *column] for method, *column in zip(methods, *by_place, strict=True)]
        return table(heads, turned, name=name, caption=caption)
    heads = ["calls" if key == "k" else key for key in keys]
    rows = [place + cells for place, cells in zip(places, by_place, strict=True)]
    return table([*heads, *methods], rows, name=name, caption=caption)


def _heat(row: pd.Series, *, kept: bool = False) -> Cell:
    verdict, difference = row["verdict"], row["difference"]
    stays = " kept" if kept else ""
    ours = _ours(row)
    both = f"{ours} for {row['published']}" if ours else row["published"]
    if np.isfinite(difference):
        why = "; ".join(row[name] for name in ("role", "cause", "reason") if row[name])
        share = 0.55 * min(abs(difference) / FULL, 1.0)  # transparent at zero, for dark pages too
        colour = f"--shade:rgba({HIGH if difference > 0 else LOW},{share:.2f})"
        said = f"{verdict}: tolerance {row['tolerance']:.2f}; {why}"
        role = Markup('<span class="role" role="img" aria-label="{}">{}</span>').format(
            row["role"], MARKS[row["role"]]
        )
        sign = Markup('<span role="img" aria-label="{}">{}</span>').format(verdict, SIGNS[verdict])
        shown = Markup("{} <b>{}</b> {}<br>{}").format(
            role, minus(written(difference, 1, "+")), sign, small(both)
        )
        used = "cell used" if row["role"] in USED else "cell"
        look = {
            "class": used + stays,
            "style": colour,
            "title": said,
            "data-sort": f"{difference:.4f}",
        }
        return Cell(shown, look)
    why = row["reason"] or verdict
    if not row["published"]:
        both = ", ".join(part for part in (ours, "print lost") if part)
    shown = Markup("{}<br>{}").format(SIGNS[verdict], small(both))
    said = f"{verdict}: {why}"
    return Cell(shown, {"class": f"cell {css(verdict)}{stays}", "title": said, "data-sort": ""})


def _ours(row: pd.Series) -> str:
    """Our value as the print writes its own, with a decimal at least."""
    return f"{row['ours']:.{max(row['decimals'], 1):.0f}f}" if np.isfinite(row["ours"]) else ""


def causes(card: pd.DataFrame) -> Markup:
    """Every cause of differences with what shows it, how often, and what it leaves of them."""
    rows = effects(card)
    parts = rows["cause"].str.partition(": ")
    whole = Markup('<b>{}</b> <span class="said">{}</span><br><code>{}</code>')
    both = zip(parts[0], parts[2], rows.pop("target"), strict=True)
    named = [
        whole.format(_sentence(name), _sentence(cause), shown) if shown else name
        for name, cause, shown in both
    ]
    rows["cause"] = pd.Series(named, dtype=object)
    names = {"cells": "predictions", "before": "difference", "after": "what remains"}
    fold = "Every cause, with what shows it, its predictions, and what it leaves of them"
    return frame(rows.rename(columns=names), name="comparison claims", fold=fold)


def reasons(card: pd.DataFrame) -> Markup:
    """How many cells were not tested for the same reason, most first."""
    counts = card.loc[card["reason"] != "", "reason"].value_counts()
    fold = "Why cells were not tested"
    return frame(counts.rename("cells").reset_index(), name="comparison claims", fold=fold)


def minus(number: str) -> str:
    """A number with a minus sign in place of the hyphen."""
    return f"−{number[1:]}" if number.startswith("-") else number
