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

A judge may also lean to the first place by another amount for every text: an opinion is then s_i -
s_j + t_i + t_j - gamma plus noise, i shown first, with t ~ N(0, omega^2 I). Where the text bias is
modelled (bias="texts"), its share v = omega^2 / (omega^2 + tau^2) is averaged over like u. In both
orders of a pair t cancels from half the difference of the answers, which is an opinion about the
scores; half their sum is another, about t alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtr

from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.experts import Expert
from poe.intervals import position_of, require_level
from poe.priors import require_gaussian
from poe.scatter import Answers

__all__ = ["Posterior", "posterior", "posteriors"]

GRID = 41  # values of u; twice as many move no interval by a thousandth of its width
SHARES = np.arange(12) / 12.0  # v: none first; texts may differ more in bias than in score
FAINT = 1e-6  # of the largest weight: with text biases parts below are left out
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of the scores of N items, a mixture of G multivariate t distributions.

    items : the names. weight : (G,) of each part, sum 1. ratio : (G,) its lambda. freedom : of
    all. centre : (G, N) modes, mean zero. basis : (V, N, M), and which : (G,) the one that a part
    has, with its columns times size, (G, M). share : (G,) v, 0 without text biases. biases : (N,)
    means of t, a lean to the first place in the unit of a score, but for the bias that all have in
    common. evidence : log of the marginal likelihood of the pool's opinions, but for a constant
    that the same opinions have in common.
    """

    items: tuple[Hashable, ...]
    weight: Floats
    ratio: Floats
    freedom: float
    centre: Floats
    basis: Floats
    which: Indices
    size: Floats
    share: Floats
    biases: Floats
    evidence: float

    @property
    def scores(self) -> Floats:
        """(N,) modes of the parts, weighted: the means where there are any. Their sum is zero."""
        return self.weight @ self.centre

    @property
    def root(self) -> Floats:
        """(G, N, M) with root root' the squared scale of a part."""
        return self.basis[self.which] * self.size[:, None]

    def standard_scales(self) -> Floats:
        """(G, N) scale of each score in each part."""
        return np.sqrt(_by_part(self.size**2, self.basis**2, self.which))

    def difference_scales(self, i: Indices, j: Indices) -> Floats:
        """(G, M) scale of s_i - s_j in each part, for (M,) positions each."""
        apart = self.basis[:, i] - self.basis[:, j]
        return np.sqrt(_by_part(self.size**2, apart**2, self.which))

    def interval(self, level: float = 0.95) -> Floats:
        """(N, 2) central interval of each score."""
        return self._ends(self.centre, self.standard_scales(), level)

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

    def _gap(self, one: Hashable, other: Hashable) -> tuple[Floats, Floats]:
        i, j = position_of(one, self.items), position_of(other, self.items)
        scale = self.difference_scales(np.array([i]), np.array([j]))[:, 0]
        return self.centre[:, i] - self.centre[:, j], scale

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


def _by_part(values: Floats, matrices: Floats, which: Indices) -> Floats:
    """(G, P) values (G, M) times matrices (V, P, M) transposed, each by the one it belongs to."""
    product = np.empty((len(which), matrices.shape[1]))
    for v in np.unique(which):
        product[which == v] = values[which == v] @ matrices[v].T
    return product


def posterior(
    comparisons: Comparisons,
    expert: str | Expert = "logit-gaussian",
    *,
    bias: float | Literal["fit", "texts"] | None = "fit",
) -> Posterior:
    """Scores under a prior whose strength is integrated out, for any graph of comparisons.

    Parameters
    ----------
    expert : Gaussian, without sigma or variance
    bias
        The paper's gamma, None for zero, "fit" to integrate it out as well, or "texts" for a bias
        of each text besides, a help where pairs were asked in one order. Weights count only for
        the mean of answers about one pair.

    Raises
    ------
    ValueError
        For an expert that is not Gaussian.
    ComparisonError
        Where too few pairs say anything of the noise, or all opinions are zero.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> from studies.hierarchical import posterior
    >>> posterior(c).scores.round(2)
    array([ 0.58, -0.34, -0.24])
    """
    return posteriors([comparisons], expert, bias=bias)[0]


def posteriors(
    contexts: Sequence[Comparisons],
    expert: str | Expert = "logit-gaussian",
    *,
    bias: float | Literal["fit", "texts"] | None = "fit",
) -> list[Posterior]:
    """As `posterior`, of several sets that one judge answered: lambda, sigma and v are in common.

    Each has its own scores, text biases and gamma. Their evidences multiply, so a dozen contexts
    tell how much of a text's bias to believe where one of them could not.
    """
    return pooled([spectra(c, expert, bias=bias) for c in contexts])


def pooled(each: Sequence[Spectra]) -> list[Posterior]:
    """The posterior of each set, what is in common pooled over all of these."""
    odds, texts = each[0].odds, len(each[0].odds) > 1
    freedom = float(sum(one.freedom for one in each))
    if freedom < 1:
        raise ComparisonError("one pair and an unknown bias: nothing is known of the noise")
    if sum(one.total for one in each) <= 1e-14 * max(sum(one.size for one in each), 1e-300):
        raise ComparisonError("every answer says that the items are equal; so are their scores")
    u = (np.arange(GRID) + 0.5) / GRID
    degree = 2.0 * sum(one.pairs for one in each) / sum(len(one.items) for one in each)
    ratio = degree * u / (1.0 - u)
    left, volume = np.zeros((len(odds), GRID)), np.zeros((len(odds), GRID))
    for one in each:
        shrunk = one.level[:, None] + ratio[:, None]
        left += one.total - (one.force[:, None] ** 2 / shrunk).sum(axis=-1)
        volume += np.log(ratio[:, None] / shrunk).sum(axis=-1)
    height = 0.5 * (volume - freedom * np.log(left))
    weight = np.exp(height - height.max())
    evidence = float(height.max() + np.log(weight.mean()))
    v, g = np.nonzero(weight > (FAINT if texts else -1.0))
    weight, scale = weight[v, g] / weight[v, g].sum(), np.sqrt(left[v, g] / freedom)
    averaged = []
    for one in each:
        n, shrunk = len(one.items), one.level[v] + ratio[g, None]
        centre = _by_part(one.force[v] / shrunk, one.vector, v)
        biases = np.sqrt(odds[v, None]) * centre[:, n:] if texts else np.zeros((len(v), n))
        averaged.append(
            Posterior(
                items=one.items,
                weight=weight,
                ratio=ratio[g],
                freedom=freedom,
                centre=centre[:, :n] - centre[:, :n].mean(axis=-1, keepdims=True),
                basis=one.vector[:, :n] - one.vector[:, :n].mean(axis=-2, keepdims=True),
                which=v,
                size=scale[:, None] / np.sqrt(shrunk),
                share=(odds / (1.0 + odds))[v],
                biases=weight @ biases,
                evidence=evidence,
            )
        )
    return averaged


class Spectra(NamedTuple):
    """Of one set of comparisons, all that its posterior depends on, before any is pooled.

    X'X = vector level vector' at each of V odds, omega^2 / tau^2, gamma projected out; force :
    vector' X'y. X : (K, M), M = N scores, and with text biases N of those in units that make all
    priors alike. total, size : y'y without gamma and with it. pairs : of items. freedom : of
    opinions.
    """

    items: tuple[Hashable, ...]
    odds: Floats
    level: Floats
    vector: Floats
    force: Floats
    total: float
    size: float
    pairs: int
    freedom: int


def spectra(
    c: Comparisons,
    expert: str | Expert = "logit-gaussian",
    *,
    bias: float | Literal["fit", "texts"] | None = "fit",
) -> Spectra:
    """Decompose one set; the arguments of `posteriors`, which raises these errors."""
    bias = 0.0 if bias is None else bias
    given: object = bias
    if not (given in ("fit", "texts") or (isinstance(given, Real) and np.isfinite(float(given)))):
        raise ValueError(f"bias must be a number, None, 'fit' or 'texts', not {bias!r}")
    odds = SHARES / (1.0 - SHARES) if bias == "texts" else np.zeros(1)
    n, texts, one = c.n_items, bias == "texts", np.ones(len(c))
    opinion = require_gaussian(expert).f_mu(c.p) + (0.0 if isinstance(bias, str) else float(bias))
    answers = Answers.of(c, one > 0.0, opinion, one, one)
    pair, sign, weight = answers.group, answers.turned, answers.weight
    if texts:  # each order of a pair has one answer, and both count alike
        shown = 2 * pair + (sign > 0.0)
        weight = weight / np.bincount(shown, weight)[shown]
    count = np.bincount(pair, weight)
    y = np.bincount(pair, weight * answers.residual) / count
    tilt = np.bincount(pair, weight * sign) / count
    rows, apart = np.arange(len(count)), np.zeros((len(count), n))
    apart[rows, answers.pairs.first], apart[rows, answers.pairs.second] = 1.0, -1.0
    design = apart[None]
    if texts:
        both = count > 1.5
        y = np.append(y, 0.5 * np.bincount(pair, weight * opinion)[both])
        tilt = np.append(tilt, np.ones(int(both.sum())))
        alone, shared = (np.vstack([apart, x * apart[both]]) for x in (0.0, 1.0))
        lean = np.sqrt(odds)[:, None, None] * (tilt[:, None] * np.abs(shared))
        design = np.concatenate([np.broadcast_to(alone, (len(odds), *alone.shape)), lean], axis=-1)
    turned = np.swapaxes(design, -1, -2)
    inner, push, size = turned @ design, turned @ y, float(y @ y)
    total, leaning = size, float(tilt @ tilt) if isinstance(bias, str) else 0.0
    if leaning > 1e-12:  # the bias, integrated out: what it explains counts as unknown
        lean, told = turned @ tilt, float(tilt @ y)
        inner = inner - lean[:, :, None] * lean[:, None, :] / leaning
        push, total = push - lean * told / leaning, total - told**2 / leaning
    level, vector = np.linalg.eigh(inner)
    force = (np.swapaxes(vector, -1, -2) @ push[..., None])[..., 0]
    freedom = len(y) - (leaning > 1e-12)
    level = np.maximum(level, 0.0)
    return Spectra(c.items, odds, level, vector, force, total, size, len(count), freedom)
