"""The Gaussian expert: linear mean and constant variance, given functions, or fitted ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Floats
from poe.experts.base import AroundMean, OfP, require_positive
from poe.experts.curves import fit_curves


@dataclass(frozen=True)
class Gaussian(AroundMean):
    """Normal(d; f_mu(p), f_sigma(p)), paper section 3.3; book eq. 5.5.

    By default the linear mean and constant variance of paper section 3.4:
    f_mu(p) = alpha (p - 1/2), f_sigma(p) = sigma^2 (book eq. 5.6). Give `mean` and `variance`, two
    functions of p, for the general case, or fit them: `Gaussian.from_labels`. The paper's beta
    is the bias of `poe.fit`: d - gamma around alpha (p - 1/2) is d around alpha (p - beta),
    beta = 1/2 - gamma/alpha.

    `sigma` does not move the scores; None lets `poe.fit` estimate it from the residuals.
    """

    alpha: float = 1.0
    sigma: float | None = None
    mean: OfP | None = None
    variance: OfP | None = None
    name: str = "gaussian"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)
        if self.sigma is not None and not self.sigma > 0:
            raise ValueError(f"sigma must be positive or None, not {self.sigma}")

    @classmethod
    def from_labels(
        cls,
        p: ArrayLike,
        differences: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        bins: int | None = None,
        symmetric: bool = False,
        constant_variance: bool = False,
    ) -> Gaussian:
        """Fit f_mu and f_sigma to labelled comparisons (paper 3.3, eqs. 5 and 6; A.10, Fig. 10).

        p : (K,) probabilities. differences : (K,) label of first minus label of second.
        weight : (K,) positive. bins : groups of equal weight along p; by default one for every
        25 comparisons, at most 20. symmetric : whether the order shown is known not to matter,
        so that f_mu(1 - p) = -f_mu(p) and f_sigma(1 - p) = f_sigma(p).
        constant_variance : one variance for every p (paper 3.4, assumption 1).

        In each bin the mean difference and the variance about the curve are the paper's local
        means. The means are made monotone by isotonic regression and joined by a monotone cubic;
        the variances are joined by a cubic in their logarithm. Scores then come in the unit of
        the labels. Raises ValueError for labels too few or too uniform to say anything.
        """
        mean, variance = fit_curves(
            p,
            differences,
            weight=weight,
            bins=bins,
            symmetric=symmetric,
            constant_variance=constant_variance,
        )
        return cls(mean=mean, variance=variance)

    def f_sigma(self, p: Floats) -> Floats:
        """Variance of the difference given p (paper eq. 6)."""
        if self.variance is not None:
            return self.variance(p)
        return np.full_like(p, 1.0 if self.sigma is None else self.sigma**2)

    def energy(self, d: Floats, p: Floats) -> Floats:
        """(d - f_mu)^2 / (2 f_sigma)."""
        return (d - self.f_mu(p)) ** 2 / (2.0 * self.f_sigma(p))

    def slope(self, d: Floats, p: Floats) -> Floats:
        """(d - f_mu) / f_sigma: a spring."""
        return (d - self.f_mu(p)) / self.f_sigma(p)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """1 / f_sigma: the precision."""
        return np.broadcast_to(1.0 / self.f_sigma(p), d.shape)

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log(2 pi f_sigma) / 2."""
        return -self.energy(d, p) - 0.5 * np.log(2.0 * np.pi * self.f_sigma(p))
