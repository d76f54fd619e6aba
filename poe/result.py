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
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.graph import DENSE_ITEMS, Graph, component_labels
from poe.ranks import places_of, shared_ranks
from poe.scatter import Answers, Scatter, curvature, estimate, sandwich
from poe.stack import differences, pseudo_inverse

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fit", "Prior", "Scatter", "require_level"]

Covariance = Literal["paired", "scatter", "curvature", "clustered"]
COVARIANCE_ITEMS = 6000  # a matrix of 288 MB; above, ask for single differences


@dataclass(frozen=True)
class Prior:
    """The prior s ~ N(0, tau^2 I) of largest evidence, and the noise sigma of an opinion.

    ratio : lambda = sigma^2 / tau^2. evidence : log marginal likelihood of the opinions.
    parameters : tr L (L + lambda I)^-1, of the N - 1 differences how many the answers determine.
    limit : 0, or the end at which lambda was found: -1 where the evidence rises as lambda falls
    to 0 (answers without noise: the paper's Gaussian experts), 1 where it rises for ever (answers
    that tell nothing: scores in the order of the summed opinions, next to no spread). Numbers, or
    for a stack (D,) arrays.
    """

    ratio: Any
    sigma: Any
    tau: Any
    evidence: Any
    parameters: Any
    limit: Any

    @property
    def in_words(self) -> str:
        """What was found of one problem, for messages."""
        ends = {
            0: "",
            1: ", as large as it may be: the answers do not tell the items apart",
            -1: ", as small as it may be: no noise",
        }
        return (
            f"prior of evidence {self.evidence:.1f}, lambda {self.ratio:.3g}{ends[self.limit]}, "
            f"{self.parameters:.1f} effective parameters"
        )


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
        i, j = self._position(one), self._position(other)
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

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability that `one` scores above `other` (book eq. 7.6; Student's t, `freedom`)."""
        i, j = self._position(one), self._position(other)
        gap, error = self.scores[i] - self.scores[j], self.difference_se(one, other)
        if not error:  # the same item, or answers that agree to the last digit
            return 0.5 + 0.5 * float(np.sign(gap))
        return float(stdtr(self.freedom, gap / error))

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores around the mode, normal or multivariate t (`freedom`)."""
        rng, root = np.random.default_rng(seed), self._root  # which says what errors lack
        noise = rng.standard_normal((draws, len(self.items)))
        if np.isfinite(self.freedom):
            noise /= np.sqrt(rng.chisquare(self.freedom, (draws, 1)) / self.freedom)
        return self.scores + noise @ root

    # Ranks -----------------------------------------------------------------------------

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]

    def rank_interval(self, level: float = 0.95, *, draws: int = 2000, seed: int = 0) -> Indices:
        """(N, 2) lowest and highest rank, 1 the best, of each central interval, over draws."""
        tail = (1.0 - require_level(level)) / 2.0
        places = places_of(self.sample(draws, seed=seed))
        ends = np.quantile(places, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
        return ends.T.astype(np.intp)

    def prob_top(self, k: int, *, draws: int = 2000, seed: int = 0) -> Floats:
        """(N,) probability of each item to be among the k best (book eq. 14.3)."""
        places = places_of(self.sample(draws, seed=seed))
        return np.asarray((places <= self._count(k)).mean(axis=0))

    def prob_top_set(self, k: int, *, draws: int = 2000, seed: int = 0) -> float:
        """Probability that the k best are exactly the k with the highest scores (book eq. 14.5)."""
        if self._count(k) == len(self.items):
            return 1.0
        drawn = self.sample(draws, seed=seed)[:, np.argsort(-self.scores, kind="stable")]
        return float((drawn[:, :k].min(axis=1) > drawn[:, k:].max(axis=1)).mean())

    # To look at ------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row an item, best first: rank, name, score, low, high, rank_low, rank_high.

        Equal scores share a rank, 1, 1, 3; low, high and rank_low, rank_high bound central
        intervals, of this level, of score and rank.
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

    @cached_property
    def _root(self) -> Floats:
        """The symmetric root of the covariance: unique, so a seed draws the same everywhere."""
        value, vector = np.linalg.eigh(self.covariance())
        return np.asarray(vector * np.sqrt(np.clip(value, 0.0, None)) @ vector.T)

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
        return estimate(self._answers, powers, size=size, paired=paired)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t behind every interval; inf where it is the normal's.

        Of the residuals that sigma or the scatter is estimated from, or of the pairs of items.
        """
        if self.covariance_choice != "curvature" and self.scatter is not None:
            return self.scatter.freedom
        return self._residual_freedom if self.estimates_sigma else np.inf

    @property
    def real(self) -> Mask:
        """(K,) whether an answer is the judge's and not a prior's."""
        return np.asarray(self.tilts != 0)

    @property
    def _ridge(self) -> float:
        """What a fitted prior adds to the precision of every score."""
        return 1.0 / self.prior.tau**2 if self.prior else 0.0

    @property
    def _is_large(self) -> bool:
        return len(self.items) > COVARIANCE_ITEMS

    @property
    def tilts(self) -> Floats:
        """(K,) what a bias counts for in each comparison: 1, and 0 in a prior's."""
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
        if self._ridge or c.n_items > DENSE_ITEMS:
            from poe.large import LargeGraph

            graph = LargeGraph(c, ridge=self._ridge)
        return graph.bias_information(graph.laid(stiffness), graph.laid(self.tilts))

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
        if (loose := self._unlinked(stiffness != 0.0)) and not self._ridge:
            names = name_some(self.items[i] for i in loose)
            raise ValueError(
                f"at these scores no expert that links {names} with the rest has any curvature, so "
                "nothing says how sure their scores are; take another expert, or a wider one"
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

    @cached_property
    def _scale(self) -> float:
        if not self.estimates_sigma:
            return 1.0
        c, real, freedom = self.comparisons, self.real, self._residual_freedom
        if freedom < 1:
            raise ValueError(
                f"{c.weight[real].sum():g} comparisons of {len(self.items)} items leave no "
                "residuals to estimate sigma from; give it, Gaussian(sigma=...), or make more "
                "comparisons"
            )
        return float((c.weight[real] * self._residuals[real] ** 2).sum() / freedom)

    def _position(self, name: Hashable) -> int:
        return position_of(name, self.items)

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
