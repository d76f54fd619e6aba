"""`poe.fit`: the scores a product of experts agrees on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from poe import existence, newton, priors
from poe.arrays import Floats, Mask
from poe.comparisons import Comparisons
from poe.debias import mean_bias
from poe.errors import ComparisonError, NotConvergedError
from poe.experts import (
    FAMILIES,
    KNOWN,
    BradleyTerry,
    Davidson,
    Expert,
    Gaussian,
    Huber,
    Laplacian,
    Thurstone,
    check_expert,
    get_expert,
)
from poe.experts.davidson import with_ties
from poe.graph import Graph, component_labels, is_small
from poe.result import Covariance, Fit
from poe.scores import add_prior

if TYPE_CHECKING:
    import pandas as pd

EXACT = 300  # items up to which ten digits and an eigendecomposition cost next to nothing
FARTHEST = 1e100  # a bias whose square is still a number


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
    """Scores that maximise the product of experts (paper eq. 3; book eq. 5.1).

    Parameters
    ----------
    comparisons : or a table of them, of any form that `Comparisons.from_table` reads
    expert
        "gaussian" (paper eqs. 9 to 11, closed form; book eqs. 6.5 and 6.7), "logit-gaussian" (the
        same on log odds, `Gaussian(mean=log_odds)`), "bradley-terry" (soft, paper 3.2), "laplacian"
        (v1 appendix B), "thurstone", "huber", "davidson" (decisions with ties), or your own
        (`poe.experts.custom`, or a class with energy, slope, curvature and log_density, whose
        derivatives are checked). For the paper's variants on decisions pass `comparisons.hard()`.
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

    Returns
    -------
    Fit
        With scores of mean zero.

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
    if isinstance(chosen, Davidson) and chosen.nu is None:
        numbers: dict[str, Any] = {"tol": tol, "max_steps": max_steps, "covariance": covariance}
        again = partial(
            fit, comparisons, bias=bias, covariate=covariate, prior=prior, solver=solver, **numbers
        )
        return again(expert=with_ties(comparisons.p, comparisons.weight, again))
    fit_bias = bias == "fit"
    if solver not in ("auto", "dense", "sparse"):
        raise ValueError(f"solver must be 'auto', 'dense' or 'sparse', not {solver!r}")
    exact = solver == "dense" or (solver == "auto" and comparisons.n_items <= EXACT)
    if solver == "auto":
        solver = "dense" if is_small(comparisons) else "sparse"
    x = _covariate(covariate, len(comparisons), bias, prior)
    if isinstance(prior, str):
        if prior != "fit":
            raise ValueError(f"prior must be a number of wins or 'fit', not {prior!r}")
        gamma = None if fit_bias else _gamma(comparisons, chosen, bias)
        shrunk = priors.fit(comparisons, chosen, bias=gamma, dense=exact)
        return shrunk.with_covariance(covariance)
    problem = add_prior(comparisons, prior) if prior else comparisons
    # A prior's ties were never shown in any order, so they have nothing to do with the bias.
    ties = len(problem) - len(comparisons)
    tilt = 1.0 if covariate is None and not prior else np.append(x, np.zeros(ties))
    problem.require_connected()
    # Whether each comparison limits its difference from above, and from below.
    rises, falls = _pulled_back(problem, chosen)
    if not (rises & falls).all():  # otherwise that all are connected is enough
        existence.require_finite(problem, rises, falls, x=x if fit_bias and not prior else None)
        if fit_bias and prior:
            existence.require_bias_held(rises[: len(x)], falls[: len(x)], x)
    gamma = 0.0 if fit_bias else _gamma(comparisons, chosen, bias)
    if isinstance(chosen, Laplacian):
        if fit_bias:
            raise ValueError(
                "a fitted bias is not available for Laplacian experts; give the bias as a number "
                "or as 'mean', or use bias='fit' with another expert first"
            )
        solution, message = _by_linear_program(problem, chosen, gamma, tilt)
    else:
        graph = _graph(problem, solver)
        if (
            fit_bias and not prior
        ):  # which ties the scores and not the bias, and so tells them apart
            existence.require_bias_identified(problem, graph, x)
        convex = chosen.convex
        tol = tol or (1e-10 if exact else 1e-8)
        solution = newton.solve(
            problem,
            chosen,
            graph=graph,
            bias=gamma,
            fit_bias=fit_bias,
            tilt=tilt,
            start=_start(problem, graph, chosen, gamma, tilt),
            tol=tol,
            max_steps=max_steps,
        )
        message = (
            f"{solver} Newton, {solution.steps[0]} steps, largest gradient entry "
            f"{solution.gradient[0]:.1e} (tolerance {tol:.0e})"
        )
        if not convex:
            message += "; the energy is not convex, so this mode may be one of several"
    if not solution.converged[0]:
        raise NotConvergedError(
            f"no optimum after {solution.steps[0]} steps: {message}; allow more (max_steps), move "
            "answers away from 0 and 1, give a prior, or give an expert of your own its derivatives"
        )
    fitted = Fit(
        items=problem.items,
        scores=solution.scores[0],
        expert=chosen,
        bias=float(solution.bias[0]),
        energy=float(solution.energy[0]),
        steps=int(solution.steps[0]),
        gradient=float(solution.gradient[0]),
        converged=bool(solution.converged[0]),
        message=message,
        comparisons=problem,
        bias_fitted=fit_bias,
        tilt=tilt,
        ties=ties,
    )
    if isinstance(chosen, Huber):
        which = "of many optima one" if _is_one_of_many(fitted) else "the only optimum"
        fitted = replace(fitted, message=f"{message}; {which}")
    return fitted.with_covariance(covariance)


def _is_one_of_many(fit: Fit) -> bool:
    """Whether other scores have the same energy: along some direction every expert is straight.

    At a minimum their pulls cancel there, so the energy is flat until one of them bends.
    """
    c, bends = fit.comparisons, fit.stiffness > 0.0
    return bool(component_labels(c.first[bends], c.second[bends], c.n_items).any()) or (
        fit.bias_is_loose
    )


def _as_comparisons(given: Any) -> Comparisons:
    """Comparisons as they are, or read from a data frame (`Comparisons.from_table`)."""
    if isinstance(given, Comparisons):
        return given
    if hasattr(given, "columns"):
        return Comparisons.from_table(given)
    raise TypeError(
        f"comparisons are needed, or a table of them, not {type(given).__name__}: make them with "
        "poe.Comparisons(first=, second=, p=), or from a file with poe.Comparisons.from_csv(path)"
    )


def _graph(comparisons: Comparisons, solver: str) -> Graph:
    if solver == "dense":
        return Graph.of(comparisons)
    from poe.large import LargeGraph

    return LargeGraph(comparisons)


def _pulled_back(problem: Comparisons, expert: Expert) -> tuple[Mask, Mask]:
    """(K,) twice: whether the energy rises at last as d grows, and as d falls."""
    far: Any = 700.0  # exp() of it is still a number
    if not isinstance(expert, FAMILIES):
        far = np.full(len(problem), far)
    with np.errstate(all="ignore"):
        # Written so that NaN, from an expert that cannot look so far, passes.
        above = ~(expert.slope(far, problem.p) <= 0)
        below = ~(expert.slope(-far, problem.p) >= 0)
    return above, below


def _by_linear_program(
    problem: Comparisons, expert: Laplacian, gamma: float, tilt: Floats | float
) -> tuple[newton.Solution, str]:
    from poe import lp

    solution = lp.solve_l1(problem, expert, bias=gamma, tilt=tilt)
    which = "the only optimum" if solution.unique else "of many optima the least-squares one"
    return solution, f"linear program, {which}, relative duality gap {solution.gap:.0e}"


def _start(
    problem: Comparisons, graph: Graph, expert: Expert, gamma: float, tilt: Floats | float
) -> Floats | float:
    """Where a search begins that has more than one step to go: near its end, and near the best."""
    if isinstance(expert, (BradleyTerry, Thurstone)):
        # Against opponents of score 0 an item's share of its comparisons would be its score; half
        # a win and half a loss more keep it finite. It saves two steps of six.
        weight = graph.laid(problem.weight)
        lead = graph.transposed(weight * (graph.laid(problem.p) - 0.5))
        return expert.opinion(0.5 + lead / (1.0 + graph.degrees(weight)))
    if expert.convex:
        return 0.0
    # Least-squares scores of the experts' opinions: if there are several modes, near the best.
    squares, large = Gaussian(mean=expert.opinion), _graph(problem, "sparse")
    return newton.solve(problem, squares, graph=large, bias=gamma, tilt=tilt, tol=1e-6).scores[0]


def _covariate(given: ArrayLike | None, k: int, bias: Any, prior: Any) -> Floats:
    """(K,) what a bias is multiplied by."""
    x = np.ones(k) if given is None else np.asarray(given, dtype=float)
    if x.shape != (k,) or not np.isfinite(x).all() or not x.any():
        raise ComparisonError(f"covariate must be {k} finite numbers, not all 0")
    if given is not None and (isinstance(prior, str) or bias in (None, "mean")):
        raise ValueError("a covariate needs bias='fit' or a number, and no prior that is fitted")
    return x


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
