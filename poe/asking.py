"""Which comparisons to ask for next, given the answers so far (paper 3.6, A.6)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from poe.comparisons import Floats, Indices
from poe.experts import Expert
from poe.greedy import choose, count_shown, extend, in_orders_shown, require_room
from poe.resistance import effective_resistance
from poe.result import Fit
from poe.stack import differences

NextRule = Literal["laplace", "determinant", "random"]

_LISTED = 3000  # items up to which all pairs are listed to draw from


def next_comparisons(
    fit: Fit,
    count: int,
    *,
    rule: NextRule = "laplace",
    both_orders: bool = False,
    seed: int | np.random.Generator = 0,
) -> Indices:
    """The `count` comparisons to ask for next; (count, 2) positions in `fit.items`.

    rule :
        "laplace", argmax c_ij R_ij (paper 3.6, A.6; book eq. 10.9), one after the other: R_ij the
        variance of s_i - s_j under Laplace's approximation at the scores of `fit`, c_ij the
        curvature a comparison of i and j would add (`expected_curvature`), for
        Bradley-Terry sigma(s_i - s_j) sigma(s_j - s_i). Each pick updates R (rank one); scores
        and c_ij stay until you fit again, which a batch of one does after every answer.
        "determinant", argmax R_ij with c_ij = 1 (paper eq. 16): looks at what was asked, not
        at the answers.
        "random", uniform.
    both_orders : each pair is asked in both orders, so `count`, which counts calls, is even.

    No pair is repeated while there are new ones; a pair asked in one order only is then
    asked in the other. A new pair is shown in a random order. Comparisons that a prior added to
    the fit count as information, not as asked. "laplace" and "determinant" store N x N numbers
    (up to 6,000 items); "random" works at any N.
    """
    if count < 1 or (both_orders and count % 2):
        even = " and, with both orders, even" if both_orders else ""
        raise ValueError(f"count must be at least 1{even}, not {count}")
    rng, n = np.random.default_rng(seed), len(fit.items)
    really = np.broadcast_to(fit.tilt, fit.comparisons.p.shape) != 0  # not from a prior
    asked = fit.comparisons.pairs[really]
    if rule == "laplace":
        require_room(n, to_invert=True)
        c = expected_curvatures(fit)
        return choose(
            resistances(fit),
            count_shown(n, asked),
            count,
            rng=rng,
            strength=lambda i, j: c[i, j],
            both_orders=both_orders,
        )
    if rule == "determinant":
        weight = fit.comparisons.weight[really]
        return extend(n, asked, count, weight=weight, both_orders=both_orders, seed=rng)
    if rule == "random":
        return _random(n, asked, count, both_orders=both_orders, rng=rng)
    raise ValueError(f"rule must be 'laplace', 'determinant' or 'random', not {rule!r}")


def resistances(fit: Fit) -> Floats:
    """(N, N) variances of s_i - s_j under Laplace's approximation (paper A.5), a bias held fixed.

    In units in which the expert's own curvature counts: a sigma that was estimated from
    the residuals scales all of them alike and is left out.
    """
    c = fit.comparisons
    d = differences(c, fit.scores) - fit.bias * np.broadcast_to(fit.tilt, c.p.shape)
    stiffness = c.weight * _curvature(fit.expert, d, c.p)
    if not stiffness.max() > 0.0:
        raise ValueError(
            f"{fit.expert!r} has no positive curvature at these scores, so Laplace's approximation "
            "does not exist; use rule='determinant' or another expert"
        )
    # A comparison far off in a flat tail tells nothing here, yet still links its items.
    stiffness = np.maximum(stiffness, 1e-9 * stiffness.max())
    return effective_resistance(c.n_items, c.pairs, weight=stiffness)


def expected_curvatures(fit: Fit) -> Floats:
    """(N, N) the curvature that one more comparison of i and j would add, whatever its order.

    The mean over the two orders of the expert's curvature at the present difference and the
    answer that agrees with it: the p with opinion(p) = d for an expert that has an `opinion`,
    p = sigma(d) otherwise. Bradley-Terry's does not depend on p: sigma(d) sigma(-d).
    """
    d = np.subtract.outer(fit.scores, fit.scores)
    return 0.5 * (curvature_at(fit.expert, d - fit.bias) + curvature_at(fit.expert, -d - fit.bias))


def curvature_at(expert: Expert, d: Floats) -> Floats:
    """The expert's curvature at differences d for the answers that agree with them."""
    opinion = getattr(expert, "opinion", None)
    p = np.linspace(0.001, 0.999, 999)
    at = np.log(p / (1.0 - p)) if opinion is None else opinion(p)
    return _curvature(expert, d, np.interp(d, at, p))


def _curvature(expert: Expert, d: Floats, p: Floats) -> Floats:
    """The expert's curvature, or its Fisher information where it has none (Laplacian)."""
    found = np.asarray(getattr(expert, "information", expert.curvature)(d, p), dtype=float)
    if not (found >= 0.0).all():
        raise ValueError(
            f"{expert!r} has a curvature that is negative or not a number at these scores, so "
            "Laplace's approximation does not exist; use rule='determinant' or another expert"
        )
    return found


def _random(
    n_items: int, asked: Indices, count: int, *, both_orders: bool, rng: np.random.Generator
) -> Indices:
    """Uniform pairs at the lowest level, then at the next; see `poe.front.Front` for levels."""
    if n_items > _LISTED:
        return _random_sparse(n_items, asked, count, both_orders=both_orders, rng=rng)
    shown = count_shown(n_items, asked)
    made = np.empty((0, 2), dtype=np.intp)
    upper = np.triu(np.ones((n_items, n_items), dtype=bool), 1)
    while len(made) < count:
        level = 2 * np.minimum(shown, shown.T) + (shown != shown.T)
        pool = rng.permutation(np.argwhere(upper & (level == level[upper].min())))
        pairs = in_orders_shown(pool, both_orders=both_orders, rng=rng)
        if not both_orders:
            again = shown[pairs[:, 0], pairs[:, 1]] > shown[pairs[:, 1], pairs[:, 0]]
            pairs = np.where(again[:, None], pairs[:, ::-1], pairs)
        np.add.at(shown, (pairs[:, 0], pairs[:, 1]), 1)
        made = np.vstack([made, pairs])
    return made[:count]


def _random_sparse(
    n_items: int, asked: Indices, count: int, *, both_orders: bool, rng: np.random.Generator
) -> Indices:
    """New pairs without a list of all: draw, and draw again those that are not new."""
    calls = 2 if both_orders else 1
    taken = np.unique(asked.min(axis=1) * n_items + asked.max(axis=1))
    if 4 * (len(taken) + count) > n_items * (n_items - 1):
        raise ValueError(
            f"{len(taken)} pairs of {n_items} items were asked; {count} more comparisons would be "
            "over half of all pairs, which is not supported beyond 3,000 items"
        )
    fresh = np.empty(0, dtype=np.intp)
    while len(fresh) < count // calls:
        i, j = rng.integers(n_items, size=(2, 2 * count))
        code = np.minimum(i, j) * n_items + np.maximum(i, j)
        code = np.append(fresh, code[(i != j) & ~np.isin(code, taken)])
        first = np.sort(np.unique(code, return_index=True)[1])
        fresh = code[first][: count // calls]
    pairs = np.column_stack(np.divmod(fresh, n_items))
    return in_orders_shown(pairs, both_orders=both_orders, rng=rng)
