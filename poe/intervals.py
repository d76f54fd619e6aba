"""How far off scores may be: their covariance, standard errors and intervals, of ranks too.

What holds for scores as estimates, of which nothing is known beforehand. `poe.result.Fit` builds
on it with probabilities, which allow for the luck of who leads.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import expit, stdtrit

from poe.arrays import Floats, Indices, Mask
from poe.comparisons import Comparisons
from poe.errors import name_some
from poe.existence import bias_identified
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.graph import Graph, component_labels, is_small
from poe.ranks import held_together, places_of
from poe.scatter import MISS, Answers, Prior, Scatter, curvature, estimate, sandwich
from poe.stack import differences, pseudo_inverse

Covariance = Literal["paired", "scatter", "curvature", "clustered"]
COVARIANCE_ITEMS = 6000  # a matrix of 288 MB; above, ask for single differences


@dataclass(frozen=True, eq=False)
class Intervals:
    """Scores with the Gaussian around them; the attributes are explained in `poe.Fit`."""

    items: tuple[Hashable, ...]
    scores: Floats
    expert: Expert
    bias: float
    energy: float
    steps: int
    gradient: float
    converged: bool
    method: str
    comparisons: Comparisons = field(repr=False)
    bias_fitted: bool = False
    tilt: Floats | float = field(default=1.0, repr=False)
    ties: int = field(default=0, repr=False)
    unique: bool | None = None
    covariance_choice: Covariance = "paired"
    prior: Prior | None = None

    def covariance(self) -> Floats:
        """(N, N) covariance of the scores under the mean-zero convention.

        By curvature the pseudo-inverse of W' S^-1 W: exact for Gaussian experts (paper eqs. 8 and
        41; book eq. 6.6), the Laplace approximation otherwise (paper eq. 46; book eq. 7.5). A
        fitted bias adds its share. Otherwise H^-1 M H^-1 (book eq. 14.7), H the curvature along
        scores and bias, M the covariance of its slope. Differences C_ii + C_jj - 2 C_ij are those
        of any other convention, the paper's anchor included.
        """
        return self._joint[:-1, :-1]

    @property
    def bias_se(self) -> float | None:
        """Standard error of a fitted bias, from the joint covariance of scores and bias."""
        if not self.bias_fitted:
            return None
        if self._is_large:
            return float(np.sqrt(self._scale / self.bias_information))
        return float(np.sqrt(self._joint[-1, -1]))

    def difference_se(self, one: Hashable, other: Hashable) -> float:
        """Standard error of the score difference of two items; no matrix, so any N will do."""
        i, j = (position_of(name, self.items) for name in (one, other))
        if i == j:
            return 0.0
        if not self._is_large:
            c = self.covariance()
            return float(np.sqrt(max(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0)))
        from poe import large

        tilt = self.tilts if self.bias_fitted else None
        apart = large.variance(self.comparisons, self.stiffness, i, j, tilt=tilt, ridge=self._ridge)
        return float(np.sqrt(self._scale * apart))

    def quantile(self, level: float = 0.95) -> float:
        """Half the width of a central interval in standard errors: 1.96 where `freedom` is inf."""
        return float(stdtrit(self.freedom, 0.5 + require_level(level) / 2.0))

    def standard_errors(self) -> Floats:
        """(N,) standard deviation of each score about the mean of all."""
        variance = np.diag(self.covariance())
        if (variance < 0).any():
            raise ValueError(
                "the energy is not convex at these scores, so they have no standard errors"
            )
        return np.sqrt(variance)

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score, score -+ `quantile(level)` standard errors."""
        half = self.quantile(level) * self.standard_errors()
        return np.column_stack([self.scores - half, self.scores + half])

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores around the mode, normal or multivariate t (`freedom`)."""
        return self.scores + self._drawn(self.covariance(), draws, seed)

    def _drawn(self, covariance: Floats, draws: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        noise = normal_draws(covariance, draws, rng)
        if np.isfinite(self.freedom):
            noise /= np.sqrt(rng.chisquare(self.freedom, (draws, 1)) / self.freedom)
        return noise

    def rank_interval(
        self, level: float = 0.95, *, simultaneous: bool = False, draws: int = 2000, seed: int = 0
    ) -> Indices:
        """(N, 2) lowest and highest rank, 1 the best, of each item by itself, over draws.

        simultaneous : that hold together with this probability (`poe.ranks.held_together`).
        """
        tail = (1.0 - require_level(level)) / 2.0
        if simultaneous:
            c = self.covariance()
            return held_together(self.scores, c, self._drawn(c, draws, seed), level)
        places = places_of(self.sample(draws, seed=seed))
        ends = np.quantile(places, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
        return ends.T.astype(np.intp)

    # Parts -----------------------------------------------------------------------------

    @cached_property
    def scatter(self) -> Scatter | None:
        """How the answers scatter, by `covariance_choice`: of Bradley-Terry or Gaussian experts.

        size^2 = sum rho^2 / F, rho = (p - q) / (q (1 - q))^(power / 2) after a least squares fit
        to them and F its degrees of freedom (book eq. 14.8, power 2). For Gaussian experts power 0,
        the mean square residual; of pure decisions size 1 (`poe.scatter`). A prior's ties do not
        count. None for other experts, where F < 1, and of decisions about different pairs only.
        """
        soft = isinstance(self.expert, BradleyTerry)
        if self._is_large or not (soft or self.estimates_sigma) or self._unlinked(self.real):
            return None
        p = self.comparisons.p[self.real]
        # An answer of exactly 0 or 1 may be a count of decisions. No other tells one from noise in
        # the logit for sure, and of the two powers the second is the safe one.
        powers = (1, 2) if ((p == 0.0) | (p == 1.0)).any() else (2,)
        size = 1.0 if soft and np.isin(p, (0.0, 0.5, 1.0)).all() else None
        powers = ((1,) if size else powers) if soft else (0,)
        paired = self.covariance_choice == "paired"
        real, answers = self.real, self._answers
        alone = self.comparisons.take(real) if self.bias_fitted and self.ties else None
        if alone and not bias_identified(alone, self.tilts[real]):  # scores leave nothing of it
            answers = replace(answers, turned=0.0 * answers.turned)
        return estimate(answers, powers, size=size, paired=paired, toss=self._toss)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t behind every interval; inf where it is the normal's.

        Of the residuals that sigma or the scatter is estimated from, or of the pairs of items.
        """
        if self.covariance_choice != "curvature" and self.scatter is not None:
            return self.scatter.freedom
        estimated = self.estimates_sigma or (self._noiseless and self._residual_freedom >= 1)
        return self._residual_freedom if estimated else np.inf

    @property
    def real(self) -> Mask:
        """(K,) whether an answer is the judge's and not one of a prior's ties, which come last."""
        return np.arange(len(self.comparisons)) < len(self.comparisons) - self.ties

    @property
    def _ridge(self) -> float:
        """What a fitted prior adds to the precision of every score."""
        return 1.0 / self.prior.tau**2 if self.prior else 0.0

    @property
    def _is_large(self) -> bool:
        return len(self.items) > COVARIANCE_ITEMS

    @property
    def tilts(self) -> Floats:
        """(K,) what a bias is multiplied by: 1, or a covariate, and 0 in a prior's ties."""
        return np.broadcast_to(np.asarray(self.tilt, dtype=float), self.comparisons.p.shape)

    @property
    def fitted_differences(self) -> Floats:
        """(K,) s_first - s_second of each comparison, less its bias."""
        return differences(self.comparisons, self.scores) - self.bias * self.tilts

    @property
    def stiffness(self) -> Floats:
        """(K,) weighted curvature of each comparison at the mode, the values of W' S^-1 W."""
        # The solver's curvature may be a stand-in, or none at all where the energy has kinks.
        c = self.comparisons
        return c.weight * self.expert.information(self.fitted_differences, c.p)

    @cached_property
    def bias_information(self) -> float:
        """Curvature of the objective along the bias when the scores follow it."""
        c, stiffness = self.comparisons, self.stiffness
        if not stiffness.any():
            return 0.0
        # Where the energy is flat a comparison tells nothing here, yet it still links its items.
        stiffness = np.where(stiffness == 0.0, 1e-12 * stiffness.max(), stiffness)
        graph = Graph.of(c)
        if self._ridge or not is_small(c):
            from poe.large import LargeGraph

            graph = LargeGraph(c, ridge=self._ridge)
        return graph.bias_information(graph.laid(stiffness), graph.laid(self.tilts))

    @property
    def bias_is_loose(self) -> bool:
        """Whether the energy is flat where a fitted bias moves and the scores follow it."""
        flat = self.bias_fitted and not self.stiffness.all()
        return flat and self.bias_information <= 1e-9 * float(self.stiffness @ self.tilts**2)

    @cached_property
    def inverse_curvature(self) -> Floats:
        """(N + 1, N + 1) inverse curvature along scores and bias, which is zero where fixed."""
        c, stiffness = self.comparisons, self.stiffness
        if self._is_large:
            raise ValueError(
                f"the covariance of {c.n_items} items would take {8e-9 * c.n_items**2:.0f} GB; ask "
                "for difference_se or prob_better of the pairs that matter"
            )
        loose = name_some(self.items[i] for i in self._unlinked(stiffness != 0.0))
        if (loose or self.bias_is_loose) and not self._ridge:
            what = f"links {loose} with the rest" if loose else "could tell the bias"
            raise ValueError(
                f"at these scores no expert that {what} has any curvature, so nothing says how "
                "sure that is; take another expert, or a wider one"
            )
        precision = curvature(c, stiffness, self.tilts * self.bias_fitted)
        precision[:-1, :-1] += self._ridge * (np.eye(c.n_items) - 1.0 / c.n_items)
        return pseudo_inverse(precision, bias=True)

    @cached_property
    def _joint(self) -> Floats:
        """(N + 1, N + 1) covariance of scores and bias, by choice."""
        if self.covariance_choice == "curvature" or self.scatter is None:
            return self._scale * self.inverse_curvature
        return sandwich(self._answers, self.inverse_curvature, self.scatter)

    def _unlinked(self, some: Mask) -> list[int]:
        """Positions of the items that some of the comparisons do not link with the first."""
        c = self.comparisons
        if some.all():
            return []
        return np.flatnonzero(component_labels(c.first[some], c.second[some], c.n_items)).tolist()

    @cached_property
    def _answers(self) -> Answers:
        """The judge's answers with their residuals, of the experts that `scatter` is for."""
        c, tilt = self.comparisons, self.tilts * self.bias_fitted
        return Answers.of(c, self.real, self._residuals, self.stiffness / c.weight, tilt)

    @property
    def _residuals(self) -> Floats:
        """(K,) what Gaussian or Bradley-Terry experts leave of the answers."""
        expert, p, d = self.expert, self.comparisons.p, self.fitted_differences
        return expert.f_mu(p) - d if isinstance(expert, Gaussian) else p - expit(d)

    @property
    def estimates_sigma(self) -> bool:
        """Gaussian scores do not depend on sigma, so it can be estimated from the residuals."""
        expert = self.expert
        return isinstance(expert, Gaussian) and expert.sigma is None and expert.variance is None

    @property
    def _residual_freedom(self) -> float:
        weight = float(self.comparisons.weight[self.real].sum())
        return weight - len(self.items) + 1 - self.bias_fitted

    @property
    def _noiseless(self) -> bool:
        """Whether a fitted prior found no noise, which says that answers were few, not perfect."""
        return self.prior is not None and self.prior.limit == -1

    @property
    def _toss(self) -> float:
        """Standard deviation of a toss of a coin as an opinion of Gaussian experts."""
        if not isinstance(self.expert, Gaussian):
            return 1.0
        near = self.expert.f_mu(np.array([0.49, 0.51]))
        return 25.0 * abs(float(near[1] - near[0]))

    @cached_property
    def _scale(self) -> float:
        """What variances of the curvature are multiplied by: sigma^2, where it is estimated.

        A sum of squares has the floor of `poe.scatter.estimate`. A fitted prior without noise has
        the errors of the Gaussian experts that it has become; of a tree, those of a toss.
        """
        if not (self.estimates_sigma or self._noiseless):
            return 1.0
        c, real, freedom = self.comparisons, self.real, self._residual_freedom
        unit = self.prior.sigma**2 if self.prior is not None else 1.0
        if self._noiseless and freedom < 1:
            return float(self._toss**2 / unit)
        if freedom < 1:
            raise ValueError(
                f"{c.weight[real].sum():g} comparisons of {len(self.items)} items leave no "
                "residuals to estimate sigma from; give it, Gaussian(sigma=...), or make more "
                "comparisons"
            )
        left = float((c.weight[real] * self._residuals[real] ** 2).sum())
        return float(max(left, (MISS * self._toss) ** 2) / freedom / unit)


def position_of(name: Hashable, items: tuple[Hashable, ...]) -> int:
    """Find where an item stands; KeyError with its name where it does not."""
    if name not in items:
        raise KeyError(f"no item is called {name!r}")
    return items.index(name)


def require_level(level: float) -> float:
    """A probability strictly between 0 and 1, or ValueError."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return level


def normal_draws(covariance: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, N) of mean zero and a covariance (N, N), which may be singular."""
    value, vector = np.linalg.eigh(covariance)
    # The symmetric root is unique, so a seed draws the same everywhere.
    root = vector * np.sqrt(np.clip(value, 0.0, None)) @ vector.T
    return np.asarray(rng.standard_normal((draws, len(covariance))) @ root)
