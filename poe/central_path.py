"""The mode of Laplacian experts for stacks of small problems, along the central path.

The sum of |d - f_mu| / b has kinks and, as a rule, more than one minimum. Two small changes
make it smooth and its minimum unique. Each residual r = d - f_mu becomes the difference of two
positive parts, over - under, and the pull z of each expert, which is -1/b or 1/b, becomes a
number between them, such that

    over (1/b - z) = under (1/b + z) = t,    and LEAST / 2 (r/b)^2 is added to the energy.

As t falls to zero the solution runs along a smooth path to an optimum, and Newton's method
follows it in a dozen or two steps, each a weighted least-squares problem (a primal-dual
interior-point method). Among all optima it ends at the one with the least sum of squares,
that of `poe.lp`: a quadratic term that is small enough chooses between optima
without moving away from them (Mangasarian and Meyer 1979).
"""

from __future__ import annotations

import numpy as np

from poe.comparisons import Floats, Indices, Mask
from poe.experts import Laplacian
from poe.newton import Solution, as_stack
from poe.stack import Problem, Stack, by_item, differences, laplacian

LEAST = 1e-6  # the quadratic term, relative to the absolute one at a typical residual
TOLERANCE = 1e-14  # t at the end of the path, relative to a typical residual
CACHED = 60_000  # comparisons worked on at a time; more do not fit the processor's cache


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
    stack = as_stack(problem)
    gamma, target, cost, square = terms(stack, expert, bias, tilt)
    size = max(1, CACHED // stack.p.shape[1])
    found = []
    for start in range(0, len(target), size):
        rows = np.arange(start, min(start + size, len(target)))
        part = stack.take(rows), target[rows], cost[rows], square[rows]
        found.append(_solve(*part, tol, max_steps))
    scores, reached, steps = (np.concatenate(column) for column in zip(*found, strict=True))
    energy = (cost * np.abs(differences(stack, scores) - target)).sum(axis=1)
    return Solution(scores, gamma, energy, reached, steps, reached <= tol)


def terms(
    stack: Stack, expert: Laplacian, bias: Floats | float, tilt: Floats | float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The bias of each problem; target, cost of a unit's residual and of its square, (B, K)."""
    gamma = np.array(np.broadcast_to(np.asarray(bias, dtype=float), (len(stack.p),)))
    b = expert.b(stack.p)
    cost = stack.weight / b
    square = LEAST * cost * (b.min(axis=1, keepdims=True) / b)
    return gamma, expert.f_mu(stack.p) + np.asarray(tilt) * gamma[:, None], cost, square


def _solve(
    stack: Stack, target: Floats, cost: Floats, square: Floats, tol: float, max_steps: int
) -> tuple[Floats, Floats, Indices]:
    pull = cost * target
    scores = eliminate(-laplacian(stack, cost), by_item(stack, pull, -pull))
    rest = np.abs(differences(stack, scores) - target)
    scale = (cost * rest).sum(axis=1) / cost.sum(axis=1)
    reached, steps = np.zeros(len(scores)), np.zeros(len(scores), dtype=np.intp)
    # Where least squares leaves nothing there is nothing to improve, nor a scale.
    active = np.flatnonzero(scale > 1e-14 * (1.0 + np.abs(target).max(axis=1)))
    path = _Path(
        *(stack.take(active), target[active], cost[active], square[active]),
        *(scores[active], scale[active, None]),
    )
    for step in range(max_steps + 1):
        scores[active], steps[active], reached[active] = path.scores, step, path.mean
        going = path.mean > tol
        if step == max_steps or not going.any():
            break
        if not going.all():
            active = active[going]
            path.keep(going)
        path.advance()
    return scores - scores.mean(axis=1, keepdims=True), reached, steps


class _Path:
    """Where each problem of a stack stands on its way.

    Residuals are in units of `scale`. `over` and `under` are their two parts, `above` = cost - z
    and `below` = cost + z what the pull leaves unused; all four, (B, K), stay positive.
    """

    def __init__(
        self,
        stack: Stack,
        target: Floats,
        cost: Floats,
        square: Floats,
        scores: Floats,
        scale: Floats,
    ) -> None:
        self.stack, self.target, self.cost, self.square = stack, target, cost, square
        self.scores, self.scale = scores, scale
        rest = self._rest()
        self.over, self.under = np.maximum(rest, 0.0) + 0.5, np.maximum(-rest, 0.0) + 0.5
        self.above, self.below = cost.copy(), cost.copy()
        self.length = np.zeros(len(scale))  # of the last step

    def keep(self, going: Mask) -> None:
        """Leave the problems that have arrived."""
        for name, value in vars(self).items():
            setattr(self, name, value.take(going) if name == "stack" else value[going])

    @property
    def mean(self) -> Floats:
        """(B,) t of the comparisons, in the mean."""
        products = self.over * self.above + self.under * self.below
        return np.asarray(products.sum(axis=1) / (2.0 * self.cost.sum(axis=1)))

    def _rest(self) -> Floats:
        return (differences(self.stack, self.scores) - self.target) / self.scale

    def advance(self) -> None:
        """One Newton step towards a smaller t, as far as everything stays positive."""
        # The better the last step went, the more is asked of this one.
        less = np.where(self.length > 0.9, 0.01, np.where(self.length < 0.5, 0.5, 0.1))
        t = (less * self.mean)[:, None] * self.cost
        over, under, above, below = self.over, self.under, self.above, self.below
        rest = self._rest()
        firmness = 1.0 / (over / above + under / below)
        gap = t / above - t / below - rest
        push = gap * firmness - 0.5 * (below - above) - self.square * rest
        links = -laplacian(self.stack, self.square + firmness)
        change = eliminate(links, by_item(self.stack, push, -push))
        turn = (differences(self.stack, change) - gap) * firmness
        moves = (
            (over, (t + over * turn) / above - over),
            (under, (t - under * turn) / below - under),
            (above, -turn),
            (below, turn),
        )
        fall = np.max([(-move / value).max(axis=1) for value, move in moves], axis=0)
        self.length = 1.0 / np.maximum(1.0, fall / 0.99)
        for value, move in moves:
            value += self.length[:, None] * move
        self.scores += self.length[:, None] * self.scale * change


def eliminate(links: Floats, right: Floats) -> Floats:
    """Solve L x = right for stacks of Laplacians, with x_0 = 0.

    links : (B, N, N) weights of the links between items, read below the diagonal only.
    right : (B, N), each summing to zero.

    An item that is removed joins its neighbours: a and b get a new link of
    links_ia links_ib / sum_j links_ij (the star-mesh transformation of electrical networks). That
    is Gaussian elimination without a subtraction, so small links next to huge ones keep all
    their digits, as they must where weights differ by a factor of 1e18.
    """
    # Problems last, so that NumPy's inner loops run over all of them.
    links, x = np.moveaxis(links, 0, -1).copy(), right.T.copy()
    n = len(x)
    for i in range(n - 1, 0, -1):
        links[i, i] = links[i, :i].sum(axis=0)
        share = links[i, :i] / links[i, i]
        x[:i] += share * x[i]
        for j in range(i):
            links[j, :j] += share[j] * links[i, :j]
    x[0] = 0.0
    for i in range(1, n):
        x[i] = (x[i] + (links[i, :i] * x[:i]).sum(axis=0)) / links[i, i]
    return x.T.copy()
