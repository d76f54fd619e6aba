"""Is this an expert? Its functions are tried on a grid, and derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Floats
from poe.experts.base import Expert, adopted

# Uneven on purpose: kinks sit at round numbers, and no rule of thumb should fit by luck.
D = np.concatenate([np.linspace(-6.03, 5.91, 24), [-0.173, -0.0117, 0.0213, 0.191]])
P = np.array([0.043, 0.27, 0.5, 0.81, 0.957])
LOOKED_AT = (0.0, 0.25, 0.75, 1.0)  # quantiles of the probabilities that will be used
# Of a difference: both its error, of order STEP^2, and rounding, 1e-16 / STEP, are small.
STEP = 1e-3


class ExpertError(ValueError):
    """An expert's functions do not fit together; the message says which, where and how."""


def check_expert(expert: Any, *, p: ArrayLike | None = None) -> None:
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
    expert = adopted(expert)
    used = [] if p is None else np.quantile(np.asarray(p, dtype=float), LOOKED_AT, method="nearest")
    tried = np.unique(np.append(P, used))
    d, q = (axis.ravel() for axis in np.meshgrid(D, tried, indexing="ij"))
    curvature = _values(expert, "curvature", d, q)
    _same_derivative(expert, "slope", "energy", d, q)
    own = _values(expert, "second_derivative", d, q)
    if expert.convex or not np.array_equal(own, curvature):
        part = "curvature" if np.array_equal(own, curvature) else "second_derivative"
        _same_derivative(expert, part, "slope", d, q)
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
    return f"expert {expert.name!r}"


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
