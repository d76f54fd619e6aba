"""The tables of the reproduction pages: what came out, heat maps of differences, claims, the log.

Every number stands in the text, colour and sign only repeat it; tables scroll inside themselves on
a phone and sort by a click or Enter on a heading (book/_static: reproduction.css, sort-tables.js).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from reproduction import verdicts
from reproduction.claims import MAIN, OUTCOMES, written
from reproduction.published import TITLES
from reproduction.telling.power import ATTRIBUTES, JUDGES, METHODS, overview, power
from reproduction.twins import ROLES
from reproduction.verdicts import USED, VERDICTS, effects, predictions

SIGNS = dict(zip(VERDICTS, "≈≠·", strict=True))
LOOKS = dict(zip(OUTCOMES, ("agrees", "undecided", "differs", "not tested"), strict=True))
KEYS = ("system", "k", "selection", "dataset", "attribute", "metric")
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
# The claims that carry this book's paper, chosen for what they say, not for how they came out.
HEADLINES = (
    *MAIN,
    "v2-selection-helps-all",
    "v2-two-percent",
    "v2-debiasing-needed",
    "v2-baselines-11-of-14",
)
KINDS = ("published", "measured", "recorded", "simulated")  # as they stand beside each other
FULL = 5.0  # points at which the colour is full
LOW, HIGH = "33,102,172", "178,24,43"  # ours lower, ours higher: apart to colour-blind eyes

TABLE = Environment(autoescape=True).from_string(
    '<div class="comparison-scroll" tabindex="0"><table class="{{ name }}">'
    "{% if caption %}<caption>{{ caption }}</caption>{% endif %}<thead><tr>{% for head in heads %}"
    '<th scope="col">{% if "sortable" in name %}<button type="button">{{ head }}</button>'
    "{% else %}{{ head }}{% endif %}</th>{% endfor %}</tr></thead><tbody>{% for row in rows %}<tr>"
    "{% for cell in row %}<{{ cell.tag }}{{ cell.attributes | xmlattr }}>{{ cell.content }}"
    "</{{ cell.tag }}>{% endfor %}</tr>{% endfor %}</tbody></table></div>"
)


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
    "claims" is for rows that begin with a sentence.
    """
    first = Cell("", {"class": "claim"}) if "claims" in name else Cell("", {"scope": "row"}, "th")
    made = [[_cell(x, Cell("", {}) if at else first) for at, x in enumerate(row)] for row in rows]
    return Markup(TABLE.render(heads=list(heads), rows=made, name=name, caption=caption))


def _cell(value: object, like: Cell) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, float):
        value = f"{value:.2f}" if np.isfinite(value) else ""
    return like._replace(content=value)


def frame(
    rows: pd.DataFrame, *, name: str = "comparison", kind: str = "", fold: str = ""
) -> Markup:
    """A data frame as such a table, under the names of its columns and the evidence label.

    fold : words under which a long table is folded, with its number of rows.
    """
    caption = badge(kind) if kind else ""
    body = rows.itertuples(index=False, name=None)
    made = table(rows.columns, body, name=name, caption=caption)
    if not fold:
        return made
    folded = Markup('<details class="fold"><summary>{} ({} rows)</summary>{}</details>')
    return folded.format(fold, len(rows), made)


def badge(kind: str) -> Markup:
    """The evidence label."""
    return Markup('<span class="evidence-{0}">{0}</span>').format(kind)


def css(verdict: str) -> str:
    """CSS class of a verdict."""
    return "verdict-" + verdict.replace(" ", "-")


def title(name: str) -> str:
    """The words for "table1"."""
    return name.replace("table", "Table ")


def _small(text: object) -> Markup:
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
    (mean absolute difference, points), worst (position in the card of the largest difference of a
    prediction), passes and swapped (per cent of wrong answers that would have agreed, and what was
    swapped), nearer (whether the trivial baseline is nearer to print), word (one of `WORDS`).
    """
    found = overview(card).set_index(["paper", "table"])
    rows = []
    for (paper, name), cells in card.groupby(["paper", "table"], sort=False):
        known = found.loc[(TITLES[paper], name)] if (TITLES[paper], name) in found.index else {}
        sizes = predictions(cells)["difference"].abs()
        swaps = {of: known.get(f"wrong {of}", np.nan) for of in (METHODS, JUDGES, ATTRIBUTES)}
        swapped = next((of for of, share in swaps.items() if np.isfinite(share)), "")
        row = {
            "paper": paper,
            "table": name,
            "cells": len(cells),
            **{key: known.get(key, 0) for key in ("tested", "predicted")},
            **{key: known.get(key, np.nan) for key in ("agree", "error")},
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


def listed(rows: pd.DataFrame) -> str:
    """Tables in words: "PoE v2 Tables 1, 2 and 5; Comparative assessment Table 3"."""
    parts = []
    for paper, names in rows.groupby("paper", sort=False)["table"]:
        numbers = [name.removeprefix("table") for name in names]
        words = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if numbers[1:] else numbers)
        short = TITLES[str(paper)].replace(", version ", " v")
        parts.append(f"{short} Table{'s' * bool(numbers[1:])} {words}")
    return "; ".join(parts)


def in_short(card: pd.DataFrame, tables: pd.DataFrame, claims: pd.DataFrame) -> Markup:
    """The answer in a sentence, and three boxes: what came out, what did not, what no test tells.

    tables : `standing(card)`; claims : `claims.overview()`.
    """
    rows = predictions(verdicts.unique(card))
    odd, missing = rows[rows["verdict"] == "differs"], (card["verdict"] == "not tested").sum()
    ten = claims[claims["id"].isin(HEADLINES)]["simulated verdict"].value_counts()
    lost = claims[
        claims["published verdict"].eq("holds") & claims["simulated verdict"].eq("does not hold")
    ]
    judge = odd["system"].value_counts().index[0]
    agree, n, cells = (rows["verdict"] == "agrees").sum(), len(rows), len(card)

    def of(*words: str) -> str:
        return listed(tables[tables["word"].isin(words)]) or "none"

    answer = Markup(
        f"<p><b>{100 * agree / n:.0f}% of the predictions come out again</b>: {agree} of {n}; the "
        f"other {len(odd)} do not. Where they come from: of {cells} printed numbers "
        f"{cells - missing} could be tested; repeats of one experiment count once; and those that "
        f"went into the twins do not count. The first two boxes add up to the {n} predictions; the "
        f"third counts the printed numbers, of {cells}, that nothing here could test.</p>"
    )
    out = _box(
        "agrees",
        "Came out again",
        f"{agree} of {n}",
        "predictions agree with print",
        f"{ten.get('holds', 0)} of {ten.sum()} headline claims hold for the twins; "
        f"{ten.get('does not hold', 0)} fail.",
        f"Tables that agree, or mostly: {of('agrees', 'mostly agrees')}.",
    )
    out += _box(
        "differs",
        "Did not come out",
        f"{len(odd)} of {n}",
        "predictions differ from print by more than chance explains "
        f"(with perfect twins about {verdicts.BY_CHANCE * n:.0f} would)",
        f"Tables in which more than a third differ: {of('differs')}.",
        f"The twin of one judge accounts for {(odd['system'] == judge).sum()} of the {len(odd)}: "
        f"{judge} ({(rows['system'] == judge).sum()} predictions).",
        f"{len(lost)} of {len(claims)} claims hold in print and fail for the twins: "
        + "; ".join(f"“{text}”" for text in lost["claim"])
        + ".",
    )
    out += _box(
        "undecided",
        "No test here could tell",
        f"{missing} of {cells}",
        "printed numbers have nothing here to be held against",
        f"Whole tables without a test: {of('not tested')}.",
        "Tested, but a wrong method would often have passed as well, or there was none to "
        f"try: {of('cannot tell')}.",
        "How the papers’ own judges would answer today: none of them was run."
        if "measured" not in set(card["kind"])
        else "How all of the papers’ own judges would answer today.",
        f"Of the headline claims {ten.get('borderline', 0)} are borderline for the twins, and "
        f"{ten.get('cannot be checked', 0)} cannot be tested with simulated judges.",
    )
    return answer + Markup('<div class="in-short">{}</div>').format(out)


def _box(look: str, head: str, count: str, what: str, *lines: str) -> Markup:
    box = Markup(
        '<section class="{}"><p class="head">{}</p><p><b>{}</b> {}</p><ul>{}</ul></section>'
    )
    return box.format(css(look), head, count, what, _list("<li>{}</li>", lines))


def _list(form: str, items: Iterable[object]) -> Markup:
    return Markup().join(Markup(form).format(item) for item in items)


def tables(card: pd.DataFrame, rows: pd.DataFrame) -> Markup:
    """One row a table (some rows of `standing`), which opens to its command and heat map."""
    heads = ("table", "predicted", "agree", "error", "worst", "wrong pass", "comes to")
    return Markup(
        '<div class="tables"><div class="row head" aria-hidden="true">{}</div>{}</div>'
    ).format(
        _list("<span>{}</span>", heads),
        _list("{}", (_opening(row, card) for _, row in rows.iterrows())),
    )


def _opening(row: pd.Series, card: pd.DataFrame) -> Markup:
    cells = card[(card["paper"] == row["paper"]) & (card["table"] == row["table"])]
    about = [", ".join(x for x in cells[of].unique() if x) for of in ("dataset", "metric")]
    name = Markup("{}{}").format(title(row["table"]), _small(" · ".join(x for x in about if x)))
    command, numbers = cells["command"].iloc[0], [Markup()] * 5
    if row["predicted"]:
        worst, swapped = card.loc[row["worst"]], row["swapped"]
        place = worst["id"].removeprefix(f"{row['paper']}/{row['table']}/").replace("/", ", ")
        said = f"Furthest from print: {place}, {worst['ours']:.1f} for {worst['published']}. "
        said += _sentence(worst["cause"])
        numbers = [
            _said(row["predicted"], "predicted"),
            _said(f"{row['agree']:.0f}%", "agree"),
            _said(f"{row['error']:.2f}", "points off"),
            _said(_minus(written(worst["difference"], 1, "+")), "worst"),
            _said(f"{row['passes']:.0f}%", f"of wrong {swapped} pass")
            if swapped
            else _said("no swap", "to test"),
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
        _list('<span class="number">{}</span>', numbers),
        word,
        Markup("<p><code>{}</code></p>").format(command) if command else "",
        _list("<p>{}</p>", lines),
        heat(cells, row["table"]),
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _said(value: object, what: str) -> Markup:
    """A number with its words, which a wide page shows once, as the heading."""
    return Markup("{} <i>{}</i>").format(value, what)


def roles() -> Markup:
    """What a published cell can be to us, with its mark."""
    item = Markup("{} <b>{}</b>: {}.")
    rows = (item.format(MARKS[name], name, text) for name, text in ROLES.items())
    return Markup('<ul class="marks">{}</ul>').format(_list("<li>{}</li>", rows))


def swaps(card: pd.DataFrame) -> Markup:
    """Every swap of methods and what it would have passed (`power.power`)."""
    rows = power(card)
    rows = rows[rows["kind"] == METHODS].drop(columns="kind")
    for name in ("right", "wrong"):
        rows[name] = rows[name].map("{:.0%}".format)
    rows["paper"], rows["table"] = rows["paper"].map(TITLES), rows["table"].map(title)
    names = {"right": "right cells that agree", "wrong": "wrong cells that would"}
    return frame(rows.rename(columns=names), name="comparison sortable heat")


def heat(card: pd.DataFrame, name: str) -> Markup:
    """One table as a heat map: the difference, with ours and the published value under it.

    Hovering (or the label a screen reader reads) gives verdict, tolerance, role and cause.
    """
    cells = card[card["table"] == name]
    keys = [key for key in KEYS if cells[key].fillna("").nunique() > 1]
    others = [key for key in keys if key != "selection"]
    if others and cells.groupby(others, dropna=False)["selection"].nunique().max() == 1:
        keys = others  # rows of one k have one selection, which k says then
    methods = list(cells["method"].unique())
    rows = []
    for place, group in cells.groupby(keys, sort=False, dropna=False):
        of = {row["method"]: row for _, row in group.iterrows()}
        rows.append([*place, *(_heat(of[m]) if m in of else Cell("", {}) for m in methods)])
    kinds = Markup(" ").join(
        badge(kind) for kind in ("published", *cells["kind"].dropna().unique())
    )
    caption = Markup("{}: ours minus published, in points. {}").format(title(name), kinds)
    heads = ["calls" if key == "k" else key for key in keys]
    return table([*heads, *methods], rows, name="comparison sortable heat", caption=caption)


def _heat(row: pd.Series) -> Cell:
    verdict, difference = row["verdict"], row["difference"]
    ours = f"{row['ours']:.1f}" if np.isfinite(row["ours"]) else ""
    both = f"{ours} for {row['published']}" if ours else row["published"]
    if np.isfinite(difference):
        why = "; ".join(row[name] for name in ("role", "cause", "reason") if row[name])
        share = 0.55 * min(abs(difference) / FULL, 1.0)  # transparent at zero, for dark pages too
        colour = f"background:rgba({HIGH if difference > 0 else LOW},{share:.2f})"
        said = f"{verdict}: tolerance {row['tolerance']:.2f}; {why}"
        role = Markup('<span class="role" role="img" aria-label="{}">{}</span>').format(
            row["role"], MARKS[row["role"]]
        )
        sign = Markup('<span role="img" aria-label="{}">{}</span>').format(verdict, SIGNS[verdict])
        shown = Markup("{} <b>{}</b> {}<br>{}").format(
            role, _minus(written(difference, 1, "+")), sign, _small(both)
        )
        used = "cell used" if row["role"] in USED else "cell"
        look = {"class": used, "style": colour, "title": said, "data-sort": f"{difference:.4f}"}
        return Cell(shown, look)
    why = row["reason"] or verdict
    if not row["published"]:
        both = ", ".join(part for part in (ours, "print lost") if part)
    shown = Markup("{}<br>{}").format(SIGNS[verdict], _small(both))
    said = f"{verdict}: {why}"
    return Cell(shown, {"class": f"cell {css(verdict)}", "title": said, "data-sort": ""})


def causes(card: pd.DataFrame) -> Markup:
    """Every cause of differences with what shows it, its cells, and what it leaves of them."""
    rows = effects(card)
    below = Markup("{}<br><code>{}</code>")
    both = zip(rows["cause"], rows.pop("target"), strict=True)
    named = [below.format(cause, shown) if shown else cause for cause, shown in both]
    rows["cause"] = pd.Series(named, dtype=object)
    names = {"before": "difference", "after": "left of it"}
    return frame(rows.rename(columns=names), name="comparison claims")


def reasons(card: pd.DataFrame) -> Markup:
    """How many cells were not tested for the same reason, most first."""
    counts = card.loc[card["reason"] != "", "reason"].value_counts()
    return frame(counts.rename("cells").reset_index(), name="comparison claims")


def claims(overview: pd.DataFrame) -> Markup:
    """Claims, each with its outcome under the four kinds of number (`claims.overview`)."""
    item = Markup(
        '<li><p>{} {}</p><div class="held">{}</div>'
        "<details><summary>what decides</summary>{}</details></li>"
    )
    rows = []
    for row in overview.to_dict("records"):
        paper = TITLES[row["paper"]].replace(", version ", " v")
        held = Markup().join(_outcome(kind, row[f"{kind} verdict"], row[kind]) for kind in KINDS)
        place = _small(f"{paper}, {row['place']}")
        rows.append(item.format(row["claim"], place, held, row["measure"]))
    return Markup('<ol class="claims">{}</ol>').format(Markup().join(rows))


def told(overview: pd.DataFrame) -> Markup:
    """Claims, each with its outcome for the twins: what a figure comes to."""
    item = Markup('<li><b class="{}">{}</b> {} {}</li>')
    rows = []
    for row in overview.to_dict("records"):
        verdict = row["simulated verdict"] or "cannot be checked"
        shown = _small(row["simulated"])
        rows.append(item.format(css(LOOKS[verdict]), verdict, row["claim"], shown))
    return Markup('<ul class="told">{}</ul>').format(Markup().join(rows))


def _minus(number: str) -> str:
    """A number with a minus sign in place of the hyphen."""
    return f"−{number[1:]}" if number.startswith("-") else number


def _outcome(kind: str, verdict: str, shown: str) -> Markup:
    """One kind's answer: a word, and the number with its limits where there is one."""
    if not verdict or verdict == "cannot be checked":
        verdict, look, shown = "not checked", css("not tested"), ""
    else:
        look = css(LOOKS[verdict])
    return Markup('<div class="{}">{} <b>{}</b><br>{}</div>').format(
        look, badge(kind), verdict, _small(_minus(shown))
    )


def outcomes(overview: pd.DataFrame) -> Markup:
    """How many claims have which outcome under each kind of number."""
    counts = {kind: overview[f"{kind} verdict"].value_counts() for kind in KINDS}
    rows = [
        [name, *(Cell(counts[kind].get(name, 0), {"class": css(look)}) for kind in KINDS)]
        for name, look in LOOKS.items()
    ]
    return table([f"of {len(overview)} claims", *map(badge, KINDS)], rows)
