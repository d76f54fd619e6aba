"""Laplacian experts for stacks of small problems, by reweighted least squares.

Every step solves one weighted least squares problem a problem, all of them as one stack of
matrices. The textbook weights, one over the last misfit, stall where several misfits
reach zero together. Here they come from the interior-point method for the linear program and its
dual: a misfit is split into a part above and a part below its target, each paired with the
force it leaves unused, and the weight is 1 / (above / unused above + below / unused below).
The forces also bound the optimum from below, so every problem knows how far it is from it
and leaves the stack when that is close enough, after ten steps or so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from poe.comparisons import Floats, Indices, Mask
from poe.experts import Laplacian
from poe.solvers.dense import Solution
from poe.stack import Stack, by_item, differences, laplacian

TOWARDS = 0.03  # how much of the gap one full step should leave
CACHED = 60_000  # comparisons worked on at a time; more do not fit the processor's cache


def irls_stack(
    stack: Stack,
    expert: Laplacian | None = None,
    *,
    bias: Floats | float = 0.0,
    tilt: Floats | float = 1.0,
    tol: float = 1e-8,
    max_steps: int = 60,
) -> Solution:
    """Minimise the sum of weight |s_i - s_j - tilt bias - f_mu(p)| / b(p), for each problem.

    As `poe.solvers.linear_program.solve_l1`, much faster for many small problems. What it
    gives up: the energy is within `tol` of the optimum, relative to it, and not exactly there;
    and where the optimum is not unique the scores lie somewhere inside the set of optima (near
    its analytic centre), not at its point of least squares. Every problem must be connected.

    bias : one number or one a problem. Returns a `Solution` whose `gradient` is the relative
    duality gap at which each problem left, and `converged` whether that is below `tol`.
    """
    expert = expert or Laplacian()
    scale = expert.b(stack.p)
    gamma = np.broadcast_to(np.asarray(bias, dtype=float), (len(stack.p),))
    target = expert.f_mu(stack.p) + gamma[:, None] * tilt
    bound = stack.weight / scale
    size = max(1, CACHED // stack.p.shape[1])
    parts = []
    for start in range(0, len(target), size):
        rows = np.arange(start, min(start + size, len(target)))
        parts.append(_solve(stack.take(rows), target[rows], bound[rows], tol, max_steps))
    scores, gap, steps = (np.concatenate(column) for column in zip(*parts, strict=True))
    energy = (bound * np.abs(differences(stack, scores) - target)).sum(axis=1)
    return Solution(scores, gamma.copy(), energy, gap, steps, gap <= tol)


@dataclass(eq=False)
class _State:
    """Where every problem of a stack stands; all arrays have one row a problem.

    above, below : the two parts of the misfit, above - below. spare_up, spare_down : what the
    force y leaves unused below its upper and above its lower bound. All four stay positive.
    """

    target: Floats
    bound: Floats
    scores: Floats
    y: Floats
    above: Floats
    below: Floats
    spare_up: Floats
    spare_down: Floats

    def take(self, rows: Mask) -> _State:
        return _State(*(getattr(self, part.name)[rows] for part in fields(self)))

    def gap(self) -> Floats:
        """(B, 1) energy of the scores less the bound that the forces prove."""
        total = self.above * self.spare_up + self.below * self.spare_down
        return total.sum(axis=1, keepdims=True)


def _solve(
    stack: Stack, target: Floats, bound: Floats, tol: float, max_steps: int
) -> tuple[Floats, Floats, Indices]:
    at = _start(stack, target, bound)
    scores, n_problems = at.scores.copy(), len(target)
    gap, steps = np.full(n_problems, np.inf), np.zeros(n_problems, dtype=np.intp)
    active = np.arange(n_problems)
    # An energy of zero has no relative gap; then a small part of the targets will do.
    least = 1e-4 * (bound * np.abs(target)).sum(axis=1) + 1e-12 * bound.sum(axis=1)
    for step in range(max_steps + 1):
        energy = (at.bound * np.abs(at.above - at.below)).sum(axis=1)
        gap[active] = at.gap()[:, 0] / (energy + least[active])
        scores[active], steps[active] = at.scores, step
        going = gap[active] > tol
        if step == max_steps or not going.any():
            break
        if not going.all():
            active, stack, at = active[going], stack.take(going), at.take(going)
        _advance(stack, at)
    return scores - scores.mean(axis=1, keepdims=True), gap, steps


def _start(stack: Stack, target: Floats, bound: Floats) -> _State:
    """Least squares; its misfits, scaled, are forces in balance."""
    scores = _least_squares(stack, bound, bound, bound * target)
    misfit = differences(stack, scores) - target
    largest = np.abs(misfit).max(axis=1, keepdims=True)
    y = 0.9 * bound * misfit / np.where(largest > 0.0, largest, 1.0)
    typical = np.abs(misfit).mean(axis=1, keepdims=True)
    typical += 1e-3 * np.abs(target).mean(axis=1, keepdims=True)
    above = np.maximum(misfit, 0.0) + 0.3 * np.where(typical > 0.0, typical, 1.0)
    return _State(target, bound, scores, y, above, above - misfit, bound - y, bound + y)


def _advance(stack: Stack, at: _State) -> None:
    """One Newton step towards a gap smaller by the factor TOWARDS, kept inside the bounds."""
    aim = TOWARDS * at.gap() / (2.0 * stack.p.shape[1])
    weight = 1.0 / (at.above / at.spare_up + at.below / at.spare_down)
    pull = weight * (aim / at.spare_up - at.above - aim / at.spare_down + at.below)
    move = _least_squares(stack, at.bound, weight, pull - at.y)
    turn = weight * differences(stack, move) - pull
    above = (aim + at.above * turn) / at.spare_up - at.above
    below = (aim - at.below * turn) / at.spare_down - at.below
    primal = 1.0 / np.maximum(1.0, _shrink((at.above, above), (at.below, below)) / 0.99)
    dual = 1.0 / np.maximum(1.0, _shrink((at.spare_up, -turn), (at.spare_down, turn)) / 0.99)
    at.scores = at.scores + primal * move
    at.above, at.below = at.above + primal * above, at.below + primal * below
    at.y = at.y + dual * turn
    at.spare_up, at.spare_down = at.spare_up - dual * turn, at.spare_down + dual * turn


def _shrink(*pairs: tuple[Floats, Floats]) -> Floats:
    """(B, 1) the largest share of itself that a number x loses in a step dx."""
    worst = [(-dx / x).max(axis=1, keepdims=True) for x, dx in pairs]
    return np.maximum(*worst)


def _least_squares(stack: Stack, bound: Floats, weight: Floats, pull: Floats) -> Floats:
    """(B, N) scores s with W' diag(weight) W s = W' pull, the first of each zero."""
    # Weights differ by sixteen orders of magnitude near the end; below that they are rounding.
    # The first item is left out, because a sum over all would drown the smallest weights.
    floor = 1e-13 * bound * (weight / bound).max(axis=1, keepdims=True)
    matrix = laplacian(stack, np.maximum(weight, floor))[:, 1:, 1:]
    right = by_item(stack, pull, -pull)[:, 1:, None]
    scores = np.zeros((len(weight), stack.n_items))
    scores[:, 1:] = np.linalg.solve(matrix, right)[..., 0]
    return scores
