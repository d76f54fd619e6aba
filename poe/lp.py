"""Laplacian experts: the smallest sum of absolute misfits, by linear programming in cvxpy.

`laplacian_program` is the linear program as poe_v1 writes it (appendix B, eqs. 37 to 39), for
reading and for checking. `solve_l1` gets to the same optimum faster, through the dual program,
and returns one that is uniquely defined: of all optima, which are many more often than not, the
one with the least sum of squared misfits. cvxpy is imported when a program is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import diags_array

from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.errors import NotConvergedError
from poe.experts import Laplacian
from poe.graph import strong_components
from poe.large import incidence
from poe.newton import Solution

if TYPE_CHECKING:
    import cvxpy

ZERO = 1e-9  # what counts as no misfit, and as the distance from full force, in relative units
NEAR = 6  # comparisons a cluster whose signs the second program watches at first
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


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
    since the optimum is seldom unique and every solver returns another.
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
) -> L1Solution:
    """Minimise the sum of weight |s_i - s_j - tilt bias - f_mu(p)| / b(p), mean-zero scores.

    poe_v1 eq. 35 (book eq. 8.3). With an even number of comparisons an item's score can often
    move between two of them without any change of the sum, as a median of an even number can.
    Among all optima this returns the one with the least sum of weight ((s_i - s_j - ...) / b)^2
    (book eq. 8.9), the limit of the energy with a vanishing quadratic term added; it depends
    neither on the order of rows and items nor on the order of the two items in a row, nor on
    whether repeats are merged. NotConvergedError if a program fails.
    """
    comparisons.require_connected()
    c, expert = comparisons, expert or Laplacian()
    w, b = incidence(c.first, c.second, c.n_items), expert.b(c.p)
    target, bound = expert.f_mu(c.p) + bias * tilt, c.weight / b
    # One unit of difference and of force makes every tolerance a relative one.
    length, force = float(np.abs(target).max()) or 1.0, float(bound.max())
    scores, dual = _by_dual(w, target / length, bound / force)
    square = bound / b
    scores, unique = _fewest_squares(
        c, target / length, bound / force, square / square.max(), scores, dual
    )
    scores, dual = length * (scores - scores.mean()), force * dual
    energy = float(bound @ np.abs(w @ scores - target))
    balance = float(np.abs(w.T @ dual).max() / (abs(w).T @ bound).max())
    # An energy of zero has no relative gap; then it is relative to all scores being zero.
    size = max(energy, 1e-6 * float(bound @ np.abs(target))) or 1.0
    gap = abs(energy + float(target @ dual)) / size
    return L1Solution(
        scores=scores[None],
        bias=np.array([float(bias)]),
        energy=np.array([energy]),
        gradient=np.array([balance]),
        steps=np.array([1 if unique else 2]),
        converged=np.array([max(gap, balance) <= 1e-9]),
        dual=dual,
        unique=unique,
        gap=gap,
    )


def _by_dual(w: Any, target: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """Some optimal scores, and the forces: max -target' y with W' y = 0, |y| <= bound.

    The dual program has one row an item where the primal has two a comparison. The prices of
    its rows are the scores.
    """
    import cvxpy as cp

    y = cp.Variable(len(bound), bounds=[-bound, bound], name="y")
    balance = w.T[1:] @ y == 0  # the first item's balance follows from the others'
    _solve(cp.Problem(cp.Minimize(target @ y), [balance]), "HIGHS", **EXACT)
    return np.append(0.0, -np.asarray(balance.dual_value)), np.asarray(y.value)


def _fewest_squares(
    c: Comparisons, target: Floats, bound: Floats, square: Floats, scores: Floats, dual: Floats
) -> tuple[Floats, bool]:
    """The optimum of least sum of square * misfit^2 (book eq. 8.9), and whether it is the only one.

    target, bound, square, dual : (K,), the largest of each about one; scores : any optimum.

    The forces say what every optimum has in common. A comparison whose force is less than its
    bound fits exactly, in all optima, and welds its two items together. One at its bound may
    have any misfit of the sign of its force. So the optima are the ways in which rigid clusters
    of items can move against each other without any misfit changing sign, and the one wanted
    is the optimum of a small convex program in the offsets of the clusters.
    """
    import cvxpy as cp

    misfit = scores[c.first] - scores[c.second] - target
    label = _clusters(c, misfit, bound, dual)
    m = int(label.max()) + 1
    if m == 1:
        return scores, True
    one, other = label[c.first], label[c.second]
    apart, up = one != other, dual > 0
    rise = incidence(np.where(up, one, other)[apart], np.where(up, other, one)[apart], m)[:, 1:]
    slack, weight = np.abs(misfit[apart]), square[apart]
    # The sum of weight (slack + rise o)^2 without its constant; the first cluster stays.
    curve = cp.psd_wrap((rise.T @ diags_array(weight) @ rise).tocsc())
    slope = 2.0 * (rise.T @ (weight * slack))
    # Signs turn where there is little misfit, now or at the optimum of the squares alone.
    free = np.linalg.solve(curve.value.toarray(), -0.5 * slope)
    watched = np.zeros(len(slack), dtype=bool)
    nearest = np.argsort(np.minimum(slack, slack + rise @ free), kind="stable")
    watched[nearest[: NEAR * m]] = True
    while True:
        o = cp.Variable(m - 1, name="offsets")
        kept = slack[watched] + rise[watched] @ o >= 0
        program = cp.Problem(cp.Minimize(cp.quad_form(o, curve) + slope @ o), [kept])
        _solve(program, "CLARABEL", **TIGHT)
        turned = (slack + rise @ o.value < -1e-10) & ~watched
        if not turned.any():
            return scores + np.append(0.0, np.asarray(o.value))[label], False
        watched |= turned


def _clusters(c: Comparisons, misfit: Floats, bound: Floats, dual: Floats) -> Indices:
    """(N,) label of the rigid cluster of each item, from any optimum.

    A comparison that fits but may not fall below its target keeps its first item from
    sinking towards its second; items that keep each other in place round a circle, in both
    directions, are one cluster.
    """
    fits = np.abs(misfit) <= ZERO
    full = bound * (1.0 - ZERO) - 1e-14
    not_below, not_above = fits & (dual > -full), fits & (dual < full)
    edges = np.concatenate([c.pairs[not_below], c.pairs[not_above][:, ::-1]])
    return strong_components(c.n_items, edges)


def _solve(program: cvxpy.Problem, solver: str, **options: float) -> None:
    import cvxpy as cp

    try:
        program.solve(solver=solver, ignore_dpp=True, **options)  # there are no parameters
    except cp.SolverError as error:
        raise NotConvergedError(f"the program of the Laplacian experts failed: {error}") from None
    if program.status not in ("optimal", "optimal_inaccurate"):
        raise NotConvergedError(f"the program of the Laplacian experts is {program.status}")
