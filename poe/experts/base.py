"""What an expert is, and what the experts around a mean share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from poe.comparisons import Floats

__all__ = ["AroundMean", "Expert", "OfP", "require_positive"]

OfP = Callable[[Floats], Floats]  # a function of the probability, elementwise


@runtime_checkable
class Expert(Protocol):
    """What a solver asks of an expert; d and p are arrays of one shape.

    A method `mean_bias(mean_p)`, the shift at which that mean probability means no
    difference, is needed only for `poe.fit(..., bias="mean")`. An attribute `convex`, False
    where the energy is not, warns that a mode may be one of several. An expert whose
    curvature is a stand-in has the true one as `second_derivative(d, p)`.
    """

    def energy(self, d: Floats, p: Floats) -> Floats:
        """Minus the log-density up to a constant that does not depend on d."""
        ...

    def slope(self, d: Floats, p: Floats) -> Floats:
        """First derivative of the energy in d."""
        ...

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """Second derivative of the energy in d; never negative.

        Newton's method divides by it. Where the second derivative is zero or less, any positive
        number in its place keeps the steps downhill.
        """
        ...

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """Log of the density, normalised over d."""
        ...


class AroundMean:
    """What the experts around a mean f_mu(p) share; not an expert by itself."""

    alpha: float
    mean: OfP | None

    def f_mu(self, p: Floats) -> Floats:
        """Expected difference given p (paper eq. 5): `mean`, or alpha (p - 1/2) (paper 3.4)."""
        return self.alpha * (p - 0.5) if self.mean is None else self.mean(p)

    def opinion(self, p: Floats) -> Floats:
        """f_mu(p): the difference at which the density peaks."""
        return self.f_mu(p)

    def mean_bias(self, mean_p: float) -> float:
        """Gamma = -f_mu(E[p]): for the linear mean alpha (1/2 - beta), beta = E[p] (eq. 12)."""
        return -float(self.f_mu(np.array([mean_p]))[0])


def require_positive(**values: float | None) -> None:
    """Raise ValueError naming the first value that is not positive; None passes."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, not {value}")
