"""Samples judged alike are one row with a count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poe.comparisons import Floats, Indices
from poe.panel.judgements import Decisions

COUNTABLE = 1 << 23  # patterns that a table of counts may have


class Patterns(NamedTuple):
    """The different rows of judgements, how often each occurs, and where each sample's is."""

    decisions: Decisions
    weight: Floats
    where: Indices


def find_patterns(decisions: Decisions, n_classes: int) -> Patterns:
    """Samples judged alike are one row with a count: few judges make few different rows.

    A million samples of ten judges of two classes have at most 3^10 rows.
    """
    n, k = decisions.shape
    cells = (n_classes + 1) ** k
    if cells >= 1 << 62:
        return Patterns(decisions, np.ones(n), np.arange(n))
    code = np.zeros(n, dtype=np.int64)
    for judge in range(k):
        code *= n_classes + 1
        code += decisions[:, judge]
        code += 1
    if cells <= COUNTABLE:
        count = np.bincount(code, minlength=cells)
        found = np.flatnonzero(count)
        position = np.empty(cells, dtype=np.intp)
        position[found] = np.arange(len(found))
        where, weight = position[code], count[found]
    else:
        found, where, weight = np.unique(code, return_inverse=True, return_counts=True)
    digits = (found[:, None] // (n_classes + 1) ** np.arange(k - 1, -1, -1)) % (n_classes + 1)
    return Patterns((digits - 1).astype(decisions.dtype), weight.astype(float), where)


def one_hot(decisions: Decisions, n_classes: int) -> Floats:
    """(P, K C): a one in column k C + b where judge k said b, none where it is missing."""
    wide = decisions[:, :, None] == np.arange(n_classes, dtype=decisions.dtype)
    return wide.reshape(len(decisions), -1).astype(float)
