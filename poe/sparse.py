"""The mode of a product of experts for one large problem: Newton's method by conjugate gradients.

A graph of random comparisons is an expander, which makes its Laplacian well conditioned at
any size: conjugate gradients with the diagonal as preconditioner need a dozen or two
iterations, while a direct factorisation would fill in. Memory grows with N + K, never with N^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from poe.comparisons import Comparisons, Floats
from poe.experts import Expert, Gaussian
from poe.newton import Solution


class Graph:
    """Differences along the comparisons, their transpose, and Laplacians of any stiffness.

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

    def links(self, stiffness: Floats) -> tuple[csr_array, Floats]:
        """The weighted adjacency matrix and the degrees: L = diag(degrees) - adjacency."""
        value = stiffness.take(self.comparison)
        adjacency = csr_array((value, self.neighbour, self.start), shape=(self.n, self.n))
        return adjacency, np.add.reduceat(value, self.start[:-1])


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
    graph = Graph(comparisons)
    weight, p = comparisons.weight, comparisons.p
    scores, gamma = np.array(np.broadcast_to(start, (graph.n,)), dtype=float), float(bias)
    lever = np.broadcast_to(np.asarray(tilt, dtype=float), p.shape)
    d: Floats = graph.differences(scores) - gamma * lever
    energy = float((weight * expert.energy(d, p)).sum())
    floor = 1e-12 * float(expert.curvature(0.0 * p, p).max())
    degree = graph.links(weight)[1].max()
    step, gradient = 0, np.inf
    for step in range(max_steps + 1):
        pull = weight * expert.slope(d, p)
        slope = graph.transposed(pull)
        lean = -float(lever @ pull) if fit_bias else 0.0
        gradient = max(float(np.abs(slope).max()), abs(lean)) / degree
        if gradient <= tol or step == max_steps:
            break
        stiffness = weight * np.maximum(expert.curvature(d, p), floor)
        # Early steps need no exact direction; near the mode each doubles the digits. A
        # quadratic energy is solved in one step, which must then be exact.
        enough = max(0.1 * tol / gradient, 1e-13)
        rtol = enough if isinstance(expert, Gaussian) else max(enough, min(1e-2, gradient))
        system = System(graph, stiffness, lever=lever if fit_bias else None)
        rise, shift = system.solve(-slope, -lean, rtol=rtol)
        along = graph.differences(rise) - shift * lever
        promised = float(slope @ rise) + lean * shift
        length, d, energy = _line_search(expert, weight, p, d, along, promised, energy)
        scores += length * rise
        gamma += length * shift
    return Solution(
        scores[None] - scores.mean(),
        np.array([gamma]),
        np.array([energy]),
        np.array([gradient]),
        np.array([step]),
        np.array([gradient <= tol]),
    )


class System:
    """The Hessian of the energy in the scores and, if fitted, the bias."""

    def __init__(self, graph: Graph, stiffness: Floats, *, lever: Floats | None = None) -> None:
        self.n, self.fit_bias = graph.n, lever is not None
        self.adjacency, self.degree = graph.links(stiffness)
        tilted = np.zeros(0) if lever is None else lever * stiffness
        self.border = np.zeros(0) if lever is None else -graph.transposed(tilted)
        self.total = 0.0 if lever is None else float(lever @ tilted)

    def solve(self, right: Floats, lean: float = 0.0, *, rtol: float) -> tuple[Floats, float]:
        """Scores with mean zero and the bias that the Hessian maps to (right, lean)."""
        size = self.n + self.fit_bias
        whole = np.append(right, lean) if self.fit_bias else right
        diagonal = np.append(self.degree, self.total) if self.fit_bias else self.degree
        operator = LinearOperator((size, size), matvec=self._times, dtype=float)
        inverse = LinearOperator((size, size), matvec=lambda x: x / diagonal, dtype=float)
        x, _ = cg(operator, whole, rtol=rtol, atol=0.0, M=inverse, maxiter=10_000)
        scores = x[: self.n]
        return scores - scores.mean(), float(x[-1]) if self.fit_bias else 0.0

    def _times(self, x: Floats) -> Floats:
        scores = x[: self.n]
        product = self.degree * scores - self.adjacency @ scores
        if not self.fit_bias:
            return product
        last = float(self.border @ scores) + self.total * x[-1]
        return np.append(product + self.border * x[-1], last)


def _line_search(
    expert: Expert,
    weight: Floats,
    p: Floats,
    d: Floats,
    along: Floats,
    promised: float,
    energy: float,
) -> tuple[float, Floats, float]:
    """The step length, the differences and the energy reached."""
    slack = 1e-12 * max(1.0, abs(energy))
    length = 1.0
    for _ in range(40):
        moved = d + length * along
        reached = float((weight * expert.energy(moved, p)).sum())
        if reached <= energy + 1e-4 * length * promised + slack:
            break
        length /= 2.0
    return length, moved, reached


def variances(
    comparisons: Comparisons, stiffness: Floats, pairs: NDArray[np.intp], *, lever: Floats | None
) -> Floats:
    """Variance of s_i - s_j for each of (M, 2) pairs, one solve a pair."""
    system = System(Graph(comparisons), stiffness, lever=lever)
    found = []
    for i, j in pairs:
        right = np.zeros(comparisons.n_items)
        right[i] += 1.0
        right[j] -= 1.0
        x, _ = system.solve(right, rtol=1e-12)
        found.append(x[i] - x[j])
    return np.array(found)


def bias_information(comparisons: Comparisons, stiffness: Floats, lever: Floats) -> float:
    """Curvature of the energy along the bias when the scores follow: 1 / its variance."""
    graph = Graph(comparisons)
    system = System(graph, stiffness)
    border = graph.transposed(lever * stiffness)
    moved, _ = system.solve(border, rtol=1e-10)
    return float(lever @ (lever * stiffness) - border @ moved)
