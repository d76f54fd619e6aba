"""The papers' headline claims on one real judge: its number, error, limits and what it comes to.

A claim about all judges or most of them is asked here of one, on each dataset that it answered:
the mean over attributes where all four were asked, else every attribute. Numbers are differences
within contexts, so their errors are paired. Limits are those of data/claims.toml. A claim comes to

    holds, does not hold   its number is more than two errors inside, or outside, of its limits
    borderline             it is nearer than that
    no information         the judge's ranking by all its calls cannot be told from chance

Claims about large sets (2% of the calls) and about other scores (G-Eval) appear once the judge has
been asked about HANNA or for scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from poe.arrays import Floats
from reproduction.answers import Measured
from reproduction.measured_tables import (
    CALLS,
    DATASETS,
    Asked,
    absolute_of,
    corrections_of,
    group,
    model_of,
    rows_of,
)
from reproduction.settings import SIGNIFICANT, Calls, Settings
from reproduction.small import METHODS, answers, correlations, few_and_all

SOFT = ("PoE-BT", "PoE-g")
BASELINES = "v2-baselines-11-of-14"
# By claim: in words, of one judge; from which number on, and up to which, it holds.
CLAIMS: dict[str, tuple[str, float, float]] = {
    "v2-fifth-within-2": (
        "With a fifth of the calls PoE-BT comes within 2 points of all calls",
        -np.inf,
        2.0,
    ),
    "v2-win-ratio-loses-10": (
        "With a fifth of the calls the win-ratio loses up to 10 points",
        -np.inf,
        11.0,
    ),
    "v2-avg-prob-beats-win-ratio": (
        "With a fifth of the calls the average probability beats the win-ratio",
        0.1,
        np.inf,
    ),
    "v2-soft-beats-avg-prob": (
        "Both products of experts on probabilities beat the average probability",
        0.1,
        np.inf,
    ),
    "v2-gaussian-bt-alike-soft": (
        "Gaussian and Bradley-Terry experts perform alike on probabilities",
        -0.5,
        0.5,
    ),
    "v2-full-within-1": (
        "With all calls the average probability and the win-ratio are within a point",
        -1.0,
        1.0,
    ),
    "v2-selection-helps-all": ("Selecting the comparisons helps every method", 0.1, np.inf),
    "v2-debiasing-needed": (
        "The bias term brings a large gain when each pair is asked once",
        1.0,
        np.inf,
    ),
    BASELINES: (
        "PoE-BT with a fifth of the calls beats scores of single texts (G-Eval)",
        0.1,
        np.inf,
    ),
}
WHOLE = "information"  # Spearman of all calls: whether there is any


def table(settings: Settings) -> pd.DataFrame:
    """A row a dataset, attribute and claim; of claims about several methods the worst for it.

    value, se : the number and its error over contexts, points. at_least, at_most : its limits.
    verdict : as above. whole, whole_se : Spearman with people of all calls.
    """
    which, rows = model_of(settings), []
    for dataset in DATASETS:
        if not (every := group(dataset, which=which)):
            continue
        done = settings.map(partial(numbers, settings=settings), every)
        values = [done[one] for one in every]
        alike = set.intersection(*(set(each) for each in values))
        values = [{key: each[key] for key in each if key in alike} for each in values]
        claims = pd.DataFrame(rows_of(every, values, columns=("claim", "method")))
        if (BASELINES, "") in alike:  # of which not all contexts have any
            scored = [(~np.isnan(each[BASELINES, ""])).any(axis=0).sum() for each in values]
            claims.loc[claims["claim"] == BASELINES, "contexts"] = min(scored)
        if (claims["attribute"] == "mean").any():
            claims = claims[claims["attribute"] == "mean"]
        for _, part in claims.groupby("attribute", sort=False):
            rows += list(_judged(part))
    return pd.DataFrame(rows).assign(**settings.how("measured", "real"))


def numbers(one: Asked, settings: Settings) -> dict[tuple[str, str], Floats]:
    """By claim and method, the number in each draw and context, (draws, C)."""
    judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
    few, whole = few_and_all(one.dataset)
    values: dict[tuple[str, str], Floats] = {}

    def drawn(k: int, rule: str, draws: int) -> dict[str, Floats]:
        stack = answers(
            judge, Calls(one.dataset, k, rule), one.gold, seed=[settings.seed, CALLS], draws=draws
        )
        return {name: each for (name, _), each in correlations(stack, one.gold, METHODS).items()}

    at, all_, greedy = (
        drawn(few, "symmetric", settings.draws),
        drawn(whole, "symmetric", 1),
        drawn(few, "greedy", settings.draws),
    )
    values[WHOLE, ""] = all_["avg-prob"]
    values["v2-fifth-within-2", ""] = all_["avg-prob"] - at["PoE-BT"]
    values["v2-win-ratio-loses-10", ""] = all_["win-ratio"] - at["win-ratio"]
    values["v2-avg-prob-beats-win-ratio", ""] = at["avg-prob"] - at["win-ratio"]
    values |= {("v2-soft-beats-avg-prob", m): at[m] - at["avg-prob"] for m in SOFT}
    values["v2-gaussian-bt-alike-soft", ""] = at["PoE-BT"] - at["PoE-g"]
    values["v2-full-within-1", ""] = all_["avg-prob"] - all_["win-ratio"]
    values |= {("v2-selection-helps-all", m): greedy[m] - at[m] for m in METHODS}
    once = {
        key: each for key, each in corrections_of(one, settings).items() if key[0] == "one order"
    }
    (k,) = {key[1] for key in once}
    of = {bias: once["one order", k, "PoE-BT", bias, "spearman"] for bias in ("none", "plug-in")}
    values["v2-debiasing-needed", ""] = of["plug-in"] - of["none"]
    scores = absolute_of(one)["expected",]
    if not np.isnan(scores).all():
        # In contexts without scores there is no difference.
        values[BASELINES, ""] = at["PoE-BT"] - scores
    return values


def _judged(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    """One attribute's claims in order."""
    whole = rows[rows["claim"] == WHOLE].iloc[0]
    for claim, (words, low, high) in CLAIMS.items():
        part = rows[rows["claim"] == claim]
        if part.empty:
            continue
        inside = np.minimum(part["value"] - low, high - part["value"])
        worst = part.loc[inside.idxmin()]
        yield {
            **worst[["system", "dataset", "attribute", "contexts"]].to_dict(),
            "claim": claim,
            "words": words,
            "method": worst["method"],
            "value": worst["value"],
            "se": worst["se"],
            "at_least": low,
            "at_most": high,
            "verdict": verdict(float(inside.min()), worst["se"], whole["value"], whole["se"]),
            "whole": whole["value"],
            "whole_se": whole["se"],
        }


def verdict(inside: float, se: float, whole: float, whole_se: float) -> str:
    """From how far inside its limits a number is (outside: below zero), and what all calls say."""
    if whole <= SIGNIFICANT * whole_se:
        return "no information"
    if abs(inside) <= SIGNIFICANT * se:
        return "borderline"
    return "holds" if inside > 0 else "does not hold"
