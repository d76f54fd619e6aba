"""Many small problems of one shape, solved together.

A table of the paper needs hundreds of thousands of fits to sixteen items each. One at a
time they cost hours of interpreter overhead; stacked along a first axis, the same NumPy
expressions cost seconds. Every function of `poe.scores` and `poe.solvers.dense` reads
`first`, `second`, `p`, `weight` and `n_items` along the last axis only, so it takes a
`Comparisons` (arrays of shape (K,)) or a `Stack` (arrays of shape (B, K)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poe.comparisons import Comparisons, Floats, Indices


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

    def take(self, rows: Indices) -> Stack:
        """The problems at `rows` of the first axis."""
        return Stack(
            self.n_items, self.first[rows], self.second[rows], self.p[rows], self.weight[rows]
        )


Problem = Comparisons | Stack


def by_item(problem: Problem, at_first: Floats, at_second: Floats) -> Floats:
    """Sum a number a comparison into its two items: (..., K) twice to (..., N)."""
    shape, n = problem.first.shape[:-1], problem.n_items
    blocks = int(np.prod(shape))
    offset = n * np.arange(blocks).reshape(*shape, 1)
    total = np.bincount((problem.first + offset).ravel(), at_first.ravel(), minlength=blocks * n)
    total += np.bincount(
        (problem.second + offset).ravel(), at_second.ravel(), minlength=blocks * n
    )
    return total.reshape(*shape, n)


def laplacian(problem: Problem, strength: Floats) -> Floats:
    """W' diag(strength) W: the graph Laplacian (paper eqs. 31, 32), (..., K) to (..., N, N)."""
    shape, n = problem.first.shape[:-1], problem.n_items
    blocks = int(np.prod(shape))
    cell = problem.first * n + problem.second + n * n * np.arange(blocks).reshape(*shape, 1)
    links = np.bincount(cell.ravel(), strength.ravel(), minlength=blocks * n * n)
    links = links.reshape(*shape, n, n)
    links = links + np.swapaxes(links, -1, -2)
    matrix = -links
    diagonal = np.arange(n)
    matrix[..., diagonal, diagonal] = links.sum(axis=-1)
    return matrix


def differences(problem: Problem, scores: Floats) -> Floats:
    """s_first - s_second for each comparison: (..., N) to (..., K)."""
    return np.take_along_axis(scores, problem.first, -1) - np.take_along_axis(
        scores, problem.second, -1
    )
