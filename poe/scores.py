"""Scores from comparisons without an optimiser of one's own: counts, means, Bradley-Terry.

Each function takes a `Comparisons` and returns (N,) scores in the order of its items, or a
`Stack` of B problems and returns (B, N).
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from poe import newton
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import NotConvergedError
from poe.existence import require_beaten
from poe.experts import BradleyTerry
from poe.stack import Problem, Stack, as_stack, by_item

PriorOn = Literal["all", "compared"]


def win_ratio(comparisons: Problem) -> Floats:
    """Share of its comparisons an item won, ties counting half (book eq. 3.1).

    Decisions are `comparisons.hard()`: the item with p above 1/2 wins. (N,) in [0, 1].
    Raises ComparisonError naming items that were never compared.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.win_ratio(c)
    array([1. , 0.5, 0. ])
    """
    return average_probability(comparisons.hard())


def average_probability(comparisons: Problem) -> Floats:
    """Mean over its comparisons of the probability that the item is better (book eq. 3.2).

    The baseline `avg-prob` of paper section 4.2: p where the item is shown first, 1 - p
    where it is second, weighted. (N,) in [0, 1]. Raises ComparisonError naming items that
    were never compared.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.average_probability(c)
    array([0.8 , 0.35, 0.35])
    """
    if isinstance(comparisons, Comparisons):
        comparisons.require_compared()
    weight, p = comparisons.weight, comparisons.p
    won = by_item(comparisons, weight * p, weight * (1.0 - p))
    return won / by_item(comparisons, weight, weight)


def bradley_terry(
    comparisons: Problem,
    *,
    prior: float = 0.0,
    prior_on: PriorOn = "all",
    method: Literal["newton", "zermelo"] = "newton",
    tol: float | None = None,
    max_steps: int | None = None,
) -> Floats:
    """Bradley-Terry scores from decisions (paper eqs. 1 and 2; book eqs. 3.3 and 3.4).

    Maximises the product of sigma(s_i - s_j) over "i beat j", a tie counting as half a win each
    way: (N,) or (B, N) scores of mean zero on the logit scale.

    Parameters
    ----------
    prior
        Wins added in both directions, to every pair of items (`prior_on="all"`, as the papers' code
        does) or to each comparison made ("compared", as their text says); book eq. 4.9. The paper's
        value is 1 / (N - 1). Without a prior the scores of an item that won or lost everything are
        infinite and SeparableError names it.
    method
        "newton", or "zermelo" for the fixed-point iteration of the paper, slower, kept for
        comparison. Both stop when the largest gradient entry per comparison of an item is below
        `tol` (1e-10; for Zermelo 1e-9), not when the scores stop moving.

    Raises
    ------
    SeparableError, DisconnectedError, ComparisonError, NotConvergedError
        As `poe.fit` does; of a stack, of its first problem that is at fault.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.bradley_terry(c, prior=0.5).round(2) + 0.0
    array([ 0.76,  0.  , -0.76])
    """
    problem = add_prior(comparisons.hard(), prior, on=prior_on)
    if not prior or prior_on == "compared":  # a prior on every pair leaves nothing infinite
        for one in [problem] if isinstance(problem, Comparisons) else problem.each():
            one.require_connected()
            require_beaten(one, lost=one.p < 1, won=one.p > 0)
    if method == "newton":
        solution = newton.solve(
            problem, BradleyTerry(), tol=tol or 1e-10, max_steps=max_steps or 100
        )
        scores, converged = solution.scores, bool(solution.converged.all())
    elif method == "zermelo":
        scores, converged = _zermelo(problem, tol or 1e-9, max_steps or 100_000)
    else:
        raise ValueError(f"method must be 'newton' or 'zermelo', not {method!r}")
    if not converged:
        raise NotConvergedError(
            f"{method} did not reach its tolerance; a larger prior or more max_steps may help"
        )
    return scores[0] if isinstance(comparisons, Comparisons) else scores


@overload
def add_prior(problem: Comparisons, wins: float, *, on: PriorOn = ...) -> Comparisons: ...
@overload
def add_prior(problem: Stack, wins: float, *, on: PriorOn = ...) -> Stack: ...
def add_prior(problem: Problem, wins: float, *, on: PriorOn = "all") -> Problem:
    """Add `wins` wins in each direction to every pair of items, or to each comparison made.

    A prior is nothing but ties that were never played: comparisons with p = 1/2 and
    weight 2 * wins. So no solver needs to know about it.
    """
    if wins < 0 or not np.isfinite(wins):
        raise ValueError(f"prior must be a number of wins, zero or more, not {wins}")
    if on not in ("all", "compared"):
        raise ValueError(f"prior_on must be 'all' or 'compared', not {on!r}")
    if wins == 0:
        return problem
    if on == "all" and isinstance(problem, Stack):
        return _with_prior_everywhere(problem, wins)
    first, second = problem.first, problem.second
    tied = np.triu_indices(problem.n_items, 1) if on == "all" else (first, second)
    half, weight = np.full(tied[0].shape, 0.5), np.full(tied[0].shape, 2.0 * wins)
    parts = zip((first, second, problem.p, problem.weight), (*tied, half, weight), strict=True)
    joined = [np.concatenate(part, axis=-1) for part in parts]
    if isinstance(problem, Stack):
        return Stack(problem.n_items, *joined)
    pairs = np.column_stack(joined[:2])
    return Comparisons.from_pairs(pairs, joined[2], items=problem.items, weight=joined[3])


def _with_prior_everywhere(stack: Stack, wins: float) -> Stack:
    """The prior and the comparisons of each pair as one, which is smaller than both appended.

    Right for Bradley-Terry, whose energy is linear in p, and only used for it.
    """
    n = stack.n_items
    left, right = np.triu_indices(n, 1)
    place = np.zeros((n, n), dtype=np.intp)
    place[left, right] = place[right, left] = np.arange(len(left))
    shape, grid = stack.first.shape[:-1], len(left)
    cell = place[stack.first, stack.second]
    cell += grid * np.arange(cell.size // cell.shape[-1]).reshape(*shape, 1)
    won = np.where(stack.first < stack.second, stack.p, 1.0 - stack.p)

    def total(value: Floats) -> Floats:
        size = grid * (cell.size // cell.shape[-1])
        total = np.bincount(cell.ravel(), value.ravel(), minlength=size)
        return np.asarray(total, dtype=float).reshape(*shape, grid)

    weight = 2.0 * wins + total(stack.weight)
    p = (wins + total(stack.weight * won)) / weight
    return Stack(n, np.broadcast_to(left, p.shape), np.broadcast_to(right, p.shape), p, weight)


def _zermelo(problem: Problem, tol: float, max_steps: int) -> tuple[Floats, bool]:
    """Strength_i <- wins_i / sum of 1 / (strength_i + strength_j) over its games (book eq. 4.5)."""
    stack = as_stack(problem)
    wins = by_item(stack, stack.weight * stack.p, stack.weight * (1.0 - stack.p))
    played = by_item(stack, stack.weight, stack.weight)
    strength = np.ones_like(wins)
    for _ in range(max_steps):
        together = np.take_along_axis(strength, stack.first, -1)
        together = together + np.take_along_axis(strength, stack.second, -1)
        share = stack.weight / together
        expected = strength * by_item(stack, share, share)
        # Expected minus observed wins is the gradient of the log-likelihood.
        if (np.abs(expected - wins) / played.max(axis=1, keepdims=True)).max() <= tol:
            scores = np.log(strength)
            return scores - scores.mean(axis=1, keepdims=True), True
        strength = strength * wins / expected
        strength /= np.exp(np.log(strength).mean(axis=1, keepdims=True))
    return np.log(strength), False
