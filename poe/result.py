"""What `poe.fit` returns: scores, how they were reached, and how sure they are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import norm

from poe import newton, sparse
from poe.comparisons import Comparisons, Floats, Indices
from poe.experts import Expert, Gaussian
from poe.stack import by_item, differences, laplacian

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
        book eq. 6.5), the Laplace approximation otherwise (paper eq. 46; book eq. 7.5). A
        fitted bias adds its share. Differences C_ii + C_jj - 2 C_ij are those of any other
        convention, the paper's anchor included.
        """
        return self._scale * self._unscaled

    @property
    def bias_se(self) -> float | None:
        """Standard error of a fitted bias, from the joint curvature of scores and bias."""
        if not self.bias_fitted:
            return None
        return float(np.sqrt(self._scale / self.bias_information))

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
        found = sparse.variances(self.comparisons, self.stiffness, pairs, lever=lever)
        return float(np.sqrt(self._scale * found[0]))

    def standard_errors(self) -> Floats:
        """(N,) standard deviation of each score about the mean of all."""
        variance = np.diag(self.covariance())
        if (variance < 0).any():
            raise ValueError("the energy is not convex at these scores, so they have no spread")
        return np.sqrt(variance)

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score."""
        half = norm.ppf(0.5 + _level(level) / 2.0) * self.standard_errors()
        return np.column_stack([self.scores - half, self.scores + half])

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability that `one` scores above `other`, under the Gaussian (book eq. 7.6)."""
        i, j = self._position(one), self._position(other)
        gap = self.scores[i] - self.scores[j]
        return 0.5 if i == j else float(norm.cdf(gap / self.difference_se(one, other)))

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores from the Gaussian around the mode."""
        return sample(self.scores, self.covariance(), draws, seed)

    # Ranks -----------------------------------------------------------------------------

    def ranking(self) -> list[Hashable]:
        """Item names from best to worst."""
        return [self.items[i] for i in np.argsort(-self.scores, kind="stable")]

    def rank_interval(self, level: float = 0.95, *, draws: int = 2000, seed: int = 0) -> Indices:
        """(N, 2) lowest and highest rank, 1 the best, of each item's central interval."""
        return rank_interval(self.sample(draws, seed=seed), _level(level))

    def prob_top(self, k: int, *, draws: int = 2000, seed: int = 0) -> Floats:
        """(N,) probability of each item to be among the k best (book eq. 14.3)."""
        return prob_top(self.sample(draws, seed=seed), self._count(k))

    def prob_top_set(self, k: int, *, draws: int = 2000, seed: int = 0) -> float:
        """Probability that the k best are exactly the k with the highest scores (book eq. 14.5)."""
        drawn = self.sample(draws, seed=seed)
        return prob_top_set(drawn, self.scores, self._count(k))

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
    def stiffness(self) -> Floats:
        """(K,) weighted curvature of each comparison at the mode, the values of W' S^-1 W."""
        # Some experts give the solver another curvature than the energy's own: a positive
        # stand-in, or none at all where the energy has kinks.
        expert, c = self.expert, self.comparisons
        own = getattr(expert, "second_derivative", expert.curvature)
        return c.weight * getattr(expert, "information", own)(self._differences, c.p)

    @cached_property
    def bias_information(self) -> float:
        """Curvature of the objective along the bias when the scores follow it."""
        return sparse.bias_information(self.comparisons, self.stiffness, self._lever)

    @cached_property
    def _unscaled(self) -> Floats:
        """The covariance before the variance of the residuals."""
        if self._is_large:
            raise ValueError(
                f"the covariance of {len(self.items)} items would take "
                f"{8e-9 * len(self.items) ** 2:.0f} GB; ask for difference_se or prob_better of "
                "the pairs that matter"
            )
        c, stiffness = self.comparisons, self.stiffness
        inverse = newton.pseudo_inverse(laplacian(c, stiffness))
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


def _level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return level


# Ranks have no closed form, so they are counted over draws from the Gaussian ---------------


def sample(mean: Floats, covariance: Floats, draws: int, seed: int) -> Floats:
    """(draws, N) draws; the covariance may be singular, as mean-zero scores make it."""
    value, vector = np.linalg.eigh(covariance)
    root = vector * np.sqrt(np.clip(value, 0.0, None))
    return mean + np.random.default_rng(seed).standard_normal((draws, len(mean))) @ root.T


def ranks(scores: Floats) -> Indices:
    """(draws, N) ranks of each draw, 1 for the highest score."""
    order = np.argsort(-scores, axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(1, scores.shape[1] + 1)[None], axis=1)
    return place


def rank_interval(draws: Floats, level: float) -> Indices:
    """(N, 2) lowest and highest rank of the central interval of each item."""
    tail = (1.0 - level) / 2.0
    place = ranks(draws)
    low = np.quantile(place, tail, axis=0, method="inverted_cdf")
    high = np.quantile(place, 1.0 - tail, axis=0, method="inverted_cdf")
    return np.column_stack([low, high]).astype(np.intp)


def prob_top(draws: Floats, k: int) -> Floats:
    """(N,) share of draws in which the item is among the k best."""
    return np.asarray((ranks(draws) <= k).mean(axis=0))


def prob_top_set(draws: Floats, scores: Floats, k: int) -> float:
    """Share of draws whose k best are the k best of `scores`."""
    now = np.argsort(-scores, kind="stable")[:k]
    rest = np.setdiff1d(np.arange(len(scores)), now)
    if not rest.size:
        return 1.0
    return float((draws[:, now].min(axis=1) > draws[:, rest].max(axis=1)).mean())
