"""One large problem: the comparison graph as a sparse matrix, solved by conjugate gradients.

A graph of random comparisons is an expander, which makes its Laplacian well conditioned at
any size: conjugate gradients with the diagonal as preconditioner need a dozen or two
iterations, while a direct factorisation would fill in. Memory grows with N + K, never with N^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from poe import graph, newton
from poe.comparisons import Array, Comparisons, Floats, Indices
from poe.experts import Expert

__all__ = ["Graph", "Layout", "bias_information", "incidence", "solve", "variances"]

MOST_ITERATIONS = 10_000  # of conjugate gradients, for one system


class Layout(NamedTuple):
    """Comparisons sorted by item, each twice: once for either of its items.

    Entries start[i] to start[i + 1] belong to item i: `comparison` is the row of the
    comparison and `neighbour` the other item. Indices are 32-bit where that is enough, because
    large problems are bound by memory traffic.
    """

    start: Array
    comparison: Array
    neighbour: Array

    @classmethod
    def of(cls, comparisons: Comparisons) -> Layout:
        """By the columns of W: a counting sort, linear in their number."""
        rows = incidence(comparisons.first, comparisons.second, comparisons.n_items)
        columns = rows.tocsc()
        item = np.arange(comparisons.n_items, dtype=columns.indices.dtype)
        total = rows.indices[0::2] + rows.indices[1::2]
        neighbour = total[columns.indices] - np.repeat(item, np.diff(columns.indptr))
        return cls(columns.indptr, columns.indices, neighbour)


def incidence(first: Array, second: Array, n_items: int) -> csr_array:
    """W, sparse: row k holds +1 at the first item and -1 at the second."""
    k = len(first)
    index: Any = np.int32 if max(2 * k, n_items) < 2**31 else np.int64
    ends = np.empty(2 * k, dtype=index)
    ends[0::2], ends[1::2] = first, second
    sign = np.tile(np.array([1.0, -1.0]), k)
    return csr_array((sign, ends, np.arange(0, 2 * k + 1, 2, dtype=index)), shape=(k, n_items))


class Graph(graph.Graph):
    """The comparison graph of one large problem, for `poe.newton.solve`.

    Only the values of a Laplacian change from one Newton step to the next, so the
    comparisons are sorted by item once. ridge : added to the diagonal of the Laplacian.
    """

    def __init__(self, comparisons: Comparisons, *, ridge: float = 0.0) -> None:
        self.n, self.ridge = comparisons.n_items, ridge
        self.start, self.comparison, self.neighbour = comparisons.layout
        index = self.neighbour.dtype
        self.first: Any = comparisons.first.astype(index)
        self.second: Any = comparisons.second.astype(index)

    def differences(self, x: Floats) -> Floats:
        """W x: (N,) to (K,)."""
        return x.take(self.first) - x.take(self.second)

    def transposed(self, y: Floats) -> Floats:
        """W' y: (K,) to (N,)."""
        up = np.bincount(self.first, y, minlength=self.n)
        return np.asarray(up - np.bincount(self.second, y, minlength=self.n), dtype=float)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        return self._by_item(weight.take(self.comparison))

    def _by_item(self, value: Floats) -> Floats:
        """Sum of the entries of each item, zero for one that was never compared."""
        some = np.diff(self.start) > 0
        if some.all():
            return np.add.reduceat(value, self.start[:-1])
        total = np.zeros(self.n)
        total[some] = np.add.reduceat(value, self.start[:-1][some])
        return total

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        lean: float = 0.0,
        *,
        lever: Floats | None = None,
        enough: float = 1e-12,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, float]:
        """Scores and bias that the Hessian maps to (right, lean), by conjugate gradients.

        enough : the residual that an item may keep, in units of its `scale`, (N,).
        """
        limit = enough * np.broadcast_to(scale, right.shape)
        value = stiffness.take(self.comparison)
        adjacency = csr_array((value, self.neighbour, self.start), shape=(self.n, self.n))
        degree = self._by_item(value) + self.ridge
        if lever is None:
            x = conjugate_gradients(lambda x: degree * x - adjacency @ x, degree, right, limit)
            return x, 0.0
        tilted = lever * stiffness
        border, total = self.transposed(tilted), float(lever @ tilted)

        def times(x: Floats) -> Floats:
            scores, bias = x[:-1], x[-1]
            product = degree * scores - adjacency @ scores - bias * border
            return np.append(product, total * bias - border @ scores)

        whole, diagonal = np.append(right, lean), np.append(degree, total)
        x = conjugate_gradients(times, diagonal, whole, np.append(limit, limit.max()))
        return x[:-1], float(x[-1])


def conjugate_gradients(
    times: Callable[[Floats], Floats], diagonal: Floats, right: Floats, enough: Floats
) -> Floats:
    """Solve a positive semidefinite system, with its diagonal as preconditioner.

    Stops when no entry of the residual is larger than `enough`: a norm of them all would hide
    that the score of an item with few comparisons is still wrong.
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    along, size = scaled, float(residual @ scaled)
    for _ in range(MOST_ITERATIONS):
        if (np.abs(residual) <= enough).all():
            break
        image = times(along)
        curvature = float(along @ image)
        if not curvature > 0:  # as close as rounding allows
            break
        x += (size / curvature) * along
        residual -= (size / curvature) * image
        scaled = residual / diagonal
        size, before = float(residual @ scaled), size
        along = scaled + (size / before) * along
    return x


def solve(comparisons: Comparisons, expert: Expert, **options: Any) -> newton.Solution:
    """As `poe.newton.solve`, with its options, for one problem of any size."""
    return newton.solve(comparisons, expert, graph=Graph(comparisons), **options)


def variances(
    comparisons: Comparisons,
    stiffness: Floats,
    pairs: Indices,
    *,
    lever: Floats | None,
    ridge: float = 0.0,
) -> Floats:
    """Variance of s_i - s_j for each of (M, 2) pairs, one solve a pair."""
    graph = Graph(comparisons, ridge=ridge)
    found = []
    for i, j in pairs:
        right = np.zeros(comparisons.n_items)
        right[i] += 1.0
        right[j] -= 1.0
        x, _ = graph.direction(stiffness, right, lever=lever)
        found.append(x[i] - x[j])
    return np.array(found)


def bias_information(
    comparisons: Comparisons, stiffness: Floats, lever: Floats, *, ridge: float = 0.0
) -> float:
    """Curvature of the energy along the bias when the scores follow: 1 / its variance."""
    graph = Graph(comparisons, ridge=ridge)
    tilted = lever * stiffness
    border = graph.transposed(tilted)
    moved, _ = graph.direction(stiffness, border, enough=1e-10, scale=graph.degrees(tilted) + ridge)
    return float(lever @ tilted - border @ moved)
