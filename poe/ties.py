"""One optimum out of many: the least sum of squared misfits among equal sums of absolute ones.

The forces y of the dual program say what every optimum has in common. A comparison whose
force is less than its bound fits exactly, in all optima, and welds its two items together. One
at its bound may have any misfit of the sign of its force. So the optima are the ways in which
rigid clusters of items can move against each other without any misfit changing sign, and
picking one of them is a small convex problem in the offsets of the clusters.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import lsqr

from poe.comparisons import Comparisons, Floats, Indices, Mask, component_labels, incidence
from poe.errors import NotConvergedError
from poe.existence import strong_components

MOST_CLUSTERS = 4000
ZERO = 1e-9  # what counts as no misfit, and as the distance from full force, in relative units


def least_squares_optimum(
    comparisons: Comparisons,
    target: Floats,
    bound: Floats,
    dual: Floats,
    scores: Floats,
    *,
    square: Floats,
) -> tuple[Floats, bool]:
    """The optimum of least sum of square * misfit^2 (book eq. 8.9), and whether it is the only one.

    target, bound, dual : (K,), the largest of each about one; scores : (N,) any optimum.
    """
    c = comparisons
    misfit = scores[c.first] - scores[c.second] - target
    label = clusters(c, misfit, bound, dual)
    m = int(label.max()) + 1
    if m == 1:
        return scores, True
    if m > MOST_CLUSTERS:
        raise ValueError(
            f"the optimum is not unique: {m} groups of items can move against each other, too many "
            'to choose by least squares; ask for any optimum, ties="any"'
        )
    apart = label[c.first] != label[c.second]
    up = dual[apart] > 0
    one, other = label[c.first[apart]], label[c.second[apart]]
    face = Face(
        size=m,
        high=np.where(up, one, other),
        low=np.where(up, other, one),
        slack=np.abs(misfit[apart]),
        square=square[apart] / square.max(),
    )
    return scores + face.solve()[label], False


def clusters(c: Comparisons, misfit: Floats, bound: Floats, dual: Floats) -> Indices:
    """(N,) label of the rigid cluster of each item, from any optimum.

    A comparison that fits but may not fall below its target keeps its first item from
    sinking towards its second; items that keep each other in place round a circle, in both
    directions, are one cluster.
    """
    fits = np.abs(misfit) <= ZERO
    full = bound * (1.0 - ZERO) - 1e-14
    not_below, not_above = fits & (dual > -full), fits & (dual < full)
    edges = np.concatenate([c.pairs[not_below], c.pairs[not_above][:, ::-1]])
    return strong_components(c.n_items, edges)


class Face:
    """Minimise the sum of square t^2 over offsets o, with t = slack + o[high] - o[low] >= 0."""

    def __init__(
        self, *, size: int, high: Indices, low: Indices, slack: Floats, square: Floats
    ) -> None:
        self.size, self.high, self.low = size, high, low
        self.slack, self.square = slack, square

    def solve(self) -> Floats:
        """(size,) offsets, by an interior-point method and a last exact step."""
        offsets, force = self._interior()
        t = self._t(offsets)
        touching = t * self.square.mean() < force
        exact = self._with(touching, offsets)
        better = self._value(exact) <= self._value(offsets) * (1.0 + 1e-9)
        feasible = self._t(exact).min() >= -1e-12
        return exact if better and feasible else offsets

    def _t(self, offsets: Floats) -> Floats:
        return self.slack + offsets[self.high] - offsets[self.low]

    def _value(self, offsets: Floats) -> float:
        return float(self.square @ self._t(offsets) ** 2)

    def _sums(self, y: Floats) -> Floats:
        up = np.bincount(self.high, y, minlength=self.size)
        return np.asarray(up - np.bincount(self.low, y, minlength=self.size), dtype=float)

    def _matrix(self, stiffness: Floats) -> Floats:
        """The Laplacian of the clusters without the first, which stays where it is."""
        m = self.size
        links = np.bincount(self.high * m + self.low, stiffness, minlength=m * m).reshape(m, m)
        links = links + links.T
        return np.diag(links.sum(axis=1))[1:, 1:] - links[1:, 1:]

    def _interior(self) -> tuple[Floats, Floats]:
        """Offsets and the forces of the constraints, by a primal-dual interior-point method.

        Newton steps towards t * force = aim for every constraint, the aim a fifth of the
        present mean, cut short where t or force would fall to zero.
        """
        offsets = np.zeros(self.size)
        # Clusters hardly ever move by more than the typical misfit.
        typical = np.sqrt(self._value(offsets) / self.square.sum())
        t = np.maximum(self.slack, 0.1 * typical)
        force = self.square * t
        for _ in range(200):
            short = self._t(offsets) - t
            gap = t @ force / (self.square @ t**2)
            if gap < 1e-13 and np.abs(short).max() < 1e-13 * typical:
                break
            try:
                factor = cho_factor(self._matrix(self.square + force / t), check_finite=False)
            except LinAlgError:  # as close as double precision gets
                break
            aim = 0.2 * (t @ force) / len(t)
            right = self._sums((aim - force * short) / t - self.square * (t + short))
            move = np.append(0.0, cho_solve(factor, right[1:], check_finite=False))
            rise = move[self.high] - move[self.low] + short
            gain = (aim - force * rise) / t - force
            length = min(1.0, 0.995 * min(_room(t, rise), _room(force, gain)))
            offsets, t, force = offsets + length * move, t + length * rise, force + length * gain
        if gap > 1e-8:
            raise NotConvergedError(f"no optimum among the ties: the gap is still {gap:.0e}")
        return offsets, force

    def _with(self, touching: Mask, offsets: Floats) -> Floats:
        """Exact offsets if the touching constraints are known: they weld clusters together."""
        high, low = self.high[touching], self.low[touching]
        w = incidence(high, low, self.size)
        offsets = offsets - lsqr(w, self._t(offsets)[touching], atol=1e-12, btol=1e-12)[0]
        label = component_labels(high, low, self.size)
        count = int(label.max()) + 1
        if count == 1:
            return offsets
        high, low = label[self.high], label[self.low]
        rest = Face(size=count, high=high, low=low, slack=self._t(offsets), square=self.square)
        right = -rest._sums(self.square * rest.slack)
        return (
            offsets + np.append(0.0, np.linalg.solve(rest._matrix(self.square), right[1:]))[label]
        )


def _room(x: Floats, dx: Floats) -> float:
    """Largest step up to one that keeps x + step dx from falling below zero."""
    falling = dx < 0
    return float(min(1.0, (-x[falling] / dx[falling]).min(initial=np.inf)))
