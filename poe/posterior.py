"""What the Gaussian around the mode says of ranks: draws of all scores, and counts over them.

The Gaussian is exact for Gaussian experts and Laplace's approximation otherwise. Ranks have
no closed form, so they are counted over draws; `draws` and `seed` decide how well.
"""

from __future__ import annotations

import numpy as np

from poe.comparisons import Floats, Indices


def sample(mean: Floats, covariance: Floats, draws: int, seed: int) -> Floats:
    """(draws, N) draws; the covariance may be singular, as mean-zero scores make it."""
    value, vector = np.linalg.eigh(covariance)
    root = vector * np.sqrt(np.clip(value, 0.0, None))
    return mean + np.random.default_rng(seed).standard_normal((draws, len(mean))) @ root.T


def ranks(scores: Floats) -> Indices:
    """(draws, N) ranks of each draw, 1 for the highest score."""
    order = np.argsort(-scores, axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(1, scores.shape[1] + 1)[None], axis=1)
    return place


def rank_interval(draws: Floats, level: float) -> Indices:
    """(N, 2) lowest and highest rank of the central interval of each item."""
    tail = (1.0 - level) / 2.0
    place = ranks(draws)
    low = np.quantile(place, tail, axis=0, method="inverted_cdf")
    high = np.quantile(place, 1.0 - tail, axis=0, method="inverted_cdf")
    return np.column_stack([low, high]).astype(np.intp)


def prob_top(draws: Floats, k: int) -> Floats:
    """(N,) share of draws in which the item is among the k best."""
    return np.asarray((ranks(draws) <= k).mean(axis=0))


def prob_top_set(draws: Floats, scores: Floats, k: int) -> float:
    """Share of draws whose k best are the k best of `scores`."""
    now = np.argsort(-scores, kind="stable")[:k]
    rest = np.setdiff1d(np.arange(len(scores)), now)
    if not rest.size:
        return 1.0
    return float((draws[:, now].min(axis=1) > draws[:, rest].max(axis=1)).mean())
