"""Ranks of scores: shared by what is equal, or of every draw."""

from __future__ import annotations

import numpy as np

from poe.arrays import Floats, Indices

__all__ = ["EQUAL", "places_of", "shared_ranks"]

EQUAL = 1e-6  # difference of scores that share a rank: far below any error, above a solver's


def shared_ranks(falling: Floats) -> Indices:
    """(N,) ranks of scores that fall, which those share that are equal to `EQUAL`: 1, 1, 3."""
    new = np.append(True, falling[:-1] - falling[1:] > EQUAL)
    return np.maximum.accumulate(np.where(new, np.arange(1, len(falling) + 1), 1))


def places_of(scores: Floats) -> Indices:
    """(draws, N) ranks in each draw, 1 for the highest score."""
    return np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
