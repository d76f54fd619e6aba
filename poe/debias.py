"""Position bias: how much a judge prefers what it is shown first, and what to do about it.

The corrections, from the simplest: ask in both orders and average (paper 3.5, book eq. 9.3:
`Comparisons.symmetrised`); shift the experts by a number read off the mean probability
(`mean_bias`, which is `poe.fit(bias="mean")`); estimate the shift together with the scores (book
eqs. 9.11 and 9.12: `poe.fit(bias="fit")`); or move the threshold of the decisions until both
positions win equally often (`reweight`). Chapter 9 of the book says when they differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from poe.comparisons import Comparisons
from poe.experts import Expert, get_expert
from poe.intervals import require_level

__all__ = ["Rate", "first_position_rate", "mean_bias", "reweight"]


class Rate(NamedTuple):
    """A share with its interval."""

    rate: float
    low: float
    high: float


def mean_bias(comparisons: Comparisons, expert: str | Expert = "bradley-terry") -> float:
    """The paper's gamma from the mean probability (3.5, A.8, A.9), in units of a difference.

    See `poe.experts.Expert.mean_bias` (book eqs. 9.5 and 9.6). Assumes that what is shown first is
    on average no better than what is shown second, as in random or balanced sets.
    """
    mean_p = float(np.average(comparisons.p, weights=comparisons.weight))
    return float(get_expert(expert).mean_bias(mean_p))


def reweight(comparisons: Comparisons) -> tuple[Comparisons, float]:
    """Probabilities reweighted so that both positions win equally often, and the threshold tau.

    Comparative assessment 3.5 (book eqs. 9.13 and 9.14): P(first) is multiplied by alpha and
    renormalised, with alpha such that the first position wins half of the (weighted) decisions,
    which amounts to deciding at tau, the median of p, in place of 1/2: alpha = (1 - tau) / tau.
    For an even number the median lies midway (in logits) between the two middle answers, or a
    logit from the one of them that is not certain.
    Returns new comparisons with sigma(logit(p) - logit(tau)) and tau.

    Assumes, as `mean_bias` does, that who is shown first has nothing to do with quality.
    """
    with np.errstate(divide="ignore"):
        logits = logit(comparisons.p)
    order = np.argsort(logits, kind="stable")
    share = np.cumsum(comparisons.weight[order]) / comparisons.weight.sum()
    above = int(np.searchsorted(share, 0.5 * (1.0 - 1e-12)))
    below = above + 1 if np.isclose(share[above], 0.5) and above + 1 < len(order) else above
    low, high = logits[order[[above, below]]].tolist()
    if low == -high:  # also of one certain answer each way
        shift = 0.0
    elif np.isfinite(low) == np.isfinite(high):
        shift = 0.5 * (low + high)
    else:
        shift = high - 1.0 if np.isfinite(high) else low + 1.0
    if not np.isfinite(shift):
        raise ValueError(
            "more than half of the answers are certain (p of 0 or 1), so no threshold between 0 "
            "and 1 makes the positions win equally often; ask in both orders instead"
        )
    moved = Comparisons.from_pairs(
        comparisons.pairs, expit(logits - shift), items=comparisons.items, weight=comparisons.weight
    )
    return moved, float(expit(shift))


def first_position_rate(comparisons: Comparisons, *, level: float = 0.95) -> Rate:
    """Share of decisions for the first position, ties half, with Wilson's interval (book eq. 9.1).

    1/2 for a judge without position bias if both orders are asked, or on average if the order
    is random. Weights count as repeats. The interval treats decisions as independent draws.
    """
    n = float(comparisons.weight.sum())
    rate = float(comparisons.weight @ comparisons.hard().p) / n
    z = float(ndtri(0.5 + require_level(level) / 2.0))
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    return Rate(rate, float(max(centre - half, 0.0)), float(min(centre + half, 1.0)))
