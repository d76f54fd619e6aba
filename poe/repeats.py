"""Several answers about one pair as one: repeats averaged, and both orders of a pair averaged."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe.errors import ComparisonError, name_some

Array = NDArray[Any]
Columns = tuple[Array, Array, Array]  # (K, 2) pairs, (K,) p, (K,) weight


def merged(first: Array, second: Array, p: Array, weight: Array, n_items: int) -> Columns:
    """Repeats of the same ordered pair as one: mean p by weight, weight summed."""
    codes, group = np.unique(first * n_items + second, return_inverse=True)
    total = np.bincount(group, weight)
    mean = np.bincount(group, weight * p) / total
    return np.column_stack(np.divmod(codes, n_items)), np.clip(mean, 0, 1), total


def symmetrised(pairs: Array, p: Array, weight: Array, items: Sequence[Hashable]) -> Columns:
    """Both orders of each of the merged pairs as one, (p_ij + 1 - p_ji) / 2, weight summed.

    Raises ComparisonError naming the pairs that are there in one order only.
    """
    there = {(i, j): k for k, (i, j) in enumerate(pairs.tolist())}
    single = [pair for pair in there if pair[::-1] not in there]
    if single:
        named = [f"{items[i]} before {items[j]}" for i, j in single]
        raise ComparisonError(
            f"judged in one order only: {name_some(named)}; ask for the other order, or "
            "model the position bias instead (bias= in poe.fit)"
        )
    forth = np.flatnonzero(pairs[:, 0] < pairs[:, 1])
    back = np.array([there[(j, i)] for i, j in pairs[forth].tolist()], dtype=np.intp)
    return pairs[forth], (p[forth] + 1.0 - p[back]) / 2.0, weight[forth] + weight[back]
