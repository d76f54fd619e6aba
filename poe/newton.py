"""The mode of a product of experts by Newton's method, for one problem or a stack.

Every expert is a convex energy of a score difference, so the sum is convex in the scores
and Newton's method with a line search finds its minimum. A Gaussian expert needs one step;
Bradley-Terry needs about eight, the first of which is the Gaussian solution. A position bias
is one more unknown, a constant offset of all differences, and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poe.comparisons import Floats, Indices, Mask
from poe.experts import Expert, Gaussian
from poe.graph import Graph
from poe.stack import Problem, Stack, block_size, in_blocks

__all__ = ["Solution", "solve"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver stopped, for each of B problems.

    scores : (B, N), mean zero. bias : (B,). energy : (B,). gradient : (B,) largest gradient
    entry, divided by the largest weight of comparisons on one item, or by less where weights
    are uneven; of a sparse graph by the item's own weight, and the same of groups that single
    links or little weight tie to the rest (`poe.sparse.Graph.strain`). steps : (B,) Newton steps.
    converged : (B,) whether the gradient met the tolerance.
    """

    scores: Floats
    bias: Floats
    energy: Floats
    gradient: Floats
    steps: Indices
    converged: Mask


def solve(
    problem: Problem,
    expert: Expert,
    *,
    graph: Graph | None = None,
    bias: Floats | float = 0.0,
    fit_bias: bool = False,
    tilt: Floats | float = 1.0,
    start: Floats | float = 0.0,
    tol: float = 1e-10,
    max_steps: int = 100,
) -> Solution:
    """Minimise the sum of weight * energy(s_first - s_second - tilt * bias, p), mean-zero scores.

    The mode of paper eq. 3, where the slopes balance (book eq. 5.3). The graph must be
    connected and the minimum finite; `poe.fit` checks both.

    graph : how linear systems are solved, `poe.sparse.Graph` for one large problem. bias : one
    number or one a problem, held there, or with `fit_bias` the start of its own search. tilt : 1
    where the order shown matters and 0 where it does not, as for the ties of a prior. start :
    where the scores begin, which matters for energies that are not convex.
    """
    if isinstance(problem, Stack) and len(problem.p) > block_size(problem):
        starts = np.broadcast_to(start, (len(problem.p), problem.n_items))
        options: dict[str, Any] = {"fit_bias": fit_bias, "tol": tol, "max_steps": max_steps}

        def one(part: Stack, bias: Floats, tilt: Floats, start: Floats) -> Solution:
            return solve(part, expert, bias=bias, tilt=tilt, start=start, **options)

        return in_blocks(one, problem, bias, tilt, starts)
    # Comparisons or items lie along the first axis and, for a stack, problems along the second.
    graph = Graph.of(problem) if graph is None else graph
    p, weight = graph.laid(problem.p), graph.laid(problem.weight)
    batch, quadratic = p.shape[1:], isinstance(expert, Gaussian)
    convex = getattr(expert, "convex", True)  # experts that do not say are taken to be
    lever = graph.laid(np.asarray(tilt, dtype=float))
    scores = np.zeros((graph.n, *batch)) + np.asarray(start, dtype=float).T
    gamma = np.zeros(batch) + bias
    if fit_bias:
        lever = np.broadcast_to(lever, p.shape)
    # What is an array for a stack is a number for one problem, which NumPy's machinery only slows.
    some, every, highest = (np.any, np.all, np.max) if batch else (bool, bool, float)
    dot: Any = (lambda a, b: (a * b).sum(axis=0)) if batch else np.dot
    degree = graph.degrees(weight)
    most, total = degree.max(axis=0), weight.sum(axis=0)
    # Weights may differ by many powers of ten. Then an item of little weight, or a group that
    # little weight ties to the rest, is to be as exact as any other, as far as rounding allows.
    scale = np.minimum(np.minimum(most, 16.0 * degree), 1000.0 * weight.min(axis=0))
    scale = np.maximum(scale, 1e-4 * degree)
    if graph.strain:  # groups are looked at one by one, so nothing need be done about them here
        scale = degree
    # Far from its opinion a bounded expert's curvature can underflow; a little stiffness keeps
    # the matrix invertible, and the line search shortens the step.
    floor = 1e-12 * float(expert.curvature(0.0 * p, p).max())
    d = graph.differences(scores) if np.any(start) else np.zeros(p.shape)
    if some(gamma):
        d = d - lever * gamma
    pull = weight * expert.slope(d, p)
    lean, steps = np.zeros(batch), np.zeros(batch, dtype=np.intp)
    for step in range(max_steps + 1):
        slope = graph.transposed(pull)
        gradient = (np.abs(slope) / scale).max(axis=0)
        if graph.strain:
            gradient = np.maximum(gradient, graph.strain(slope, scores))
        if fit_bias:
            lean = (lever * pull).sum(axis=0)
            gradient = np.maximum(gradient, np.abs(lean) / most)
        going = gradient > tol
        if step == max_steps or not some(going):
            break
        stiffness = weight * np.maximum(expert.curvature(d, p), floor)
        # Early steps need no exact direction; near the mode each doubles the digits. A
        # quadratic energy is solved in one step, which must then be exact.
        rest = 0.0 if quadratic else min(1e-2, largest := float(highest(gradient))) * largest
        rise, shift = graph.direction(
            stiffness,
            -slope,
            lean,
            lever=lever if fit_bias else None,
            enough=max(0.1 * tol, rest),
            scale=scale,
        )
        along, promised = graph.differences(rise), dot(slope, rise)
        if fit_bias:
            along, promised = along - lever * shift, promised - lean * shift
        moved = d + along
        ahead = weight * expert.slope(moved, p)
        # Where a convex energy does not rise at the end of a step, it fell all the way.
        rising = dot(ahead, along) > -1e-6 * promised
        doubtful = going & (promised < -1e-12 * total) & (rising | (not convex))
        if some(doubtful) or not every(going):
            length = _shortened(expert, p, weight, d, along, promised, going, doubtful)
            rise, shift, moved = length * rise, length * shift, d + length * along
            ahead = weight * expert.slope(moved, p)
        scores += rise
        gamma = gamma + shift
        steps = steps + going
        d, pull = moved, ahead
    energy = (weight * expert.energy(d, p)).sum(axis=0)
    scores -= scores.sum(axis=0) / graph.n
    numbers = (np.array(x, ndmin=1) for x in (gamma, energy, gradient, steps, gradient <= tol))
    return Solution(np.array(scores.T, ndmin=2), *numbers)


def _shortened(
    expert: Expert,
    p: Floats,
    weight: Floats,
    d: Floats,
    along: Floats,
    promised: Floats,
    going: Mask,
    doubtful: Mask,
) -> Floats:
    """The step lengths: none for who has arrived, for the doubtful halved until energy falls."""
    length, rows = np.array(going, dtype=float), np.flatnonzero(doubtful)
    if not rows.size:
        return length
    p, weight, d, along = (x.reshape(len(p), -1)[:, rows] for x in (p, weight, d, along))

    def energy(step: Floats | float, rows: Any = slice(None)) -> Floats:
        there = d[:, rows] + step * along[:, rows]
        return np.asarray((weight[:, rows] * expert.energy(there, p[:, rows])).sum(axis=0))

    here, reached = energy(0.0), energy(1.0)
    promised, tried = promised.reshape(-1)[rows], np.ones(len(rows))
    slack = 1e-12 * np.maximum(1.0, np.abs(here))  # rounding, not ascent
    for _ in range(40):
        high = np.flatnonzero(~(reached <= here + 1e-4 * tried * promised + slack))
        if not high.size:
            break
        tried[high] /= 2.0
        reached[high] = energy(tried[high], high)
    length.reshape(-1)[rows] = tried
    return length
