"""The Bradley-Terry expert, on probabilities (soft) or decisions (hard)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from poe.arrays import Floats
from poe.experts.base import Expert, named


@named
@dataclass(frozen=True)
class BradleyTerry(Expert):
    """sigma(d)^p (1 - sigma(d))^(1 - p) / Z, paper section 3.2 and eq. 45; book eq. 5.4.

    Soft for 0 < p < 1, where Z = pi / sin(pi p). With p = 1 (or 0) it is the ordinary
    Bradley-Terry likelihood of a win (or a loss), which no constant normalises over d.

    Examples
    --------
    >>> poe.BradleyTerry().slope(np.array([0.0]), np.array([0.9]))  # sigma(0) - p
    array([-0.4])
    """

    name: str = "bradley-terry"

    def energy(self, d: Floats, p: Floats) -> Floats:
        """log(1 + exp(d)) - p d, computed so that it cannot overflow."""
        return np.maximum(d, 0.0) + np.log1p(np.exp(-np.abs(d))) - p * d

    def slope(self, d: Floats, p: Floats) -> Floats:
        """sigma(d) - p: never stronger than 1."""
        return expit(d) - p

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """sigma(d) sigma(-d): at most 1/4, where d = 0 (paper A.5)."""
        tail = np.exp(-np.abs(d))  # one exponential serves both factors
        return tail / (1.0 + tail) ** 2

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log(pi / sin(pi p)); minus infinity for p of 0 or 1."""
        proper = (p > 0.0) & (p < 1.0)
        z = np.pi / np.sin(np.pi * np.where(proper, p, 0.5))
        return np.where(proper, -self.energy(d, p) - np.log(z), -np.inf)

    def opinion(self, p: Floats) -> Floats:
        """logit(p): the difference at which the density peaks."""
        return logit(p)

    def mean_bias(self, mean_p: float) -> float:
        """Gamma = -logit(E[p]) to the last digit, or ValueError where it is infinite."""
        if not 0.0 < mean_p < 1.0:
            return super().mean_bias(mean_p)
        return float(np.log1p(-mean_p) - np.log(mean_p))
