"""Simulated judges, for experiments whose truth is known. They are not language models.

All follow one model: shown the items i and j, in this order, the judge answers

    p = sigma(a (q_i - q_j) + b + tau e),    e ~ Normal(0, 1),

q the quality it perceives, a its sharpness, b its position bias, tau its noise.
`simulated_answers` is that formula; `SimulatedJudge` is a judge that repeats itself when asked
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from poe.comparisons import Comparisons, Floats, Indices


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
        difference; none by default.
    """
    return np.asarray(expit(_logits(np.asarray(difference), sharpness, bias, noise, e)))


class SimulatedJudge:
    """Answers p = sigmoid(sharpness * (q_first - q_second) + bias + noise).

    quality : (..., N) perceived qualities q, one set a context.
    sharpness : logits per unit of quality.
    bias : logits added for the item shown first; the first-position rate between equal
        items is sigmoid(bias) without noise.
    noise : standard deviation of a normal term in the logit, drawn once for each ordered pair, so
        that asking again gives the same answer, as an LLM at temperature zero does, and the
        two orders of a pair err independently.
    seed : of the noise: a number, or a random stream, which is drawn from only if there is noise.
    """

    def __init__(
        self,
        quality: ArrayLike,
        *,
        sharpness: float = 1.0,
        noise: float = 0.0,
        bias: float = 0.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.quality = np.asarray(quality, dtype=float)
        if self.quality.ndim < 1 or not np.isfinite(self.quality).all():
            raise ValueError("quality must be an array of finite numbers, items in the last axis")
        if noise < 0:
            raise ValueError(f"noise is a standard deviation, so it cannot be {noise}")
        difference = self.quality[..., :, None] - self.quality[..., None, :]
        e = np.random.default_rng(seed) if noise else 0.0
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
        n = self.logits.shape[-1]
        flat = self.logits.reshape(*self.logits.shape[:-2], n * n)
        cell = np.asarray(pairs)[..., 0] * n + np.asarray(pairs)[..., 1]
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
