"""What an expert is, what an expert that is silent on a point is taken to mean, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from poe.arrays import Floats, OfP
from poe.experts.normaliser import log_normaliser, peak

# What `poe.fit` takes by name, filled by the modules that `poe.experts` imports.
NAMED: dict[str, Callable[[], Expert]] = {}


class Expert:
    """What a solver asks of an expert; d and p are arrays of one shape, and results have it too.

    An expert is four functions: energy, slope, curvature and log_density. The rest has a default
    that follows from them, or from the energy being convex, which `convex` says. A class of your
    own with the four functions alone serves as well, derived from this one or not.
    """

    name: str = "expert"
    convex: bool = True  # where it is False, a mode may be one of several

    def energy(self, d: Floats, p: Floats, /) -> Floats:
        """Minus the log-density up to a constant that does not depend on d."""
        raise NotImplementedError

    def slope(self, d: Floats, p: Floats, /) -> Floats:
        """First derivative of the energy in d."""
        raise NotImplementedError

    def curvature(self, d: Floats, p: Floats, /) -> Floats:
        """Second derivative of the energy in d; never negative.

        Newton's method divides by it. Where the second derivative is zero or less, any positive
        number in its place keeps the steps downhill.
        """
        raise NotImplementedError

    def log_density(self, d: Floats, p: Floats, /) -> Floats:
        """Log of the density over d: integrated to 1e-9, or -inf where no constant would do."""
        d, p = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(p, dtype=float))
        return -self.energy(d, p) - log_normaliser(self.energy, p, self.opinion(p))

    def opinion(self, p: Floats, /) -> Floats:
        """The difference at which the energy is lowest; searched for unless an expert knows it."""
        return peak(self.slope)(p)

    def mean_bias(self, mean_p: float) -> float:
        """The shift at which that mean probability means no difference: minus the opinion on it.

        -f_mu(E[p]) for Gaussian experts, -logit(E[p]) for Bradley-Terry (paper section 3.5, eqs.
        12, 74 and 75). ValueError where it is infinite.
        """
        with np.errstate(divide="ignore"):
            gamma = -float(self.opinion(np.array([mean_p]))[0])
        if not np.isfinite(gamma):
            raise ValueError(f"the mean probability is {mean_p:g}: no finite bias explains it")
        return gamma

    def second_derivative(self, d: Floats, p: Floats, /) -> Floats:
        """The energy's own, where `curvature` is a stand-in; by default they are the same."""
        return self.curvature(d, p)

    def information(self, d: Floats, p: Floats, /) -> Floats:
        """Compute what errors take for curvature: the second derivative where it is useful."""
        return self.second_derivative(d, p)

    @property
    def family(self) -> str:
        """The class, for messages."""
        return type(self).__name__


One = TypeVar("One", bound=type[Expert])


def named(one: One) -> One:
    """Enter a class under its `name`, by which `poe.fit` and the command line then take it."""
    NAMED[one.name] = one
    return one


FOUR = ("energy", "slope", "curvature", "log_density")
REST = ("opinion", "mean_bias", "second_derivative", "information", "convex")


class _Adopted(Expert):
    """An object with an expert's functions, and the defaults of those that it lacks."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.name = getattr(own, "name", type(own).__name__)
        # The only place that asks what an expert has: everything else may rely on all of it.
        vars(self).update({part: getattr(own, part) for part in FOUR + REST if hasattr(own, part)})

    def __repr__(self) -> str:
        return repr(self._own)

    @property
    def family(self) -> str:
        return type(self._own).__name__


def adopted(own: Any) -> Expert:
    """An `Expert` as it is; any other object with the four functions, made into one.

    TypeError naming the functions that are missing.
    """
    if isinstance(own, Expert):
        return own
    missing = [part for part in FOUR if not callable(getattr(own, part, None))]
    if missing:
        raise TypeError(
            f"an expert needs {', '.join(missing)} as functions of (d, p); "
            "poe.experts.custom makes one from an energy alone"
        )
    return _Adopted(own)


class AroundMean(Expert):
    """What the experts around a mean f_mu(p) share; not an expert by itself."""

    alpha: float
    mean: OfP | None

    def f_mu(self, p: Floats) -> Floats:
        """Expected difference given p (paper eq. 5): `mean`, or alpha (p - 1/2) (paper 3.4)."""
        return self.alpha * (p - 0.5) if self.mean is None else self.mean(p)

    def opinion(self, p: Floats) -> Floats:
        """f_mu(p): the difference at which the density peaks."""
        return self.f_mu(p)


def require_positive(**values: float | None) -> None:
    """Raise ValueError naming the first value that is not positive; None passes."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, not {value}")
