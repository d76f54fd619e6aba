"""Experts: densities over a score difference d = s_first - s_second, given p.

An expert is four functions of (d, p), elementwise: its energy (minus the log-density up
to a constant), the energy's slope and curvature in d, and the normalised log-density. The
slope says how hard the expert pulls, the curvature how sure it is. The solvers, the
posterior and the plots use nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import expit

from poe.comparisons import Floats


@runtime_checkable
class Expert(Protocol):
    """What a solver asks of an expert; d and p are arrays of one shape.

    A method `mean_bias(mean_p)`, the shift at which that mean probability means no
    difference, is needed only for `poe.fit(..., bias="mean")`.
    """

    def energy(self, d: Floats, p: Floats) -> Floats:
        """Minus the log-density up to a constant that does not depend on d."""
        ...

    def slope(self, d: Floats, p: Floats) -> Floats:
        """First derivative of the energy in d."""
        ...

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """Second derivative of the energy in d; never negative."""
        ...

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """Log of the density, normalised over d."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Normal(d; f_mu(p), f_sigma(p)), paper section 3.3; book eq. 5.5.

    By default the linear mean and constant variance of paper section 3.4:
    f_mu(p) = alpha (p - 1/2), f_sigma(p) = sigma^2 (book eq. 5.6). Give `mean` and `variance`, two
    functions of p, for the general case. The paper's beta is the bias of `poe.fit`:
    d - gamma around alpha (p - 1/2) is d around alpha (p - beta), beta = 1/2 - gamma/alpha.

    `sigma` does not move the scores; None lets `poe.fit` estimate it from the residuals.
    """

    alpha: float = 1.0
    sigma: float | None = None
    mean: Callable[[Floats], Floats] | None = None
    variance: Callable[[Floats], Floats] | None = None
    name: str = "gaussian"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueError(f"alpha must be positive, not {self.alpha}")
        if self.sigma is not None and not self.sigma > 0:
            raise ValueError(f"sigma must be positive or None, not {self.sigma}")

    def f_mu(self, p: Floats) -> Floats:
        """Expected difference given p (paper eq. 5)."""
        return self.alpha * (p - 0.5) if self.mean is None else self.mean(p)

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

    def mean_bias(self, mean_p: float) -> float:
        """Gamma = -f_mu(E[p]): for the linear mean alpha (1/2 - beta), beta = E[p] (eq. 12)."""
        return -float(self.f_mu(np.array([mean_p]))[0])


@dataclass(frozen=True)
class BradleyTerry:
    """sigma(d)^p (1 - sigma(d))^(1 - p) / Z, paper section 3.2 and eq. 45; book eq. 5.4.

    Soft for 0 < p < 1, where Z = pi / sin(pi p). With p = 1 (or 0) it is the ordinary
    Bradley-Terry likelihood of a win (or a loss), which no constant normalises over d.
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
        return expit(d) * expit(-d)

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log(pi / sin(pi p)); minus infinity for p of 0 or 1."""
        proper = (p > 0.0) & (p < 1.0)
        z = np.pi / np.sin(np.pi * np.where(proper, p, 0.5))
        return np.where(proper, -self.energy(d, p) - np.log(z), -np.inf)

    def mean_bias(self, mean_p: float) -> float:
        """Gamma = -logit(E[p]) (paper section 3.5, eqs. 74 and 75)."""
        if not 0.0 < mean_p < 1.0:
            raise ValueError(f"the mean probability is {mean_p:g}: no finite bias explains it")
        return float(np.log1p(-mean_p) - np.log(mean_p))


def get_expert(expert: str | Expert) -> Expert:
    """The expert of that name, or the object itself when it is one already."""
    if not isinstance(expert, str):
        missing = [
            part
            for part in ("energy", "slope", "curvature", "log_density")
            if not callable(getattr(expert, part, None))
        ]
        if missing:
            raise TypeError(f"an expert needs {', '.join(missing)} as functions of (d, p)")
        return expert
    known: dict[str, Expert] = {"gaussian": Gaussian(), "bradley-terry": BradleyTerry()}
    if expert not in known:
        raise ValueError(f"no expert is called {expert!r}; choose from {', '.join(known)}")
    return known[expert]
