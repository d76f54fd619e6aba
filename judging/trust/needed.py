"""How many labels of people it takes, before anybody labels.

For an agreement A to within w at a level with normal quantile z:

    choices   n = z^2 A (1 - A) / w^2,                         pairs without a text in common
    scores    n = z^2 (1/9 - (2/pi asin(rho/2))^2) / w^2,      rho = sin(pi (A - 1/2)),

the second for scores that are normal together with the judge's (Kendall's tau, tau = 2A - 1, has
the variance 4/n (1/9 - (2/pi asin(rho/2))^2), Esscher 1924). n scores are n(n-1)/2 pairs that share
texts: fewer labels than choices, and more than n/2 of these. To show that A is above a coin's 1/2
in four cases of five, w is A - 1/2 and z has the normal quantile of 0.8 added. For an interval of
every text see `judging.trust.scale`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import norm

from judging.trust.scale import FIT

__all__ = ["Labels", "needed"]

CHANCE = 0.5
POWER = 0.8  # how often a judge that is better than a coin is to be shown to be
FEWEST = 6  # labels of either kind from which anything is told


class Labels(NamedTuple):
    """How many labels tell an agreement to within what was wanted.

    Attributes
    ----------
    scores
        Texts to score.
    choices
        Or pairs of texts to choose between, no two with a text in common.
    above_chance
        (scores, choices) that show, in four cases of five, that the judge is better than a coin;
        None where it is not.
    intervals
        Scores for an interval of every text at the level.

    Examples
    --------
    >>> judging.trust.needed(0.5).above_chance is None
    True
    """

    scores: int
    choices: int
    above_chance: tuple[int, int] | None
    intervals: int


def needed(agreement: float = 0.75, within: float = 0.1, *, level: float = 0.95) -> Labels:
    """How many labels tell an agreement to within so much.

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

    >>> judging.trust.needed(0.75, 0.1).choices
    73
    """
    if not 0.0 < agreement < 1.0 or not 0.0 < within < 0.5 or not 0.0 < level < 1.0:
        raise ValueError(
            "an agreement and a level are between 0 and 1, and what it is to be known within is "
            f"between 0 and a half, not {agreement:g}, {level:g} and {within:g}"
        )
    scores, choices = _counts(agreement, within, level)
    gap = agreement - CHANCE
    above = _counts(agreement, gap, level, POWER) if gap > 0 else None
    left = math.ceil(level / (1.0 - level) - 1e-9)  # residuals, for a finite quantile
    intervals = next(n for n in range(left, 4 * left + 9) if n - max(math.ceil(FIT * n), 2) >= left)
    return Labels(scores, choices, above, intervals)


def _counts(agreement: float, within: float, level: float, power: float = 0.0) -> tuple[int, int]:
    z = float(norm.ppf(0.5 + level / 2.0) + (norm.ppf(power) if power else 0.0))
    rho = math.sin(math.pi * (agreement - CHANCE))
    tau = 1.0 / 9.0 - (2.0 / math.pi * math.asin(rho / 2.0)) ** 2
    scores, choices = tau / within**2, agreement * (1.0 - agreement) / within**2
    return max(math.ceil(z * z * scores), FEWEST), max(math.ceil(z * z * choices), FEWEST)
