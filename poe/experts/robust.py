"""Two experts that give up on outliers: Huber softly, Student-t altogether."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, ndtr

from poe.comparisons import Floats
from poe.experts.base import AroundMean, OfP, require_positive

__all__ = ["Huber", "StudentT"]


@dataclass(frozen=True)
class Huber(AroundMean):
    """A spring up to a misfit of delta sigma, a constant pull beyond (Huber 1964).

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
    convex: ClassVar[bool] = True

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
        convergence is slow (see `StudentT`); a tenth of it is faster and leaves what may be too
        long a step to the solver's line search.
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


@dataclass(frozen=True)
class StudentT(AroundMean):
    """Student's t around f_mu(p) with `nu` degrees of freedom and scale `sigma`.

    The energy, (nu + 1) / 2 log(1 + u^2 / nu) with u = (d - f_mu) / sigma, is NOT convex: an
    expert pulls the less the further off it is, so groups of experts may settle in more than
    one place. The mode that a solver returns is a local one and depends on where it starts
    (`convex` is False, so that callers can say so). As with `Huber`, sigma moves the scores.
    """

    alpha: float = 1.0
    sigma: float = 0.2
    nu: float = 4.0
    mean: OfP | None = None
    name: str = "student-t"
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, sigma=self.sigma, nu=self.nu)

    def _misfit(self, d: Floats, p: Floats) -> Floats:
        return (d - self.f_mu(p)) / self.sigma

    def energy(self, d: Floats, p: Floats) -> Floats:
        """(nu + 1) / 2 log(1 + u^2 / nu)."""
        return 0.5 * (self.nu + 1.0) * np.log1p(self._misfit(d, p) ** 2 / self.nu)

    def slope(self, d: Floats, p: Floats) -> Floats:
        """(nu + 1) u / (nu + u^2) / sigma: strongest at |u| = sqrt(nu), then fading."""
        return (d - self.f_mu(p)) * self._weight(d, p)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """The second derivative, but at least half of slope / (d - f_mu), which is positive.

        The energy is concave in u^2. So the parabola of curvature slope / (d - f_mu) that
        touches it at d lies above it everywhere, and going to the lowest point of the sum of all
        parabolas never raises the energy: iteratively reweighted least squares. Nor does a step
        of up to twice that length, which is why half the curvature will do and is faster.
        """
        return np.maximum(self.second_derivative(d, p), 0.5 * self._weight(d, p))

    def _weight(self, d: Floats, p: Floats) -> Floats:
        """(nu + 1) / (nu + u^2) / sigma^2 = slope / (d - f_mu)."""
        return (self.nu + 1.0) / (self.nu + self._misfit(d, p) ** 2) / self.sigma**2

    def second_derivative(self, d: Floats, p: Floats) -> Floats:
        """The curvature proper: negative beyond |u| = sqrt(nu)."""
        u2 = self._misfit(d, p) ** 2
        return (self.nu + 1.0) * (self.nu - u2) / (self.nu + u2) ** 2 / self.sigma**2

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy plus log of Gamma((nu + 1) / 2) / (Gamma(nu / 2) sqrt(pi nu) sigma)."""
        constant = gammaln(0.5 * (self.nu + 1.0)) - gammaln(0.5 * self.nu)
        return -self.energy(d, p) + constant - np.log(self.sigma * np.sqrt(np.pi * self.nu))
