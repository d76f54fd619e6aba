"""Ranks of scores: shared by what is equal, or of every draw."""

from __future__ import annotations

import numpy as np

from poe.arrays import Floats, Indices
from poe.resistance import difference_variances

EQUAL = 1e-6  # difference of scores that share a rank: far below any error, above a solver's


def shared_ranks(falling: Floats) -> Indices:
    """(N,) ranks of scores that fall, which those share that are equal to `EQUAL`: 1, 1, 3."""
    new = np.append(True, falling[:-1] - falling[1:] > EQUAL)
    return np.maximum.accumulate(np.where(new, np.arange(1, len(falling) + 1), 1))


def places_of(scores: Floats) -> Indices:
    """(draws, N) ranks in each draw, 1 for the highest score."""
    return np.argsort(np.argsort(-scores, axis=1), axis=1) + 1


def held_together(scores: Floats, covariance: Floats, noise: Floats, level: float) -> Indices:
    """(N, 2) lowest and highest ranks that hold together with probability `level` (chapter 14).

    Item i counts as ahead of j where s_i - s_j > c e_ij, e_ij its standard error and c the quantile
    of the largest |error| / e_ij over all pairs in draws of the errors ("max-t"; Mogstad, Romano,
    Shaikh and Wilhelm 2024). A rank is then one more than how many are ahead, and at most N less
    how many are behind. noise : (draws, N) errors of that covariance. Time: draws * N^2 / 2.
    """
    error = np.sqrt(np.maximum(difference_variances(covariance), 0.0))
    largest = np.zeros(len(noise))
    for i in range(len(scores) - 1):  # a pair without an error is known for certain
        unit = np.where(error[i, i + 1 :] > 0.0, error[i, i + 1 :], np.inf)
        apart = np.abs(noise[:, i + 1 :] - noise[:, [i]]) / unit
        largest = np.maximum(largest, apart.max(axis=1))
    ahead = scores[:, None] - scores > np.quantile(largest, level) * error
    return np.column_stack([1 + ahead.sum(axis=0), len(scores) - ahead.sum(axis=1)])
