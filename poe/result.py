"""What `poe.fit` returns: scores, how they were reached, and the probabilities that follow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from poe.arrays import Floats, Indices
from poe.intervals import COVARIANCE_ITEMS as COVARIANCE_ITEMS
from poe.intervals import Covariance, Intervals, normal_draws, position_of
from poe.luck import Luck, luck, spread
from poe.ranks import places_of, shared_ranks
from poe.scatter import Prior as Prior
from poe.scatter import Scatter as Scatter
from poe.scatter import curvature

if TYPE_CHECKING:
    import pandas as pd

SAMPLED = 32  # differences of a large problem whose errors stand for all


@dataclass(frozen=True, eq=False)
class Fit(Intervals):
    """Scores at the mode of the product of experts, with the Gaussian around it.

    Attributes
    ----------
    items, scores, expert
        The N names; (N,) scores of mean zero, in the expert's unit of difference; what was fitted.
    bias, bias_se
        The paper's gamma, in units of a difference, and its standard error where it was fitted.
    energy, steps, gradient, converged
        The objective reached; the solver's steps, its largest gradient entry, whether it is done.
    method, unique
        Which solver; whether no other scores have this energy, None where it was not looked at.
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
        other, same = replace(self, covariance_choice=choice), ("inverse_curvature", "_answers")
        vars(other).update({name: vars(self)[name] for name in same if name in vars(self)})
        return other

    # Who is better ---------------------------------------------------------------------

    @cached_property
    def luck(self) -> Luck:
        """How much of the scores' spread is no error: the share r and how well it is known.

        The probabilities below are averaged over it: who leads, leads partly by luck. Intervals, of
        ranks too, are not: they are the frequentist's. With `prior="fit"` r is 1, since that has
        shrunk the scores already.
        """
        if self.prior is not None and not self._noiseless:
            return Luck.none(self.freedom)
        if self._is_large:  # a sample of differences tells their mean variance
            pairs = np.random.default_rng(0).integers(len(self.items), size=(SAMPLED, 2))
            some = [self.items[i] for i in pairs.ravel()]
            errors = [self.difference_se(*pair) for pair in zip(some[::2], some[1::2], strict=True)]
            variance = 0.5 * float(np.mean(np.square(errors)))
            q = float(self.scores @ self.scores) / variance if variance else np.inf
            return luck(q, len(self.items), self.freedom)
        if not self.expert.convex:
            self.standard_errors()  # which says what errors lack
        return luck(*spread(self.scores, self._noise), self.freedom)

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability that `one` scores above `other`, averaged over `luck` (book eq. 7.6)."""
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
        told = np.asarray(error) > 0.0
        p = self.luck.better(np.divide(gap, error, out=np.zeros(np.shape(told)), where=told))
        # Without an error: the same item, or answers that agree to the last digit.
        return np.where(told, p, 0.5 + 0.5 * np.sign(gap))

    def _truths(self, draws: int, seed: int) -> Floats:
        """(draws, N) what scores may be, luck allowed for; up to a factor, which no rank shows."""
        rng = np.random.default_rng(seed)
        noise = normal_draws(self._noise, draws, rng)
        share, scale = self.luck.draw(draws, rng)
        return np.sqrt(share)[:, None] * self.scores + scale[:, None] * noise

    @cached_property
    def _noise(self) -> Floats:
        """(N, N) covariance of the scores as estimates: a prior's ties pull, and do not err."""
        pooled = self.scatter is not None or self.covariance_choice == "clustered"
        if pooled or self.prior is not None or self._is_large or self.real.all():
            return self.covariance()
        stiffness, bread = self.stiffness * self.real, self.inverse_curvature
        told = curvature(self.comparisons, stiffness, self.tilts * self.bias_fitted)
        return np.asarray(self._scale * (bread @ told @ bread)[:-1, :-1])

    # Who is on top ---------------------------------------------------------------------

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]

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

    def _count(self, k: int) -> int:
        if not 1 <= k <= len(self.items):
            raise ValueError(f"k must lie in 1..{len(self.items)}, not {k}")
        return k

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
        return f"Fit({what}: {', '.join(shown)}; {self.method})"
