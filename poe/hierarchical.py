"""Scores shrunk by a strength that nobody has to choose: averaged over, and not fitted.

The model of `poe.priors`: scores s ~ N(0, tau^2 I), Gaussian opinions with noise sigma, lambda =
sigma^2 / tau^2. With few answers their evidence says little about lambda: where it is largest is
often at an end, and an interval at that end has no width. Here lambda has a distribution instead,
u = lambda / (lambda + degree) uniform before the answers (degree: the mean of an item; u is the
share of a score that is taken back), sigma Jeffreys' 1 / sigma and the bias a flat one.
Given lambda the scores are multivariate t; what is known of them is a mixture over lambda (Gelman
et al., Bayesian Data Analysis, chapters 3 and 5).

Answers about one pair of items, in whatever order, may share their error, and count as one: their
mean. So asking a pair twice makes an opinion better, and not two.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr

from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.experts import Expert
from poe.priors import require_gaussian
from poe.result import require_level
from poe.scatter import Answers
from poe.stack import by_item, laplacian

__all__ = ["Posterior", "posterior"]

GRID = 41  # values of u; twice as many move no interval by a thousandth of its width
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of the scores of N items, a mixture of G multivariate t distributions.

    items : the names. weight : (G,) of each lambda, sum 1. ratio : (G,) the lambdas. freedom : of
    all. centre : (G, N) modes, mean zero. root : (G, N, N) with root root' the squared scale.
    """

    items: tuple[Hashable, ...]
    weight: Floats
    ratio: Floats
    freedom: float
    centre: Floats
    root: Floats

    @property
    def scores(self) -> Floats:
        """(N,) modes of the parts, weighted: the means where there are any. Their sum is zero."""
        return self.weight @ self.centre

    def standard_scales(self) -> Floats:
        """(G, N) scale of each score in each part."""
        return np.sqrt((self.root**2).sum(axis=-1))

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score."""
        return self._ends(self.centre, self.standard_scales(), level)

    def difference_interval(self, one: Hashable, other: Hashable, level: float = 0.95) -> Floats:
        """(2,) central interval of the difference of two scores."""
        return np.asarray(self.difference_intervals([(one, other)], level)[0])

    def difference_intervals(
        self, pairs: Sequence[tuple[Hashable, Hashable]], level: float = 0.95
    ) -> Floats:
        """(M, 2) central intervals of the differences of M pairs of items, first minus second."""
        parts = [self._gap(*pair) for pair in pairs]
        gap, scale = (np.stack(each, axis=1) for each in zip(*parts, strict=True))
        return self._ends(gap, scale, level)

    def prob_better(self, one: Hashable, other: Hashable) -> float:
        """Probability that `one` scores above `other`."""
        gap, scale = self._gap(one, other)
        if not scale.all():  # the same item
            return 0.5
        return float(self.weight @ stdtr(self.freedom, gap / scale))

    def sample(self, draws: int, *, seed: int = 0) -> Floats:
        """(draws, N) draws of all scores."""
        rng = np.random.default_rng(seed)
        part = rng.choice(len(self.weight), draws, p=self.weight)
        noise = rng.standard_normal((draws, len(self.items)))
        noise /= np.sqrt(rng.chisquare(self.freedom, (draws, 1)) / self.freedom)
        return self.centre[part] + np.einsum("dij,dj->di", self.root[part], noise)

    def _gap(self, one: Hashable, other: Hashable) -> tuple[Floats, Floats]:
        i, j = self.items.index(one), self.items.index(other)
        apart = self.root[:, i] - self.root[:, j]
        return self.centre[:, i] - self.centre[:, j], np.sqrt((apart**2).sum(axis=-1))

    def _ends(self, centre: Floats, scale: Floats, level: float) -> Floats:
        """(M, 2) quantiles of M mixtures with these centres and scales (G, M), by halving."""
        tail = (1.0 - require_level(level)) / 2.0
        wide = scale.max(axis=0) * 1e6 + np.ptp(centre, axis=0) + 1e-300
        ends = []
        for aim in (tail, 1.0 - tail):
            low, high = centre.min(axis=0) - wide, centre.max(axis=0) + wide
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                below = self.weight @ stdtr(self.freedom, (middle - centre) / scale) < aim
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            ends.append(0.5 * (low + high))
        return np.column_stack(ends)


def posterior(
    comparisons: Comparisons,
    expert: str | Expert = "logit-gaussian",
    *,
    bias: float | Literal["fit"] = "fit",
) -> Posterior:
    """Scores under a prior whose strength is integrated out, for any graph of comparisons.

    Parameters
    ----------
    expert : Gaussian, without sigma or variance
    bias
        The paper's gamma, or "fit" to integrate it out as well. Weights count only for the mean of
        answers about one pair.

    Raises
    ------
    ValueError
        For an expert that is not Gaussian.
    ComparisonError
        Where too few pairs say anything of the noise, or all opinions are zero.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.posterior(c).scores.round(2)
    array([ 0.58, -0.34, -0.24])
    """
    c, chosen = comparisons, require_gaussian(expert)
    n = c.n_items
    opinion = chosen.f_mu(c.p) + (0.0 if bias == "fit" else float(bias))
    one = np.ones(len(c))
    answers = Answers.of(c, one > 0.0, opinion, one, one * (bias == "fit"))
    pairs, count = answers.pairs, answers.total(one)
    y, tilt = answers.total(answers.residual) / count, answers.total(answers.turned) / count
    precision, push = laplacian(pairs, np.ones(len(y))), by_item(pairs, y, -y)
    total, leaning = float(y @ y), float(tilt @ tilt)
    if leaning > 1e-12:  # the bias, integrated out: what it explains counts as unknown
        lean, told = by_item(pairs, tilt, -tilt), float(tilt @ y)
        precision -= np.outer(lean, lean) / leaning
        push, total = push - lean * told / leaning, total - told**2 / leaning
    freedom = len(y) - (leaning > 1e-12)
    if freedom < 1:
        raise ComparisonError("one pair and an unknown bias: nothing is known of the noise")
    if total <= 1e-14 * max(float(y @ y), 1e-300):
        raise ComparisonError("every answer says that the items are equal; so are their scores")
    level, vector = np.linalg.eigh(precision)
    level, force = np.maximum(level, 0.0), vector.T @ push
    u = (np.arange(GRID) + 0.5) / GRID
    ratio = 2.0 * len(y) / n * u / (1.0 - u)
    shrunk = level + ratio[:, None]
    left = total - (force**2 / shrunk).sum(axis=-1)
    height = 0.5 * (np.log(ratio[:, None] / shrunk).sum(axis=-1) - freedom * np.log(left))
    weight = np.exp(height - height.max())
    centre = (force / shrunk) @ vector.T
    root = np.sqrt(left / freedom)[:, None, None] * vector / np.sqrt(shrunk)[:, None, :]
    return Posterior(
        items=c.items,
        weight=weight / weight.sum(),
        ratio=ratio,
        freedom=float(freedom),
        centre=centre - centre.mean(axis=-1, keepdims=True),
        root=root - root.mean(axis=-2, keepdims=True),
    )
