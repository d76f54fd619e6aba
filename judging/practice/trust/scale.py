"""Numbers on people's scale, from a judge and some labels.

**An interval for each text** that nobody scored, by split-conformal prediction (Vovk and others
2005; Lei and others 2018). A straight line from the judge's score to people's is fitted to a third
of the labelled texts; the other m give residuals |y - line(s)|, and the k-th smallest of them,
k = ceil((m + 1) level), is the half width. A text drawn like the labelled ones has its score inside
with a probability between level and level + 1/(m + 1), whatever the judge is and however wrong the
line. It holds for labels drawn at random from the texts, and for no others.

**A mean over many** (a system's win rate among people), by prediction-powered inference
(Angelopoulos and others 2023; the factor by Angelopoulos, Duchi and Zrnic 2023). With p of the
judge for N rows nobody labelled and labels y for n others,

    theta = lam mean_N p + mean_n (y - lam p),
    var   = lam^2 var(p) / N + var(y - lam p) / n,   lam = cov(y, p) / ((1 + n/N) var p) in [0, 1].

A judge that says nothing leaves lam near zero and the mean of the labels; no bias of the judge
biases theta. Rows that share a prompt, labelled or not, are summed first: their errors are alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from poe.arrays import Floats, Indices

__all__ = ["LEVELS", "Estimate", "Scale", "conformal", "estimate"]

LEVELS = (0.9, 0.8)  # that are told where the labels are too few for the level wanted
FIT = 1 / 3  # of the labelled texts, for the line


class Scale(NamedTuple):
    """People's score is slope s + intercept, give or take `half`, with probability `level`.

    Attributes
    ----------
    slope, intercept
        The line from a judge's score s to people's.
    half
        Half the width of every interval, on people's scale.
    level
        How often a text drawn like the labelled ones is inside.
    labels
        Scored texts that it rests on.

    Examples
    --------
    >>> from judging.practice.trust import Scale
    >>> low, high = Scale(2.0, 3.0, 0.5, 0.9, 30).interval(np.array([0.0, 1.0]))
    >>> [float(x) for x in (*low, *high)]
    [2.5, 4.5, 3.5, 5.5]
    """

    slope: float
    intercept: float
    half: float
    level: float
    labels: int

    def interval(self, s: Floats) -> tuple[Floats, Floats]:
        """For texts with these scores by the judge."""
        middle = self.slope * np.asarray(s, dtype=float) + self.intercept
        return middle - self.half, middle + self.half


class Estimate(NamedTuple):
    """A mean among people, from a judge's verdicts on everything and labels of some.

    Attributes
    ----------
    value, se
        The mean and its standard error.
    low, high
        Its interval.
    labels
        Rows with a label.
    alone, alone_se
        The same of the labels without the judge.
    gain
        How many times as many labels would be as good without it.

    Examples
    --------
    >>> from judging.practice.trust import estimate
    >>> mean = estimate([0.9, 0.2, 0.8, 0.4], [1, 0, np.nan, np.nan])
    >>> mean.labels, mean.alone
    (2, 0.5)
    """

    value: float
    se: float
    low: float
    high: float
    labels: int
    alone: float
    alone_se: float
    gain: float


def conformal(s: Floats, y: Floats, level: float, *, seed: int = 0) -> Scale | None:
    """The line and the half width; None where not even `LEVELS[-1]` has enough labels."""
    n = len(y)
    fit = max(math.ceil(FIT * n), 2)
    m = n - fit
    at = next((one for one in (level, *LEVELS) if one <= level and _rank(m, one) <= m), None)
    if at is None:
        return None
    order = np.random.default_rng(seed).permutation(n)
    line, rest = order[:fit], order[fit:]
    centred = s[line] - s[line].mean()
    spread = float(centred @ centred)
    slope = float(centred @ y[line]) / spread if spread > 0 else 0.0
    intercept = float(y[line].mean() - slope * s[line].mean())
    residual = np.sort(np.abs(y[rest] - slope * s[rest] - intercept))
    return Scale(slope, intercept, float(residual[_rank(m, at) - 1]), at, n)


def _rank(m: int, level: float) -> int:
    return math.ceil((m + 1) * level - 1e-9)


def estimate(
    p: Floats, y: Floats, *, level: float = 0.95, cluster: Indices | None = None
) -> Estimate:
    """The mean of y among all rows, labelled or not, by prediction-powered inference.

    Parameters
    ----------
    p
        (K,) the judge's probabilities.
    y
        (K,) people's labels, NaN where there is none; the labelled ones are to be a random sample.
    level
        Of the interval.
    cluster
        (K,) number of what rows share, such as a prompt: rows of one are not independent.

    Raises
    ------
    ValueError
        Where fewer than two rows have a label.

    Examples
    --------
    A judge that is right, two points too high: the labels take the two points away.

    >>> from judging.practice.trust import estimate
    >>> y = np.array([0.2, 0.4, 0.6, 0.8])
    >>> p = np.append(y, [0.3, 0.5] * 500) + 0.02
    >>> mean = estimate(p, np.append(y, [np.nan] * 1000))
    >>> round(mean.value, 2), round(mean.alone, 2)
    (0.4, 0.5)
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    seen = np.isfinite(y)
    n, rest = int(seen.sum()), int((~seen).sum())
    if n < 2:
        raise ValueError(f"{n} rows have a label; an estimate needs two or more")
    near, h = p[seen], y[seen]
    spread = float(near.var(ddof=1))
    lam = 0.0
    if rest and spread > 0:
        lam = float(np.cov(h, near)[0, 1]) / ((1.0 + n / rest) * spread)
    lam = float(np.clip(lam, 0.0, 1.0))
    groups = None if cluster is None else np.asarray(cluster)
    labelled = None if groups is None else groups[seen]
    off, value = h - lam * near, float((h - lam * near).mean())
    variance, count = _variance_of_mean(off, labelled)
    if lam > 0:
        right = lam * p[~seen]
        value += float(right.mean())
        if groups is None:
            variance += _variance_of_mean(right, None)[0]
        elif count > 1:
            # A cluster may have rows of both kinds, whose means then err together.
            part = np.empty(len(p))
            part[seen], part[~seen] = (off - off.mean()) / n, (right - right.mean()) / rest
            variance = _variance_of_sum(part, groups)[0]
    alone, _ = _variance_of_mean(h, labelled)
    se = math.sqrt(variance)
    half = float(student.ppf(0.5 + level / 2.0, max(count - 1, 1))) * se
    gain = alone / variance if variance > 0 else 1.0
    return Estimate(
        value, se, value - half, value + half, n, float(h.mean()), math.sqrt(alone), gain
    )


def _variance_of_mean(x: Floats, cluster: Indices | None) -> tuple[float, int]:
    """The variance of the mean of x, rows of one cluster taken together, and how many clusters."""
    if cluster is None:
        return float(x.var(ddof=1) / len(x)) if len(x) > 1 else math.inf, len(x)
    return _variance_of_sum((x - x.mean()) / len(x), cluster)


def _variance_of_sum(part: Floats, cluster: Indices) -> tuple[float, int]:
    """The variance of the sum of parts whose mean is zero, by clusters, and how many there are."""
    _, at = np.unique(cluster, return_inverse=True)
    sums = np.bincount(at, part)
    g = len(sums)
    return (float(sums @ sums) * g / (g - 1) if g > 1 else math.inf), g
