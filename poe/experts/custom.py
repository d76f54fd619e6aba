"""An expert of your own from a function or two: what is left out is computed, the rest checked.

The check tries the functions on a grid, and derivatives against differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Floats
from poe.experts.base import Expert, OfP

__all__ = ["Custom", "ExpertError", "check_expert", "custom", "log_normaliser"]

OfBoth = Callable[[Floats, Floats], Floats]  # a function of difference and probability

# Uneven on purpose: kinks sit at round numbers, and no rule of thumb should fit by luck.
D = np.concatenate([np.linspace(-6.03, 5.91, 24), [-0.173, -0.0117, 0.0213, 0.191]])
P = np.array([0.043, 0.27, 0.5, 0.81, 0.957])
LOOKED_AT = (0.0, 0.25, 0.75, 1.0)  # quantiles of the probabilities that will be used
STEP = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Custom:
    """The expert that `custom` builds."""

    energy: OfBoth
    slope: OfBoth
    curvature: OfBoth
    log_density: OfBoth
    opinion: OfP
    convex: bool
    name: str

    def mean_bias(self, mean_p: float) -> float:
        """Minus the opinion on the mean probability (paper section 3.5)."""
        gamma = -float(self.opinion(np.array([mean_p]))[0])
        if not np.isfinite(gamma):
            raise ValueError(f"the mean probability is {mean_p:g}: no finite bias explains it")
        return gamma

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
    A judge that is sometimes far off should pull no harder than a certain force. The energy
    log cosh(d - logit p) is a spring nearby and a constant pull far away:

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
    centre = opinion if opinion is not None else _root(first)

    def density(d: Floats, p: Floats) -> Floats:
        d, p = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(p, dtype=float))
        return -energy(d, p) - log_normaliser(energy, p, centre(p))

    made = Custom(
        energy=energy,
        slope=first,
        curvature=second,
        log_density=_full(log_density) if log_density is not None else density,
        opinion=centre,
        convex=convex,
        name=name,
    )
    check_expert(made)
    return made


def _full(function: OfBoth) -> OfBoth:
    """The function, with a constant result spread over all elements."""

    def spread(d: Floats, p: Floats) -> Floats:
        value = np.asarray(function(d, p))
        return np.full(np.shape(d), value[()]) if value.shape == () else value

    return spread


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


def _root(slope: OfBoth) -> OfP:
    """Where the slope changes sign, elementwise in p; infinite where it never does."""

    def root(p: Floats) -> Floats:
        p = np.asarray(p, dtype=float)
        low, high = np.full_like(p, -1.0), np.full_like(p, 1.0)
        with np.errstate(all="ignore"):
            for _ in range(60):
                low = np.where(slope(low, p) >= 0.0, 2.0 * low, low)
                high = np.where(slope(high, p) <= 0.0, 2.0 * high, high)
            for _ in range(120):
                middle = 0.5 * (low + high)
                rising = slope(middle, p) > 0.0
                low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        return np.where(np.abs(middle) < 2.0**50, middle, np.sign(middle) * np.inf)

    return root


def log_normaliser(energy: OfBoth, p: Floats, centre: Floats) -> Floats:
    """Log of the integral of exp(-energy(d, p)) over d, elementwise in p, to a relative 1e-9.

    centre : where the density peaks, one number a p; where it is infinite, so is the integral.
    Either side of the centre is measured in its own width, the distance at which the energy
    has risen by about one, so that narrow, wide and skew densities are the same work.
    Raises ArithmeticError if the integral does not settle.
    """
    from scipy.integrate import quad_vec

    flat, where = np.unique(np.ravel(p), return_inverse=True)
    middle = np.empty_like(flat)
    middle[where] = np.ravel(centre)
    total = np.full_like(flat, np.inf)
    fine = np.flatnonzero(np.isfinite(middle))
    if fine.size:
        q, m = flat[fine], middle[fine]
        low = energy(m, q)
        sides = [(sign, _width(energy, q, m, low, sign)) for sign in (-1.0, 1.0)]
        ok = np.isfinite(sides[0][1]) & np.isfinite(sides[1][1])
        fine, q, m, low = fine[ok], q[ok], m[ok], low[ok]

        def both(u: float) -> Floats:
            parts = [w[ok] * np.exp(low - energy(m + s * w[ok] * u, q)) for s, w in sides]
            return np.asarray(parts[0] + parts[1])

        if fine.size:
            scale = sides[0][1][ok] + sides[1][1][ok]
            options = {"epsabs": 1e-11, "epsrel": 1e-11, "norm": "max", "limit": 500}
            area, error = quad_vec(lambda u: both(u) / scale, 0.0, np.inf, **options)
            if not error < 1e-8:
                raise ArithmeticError("the density cannot be normalised over d")
            total[fine] = np.log(area * scale) - low
    return total[where].reshape(np.shape(p))


def _width(energy: OfBoth, p: Floats, centre: Floats, low: Floats, sign: float) -> Floats:
    """Distance at which the energy is between a half and about four above its lowest."""
    width = np.ones_like(p)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(300):
            rise = energy(centre + sign * width, p) - low
            narrow, wide = rise < 0.5, ~(rise <= 4.0)
            if not (narrow | wide).any():
                break
            width = np.where(narrow, 2.0 * width, np.where(wide, width / 2.0, width))
    # An energy that has not risen after so many doublings never will.
    return np.where(rise < 0.5, np.inf, width)


# Is this an expert? --------------------------------------------------------------------------


class ExpertError(ValueError):
    """An expert's functions do not fit together; the message says which, where and how."""


def check_expert(expert: Expert, *, p: ArrayLike | None = None) -> None:
    """Raise ExpertError unless the four functions of an expert fit together.

    On a grid of differences d in [-6, 6] and probabilities p (five between 0.04 and 0.96, and a
    few of `p`, the probabilities that will be used) it looks at whether

    - energy, slope, curvature and log_density take arrays and return one finite number for each
      element (log_density may be -inf);
    - slope is the derivative of the energy, and curvature that of the slope, by finite
      differences; an expert with a `second_derivative`, which is then compared in its place, or
      with `convex = False` may have any curvature that is not negative;
    - the curvature is nowhere negative and not zero everywhere;
    - log_density + energy does not depend on d.

    Costs a few hundred evaluations of each function.
    """
    used = [] if p is None else np.quantile(np.asarray(p, dtype=float), LOOKED_AT, method="nearest")
    tried = np.unique(np.append(P, used))
    d, q = (axis.ravel() for axis in np.meshgrid(D, tried, indexing="ij"))
    curvature = _values(expert, "curvature", d, q)
    _same_derivative(expert, "slope", "energy", d, q)
    if hasattr(expert, "second_derivative"):
        _same_derivative(expert, "second_derivative", "slope", d, q)
    elif getattr(expert, "convex", True):
        _same_derivative(expert, "curvature", "slope", d, q)
    negative = curvature < -1e-9 * np.abs(curvature).max()
    if negative.any():
        why = (
            f"curvature is {curvature.min():.6g}, but the solver needs it nowhere negative: the "
            "energy is not convex there. Choose a convex energy, or set convex=False and give as "
            "curvature a positive stand-in such as slope / (d - opinion); the mode is then local"
        )
        raise _error(expert, negative, d, q, why)
    if not (curvature > 0).any():
        raise ExpertError(
            f"{_label(expert)}: curvature is zero everywhere, so Newton's method has nothing to "
            "divide by; round off the kink of the energy, or use Huber or Laplacian"
        )
    total = _values(expert, "log_density", d, q) + _values(expert, "energy", d, q)
    by_p = total.reshape(len(D), -1)
    constant = np.broadcast_to(by_p[-2], by_p.shape).ravel()  # of each p, next to d = 0
    with np.errstate(invalid="ignore"):
        wrong = np.abs(total - constant) > 1e-6 * (1.0 + np.abs(total))
    if wrong.any():
        why = (
            "log_density is not minus the energy plus a constant of this p. Both must describe one "
            "density; leave log_density out of poe.experts.custom to have it computed"
        )
        raise _error(expert, wrong, d, q, why)


def _label(expert: Expert) -> str:
    return f"expert {getattr(expert, 'name', type(expert).__name__)!r}"


def _error(expert: Expert, wrong: Any, d: Floats, p: Floats, why: str) -> ExpertError:
    """The error at the most central of the wrong points, which reads best."""
    k = np.argmin(np.where(wrong, np.abs(d), np.inf))
    return ExpertError(f"{_label(expert)} at d = {d[k]:.4g}, p = {p[k]:.4g}: {why}")


def _values(expert: Expert, part: str, d: Floats, p: Floats) -> Floats:
    """One function on the grid: one finite number for each element."""
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(getattr(expert, part)(d, p))
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ExpertError(
            f"{_label(expert)}: {part}(d, p) fails on arrays: {error}. Use NumPy's functions "
            "(np.exp, np.where), not those of math and not if, or wrap it in np.vectorize"
        ) from error
    if value.shape != d.shape or not np.issubdtype(value.dtype, np.number):
        raise ExpertError(
            f"{_label(expert)}: {part}(d, p) returns {value.dtype} of shape {value.shape} for d "
            f"and p of shape {d.shape}; it must return one number for each, as "
            "np.full_like(d, 1.0) does"
        )
    wrong = ~np.isfinite(value)
    if part == "log_density":
        wrong &= ~np.isneginf(value)
    if wrong.any():
        why = "is not finite; clip p away from 0 and 1, or rewrite it so that it does not overflow"
        raise _error(expert, wrong, d, p, f"{part} {why}")
    return value


def _same_derivative(expert: Expert, part: str, of: str, d: Floats, p: Floats) -> None:
    """Whether one function is the derivative of another, by differences of two step sizes."""
    value, function = _values(expert, part, d, p), getattr(expert, of)
    size = np.abs(_values(expert, of, d, p))
    with np.errstate(all="ignore"):
        coarse = (function(d + STEP, p) - function(d - STEP, p)) / (2.0 * STEP)
        fine = (function(d + STEP / 2.0, p) - function(d - STEP / 2.0, p)) / STEP
    # Where the two steps disagree there is a kink nearby, or the differences cannot tell.
    slack = 1e-5 * (np.abs(fine) + np.abs(value)) + 1e-11 * (1.0 + size) / STEP
    slack += 3.0 * np.abs(coarse - fine)
    wrong = ~(np.abs(value - fine) <= slack)
    if wrong.any():
        k = np.argmin(np.where(wrong, np.abs(d), np.inf))
        why = (
            f"{part} does not match {of}: it gives {value[k]:.6g}, finite differences of {of} give "
            f"{fine[k]:.6g}. Correct one of them, or leave {part} out: poe.experts.custom then "
            "computes it"
        )
        raise _error(expert, wrong, d, p, why)
