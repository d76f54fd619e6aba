"""The mode of a product of experts by Newton's method, for one problem or a stack.

Every expert is a convex energy of a score difference, so the sum is convex in the scores
and Newton's method with a line search finds its minimum. A Gaussian expert needs one step;
Bradley-Terry needs about eight, the first of which is the Gaussian solution.
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

    scores : (B, N), mean zero. energy : (B,). gradient : (B,) largest gradient entry,
    divided by the largest weight of comparisons on one item. steps : (B,) Newton steps.
    converged : (B,) whether the gradient met the tolerance.
    """

    scores: Floats
    energy: Floats
    gradient: Floats
    steps: NDArray[np.intp]
    converged: NDArray[np.bool_]


def solve(
    problem: Problem,
    expert: Expert,
    *,
    bias: Floats | float = 0.0,
    tol: float = 1e-10,
    max_steps: int = 100,
) -> Solution:
    """Minimise the sum of weight * energy(s_first - s_second - bias, p) over mean-zero scores.

    The mode of paper eq. 3, where the slopes balance (book eq. 5.3). The graph must be
    connected and the minimum finite; `poe.fit` checks both. `bias` is one number or one a
    problem. Work and memory grow as N^2 a problem, so cut very large stacks into parts.
    """
    stack = as_stack(problem)
    n_problems = len(stack.p)
    shift = np.broadcast_to(np.asarray(bias, dtype=float), (n_problems,))[:, None]
    scores = np.zeros((n_problems, stack.n_items))
    degree = by_item(stack, stack.weight, stack.weight).max(axis=1)
    energy = _total(stack, expert, differences(stack, scores) - shift)
    floor = 1e-12 * float(expert.curvature(0.0 * stack.p, stack.p).max())
    gradient = np.full(n_problems, np.inf)
    steps = np.zeros(n_problems, dtype=np.intp)
    active = np.arange(n_problems)
    for step in range(max_steps + 1):
        part = stack.take(active)
        d = differences(part, scores[active]) - shift[active]
        pull = part.weight * expert.slope(d, part.p)
        slope = by_item(part, pull, -pull)
        gradient[active] = np.abs(slope).max(axis=1) / degree[active]
        steps[active] = step
        going = gradient[active] > tol
        if step == max_steps or not going.any():
            break
        active, part, d, slope = active[going], part.take(going), d[going], slope[going]
        # Far from its opinion a bounded expert's curvature can underflow; a whisper of
        # stiffness keeps the matrix invertible, and the line search shortens the step.
        stiffness = np.maximum(expert.curvature(d, part.p), floor)
        hessian = laplacian(part, part.weight * stiffness)
        direction = -solve_laplacian(hessian, slope)
        length, energy[active] = _line_search(part, expert, d, direction, slope, energy[active])
        scores[active] += length[:, None] * direction
    return Solution(scores, energy, gradient, steps, gradient <= tol)


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


def solve_laplacian(matrix: Floats, right: Floats) -> Floats:
    """Solve L x = b for connected Laplacians (..., N, N) with b and x summing to zero."""
    return np.linalg.solve(_grounded(matrix), right[..., None])[..., 0]


def pseudo_inverse(matrix: Floats) -> Floats:
    """Pseudo-inverse of connected Laplacians (..., N, N): the mean-zero covariance."""
    n = matrix.shape[-1]
    level = np.trace(matrix, axis1=-2, axis2=-1) / n
    return np.linalg.inv(_grounded(matrix)) - (1.0 / (n * level))[..., None, None]


def _grounded(matrix: Floats) -> Floats:
    # A Laplacian is blind to a common shift. Giving that direction the average
    # eigenvalue makes the matrix invertible without touching mean-zero vectors.
    n = matrix.shape[-1]
    level = np.trace(matrix, axis1=-2, axis2=-1) / n
    return matrix + (level / n)[..., None, None]


def _total(stack: Stack, expert: Expert, d: Floats) -> Floats:
    return (stack.weight * expert.energy(d, stack.p)).sum(axis=-1)


def _line_search(
    stack: Stack, expert: Expert, d: Floats, direction: Floats, slope: Floats, energy: Floats
) -> tuple[Floats, Floats]:
    """Step lengths, halved where the energy would not fall, and the energies reached."""
    along = differences(stack, direction)
    promised = (slope * direction).sum(axis=-1)
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
