"""Many small problems of one shape, solved together.

A table of the paper needs hundreds of thousands of fits to sixteen items each: one at a time hours,
stacked seconds. Every function of `poe.scores` and `poe.newton` reads `first`, `second`, `p`,
`weight` and `n_items` along the last axis only, so it takes a `Comparisons` (arrays of shape (K,))
or a `Stack` (arrays of shape (B, K)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from poe.arrays import Floats, Indices, Mask
from poe.comparisons import Comparisons
from poe.graph import sums


@dataclass(frozen=True, eq=False)
class Stack:
    """B sets of K comparisons among the same number of items.

    Nothing is checked here: a stack is cut from comparisons that were.

    Examples
    --------
    >>> stack = poe.Stack.of(2, np.array([[[0, 1]], [[0, 1]]]), np.array([[0.9], [0.6]]))
    >>> poe.average_probability(stack)
    array([[0.9, 0.1],
           [0.6, 0.4]])
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
        return replace(self, p=0.5 * (1.0 + np.sign(self.p - 0.5)))

    def flattened(self) -> Stack:
        """All leading axes as one: (..., K) arrays become (B, K)."""
        k = self.first.shape[-1]
        parts = (self.first, self.second, self.p, self.weight)
        return Stack(self.n_items, *(part.reshape(-1, k) for part in parts))  # type: ignore[arg-type]

    def each(self) -> Iterator[Comparisons]:
        """The problems one by one, of a stack (B, K); comparisons of no weight are left out."""
        for first, second, p, weight in zip(
            self.first, self.second, self.p, self.weight, strict=True
        ):
            made = weight > 0.0
            pairs = np.stack([first, second], axis=-1)[made]
            yield Comparisons.from_pairs(pairs, p[made], items=self.n_items, weight=weight[made])

    def take(self, rows: Indices | Mask | slice) -> Stack:
        """The problems at `rows` of the first axis."""
        return Stack(
            self.n_items, self.first[rows], self.second[rows], self.p[rows], self.weight[rows]
        )


Problem = Comparisons | Stack
CACHED = 30_000  # comparisons worked on at a time; more do not fit the processor's cache


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
    total = sums(problem.first + offset, at_first, size)
    total += sums(problem.second + offset, at_second, size)
    return total.reshape(*shape, n)


def laplacian(problem: Problem, strength: Floats) -> Floats:
    """W' diag(strength) W: the graph Laplacian, (..., K) to (..., N, N).

    Paper eqs. 31 and 32, book eq. 6.8, without the anchor's one.
    """
    shape, n = problem.first.shape[:-1], problem.n_items
    offset = n * n * np.arange(math.prod(shape)).reshape(*shape, 1)
    cell = problem.first * n + problem.second + offset
    links = sums(cell, strength, n * n * math.prod(shape)).reshape(*shape, n, n)
    links = links + np.swapaxes(links, -1, -2)
    diagonal = np.arange(n)
    degree = links.sum(axis=-1)
    links *= -1.0
    links[..., diagonal, diagonal] = degree
    return links


def pseudo_inverse(matrix: Floats, *, bias: bool = False) -> Floats:
    """Pseudo-inverse of connected Laplacians (..., N, N): the mean-zero covariance.

    A Laplacian is blind to a shift of all scores. An average eigenvalue in that direction makes
    it invertible without touching mean-zero vectors, and is taken away afterwards.

    bias : the last row and column belong to a bias, (..., N + 1, N + 1). Where it has no curvature
    it is fixed, and the result is zero there.
    """
    n = matrix.shape[-1] - bias
    level = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None] / n
    whole = matrix.copy()
    whole[..., :n, :n] += level / n
    fixed = matrix[..., n:, n:] == 0.0
    whole[..., n:, n:] += level * fixed
    inverse = np.linalg.inv(whole)
    inverse[..., :n, :n] -= 1.0 / (n * level)
    if fixed.any():
        inverse[..., n:, :] *= ~fixed
        inverse[..., :, n:] *= ~fixed
    return np.asarray(inverse)


def differences(problem: Problem, scores: Floats) -> Floats:
    """s_first - s_second for each comparison: (..., N) to (..., K)."""
    if scores.ndim == 1:
        return scores[problem.first] - scores[problem.second]
    return np.take_along_axis(scores, problem.first, -1) - np.take_along_axis(
        scores, problem.second, -1
    )


def block_size(stack: Stack) -> int:
    """Count the problems of a stack that fit the processor's cache at a time."""
    return max(1, CACHED // stack.p.shape[1])


def in_blocks(
    solve: Callable[..., Any],
    problem: Problem,
    bias: Floats | float,
    tilt: Floats | float,
    *others: Floats,
) -> Any:
    """Solve a stack in parts that fit the processor's cache, each by solve(part, bias, tilt, ...).

    What `solve` returns, a dataclass of arrays with a row a problem, is joined; `bias` is one
    number or (B,), `tilt` one number or (B, K), the others (B, ...).
    """
    stack = as_stack(problem)
    b, k = stack.p.shape
    columns = (np.broadcast_to(bias, (b,)), np.broadcast_to(tilt, (b, k)), *others)
    size = block_size(stack)
    parts = []
    for low in range(0, b, size):
        rows = slice(low, low + size)
        parts.append(solve(stack.take(rows), *(column[rows] for column in columns)))
    names = [one.name for one in fields(parts[0])]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return type(parts[0])(**joined)
