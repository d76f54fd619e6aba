"""The Davidson expert: Bradley-Terry for a judge that may also say that it is a tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from poe.arrays import Floats
from poe.experts.base import named
from poe.experts.ties import Tied


@named
@dataclass(frozen=True)
class Davidson(Tied):
    """exp((p - 1/2) d) / (e^(d/2) + e^(-d/2) + nu) / Z(p): ties modelled (Davidson 1970).

    P(win) : P(tie) : P(loss) = e^(d/2) : nu : e^(-d/2), so that p of 1, 1/2 and 0 are the three
    outcomes, and any other p their mean. nu = 0 is Bradley-Terry, with a tie as half a win. Without
    a number `poe.fit` finds nu (`with_ties`), which errors then take as given.
    """

    nu: float | None = None
    name: str = "davidson"
    symbol: ClassVar[str] = "nu"
    largest: ClassVar[float] = 15.0

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

    def ties(self, p: Floats) -> Floats:
        """One for a p of exactly 1/2; any other is part win, part loss."""
        return (p == 0.5).astype(float)

    def too_many(self, d: Floats, p: Floats) -> Floats:
        """How many more ties are expected than there are."""
        _, tie, total = self._parts(d)
        return tie / total - self.ties(p)
