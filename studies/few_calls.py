"""What few calls about one large set tell: rankings after N, 2N and 4N calls, in the order asked.

The calls come in quarters (`reproduction.quarters`), so the sets are nested. After N and 2N calls
each pair was asked in one order: the logit of the mean probability is subtracted from all logits
first, the paper's plug-in for the Bradley-Terry expert's position bias, for every method alike;
what it leaves of the bias adds up along the tree of the first N. After 4N calls both orders are
averaged.

Spearman times 100, with people's scores, and with the judge's own ranking by PoE-BT of all 4N
calls: by all N(N-1) nobody could afford. So the paper's sentence about 2% of all comparisons
(which are 21N calls of 1056 texts) is asked here of 0.19% and 0.38%: what the second half of the
calls adds. With itself a judge is also held one half against the other: the same pairs, asked in
the other order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from judging.datasets.questions import pairs_of
from judging.metrics import spearman
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from reproduction import answers, large
from reproduction.answers import HANNA, WIDE_CALLS, Model
from reproduction.quarters import quarters
from reproduction.twins import labels

METHODS = ("win-ratio", "BT", "avg-prob", "PoE-BT", "PoE-g")
GAINS = (
    ("PoE-BT", "win-ratio"),
    ("PoE-BT", "BT"),
    ("PoE-BT", "avg-prob"),
    ("PoE-BT", "PoE-g"),
    ("avg-prob", "win-ratio"),
)
SIZES = {"N": 1, "2N": 2, "4N": 4}  # calls, in quarters
OTHER, HALVES = "other 2N", ("PoE-BT", "avg-prob")
TOLERANCE = 1e-8  # of a solution
ALL = "PoE-BT of 4N"  # the judge's own ranking
Rankings = Mapping[str, Mapping[str, Floats]]  # by size and method


# What was asked, and said ------------------------------------------------------------------------


@cache
def story_calls() -> Indices:
    """(4, N, 2) the calls about HANNA's stories, quarter by quarter as they are asked."""
    n = labels("hanna").n_candidates
    return quarters(pairs_of(n, HANNA, both_orders=True, seed=(0, 0))[::2])


def wide_calls() -> Indices:
    """(20N, 2) both orders of 10N pairs in succession; the first 4N are those asked in quarters."""
    n = labels("hanna").n_candidates
    return pairs_of(n, WIDE_CALLS, both_orders=True, seed=(0, 0))


def story_logits(attribute: str, model: Model) -> pd.Series:
    """Logits of what a model said of HANNA, by who was shown first and second; empty before."""
    table = answers.kept("hanna-poe", model)
    rows = table[table["attribute"] == attribute].set_index(["first", "second"])
    return pd.Series(dtype=float) if rows.empty else rows["log_p_1"] - rows["log_p_2"]


def asked(attribute: str, model: Model) -> tuple[Indices, Floats]:
    """Calls (Q, N, 2) of the quarters that were asked, from the first on, and logits (Q, N)."""
    logits, calls = story_logits(attribute, model), story_calls()
    there = [all(tuple(one) in logits.index for one in part.tolist()) for part in calls]
    calls = calls[: there.index(False) if False in there else 4]
    values = logits.loc[[tuple(one) for one in calls.reshape(-1, 2).tolist()]]
    return calls, values.to_numpy(dtype=float).reshape(calls.shape[:2])


# What it tells -----------------------------------------------------------------------------------


def one_order(
    calls: Indices, logits: Floats, n: int, methods: Sequence[str] = METHODS
) -> dict[str, Floats]:
    """Scores (N,) by method, from calls (K, 2) that ask each pair once; the bias is taken out."""
    p = expit(logits - logit(expit(logits).mean()))
    return large.scores(Comparisons.from_pairs(calls, p, items=n), methods, tol=TOLERANCE)


def both_orders(
    calls: Indices, logits: Floats, n: int, methods: Sequence[str] = METHODS
) -> dict[str, Floats]:
    """Scores (N,) by method, from calls (K, 2) that ask each pair in both orders, averaged."""
    p = dict(zip(map(tuple, calls.tolist()), expit(logits).tolist(), strict=True))
    pairs = np.array([(i, j) for i, j in p if i < j], dtype=np.intp)
    averaged = np.array([(p[i, j] + 1.0 - p[j, i]) / 2.0 for i, j in pairs.tolist()])
    return large.scores(Comparisons.from_pairs(pairs, averaged, items=n), methods, tol=TOLERANCE)


def rankings(calls: Indices, logits: Floats, n: int) -> dict[str, dict[str, Floats]]:
    """Scores (N,) by size and method, of the quarters (Q, N, 2) that were asked, Q up to four.

    Of all four `OTHER` is the second half alone.
    """
    by: dict[str, dict[str, Floats]] = {}
    for size, k in SIZES.items():
        if k <= len(calls):
            some, their = calls[:k].reshape(-1, 2), logits[:k].ravel()
            by[size] = (both_orders if k == 4 else one_order)(some, their, n)
    if len(calls) == 4:
        by[OTHER] = one_order(calls[2:].reshape(-1, 2), logits[2:].ravel(), n, HALVES)
    return by


def agreements(by: Rankings, gold: Floats) -> dict[str, float]:
    """Spearman times 100, and differences, by name: of `rankings`, with people's scores."""

    def of(one: Floats, other: Floats) -> float:
        return 100.0 * float(spearman(one, other))

    sizes = [size for size in SIZES if size in by]
    at = {f"{m}, {size}": of(by[size][m], gold) for size in sizes for m in METHODS}
    found = dict(at)
    for size in sizes:
        found |= {f"{a} - {b}, {size}": at[f"{a}, {size}"] - at[f"{b}, {size}"] for a, b in GAINS}
    if "2N" in by:
        found["PoE-BT, 2N - N"] = at["PoE-BT, 2N"] - at["PoE-BT, N"]
    if "4N" in by:
        whole = by["4N"]["PoE-BT"]
        for size in ("N", "2N"):
            found |= {f"{m}, {size}, with {ALL}": of(by[size][m], whole) for m in METHODS}
        found["PoE-BT, 4N - 2N"] = at["PoE-BT, 4N"] - at["PoE-BT, 2N"]
        found["PoE-BT, 2N - win-ratio, 4N"] = at["PoE-BT, 2N"] - at["win-ratio, 4N"]
        for m in HALVES:
            found[f"{m}, one order with the other"] = of(by["2N"][m], by[OTHER][m])
    return found


def numbers(calls: Indices, logits: Floats, gold: Floats) -> dict[str, float]:
    """Compute what is predicted, and measured: from quarters (Q, N, 2) and their logits (Q, N)."""
    return agreements(rankings(calls, logits, len(gold)), gold)
