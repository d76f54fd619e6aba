"""The comparison graph of one small problem, or of many: W, its Laplacian, and their systems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgesv, dposv

from poe.arrays import Floats, Indices

# All are about speed alone, timed on two ordinary cores; results do not depend on them.
FEW_ITEMS, MANY_PROBLEMS = 64, 50  # where eliminating all problems at once beats LAPACK
# In multiplications: what conjugate gradients cost before they begin, and a comparison.
FIXED, EACH = 1.5e7, 200.0


def is_small(problem: Any) -> bool:
    """Tell whether one dense factorisation, N^3, costs less than conjugate gradients."""
    return float(problem.n_items) ** 3 <= FIXED + EACH * len(problem.p)


class Graph:
    """The comparison graph of one small problem, or the graphs of a stack, laid out for solvers.

    Problems lie along the last axis, so that NumPy's inner loops run over all of them: a number
    an item is (N, *batch), a number a comparison (K, *batch), with batch = () for one problem
    and (B,) for a stack. `poe.large.LargeGraph` does the same for one huge problem.
    """

    ridge: float = 0.0  # added to the diagonal of the Laplacian, by large graphs only
    has_strain: bool = False  # whether groups of items must be looked at besides each item

    def __init__(self, n_items: int, first: Indices, second: Indices) -> None:
        self.n, self.first, self.second = n_items, first, second
        self.batch = first.shape[1:]
        b = math.prod(self.batch)
        self.size = n_items * b
        cell = np.maximum(first, second) * n_items + np.minimum(first, second)
        self._first, self._second, self._cell = first, second, cell
        if not self.batch:
            return
        column = np.arange(b).reshape(self.batch)
        # Places in the flattened arrays: one index is quicker to follow than two.
        self._first, self._second, self._cell = (
            (index * b + column).ravel() for index in (first, second, cell)
        )

    @classmethod
    def of(cls, problem: Any) -> Graph:
        """The graph of `Comparisons`, or of a `Stack` of shape (B, K)."""
        ends = (np.ascontiguousarray(one.T) for one in (problem.first, problem.second))
        return Graph(problem.n_items, *ends)

    def take(self, rows: Indices) -> Graph:
        """The graphs of some problems of the stack."""
        return Graph(self.n, self.first[:, rows], self.second[:, rows])

    def laid(self, values: Floats) -> Floats:
        """Numbers a comparison as the graph has its comparisons: (K,) or (B, K) to (K, *batch)."""
        return values.T.copy()

    def differences(self, x: Floats) -> Floats:
        """W x: (N, *batch) to (K, *batch)."""
        flat = x.reshape(-1)
        return (flat.take(self._first) - flat.take(self._second)).reshape(self.first.shape)

    def transposed(self, y: Floats) -> Floats:
        """W' y: (K, *batch) to (N, *batch)."""
        total = sums(self._first, y, self.size) - sums(self._second, y, self.size)
        return total.reshape(self.n, *self.batch)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        total = sums(self._first, weight, self.size) + sums(self._second, weight, self.size)
        return total.reshape(self.n, *self.batch)

    def links(self, strength: Floats) -> Floats:
        """Total strength between items i > j at [i, j], (N, N, *batch)."""
        cells = sums(self._cell, strength, self.n * self.size)
        return cells.reshape(self.n, self.n, *self.batch)

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        right_bias: Any = 0.0,
        *,
        tilt: Floats | None = None,
        enough: float = 0.0,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, Any]:
        """Scores and bias that the Hessian of the energy maps to (right, right_bias).

        tilt : how far the bias moves each comparison, or None where it is not fitted. `enough`
        and `scale` are for iterative solvers; this one is exact.
        """
        if tilt is None:
            return self.solve(stiffness, right), np.zeros(self.batch)
        tilted = tilt * stiffness
        border = self.transposed(tilted)
        both = self.solve(stiffness, np.stack([right, border], axis=1))
        plain, moved = both[:, 0], both[:, 1]
        information = (tilt * tilted).sum(axis=0) - (border * moved).sum(axis=0)
        if not self.batch and not information > 0.0:
            raise np.linalg.LinAlgError("Singular matrix")
        shift = (right_bias + (border * plain).sum(axis=0)) / information
        return plain + moved * shift, shift

    def bias_information(self, stiffness: Floats, tilt: Floats) -> float:
        """Curvature of the energy along the bias when the scores follow: 1 / its variance.

        Of one problem; both arguments laid out as the graph has its comparisons.
        """
        tilted = tilt * stiffness
        border = self.transposed(tilted)
        scale = self.degrees(tilted) + self.ridge
        moved, _ = self.direction(stiffness, border, enough=1e-10, scale=scale)
        return float(tilt @ tilted - border @ moved)

    def strain(self, slope: Floats, scores: Floats) -> float:
        """Measure how far from rest groups of items are: not at all, as this solver is exact."""
        return 0.0

    def solve(self, stiffness: Floats, right: Floats) -> Floats:
        """Solve W' diag(stiffness) W x = right with x_0 = 0; (N, *batch) or (N, R, *batch)."""
        links = self.links(stiffness)
        if not self.batch:
            return solve_one(links, right)
        if self.n <= FEW_ITEMS and self.size >= MANY_PROBLEMS * self.n:
            return eliminate(links, right)
        matrices_last = (*range(2, links.ndim), 0, 1)
        low = links.transpose(matrices_last)
        matrix = -(low + low.swapaxes(-1, -2))
        matrix.reshape(-1, self.n**2)[:, :: self.n + 1] = -matrix.sum(axis=-1).reshape(-1, self.n)
        columns = right.reshape(self.n, -1, *self.batch).transpose(matrices_last)
        x = np.zeros_like(columns)
        x[..., 1:, :] = np.linalg.solve(matrix[..., 1:, 1:], columns[..., 1:, :])
        return x.transpose(-2, -1, *range(links.ndim - 2)).reshape(right.shape)


def solve_one(links: Floats, right: Floats) -> Floats:
    """Solve L x = right with x_0 = 0; links : as `eliminate` reads them. (N,) or (N, R).

    By LAPACK itself: for sixteen items, calling it through NumPy costs more than solving.
    """
    matrix, x, one = -links, np.zeros(right.shape), np.ones(len(links))
    matrix.reshape(-1)[:: len(links) + 1] = links @ one + one @ links
    _, x[1:], failed = dposv(matrix[1:, 1:], right[1:], lower=1)
    if failed:  # rounding has left a pivot below zero, and exchanges of rows may do without it
        _, _, x[1:], failed = dgesv((matrix - np.triu(links.T, 1))[1:, 1:], right[1:])
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def eliminate(links: Floats, right: Floats) -> Floats:
    """Solve L x = right for Laplacians L, with x_0 = 0; both arguments are overwritten.

    links : (N, N, B) strengths of the links between items, read below the diagonal only.
    right : (N, B) or (N, R, B), each column summing to zero.

    An item that is removed joins its neighbours: a and b get a new link of
    links_ia links_ib / sum_j links_ij (the star-mesh transformation of electrical networks). That
    is Gaussian elimination without a subtraction, so small links next to huge ones keep all
    their digits, as they must where weights differ by a factor of 1e18.
    """
    x = right if right.ndim == 3 else right[:, None]
    share = np.zeros_like(links)  # [i, j]: of what passed through i, how much went on to j
    total = np.ones_like(links[0])
    for i in range(len(links) - 1, 0, -1):
        own = links[i, :i]
        own += np.einsum("kb,kjb->jb", share[i + 1 :, i], links[i + 1 :, :i])
        np.sum(own, axis=0, out=total[i])
        np.divide(own, total[i], out=share[i, :i])
        x[:i] += share[i, :i, None] * x[i]
    x[0] = 0.0
    for i in range(1, len(links)):
        x[i] /= total[i]
        x[i] += np.einsum("jb,jrb->rb", share[i, :i], x[:i])
    return x.reshape(right.shape)


def sums(cell: Indices, value: Floats, size: int) -> Floats:
    """Sum the values of each cell: one flat bincount, far faster than np.add.at."""
    return np.bincount(cell.ravel(), value.ravel(), minlength=size)  # type: ignore[return-value]
