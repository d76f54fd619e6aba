"""Measures of claims about several judges, by the claim's id; data/claims.toml has them in words.

`MEASURES` are for claims about figures and take the results by name. `RECORDED` repeat claims about
printed tables on LLMBar's recorded answers: sets of pairs, prompts and orders take the place of the
paper's tasks and pools, so they say whether a sentence carries over, not whether it was true there.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from reproduction.curve_claims import Curves, Measure

CELLS = ["dataset", "system", "selection"]
NOISY = ("TruthfulQA", "ChatbotArena")  # the tasks of Figure 6
CONTEXT = ("Crowdlayer", "SkillAggregation")
BY_SKILL = ("DawidSkene", "SkillAggregation")


def _accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by set, prompts and order (rows) and method (columns)."""
    rows = table[table["quantity"] == "accuracy"]
    return rows.pivot(index=CELLS, columns="method", values="value")


def _over_majority(table: pd.DataFrame, methods: tuple[str, ...]) -> pd.DataFrame:
    wide = _accuracies(table)
    return wide[list(methods)].sub(wide["majority-voting"], axis=0)


def _skill_over_majority(table: pd.DataFrame) -> float:
    return float(_over_majority(table, BY_SKILL).min().min())


def _crowdlayer(table: pd.DataFrame) -> float:
    wide = _accuracies(table)
    best = wide[["majority-voting", "average-probability"]].max(axis=1)
    return float((wide["Crowdlayer"] - best).min())


def _regulariser(table: pd.DataFrame) -> float:
    wide = _accuracies(table)
    return float((wide["SkillAggregation"] - wide["SkillAggregation-unregularised"]).min())


def _both_orders(table: pd.DataFrame) -> float:
    wide = _accuracies(table).drop(columns="DawidSkene, trusted").unstack("selection")
    return float((wide.xs("both", axis=1, level=1) - wide.xs("given", axis=1, level=1)).min().min())


def _gains_shrink(table: pd.DataFrame) -> float:
    gain = _over_majority(table, ("DawidSkene", "SkillAggregation-X"))
    both, given = (gain.xs(order, level="selection") for order in ("both", "given"))
    return float((both - given).max().max())


RECORDED: dict[str, Callable[[pd.DataFrame], float]] = {
    "sa-skill-beats-majority": _skill_over_majority,
    "sa-crowdlayer-beats-baselines": _crowdlayer,
    "sa-regularisation-helps": _regulariser,
    "sa-both-orders-help": _both_orders,
    "sa-gains-shrink-without-bias": _gains_shrink,
}


def on_recorded(name: str, table: pd.DataFrame | None) -> float:
    """The measure of a claim about a table on LLMBar's recorded answers; NaN where there are none.

    name : id of the claim. table : the result `recorded-aggregation`.
    """
    if table is None or set(table["kind"]) != {"recorded"}:
        return float("nan")
    try:
        return RECORDED[name](table)
    except KeyError:  # made without PyTorch
        return float("nan")


def _slopes(curves: Curves, evidence: str) -> float:
    if evidence == "recorded":
        rows = curves["recorded-aggregation"]
        return float(rows[rows["quantity"] == "correlation of slopes"]["value"].min())
    table = curves["skill-figure3"]
    rows = table[table["method"] == "SkillAggregation"]
    return float(rows.groupby("dataset")["correlation"].first().min())


def _subsets(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    wide = table.pivot(index="system", columns="method", values="value")
    return float((wide["SkillAggregation"] > wide["DawidSkene"]).mean())


def _by_size(curves: Curves, column: str) -> pd.DataFrame:
    (table,) = curves.values()
    return table.pivot(index=["dataset", "k"], columns="method", values=column)


def _noise(curves: Curves, _: str) -> float:
    sd = _by_size(curves, "gain_sd").loc[list(NOISY), list(CONTEXT)]
    few, many = (sd.xs(k, level="k").to_numpy() for k in (1000, 5000))
    return float(few.mean() / many.mean())


def _over_crowdlayer(curves: Curves, _: str) -> float:
    gain = _by_size(curves, "gain").loc[list(NOISY)]
    return float((gain["SkillAggregation"] - gain["Crowdlayer"]).min())


def _halueval(curves: Curves, _: str) -> float:
    return float(_by_size(curves, "gain").loc[("HaluEval", 1000), list(CONTEXT)].min())


MEASURES: dict[str, Measure] = {
    "sa-slopes-follow-accuracy": _slopes,
    "sa-subsets-over-dawid-skene": _subsets,
    "sa-few-samples-noisier": _noise,
    "sa-over-crowdlayer-at-every-size": _over_crowdlayer,
    "sa-halueval-gains-from-1000": _halueval,
}
