"""The tables of the reproduction pages: totals, heat maps of differences, claims, the log.

Every number stands in the text, colour and sign only repeat it; tables scroll inside themselves on
a phone and sort by a click or Enter on a heading (book/_static: reproduction.css, sort-tables.js).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from reproduction.claims import EVIDENCE, OUTCOMES
from reproduction.power import METHODS, overview, power
from reproduction.published import TITLES
from reproduction.twins import ROLES
from reproduction.verdicts import VERDICTS, effects, summary, unique

SIGNS = dict(zip(VERDICTS, "≈≠·", strict=True))
LOOKS = dict(zip(OUTCOMES, ("agrees", "undecided", "differs", "not tested"), strict=True))
KEYS = ("system", "k", "selection", "dataset", "attribute", "metric")
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


def frame(rows: pd.DataFrame, *, name: str = "comparison", kind: str = "") -> Markup:
    """A data frame as such a table, under the names of its columns and the evidence label."""
    caption = badge(kind) if kind else ""
    return table(rows.columns, rows.itertuples(index=False, name=None), name=name, caption=caption)


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
    """What the signs mean."""
    key = Markup('<span class="{} verdict-key">{} {}</span>')
    items = [key.format(css(name), sign, name) for name, sign in SIGNS.items()]
    return Markup('<p class="verdict-legend">{}</p>').format(Markup(" ").join(items))


def glance(card: pd.DataFrame) -> Markup:
    """The totals at a glance: how many cells, how many of each verdict and kind, how far off.

    All but the first count experiments, each once.
    """
    found, card = summary(card), unique(card)
    counts = card["verdict"].value_counts()
    items: list[tuple[str, object, object]] = [
        ("", found["cells"], "printed cells"),
        ("", len(card), "experiments that they report"),
    ]
    items += [
        (css(name), counts[name], f"{sign} {name}")
        for name, sign in SIGNS.items()
        if name in counts
    ]
    if found["predicted"]:
        said = f"of {found['predicted']} predicted experiments agree"
        items.append(("", found["agree"], said))
    for role in reversed(ROLES):
        if found[role]:
            said = f"points off on average, over {found[role]} experiments that are {role}"
            items.append(("", f"{found[f'{role}_error']:.2f}", said))
    items += [("", count, badge(kind)) for kind, count in card["kind"].value_counts().items()]
    item = Markup('<li class="{}"><b>{}</b>{}</li>')
    return Markup('<ul class="glance">{}</ul>').format(
        Markup().join(item.format(*i) for i in items)
    )


def standing(card: pd.DataFrame) -> Markup:
    """One row a table (`power.overview`), each paper's with a last row for its experiments."""
    rows = overview(card)
    for name in rows:
        if name == "agree" or name.startswith("wrong"):
            rows[name] = [f"{x:.0f}%" if np.isfinite(x) else "" for x in rows[name]]
    rows["table"] = rows["table"].map(title)
    return frame(rows.fillna(""), name="comparison sortable heat")


def roles() -> Markup:
    """What a published cell can be to us."""
    item = Markup("<li><b>{}</b>: {}.</li>")
    return Markup("<ul>{}</ul>").format(Markup().join(item.format(*role) for role in ROLES.items()))


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
    methods = list(cells["method"].unique())
    rows = []
    for place, group in cells.groupby(keys, sort=False, dropna=False):
        of = {row["method"]: row for _, row in group.iterrows()}
        rows.append([*place, *(_heat(of[m]) if m in of else Cell("", {}) for m in methods)])
    kinds = Markup(" ").join(
        badge(kind) for kind in ("published", *cells["kind"].dropna().unique())
    )
    caption = Markup("{}: ours less published, in points. {}").format(title(name), kinds)
    return table([*keys, *methods], rows, name="comparison sortable heat", caption=caption)


def _heat(row: pd.Series) -> Cell:
    verdict, difference = row["verdict"], row["difference"]
    ours = f"{row['ours']:.1f}" if np.isfinite(row["ours"]) else ""
    both = f"{ours} for {row['published']}" if ours else row["published"]
    if np.isfinite(difference):
        number = f"{difference:+.1f}".replace("-", "−")
        number = "0.0" if number[1:] == "0.0" else number
        why = "; ".join(row[name] for name in ("role", "cause", "reason") if row[name])
        share = 0.55 * min(abs(difference) / FULL, 1.0)  # transparent at zero, for dark pages too
        colour = f"background:rgba({HIGH if difference > 0 else LOW},{share:.2f})"
        said = f"{verdict}: tolerance {row['tolerance']:.2f}; {why}"
        shown = Markup('<b>{}</b> <span aria-label="{}">{}</span><br>{}').format(
            number, verdict, SIGNS[verdict], _small(both)
        )
        look = {"class": "cell", "style": colour, "title": said, "data-sort": f"{difference:.4f}"}
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
    code = [Markup("<code>{}</code>").format(name) if name else "" for name in rows["target"]]
    rows["target"] = pd.Series(code, dtype=object)
    names = {"target": "shown by", "before": "mean difference", "after": "left of it"}
    return frame(rows.rename(columns=names), name="comparison claims")


def reasons(card: pd.DataFrame) -> Markup:
    """How many cells were not tested for the same reason, most first."""
    counts = card.loc[card["reason"] != "", "reason"].value_counts()
    return frame(counts.rename("cells").reset_index(), name="comparison claims")


def outcome_counts(overview: pd.DataFrame) -> Markup:
    """How many claims have which outcome under each kind of number (`claims.overview`)."""
    counts = {kind: overview[f"{kind} verdict"].value_counts() for kind in EVIDENCE}
    rows = [
        [name, *(Cell(counts[kind].get(name, 0), {"class": css(look)}) for kind in EVIDENCE)]
        for name, look in LOOKS.items()
    ]
    return table([f"of {len(overview)} claims", *map(badge, EVIDENCE)], rows)


def claims(overview: pd.DataFrame) -> Markup:
    """Every claim with its outcome under each kind of number (`claims.overview`)."""
    rows = []
    for row in overview.to_dict("records"):
        place = f"({row['paper'].replace('_', ' ')}, {row['place']})"
        text = Markup("{} {}").format(row["claim"], _small(place))
        head = Cell(text, {"class": "claim", "title": row["measure"]})
        rows.append([head, *(_outcome(row[f"{kind} verdict"], row[kind]) for kind in EVIDENCE)])
    return table(("claim", *EVIDENCE), rows, name="comparison sortable heat claims")


def _outcome(verdict: str, shown: str) -> Cell:
    if not verdict:
        return Cell("", {})
    if verdict == "cannot be checked":  # most of them; words would drown the others
        return Cell("not checked", {"title": verdict, "data-sort": verdict})
    text = Markup("{}<br>{}").format(verdict, _small(shown))
    return Cell(text, {"class": css(LOOKS[verdict]), "data-sort": verdict})
