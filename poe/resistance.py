"""Effective resistances: how uncertain each difference of scores is before any answer is seen.

Make every comparison a resistor of one ohm. The resistance R_ij between items i and j is
A_ii + A_jj - 2 A_ij with A = (W-tilde' W-tilde)^-1: the variance of s_i - s_j under Gaussian
experts of unit variance (paper eqs. 8 and 16). It contains no anchor, and it is all that the
choice of the next comparison needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Floats, Indices
from poe.comparisons import as_pairs
from poe.graph import component_labels


def effective_resistance(
    n_items: int, pairs: ArrayLike, *, weight: ArrayLike | None = None
) -> Floats:
    """(N, N) resistances R_ij = A_ii + A_jj - 2 A_ij after the comparisons `pairs`.

    Parameters
    ----------
    pairs : (K, 2) positions, in either order
    weight
        (K,) conductances, finite and not negative, one each by default; the curvatures of the
        experts give the Laplace approximation (paper A.6). None at all is no link.

    Examples
    --------
    >>> poe.effective_resistance(3, [(0, 1), (1, 2)])[0]  # of the first item to each
    array([0., 1., 2.])
    """
    links = conductances(n_items, pairs, weight)
    group = component_of(n_items, np.argwhere(np.triu(links) > 0.0))
    same = group[:, None] == group
    # Each component is blind to its own level; giving that direction a stiffness of its own, in
    # the unit of the rest, makes the matrix invertible and moves no difference inside a component.
    level = float(links.sum()) / n_items or 1.0
    inverse = np.linalg.inv(np.diag(links.sum(axis=1)) - links + level / n_items * same)
    resistance = difference_variances(inverse)
    np.fill_diagonal(resistance, 0.0)
    return np.where(same, np.maximum(resistance, 0.0), np.inf)


def difference_variances(covariance: Floats) -> Floats:
    """(..., N, N) variances of s_i - s_j, C_ii + C_jj - 2 C_ij, from covariances of that shape."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    both = covariance + np.swapaxes(covariance, -1, -2)  # rounding must not prefer an order
    return np.asarray(own[..., :, None] + own[..., None, :] - both)


def add_comparison(resistance: Floats, a: int, b: int, *, weight: float = 1.0) -> Floats:
    """Update (N, N) effective resistances, in place, for one more comparison of a and b.

    With w = (R[b] - R[a]) / (2 sqrt(1 + R_ab)), R_ij falls by (w_i - w_j)^2: the
    Sherman-Morrison step of paper eqs. 52 to 55, read off differences so that the anchor drops
    out (book eqs. 10.5 and 10.6). O(N^2). A comparison of weight c has c R_ab for R_ab and
    sqrt(c) w for w. Returns `resistance`.
    """
    w = fall(resistance[a], resistance[b], resistance[a, b], weight)
    resistance -= np.subtract.outer(w, w) ** 2
    return resistance


def fall(at_a: Floats, at_b: Floats, between: float, weight: float = 1.0) -> Floats:
    """The vector w of `add_comparison`, from the rows of a and b and R_ab."""
    return (at_b - at_a) * (0.5 * np.sqrt(weight / (1.0 + weight * between)))


def log_det(n_items: int, pairs: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """Log det(W-tilde' W-tilde), which selection maximises (paper eqs. 14, 15; book eq. 10.2).

    By the matrix-tree theorem the determinant counts the spanning trees of the graph of
    comparisons, whichever item carries the anchor (its precision is one). Minus infinity
    where the graph is not connected. `pairs` and `weight` as in `effective_resistance`.

    Examples
    --------
    >>> round(poe.log_det(3, [(0, 1), (1, 2), (2, 0)]), 3)  # log 3: a triangle has three trees
    1.099
    """
    links = conductances(n_items, pairs, weight)
    if component_of(n_items, np.argwhere(np.triu(links) > 0.0)).any():
        return -np.inf
    # Without the anchor's row and column: the cofactor that counts the trees.
    return float(np.linalg.slogdet((np.diag(links.sum(axis=1)) - links)[1:, 1:])[1])


def conductances(n_items: int, pairs: ArrayLike, weight: ArrayLike | None = None) -> Floats:
    """(N, N) total weight of the comparisons of i with j; the diagonal is zero."""
    first, second = as_pairs(pairs, n_items).T
    value = np.ones(len(first)) if weight is None else np.asarray(weight, dtype=float)
    if not (np.isfinite(value) & (value >= 0.0)).all():
        raise ValueError("weights are conductances: finite, and not negative")
    cells = np.bincount(first * n_items + second, value, minlength=n_items**2)
    links = np.asarray(cells, dtype=float).reshape(n_items, n_items)
    return links + links.T


def component_of(n_items: int, pairs: ArrayLike) -> Indices:
    """(N,) number of the group of linked items each item belongs to."""
    first, second = as_pairs(pairs, n_items).T
    return component_labels(first, second, n_items)
