"""Many small problems of one shape, solved together.

A table of the paper needs hundreds of thousands of fits to sixteen items each. One at a
time they cost hours of interpreter overhead; stacked, the same NumPy expressions cost seconds.
Every function of `poe.scores` and `poe.newton` reads `first`, `second`, `p`, `weight` and
`n_items` along the last axis only, so it takes a `Comparisons` (arrays of shape (K,)) or a
`Stack` (arrays of shape (B, K)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from poe.comparisons import Comparisons, Floats, Indices, Mask

__all__ = [
    "Graph",
    "Problem",
    "Stack",
    "as_stack",
    "by_item",
    "differences",
    "eliminate",
    "laplacian",
]

FEW_ITEMS, MANY_PROBLEMS = 64, 50  # where eliminating all problems at once beats LAPACK


@dataclass(frozen=True, eq=False)
class Stack:
    """B sets of K comparisons among the same number of items.

    Nothing is checked here: a stack is cut from comparisons that were.
    """

    n_items: int
    first: Indices
    second: Indices
    p: Floats
    weight: Floats

    @classmethod
    def of(cls, n_items: int, pairs: Indices, p: Floats) -> Stack:
        """Stack (B, K, 2) positions and (B, K) probabilities with unit weights."""
        return cls(n_items, pairs[..., 0], pairs[..., 1], p, np.ones_like(p))

    def hard(self) -> Stack:
        """Decisions only, as `Comparisons.hard`."""
        p = 0.5 * (1.0 + np.sign(self.p - 0.5))
        return Stack(self.n_items, self.first, self.second, p, self.weight)

    def flattened(self) -> Stack:
        """All leading axes as one: (..., K) arrays become (B, K)."""
        k = self.first.shape[-1]
        parts = (self.first, self.second, self.p, self.weight)
        return Stack(self.n_items, *(part.reshape(-1, k) for part in parts))  # type: ignore[arg-type]

    def take(self, rows: Indices | Mask | slice) -> Stack:
        """The problems at `rows` of the first axis."""
        return Stack(
            self.n_items, self.first[rows], self.second[rows], self.p[rows], self.weight[rows]
        )


Problem = Comparisons | Stack


def as_stack(problem: Problem) -> Stack:
    """The problem itself, or a stack of one."""
    if isinstance(problem, Stack):
        return problem
    parts = (problem.first, problem.second, problem.p, problem.weight)
    return Stack(problem.n_items, *(part[None] for part in parts))  # type: ignore[arg-type]


def by_item(problem: Problem, at_first: Floats, at_second: Floats) -> Floats:
    """Sum a number a comparison into its two items: (..., K) twice to (..., N)."""
    shape, n = problem.first.shape[:-1], problem.n_items
    offset = n * np.arange(math.prod(shape)).reshape(*shape, 1)
    size = n * math.prod(shape)
    total = _sums(problem.first + offset, at_first, size)
    total += _sums(problem.second + offset, at_second, size)
    return total.reshape(*shape, n)


def laplacian(problem: Problem, strength: Floats) -> Floats:
    """W' diag(strength) W: the graph Laplacian, (..., K) to (..., N, N).

    Paper eqs. 31 and 32, book eq. 6.7, without the anchor's one.
    """
    shape, n = problem.first.shape[:-1], problem.n_items
    offset = n * n * np.arange(math.prod(shape)).reshape(*shape, 1)
    cell = problem.first * n + problem.second + offset
    links = _sums(cell, strength, n * n * math.prod(shape)).reshape(*shape, n, n)
    links = links + np.swapaxes(links, -1, -2)
    diagonal = np.arange(n)
    degree = links.sum(axis=-1)
    links *= -1.0
    links[..., diagonal, diagonal] = degree
    return links


def differences(problem: Problem, scores: Floats) -> Floats:
    """s_first - s_second for each comparison: (..., N) to (..., K)."""
    if scores.ndim == 1:
        return scores[problem.first] - scores[problem.second]
    return np.take_along_axis(scores, problem.first, -1) - np.take_along_axis(
        scores, problem.second, -1
    )


def _sums(cell: Indices, value: Floats, size: int) -> Floats:
    # One flat bincount over all problems: far faster than np.add.at.
    return np.asarray(np.bincount(cell.ravel(), value.ravel(), minlength=size), dtype=float)


class Graph:
    """The comparison graph of one small problem, or the graphs of a stack, laid out for solvers.

    Problems lie along the last axis, so that NumPy's inner loops run over all of them: a number
    an item is (N, *batch), a number a comparison (K, *batch), with batch = () for one problem
    and (B,) for a stack. `poe.sparse.Graph` does the same for one huge problem.
    """

    def __init__(self, n_items: int, first: Indices, second: Indices) -> None:
        self.n, self.first, self.second = n_items, first, second
        self.batch = first.shape[1:]
        b = math.prod(self.batch)
        self.size, column = n_items * b, np.arange(b).reshape(self.batch)
        cell = np.maximum(first, second) * n_items + np.minimum(first, second)
        # Places in the flattened arrays: one index is quicker to follow than two.
        self._first, self._second, self._cell = (
            (index * b + column).ravel() for index in (first, second, cell)
        )

    @classmethod
    def of(cls, problem: Problem) -> Graph:
        """The graph of `Comparisons` or of a `Stack` of shape (B, K)."""
        return cls(
            problem.n_items, *(np.ascontiguousarray(i.T) for i in (problem.first, problem.second))
        )

    def take(self, rows: Indices) -> Graph:
        """The graphs of some problems of the stack."""
        return Graph(self.n, self.first[:, rows], self.second[:, rows])

    def differences(self, x: Floats) -> Floats:
        """W x: (N, *batch) to (K, *batch)."""
        flat = x.reshape(-1)
        return (flat.take(self._first) - flat.take(self._second)).reshape(self.first.shape)

    def transposed(self, y: Floats) -> Floats:
        """W' y: (K, *batch) to (N, *batch)."""
        total = _sums(self._first, y, self.size) - _sums(self._second, y, self.size)
        return total.reshape(self.n, *self.batch)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        total = _sums(self._first, weight, self.size) + _sums(self._second, weight, self.size)
        return total.reshape(self.n, *self.batch)

    def links(self, strength: Floats) -> Floats:
        """Total strength between items i > j at [i, j], (N, N, *batch)."""
        cells = _sums(self._cell, strength, self.n * self.size)
        return cells.reshape(self.n, self.n, *self.batch)

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        lean: Any = 0.0,
        *,
        lever: Floats | None = None,
        enough: float = 0.0,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, Any]:
        """Scores and bias that the Hessian of the energy maps to (right, lean).

        lever : how far the bias moves each comparison, or None where it is not fitted. `enough`
        and `scale` are for iterative solvers; this one is exact.
        """
        if lever is None:
            return self.solve(stiffness, right), np.zeros(self.batch)
        tilted = lever * stiffness
        border = self.transposed(tilted)
        both = self.solve(stiffness, np.stack([right, border], axis=1))
        plain, moved = both[:, 0], both[:, 1]
        information = (lever * tilted).sum(axis=0) - (border * moved).sum(axis=0)
        shift = (lean + (border * plain).sum(axis=0)) / information
        return plain + moved * shift, shift

    def solve(self, stiffness: Floats, right: Floats) -> Floats:
        """Solve W' diag(stiffness) W x = right with x_0 = 0; (N, *batch) or (N, R, *batch)."""
        links = self.links(stiffness)
        if self.n <= FEW_ITEMS and self.size >= MANY_PROBLEMS * self.n:
            return eliminate(links, right)
        matrices_last = (*range(2, links.ndim), 0, 1)
        low = links.transpose(matrices_last)
        matrix = -(low + low.swapaxes(-1, -2))
        matrix.reshape(-1, self.n**2)[:, :: self.n + 1] = -matrix.sum(axis=-1).reshape(-1, self.n)
        columns = right.reshape(self.n, -1, *self.batch).transpose(matrices_last)
        found = np.zeros_like(columns)
        found[..., 1:, :] = np.linalg.solve(matrix[..., 1:, 1:], columns[..., 1:, :])
        return found.transpose(-2, -1, *range(links.ndim - 2)).reshape(right.shape)


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
