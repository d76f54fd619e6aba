"""Numbers on people's scale, from a judge and some labels.

**An interval for each text** that nobody scored, by split-conformal prediction (Vovk and others
2005; Lei and others 2018). A straight line from the judge's score to people's is fitted to a third
of the labelled texts; the other m give residuals |y - line(s)|, and the k-th smallest of them,
k = ceil((m + 1) level), is the half width. A text drawn like the labelled ones has its score inside
with a probability between level and level + 1/(m + 1), whatever the judge is and however wrong the
line. It holds for labels drawn at random from the texts, and for no others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poe.arrays import Floats

__all__ = ["LEVELS", "Scale", "conformal"]

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
