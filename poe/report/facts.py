"""What the report says of a ranking, as numbers: neighbours, bias, mass, what to ask next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from poe import debias, result
from poe.comparisons import Floats
from poe.debias import Rate
from poe.judges.ranking import RULES, TextRanking, typical_error
from poe.resistance import effective_resistance
from poe.result import Fit
from poe.selection import curvature_at, next_comparisons, resistances

_DRAWS = 2000  # as the methods of a fit draw
LARGEST = 600  # texts up to which what to ask next is worked out


def neighbours(fit: Fit) -> pd.DataFrame:
    """Each item and the one ranked next: upper, lower, gap, p (that the upper is better)."""
    order = np.argsort(-fit.scores, kind="stable")
    above, below = order[:-1], order[1:]
    c = fit.covariance()
    variance = c[above, above] + c[below, below] - 2.0 * c[above, below]
    gap = fit.scores[above] - fit.scores[below]
    names = pd.Series(fit.items, dtype=object)
    return pd.DataFrame(
        {
            "upper": names[above].to_numpy(),
            "lower": names[below].to_numpy(),
            "gap": gap,
            "p": norm.cdf(gap / np.sqrt(np.maximum(variance, 1e-300))),
        }
    )


def top_sets(fit: Fit, most: int = 10) -> list[tuple[int, float]]:
    """For k = 1, 2, ... the probability that the k best are exactly the present ones."""
    drawn = fit.sample(_DRAWS)
    sizes = range(1, min(most, len(fit.items) - 1) + 1)
    return [(k, result.prob_top_set(drawn, fit.scores, k)) for k in sizes]


class Position(NamedTuple):
    """Position bias: the rate as counted, and P(first) between equal texts as estimated."""

    counted: Rate
    equal: Rate | None


def position(found: TextRanking) -> Position:
    """How much the judge preferred what it saw first.

    `equal` is None where no bias was fitted: too few comparisons, or Laplacian experts.
    """
    counted = debias.first_position_rate(found.ranking.comparisons, level=found.level)
    fit = found.fit
    if fit.bias_se is None:
        return Position(counted, None)
    half = float(norm.ppf(0.5 + found.level / 2.0)) * fit.bias_se
    at = [_between_equals(fit, fit.bias + move) for move in (0.0, half, -half)]
    return Position(counted, Rate(*at))


def _between_equals(fit: Fit, bias: float) -> float:
    """P(first is better) that a bias means for two items of equal score."""
    p = np.linspace(0.0005, 0.9995, 1999)
    opinion = getattr(fit.expert, "opinion", None)
    at: Floats = np.log(p / (1.0 - p)) if opinion is None else opinion(p)
    return float(np.interp(-bias, at, p))


def masses(found: TextRanking) -> Floats:
    """(K,) probability of the label words in every answer."""
    return np.array([answer.mass for answer in found.judged.answers])


class Prospect(NamedTuple):
    """What so many more calls would do to the typical standard error of a score."""

    calls: int
    error: float


def next_pairs(found: TextRanking, count: int) -> pd.DataFrame:
    """The comparisons to ask for next: first, second, p (that first is better, as far as known)."""
    fit = found.fit
    pairs = _upcoming(found, count)
    names = fit.items
    rows = [
        (names[i], names[j], fit.prob_better(names[i], names[j])) for i, j in pairs[:count].tolist()
    ]
    return pd.DataFrame(rows, columns=["first", "second", "p"])


def prospects(found: TextRanking) -> list[Prospect]:
    """The typical standard error now, and after one, two, five more rounds of N calls.

    Predicted from the curvature that each further comparison would add at the present scores
    (`poe.selection.curvature_at`), bias and scatter held fixed; only where some are left.
    """
    fit, n = found.ranking.fit, len(found.fit.items)
    now = Prospect(0, typical_error(found.fit))
    left = n * (n - 1) - len(found.judged.pairs)
    counts = [min(m * n, left) // 2 * 2 for m in (1, 2, 5)]
    counts = sorted({m for m in counts if m > 0})
    if not counts:
        return [now]
    more = _upcoming(found, counts[-1])
    d = fit.scores[more[:, 0]] - fit.scores[more[:, 1]]
    gain = curvature_at(fit.expert, d - fit.bias)
    before = resistances(fit).sum()
    made, stiffness = fit.comparisons.pairs, fit.stiffness
    later = []
    for m in counts:
        pairs = np.vstack([made, more[:m]])
        weight = np.append(stiffness, gain[:m])
        share = effective_resistance(n, pairs, weight=np.maximum(weight, 1e-12)).sum() / before
        later.append(Prospect(m, now.error * float(np.sqrt(share))))
    return [now, *later]


def _upcoming(found: TextRanking, count: int) -> np.ndarray:
    n = len(found.fit.items)
    left = n * (n - 1) - len(found.judged.pairs)
    count = min(count + count % 2, left // 2 * 2)
    if count < 1:
        return np.empty((0, 2), dtype=np.intp)
    rule, both = RULES[found.rule], found.both_orders
    return next_comparisons(found.ranking.fit, count, rule=rule, both_orders=both, seed=found.seed)
