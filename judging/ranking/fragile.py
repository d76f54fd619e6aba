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

from typing import Any, NamedTuple

import numpy as np

from judging.fitting import settled
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import ComparisonError, NotConvergedError
from poe.result import Fit

__all__ = ["Fragility", "fragility", "fragility_of"]

RIVALS = 5  # systems below the first that are tried
MOST = 0.5  # share of the votes beyond which a first place is called safe
TRIED, CELLS = 20_000, 4_000_000  # votes, and votes times systems, up to which it takes seconds


class Fragility(NamedTuple):
    """How much hangs on few votes.

    votes : that would have to go, None where more than half would; of : all. winner : then.
    """

    votes: int | None
    of: int
    winner: Any

    def sentence(self, first: Any, what: str = "vote") -> str:
        """For a reader; what : one of them."""
        if self.votes is None:
            return (
                f"No half of the {what}s that was tried, left out, puts another than {first} first."
            )
        one = f"1 {what}" if self.votes == 1 else f"{self.votes:,} {what}s"
        return (
            f"Without {one} of {self.of:,} ({100 * self.votes / self.of:.2g}%), chosen against "
            f"{first}, {self.winner} would be first."
        )


def fragility(fit: Fit, *, prior: float | None = None) -> Fragility:
    """The fewest votes found whose absence puts another system first; `fit` of Bradley-Terry."""
    real = np.flatnonzero(fit.real)
    c = fit.comparisons.take(real)
    order = np.argsort(-fit.scores, kind="stable")
    best: tuple[int, int] | None = None
    for rival in order[1 : 1 + RIVALS].tolist():
        lead = _leads(fit, int(order[0]), rival)[real]
        gap = float(fit.scores[order[0]] - fit.scores[rival])
        fewest = _fewest(c, lead, gap, fit, int(order[0]), prior, best and best[0])
        if fewest is not None and (best is None or fewest[0] < best[0]):
            best = fewest
    if best is None:
        return Fragility(None, len(c), None)
    return Fragility(best[0], len(c), fit.items[best[1]])


def fragility_of(fit: Fit, *, prior: float | None = None) -> Fragility | None:
    """`fragility`; None for too many votes to try, or an expert that it does not know."""
    votes = int(fit.real.sum())
    small = votes <= TRIED and votes * len(fit.items) <= CELLS
    known = type(fit.expert).__name__ == "BradleyTerry"
    return fragility(fit, prior=prior) if small and known else None


def _leads(fit: Fit, first: int, rival: int) -> Floats:
    """(K,) how much of the lead each vote adds, to first order."""
    c, n = fit.comparisons, len(fit.items)
    tilt = np.broadcast_to(np.asarray(fit.tilt, dtype=float), c.p.shape)
    rows = np.zeros((len(c), n + 1))
    k = np.arange(len(c))
    rows[k, c.first], rows[k, c.second] = 1.0, -1.0
    if fit.bias_fitted:
        rows[:, n] = -tilt
    d = fit.scores[c.first] - fit.scores[c.second] - fit.bias * tilt
    pull = -c.weight * fit.expert.slope(d, c.p)
    stiff = c.weight * np.maximum(fit.expert.curvature(d, c.p), 0.0)
    a = (rows * stiff[:, None]).T @ rows
    inverse = np.linalg.pinv(a, hermitian=True)
    apart = inverse[first] - inverse[rival]
    share = stiff * ((rows @ inverse) * rows).sum(axis=1)
    return np.asarray(pull * (rows @ apart) / np.maximum(1.0 - share, 0.1))


def _fewest(
    c: Comparisons,
    lead: Floats,
    gap: float,
    fit: Fit,
    first: int,
    prior: float | None,
    below: int | None,
) -> tuple[int, int] | None:
    """How many of the votes with the largest lead must go, and who is first then; by bisection."""
    order = np.argsort(-lead, kind="stable")
    most = min(int(MOST * len(c)), (below or len(c)) - 1)
    guess = int(np.searchsorted(np.cumsum(lead[order]), gap)) + 1

    def winner(count: int) -> int | None:
        """Who is first without so many votes; None while nobody else is."""
        kept = np.sort(order[count:])
        try:
            again, _ = settled(
                c.take(kept),
                expert=fit.expert,
                bias="fit" if fit.bias_fitted else None,
                prior=prior,
            )
        except (ComparisonError, NotConvergedError):
            return None
        leader = int(np.argmax(again.scores))
        return None if leader == first else leader

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
