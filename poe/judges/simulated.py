"""A simulated judge, for experiments whose truth is known. It is not an LLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from poe.comparisons import Comparisons, Floats, Indices


class SimulatedJudge:
    """Answers p = sigmoid(sharpness * (q_first - q_second) + bias + noise).

    quality : (..., N) perceived qualities q, one set a context.
    sharpness : logits per unit of quality.
    bias : logits added for the item shown first; the first-position rate between equal
        items is sigmoid(bias) without noise.
    noise : standard deviation of a normal term in the logit, drawn once for each ordered pair, so
        that asking again gives the same answer, as an LLM at temperature zero does, and the
        two orders of a pair err independently.
    seed : of the noise.
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
        n = self.quality.shape[-1]
        shape = (*self.quality.shape, n)
        self.logits = sharpness * (self.quality[..., :, None] - self.quality[..., None, :]) + bias
        if noise:
            self.logits += noise * np.random.default_rng(seed).standard_normal(shape)
        self.logits[..., np.arange(n), np.arange(n)] = np.nan

    def matrix(self) -> Floats:
        """(..., N, N) answers, row shown first; the diagonal is NaN."""
        return expit(self.logits)

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
        return expit(np.take_along_axis(flat, np.broadcast_to(cell, (*lead, cell.shape[-1])), -1))

    def compare(self, pairs: Indices, *, items: Sequence[Any] | None = None) -> Comparisons:
        """The answers as `Comparisons`, for a judge of a single context."""
        if self.quality.ndim != 1:
            raise ValueError("compare() is for one context; use answer() for several")
        n = len(self.quality)
        return Comparisons.from_pairs(pairs, self.answer(pairs), items=items or n)
