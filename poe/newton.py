"""The mode of a product of experts by Newton's method, for one problem or a stack.

Every expert is a convex energy of a score difference, so the sum is convex in the scores
and Newton's method with a line search finds its minimum. A Gaussian expert needs one step;
Bradley-Terry needs about eight, the first of which is the Gaussian solution. A position bias
is one more unknown, a constant offset of all differences, and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poe.comparisons import Floats
from poe.experts import Expert
from poe.stack import Problem, Stack, by_item, differences, laplacian


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver stopped, for each of B problems.

    scores : (B, N), mean zero. bias : (B,). energy : (B,). gradient : (B,) largest gradient
    entry, divided by the largest weight of comparisons on one item. steps : (B,) Newton
    steps. converged : (B,) whether the gradient met the tolerance.
    """

    scores: Floats
    bias: Floats
    energy: Floats
    gradient: Floats
    steps: NDArray[np.intp]
    converged: NDArray[np.bool_]


def solve(
    problem: Problem,
    expert: Expert,
    *,
    bias: Floats | float = 0.0,
    fit_bias: bool = False,
    tilt: Floats | float = 1.0,
    start: Floats | float = 0.0,
    tol: float = 1e-10,
    max_steps: int = 100,
) -> Solution:
    """Minimise the sum of weight * energy(s_first - s_second - tilt * bias, p), mean-zero scores.

    The mode of paper eq. 3, where the slopes balance (book eq. 5.3). The graph must be
    connected and the minimum finite; `poe.fit` checks both. `bias` is one number or one a
    problem: held there, or with `fit_bias` the start of its own search. `tilt` is 1 where the
    order shown matters and 0 where it does not, as for the ties of a prior. `start` is where
    the scores begin, which matters for energies that are not convex. Work and memory grow
    as N^2 a problem, so cut very large stacks into parts.
    """
    stack = as_stack(problem)
    n_problems = len(stack.p)
    scores = np.array(np.broadcast_to(start, (n_problems, stack.n_items)), dtype=float)
    gamma = np.array(np.broadcast_to(np.asarray(bias, dtype=float), (n_problems,)))
    degree = by_item(stack, stack.weight, stack.weight).max(axis=1)
    tilts = np.broadcast_to(np.asarray(tilt, dtype=float), stack.p.shape)
    energy = _total(stack, expert, differences(stack, scores) - tilts * gamma[:, None])
    floor = 1e-12 * float(expert.curvature(0.0 * stack.p, stack.p).max())
    gradient = np.full(n_problems, np.inf)
    steps = np.zeros(n_problems, dtype=np.intp)
    active = np.arange(n_problems)
    for step in range(max_steps + 1):
        part, lever = stack.take(active), tilts[active]
        d = differences(part, scores[active]) - lever * gamma[active, None]
        pull = part.weight * expert.slope(d, part.p)
        slope = by_item(part, pull, -pull)
        lean = -(lever * pull).sum(axis=1) if fit_bias else np.zeros(len(active))
        gradient[active] = np.maximum(np.abs(slope).max(axis=1), np.abs(lean)) / degree[active]
        steps[active] = step
        going = gradient[active] > tol
        if step == max_steps or not going.any():
            break
        active, part, d = active[going], part.take(going), d[going]
        slope, lean, lever = slope[going], lean[going], lever[going]
        # Far from its opinion a bounded expert's curvature can underflow; a whisper of
        # stiffness keeps the matrix invertible, and the line search shortens the step.
        stiffness = part.weight * np.maximum(expert.curvature(d, part.p), floor)
        rise, shift = _newton_direction(part, stiffness, slope, lean, lever if fit_bias else None)
        along = differences(part, rise) - lever * shift[:, None]
        promised = (slope * rise).sum(axis=-1) + lean * shift
        length, energy[active] = _line_search(part, expert, d, along, promised, energy[active])
        scores[active] += length[:, None] * rise
        gamma[active] += length * shift
    return Solution(scores, gamma, energy, gradient, steps, gradient <= tol)


def as_stack(problem: Problem) -> Stack:
    """The problem itself, or a stack of one."""
    if isinstance(problem, Stack):
        return problem
    return Stack(
        problem.n_items,
        problem.first[None],
        problem.second[None],
        problem.p[None],
        problem.weight[None],
    )


def _newton_direction(
    stack: Stack, stiffness: Floats, slope: Floats, lean: Floats, lever: Floats | None
) -> tuple[Floats, Floats]:
    """Minus the inverse Hessian times the gradient, in the scores and in the bias."""
    matrix = grounded(laplacian(stack, stiffness))
    if lever is None:
        return np.linalg.solve(matrix, -slope[..., None])[..., 0], np.zeros(len(slope))
    n = stack.n_items
    bordered = np.empty((len(slope), n + 1, n + 1))
    bordered[:, :n, :n] = matrix
    tilted = lever * stiffness
    bordered[:, :n, n] = bordered[:, n, :n] = -by_item(stack, tilted, -tilted)
    bordered[:, n, n] = (lever * tilted).sum(axis=1)
    right = -np.concatenate([slope, lean[:, None]], axis=1)
    step = np.linalg.solve(bordered, right[..., None])[..., 0]
    return step[:, :n], step[:, n]


def pseudo_inverse(matrix: Floats) -> Floats:
    """Pseudo-inverse of connected Laplacians (..., N, N): the mean-zero covariance."""
    n = matrix.shape[-1]
    level = np.trace(matrix, axis1=-2, axis2=-1) / n
    return np.asarray(np.linalg.inv(grounded(matrix)) - (1.0 / (n * level))[..., None, None])


def grounded(matrix: Floats) -> Floats:
    """The Laplacians with an average eigenvalue in the direction of a common shift.

    A Laplacian is blind to a shift of all scores. This makes it invertible without touching
    mean-zero vectors.
    """
    n = matrix.shape[-1]
    level = np.trace(matrix, axis1=-2, axis2=-1) / n
    return np.asarray(matrix + (level / n)[..., None, None])


def _total(stack: Stack, expert: Expert, d: Floats) -> Floats:
    return (stack.weight * expert.energy(d, stack.p)).sum(axis=-1)


def _line_search(
    stack: Stack, expert: Expert, d: Floats, along: Floats, promised: Floats, energy: Floats
) -> tuple[Floats, Floats]:
    """Step lengths, halved where the energy would not fall, and the energies reached."""
    slack = 1e-12 * np.maximum(1.0, np.abs(energy))  # rounding, not ascent
    length = np.ones(len(d))
    reached = _total(stack, expert, d + along)
    for _ in range(40):
        high = np.flatnonzero(~(reached <= energy + 1e-4 * length * promised + slack))
        if not high.size:
            break
        length[high] /= 2.0
        shorter = d[high] + length[high, None] * along[high]
        reached[high] = _total(stack.take(high), expert, shorter)
    return length, reached
