"""The Gaussian expert: a linear mean and a constant variance, or functions of p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from poe.arrays import Floats, OfP
from poe.experts.base import NAMED, AroundMean, named, require_positive

CERTAIN = 1e-3  # a probability nearer to 0 or 1 counts as this far away


def log_odds(p: Floats) -> Floats:
    """Logit of p, with p kept within 0.001 to 0.999: a mean f_mu on the scale of Bradley-Terry.

    An answer of 0 or 1 has no logit, and one of 1e-9 would outweigh all others.
    """
    return np.asarray(logit(np.clip(p, CERTAIN, 1.0 - CERTAIN)))


@named
@dataclass(frozen=True)
class Gaussian(AroundMean):
    """Normal(d; f_mu(p), f_sigma(p)), paper section 3.3; book eq. 5.5.

    By default the linear mean and constant variance of paper section 3.4:
    f_mu(p) = alpha (p - 1/2), f_sigma(p) = sigma^2 (book eq. 5.6). Give `mean` and `variance`, two
    functions of p, for the general case (paper eqs. 5 and 6); `log_odds` is a mean. The paper's
    beta is the bias of `poe.fit`: d - gamma around alpha (p - 1/2) is d around alpha (p - beta),
    beta = 1/2 - gamma/alpha.

    `sigma` does not move the scores; None lets `poe.fit` estimate it from the residuals.

    Examples
    --------
    >>> poe.Gaussian(sigma=2.0).energy(np.array([1.0]), np.array([0.5]))  # 1 / (2 sigma^2)
    array([0.125])
    """

    alpha: float = 1.0
    sigma: float | None = None
    mean: OfP | None = None
    variance: OfP | None = None
    name: str = "gaussian"

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, sigma=self.sigma)

    def f_sigma(self, p: Floats) -> Floats:
        """Variance of the difference given p (paper eq. 6)."""
        return np.full(np.shape(p), self._variance(p), dtype=float)

    def _variance(self, p: Floats) -> Any:
        """f_sigma, one number where it is constant."""
        if self.variance is not None:
            return self.variance(p)
        return 1.0 if self.sigma is None else self.sigma**2

    def energy(self, d: Floats, p: Floats) -> Floats:
        """(d - f_mu)^2 / (2 f_sigma)."""
        return (d - self.f_mu(p)) ** 2 / (2.0 * self._variance(p))

    def slope(self, d: Floats, p: Floats) -> Floats:
        """(d - f_mu) / f_sigma: a spring."""
        return (d - self.f_mu(p)) / self._variance(p)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """1 / f_sigma: the precision."""
        return np.broadcast_to(1.0 / self._variance(p), d.shape)

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log(2 pi f_sigma) / 2."""
        return -self.energy(d, p) - 0.5 * np.log(2.0 * np.pi * self.f_sigma(p))


NAMED["logit-gaussian"] = lambda: Gaussian(mean=log_odds)
