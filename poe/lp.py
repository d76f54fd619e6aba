"""Laplacian experts: the smallest sum of absolute misfits, by linear programming.

`laplacian_program` is the linear program as poe_v1 writes it (appendix B, eqs. 37 to 39), for
reading and for checking. `solve_l1` gets to the same optimum faster, through the dual program,
and returns one that is uniquely defined: of all optima, which are many more often than not, the
one with the least sum of squared misfits (`poe.ties`). Stacks of small problems are
the business of `poe.central_path`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linprog

from poe import sparse
from poe.comparisons import Comparisons, Floats, Mask, incidence
from poe.errors import NotConvergedError
from poe.experts import Laplacian
from poe.newton import Solution
from poe.ties import least_squares_optimum

if TYPE_CHECKING:
    import cvxpy

ALL_AT_ONCE = 4000  # up to so many comparisons, looking for the undecided ones does not pay
UNDECIDED = 10  # comparisons an item whose sign is left to the linear program at first


class Program(NamedTuple):
    """The linear program in cvxpy: `problem.solve()`, then `scores.value`, `eta.value`."""

    problem: cvxpy.Problem
    scores: cvxpy.Variable
    eta: cvxpy.Variable


def laplacian_program(
    comparisons: Comparisons,
    expert: Laplacian | None = None,
    *,
    bias: float = 0.0,
    tilt: Floats | float = 1.0,
) -> Program:
    """Minimise sum eta_k subject to -eta_k <= (s_i - s_j - f_mu(p_k)) / f_sigma(p_k) <= eta_k.

    The linear program of poe_v1, eqs. 37 to 39 (book eq. 8.6), with weights and with scores of
    mean zero. Its optimal value is the energy that `solve_l1` reaches; its scores need not be,
    since the optimum is seldom unique and every solver returns another. cvxpy is imported here.
    """
    import cvxpy as cp

    c, expert = comparisons, expert or Laplacian()
    w = incidence(c.first, c.second, c.n_items)  # W s is the vector of s_i - s_j
    f_mu, f_sigma = expert.f_mu(c.p) + bias * tilt, expert.b(c.p)
    scores, eta = cp.Variable(c.n_items, name="s"), cp.Variable(len(c), name="eta")
    misfit = cp.multiply(w @ scores - f_mu, 1.0 / f_sigma)
    problem = cp.Problem(
        cp.Minimize(c.weight @ eta),  # eq. 37
        [misfit <= eta, misfit >= -eta, cp.sum(scores) == 0],  # eqs. 38, 39
    )
    return Program(problem, scores, eta)


@dataclass(frozen=True, eq=False)
class L1Solution(Solution):
    """As `Solution` for one problem, with its proof.

    dual : (K,) forces y with W' y = 0 and |y_k| <= weight_k / b_k; energy equals -target' y, which
    no scores can undercut. unique : whether there was but one optimum. gradient : largest
    entry of W' y by the largest degree, and `gap` the relative difference of the two sides.
    """

    dual: Floats
    unique: bool
    gap: float


def solve_l1(
    comparisons: Comparisons,
    expert: Laplacian | None = None,
    *,
    bias: float = 0.0,
    tilt: Floats | float = 1.0,
    ties: Literal["least-squares", "any"] = "least-squares",
) -> L1Solution:
    """Minimise the sum of weight |s_i - s_j - tilt bias - f_mu(p)| / b(p), mean-zero scores.

    poe_v1 eq. 35 (book eq. 8.3). With an even number of comparisons an item's score can often
    move between two of them without any change of the sum, as a median of an even number can.
    Among all optima this returns the one with the least sum of weight ((s_i - s_j - ...) / b)^2
    (book eq. 8.9), the limit of the energy with a vanishing quadratic term added; it depends
    neither on the order of rows and items nor on the order of the two items in a row, nor on
    whether repeats are merged. `ties="any"` returns whichever optimum the linear program found,
    for problems so large that the choice takes too long.

    Raises DisconnectedError and ComparisonError in the items' names, NotConvergedError if the
    linear program fails.
    """
    comparisons.require_connected()
    expert = expert or Laplacian()
    b = expert.b(comparisons.p)
    target = expert.f_mu(comparisons.p) + bias * tilt
    bound = comparisons.weight / b
    # One unit of difference and of force makes every tolerance a relative one.
    length, force = float(np.abs(target).max()) or 1.0, float(bound.max())
    scores, dual, rounds = _by_dual(comparisons, target / length, bound / force)
    unique = False
    if ties == "least-squares":
        scores, unique = least_squares_optimum(
            comparisons, target / length, bound / force, dual, scores, square=bound / b
        )
    elif ties != "any":
        raise ValueError(f"ties must be 'least-squares' or 'any', not {ties!r}")
    scores, dual = length * scores, force * dual
    graph = sparse.Graph(comparisons)
    energy = float(bound @ np.abs(graph.differences(scores) - target))
    balance = float(np.abs(graph.transposed(dual)).max() / graph.degrees(bound).max())
    # An energy of zero has no relative gap; then it is relative to all scores being zero.
    size = max(energy, 1e-6 * float(bound @ np.abs(target))) or 1.0
    gap = abs(energy + float(target @ dual)) / size
    return L1Solution(
        scores=(scores - scores.mean())[None],
        bias=np.array([float(bias)]),
        energy=np.array([energy]),
        gradient=np.array([balance]),
        steps=np.array([rounds]),
        converged=np.array([max(gap, balance) <= 1e-9]),
        dual=dual,
        unique=unique,
        gap=gap,
    )


def _by_dual(c: Comparisons, target: Floats, bound: Floats) -> tuple[Floats, Floats, int]:
    """Scores and forces, by HiGHS on the dual: max -target' y, W' y = 0, |y| <= bound.

    Most comparisons end far from their opinion and pull with full force one way; a rough
    solution tells which. Only the others need a linear program, and if its scores agree with
    all the signs that were taken for granted, the whole problem is solved. If not, the
    comparisons that were taken wrongly join the others.
    """
    w = incidence(c.first, c.second, c.n_items)
    k, count = len(c), max(UNDECIDED * c.n_items, ALL_AT_ONCE)
    misfit = np.zeros(k) if k <= count else w @ _rough(c, target, bound) - target
    for rounds in range(1, 100):
        open_ = np.ones(k, dtype=bool)
        if count < k:
            open_[np.argpartition(np.abs(misfit), count)[count:]] = False
        scores, dual = _program(w, target, bound, misfit, open_)
        if scores is not None:
            now = w @ scores - target
            wrong = ~open_ & (now * np.sign(misfit) < -1e-12)
            if not wrong.any():
                return scores, dual, rounds
            misfit = now
        count *= 2
    raise NotConvergedError("the signs of the misfits did not settle")


def _program(
    w: Any, target: Floats, bound: Floats, misfit: Floats, open_: Mask
) -> tuple[Floats | None, Floats]:
    """Solve for the forces of the open comparisons, the others at full force."""
    dual = np.where(open_, 0.0, bound * np.sign(misfit))
    found = linprog(
        target[open_],
        A_eq=w[open_].T[1:],  # the first item's balance follows from the others'
        b_eq=-(w.T @ dual)[1:],
        bounds=np.column_stack([-bound[open_], bound[open_]]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2 and not open_.all():  # the signs taken for granted cannot balance
        return None, dual
    if found.status != 0:
        raise NotConvergedError(f"the linear program failed: {found.message}")
    dual[open_] = found.x
    return np.append(0.0, found.eqlin.marginals), dual


class _Rounded:
    """|d - target| / b with its kink rounded off, for a start by weighted least squares."""

    def __init__(self, target: Floats, bound: Floats) -> None:
        self.target, self.bound = target, bound
        self.size = 0.1 * float(np.average(np.abs(target), weights=bound))

    def _distance(self, d: Floats) -> Floats:
        return np.hypot(d - self.target, self.size)

    def energy(self, d: Floats, p: Floats) -> Floats:
        return self.bound * self._distance(d)

    def slope(self, d: Floats, p: Floats) -> Floats:
        return self.bound * (d - self.target) / self._distance(d)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        return self.bound / self._distance(d)

    def log_density(self, d: Floats, p: Floats) -> Floats:
        return -self.energy(d, p)


def _rough(c: Comparisons, target: Floats, bound: Floats) -> Floats:
    """Scores close to an optimum."""
    plain = Comparisons.from_pairs(c.pairs, c.p, items=c.n_items)
    return sparse.solve(plain, _Rounded(target, bound), tol=1e-3, max_steps=8).scores[0]
