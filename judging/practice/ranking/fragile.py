"""How many votes or answers, left out, would change who is first.

A ranking may rest on a handful of votes among thousands (Huang, Shen, Wei and Broderick, Dropping
Just a Handful of Preferences Can Change Top Large Language Model Rankings, arXiv 2508.11847). The
search is theirs in outline: what one vote k adds to the lead of the first over another system is,
to first order,

    lead_k = w_k r_k (e' A^-1 x_k) / (1 - h_k),   h_k = w_k c_k x_k' A^-1 x_k,

x_k the vote's row of +1 and -1, r_k = p_k - sigma(d_k) what the fit leaves of it, c_k its curvature
and A the sum of all. The votes that add most go first, in twice as many as needed or fewer until
the lead is gone, and then the fit is made again without them: the number that is told is one whose
refit has another system first. It is an upper bound, as a cleverer choice might need fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from judging.fitting import settled
from judging.practice.ranking.equal import on_top
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import ComparisonError, NotConvergedError
from poe.ranks import EQUAL
from poe.result import Fit

__all__ = ["Fragility", "fragility", "fragility_of"]

RIVALS = 5  # systems below the first that are tried
MOST = 0.5  # share of the votes beyond which a first place is called safe
TRIED, CELLS = 20_000, 4_000_000  # votes, and votes times systems, up to which it takes seconds


class Fragility(NamedTuple):
    """How much hangs on few votes.

    votes : that would have to go, None where more than half would; of : all. winner : then.
    first : now.
    """

    votes: int | None
    of: int
    winner: Any
    first: Any

    @property
    def case(self) -> str:
        """Which sentence."""
        return "safe" if self.votes is None else "votes"

    @property
    def percent(self) -> float:
        """Of all votes."""
        return 100.0 * (self.votes or 0) / self.of


def fragility(fit: Fit) -> Fragility:
    """The fewest votes found whose absence puts another system first; `fit` of Bradley-Terry."""
    order = np.argsort(-fit.scores, kind="stable")
    first, rivals = int(order[0]), order[1 : 1 + RIVALS].tolist()
    c = fit.comparisons.take(np.flatnonzero(fit.real))
    best: tuple[int, int] | None = None
    for rival, lead in zip(rivals, _leads(fit, first, rivals), strict=True):
        gap = float(fit.scores[first] - fit.scores[rival])
        fewest = _fewest(c, lead, gap, fit, first, best and best[0])
        if fewest is not None and (best is None or fewest[0] < best[0]):
            best = fewest
    if best is None:
        return Fragility(None, len(c), None, fit.items[first])
    return Fragility(best[0], len(c), fit.items[best[1]], fit.items[first])


def fragility_of(fit: Fit) -> Fragility | None:
    """`fragility`; None for too many votes to try, an unknown expert, or where nobody leads."""
    votes = int(fit.real.sum())
    small = votes <= TRIED and votes * len(fit.items) <= CELLS
    known = type(fit.expert).__name__ == "BradleyTerry"
    return fragility(fit) if small and known and len(on_top(fit)) == 1 else None


def _leads(fit: Fit, first: int, rivals: Sequence[int]) -> Floats:
    """(R, K) how much of the lead over each rival each vote adds, to first order.

    A^-1 is the fit's own, along scores and bias; a prior's ties are in it and get no row.
    """
    c, real, inverse = fit.comparisons, fit.real, fit.inverse_curvature
    i, j, tilt = c.first[real], c.second[real], (fit.tilts * fit.bias_fitted)[real]
    own = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j] + tilt**2 * inverse[-1, -1]
    own -= 2.0 * tilt * (inverse[i, -1] - inverse[j, -1])  # x_k' A^-1 x_k
    pull = -(c.weight * fit.expert.slope(fit.fitted_differences, c.p))[real]
    apart = inverse[first] - inverse[list(rivals)]
    along = apart[:, i] - apart[:, j] - tilt * apart[:, -1:]
    return np.asarray(pull * along / np.maximum(1.0 - fit.stiffness[real] * own, 0.1))


def _fewest(
    c: Comparisons,
    lead: Floats,
    gap: float,
    fit: Fit,
    first: int,
    below: int | None,
) -> tuple[int, int] | None:
    """How many of the votes with the largest lead must go, and who is first then; by bisection."""
    order = np.argsort(-lead, kind="stable")
    most = min(int(MOST * len(c)), (below or len(c)) - 1)
    guess = int(np.searchsorted(np.cumsum(lead[order]), gap)) + 1
    ties = fit.comparisons.weight[~fit.real]  # the fit's own prior; it may need one only now
    prior = float(ties[0]) / 2.0 if len(ties) else None

    def winner(count: int) -> int | None:
        """Who is first without so many votes; None while nobody else is."""
        kept = np.sort(order[count:])
        try:
            again, _ = settled(
                c.take(kept),
                expert=fit.expert,
                bias="fit" if fit.bias_fitted else fit.bias,
                prior=prior,
            )
        except (ComparisonError, NotConvergedError):
            return None
        leader = int(np.argmax(again.scores))
        return leader if again.scores[leader] - again.scores[first] > EQUAL else None

    low, high = 0, max(1, min(guess, most))
    while (who := winner(high)) is None:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if (rival := winner(middle)) is None:
            low = middle
        else:
            high, who = middle, rival
    return high, who
