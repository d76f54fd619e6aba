"""The Thurstone expert: Bradley-Terry with a normal in the place of the logistic curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri

from poe.arrays import Floats
from poe.experts.base import Expert, named


@named
@dataclass(frozen=True)
class Thurstone(Expert):
    """Phi(d)^p Phi(-d)^(1 - p) / Z(p): the probit expert (Thurstone 1927, case V).

    A judge who compares two qualities, each perceived with normal noise of variance 1/2,
    prefers the first with probability Phi(d). p may be a probability (soft) or a decision
    (hard). Z(p) has no closed form; it is integrated to a relative 1e-9.
    """

    name: str = "thurstone"

    def energy(self, d: Floats, p: Floats) -> Floats:
        """-p log Phi(d) - (1 - p) log Phi(-d)."""
        return -p * log_ndtr(d) - (1.0 - p) * log_ndtr(-d)

    def slope(self, d: Floats, p: Floats) -> Floats:
        """-p m(d) + (1 - p) m(-d), m = phi / Phi."""
        return -p * _ratio(d) + (1.0 - p) * _ratio(-d)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """-p m'(d) - (1 - p) m'(-d), m' = -m (m + d): between 0 and 1."""
        return p * _fall(d) + (1.0 - p) * _fall(-d)

    def opinion(self, p: Floats) -> Floats:
        """The difference at which the density peaks: Phi^-1(p)."""
        return ndtri(p)


def _ratio(d: Floats) -> Floats:
    """phi(d) / Phi(d), accurate in both tails."""
    return np.sqrt(2.0 / np.pi) / erfcx(-d / np.sqrt(2.0))


def _fall(d: Floats) -> Floats:
    """The product m (m + d) for m = phi / Phi, which falls from 1 to 0."""
    m = _ratio(d)
    # m + d cancels far to the left, where the product is 1 - 1/d^2 + O(1/d^4).
    far = d < -1e3
    return np.where(far, 1.0 - 1.0 / np.where(far, d, 1.0) ** 2, m * (m + d))
