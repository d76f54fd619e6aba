"""Simulated judges, for experiments whose truth is known. They are not language models.

All follow one model: shown the items i and j, in this order, the judge answers

    p = sigma(a (q_i - q_j) + b + tau e),    e ~ Normal(0, 1),

q the quality it perceives, a its sharpness, b its position bias, tau its noise.
`simulated_answers` is that formula; `SimulatedJudge` is a judge that repeats itself when asked
again.

The two orders of a pair need not err independently. Both say something about one difference,
q_i - q_j: the logit of p_ij in one order, minus that of p_ji in the other. `shared` is the
correlation of their errors as such statements,

    corr(e_ij, -e_ji) = shared,    -1 <= shared <= 1.

Above zero it is the share of the noise variance that is an error about the items, the same in both
orders: averaging the two does not remove it, and at 1 the second order tells nothing new. Below
zero it is, without its sign, the share that is an error about the place, a position bias that
differs from pair to pair: averaging both orders removes it, at -1 all of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons


def simulated_answers(
    difference: ArrayLike,
    *,
    sharpness: float | Floats = 1.0,
    bias: float | Floats = 0.0,
    noise: float | Floats = 0.0,
    e: np.random.Generator | ArrayLike = 0.0,
) -> Floats:
    """Probabilities sigma(sharpness * difference + bias + noise * e) that the first is better.

    difference : quality of the item shown first less that of the other, of any shape; the
        other arguments broadcast against it.
    sharpness : logits per unit of quality. bias : logits added for the item shown first.
    noise : standard deviation of a normal term in the logit.
    e : the standard normal numbers, or the random stream that they are drawn from, one for each
        difference; none by default. Drawn ones are independent; see `correlated`.
    """
    return np.asarray(expit(_logits(np.asarray(difference), sharpness, bias, noise, e)))


def correlated(e: ArrayLike, other: ArrayLike, shared: float) -> Floats:
    """Errors of calls whose two orders correlate: corr(e_ij, -e_ji) = shared.

    e, other : independent standard normal numbers of the calls and of the same pairs in the other
        order. The result is standard normal again, and `e` itself where `shared` is zero.
    """
    if not -1.0 <= shared <= 1.0:
        raise ValueError(f"shared is a correlation, so it cannot be {shared}")
    # (e + other) / sqrt 2 is about the place, (e - other) / sqrt 2 about the items; their variances
    # become 1 - shared and 1 + shared.
    place, items = np.sqrt(1.0 - shared), np.sqrt(1.0 + shared)
    return np.asarray((place + items) * np.asarray(e) + (place - items) * np.asarray(other)) / 2.0


class SimulatedJudge:
    """Answers p = sigmoid(sharpness * (q_first - q_second) + bias + noise).

    Parameters
    ----------
    quality : (..., N) perceived qualities q, one set a context
    sharpness : logits per unit of quality
    bias
        Logits added for the item shown first; the first-position rate between equal items is
        sigmoid(bias) without noise.
    noise
        Standard deviation of a normal term in the logit, drawn once for each ordered pair, so that
        asking again gives the same answer, as an LLM at temperature zero does.
    shared
        Correlation of the errors that the two orders of a pair make about their difference, -1 to
        1, as in the module; by default they err independently.
    seed : of the noise: a number, or a random stream, which is drawn from only if there is noise

    Examples
    --------
    >>> judging.SimulatedJudge([1.0, 0.0], sharpness=2).answer([(0, 1)]).round(2)  # sigmoid(2)
    array([0.88])
    """

    def __init__(
        self,
        quality: ArrayLike,
        *,
        sharpness: float = 1.0,
        noise: float = 0.0,
        bias: float = 0.0,
        shared: float = 0.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.quality = np.asarray(quality, dtype=float)
        if self.quality.ndim < 1 or not np.isfinite(self.quality).all():
            raise ValueError("quality must be an array of finite numbers, items in the last axis")
        if noise < 0:
            raise ValueError(f"noise is a standard deviation, so it cannot be {noise}")
        difference = self.quality[..., :, None] - self.quality[..., None, :]
        e: Floats | float = 0.0
        if noise:
            e = np.random.default_rng(seed).standard_normal(difference.shape)
            e = correlated(e, np.swapaxes(e, -1, -2), shared) if shared else e
        self.logits = _logits(difference, sharpness, bias, noise, e)
        own = np.arange(self.quality.shape[-1])
        self.logits[..., own, own] = np.nan

    def matrix(self) -> Floats:
        """(..., N, N) answers, row shown first; the diagonal is NaN."""
        return np.asarray(expit(self.logits))

    def answer(self, pairs: Indices) -> Floats:
        """Probabilities for (..., K, 2) positions (first, second): (..., K).

        Leading axes broadcast against those of the quality: many sets of pairs for one
        context, one set for many contexts, or a set for each.
        """
        n, pairs = self.logits.shape[-1], np.asarray(pairs)
        if pairs.size and not 0 <= pairs.min() <= pairs.max() < n:
            raise IndexError(f"positions of {n} items lie in 0..{n - 1}")
        flat = self.logits.reshape(*self.logits.shape[:-2], n * n)
        cell = pairs[..., 0] * n + pairs[..., 1]
        lead = np.broadcast_shapes(flat.shape[:-1], cell.shape[:-1])
        flat = np.broadcast_to(flat, (*lead, n * n))
        cell = np.broadcast_to(cell, (*lead, cell.shape[-1]))
        return np.asarray(expit(np.take_along_axis(flat, cell, -1)))

    def compare(self, pairs: Indices, *, items: Sequence[Any] | None = None) -> Comparisons:
        """The answers as `Comparisons`, for a judge of a single context."""
        if self.quality.ndim != 1:
            raise ValueError("compare() is for one context; use answer() for several")
        n = len(self.quality)
        return Comparisons.from_pairs(pairs, self.answer(pairs), items=items or n)


def _logits(
    difference: Floats,
    sharpness: float | Floats,
    bias: float | Floats,
    noise: float | Floats,
    e: np.random.Generator | ArrayLike,
) -> Floats:
    if isinstance(e, np.random.Generator):
        e = e.standard_normal(difference.shape)
    return np.asarray(sharpness * difference + bias + noise * np.asarray(e))
