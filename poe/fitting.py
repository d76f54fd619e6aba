"""`poe.fit`: the scores a product of experts agrees on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from poe import existence, newton, priors
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.debias import mean_bias
from poe.errors import ComparisonError, NotConvergedError
from poe.experts import (
    FAMILIES,
    KNOWN,
    BradleyTerry,
    Expert,
    Gaussian,
    Huber,
    Laplacian,
    Thurstone,
    check_expert,
    get_expert,
)
from poe.experts.ties import Tied, with_ties
from poe.graph import Graph, component_labels, is_small
from poe.result import Covariance, Fit
from poe.scores import add_prior

if TYPE_CHECKING:
    import pandas as pd

EXACT = 300  # items up to which ten digits and an eigendecomposition cost next to nothing
FARTHEST = 1e100  # a bias whose square is still a number
UNEVEN = 1e4  # weights so far apart start a light answer where Newton's steps lead away from it


def fit(
    comparisons: Comparisons | pd.DataFrame,
    expert: str | Expert = "bradley-terry",
    *,
    bias: float | Literal["mean", "fit"] | None = None,
    covariate: ArrayLike | None = None,
    prior: float | Literal["fit"] = 0.0,
    solver: Literal["auto", "dense", "sparse"] = "auto",
    tol: float | None = None,
    max_steps: int = 100,
    covariance: Covariance = "paired",
) -> Fit:
    """Scores of mean zero that maximise the product of experts (paper eq. 3; book eq. 5.1).

    Parameters
    ----------
    comparisons : or a table of them, of any form that `Comparisons.from_table` reads
    expert
        "gaussian" (paper eqs. 9 to 11, closed form; book eqs. 6.5 and 6.7), "logit-gaussian" (the
        same on log odds, `Gaussian(mean=log_odds)`), "bradley-terry" (soft, paper 3.2), "laplacian"
        (v1 appendix B), "thurstone", "huber", "davidson" and "rao-kupper" (decisions with ties), or
        your own (`poe.experts.custom`, or a class with energy, slope, curvature and log_density,
        whose derivatives are checked). For the paper's variants pass `comparisons.hard()`.
    bias
        The paper's gamma (section 3.5), which moves every expert to d - gamma. None for none, a
        number, "mean" for the value at which the mean probability means no difference (eq. 12 for
        Gaussian experts, -logit(mean p) for Bradley-Terry), or "fit" for the value that maximises
        the product together with the scores.
    covariate
        (K,) what bias counts times in each comparison, d - bias x; 1 by default. Where it is a
        difference of two items' own numbers, as of their lengths, scores can imitate it: then bias
        is a number, or a prior tells it from scores that owe nothing to it (book eq. 9.15).
    prior
        Wins added in both directions to every pair of items, see `bradley_terry`; or, for Gaussian
        experts, "fit": scores are drawn from N(0, tau^2) whose strength the evidence chooses
        (`poe.priors`; `Fit.prior` has it). The graph need not be connected: groups without a
        link are shrunk to the common mean. Answers that tell nothing give scores with next to no
        spread, in the order of the summed opinions.
    solver
        "dense" factorises (small N), "sparse" (any N) uses conjugate gradients, or a sparse
        factorisation where the graph is nearly a tree or a narrow window over the items.
    tol
        Largest gradient entry allowed, per unit of weight on an item (1e-10; above 300 items sparse
        1e-8), by "sparse" also of groups that single links or little weight tie to the rest.
    covariance
        Behind every error and interval, "paired", "scatter" or "curvature" (the paper's), see
        `Fit.with_covariance`.

    Raises
    ------
    DisconnectedError, SeparableError, UnidentifiedBiasError, ComparisonError
        In the items' names.
    NotConvergedError
        Rather than scores that are not the optimum.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.fit(c, "gaussian").scores.round(2)
    array([ 0.2, -0.1, -0.1])
    """
    comparisons = _as_comparisons(comparisons)
    chosen = get_expert(expert)
    if not isinstance(chosen, KNOWN):
        check_expert(chosen, p=comparisons.p)
    if isinstance(chosen, Tied) and chosen.is_open:
        numbers: dict[str, Any] = {"tol": tol, "max_steps": max_steps, "covariance": covariance}
        again = partial(
            fit, comparisons, bias=bias, covariate=covariate, prior=prior, solver=solver, **numbers
        )
        return again(expert=with_ties(chosen, comparisons.p, comparisons.weight, again))
    if solver not in ("auto", "dense", "sparse"):
        raise ValueError(f"solver must be 'auto', 'dense' or 'sparse', not {solver!r}")
    if isinstance(prior, str) and prior != "fit":
        raise ValueError(f"prior must be a number of wins or 'fit', not {prior!r}")
    problem = comparisons if isinstance(prior, str) else add_prior(comparisons, prior)
    # A prior's ties were never shown in any order, so they have nothing to do with the bias.
    ties = len(problem) - len(comparisons)
    task = Task(
        comparisons=problem,
        expert=chosen,
        bias=None if bias == "fit" else _gamma(comparisons, chosen, bias),
        tilt=_tilt(covariate, len(comparisons), ties, bias, prior),
        ties=ties,
        dense=solver == "dense" or (solver == "auto" and is_small(problem)),
        exact=solver == "dense" or (solver == "auto" and comparisons.n_items <= EXACT),
        tol=tol,
        max_steps=max_steps,
    )
    solve = _by_newton
    if isinstance(prior, str):
        solve = _with_fitted_prior
    elif isinstance(chosen, Laplacian):
        solve = _by_linear_program
    found = solve(task)
    if not found.converged:
        raise NotConvergedError(
            f"no optimum after {found.steps} steps of {found.method}, largest gradient entry "
            f"{found.gradient:.1e}; allow more (max_steps), move answers away from 0 and 1, give "
            "a prior, or give an expert of your own its derivatives"
        )
    return found.with_covariance(covariance)


# The three solvers ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """What a solver is asked.

    comparisons : the last `ties` of them are a prior's. bias : None to fit it. tilt : (K,), or one
    number, what it is multiplied by. dense : how linear systems are solved. exact : whether the
    problem is small enough for ten digits.
    """

    comparisons: Comparisons
    expert: Expert
    bias: float | None
    tilt: Floats | float
    ties: int
    dense: bool
    exact: bool
    tol: float | None
    max_steps: int

    def solved(self, solution: newton.Solution, method: str, **found: Any) -> Fit:
        """A solver's result as a fit."""
        names = ("bias", "energy", "gradient", "steps", "converged")
        return Fit(
            **{name: getattr(solution, name)[0].item() for name in names},
            items=self.comparisons.items,
            scores=solution.scores[0],
            expert=self.expert,
            method=method,
            comparisons=self.comparisons,
            bias_fitted=self.bias is None,
            tilt=self.tilt,
            ties=self.ties,
            **found,
        )


def _with_fitted_prior(task: Task) -> Fit:
    return priors.fit(task.comparisons, task.expert, bias=task.bias, dense=task.exact)


def _by_linear_program(task: Task) -> Fit:
    from poe import lp

    _require_finite(task)
    if task.bias is None:
        raise ValueError(
            "a fitted bias is not available for Laplacian experts; give the bias as a number "
            "or as 'mean', or use bias='fit' with another expert first"
        )
    assert isinstance(task.expert, Laplacian)
    solution = lp.solve_l1(task.comparisons, task.expert, bias=task.bias, tilt=task.tilt)
    return task.solved(solution, "linear program", unique=solution.unique)


def _by_newton(task: Task) -> Fit:
    _require_finite(task)
    c, expert, gamma = task.comparisons, task.expert, task.bias or 0.0
    graph = Graph.of(c) if task.dense else _large(c)
    if task.bias is None and not task.ties:  # a prior ties the scores and not the bias
        existence.require_bias_identified(c, graph, np.broadcast_to(task.tilt, c.p.shape))
    tol = task.tol or (1e-10 if task.exact else 1e-8)
    solution = newton.solve(
        c,
        expert,
        graph=graph,
        bias=gamma,
        fit_bias=task.bias is None,
        tilt=task.tilt,
        start=_start(task, graph, gamma),
        tol=tol,
        max_steps=task.max_steps,
    )
    found = task.solved(solution, f"{'dense' if task.dense else 'sparse'} Newton")
    return replace(found, unique=_is_unique(found)) if isinstance(expert, Huber) else found


def _require_finite(task: Task) -> None:
    """Raise an error in the items' names where the scores, or a fitted bias, are not finite."""
    c, expert = task.comparisons, task.expert
    far: Any = 700.0  # exp() of it is still a number
    if not isinstance(expert, FAMILIES):
        far = np.full(len(c), far)
    with np.errstate(all="ignore"):
        # Written so that NaN, from an expert that cannot look so far, passes.
        rises = ~(expert.slope(far, c.p) <= 0)
        falls = ~(expert.slope(-far, c.p) >= 0)
    if (rises & falls).all():
        c.require_connected()
    else:  # who both won and lost against the rest is linked to it
        x = np.broadcast_to(task.tilt, c.p.shape) if task.bias is None else None
        existence.require_finite(c, rises, falls, x=x, ties=task.ties)


def _is_unique(fit: Fit) -> bool:
    """Whether no other scores have the same energy; they do where every expert is straight.

    At a minimum their pulls cancel there, so the energy is flat until one of them bends.
    """
    c, bends = fit.comparisons, fit.stiffness > 0.0
    apart = component_labels(c.first[bends], c.second[bends], c.n_items).any()
    return not (apart or fit.bias_is_loose)


def _as_comparisons(given: Any) -> Comparisons:
    """Comparisons as they are, or read from a data frame (`Comparisons.from_table`)."""
    if isinstance(given, Comparisons):
        return given
    if hasattr(given, "columns"):
        return Comparisons.from_table(given)
    raise TypeError(
        f"comparisons are needed, or a table of them, not {type(given).__name__}: make them with "
        "poe.Comparisons(first=, second=, p=), or read a file with judging.read(path)"
    )


def _large(comparisons: Comparisons) -> Graph:
    from poe.large import LargeGraph

    return LargeGraph(comparisons)


def _start(task: Task, graph: Graph, gamma: float) -> Floats | float:
    """Where a search begins that has more than one step to go: near its end, and near the best."""
    c, expert = task.comparisons, task.expert
    if isinstance(expert, (BradleyTerry, Thurstone)) and c.weight.max() < UNEVEN * c.weight.min():
        return newton.near_mode(graph, graph.laid(c.p), graph.laid(c.weight), expert)
    if expert.convex:
        return 0.0
    # Least-squares scores of the experts' opinions: if there are several modes, near the best.
    squares = Gaussian(mean=expert.opinion)
    found = newton.solve(c, squares, graph=_large(c), bias=gamma, tilt=task.tilt, tol=1e-6)
    return found.scores[0]


def _tilt(given: ArrayLike | None, k: int, ties: int, bias: Any, prior: Any) -> Floats | float:
    """What a bias is multiplied by in k comparisons, a covariate or 1, and 0 in a prior's ties."""
    if given is None:
        return np.repeat([1.0, 0.0], [k, ties]) if ties else 1.0
    x = np.asarray(given, dtype=float)
    if x.shape != (k,) or not np.isfinite(x).all() or not x.any():
        raise ComparisonError(f"covariate must be {k} finite numbers, not all 0")
    if isinstance(prior, str) or bias in (None, "mean"):
        raise ValueError("a covariate needs bias='fit' or a number, and no prior that is fitted")
    return np.append(x, np.zeros(ties))


def _gamma(comparisons: Comparisons, expert: Expert, bias: Any) -> float:
    if bias is None:
        return 0.0
    if bias == "mean":
        return mean_bias(comparisons, expert)
    if isinstance(bias, str):
        raise ValueError(f"bias must be None, 'mean', 'fit' or a number, not {bias!r}")
    if not (isinstance(bias, Real) and abs(float(bias)) <= FARTHEST):
        raise ValueError(f"bias must be a finite number, None, 'mean' or 'fit', not {bias!r}")
    return float(bias)
