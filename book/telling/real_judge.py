"""Tables about the larger real judge: the headline claims on it, what it costs.

No number is made here: they come from stored results and stored answers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.answers import PROCESSOR, QWEN
from reproduction.answers import about as asked_about
from reproduction.claims import accepted
from reproduction.published import NAMES
from reproduction.results import stored
from reproduction.small import few_and_all

CLAIMS = "measured-qwen-claims"


def at(result: str, **wanted: object) -> tuple[float, float]:
    """Value and standard error of the one row of a stored result that has these columns."""
    (row,) = stored(result, **wanted).itertuples()
    return float(row.value), float(row.se)


def value_with_error(result: str, *, sign: str = "", **wanted: object) -> str:
    """`at` as text: "29.1 ± 4.7"; sign : "+" for differences."""
    value, se = at(result, **wanted)
    return f"{value:{sign}.1f} ± {se:.1f}".replace("-", "\u2212")


def cost_of_a_thousand(name: str, *, quiet: bool = False) -> dict[str, float]:
    """Tokens sent and computed, and seconds, for a thousand answers of a table on a processor.

    quiet : seconds at the pace of the part that was asked fastest; others ran beside other work.
    """
    runs = asked_about(PROCESSOR)["runs"].get(name) or asked_about(QWEN)["runs"][name]
    answers = sum(one["answers"] for one in runs)
    cost = {
        what: 1000.0 * sum(one[what] for one in runs) / answers
        for what in ("tokens", "computed", "seconds")
    }
    if quiet:
        cost["seconds"] = cost["computed"] * min(one["seconds"] / one["computed"] for one in runs)
    return cost


def hours(*, words: int | None = None, calls: int = 3000) -> float:
    """Hours for calls about unrelated texts, of `words` words or by default of LLMBar's length."""
    took = cost_of_a_thousand("llmbar-poe", quiet=True)
    tokens = took["tokens"] / 1000.0
    # Two texts, four tokens for three words, and the question.
    longer = 1.0 if words is None else (2 * words * 4 / 3 + 70) / tokens
    return longer * calls / 1000.0 * took["seconds"] / 3600.0


def where(rows: pd.DataFrame) -> list[str]:
    """Name each row's texts: "SummEval, coherence (13)", with the number of contexts."""
    about = rows["attribute"].replace({"mean": "mean of attributes"})
    return [
        f"{NAMES[dataset]}, {attribute} ({contexts})"
        for dataset, attribute, contexts in zip(
            rows["dataset"], about, rows["contexts"], strict=True
        )
    ]


def headlines() -> pd.DataFrame:
    """One row a headline claim: what it comes to in print, for twins, and on each set of texts.

    Columns: claim, the limit of its number for one judge, published, twins, and one for each set
    of texts, "holds: +0.6 ± 0.8".
    """
    rows = stored(CLAIMS)
    said = accepted().set_index(["id", "evidence"])["verdict"]
    every = _every(rows)
    rows = rows.assign(
        where=where(rows.assign(contexts=every)),
        said=[
            row.verdict
            if row.verdict == "no information"
            else f"{row.verdict}: {row.value:+.1f} ± {row.se:.1f}"
            if row.contexts == of
            else f"not counted: {row.value:+.1f} ± {row.se:.1f} ({row.contexts} only)"
            for row, of in zip(rows.itertuples(), every, strict=True)
        ],
    )
    once = rows.drop_duplicates("claim").set_index("claim")
    ids, limits = once["words"], once[["at_least", "at_most"]].astype(float)
    wide = rows.pivot(index="claim", columns="where", values="said").reindex(ids.index)
    few = {name: "{} of {} calls".format(*few_and_all(name)) for name in rows["dataset"].unique()}
    calls = dict(zip(rows["where"], rows["dataset"].map(few), strict=True))
    columns = {
        "claim": ids.to_list(),
        "limit, points": [within(*each) for each in limits.to_numpy()],
        **{
            name: [said.get((claim, kind), "") for claim in ids.index]
            for name, kind in (("published", "published"), ("twins", "simulated"))
        },
        **{f"{name}, {of}": wide[name].fillna("").to_list() for name, of in calls.items()},
    }
    return pd.DataFrame(columns)


def within(low: float, high: float) -> str:
    """Limits in words: "at least 0.1", "at most 2", "within 0.5", "9 to 11"."""
    if np.isinf(low):
        return f"at most {high:g}"
    if np.isinf(high):
        return f"at least {low:g}"
    return f"within {high:g}" if low == -high else f"{low:g} to {high:g}"


def counts() -> dict[str, int]:
    """How many claims come to what, of those that were asked on every set of texts in full."""
    rows = stored(CLAIMS)
    rows, sets = rows[rows["contexts"] == _every(rows)], rows["dataset"].nunique()
    everywhere = rows.groupby("claim")["dataset"].transform("nunique") == sets
    return {str(word): int(n) for word, n in rows.loc[everywhere, "verdict"].value_counts().items()}


def _every(rows: pd.DataFrame) -> pd.Series:
    """The most contexts, row by row, that any claim about the same texts was asked about."""
    return rows.groupby(["dataset", "attribute"])["contexts"].transform("max")
