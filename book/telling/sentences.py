"""The papers' sentences on the pages: each claim with its outcome under four kinds of number.

A measured outcome counts only where the model that was asked can be told from chance on the texts
that the claim is about. Where it cannot, its rankings hold no information about which method ranks
better, and the page says so in place of a verdict.
"""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from book.telling.pages import Cell, badge, css, minus, small, table
from reproduction import claims, run
from reproduction.answers import SMOLLM2
from reproduction.claims import OUTCOMES
from reproduction.published import NAMES, TITLES, load

NO_INFORMATION = "no information"
NOT_CHECKED = "not checked"
SAID = {
    **dict(zip(OUTCOMES[:-1], ("agrees", "undecided", "differs"), strict=True)),
    NO_INFORMATION: "undecided",
    NOT_CHECKED: "not tested",
}
# The claims that carry this book's paper, chosen for what they say, not for how they came out.
HEADLINES = (
    "v2-fifth-within-2",
    "v2-win-ratio-loses-10",
    "v2-avg-prob-beats-win-ratio",
    "v2-soft-beats-avg-prob",
    "v2-gaussian-bt-alike-soft",
    "v2-full-within-1",
    "v2-selection-helps-all",
    "v2-two-percent",
    "v2-debiasing-needed",
    "v2-baselines-11-of-14",
)
MODEL = SMOLLM2.name
KINDS = ("published", "measured", "recorded", "simulated")  # as they stand beside each other


def chance(methods: pd.DataFrame) -> set[tuple[str, str]]:
    """The (system, dataset) in which a model's ranking by all its answers may be a coin's.

    methods : a stored `measured-methods`. The mean correlation with people of the average
    probability is at most two of its standard errors above zero.
    """
    rows = methods.query(
        "attribute == 'mean' and metric == 'spearman' and selection == 'full'"
        " and method == 'avg-prob' and template == 'poe'"
    )
    rows = rows[rows["value"] <= 2.0 * rows["se"]]
    return set(zip(rows["system"], rows["dataset"], strict=True))


def overview(*about: str) -> pd.DataFrame:
    """As `claims.overview`, with "no information" where the model asked is at chance."""
    return informed(claims.overview(*about), _at_chance())


def informed(rows: pd.DataFrame, at_chance: set[str]) -> pd.DataFrame:
    """Claims without a measured verdict where all their cells are of datasets at chance."""
    verdict = rows["measured verdict"]
    judged = verdict.map(word) != NOT_CHECKED
    blind = judged & rows["id"].map(lambda name: _only_about(name, at_chance))
    return rows.assign(**{"measured verdict": verdict.mask(blind, NO_INFORMATION)})


def _at_chance() -> set[str]:
    pairs = chance(run.read("measured-methods"))
    return {NAMES[dataset] for system, dataset in pairs if system == MODEL}


def _only_about(name: str, datasets: set[str]) -> bool:
    """Whether a claim is about tables, and about these datasets alone."""
    targets = [target.split("/") for target in claims.all_claims()[name].targets]
    if not all(table.startswith("table") for _, table in targets):
        return False
    there = {d for paper, name in targets for d in load(name, paper=paper)["dataset"]}
    return there <= datasets


def listed(held: pd.DataFrame) -> Markup:
    """Claims, each with its outcome under the four kinds of number (`overview`)."""
    item = Markup(
        '<li><p>{} {}</p><div class="held">{}</div>'
        "<details><summary>what decides</summary>{}</details></li>"
    )
    rows = []
    for row in held.to_dict("records"):
        paper = TITLES[row["paper"]].replace(", version ", " v")
        kinds = Markup().join(_outcome(kind, row[f"{kind} verdict"], row[kind]) for kind in KINDS)
        place = small(f"{paper}, {row['place']}")
        rows.append(item.format(row["claim"], place, kinds, row["measure"]))
    return Markup('<ol class="claims">{}</ol>').format(Markup().join(rows))


ORDER = ("measured", "recorded", "published", "simulated")  # from a judge's answers to a twin's


def failed(held: pd.DataFrame) -> pd.DataFrame:
    """Collect every claim that does not hold, a row a claim and kind of number.

    Columns: kind, in `ORDER`, claim, place (paper and place in it), number (with its limits).
    """
    rows = []
    for kind in ORDER:
        for row in held[held[f"{kind} verdict"] == OUTCOMES[2]].to_dict("records"):
            paper = TITLES[row["paper"]].replace(", version ", " v")
            place = f"{paper}, {row['place']}"
            rows.append({"kind": kind, "claim": row["claim"], "place": place, "number": row[kind]})
    return pd.DataFrame(rows)


def failures(rows: pd.DataFrame) -> Markup:
    """Every sentence that failed (`failed`), once, under the first kind of number that fails it."""
    item = Markup("<li>{}{} {}</li>")
    out = Markup()
    for kind, part in rows.drop_duplicates("claim").groupby("kind", sort=False):
        items = Markup()
        for row in part.to_dict("records"):
            also = rows.loc[(rows["claim"] == row["claim"]) & (rows["kind"] != kind), "kind"]
            both = Markup(" ").join(map(badge, also)) if len(also) else ""
            items += item.format(row["claim"], small(f" {row['place']}"), both)
        out += Markup("<p>{}</p><ul>{}</ul>").format(badge(kind), items)
    return Markup('<div class="failures">{}</div>').format(out)


def claim_list(held: pd.DataFrame, kind: str = "simulated") -> Markup:
    """Claims, each with its outcome under one kind of number, by default for the twins."""
    item = Markup('<li><b class="{}">{}</b> {} {}</li>')
    rows = []
    for row in held.to_dict("records"):
        verdict = word(row[f"{kind} verdict"])
        shown = small(minus(row[kind]))
        rows.append(item.format(css(SAID[verdict]), verdict, row["claim"], shown))
    return Markup('<ul class="told">{}</ul>').format(Markup().join(rows))


def word(verdict: str) -> str:
    """A claim may not be asked of one kind of number, or ask for what nobody has."""
    return NOT_CHECKED if verdict in ("", OUTCOMES[-1]) else verdict


def _outcome(kind: str, verdict: str, shown: str) -> Markup:
    """One kind's answer: a word, and the number with its limits where there is one."""
    verdict = word(verdict)
    look, shown = css(SAID[verdict]), "" if verdict == NOT_CHECKED else shown
    asked = small(MODEL.split("-")[0]) if kind == "measured" else ""
    return Markup('<div class="{}">{} {} <b>{}</b><br>{}</div>').format(
        look, badge(kind), asked, verdict, small(minus(shown))
    )


def outcomes(held: pd.DataFrame) -> Markup:
    """How many claims have which outcome under each kind of number."""
    counts = {kind: held[f"{kind} verdict"].map(word).value_counts() for kind in KINDS}
    rows = [
        [name, *(Cell(counts[kind].get(name, 0), {"class": css(look)}) for kind in KINDS)]
        for name, look in SAID.items()
    ]
    name = "comparison stacks"
    return table([f"of {len(held)} claims", *map(badge, KINDS)], rows, name=name)
