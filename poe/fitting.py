"""`poe.fit`: the scores a product of experts agrees on, and how sure it is of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.stats import norm

from poe import posterior
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import NotConvergedError
from poe.existence import refuse_bias_without, require_bias_identified, require_finite
from poe.experts import KNOWN, Expert, Gaussian, check_expert, get_expert, is_convex
from poe.scores import add_prior
from poe.solvers import dense, sparse
from poe.stack import by_item, differences, laplacian

DENSE_ITEMS = 300  # above this conjugate gradients are faster than a factorisation
COVARIANCE_ITEMS = 6000  # a matrix of 288 MB; above, ask for single differences


@dataclass(frozen=True, eq=False)
class Fit:
    """Scores at the mode of the product of experts, with the Gaussian around it.

    items : the N names. scores : (N,), mean zero, in the expert's unit of difference.
    expert : what was fitted. bias : the paper's gamma, in units of a difference, and bias_se
    its standard error where it was fitted (else None). energy : the objective reached.
    steps, gradient, converged, message : how the solver stopped.
    """

    items: tuple[Hashable, ...]
    scores: Floats
    expert: Expert
    bias: float
    energy: float
    steps: int
    gradient: float
    converged: bool
    message: str
    comparisons: Comparisons = field(repr=False)
    bias_fitted: bool = False
    tilt: Floats | float = field(default=1.0, repr=False)

    # Uncertainty -----------------------------------------------------------------------

    def covariance(self) -> Floats:
        """(N, N) covariance of the scores under the mean-zero convention.

        The pseudo-inverse of W' S^-1 W: exact for Gaussian experts (paper eqs. 8 and 41;
        book eq. 6.5), the Laplace approximation otherwise (paper eq. 46). A fitted bias adds
        its share. Differences C_ii + C_jj - 2 C_ij are those of any other convention, the
        paper's anchor included.
        """
        return self._scale * self._unscaled

    @property
    def bias_se(self) -> float | None:
        """Standard error of a fitted bias, from the joint curvature of scores and bias."""
        if not self.bias_fitted:
            return None
        return float(np.sqrt(self._scale / self._bias_information))

    def difference_se(self, one: Hashable, other: Hashable) -> float:
        """Standard error of the score difference of two items; no matrix, so any N will do."""
        i, j = self._position(one), self._position(other)
        if i == j:
            return 0.0
        if not self._is_large:
            c = self._unscaled
            return float(np.sqrt(self._scale * max(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0)))
        pairs = np.array([[i, j]])
        lever = self._lever if self.bias_fitted else None
        found = sparse.variances(self.comparisons, self._stiffness, pairs, lever=lever)
        return float(np.sqrt(self._scale * found[0]))

    def standard_errors(self) -> Floats:
        """(N,) standard deviation of each score about the mean of all."""
        return np.sqrt(np.diag(self.covariance()))

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score."""
        half = norm.ppf(0.5 + _level(level) / 2.0) * self.standard_errors()
        return np.column_stack([self.scores - half, self.scores + half])

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability under the Gaussian around the mode that `one` scores above `other`."""
        i, j = self._position(one), self._position(other)
        gap = self.scores[i] - self.scores[j]
        return 0.5 if i == j else float(norm.cdf(gap / self.difference_se(one, other)))

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores from the Gaussian around the mode."""
        return posterior.sample(self.scores, self.covariance(), draws, seed)

    # Ranks -----------------------------------------------------------------------------

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]

    def rank_interval(self, level: float = 0.95, *, draws: int = 2000, seed: int = 0) -> Indices:
        """(N, 2) lowest and highest rank, 1 the best, of each item's central interval."""
        return posterior.rank_interval(self.sample(draws, seed=seed), _level(level))

    def prob_top(self, k: int, *, draws: int = 2000, seed: int = 0) -> Floats:
        """(N,) probability of each item to be among the k best."""
        return posterior.prob_top(self.sample(draws, seed=seed), self._count(k))

    def prob_top_set(self, k: int, *, draws: int = 2000, seed: int = 0) -> float:
        """Probability that the k best are exactly the k with the highest scores now."""
        drawn = self.sample(draws, seed=seed)
        return posterior.prob_top_set(drawn, self.scores, self._count(k))

    # Parts -----------------------------------------------------------------------------

    @property
    def _is_large(self) -> bool:
        return len(self.items) > COVARIANCE_ITEMS

    @property
    def _lever(self) -> Floats:
        return np.broadcast_to(np.asarray(self.tilt, dtype=float), self.comparisons.p.shape)

    @property
    def _differences(self) -> Floats:
        return differences(self.comparisons, self.scores) - self.bias * self._lever

    @property
    def _stiffness(self) -> Floats:
        c = self.comparisons
        return c.weight * self.expert.curvature(self._differences, c.p)

    @cached_property
    def _bias_information(self) -> float:
        return sparse.bias_information(self.comparisons, self._stiffness, self._lever)

    @cached_property
    def _unscaled(self) -> Floats:
        """The covariance before the variance of the residuals."""
        if self._is_large:
            raise ValueError(
                f"the covariance of {len(self.items)} items would take "
                f"{8e-9 * len(self.items) ** 2:.0f} GB; ask for difference_se or prob_better of "
                "the pairs that matter"
            )
        c, stiffness = self.comparisons, self._stiffness
        inverse = dense.pseudo_inverse(laplacian(c, stiffness))
        if not self.bias_fitted:
            return inverse
        tilted = self._lever * stiffness
        border = by_item(c, tilted, -tilted)
        moved = inverse @ border
        information = float(self._lever @ tilted - border @ moved)
        return inverse + np.outer(moved, moved) / information

    @cached_property
    def _scale(self) -> float:
        # Gaussian scores do not depend on sigma, so it is estimated from the residuals.
        if not isinstance(self.expert, Gaussian) or self.expert.sigma is not None:
            return 1.0
        if self.expert.variance is not None:
            return 1.0
        c = self.comparisons
        freedom = len(c) - len(self.items) + 1 - self.bias_fitted
        if freedom < 1:
            raise ValueError(
                f"{len(c)} comparisons of {len(self.items)} items leave no residuals to estimate "
                "sigma from; give it, Gaussian(sigma=...), or make more comparisons"
            )
        residual = self._differences - self.expert.f_mu(c.p)
        return float((c.weight * residual**2).sum() / freedom)

    def _position(self, name: Hashable) -> int:
        if name not in self._positions:
            raise KeyError(f"no item is called {name!r}")
        return self._positions[name]

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.items)}

    def _count(self, k: int) -> int:
        if not 1 <= k <= len(self.items):
            raise ValueError(f"k must lie in 1..{len(self.items)}, not {k}")
        return k


def fit(
    comparisons: Comparisons,
    expert: str | Expert = "bradley-terry",
    *,
    bias: float | Literal["mean", "fit"] | None = None,
    prior: float = 0.0,
    solver: Literal["auto", "dense", "sparse"] = "auto",
    tol: float | None = None,
    max_steps: int = 100,
) -> Fit:
    """Scores that maximise the product of experts (paper eq. 3; book eq. 5.1).

    expert : "gaussian" (paper eqs. 9 to 11, closed form; book eqs. 6.4 and 6.6),
        "bradley-terry" (soft, paper 3.2), "laplacian" (v1 appendix B), "thurstone", "huber",
        "student-t", or your own (`poe.experts.custom`, or a class with energy, slope, curvature
        and log_density, whose derivatives are checked). For the paper's variants on decisions
        pass `comparisons.hard()`.
    bias : the paper's gamma (section 3.5), which moves every expert to d - gamma. None for
        none, a number, "mean" for the value at which the mean probability means no
        difference (eq. 12 for Gaussian experts, -logit(mean p) for Bradley-Terry), or "fit"
        for the value that maximises the product together with the scores.
    prior : wins added in both directions to every pair of items, see `bradley_terry`.
    solver : "dense" factorises (small N), "sparse" uses conjugate gradients (any N).
    tol : largest gradient entry allowed, per unit of weight on an item (1e-10; sparse 1e-8).

    Returns a `Fit`, scores mean-zero. Raises DisconnectedError, SeparableError,
    UnidentifiedBiasError or ComparisonError in the items' names, and NotConvergedError rather
    than scores that are not the optimum.
    """
    chosen = get_expert(expert)
    if not isinstance(chosen, KNOWN):
        check_expert(chosen, p=comparisons.p)
    fit_bias = bias == "fit"
    problem = add_prior(comparisons, prior)
    # A prior's ties were never shown in any order, so they have nothing to do with the bias.
    tilt = (np.arange(len(problem)) < len(comparisons)).astype(float) if prior else 1.0
    problem.require_connected()
    require_finite(problem, chosen, fit_bias=fit_bias)
    gamma = 0.0 if fit_bias else _gamma(comparisons, chosen, bias)
    if solver == "auto":
        solver = "dense" if problem.n_items <= DENSE_ITEMS else "sparse"
    if solver not in ("dense", "sparse"):
        raise ValueError(f"solver must be 'auto', 'dense' or 'sparse', not {solver!r}")
    if fit_bias and solver == "dense":
        require_bias_identified(comparisons)
    solve = dense.solve if solver == "dense" else sparse.solve
    tol = tol or (1e-10 if solver == "dense" else 1e-8)
    found = solve(
        problem, chosen, bias=gamma, fit_bias=fit_bias, tilt=tilt, tol=tol, max_steps=max_steps
    )
    message = (
        f"{solver} Newton, {found.steps[0]} steps, largest gradient entry "
        f"{found.gradient[0]:.1e} (tolerance {tol:.0e})"
    )
    if not is_convex(chosen):
        message += "; the energy is not convex, so this mode may be one of several"
    if not found.converged[0]:
        raise NotConvergedError(f"no optimum after {max_steps} steps: {message}")
    result = Fit(
        items=problem.items,
        scores=found.scores[0],
        expert=chosen,
        bias=float(found.bias[0]),
        energy=float(found.energy[0]),
        steps=int(found.steps[0]),
        gradient=float(found.gradient[0]),
        converged=True,
        message=message,
        comparisons=problem,
        bias_fitted=fit_bias,
        tilt=tilt,
    )
    if fit_bias and solver == "sparse":
        # Conjugate gradients do not mind an undetermined bias, so it is looked for afterwards.
        refuse_bias_without(result._bias_information / float(result._stiffness.sum()), problem)
    return result


def _gamma(comparisons: Comparisons, expert: Expert, bias: float | str | None) -> float:
    if bias is None:
        return 0.0
    if bias == "mean":
        rule = getattr(expert, "mean_bias", None)
        if rule is None:
            raise ValueError(
                "bias='mean' needs the expert to have mean_bias(mean_p), the shift at which that "
                "mean probability means no difference; or give bias as a number"
            )
        return float(rule(float(np.average(comparisons.p, weights=comparisons.weight))))
    if isinstance(bias, str):
        raise ValueError(f"bias must be None, 'mean', 'fit' or a number, not {bias!r}")
    return float(bias)


def _level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return level
