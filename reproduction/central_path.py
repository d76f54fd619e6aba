"""The mode of Laplacian experts for stacks of small problems, along the central path.

The sum of |d - f_mu| / b has kinks and, as a rule, more than one minimum. Two small changes
make it smooth and its minimum unique. Each residual r = d - f_mu becomes the difference of two
positive parts, over - under, and the pull z of each expert, which is -1/b or 1/b, becomes a
number between them, such that

    over (1/b - z) = under (1/b + z) = t,  and QUADRATIC_WEIGHT / 2 (r/b)^2 is added to the energy.

As t falls to zero the solution runs along a smooth path to an optimum, and Newton's method
follows it in a dozen or two steps, each a weighted least-squares problem (a primal-dual
interior-point method). Among all optima it ends at the one with the least sum of squares,
that of `poe.lp`: a quadratic term that is small enough chooses between optima
without moving away from them (Mangasarian and Meyer 1979).

`poe.fit` solves one linear program after another with cvxpy, which takes milliseconds each;
the sweeps of the reproduction hold millions of small problems, and here one takes microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from poe.arrays import Floats, Indices, Mask
from poe.experts import Laplacian
from poe.graph import Graph, eliminate
from poe.newton import Solution
from poe.stack import Problem, Stack, in_blocks

__all__ = ["solve"]

QUADRATIC_WEIGHT = 1e-6  # the quadratic term, relative to the absolute one at a typical residual
TOLERANCE = 1e-14  # t at the end of the path, relative to a typical residual
FEW_GOING = 0.7  # the share of problems still on their way below which the others are left


def solve(
    problem: Problem,
    expert: Laplacian,
    *,
    bias: Floats | float = 0.0,
    tilt: Floats | float = 1.0,
    tol: float = TOLERANCE,
    max_steps: int = 100,
) -> Solution:
    """Minimise the sum of weight |s_first - s_second - tilt bias - f_mu(p)| / b(p).

    poe_v1 eq. 35, for one problem or a stack; `bias` and `tilt` as for
    `poe.newton.solve`. The energy is within a relative 1e-6 of the least, and within
    1e-12 unless very different scores are nearly as good. Of equally good ones, those with the
    least sum of weight (r / b)^2. `gradient` is t at the end, relative to the mean residual of
    the least-squares scores, where the path starts.
    """

    def one_block(stack: Stack, gamma: Floats, tilts: Floats) -> Solution:
        return _solve(stack, expert, gamma, tilts, tol, max_steps)

    return in_blocks(one_block, problem, bias, tilt)


def _solve(
    stack: Stack, expert: Laplacian, gamma: Floats, tilt: Floats, tol: float, max_steps: int
) -> Solution:
    """One block of problems, which lie along the last axis here, as in `poe.graph.Graph`."""
    graph, p = Graph.of(stack), np.ascontiguousarray(stack.p.T)
    b = expert.b(p)
    cost = np.ascontiguousarray(stack.weight.T) / b  # of a unit of residual
    target = expert.f_mu(p) + tilt.T * gamma
    scores = eliminate(graph.links(cost), graph.transposed(cost * target))
    rest = np.abs(graph.differences(scores) - target)
    scale = (cost * rest).sum(axis=0) / cost.sum(axis=0)
    reached, steps = np.zeros(len(scale)), np.zeros(len(scale), dtype=np.intp)
    # Where least squares leaves nothing there is nothing to improve, nor a scale.
    active = np.flatnonzero(scale > 1e-14 * (1.0 + np.abs(target).max(axis=0)))
    if active.size:
        square = QUADRATIC_WEIGHT * cost * (b.min(axis=0) / b)
        unit = np.where(scale > 0.0, scale, 1.0)
        path = _Path.start(graph, scores, unit, target, cost, square).take(active)
        for step in range(max_steps + 1):
            scores[:, path.rows], reached[path.rows] = path.scale * path.scores, path.mean
            going = path.mean > tol
            if step == max_steps or not going.any():
                break
            if going.mean() < FEW_GOING:
                path = path.take(np.flatnonzero(going))
                going = going[going]
            path.advance(going)
            steps[path.rows] += going
    energy = (cost * np.abs(graph.differences(scores) - target)).sum(axis=0)
    scores -= scores.mean(axis=0)
    return Solution(scores.T.copy(), gamma, energy, reached, steps, reached <= tol)


@dataclass(eq=False)
class _Path:
    """Where each of B problems stands on its way.

    Lengths are in units of `scale`. `over` and `under` are the two parts of each residual,
    `above` = cost - z and `below` = cost + z what the pull leaves unused; all four, (K, B), stay
    positive. `mean` is t in the mean of the comparisons, and `length` that of the last step.
    """

    graph: Graph
    scale: Floats
    target: Floats
    cost: Floats
    square: Floats
    scores: Floats
    over: Floats
    under: Floats
    above: Floats
    below: Floats
    length: Floats
    rows: Indices
    mean: Floats

    @classmethod
    def start(
        cls,
        graph: Graph,
        scores: Floats,
        scale: Floats,
        target: Floats,
        cost: Floats,
        square: Floats,
    ) -> _Path:
        """At the scores of least squares, half a unit away from every bound."""
        scores, target = scores / scale, target / scale
        rest = graph.differences(scores) - target
        over, under = np.maximum(rest, 0.0) + 0.5, np.maximum(-rest, 0.0) + 0.5
        return cls(
            graph=graph,
            scale=scale,
            target=target,
            cost=cost,
            square=square,
            scores=scores,
            over=over,
            under=under,
            above=cost.copy(),
            below=cost.copy(),
            length=np.zeros(len(scale)),
            rows=np.arange(len(scale)),
            mean=_mean(over * cost + under * cost, cost),
        )

    def take(self, problems: Indices) -> _Path:
        """Some of the problems; `rows` says which they were at first."""
        arrays = [one.name for one in fields(self) if one.name != "graph"]
        some = {name: getattr(self, name).take(problems, axis=-1) for name in arrays}
        return _Path(graph=self.graph.take(problems), **some)

    def advance(self, going: Mask) -> None:
        """One Newton step towards a smaller t, as far as everything stays positive."""
        # The better the last step went, the more is asked of this one.
        less = np.where(self.length > 0.9, 0.01, np.where(self.length < 0.5, 0.5, 0.1))
        graph, t = self.graph, less * self.mean * self.cost
        over, under, above, below = self.over, self.under, self.above, self.below
        up, down = 1.0 / above, 1.0 / below
        firmness = 1.0 / (over * up + under * down)
        rest = graph.differences(self.scores) - self.target
        gap = t * (up - down) - rest
        push = gap * firmness - 0.5 * (below - above) - self.square * rest
        change = eliminate(graph.links(self.square + firmness), graph.transposed(push))
        turn = (graph.differences(change) - gap) * firmness
        # By what each of the four would change at a full step, relative to itself.
        rise = (t / over + turn) * up - 1.0
        fall = (t / under - turn) * down - 1.0
        up *= turn
        down *= turn
        least = np.min(
            [rise.min(axis=0), fall.min(axis=0), -up.max(axis=0), down.min(axis=0)], axis=0
        )
        self.length = going / np.maximum(1.0, -least / 0.99)
        over *= 1.0 + self.length * rise
        under *= 1.0 + self.length * fall
        turn *= self.length
        above -= turn
        below += turn
        self.scores += self.length * change
        self.mean = _mean(over * above + under * below, self.cost)


def _mean(products: Floats, cost: Floats) -> Floats:
    return np.asarray(products.sum(axis=0) / (2.0 * cost.sum(axis=0)))
