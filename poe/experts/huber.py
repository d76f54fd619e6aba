"""The expert whose force on an outlier is that on a fair-sized misfit (Huber 1964)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from poe.arrays import Floats, OfP
from poe.experts.base import AroundMean, named, require_positive


@named
@dataclass(frozen=True)
class Huber(AroundMean):
    """A spring up to a misfit of delta sigma, a constant force beyond (Huber 1964).

    With u = (d - f_mu(p)) / sigma the energy is u^2 / 2 for |u| <= delta and
    delta |u| - delta^2 / 2 beyond: Gaussian for a large delta, Laplacian for a small one. Here
    sigma does move the scores: it says which misfits are outliers, in units of d. With
    alpha = 1 differences lie between -1/2 and 1/2, hence the default of 0.2.
    """

    alpha: float = 1.0
    sigma: float = 0.2
    delta: float = 1.345
    mean: OfP | None = None
    name: str = "huber"

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, sigma=self.sigma, delta=self.delta)

    def _misfit(self, d: Floats, p: Floats) -> Floats:
        return (d - self.f_mu(p)) / self.sigma

    def energy(self, d: Floats, p: Floats) -> Floats:
        """u^2 / 2 inside, delta |u| - delta^2 / 2 outside."""
        u = np.abs(self._misfit(d, p))
        inside = np.minimum(u, self.delta)
        return inside * (u - 0.5 * inside)

    def slope(self, d: Floats, p: Floats) -> Floats:
        """The misfit u / sigma, held between -delta / sigma and delta / sigma."""
        return np.clip(self._misfit(d, p), -self.delta, self.delta) / self.sigma

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """1 / sigma^2 inside; a tenth of slope / (d - f_mu) outside, where there is none.

        Newton's method cannot divide by zero. With slope / (d - f_mu) every step goes down but
        convergence is slow; a tenth of it is faster and leaves what may be too long a step to
        the solver's line search.
        """
        u = np.abs(self._misfit(d, p))
        return np.where(u <= self.delta, 1.0, 0.1 * self.delta / u.clip(self.delta)) / self.sigma**2

    def second_derivative(self, d: Floats, p: Floats) -> Floats:
        """1 / sigma^2 inside, nothing outside."""
        return (np.abs(self._misfit(d, p)) <= self.delta) / self.sigma**2

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log of sigma times the areas of bell and tails."""
        bell = np.sqrt(2.0 * np.pi) * (2.0 * ndtr(self.delta) - 1.0)
        tails = 2.0 * np.exp(-0.5 * self.delta**2) / self.delta
        return -self.energy(d, p) - np.log(self.sigma * (bell + tails))
