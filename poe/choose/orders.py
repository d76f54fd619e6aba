"""Whether the second order of a pair is worth its call: one order of more pairs, or both of fewer.

An answer in log odds, read as a statement about s_i - s_j, errs by e_ij in one order and by e_ji in
the other, with variance v each and correlation c. Half their sum, an error about the items, has the
variance v (1 + c) / 2 and stays when both orders are averaged; half their difference, an error
about the place, has v (1 - c) / 2 and goes. At equal calls both orders then know 1 / (1 + c) times
as much as one, less what it costs that half as many pairs link the items (`resistances`; book,
"One order or both?").

No label is needed for c: half the sum of a pair's two answers shows the error about the place, and
round a ring of such pairs half the difference shows that about the items, with no score in it
(`poe.scatter.moments`). Where items are compared on many prompts, what a prompt does to both orders
alike counts as an error about the items (`on_prompts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from poe import scatter
from poe.arrays import Floats, Indices
from poe.choose.selection import select, select_stack
from poe.comparisons import Comparisons
from poe.experts import Expert, Gaussian, get_expert
from poe.graph import component_labels
from poe.stack import Stack, by_item, laplacian, pseudo_inverse

Reason = Literal["place", "items", "sparse", "pairs run out", "prompts", "unknown"]

NEAREST = 1e-3  # of c to -1, where both orders would leave no error at all
MIN_JACKKNIFE_GROUPS = 10  # linked groups from which the error of c is a jackknife
DRAWN, LARGEST = 64, 100  # designs, and items, that stand for all others of that degree
NOTHING = 1e-12  # of the opinions' own mean square: an error that is rounding
FEWEST = 6  # pairs of a pilot: all of four items


class Correlation(NamedTuple):
    """c of the errors of a pair's two orders, as statements about one difference.

    se : its standard error. variance : v, of one answer, in the squared unit of an opinion.
    doubled : pairs that were asked in both orders. All NaN, but `doubled`, where it cannot be told:
    no such pair, no residual, or a judge without error.
    """

    c: float
    se: float
    variance: float
    doubled: int


@dataclass(frozen=True)
class Decision:
    """What to ask from here on.

    orders : "one" order of each pair, drawn by lot, or "both". ratio : predicted variance of a
    difference of scores in one order over that in both, at equal calls. c, se, doubled : as in
    `Correlation`. reason : "place", the second order takes an error away; "items", it repeats the
    first; "sparse", it would take an error away, but too few pairs would be left to link the items;
    "pairs run out", there are hardly any new pairs to ask in its place; "prompts", another prompt
    tells more; "unknown", the pilot is too small to tell, and one order is asked.
    """

    orders: Literal["one", "both"]
    ratio: float
    c: float
    se: float
    doubled: int
    reason: Reason


# The pilot ------------------------------------------------------------------------------------


def pilot_size(calls: int) -> int:
    """Count the pairs to ask in both orders before deciding about the calls of all contexts.

    A pilot of m pairs wastes up to 2 m c / (1 + c) calls where one order is better, and has c to
    within sqrt(2 / m) or so near c = 0, where a wrong decision wastes c / (1 + c) of all T calls.
    The worst sum over c is smallest at about m = (0.18 T)^(2/3).
    """
    return max(FEWEST, round((0.18 * calls) ** (2.0 / 3.0)))


def pilot(n_items: int, count: int, *, seed: int | np.random.Generator = 0) -> Indices:
    """Choose what to ask first: `count` pairs in both orders, (2 count, 2) positions.

    Among as few items as have so many pairs, since only rings tell of errors about the items.
    ValueError where there are not so many pairs, or fewer than three.
    """
    rng = np.random.default_rng(seed)
    items = 3
    while items * (items - 1) // 2 < count:
        items += 1
    if items > n_items or count < 3:
        raise ValueError(f"count is {count}; a pilot of {n_items} items has 3 pairs or more")
    chosen = rng.permutation(n_items)[:items]
    return chosen[select(items, 2 * count, rule="symmetric", seed=rng)]


# How the two orders' errors correlate ---------------------------------------------------------


def correlation(
    contexts: Comparisons | Sequence[Comparisons], expert: str | Expert = "logit-gaussian"
) -> Correlation:
    """Estimate c and its error from a judge's answers, pooled over contexts and linked groups.

    Pairs asked in one order are left out: their errors are those of both kinds at once. Scores and
    a bias of its own are taken from every linked group of pairs; groups without a ring are passed
    over. expert : Gaussian, whose opinions f_mu(p) the answers are. The standard error is a
    jackknife over groups where there are ten or more, else that of normal errors,
    (1 - c^2) / 2 (2 / f_items + 2 / f_place)^(1/2) with the degrees of freedom of both.

    Raises ValueError for an expert that is not Gaussian.
    """
    chosen = _opinions(expert)
    several = [contexts] if isinstance(contexts, Comparisons) else list(contexts)
    expected, observed, doubled, freedom, size = [], [], 0, np.zeros(2), 0.0
    for group in (group for c in several for group in _doubled(c)):
        pairs, n, one = len(group) // 2, group.n_items, np.ones(len(group))
        doubled += pairs
        if pairs < n:
            continue
        answers = scatter.Answers.of(group, one > 0, chosen.f_mu(group.p), one, one)
        made = scatter.moments(answers, scatter.remainder(answers, 0))
        expected.append(made[0])
        observed.append(made[1])
        freedom += pairs - n + 1, pairs - 1
        size += float(answers.weight @ answers.residual**2)
    unknown = Correlation(np.nan, np.nan, np.nan, doubled)
    if not expected:
        return unknown
    e, o = np.array(expected), np.array(observed)
    if not float(o[:, 0].sum()) > NOTHING * size:
        return unknown
    c, variance = _solved(e.sum(axis=0), o.sum(axis=0))
    if len(e) >= MIN_JACKKNIFE_GROUPS:
        each = np.array([_solved(*one)[0] for one in zip(e.sum(0) - e, o.sum(0) - o, strict=True)])
        error = np.sqrt((len(e) - 1) * each.var())
    else:
        error = (1.0 - c**2) / 2.0 * np.sqrt((2.0 / freedom).sum())
    return Correlation(c, float(error), variance, doubled)


def _doubled(c: Comparisons) -> Iterator[Comparisons]:
    """The pairs asked in both orders, one answer in each, in groups that chains of them link.

    Answers to the same question are averaged: what they share is an error of the question.
    """
    n = c.n_items
    code, place = np.unique(c.first * n + c.second, return_inverse=True)
    p = np.bincount(place, c.weight * c.p) / np.bincount(place, c.weight)
    first, second = np.divmod(code, n)
    both = np.isin(second * n + first, code)
    first, second, p = first[both], second[both], p[both]
    labels = component_labels(first, second, n)
    for label in np.unique(labels[first]):
        here = labels[first] == label
        known, at = np.unique([first[here], second[here]], return_inverse=True)
        yield Comparisons.from_pairs(at.reshape(2, -1).T, p[here], items=len(known))


def _solved(expected: Floats, observed: Floats) -> tuple[float, float]:
    """Both c and v from the two moments."""
    alone, common = np.linalg.solve(expected, observed)
    variance = float(alone + common)
    return float(np.clip(common / variance, -1.0 + NEAREST, 1.0)), variance


# The decision ---------------------------------------------------------------------------------


def resistances(n_items: int, calls: int, *, seed: int = 0) -> tuple[float, float]:
    """Variance of a difference, per variance of an answer about a pair: `calls` pairs, and half.

    One order of so many random pairs with a bias fitted, and half as many pairs whose two orders'
    mean is one answer; infinite where so few pairs cannot link the items, or tell the bias. Means
    over all differences and random designs; beyond a hundred items they depend on the number of
    comparisons per item alone.
    """
    if n_items > LARGEST:
        n_items, calls = LARGEST, round(calls * LARGEST / n_items)
    every = n_items * (n_items - 1) // 2
    mean = []
    for count, fitted in ((min(calls, every), True), (min(calls // 2, every), False)):
        if count < n_items - 1 + fitted:
            mean.append(np.inf)
            continue
        pairs = select_stack(DRAWN, n_items, count, rule="no-repeat", seed=seed)
        stack = Stack.of(n_items, pairs, np.full(pairs.shape[:-1], 0.5))
        stiff = laplacian(stack, stack.weight)
        if fitted:
            border = by_item(stack, stack.weight, -stack.weight)
            stiff = stiff - border[:, :, None] * border[:, None, :] / count
            told = np.linalg.matrix_rank(stiff, hermitian=True) == n_items - 1
            stiff = stiff[told]
        trace = np.trace(pseudo_inverse(stiff), axis1=1, axis2=2)
        mean.append(float(2.0 * trace.mean() / (n_items - 1)) if len(trace) else np.inf)
    return mean[0], mean[1]


def predicted_ratio(c: float, one: float, both: float, *, everything: float = 0.0) -> float:
    """Variance of a difference of scores in one order over that in both, at equal calls.

    one, both : as `resistances` has them. everything : the same of all pairs, 2 / N, where the
    scores wanted are those that all answers of a judge that repeats itself would give; 0 where they
    are those of a judge that is asked without end. With both = 2 one and everything = 0 it is
    1 / (1 + c).
    """
    items = (1.0 + c) / 2.0
    in_one, in_both = one - items * everything, items * (both - everything)
    if np.isinf(in_both):
        return 0.0
    return float(in_one / in_both) if in_both > 1e-12 * in_one else np.inf


def decide(
    contexts: Comparisons | Sequence[Comparisons],
    *,
    calls: int,
    expert: str | Expert | None = None,
    seed: int = 0,
) -> Decision:
    """One order or both, from answers of which some pairs were asked in both orders.

    calls : that each context will have had at the end. expert : as in `correlation`; None takes
    the answers' log odds, or p itself where one is 0 or 1. The expected variance of the scores is
    linear in c, so an estimate without bias decides as well as its whole distribution would: its
    error is told, and changes nothing.
    """
    several = [contexts] if isinstance(contexts, Comparisons) else list(contexts)
    first = several[0]
    errors = correlation(several, expert or _reading(*(one.p for one in several)))
    n = first.n_items
    one, both = resistances(n, calls, seed=seed)
    if np.isnan(errors.c):
        return Decision("one", np.nan, errors.c, errors.se, errors.doubled, "unknown")
    ratio = predicted_ratio(errors.c, one, both)
    reason: Reason
    opposed = errors.c + errors.se < 0.0  # more than the error of c explains
    if ratio > 1.0:
        anyway = not opposed and predicted_ratio(0.0, one, both) > 1.0
        reason = "pairs run out" if anyway else "place"
    else:
        reason = "sparse" if opposed else "items"
    orders: Literal["one", "both"] = "both" if ratio > 1.0 else "one"
    return Decision(orders, ratio, errors.c, errors.se, errors.doubled, reason)


def on_prompts(
    pairs: Indices, ahead: Floats, back: Floats, *, n_items: int, expert: str | Expert | None = None
) -> Decision:
    """One order or both, where each of many prompts has answers of the same items to compare.

    pairs : (M, 2) positions, each compared on a prompt of its own in both orders. ahead, back :
    (M,) probabilities that the item shown first is better, in that order and in the other.
    expert : as in `decide`.

    With u for what a prompt adds to a difference of scores, c is the correlation of u + e_ij and
    u + e_ji. Prompts are many, so links run short in neither case and 1 / (1 + c) decides.
    """
    chosen = _opinions(expert or _reading(ahead, back))
    one, other = chosen.f_mu(ahead), chosen.f_mu(back)
    design = np.eye(n_items)[pairs[:, 0]] - np.eye(n_items)[pairs[:, 1]]
    scores, _, rank, _ = np.linalg.lstsq(design, (one - other) / 2.0)
    freedom = np.array([len(pairs) - rank, len(pairs) - 1])
    size = float(one @ one + other @ other)
    if freedom[0] < 1 or len(pairs) < FEWEST:
        return Decision("one", np.nan, np.nan, np.nan, len(pairs), "unknown")
    left = (one - other) / 2.0 - design @ scores
    items, place = float(left @ left) / freedom[0], float(((one + other) / 2.0).var(ddof=1))
    if not items + place > NOTHING * size:
        return Decision("one", np.nan, np.nan, np.nan, len(pairs), "unknown")
    c = float(np.clip((items - place) / (items + place), -1.0 + NEAREST, 1.0))
    se = float((1.0 - c**2) / 2.0 * np.sqrt((2.0 / freedom).sum()))
    if c < 0.0:
        return Decision("both", 1.0 / (1.0 + c), c, se, len(pairs), "place")
    return Decision("one", 1.0 / (1.0 + c), c, se, len(pairs), "prompts")


def _opinions(expert: str | Expert) -> Gaussian:
    chosen = get_expert(expert)
    if not isinstance(chosen, Gaussian):
        raise ValueError("c is estimated from opinions: give 'logit-gaussian' or 'gaussian'")
    return chosen


def _reading(*answers: Floats) -> str:
    """Which experts read such answers: of log odds, or of p itself where one of 0 or 1 has none."""
    whole = any(((p <= 0.0) | (p >= 1.0)).any() for p in answers)
    return "gaussian" if whole else "logit-gaussian"
