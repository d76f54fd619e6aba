"""Which comparisons to ask for next, given answers (paper 3.6 and A.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Floats, Indices
from poe.choose.designs import in_orders_shown, linked
from poe.choose.greedy import Counts, choose, count_shown, extended, require_room, times_asked
from poe.comparisons import as_pairs
from poe.experts import Expert
from poe.resistance import effective_resistance
from poe.result import Fit

NextRule = Literal["adaptive", "laplace", "reordering", "determinant", "random"]
RELIABLE = 0.9  # share of the variance of scores from which "adaptive" looks at the answers

TIE = 1e-12  # differences below sqrt(TIE) count as ties; variance alone orders such pairs


def next_comparisons(
    fit: Fit,
    count: int,
    *,
    rule: NextRule = "adaptive",
    both_orders: bool = False,
    avoid: ArrayLike = (),
    seed: int | np.random.Generator = 0,
) -> Indices:
    """The `count` comparisons to ask for next; (count, 2) positions in `fit.items`.

    Parameters
    ----------
    rule
        "adaptive", "determinant" while `reliability` of the scores is below 0.9, then "laplace",
        which leaves alone what luck has put at an end (book, chapter 14).
        "laplace", argmax c_ij R_ij (paper 3.6, A.6; book eq. 10.9), one after the other: R_ij the
        variance of s_i - s_j under Laplace's approximation at the scores of `fit`, c_ij the
        curvature a comparison of i and j would add (`expected_curvatures`), for Bradley-Terry
        sigma(s_i - s_j) sigma(s_j - s_i). Each pick updates R (rank one); scores and c_ij stay
        until you fit again, which a batch of one does after every answer.
        "reordering", the pair whose order is least sure (Fathullah and Gales 2025,
        arXiv:2505.15240): the largest P(s_i < s_j) with s_i above s_j, Phi(-|s_i - s_j| /
        R_ij^0.5), so argmax R_ij / (s_i - s_j)^2. R falls with each pick as above. Intervals
        afterwards are too narrow: the answers have chosen which pairs were asked.
        "determinant", argmax R_ij with c_ij = 1 (paper eq. 16): looks at what was asked, not at the
        answers.
        "random", uniform.
    both_orders : each pair is asked in both orders, so `count`, which counts calls, is even
    avoid
        (K, 2) comparisons that were asked and have no answer: chosen last, as if they had one,
        though they tell nothing.

    Notes
    -----
    No pair is repeated while there are new ones; a pair asked in one order only is then
    asked in the other. A new pair is shown in a random order. Comparisons that a prior added to
    the fit count as information, not as asked. N x N numbers are stored, up to 6,000 items.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    >>> poe.next_comparisons(poe.fit(c), 1).shape
    (1, 2)
    """
    if count < 1 or (both_orders and count % 2):
        even = " and, with both orders, even" if both_orders else ""
        raise ValueError(f"count must be at least 1{even}, not {count}")
    rng, n = np.random.default_rng(seed), len(fit.items)
    require_room(n)
    if rule == "adaptive":
        rule = "laplace" if reliability(fit) >= RELIABLE else "determinant"
    asked = fit.comparisons.pairs[fit.real]
    shown = count_shown(n, np.vstack([asked, as_pairs(avoid, n)]))
    if rule in ("laplace", "reordering"):
        c, s = expected_curvatures(fit), fit.scores
        return choose(
            laplace_resistances(fit),
            shown,
            count,
            rng=rng,
            strength=lambda i, j: c[i, j],
            value=None
            if rule == "laplace"
            else lambda i, j: 1.0 / np.maximum((s[i] - s[j]) ** 2, TIE),
            both_orders=both_orders,
        )
    if rule == "determinant":
        weight, links = fit.comparisons.weight[fit.real], linked(n, asked, seed=rng)
        return extended(rng, n, asked, weight, links, count, both_orders, avoid)
    if rule == "random":
        return _next_random(rng, n, shown, count, both_orders)
    known = "'adaptive', 'laplace', 'reordering', 'determinant' or 'random'"
    raise ValueError(f"rule must be {known}, not {rule!r}")


def reliability(fit: Fit) -> float:
    """Share of the variance of the scores that is not their error, 1 - mean SE^2 / var s.

    The separation reliability of Rasch models and of comparative judgement, at most 1. Zero where
    scores do not differ or nothing says how sure they are.
    """
    spread = float(np.var(fit.scores))
    try:
        error = float((fit.standard_errors() ** 2).mean())
    except ValueError:  # no residuals yet to take a variance from
        return 0.0
    return 1.0 - error / spread if spread > 0.0 else 0.0


def laplace_resistances(fit: Fit) -> Floats:
    """(N, N) variances of s_i - s_j under Laplace's approximation (paper A.5), a bias held fixed.

    In units in which the expert's own curvature counts: a sigma that was estimated from
    the residuals scales all of them alike and is left out.
    """
    c = fit.comparisons
    stiffness = c.weight * _curvature(fit.expert, fit.fitted_differences, c.p)
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

    The mean over the two orders of the expert's curvature at the present difference, the bias
    included, for the answer that agrees with it (`curvature_of`).
    """
    d, told = np.subtract.outer(fit.scores, fit.scores), curvature_of(fit.expert)
    # What another covariate would be in pairs that were never asked is not known.
    gamma = fit.bias if np.isin(fit.tilts, (0.0, 1.0)).all() else 0.0
    return 0.5 * (told(d - gamma) + told(-d - gamma))


def curvature_of(expert: Expert) -> Callable[[Floats], Floats]:
    """The expert's curvature as a function of differences d, for the answers that agree with them.

    That is the p with opinion(p) = d. Bradley-Terry's does not depend on p: sigma(d) sigma(-d).
    """
    p = np.linspace(0.001, 0.999, 999)
    opinion = expert.opinion(p)
    return lambda d: _curvature(expert, d, np.interp(d, opinion, p))


def _curvature(expert: Expert, d: Floats, p: Floats) -> Floats:
    """The expert's curvature, or its information where that is more (Laplacian has only that).

    Huber's information is zero in its tails; the curvature that the solver uses there is small and
    positive, and ranks pairs that errors alone would leave alike.
    """
    each = (expert.curvature(d, p), expert.information(d, p))
    largest = np.maximum(*each).astype(float)
    if not (largest >= 0.0).all():
        raise ValueError(
            f"{expert!r} has a curvature that is negative or not a number at these scores, so "
            "Laplace's approximation does not exist; use rule='determinant' or another expert"
        )
    return largest


def _next_random(
    rng: np.random.Generator, n_items: int, shown: Counts, count: int, both_orders: bool
) -> Indices:
    """Uniform among the pairs asked least often; when they are used up, among the next."""
    made = np.empty((0, 2), dtype=np.intp)
    upper = np.triu(np.ones((n_items, n_items), dtype=bool), 1)
    while len(made) < count:
        level = times_asked(shown, shown.T)
        pool = rng.permutation(np.argwhere(upper & (level == level[upper].min())))
        pairs = in_orders_shown(pool, both_orders=both_orders, rng=rng)
        if not both_orders:
            again = shown[pairs[:, 0], pairs[:, 1]] > shown[pairs[:, 1], pairs[:, 0]]
            pairs = np.where(again[:, None], pairs[:, ::-1], pairs)
        np.add.at(shown, (pairs[:, 0], pairs[:, 1]), 1)
        made = np.vstack([made, pairs])
    return made[:count]
