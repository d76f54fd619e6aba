"""`poe.fit`: the scores a product of experts agrees on, and how sure it is of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from poe.comparisons import Comparisons, Floats
from poe.errors import NotConvergedError
from poe.experts import Expert, Gaussian, get_expert
from poe.scores import add_prior, require_beaten
from poe.solvers import dense
from poe.stack import differences, laplacian


@dataclass(frozen=True, eq=False)
class Fit:
    """Scores at the mode of the product of experts, with the Gaussian around it.

    items : the N names. scores : (N,), mean zero, in the expert's unit of difference.
    expert, bias : what was fitted (`bias` is the paper's gamma, in units of a difference).
    energy : the objective reached. steps, gradient, converged : how the solver stopped.
    """

    items: tuple[Hashable, ...]
    scores: Floats
    expert: Expert
    bias: float
    energy: float
    steps: int
    gradient: float
    converged: bool
    comparisons: Comparisons = field(repr=False)

    def covariance(self) -> Floats:
        """(N, N) covariance of the scores under the mean-zero convention.

        The pseudo-inverse of W' S^-1 W: exact for Gaussian experts (paper eqs. 8 and 41;
        book eq. 6.5), the Laplace approximation otherwise (paper eq. 46). Its differences
        C_ii + C_jj - 2 C_ij are those of any other convention, the paper's anchor included.
        """
        c = self.comparisons
        d = differences(c, self.scores) - self.bias
        precision = laplacian(c, c.weight * self.expert.curvature(d, c.p))
        return self._variance() * dense.pseudo_inverse(precision)

    def _variance(self) -> float:
        # Gaussian scores do not depend on sigma, so it is estimated from the residuals.
        if not isinstance(self.expert, Gaussian) or self.expert.sigma is not None:
            return 1.0
        if self.expert.variance is not None:
            return 1.0
        c = self.comparisons
        freedom = len(c) - len(self.items) + 1
        if freedom < 1:
            raise ValueError(
                f"{len(c)} comparisons of {len(self.items)} items leave no residuals to estimate "
                "sigma from; give it, Gaussian(sigma=...), or make more comparisons"
            )
        d = differences(c, self.scores) - self.bias
        return float((c.weight * (d - self.expert.f_mu(c.p)) ** 2).sum() / freedom)

    def standard_errors(self) -> Floats:
        """(N,) standard deviation of each score about the mean of all."""
        return np.sqrt(np.diag(self.covariance()))

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score, (0 < level < 1)."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, not {level}")
        half = norm.ppf(0.5 + level / 2.0) * self.standard_errors()
        return np.column_stack([self.scores - half, self.scores + half])

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability under the Gaussian around the mode that `one` scores above `other`."""
        i, j = (self._position(name) for name in (one, other))
        c = self.covariance()
        spread = np.sqrt(max(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0))
        return 0.5 if i == j else float(norm.cdf((self.scores[i] - self.scores[j]) / spread))

    def _position(self, name: Hashable) -> int:
        if name not in self.items:
            raise KeyError(f"no item is called {name!r}")
        return self.items.index(name)

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]


def fit(
    comparisons: Comparisons,
    expert: str | Expert = "bradley-terry",
    *,
    bias: float | str | None = None,
    prior: float = 0.0,
    tol: float = 1e-10,
    max_steps: int = 100,
) -> Fit:
    """Scores that maximise the product of experts (paper eq. 3; book eq. 5.1).

    expert : "gaussian" (paper eqs. 9 to 11, closed form; book eqs. 6.4 and 6.6),
        "bradley-terry" (soft, paper 3.2), or an object with energy, slope, curvature and
        log_density. For the paper's variants on decisions pass `comparisons.hard()`.
    bias : the paper's gamma (section 3.5), which moves every expert to d - gamma. None for
        none, a number, or "mean" for the value at which the mean probability means no
        difference (eq. 12 for Gaussian experts, -logit(mean p) for Bradley-Terry).
    prior : wins added in both directions to every pair of items, see `bradley_terry`.

    Returns a `Fit`, scores mean-zero. Raises DisconnectedError, SeparableError or
    ComparisonError with the items' names, NotConvergedError if the optimum was not reached.
    """
    chosen = get_expert(expert)
    problem = add_prior(comparisons, prior)
    problem.require_connected()
    _require_finite(problem, chosen)
    gamma = _gamma(comparisons, chosen, bias)
    found = dense.solve(problem, chosen, bias=gamma, tol=tol, max_steps=max_steps)
    if not found.converged[0]:
        raise NotConvergedError(
            f"no optimum after {max_steps} steps: the largest gradient entry is "
            f"{found.gradient[0]:.1e}, the tolerance {tol:.0e}"
        )
    return Fit(
        items=problem.items,
        scores=found.scores[0],
        expert=chosen,
        bias=gamma,
        energy=float(found.energy[0]),
        steps=int(found.steps[0]),
        gradient=float(found.gradient[0]),
        converged=True,
        comparisons=problem,
    )


def _require_finite(comparisons: Comparisons, expert: Expert) -> None:
    """Raise SeparableError if the energy falls for ever in some direction."""
    far = np.full(len(comparisons), 700.0)  # exp() of it is still a number
    with np.errstate(all="ignore"):
        # Written so that NaN, from an expert that cannot look so far, passes.
        holds_down = ~(expert.slope(far, comparisons.p) <= 0)
        holds_up = ~(expert.slope(-far, comparisons.p) >= 0)
    require_beaten(comparisons, lost=holds_down, won=holds_up)


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
        raise ValueError(f"bias must be None, 'mean' or a number, not {bias!r}")
    return float(bias)
