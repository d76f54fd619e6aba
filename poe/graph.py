"""The comparison graph laid out by item, the form in which large problems are fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

SMALL = 1000  # comparisons; below, building sparse matrices costs more than it saves


class Layout(NamedTuple):
    """Comparisons sorted by item, each twice: once for either of its items.

    Entries start[i] to start[i + 1] belong to item i: `comparison` is the row of the
    comparison and `neighbour` the other item. Indices are 32-bit where that is enough, because
    large problems are bound by memory traffic.
    """

    start: NDArray[Any]
    comparison: NDArray[Any]
    neighbour: NDArray[Any]


def incidence(first: NDArray[Any], second: NDArray[Any], n_items: int) -> csr_array:
    """W, sparse: row k holds +1 at the first item and -1 at the second."""
    k = len(first)
    index: Any = np.int32 if max(2 * k, n_items) < 2**31 else np.int64
    ends = np.empty(2 * k, dtype=index)
    ends[0::2], ends[1::2] = first, second
    sign = np.tile(np.array([1.0, -1.0]), k)
    return csr_array((sign, ends, np.arange(0, 2 * k + 1, 2, dtype=index)), shape=(k, n_items))


def lay_out(first: NDArray[Any], second: NDArray[Any], n_items: int) -> Layout:
    """Sort the comparisons by item (a counting sort: linear in their number)."""
    rows = incidence(first, second, n_items)
    columns = rows.tocsc()
    item = np.repeat(np.arange(n_items, dtype=columns.indices.dtype), np.diff(columns.indptr))
    total = rows.indices[0::2] + rows.indices[1::2]
    return Layout(columns.indptr, columns.indices, total[columns.indices] - item)


def component_labels(
    first: NDArray[Any], second: NDArray[Any], n_items: int, *, known: Layout | None = None
) -> NDArray[np.intp]:
    """(n_items,) label of the group of linked items each belongs to.

    `known` saves the sorting of a large problem that was laid out before.
    """
    if len(first) <= SMALL:
        return _small_labels(first, second, n_items)
    start, _, neighbour = known or lay_out(first, second, n_items)
    graph = csr_array((np.ones(len(neighbour)), neighbour, start), shape=(n_items, n_items))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def is_connected(layout: Layout) -> bool:
    """Whether a walk from the first item reaches them all; quicker than labels for all."""
    n = len(layout.start) - 1
    ones = np.ones(len(layout.neighbour))
    graph = csr_array((ones, layout.neighbour, layout.start), shape=(n, n))
    reached = breadth_first_order(graph, 0, directed=True, return_predecessors=False)
    return len(reached) == n


def _small_labels(first: NDArray[Any], second: NDArray[Any], n_items: int) -> NDArray[np.intp]:
    """Each item takes the smallest label it touches: quicker than SciPy for a few hundred."""
    label = np.arange(n_items)
    while True:
        before = label.copy()
        low = np.minimum(label[first], label[second])
        np.minimum.at(label, first, low)
        np.minimum.at(label, second, low)
        label = label[label]
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1]
