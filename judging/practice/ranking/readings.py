"""What can be read off a ranking in numbers: how sure it is, how fair, what more would bring.

The words (`judging.practice.ranking.words`) and the page (`judging.practice.ranking.report`) only
say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr
from scipy.stats import binomtest

from judging.practice.ranking.ranking import Ranking, log_words
from poe.arrays import Indices
from poe.choose.adaptive import curvature_of, laplace_resistances, next_comparisons
from poe.debias import Rate, first_position_rate
from poe.resistance import effective_resistance
from poe.result import Fit

__all__ = [
    "HARDLY",
    "Position",
    "Prospect",
    "Sureness",
    "along_length",
    "calibration",
    "drowned",
    "neighbours",
    "next_pairs",
    "position",
    "prospects",
    "settled_share",
    "two_digits",
    "typical_error",
    "upcoming",
]

PAIRS = 200_000  # pairs up to which all are looked at, and drawn of more
LIKELY = 0.75  # between this and the level, an order is likely but not settled
HARDLY = 0.75  # share of pairs decided by position alone from which a judge hardly reads
LONGER, CHANCE = 0.5, 0.01  # correlation with length that is told, and how often chance may do it
CONFIDENCE_BOUNDS = (0.5, 0.6, 0.75, 0.9, 1.0)  # classes of how sure an answer is


# How sure, and how fair ---------------------------------------------------------------------


def along_length(rankings: Iterable[Ranking]) -> float | None:
    """Correlation of a judge's scores with the logarithms of numbers of words, within rankings.

    None where it is weaker than `LONGER`, or where chance would bring as much in more than one of a
    hundred: t = r sqrt(f / (1 - r^2)), f = sum (n - 1) - 1.
    """
    total, count, freedom = 0.0, 0, -1
    for one in rankings:
        w = log_words(one)
        s, w = one.fit.scores[~np.isnan(w)], w[~np.isnan(w)]
        if len(s) > 1 and np.ptp(s) > 0.0 and np.ptp(w) > 0.0:
            total += len(s) * float(np.corrcoef(s, w)[0, 1])
            count, freedom = count + len(s), freedom + len(s) - 1
    r = float(np.clip(total / max(count, 1), -1.0 + 1e-9, 1.0 - 1e-9))
    rare = 2.0 * stdtr(freedom, -abs(r) * np.sqrt(freedom / (1.0 - r * r))) if freedom > 0 else 1.0
    return r if abs(r) >= LONGER and rare <= CHANCE else None


def drowned(fit: Fit, level: float) -> float:
    """Share of the comparisons that come out for the same position in either order.

    A judge whose bias is larger than the difference of two scores does not let them decide; but
    answers of equal systems may differ more than their systems, and then the judge does choose
    both places. Where position alone decides a share q, one place is chosen in (1 + q) / 2 of
    all. So the smaller of the two shares counts. 0 where no bias was estimated, or none that
    can be told from chance.
    """
    seen = position(fit, level)
    if seen.equal is None or seen.equal.low <= 0.5 <= seen.equal.high:
        return 0.0
    d = np.diff(fit.scores[fit.comparisons.take(fit.real).pairs], axis=1)
    return min(float((np.abs(d) < abs(fit.bias)).mean()), abs(2.0 * seen.counted.rate - 1.0))


def two_digits(value: float) -> int:
    """A number of answers that is no more than a guess."""
    digits = max(int(np.floor(np.log10(max(value, 1.0)))) - 1, 0)
    return int(round(value, -digits))


def typical_error(fit: Fit) -> float:
    """Root mean square standard error of a score, in units of a difference."""
    try:
        return float(np.sqrt((fit.standard_errors() ** 2).mean()))
    except ValueError:  # no residuals yet to take a variance from
        return float("nan")


def settled_share(fit: Fit, level: float) -> float:
    """Share of all pairs whose order has a probability of at least `level` (of many a sample)."""
    n = len(fit.items)
    if n * (n - 1) // 2 <= PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        i = rng.integers(n, size=PAIRS)
        j = (i + rng.integers(1, n, size=PAIRS)) % n
    p = fit.better(i, j)
    return float((np.maximum(p, 1.0 - p) >= level).mean())


class Sureness(NamedTuple):
    """Answers of one class: its bounds, how many, how sure they are on average.

    right : how often people's scores agree, with Wilson's interval.
    """

    low: float
    high: float
    answers: int
    mean: float
    right: Rate


def calibration(ranking: Ranking) -> list[Sureness]:
    """Count how often people agree with answers, by how sure these are (`CONFIDENCE_BOUNDS`).

    Pairs that people scored alike, and ties, are left out.
    """
    c = ranking.comparisons
    gold = np.array([ranking.gold.get(str(name), np.nan) for name in c.items])
    gap, sure = gold[c.first] - gold[c.second], np.maximum(c.p, 1.0 - c.p)
    right = (gap > 0) == (c.p > 0.5)
    used = np.isfinite(gap) & (gap != 0) & (c.p != 0.5)
    classes = []
    for low, high in pairwise(CONFIDENCE_BOUNDS):
        here = used & (sure >= low) & ((sure < high) | (high == 1.0))
        if here.any():
            k, n = int(right[here].sum()), int(here.sum())
            at = binomtest(k, n).proportion_ci(ranking.level, method="wilson")
            rate = Rate(k / n, at.low, at.high)
            classes.append(Sureness(low, high, n, float(sure[here].mean()), rate))
    return classes


def neighbours(fit: Fit, level: float) -> list[tuple[Any, Any, float, str]]:
    """Each item and the one ranked next: upper, lower, P(the upper is better), verdict."""
    order = np.argsort(-fit.scores, kind="stable")
    rows = []
    for i, j, p in zip(order, order[1:], fit.better(order[:-1], order[1:]), strict=False):
        verdict = "settled" if p >= level else "likely" if p >= LIKELY else "open"
        rows.append((fit.items[i], fit.items[j], float(p), verdict))
    return rows


class Position(NamedTuple):
    """Position bias: the rate as counted, and P(first) between equal texts as estimated."""

    counted: Rate
    equal: Rate | None


def position(fit: Fit, level: float) -> Position:
    """Measure how much the judge preferred what it saw first.

    `equal` is None where no bias was fitted: too few comparisons, or Laplacian experts.
    """
    counted = first_position_rate(fit.comparisons.take(fit.real), level=level)
    if fit.bias_se is None:
        return Position(counted, None)
    half = fit.quantile(level) * fit.bias_se
    at = [_between_equals(fit, fit.bias + move) for move in (0.0, half, -half)]
    return Position(counted, Rate(*at))


def _between_equals(fit: Fit, bias: float) -> float:
    """P(first is better) that a bias means for two items of equal score."""
    p = np.linspace(0.0005, 0.9995, 1999)
    return float(np.interp(-bias, fit.expert.opinion(p), p))


# What to ask next -----------------------------------------------------------------------------


class Prospect(NamedTuple):
    """What so many more calls would do to the typical standard error of a score."""

    calls: int
    error: float


def prospects(ranking: Ranking) -> list[Prospect]:
    """The typical standard error now, and after one, two, five more rounds of N calls.

    Predicted from the curvature that each further comparison would add at the present scores
    (`poe.choose.adaptive.curvature_of`), bias and scatter held fixed; only where some are left.
    """
    fit = ranking.fit.with_covariance("curvature")
    n, now = len(fit.items), Prospect(0, typical_error(ranking.fit))
    more = upcoming(ranking, 5 * n // 2 * 2)
    counts = sorted({min(m * n, len(more)) // 2 * 2 for m in (1, 2, 5)} - {0})
    if not counts:
        return [now]
    gain = curvature_of(fit.expert)(fit.scores[more[:, 0]] - fit.scores[more[:, 1]] - fit.bias)
    before = laplace_resistances(fit).sum()
    later = []
    for m in counts:
        pairs = np.vstack([fit.comparisons.pairs, more[:m]])
        weight = np.maximum(np.append(fit.stiffness, gain[:m]), 1e-12)
        share = effective_resistance(n, pairs, weight=weight).sum() / before
        later.append(Prospect(m, now.error * float(np.sqrt(share))))
    return [now, *later]


def next_pairs(ranking: Ranking, count: int) -> list[tuple[Any, Any, float]]:
    """The comparisons to ask for next: first, second, P(first is better) as far as known."""
    fit, names = ranking.fit, ranking.fit.items
    return [
        (names[i], names[j], fit.prob_better(names[i], names[j]))
        for i, j in upcoming(ranking, count)[:count].tolist()
    ]


def upcoming(ranking: Ranking, count: int) -> Indices:
    """(K, 2) positions of what the ranking's own rule would ask next, as many as are left.

    Pairs that the judge refused, in either order, are not asked for again.
    """
    n, made = len(ranking.fit.items), ranking.comparisons.pairs
    refused = {order for i, j in ranking.refused_pairs for order in ((i, j), (j, i))}
    left = n * (n - 1) - len(made) - len(refused - set(map(tuple, made.tolist())))
    count = min(count + count % 2, left // 2 * 2)
    if count < 1:
        return np.empty((0, 2), dtype=np.intp)
    pairs = next_comparisons(
        ranking.fit,
        count,
        rule=ranking.asking.formula,
        both_orders=ranking.both_orders,
        avoid=np.array(sorted(refused), dtype=np.intp).reshape(-1, 2),
        seed=ranking.seed,
    )
    return pairs[[tuple(pair) not in refused for pair in pairs.tolist()]]
