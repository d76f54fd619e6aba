"""Tables about the larger real judge: the headline claims on it, its twin, what was predicted.

No number is made here: they come from stored results and stored answers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from markupsafe import Markup

from judging.judges import recorded
from poe.arrays import Floats
from reproduction import ask_model, few_calls, predict_more, run
from reproduction.answers import HANNA
from reproduction.claims import accepted
from reproduction.published import NAMES
from reproduction.small import few_and_all
from reproduction.telling import pages
from reproduction.twins import labels

OWN = 419  # of LLMBar's pairs are its own
MARKS = {
    "expected": "expected mark",
    "avg-prob - expected": "comparing - expected mark",
    "c, of being right": "correlation of the two orders' being right",
}
CLAIMS, TWIN, LARGE = "measured-qwen-claims", "measured-qwen-twin", "measured-qwen-stories"


def at(result: str, **wanted: object) -> tuple[float, float]:
    """Value and standard error of the one row of a stored result that has these columns."""
    rows = run.read(result)
    assert rows is not None, f"data/results/{result}.csv is missing"
    for name, is_ in wanted.items():
        rows = rows[rows[name] == is_]
    (row,) = rows.itertuples()
    return float(row.value), float(row.se)


def said(result: str, *, sign: str = "", **wanted: object) -> str:
    """The same in words: "29.1 ± 4.7"; sign : "+" for differences."""
    value, se = at(result, **wanted)
    return f"{value:{sign}.1f} ± {se:.1f}".replace("-", "\u2212")


def cost_of_a_thousand(name: str, *, quiet: bool = False) -> dict[str, float]:
    """Tokens sent and computed, and seconds, for a thousand answers of a table, as measured.

    quiet : seconds at the pace of the part that was asked fastest; others ran beside other work.
    """
    runs = ask_model.about(ask_model.QWEN)["runs"][name]
    answers = sum(one["answers"] for one in runs)
    cost = {
        what: 1000.0 * sum(one[what] for one in runs) / answers
        for what in ("tokens", "computed", "seconds")
    }
    if quiet:
        cost["seconds"] = cost["computed"] * min(one["seconds"] / one["computed"] for one in runs)
    return cost


def hours(*, words: int | None = None, calls: int = 3000) -> float:
    """So many calls about texts that share nothing: LLMBar's, or texts of so many words."""
    took = cost_of_a_thousand("llmbar-poe", quiet=True)
    tokens = took["tokens"] / 1000.0
    # Two texts, four tokens for three words, and the question.
    longer = 1.0 if words is None else (2 * words * 4 / 3 + 70) / tokens
    return longer * calls / 1000.0 * took["seconds"] / 3600.0


def llmbar() -> Markup:
    """The larger judge beside the six recorded ones on LLMBar's pairs; nothing before it was asked.

    Accuracy of single verdicts, of both orders averaged, and the share that prefer the first
    place, on the pairs that it was asked about, natural and adversarial.
    """
    run_ = ask_model.Run("llmbar", "poe", (predict_more.ATTRIBUTE,), OWN)
    known, logits, better = predict_more.asked_pairs(ask_model.in_order(run_, ask_model.QWEN))
    if not known:
        return Markup()
    data = ask_model.load("llmbar")
    places = {data.context_ids[c]: k for k, c in enumerate(known)}
    kinds = {kind: at for kind, at in predict_more.by_set(known).items() if at and kind != "all"}
    rows = [
        {
            "judge": ask_model.QWEN.name,
            "pairs": f"{kind} ({len(at)})",
            **_shown(logits[at], better[at]),
            "evidence": "measured",
        }
        for kind, at in kinds.items()
    ]
    table = recorded.llmbar()
    table = table[table["strategy"] == "Vanilla"]
    table = table.assign(
        pair=[f"{s}/{i}" for s, i in zip(table["set"], table["item"], strict=True)]
    )
    wide = table[table["pair"].isin(places)].pivot(
        index=["judge", "pair"], columns="first", values="p"
    )
    for judge, part in wide.dropna().groupby(level="judge"):
        place = np.array([places[pair] for pair in part.index.get_level_values("pair")])
        # A verdict is a probability of 0 or 1: any logit of that sign.
        verdicts = np.sign(part.to_numpy(dtype=float) - 0.5)
        for kind, at in kinds.items():
            here = np.isin(place, at)
            of = _shown(verdicts[here], better[place[here]])
            about = {"judge": str(judge), "pairs": f"{kind} ({here.sum()})"}
            rows.append({**about, **of, "evidence": "recorded"})
    own = [row for row in rows if row["evidence"] == "measured"]
    said = " and ".join(
        f"from {row['one order, %']} to {row['both orders, %']}% "
        f"of the {row['pairs'].split()[0]} ones"
        for row in own
    )
    caption = Markup(
        "<p>LLMBar's pairs in both orders, with a seventh judge, which gives probabilities. "
        "Averaging the two orders takes it {}.</p>"
    ).format(said)
    results = pd.DataFrame(rows).sort_values("pairs", kind="stable", ascending=False)
    return caption + pages.frame(results, kind="measured recorded")


def _shown(logits: Floats, better: Floats) -> dict[str, str]:
    of = predict_more.of_pairs(logits, better)
    return {
        "one order, %": f"{of['accuracy of one order']:.0f}",
        "both orders, %": f"{of['accuracy of both orders']:.0f}",
        "first place preferred, %": f"{of['first place preferred']:.0f}",
    }


def stories() -> Markup:
    """What few calls about HANNA's stories come to, and how many of all were asked so far.

    One row an attribute and method, a column a number of calls; below, in a fold, what was
    predicted. The table is absent until `judging reproduce measured-qwen-stories` has made it.
    """
    made = sum(few_calls.asked(one, ask_model.QWEN)[1].size for one in predict_more.STORIES)
    every = HANNA * len(predict_more.STORIES)
    caption = Markup("<p>{} was asked {:,} of {:,} calls about HANNA’s stories so far.</p>").format(
        ask_model.QWEN.name, made, every
    )
    rows = run.read(LARGE)
    if rows is None or not made:
        return caption
    n = labels("hanna").n_candidates
    values = {
        (row.attribute, row.quantity): f"{row.value:.1f} ± {row.se:.1f}"
        for row in rows.itertuples()
    }
    shares = {
        f"{size} calls ({100 * k / (n - 1):.2f}%)": size for size, k in few_calls.SIZES.items()
    }
    table = [
        {
            "attribute, method": f"{attribute}, {method}",
            **{
                head: values.get((attribute, f"{method}, {size}"), "")
                for head, size in shares.items()
            },
        }
        for attribute in dict.fromkeys(rows["attribute"])
        for method in few_calls.METHODS
    ]
    told = came_of(large=True)
    return (
        caption
        + pages.frame(pd.DataFrame(table), kind="measured")
        + (
            pages.frame(told, kind="simulated measured", fold="What was predicted before a call")
            if len(told)
            else Markup()
        )
    )


def where(rows: pd.DataFrame) -> list[str]:
    """Of each row, its texts: "SummEval, coherence (13)", with the number of contexts."""
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
    rows = run.read(CLAIMS)
    assert rows is not None, f"data/results/{CLAIMS}.csv is missing"
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
    rows = run.read(CLAIMS)
    assert rows is not None
    rows, sets = rows[rows["contexts"] == _every(rows)], rows["dataset"].nunique()
    everywhere = rows.groupby("claim")["dataset"].transform("nunique") == sets
    return {str(word): int(n) for word, n in rows.loc[everywhere, "verdict"].value_counts().items()}


def _every(rows: pd.DataFrame) -> pd.Series:
    """Of each claim, how many contexts others of the same texts were asked about."""
    return rows.groupby(["dataset", "attribute"])["contexts"].transform("max")


def twin() -> pd.DataFrame:
    """One row a twin: how far off it is on each dataset, points (root mean square)."""
    rows = run.read(TWIN)
    assert rows is not None, f"data/results/{TWIN}.csv is missing"
    rows = rows[rows["quantity"] == "all of these"]
    wide = rows.pivot(index="twin", columns="dataset", values="value")
    return wide.reindex(rows["twin"].unique())[list(rows["dataset"].unique())]


def came_of(*, large: bool = False) -> pd.DataFrame:
    """Predictions about LLMBar and scores beside what was measured; empty before.

    large : those about HANNA instead.
    """
    rows = predict_more.outcomes()
    if rows.empty or (rows := rows[rows["predicted"].str.startswith("HANNA") == large]).empty:
        return pd.DataFrame()
    return pd.DataFrame(
        {
            "texts, quantity": [
                f"{_texts(one)}, {of}: {_words(what)}"
                for one, of, what in zip(
                    rows["predicted"], rows["attribute"], rows["quantity"], strict=True
                )
            ],
            "predicted": [
                f"{row.median:.1f} ({row.low:.1f} to {row.high:.1f})" for row in rows.itertuples()
            ],
            "measured": rows["measured"].map("{:.1f}".format),
            "inside": rows["inside"].map({True: "yes", False: "no"}),
        }
    )


def _texts(predicted: str) -> str:
    """Of a set of predictions, its dataset."""
    return predicted.partition(",")[0].partition("'")[0]


def _words(quantity: str) -> str:
    return MARKS.get(quantity, quantity).replace(" - ", " minus ")
