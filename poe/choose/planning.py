"""How many comparisons for a wanted precision, before any is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from poe.arrays import Floats
from poe.choose.adaptive import curvature_of
from poe.choose.selection import Rule, select
from poe.experts import Expert, Gaussian, get_expert
from poe.resistance import conductances
from poe.stack import pseudo_inverse

_SIMULATED = {"greedy": 200}  # most items simulated, at as many comparisons each; else
_OTHERWISE = 500
_DRAWN = 2000  # items in all the random graphs averaged over


@dataclass(frozen=True)
class Plan:
    """What `poe.plan` advises.

    comparisons : calls to the judge. per_item : comparisons each item takes part in, 2K/N.
    standard_error : predicted, of the difference of two items, root mean square over pairs.
    prob_right : how often two items as far apart as was asked for (`separate`) would be put in
        the right order; otherwise None.
    first_guess : the calls that E[R] = 2 / per_item alone asks for.
    cost : of all comparisons, where prices and tokens were given; otherwise None.
    """

    n_items: int
    rule: str
    comparisons: int
    per_item: float
    standard_error: float
    prob_right: float | None
    first_guess: int
    cost: float | None = None


def plan(
    n_items: int,
    *,
    standard_error: float | None = None,
    separate: tuple[float, float] | None = None,
    sigma: float | None = None,
    expert: str | Expert | None = None,
    spread: float = 0.0,
    rule: Rule = "random",
    both_orders: bool = False,
    seed: int = 0,
    tokens: float | Callable[[int, int], float] | None = None,
    price_input: float = 0.0,
    price_output: float = 0.0,
) -> Plan:
    """The fewest comparisons that give a wanted precision.

    Parameters
    ----------
    standard_error, separate
        The aim, one of the two: the standard error of the difference of two items (root mean square
        over all pairs), or (difference, probability), items so far apart being in the right order
        that often.
    sigma, expert
        The judge, one of the two: the standard deviation of one answer around the true difference,
        in units of a difference, or what its curvature tells (a Bradley-Terry decision between
        equals: 1/4, a sigma of 2).
    spread
        Standard deviation of the true scores, for experts that learn less from items that are far
        apart.
    rule, both_orders : how the comparisons will be chosen, see `poe.select`
    tokens
        That the judge reads in one comparison, for `Plan.cost`; or of how many items shown first
        and how many calls, where it reads once what prompts have in common.
    price_input, price_output : for a million tokens read, and written, of which an answer is one

    Notes
    -----
    ValueError says what can be reached, if asking everything is not enough. The variance of a
    difference is its effective resistance (see `poe.resistance`), on average about 2 / (comparisons
    an item), times sigma^2 (book eq. 14.12). That is the first guess, too low for sparse and uneven
    graphs, so the resistances of simulated graphs decide. More than 500 items (200 for "greedy")
    are simulated by so many with as many comparisons each. With `expert` the prediction is the
    inverse Fisher information, that of many answers; with few, errors are larger. Sparse aims take
    longest, up to seconds: near N comparisons hundreds of random sets are drawn for one that links
    all items, unless by "regular" or "greedy".

    Examples
    --------
    >>> poe.plan(10, standard_error=0.5, sigma=1.0).first_guess
    40
    """
    wanted = _wanted(standard_error, separate)
    told = _information(sigma, expert)
    if n_items < 2 or spread < 0:
        raise ValueError(f"two items and no negative spread are needed: {n_items}, {spread}")
    calls = 2 if both_orders or rule == "symmetric" else 1
    once = rule in ("no-repeat", "regular") and calls == 1  # no pair in both orders
    most = n_items * (n_items - 1) // (2 if once else 1)
    best = _predicted(n_items, most, "regular", False, told, spread, seed)
    if best > wanted:
        raise ValueError(
            f"a standard error of {wanted:.3g} is out of reach: all {most} comparisons of {n_items}"
            f" items give {best:.3g}; aim lower, or take several answers to each comparison"
        )
    # The mean over two random items, whose scores are normal, of what an answer tells.
    node, weight = np.polynomial.hermite_e.hermegauss(61)
    typical = float(told(np.sqrt(2.0) * spread * node) @ weight / weight.sum())
    guess = n_items / (typical * wanted**2)

    def error(pairs: int) -> float:
        return _predicted(n_items, calls * pairs, rule, both_orders, told, spread, seed)

    pairs, reached = _fewest(error, wanted, (n_items - 1, most // calls, best), guess / calls)
    read: float | None
    if callable(tokens):
        read = tokens(min(n_items, calls * pairs), calls * pairs)
    else:
        read = None if tokens is None else calls * pairs * float(tokens)
    return Plan(
        n_items=n_items,
        rule=rule,
        comparisons=calls * pairs,
        per_item=2 * calls * pairs / n_items,
        standard_error=reached,
        prob_right=None if separate is None else float(ndtr(separate[0] / reached)),
        first_guess=int(np.ceil(guess)),
        cost=None if read is None else (read * price_input + calls * pairs * price_output) / 1e6,
    )


def _wanted(standard_error: float | None, separate: tuple[float, float] | None) -> float:
    """The standard error that is wanted, or that the separation needs."""
    if (standard_error is None) == (separate is None):
        raise ValueError("give one aim: standard_error=, or separate=(difference, probability)")
    if separate is not None:
        standard_error = float(separate[0] / ndtri(separate[1]))
    assert standard_error is not None
    if not 0 < standard_error < np.inf:
        raise ValueError(
            "an aim is a positive standard error, or a positive difference and a probability "
            f"between 1/2 and 1, not {separate or standard_error}"
        )
    return standard_error


def _information(sigma: float | None, expert: str | Expert | None) -> Callable[[Floats], Floats]:
    """What one answer tells about a difference d: the inverse of its variance."""
    if (sigma is None) == (expert is None):
        raise ValueError("give one judge: sigma=, or expert=")
    if expert is None:
        expert = Gaussian(sigma=sigma)  # which refuses what is not positive
    chosen = get_expert(expert)
    if isinstance(chosen, Gaussian) and chosen.sigma is None and chosen.variance is None:
        raise ValueError(
            "this Gaussian expert does not say how far answers scatter: give sigma=, for example "
            "estimated from a first round of comparisons"
        )
    return curvature_of(chosen)


def _predicted(
    n_items: int,
    count: int,
    rule: Rule,
    both_orders: bool,
    told: Callable[[Floats], Floats],
    spread: float,
    seed: int,
) -> float:
    """Root mean square standard error of a difference after `count` calls."""
    n = min(n_items, _SIMULATED.get(rule, _OTHERWISE))
    calls = 2 if both_orders or rule == "symmetric" else 1
    size = min(count, n * (n - 1) // (2 if rule == "regular" and calls == 1 else 1))
    if n < n_items:
        # At most half the pairs: no fuller than the larger set it stands for.
        size = calls * max(round(min(count / n_items, n / 4) * n / calls), n - 1)
    rng, variance = np.random.default_rng(seed), []
    for _ in range(1 if rule == "greedy" else -(-_DRAWN // n)):
        pairs = select(n, size, rule=rule, both_orders=both_orders, seed=rng)
        scores = spread * rng.standard_normal(n)
        weight = told(scores[pairs[:, 0]] - scores[pairs[:, 1]])
        links = conductances(n, pairs, weight * (count / n_items) / (size / n))
        covariance = pseudo_inverse(np.diag(links.sum(axis=1)) - links)
        # Its rows sum to zero, so the sum over i and j of R_ij is 2 N times its trace.
        variance.append(2.0 * float(np.trace(covariance)) / (n - 1))
    return float(np.sqrt(np.mean(variance)))


def _fewest(
    error: Callable[[int], float], wanted: float, ends: tuple[int, int, float], guess: float
) -> tuple[int, float]:
    """The fewest pairs with an error of at most `wanted`, and their error.

    ends : the least and the most there can be, and the error at the most, which is enough.
    First steps as if error^2 fell as 1 / pairs, then halves between too few and enough.
    """
    low, high, reached = ends[0] - 1, ends[1], ends[2]
    now = int(np.clip(guess, ends[0], ends[1]))
    for step in range(64):
        if high - low <= max(1, high // 400) or 0.995 * wanted < reached <= wanted:
            break
        error_now = error(now)
        if error_now <= wanted:
            high, reached = now, error_now
        else:
            low = now
        now = int(np.ceil(now * (error_now / wanted) ** 2))
        if step > 4 or not low < now < high:
            now = (low + high) // 2
    return high, reached
