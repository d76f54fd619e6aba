"""One large problem: the comparison graph as a sparse matrix, solved by conjugate gradients.

A graph of random comparisons is an expander, which makes its Laplacian well conditioned at
any size: conjugate gradients with the diagonal as preconditioner need a dozen or two
iterations, while a direct factorisation would fill in. Memory grows with N + K, never with N^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from poe.comparisons import Comparisons, Floats
from poe.experts import Expert
from poe.newton import Solution, minimise

__all__ = ["Graph", "bias_information", "solve", "variances"]

MOST_ITERATIONS = 10_000  # of conjugate gradients, for one system


class Graph:
    """The comparison graph of one large problem, for `poe.newton.minimise`.

    Only the values of a Laplacian change from one Newton step to the next, so the
    comparisons are sorted by item once.
    """

    def __init__(self, comparisons: Comparisons) -> None:
        self.n = comparisons.n_items
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
        return np.add.reduceat(weight.take(self.comparison), self.start[:-1])

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        lean: float = 0.0,
        *,
        lever: Floats | None = None,
        enough: float,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, float]:
        """Scores and bias that the Hessian maps to (right, lean), by conjugate gradients.

        enough : the residual that an item may keep, in units of its `scale`, (N,).
        """
        limit = enough * np.broadcast_to(scale, right.shape)
        value = stiffness.take(self.comparison)
        adjacency = csr_array((value, self.neighbour, self.start), shape=(self.n, self.n))
        degree = np.add.reduceat(value, self.start[:-1])
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


def solve(
    comparisons: Comparisons,
    expert: Expert,
    *,
    bias: float = 0.0,
    fit_bias: bool = False,
    tilt: Floats | float = 1.0,
    start: Floats | float = 0.0,
    tol: float = 1e-10,
    max_steps: int = 100,
) -> Solution:
    """As `poe.newton.solve`, for one problem of any size."""
    return minimise(
        Graph(comparisons),
        comparisons,
        expert,
        bias=bias,
        fit_bias=fit_bias,
        tilt=tilt,
        start=start,
        tol=tol,
        max_steps=max_steps,
    )


def variances(
    comparisons: Comparisons, stiffness: Floats, pairs: NDArray[np.intp], *, lever: Floats | None
) -> Floats:
    """Variance of s_i - s_j for each of (M, 2) pairs, one solve a pair."""
    graph = Graph(comparisons)
    found = []
    for i, j in pairs:
        right = np.zeros(comparisons.n_items)
        right[i] += 1.0
        right[j] -= 1.0
        x, _ = graph.direction(stiffness, right, lever=lever, enough=1e-12)
        found.append(x[i] - x[j])
    return np.array(found)


def bias_information(comparisons: Comparisons, stiffness: Floats, lever: Floats) -> float:
    """Curvature of the energy along the bias when the scores follow: 1 / its variance."""
    graph = Graph(comparisons)
    tilted = lever * stiffness
    border = graph.transposed(tilted)
    moved, _ = graph.direction(stiffness, border, enough=1e-10, scale=graph.degrees(tilted))
    return float(lever @ tilted - border @ moved)
