"""The Rao-Kupper expert: a judge that says it is a tie unless it sees a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from poe.arrays import Floats
from poe.experts.base import named
from poe.experts.ties import Tied


@named
@dataclass(frozen=True)
class RaoKupper(Tied):
    """sigma(d - eta)^u sigma(-d - eta)^v / Z(p): ties below a threshold (Rao and Kupper 1967).

    P(win) = sigma(d - eta), P(loss) = sigma(-d - eta), and what is left is a tie, in proportion to
    the product of the two: u, v = min(1, 2 p), min(1, 2 - 2 p) are 1, 0 for a win, 1, 1 for a tie
    and 0, 1 for a loss. Any other p lies between two of these: 0.8 is a win by six tenths, else a
    tie. A prior's wins are ties, of which each here weighs as a win and a loss. Without a number
    `poe.fit` finds eta (`poe.experts.ties`), which errors then take as given.
    """

    eta: float | None = None
    name: str = "rao-kupper"
    symbol: ClassVar[str] = "eta"
    largest: ClassVar[float] = float(np.log(15.0))

    def _parts(self, d: Floats, p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The two arguments, and u and v."""
        eta = 1.0 if self.eta is None else self.eta
        return d - eta, -d - eta, np.minimum(1.0, 2.0 * p), np.minimum(1.0, 2.0 - 2.0 * p)

    def energy(self, d: Floats, p: Floats) -> Floats:
        """-u log sigma(d - eta) - v log sigma(-d - eta)."""
        win, loss, u, v = self._parts(d, p)
        return -u * log_expit(win) - v * log_expit(loss)

    def slope(self, d: Floats, p: Floats) -> Floats:
        """The derivative, v (1 - P(loss)) - u (1 - P(win))."""
        win, loss, u, v = self._parts(d, p)
        return v * expit(-loss) - u * expit(-win)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """The second, u P(win) (1 - P(win)) + v P(loss) (1 - P(loss))."""
        win, loss, u, v = self._parts(d, p)
        return u * expit(win) * expit(-win) + v * expit(loss) * expit(-loss)

    def ties(self, p: Floats) -> Floats:
        """As much as both counts, u + v - 1: one at 1/2, none at 0 and 1."""
        return 1.0 - np.abs(2.0 * p - 1.0)

    def too_many(self, d: Floats, p: Floats) -> Floats:
        """The slope in eta of the energy less the log of e^(2 eta) - 1 for each tie."""
        win, loss, u, v = self._parts(d, p)
        eta = 1.0 if self.eta is None else self.eta
        return u * expit(-win) + v * expit(-loss) + 2.0 * self.ties(p) / np.expm1(-2.0 * eta)
