"""The Davidson expert: Bradley-Terry for a judge that may also say that it is a tie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from poe.arrays import Floats
from poe.errors import SeparableError
from poe.experts.base import Expert, named

LARGEST = 15.0  # log nu: a tie three million times as likely as a win, between equals


@named
@dataclass(frozen=True)
class Davidson(Expert):
    """exp((p - 1/2) d) / (e^(d/2) + e^(-d/2) + nu) / Z(p): ties modelled (Davidson 1970).

    P(win) : P(tie) : P(loss) = e^(d/2) : nu : e^(-d/2), so that p of 1, 1/2 and 0 are the three
    outcomes, and any other p their mean. nu = 0 is Bradley-Terry, with a tie as half a win. Without
    a number `poe.fit` finds nu (`with_ties`), which errors then take as given.
    """

    nu: float | None = None
    name: str = "davidson"

    def _parts(self, d: Floats) -> tuple[Floats, Floats, Floats]:
        """e^(-|d|/2), nu times that, and the sum of all three outcomes, times that."""
        e = np.exp(-0.5 * np.abs(d))
        tie = e * (1.0 if self.nu is None else self.nu)
        return e, tie, 1.0 + e * e + tie

    def energy(self, d: Floats, p: Floats) -> Floats:
        """log(e^(d/2) + e^(-d/2) + nu) - (p - 1/2) d."""
        return np.log(self._parts(d)[2]) + 0.5 * np.abs(d) - (p - 0.5) * d

    def slope(self, d: Floats, p: Floats) -> Floats:
        """P(win) + P(tie) / 2 - p."""
        e, _, total = self._parts(d)
        return 0.5 * np.sign(d) * (1.0 - e * e) / total - (p - 0.5)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """The variance of one answer p."""
        e, tie, total = self._parts(d)
        return (0.25 * tie * (1.0 + e * e) + e * e) / total**2


def with_ties(p: Floats, weight: Floats, fit: Callable[..., Any]) -> Davidson:
    """The expert of the nu of largest likelihood: as many ties are expected as there are.

    fit : with the scores of an expert. The likelihood is concave in scores and log nu together, so
    there is one such nu; 0 without a p of exactly 1/2. ValueError where there is nothing else,
    SeparableError where all wins and losses agree with one order, which ties only refine.
    """
    tied = p == 0.5
    if tied.all():
        raise ValueError("all answers are ties, so nu is infinite; give it, Davidson(nu=...)")

    def missing(log_nu: float) -> float:
        found = fit(expert=(one := Davidson(float(np.exp(log_nu)))))
        _, tie, total = one._parts(found.fitted_differences[found.real])
        return float(weight @ (tie / total - tied))

    if not tied.any():
        return Davidson(0.0)
    if missing(LARGEST) <= 0.0:
        raise SeparableError(
            "no answer contradicts another once ties are modelled, so scores and nu are infinite; "
            "give a prior, or nu, Davidson(nu=...), or make more comparisons",
            reason="ties alone separate the items",
        )
    return Davidson(float(np.exp(brentq(missing, -LARGEST, LARGEST, xtol=1e-9))))
