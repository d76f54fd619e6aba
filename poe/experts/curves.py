"""f_mu and f_sigma of the Gaussian expert from labelled comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression

from poe.comparisons import Floats, Indices

PER_BIN, MOST_BINS = 25, 20


@dataclass(frozen=True, eq=False)
class Curve:
    """A smooth function of p through knots, flat or rising between any two that are.

    at, value : the knots. logarithmic : join the logarithms, which keeps the curve positive.
    rising : go on with the slope of the outermost knots to p = 0 and p = 1, not flat.
    mirror : 0, or 1 to average f(p) with f(1 - p), or -1 to average it with -f(1 - p).
    """

    at: Floats
    value: Floats
    logarithmic: bool = False
    rising: bool = False
    mirror: int = 0

    def __call__(self, p: Floats) -> Floats:
        """The curve at p, elementwise."""
        p = np.asarray(p, dtype=float)
        if not self.mirror:
            return self._once(p)
        # Mirrored comparisons make it symmetric up to rounding; this makes it exact.
        return 0.5 * (self._once(p) + self.mirror * self._once(1.0 - p))

    def _once(self, p: Floats) -> Floats:
        at = self._knots[0]
        if len(at) == 1:
            return np.full_like(p, self.value[0])
        inside = self._spline(np.clip(p, at[0], at[-1]))
        return np.asarray(np.exp(inside) if self.logarithmic else inside)

    @cached_property
    def _spline(self) -> PchipInterpolator:
        return PchipInterpolator(*self._knots)

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        at, y = self.at, np.log(self.value) if self.logarithmic else self.value
        if not self.rising:
            return at, y
        slopes = np.diff(y)[[0, -1]] / np.diff(at)[[0, -1]]
        if at[0] > 0.0:
            at, y = np.append(0.0, at), np.append(y[0] - slopes[0] * at[0], y)
        if at[-1] < 1.0:
            at, y = np.append(at, 1.0), np.append(y, y[-1] + slopes[1] * (1.0 - at[-1]))
        return at, y


def fit_curves(
    p: ArrayLike,
    differences: ArrayLike,
    *,
    weight: ArrayLike | None,
    bins: int | None,
    symmetric: bool,
    constant_variance: bool,
) -> tuple[Curve, Curve]:
    """Mean and variance of the differences as curves in p; see `Gaussian.from_labels`."""
    x, d, w = _checked(p, differences, weight)
    wanted = bins if bins is not None else min(MOST_BINS, len(x) // PER_BIN)
    if wanted < 2:
        raise ValueError(
            f"{len(x)} labelled comparisons make {wanted} bins of {PER_BIN} along p, and a curve "
            "needs two; label more, set bins, or use the linear mean, Gaussian(alpha=...)"
        )
    if symmetric:
        x, d, w = np.append(x, 1.0 - x), np.append(d, -d), np.append(w, w)
    group = _bins(x, w, wanted)
    if group.max() == 0:
        raise ValueError("every labelled comparison has nearly the same p: no curve can be fitted")
    size = np.bincount(group, w)
    at = np.bincount(group, w * x) / size
    local = np.bincount(group, w * d) / size
    mean = Curve(
        at, isotonic_regression(local, weights=size).x, rising=True, mirror=-1 if symmetric else 0
    )
    # Every bin's mean took up one degree of freedom.
    lost = len(x) / max(len(x) - len(size), 1)
    squares = w * (d - mean(x)) ** 2 * lost
    overall = float(squares.sum() / w.sum())
    if not overall > 1e-20 * float(np.square(d).mean()):
        raise ValueError("p explains every difference exactly, so no variance can be fitted")
    if constant_variance:
        return mean, Curve(at[:1], np.array([overall]))
    # A bin that happens to hold no spread must not become infinitely sure.
    spread = np.maximum(np.bincount(group, squares) / size, 1e-3 * overall)
    return mean, Curve(at, spread, logarithmic=True, mirror=1 if symmetric else 0)


def _checked(p: ArrayLike, differences: ArrayLike, weight: ArrayLike | None) -> list[Floats]:
    """The three columns as floats, sorted by p."""
    x, d = np.asarray(p, dtype=float), np.asarray(differences, dtype=float)
    w = np.ones_like(x) if weight is None else np.asarray(weight, dtype=float)
    if x.ndim != 1 or x.shape != d.shape or x.shape != w.shape:
        raise ValueError(
            "p, differences and weight must be one number a comparison; their shapes are "
            f"{x.shape}, {d.shape} and {w.shape}"
        )
    for name, column, fine in (
        ("p", x, (x >= 0) & (x <= 1)),
        ("differences", d, np.isfinite(d)),
        ("weight", w, np.isfinite(w) & (w > 0)),
    ):
        if not fine.all():
            row = int(np.flatnonzero(~fine)[0])
            raise ValueError(f"{name} of labelled comparison {row} is {column[row]:g}")
    order = np.argsort(x, kind="stable")
    return [x[order], d[order], w[order]]


def _bins(x: Floats, w: Floats, bins: int) -> Indices:
    """The bin of each comparison: about equal weight, equal p never split."""
    order = np.argsort(x, kind="stable")
    share = np.empty_like(w)
    share[order] = (np.cumsum(w[order]) - 0.5 * w[order]) / w.sum()
    _, value = np.unique(x, return_inverse=True)
    middle = np.bincount(value, w * share) / np.bincount(value, w)
    raw = np.minimum((middle * bins).astype(np.intp), bins - 1)
    return np.unique(raw[value], return_inverse=True)[1]
