"""The mode of a product of experts by Newton's method, for one problem or a stack.

Every expert of the papers is a convex energy of a score difference, so the sum is convex in the
scores and Newton's method with a line search finds its minimum; of one that is not convex, a mode
near the start. A Gaussian expert needs one step; Bradley-Terry needs about eight, the first of
which is the Gaussian solution. A position bias is one more unknown, a constant offset of all
differences, and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poe.arrays import Floats, Indices, Mask
from poe.errors import NotConvergedError
from poe.experts import FAMILIES, BradleyTerry, Expert, Gaussian
from poe.graph import Graph
from poe.stack import Problem, Stack, block_size, in_blocks

# The gradient left at an item counts in units of the largest weight on any item, but of no more
# than OWN times its own and LIGHTEST times the smallest weight of a comparison: weights may differ
# by many powers of ten, and an item of little weight, or a group that little weight ties to the
# rest, is to be as exact as any other. Units below ROUNDING of an item's own weight would ask for
# more digits than the gradient has: 1e-4 times a tolerance of 1e-10 is some rounding errors.
OWN, LIGHTEST, ROUNDING = 16.0, 1000.0, 1e-4

# Far from its opinion a bounded expert's curvature can underflow; this share of the largest keeps
# the matrix invertible, and the line search shortens the step.
STIFFEST = 1e-12

# Early steps need no exact direction; near the mode each doubles the digits, so a system is solved
# to the gradient squared, or to LOOSE of it, and to FINE of the tolerance at the end.
LOOSE, FINE = 1e-2, 0.1

# The share of what a step promises that it must keep (Armijo's rule, whose usual value it is), and
# what is only rounding, of an energy and of a slope.
KEPT, NOISE, FLAT = 1e-4, 1e-12, 1e-6
STILL = 2e-4  # of a last step: the next is about its square
LONG = 1e3  # of a difference: on the way there a slope may lose all its digits
# Where no difference moves by more than m, Bradley-Terry's curvature grows exp(m) times at most on
# the way, so that a share 1 - (exp(m) - 1 - m) / m^2 of the promised fall is kept: no need to look.
MILD = 1.5
HALVINGS = 100  # from as far as next to no curvature throws to where nothing changes
SINGULAR = (
    "no step can be computed: at these scores some experts hardly curve, others do; move answers "
    "away from 0 and 1, give a prior, or give the slope and curvature of an expert of your own"
)


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver stopped, for each of B problems.

    scores : (B, N), mean zero. bias : (B,). energy : (B,). gradient : (B,) largest gradient
    entry, divided by the largest weight of comparisons on one item, or by less where weights
    are uneven; of a sparse graph by the item's own weight, and the same of groups that single
    links or little weight tie to the rest (`poe.large.LargeGraph.strain`). steps : (B,) Newton
    steps. converged : (B,) whether the gradient met the tolerance and the last step was short.
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

    graph : how linear systems are solved, `poe.large.LargeGraph` for one large problem. bias : one
    number or one per problem, held there, or with `fit_bias` the start of its own search. tilt :
    what the bias is multiplied by, 1 where the order shown matters, 0 in the ties of a prior.
    start : where the scores begin, which matters for energies that are not convex.
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
    unproven = not isinstance(expert, FAMILIES)
    mild = MILD if isinstance(expert, BradleyTerry) else 0.0
    tilt = np.asarray(tilt, dtype=float)
    tilt = graph.laid(tilt) if tilt.ndim else tilt
    scores = np.zeros((graph.n, *batch)) + np.asarray(start, dtype=float).T
    gamma = np.zeros(batch) + bias
    if fit_bias:
        tilt = np.broadcast_to(tilt, p.shape)
        lever = np.abs(tilt).max(axis=0)
    degree = graph.degrees(weight)
    most, total = degree.max(axis=0), weight.sum(axis=0)
    if graph.has_strain:  # groups are looked at one by one, so each item by its own weight will do
        scale = degree
    else:
        scale = np.minimum(np.minimum(most, OWN * degree), LIGHTEST * weight.min(axis=0))
        scale = np.maximum(scale, ROUNDING * degree)
    stiffest = float(expert.curvature(0.0 * p, p).max())
    d = graph.differences(scores) if scores.any() else np.zeros(p.shape)
    if _any(gamma):
        d = d - tilt * gamma
    pull = weight * expert.slope(d, p)
    bias_pull, steps = np.zeros(batch), np.zeros(batch, dtype=np.intp)
    size = np.zeros(batch)  # of the last step, in units of a difference
    for step in range(max_steps + 1):
        slope = graph.transposed(pull)
        gradient = (np.abs(slope) / scale).max(axis=0)
        if graph.has_strain:
            gradient = np.maximum(gradient, graph.strain(slope, scores))
        if fit_bias:
            bias_pull = (tilt * pull).sum(axis=0)  # the bias enters d with a minus
            gradient = np.maximum(gradient, np.abs(bias_pull) / (lever * most))
        going = ~(gradient <= tol)
        if not quadratic:  # far out experts hardly pull: little gradient, and yet a way to go
            going = going | (size > STILL)
        if step == max_steps or not _any(going):
            break
        stiffness = weight * np.maximum(expert.curvature(d, p), STIFFEST * stiffest)
        unit = scale
        if graph.has_strain:  # weakly held items move far on a small residual: solve more finely
            unit = np.clip(graph.degrees(stiffness) / stiffest, ROUNDING * degree, scale)
        # A quadratic energy is solved in one step, which must then be exact.
        largest = float(gradient.max() if batch else gradient)
        rest = 0.0 if quadratic else min(LOOSE, largest) * largest
        # W' diag(stiffness) W rise = -slope, bordered by a row for the bias.
        try:
            rise, shift = graph.direction(
                stiffness,
                -slope,
                bias_pull,
                tilt=tilt if fit_bias else None,
                enough=max(FINE * tol, rest),
                scale=unit,
            )
        except (np.linalg.LinAlgError, RuntimeError):  # NumPy's and LAPACK's; SuperLU's
            raise NotConvergedError(SINGULAR) from None
        along, promised = graph.differences(rise), _inner(slope, rise)
        if fit_bias:
            along, promised = along - tilt * shift, promised - bias_pull * shift
        moved = d + along
        ahead = weight * expert.slope(moved, p)
        size = np.abs(along).max(axis=0)
        # Where a convex energy does not rise at the end of a step, it fell all the way: if its
        # slope can be trusted there. That of an expert of one's own may be made of differences.
        rising = (_inner(ahead, along) > -FLAT * promised) & (size > mild) | (size > LONG)
        doubtful = going & (promised < -NOISE * total) & (rising | unproven)
        if _any(doubtful | ~going):
            length = _shortened(expert, p, weight, d, along, promised, going, doubtful)
            rise, shift, moved = length * rise, length * shift, d + length * along
            ahead, size = weight * expert.slope(moved, p), length * size
        scores += rise
        gamma = gamma + shift
        steps = steps + going
        d, pull = moved, ahead
    energy = (weight * expert.energy(d, p)).sum(axis=0)
    scores -= scores.sum(axis=0) / graph.n
    numbers = (np.array(x, ndmin=1) for x in (gamma, energy, gradient, steps, ~going))
    return Solution(np.array(scores.T, ndmin=2), *numbers)


def near_mode(graph: Graph, p: Floats, weight: Floats, expert: Expert) -> Floats:
    """Scores to begin with, (N, *batch), from (K, *batch) as the graph has its comparisons.

    Against opponents of score 0 an item's share of its comparisons would be its score; half a win
    and half a loss more keep it finite. It saves two steps of six.
    """
    lead = graph.transposed(weight * (p - 0.5))
    return expert.opinion(0.5 + lead / (1.0 + graph.degrees(weight)))


def _any(truths: Any) -> bool:
    """Whether any is true; of one problem a number, for which NumPy's own method is slow."""
    return bool(truths) if truths.ndim == 0 else bool(truths.any())


def _inner(a: Floats, b: Floats) -> Any:
    """Products of vectors: one number, or of a stack one for each problem."""
    return np.dot(a, b) if a.ndim == 1 else (a * b).sum(axis=0)


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
    """Step lengths: 0 for converged problems; halved until the energy falls where it might not."""
    length, rows = np.array(going, dtype=float), np.flatnonzero(doubtful)
    if not rows.size:
        return length
    p, weight, d, along = (x.reshape(len(p), -1)[:, rows] for x in (p, weight, d, along))

    def energy(step: Floats | float, rows: Any = slice(None)) -> Floats:
        there = d[:, rows] + step * along[:, rows]
        return np.asarray((weight[:, rows] * expert.energy(there, p[:, rows])).sum(axis=0))

    here, reached = energy(0.0), energy(1.0)
    promised, tried = promised.reshape(-1)[rows], np.ones(len(rows))
    slack = NOISE * np.maximum(1.0, np.abs(here))  # rounding, not ascent
    for _ in range(HALVINGS):
        high = np.flatnonzero(~(reached <= here + KEPT * tried * promised + slack))
        if not high.size:
            break
        tried[high] /= 2.0
        reached[high] = energy(tried[high], high)
    length.reshape(-1)[rows] = tried
    return length
