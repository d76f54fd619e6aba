"""Where a density peaks and how large its area is, for experts that have no formula for either."""

from __future__ import annotations

import numpy as np

from poe.arrays import Floats, OfBoth, OfP


def peak(slope: OfBoth) -> OfP:
    """Find where the slope changes sign, elementwise in p; infinite where it never does."""

    def root(p: Floats) -> Floats:
        p = np.asarray(p, dtype=float)
        low, high = np.full_like(p, -1.0), np.full_like(p, 1.0)
        with np.errstate(all="ignore"):
            # Doubled 60 times an end is as far away as a number can be that has all whole ones
            # below it, and 120 halves are more than its digits.
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
