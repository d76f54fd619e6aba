"""An expert of your own from a function or two: what is left out is computed, the rest checked."""

from __future__ import annotations

import numpy as np

from poe.arrays import Floats, OfBoth, OfP
from poe.experts.base import Expert
from poe.experts.check import ExpertError, check_expert

ROUNDING = 1e-14  # of a function whose differences are taken


class Custom(Expert):
    """The expert that `custom` builds; what is not given is the default of every expert."""

    def __init__(self, name: str, convex: bool, **functions: OfBoth | OfP) -> None:
        self.name, self.convex = name, convex
        vars(self).update(functions)

    def __repr__(self) -> str:
        return f"custom expert {self.name!r}"


def custom(
    energy: OfBoth,
    slope: OfBoth | None = None,
    curvature: OfBoth | None = None,
    *,
    log_density: OfBoth | None = None,
    opinion: OfP | None = None,
    convex: bool = True,
    name: str = "custom",
) -> Custom:
    """An expert from its energy, a function of the difference d and the probability p.

    energy(d, p) : minus the log-density up to a constant in d. d and p are arrays of one shape
        and the result has it too, element by element; a constant may be returned as a number.
    slope, curvature : its first and second derivative in d. What is left out is computed by
        finite differences (of fourth order, with steps of 0.001 and 0.01: meant for energies
        that change over distances of 0.1 to 10 in d; give the slope where you can).
    log_density : the normalised log-density, by default -energy minus the log of the integral,
        found by quadrature; -inf for a p whose density cannot be normalised.
    opinion : the difference at which the energy is lowest, as a function of p; searched for by
        default. `poe.fit(bias="mean")` uses it.
    convex : False if the energy is not convex. Then give as curvature any number that is not
        negative, such as slope / (d - opinion); the mode that is found is a local one.

    Everything is checked on a grid of d and p, see `check_expert`; ExpertError names the
    function, the point, what it gives there and what was expected.

    Examples
    --------
    The force of an answer that is far off should not exceed a certain bound. The energy
    log cosh(d - logit p) is a spring nearby and a constant force far away:

    >>> import numpy as np
    >>> import poe
    >>> from scipy.special import logit
    >>> def energy(d, p):
    ...     return np.logaddexp(d - logit(p), logit(p) - d)
    >>> def slope(d, p):
    ...     return np.tanh(d - logit(p))
    >>> gentle = poe.experts.custom(energy, slope, name="log-cosh")
    >>> c = poe.Comparisons(
    ...     first=["a", "b", "c", "a"], second=["b", "c", "a", "c"], p=[0.9, 0.8, 0.3, 0.6]
    ... )
    >>> poe.fit(c, gentle).ranking()
    ['a', 'b', 'c']
    """
    energy = _full(energy)
    first = _full(slope) if slope is not None else _difference(energy, 1e-3)
    if curvature is not None:
        second = _full(curvature)
    elif not convex:
        raise ExpertError(
            f"expert {name!r}: with convex=False give a curvature that is not negative, such as "
            "slope(d, p) / (d - opinion(p)); the second derivative would not do"
        )
    else:
        second = _difference(first, 1e-3) if slope is not None else _second_difference(energy, 1e-2)
        of, unit = (first, 1e-3) if slope is not None else (energy, 1e-4)
        second = _above_rounding(second, of, ROUNDING / unit)
    functions: dict[str, OfBoth | OfP] = {"energy": energy, "slope": first, "curvature": second}
    if log_density is not None:
        functions["log_density"] = _full(log_density)
    if opinion is not None:
        functions["opinion"] = opinion
    made = Custom(name, convex, **functions)
    check_expert(made)
    return made


def _full(function: OfBoth) -> OfBoth:
    """The function, with a constant result spread over all elements."""

    def spread(d: Floats, p: Floats) -> Floats:
        value = np.asarray(function(d, p))
        return np.full(np.shape(d), value[()]) if value.shape == () else value

    return spread


def _above_rounding(curvature: OfBoth, of: OfBoth, share: float) -> OfBoth:
    """The curvature, or where it is less what rounding of a function makes of it."""

    def at_least_noise(d: Floats, p: Floats) -> Floats:
        value, noise = curvature(d, p), share * np.abs(of(d, p))
        return np.where(np.abs(value) < noise, noise, value)

    return at_least_noise


def _difference(function: OfBoth, h: float) -> OfBoth:
    """First derivative in d by four points."""

    def derivative(d: Floats, p: Floats) -> Floats:
        near = function(d + h, p) - function(d - h, p)
        far = function(d + 2.0 * h, p) - function(d - 2.0 * h, p)
        return (8.0 * near - far) / (12.0 * h)

    return derivative


def _second_difference(function: OfBoth, h: float) -> OfBoth:
    """Second derivative in d by five points."""

    def derivative(d: Floats, p: Floats) -> Floats:
        near = function(d + h, p) + function(d - h, p)
        far = function(d + 2.0 * h, p) + function(d - 2.0 * h, p)
        return (16.0 * near - far - 30.0 * function(d, p)) / (12.0 * h**2)

    return derivative
