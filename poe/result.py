"""What `poe.fit` returns: scores, how they were reached, and how sure they are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit, stdtr, stdtrit

from poe.arrays import Floats, Indices, Mask
from poe.comparisons import Comparisons
from poe.errors import name_some
from poe.existence import bias_identified
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.graph import Graph, component_labels, is_small
from poe.ranks import held_together, places_of, shared_ranks
from poe.scatter import (
    MISS,
    Answers,
    Prior,
    Scatter,
    curvature,
    estimate,
    james_stein,
    sandwich,
    spread,
)
from poe.stack import differences, pseudo_inverse

if TYPE_CHECKING:
    import pandas as pd

Covariance = Literal["paired", "scatter", "curvature", "clustered"]
SAMPLED = 32  # differences of a large problem whose errors stand for all
COVARIANCE_ITEMS = 6000  # a matrix of 288 MB; above, ask for single differences


@dataclass(eq=False)
class _Shared:
    """What the same scores have in common under every covariance, once it is computed."""

    bread: Floats | None = None
    answers: Answers | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """Scores at the mode of the product of experts, with the Gaussian around it.

    Attributes
    ----------
    items, scores, expert
        The N names; (N,) scores of mean zero, in the expert's unit of difference; what was fitted.
    bias, bias_se
        The paper's gamma, in units of a difference, and its standard error where it was fitted.
    energy, steps, gradient, converged, message : the objective reached, and how the solver stopped
    tilt, ties : what the bias is multiplied by; how many comparisons, the last, are a prior's
    covariance_choice, prior
        Where errors come from, see `with_covariance`; and what `prior="fit"` found, whose errors
        are sigma^2 (L + lambda I)^-1 less the variance of the mean of all scores.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.fit(c, bias=0.1).ranking()[0]
    'a'
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
    ties: int = field(default=0, repr=False)
    covariance_choice: Covariance = "paired"
    prior: Prior | None = None
    # Made anew by `dataclasses.replace`, since other scores have another curvature.
    _shared: _Shared = field(default_factory=_Shared, init=False, repr=False)

    # Uncertainty -----------------------------------------------------------------------

    def with_covariance(self, choice: Covariance) -> Fit:
        """The same scores with another covariance behind every error, interval and probability.

        "curvature" : the paper's. Bradley-Terry experts then give every answer the information of
            one decision. A judge that gives a probability says more than that.
        "scatter" : from how far the answers lie from the fitted probabilities, as quasi-likelihood
            does for counts (book eqs. 14.7 and 14.8), every answer with an error of its own. A
            share of n tosses of weight n is n answers that agree: far too sure.
        "paired" : the same, but answers about one pair of items, in whatever order, may share
            their error (book eq. 14.9): a sandwich clustered on the pair, with variance and
            covariance pooled over all pairs. Where no pair was asked twice it is "scatter".

        Decisions of a judge that is sharper than the model need a prior, which then sets the scale
        of the scores: intervals of their differences hold far less often than they say, while
        ranks and the order of pairs hold.

        The last two are those of Bradley-Terry experts and of Gaussian experts without a sigma or
        variance. For other experts, with a fitted prior, above 6,000 items, and where too few
        answers are left to tell how they scatter (`scatter` is None), they are the curvature's.
        """
        if choice not in ("paired", "scatter", "curvature"):  # "clustered" needs clusters
            raise ValueError(
                f"covariance must be 'paired', 'scatter' or 'curvature', not {choice!r}"
            )
        if choice == self.covariance_choice:
            return self
        other = replace(self, covariance_choice=choice)
        object.__setattr__(other, "_shared", self._shared)
        return other

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

        pairs = np.array([[i, j]])
        tilt = self.tilts if self.bias_fitted else None
        apart = large.variances(
            self.comparisons, self.stiffness, pairs, tilt=tilt, ridge=self._ridge
        )
        return float(np.sqrt(self._scale * apart[0]))

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

    @cached_property
    def james_stein(self) -> float:
        """How much of the scores' spread is no error, r in [0, 1] (`poe.scatter.james_stein`).

        The probabilities below count every lead, in standard errors, sqrt(r) times: who leads,
        leads partly by luck. Intervals, of ranks too, do not: they are the frequentist's. With
        `prior="fit"` 1, since that has shrunk the scores already.
        """
        if self.prior is not None and not self._noiseless:
            return 1.0
        if self._is_large:  # a sample of differences tells their mean variance
            pairs = np.random.default_rng(0).integers(len(self.items), size=(SAMPLED, 2))
            some = [self.items[i] for i in pairs.ravel()]
            errors = [self.difference_se(*pair) for pair in zip(some[::2], some[1::2], strict=True)]
            variance = 0.5 * float(np.mean(np.square(errors)))
            q = float(self.scores @ self.scores) / variance if variance else np.inf
            return james_stein(q, len(self.items))
        if not self.expert.convex:
            self.standard_errors()  # which says what errors lack
        return james_stein(*spread(self.scores, self._noise))

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability that `one` scores above `other` (book eq. 7.6, the gap times sqrt(r))."""
        i, j = (position_of(name, self.items) for name in (one, other))
        if self._is_large:
            return float(
                self._leads(self.scores[i] - self.scores[j], self.difference_se(one, other))
            )
        return float(self.better(i, j))

    def better(self, i: Indices | int, j: Indices | int) -> Floats:
        """`prob_better` of many items at once, by their positions."""
        c, own = self._noise, np.diag(self._noise)
        error = np.sqrt(np.maximum(own[i] + own[j] - 2.0 * c[i, j], 0.0))
        return self._leads(self.scores[i] - self.scores[j], error)

    def _leads(self, gap: Any, error: Any) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = stdtr(self.freedom, np.sqrt(self.james_stein) * gap / error)
        # Without an error: the same item, or answers that agree to the last digit.
        return np.where(np.asarray(error) > 0.0, p, 0.5 + 0.5 * np.sign(gap))

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores around the mode, normal or multivariate t (`freedom`)."""
        return self.scores + self._drawn(self.covariance(), draws, seed)

    def _drawn(self, covariance: Floats, draws: int, seed: int) -> Floats:
        value, vector = np.linalg.eigh(covariance)
        # The symmetric root is unique, so a seed draws the same everywhere.
        root = vector * np.sqrt(np.clip(value, 0.0, None)) @ vector.T
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((draws, len(self.items)))
        if np.isfinite(self.freedom):
            noise /= np.sqrt(rng.chisquare(self.freedom, (draws, 1)) / self.freedom)
        return np.asarray(noise @ root)

    def _truths(self, draws: int, seed: int) -> Floats:
        """(draws, N) what scores may be, luck allowed for; up to a factor, which no rank shows."""
        return np.sqrt(self.james_stein) * self.scores + self._drawn(self._noise, draws, seed)

    # Ranks -----------------------------------------------------------------------------

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]

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

    def prob_top(self, k: int, *, draws: int = 2000, seed: int = 0) -> Floats:
        """(N,) probability of each item to be among the k best, luck allowed for (eq. 14.3)."""
        places = places_of(self._truths(draws, seed))
        return np.asarray((places <= self._count(k)).mean(axis=0))

    def prob_top_set(self, k: int, *, draws: int = 2000, seed: int = 0) -> float:
        """Probability that the k best are exactly the k with the highest scores (book eq. 14.5)."""
        if self._count(k) == len(self.items):
            return 1.0
        drawn = self._truths(draws, seed)[:, np.argsort(-self.scores, kind="stable")]
        return float((drawn[:, :k].min(axis=1) > drawn[:, k:].max(axis=1)).mean())

    # To look at ------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row an item, best first: rank, name, score, low, high, rank_low, rank_high.

        Equal scores share a rank, 1, 1, 3; low, high and rank_low, rank_high bound central
        intervals, of this level, of score and rank, each by itself.
        """
        import pandas as pd

        interval, places = self.interval(level), self.rank_interval(level)
        order = np.argsort(-self.scores, kind="stable")
        columns: dict[str, Any] = {
            "rank": shared_ranks(self.scores[order]),
            "name": pd.Series(self.items, dtype=object)[order].to_numpy(),
            "score": self.scores[order],
            "low": interval[order, 0],
            "high": interval[order, 1],
            "rank_low": places[order, 0],
            "rank_high": places[order, 1],
        }
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        best = np.argsort(-self.scores, kind="stable")[:3]
        shown = [f"{self.items[i]} {self.scores[i]:+.2f}" for i in best]
        shown += ["..."] if len(self.items) > 3 else []
        what = f"{len(self.items)} items, {self.expert.family}"
        return f"Fit({what}: {', '.join(shown)}; {self.message})"

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

    @property
    def inverse_curvature(self) -> Floats:
        """(N + 1, N + 1) inverse curvature along scores and bias, which is zero where fixed."""
        if self._shared.bread is None:
            self._shared.bread = self._invert_curvature()
        return self._shared.bread

    def _invert_curvature(self) -> Floats:
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

    @cached_property
    def _noise(self) -> Floats:
        """(N, N) covariance of the scores as estimates: a prior's ties pull, and do not err."""
        pooled = self.scatter is not None or self.covariance_choice == "clustered"
        if pooled or self.prior is not None or self._is_large or self.real.all():
            return self.covariance()
        stiffness, bread = self.stiffness * self.real, self.inverse_curvature
        told = curvature(self.comparisons, stiffness, self.tilts * self.bias_fitted)
        return np.asarray(self._scale * (bread @ told @ bread)[:-1, :-1])

    def _unlinked(self, some: Mask) -> list[int]:
        """Positions of the items that some of the comparisons do not link with the first."""
        c = self.comparisons
        if some.all():
            return []
        return np.flatnonzero(component_labels(c.first[some], c.second[some], c.n_items)).tolist()

    @property
    def _answers(self) -> Answers:
        """The judge's answers with their residuals, of the experts that `scatter` is for."""
        if self._shared.answers is None:
            c, tilt = self.comparisons, self.tilts * self.bias_fitted
            residuals, slope = self._residuals, self.stiffness / c.weight
            self._shared.answers = Answers.of(c, self.real, residuals, slope, tilt)
        return self._shared.answers

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

    def _count(self, k: int) -> int:
        if not 1 <= k <= len(self.items):
            raise ValueError(f"k must lie in 1..{len(self.items)}, not {k}")
        return k


def position_of(name: Hashable, items: tuple[Hashable, ...]) -> int:
    """Where an item stands; KeyError, which says its name, where it does not."""
    if name not in items:
        raise KeyError(f"no item is called {name!r}")
    return items.index(name)


def require_level(level: float) -> float:
    """A probability strictly between 0 and 1, or ValueError."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return level
