"""How sure the best are, told of scores that lie nearer to each other than they look.

Who leads, leads partly by luck, so draws around the scores as they stand (`poe.Fit.prob_top`) are
too sure of the top. Scores s of covariance C say of the true ones, before anybody looked at who
leads, that these lie

    round r s with covariance r C,  r = 1 - (n - 3) / (n - 1) mean(se^2) / var(s)

(James and Stein). Places depend on no scale, so the draws are those of the fit with sqrt(r) s in
the place of s. A judge that tells the texts apart has r near 1, and nothing changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import poe
from poe.arrays import Floats
from poe.choose.stopping import StopRule
from poe.result import Fit

__all__ = ["prob_first", "prob_top", "prob_top_set", "told", "top_known"]

DRAWS = 2000


def told(fit: Fit) -> float:
    """How much of the scores' spread is no error, r above; 1 where a prior has seen to that."""
    if fit.prior is not None:
        return 1.0
    spread, n = float(fit.scores.var(ddof=1)), len(fit.scores)
    error = float((fit.standard_errors() ** 2).mean()) * n / (n - 1)
    return max(1.0 - max(n - 3, 0) / (n - 1) * error / spread, 0.0) if spread else 0.0


def prob_top(fit: Fit, k: int) -> Floats:
    """(N,) probability of each item to be among the k best."""
    places = (-_drawn(fit)).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray((places < k).mean(axis=0))


def prob_first(fit: Fit) -> float:
    """Probability that the item with the highest score is the best."""
    return prob_top_set(fit, 1)


def prob_top_set(fit: Fit, k: int) -> float:
    """Probability that the k best are exactly the k with the highest scores."""
    if k >= len(fit.items):
        return 1.0
    drawn = _drawn(fit)[:, np.argsort(-fit.scores, kind="stable")]
    return float((drawn[:, :k].min(axis=1) > drawn[:, k:].max(axis=1)).mean())


def top_known(k: int, probability: float = 0.95) -> StopRule:
    """Stop when the k best are, with this probability, exactly those now on top.

    As `poe.top_known`, but it allows for luck of those on top, as the table of a ranking does
    (`judging.ranking.sure`): a noisy judge is asked longer. This is `judging rank --until-top`.

    Examples
    --------
    >>> judging.top_known(3).name
    'probability of the top 3'
    """
    return replace(poe.top_known(k, probability), measure=lambda fit: prob_top_set(fit, k))


def _drawn(fit: Fit) -> Floats:
    """(DRAWS, N) scores, up to a factor a draw does not show."""
    return fit.sample(DRAWS) - (1.0 - np.sqrt(told(fit))) * fit.scores
