"""How many labels of people it takes, before anybody labels.

For an agreement A to within w at a level with normal quantile z:

    choices   n = z^2 A (1 - A) / w^2,                         pairs without a text in common
    scores    n = z^2 (1/9 - (2/pi asin(rho/2))^2) / w^2,      rho = sin(pi (A - 1/2)),

the second for scores that are normal together with the judge's (Kendall's tau, tau = 2A - 1, has
the variance 4/n (1/9 - (2/pi asin(rho/2))^2), Esscher 1924). n scores are n(n-1)/2 pairs that share
texts: fewer labels than choices, and more than n/2 of these. For an interval of every text see
`judging.practice.trust.scale`.

To show that A is above a coin's 1/2 in four cases of five, by the interval that
`judging.practice.trust.agreement` gives. Of pairs without a text in common it is Wilson's with
Student's quantile t at 2n - 1 degrees of freedom, above 1/2 where people and judge agree in more
than n/2 + t sqrt(n)/2 pairs, which the binomial distribution says how often they do. Of scores the
normal formula has w = A - 1/2, z + z_0.8 in place of z, and `EXTRA` more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, norm
from scipy.stats import t as student

from judging.practice.trust.scale import FIT

__all__ = ["Labels", "needed"]

CHANCE = 0.5
POWER = 0.8  # how often a judge that is better than a coin is to be shown to be
FEWEST = 6  # labels of either kind from which anything is told
# More scores than the normal formula says, a + b z^2: what Student's quantile, the jackknife's
# factor and Wilson's middle take. By simulation, agreements 0.6 to 0.95, levels 0.9 to 0.99: with
# them 80% to 97% of samples show it; without, 0% to 77%.
EXTRA = 4.0, 1.3
EXACT = 10_000  # choices up to which the binomial distribution is gone through


class Labels(NamedTuple):
    """How many labels tell an agreement to within what was wanted.

    Attributes
    ----------
    scores
        Texts to score.
    choices
        Or pairs of texts to choose between, no two with a text in common.
    above_chance
        (scores, choices) that show, in four cases of five or more, that the judge is better than a
        coin; None where it is not.
    intervals
        Scores for an interval of every text at the level.

    Examples
    --------
    >>> from judging.practice.trust import needed
    >>> needed(0.5).above_chance is None
    True
    """

    scores: int
    choices: int
    above_chance: tuple[int, int] | None
    intervals: int


def needed(agreement: float = 0.75, within: float = 0.1, *, level: float = 0.95) -> Labels:
    """Count the labels that tell an agreement to within a margin.

    Parameters
    ----------
    agreement
        How often you expect people to order two texts as the judge does.
    within
        The error with which you want to know that; 0.1 is ten points.
    level
        Of the interval.

    Raises
    ------
    ValueError
        For an agreement or a level that is not between 0 and 1, or an error not below a half.

    Examples
    --------
    z is 1.96 and the variance of one choice 3/16, so 1.96^2 (3/16) / 0.1^2 = 72.03:

    >>> from judging.practice.trust import needed
    >>> needed(0.75, 0.1).choices
    73

    Of 6 choices all must be the judge's, which happens in 0.95^6 = 74% of cases, and so must all of
    7 or 8; of 9 choices 8 do, 0.95^9 + 9 (0.05) 0.95^8 = 93%.

    >>> needed(0.95).above_chance[1]
    9
    """
    if not 0.0 < agreement < 1.0 or not 0.0 < within < 0.5 or not 0.0 < level < 1.0:
        raise ValueError(
            "an agreement and a level are between 0 and 1, and what it is to be known within is "
            f"between 0 and a half, not {agreement:g}, {level:g} and {within:g}"
        )
    z = float(norm.ppf(0.5 + level / 2.0))
    scores, choices = _normal(agreement, within, z)
    above = _above_chance(agreement, level) if agreement > CHANCE else None
    left = math.ceil(level / (1.0 - level) - 1e-9)  # residuals, for a finite quantile
    intervals = next(n for n in range(left, 4 * left + 9) if n - max(math.ceil(FIT * n), 2) >= left)
    return Labels(_whole(scores), _whole(choices), above, intervals)


def _normal(agreement: float, within: float, z: float) -> tuple[float, float]:
    """The two formulas of the module."""
    rho = math.sin(math.pi * (agreement - CHANCE))
    tau = 1.0 / 9.0 - (2.0 / math.pi * math.asin(rho / 2.0)) ** 2
    both = tau, agreement * (1.0 - agreement)
    scores, choices = (z * z * one / within**2 for one in both)
    return scores, choices


def _whole(count: float) -> int:
    return max(math.ceil(count), FEWEST)


def _above_chance(agreement: float, level: float) -> tuple[int, int]:
    """Scores and choices that show, with the probability `POWER`, that it is above a half."""
    z, more = float(norm.ppf(0.5 + level / 2.0)), float(norm.ppf(POWER))
    scores, choices = _normal(agreement, agreement - CHANCE, z + more)
    about = _whole(choices)
    if about < EXACT:
        n = np.arange(FEWEST, 2 * about + 50)
        hits = np.floor(n / 2.0 + student.ppf(0.5 + level / 2.0, 2 * n - 1) * np.sqrt(n) / 2.0)
        about = int(n[np.argmax(binom.sf(hits, n, agreement) >= POWER)])
    return _whole(scores + EXTRA[0] + EXTRA[1] * z * z), about
