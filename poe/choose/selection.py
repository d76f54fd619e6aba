"""Which comparisons to ask for before there is any answer.

A pair is an ordered pair of positions (first, second). The rules "random", "no-repeat" and
"symmetric" are those of the comparative-assessment paper, section 3.4; "greedy" is that of
the products-of-experts paper, section 3.6.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poe.arrays import Indices, Mask
from poe.choose.designs import both_orders_of, chain, linked, regular
from poe.choose.greedy import extended
from poe.resistance import component_of

Rule = Literal["random", "no-repeat", "symmetric", "greedy", "regular"]

_LISTED = 200  # items up to which random sets are drawn from a list of all pairs
_REDRAWS = 200  # of such sets before a spanning tree is used
_REDRAWS_LARGE = 10  # of larger ones, which fit at once or never


def select(
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
    both_orders: bool = False,
    start: Literal["chain", "nothing"] = "chain",
) -> Indices:
    """Draw `count` different comparisons among N items; (count, 2) positions.

    Parameters
    ----------
    rule
        "random", any of the N(N-1) ordered pairs.
        "no-repeat", never both orders of a pair, the order shown being random.
        "symmetric", always both orders, so `count` (which counts calls to the judge, as the paper's
        K does) must be even.
        "greedy", one after the other the pair that most increases det(W-tilde' W-tilde) (paper eq.
        16; book eq. 10.4), ties broken at random. No pair is asked again while there are new ones,
        and then in the other order only. In order of choice: a smaller count with the same seed is
        a beginning of a larger. Memory grows as N^2, to 6,000 items, and work as N^2 a comparison
        at worst: beyond a few thousand items "regular" serves better.
        "regular", every item equally often in a random graph, at any N, see
        `poe.choose.designs.regular`; its determinant is nearly that of "greedy".
    both_orders : each pair is asked in both orders, as "symmetric" does for random pairs
    start
        Where "greedy" begins: "chain", the paper's N - 1 comparisons of neighbours in the list of
        items (eq. 60), or "nothing", the same chain in a random order. To go on from comparisons
        already made, see `poe.next_comparisons` and its rule "determinant".
    cover : every item takes part
    connected
        Every item is linked to every other, which all products of experts need; it implies cover.
        Both hold for "greedy" and "regular" whatever is given.

    Notes
    -----
    ValueError when `count` cannot satisfy the conditions. The first three rules return random
    order, and their sets are uniform among those that satisfy the conditions. Where such sets are
    so rare that bounded redrawing finds none, a uniform spanning tree is completed by uniform pairs
    instead.

    Examples
    --------
    >>> len(poe.select(4, 12, rule="symmetric"))  # all ordered pairs of four items
    12
    """
    rng = np.random.default_rng(seed)
    if n_items < 2:
        raise ValueError(f"comparisons need at least two items, not {n_items}")
    if start != "chain" and rule != "greedy":
        raise ValueError(f"start is for rule 'greedy'; rule {rule!r} always starts from nothing")
    if rule not in ("greedy", "regular"):
        rule = "symmetric" if both_orders else rule
        conditions = {"cover": cover, "connected": connected}
        return select_stack(1, n_items, count, rule=rule, seed=rng, **conditions)[0]
    again = rule == "greedy" and not both_orders  # a pair may be asked in its other order, later
    size = _pairs_in(count, n_items, rule, n_items - 1, ordered=again, both_orders=both_orders)
    if rule == "greedy":
        if start not in ("chain", "nothing"):
            raise ValueError(f"start must be 'chain' or 'nothing', not {start!r}")
        nothing = np.empty((0, 2), dtype=np.intp)
        links = chain(n_items) if start == "chain" else linked(n_items, nothing, seed=rng)
        return extended(rng, n_items, nothing, np.ones(0), links, count, both_orders)
    pairs = regular(n_items, size, seed=rng)
    return both_orders_of(pairs) if both_orders else pairs


def select_stack(
    draws: int,
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
) -> Indices:
    """As `select`, `draws` times: (draws, count, 2) positions."""
    rng = np.random.default_rng(seed)
    if rule in ("greedy", "regular"):
        return np.stack([select(n_items, count, rule=rule, seed=rng) for _ in range(draws)])
    if rule not in ("random", "no-repeat", "symmetric"):
        known = "'random', 'no-repeat', 'symmetric', 'greedy', 'regular'"
        raise ValueError(f"rule must be one of {known}, not {rule!r}")
    ordered, symmetric = rule == "random", rule == "symmetric"
    least = n_items - 1 if connected else (n_items + 1) // 2 if cover else 1
    why = f"the fewest that {'link' if connected else 'cover'} them all"
    size = _pairs_in(count, n_items, rule, least, why, ordered=ordered, both_orders=symmetric)
    draw = _listed if n_items <= _LISTED else _scattered
    pairs = draw(rng, draws, _Wanted(n_items, size, ordered, cover, connected))
    if rule == "no-repeat":
        flip = rng.random(pairs.shape[:2]) < 0.5
        return np.where(flip[..., None], pairs[..., ::-1], pairs)
    return both_orders_of(pairs) if symmetric else pairs


def _pairs_in(
    count: int,
    n_items: int,
    rule: str,
    least: int,
    why: str = "the fewest that link them all",
    *,
    ordered: bool,
    both_orders: bool,
) -> int:
    """The number of pairs that `count` calls pay for; ValueError if too few or too many."""
    calls = 2 if both_orders else 1
    most = n_items * (n_items - 1) // (1 if ordered else 2) * calls
    if count % calls:
        raise ValueError(f"both orders of each pair are asked, so count must be even: {count}")
    if not least * calls <= count <= most:
        raise ValueError(
            f"count is {count}; with rule {rule!r}, {n_items} items allow {least * calls} "
            f"({why}) to {most} comparisons"
        )
    return count // calls


# Random sets ----------------------------------------------------------------------------------


class _Wanted(NamedTuple):
    """Sets of `size` pairs, ordered or i < j, that cover all items or link them."""

    n_items: int
    size: int
    ordered: bool
    cover: bool
    connected: bool


def _listed(rng: np.random.Generator, draws: int, wanted: _Wanted) -> Indices:
    """(draws, size, 2) sets from a list of all pairs; those that do not fit are drawn again."""
    n_items, size, ordered, cover, connected = wanted
    pool = np.argwhere(~np.eye(n_items, dtype=bool))
    pool = pool if ordered else pool[pool[:, 0] < pool[:, 1]]
    sets = pool[_subsets(rng, draws, len(pool), size)]
    waiting = np.arange(draws)
    for _ in range(_REDRAWS):
        waiting = waiting[~_fits(sets[waiting], n_items, cover, connected)]
        if not waiting.size:
            break
        sets[waiting] = pool[_subsets(rng, len(waiting), len(pool), size)]
    for draw in waiting:
        links = _oriented(rng, _fewest_links(rng, n_items, connected))
        links = links if ordered else np.sort(links, axis=1)
        rest = rng.permutation(_without(links, pool, n_items))[: size - len(links)]
        sets[draw] = rng.permutation(np.vstack([links, rest]))
    return sets


def _scattered(rng: np.random.Generator, draws: int, wanted: _Wanted) -> Indices:
    """As `_listed` for large N, without a list of all pairs."""
    n_items, size, ordered, cover, connected = wanted
    pool = n_items * (n_items - 1) // (1 if ordered else 2)
    sets = np.empty((draws, size, 2), dtype=np.intp)
    for draw in range(draws):
        for _ in range(_REDRAWS_LARGE):
            sets[draw] = _decoded(rng.choice(pool, size, replace=False), n_items, ordered)
            if _fits(sets[draw, None], n_items, cover, connected)[0]:
                break
        else:
            links = _fewest_links(rng, n_items, connected)
            links = _oriented(rng, links) if ordered else links
            rest = _without(links, sets[draw], n_items)[: size - len(links)]
            sets[draw] = rng.permutation(np.vstack([links, rest]))
    return sets


def _subsets(rng: np.random.Generator, draws: int, pool: int, size: int) -> Indices:
    """Uniform subsets of range(pool), each in random order: (draws, size)."""
    if draws * pool <= 50_000_000 and draws > 1:
        keys = rng.random((draws, pool), dtype=np.float32)
        return np.argsort(keys, axis=1)[:, :size]
    return np.stack([rng.permutation(pool)[:size] for _ in range(draws)])


def _fits(sets: Indices, n_items: int, cover: bool, connected: bool) -> Mask:
    """Which of the (B, size, 2) sets cover or link all items."""
    fits = np.ones(len(sets), dtype=bool)
    if cover or connected:
        apart = sets + n_items * np.arange(len(sets))[:, None, None]  # B graphs side by side
        times = np.bincount(apart.ravel(), minlength=n_items * len(sets))
        fits = np.asarray(times.reshape(-1, n_items).all(axis=1))
    if connected and fits.any():  # most sets that fail leave an item out, which is soon seen
        left = sets[fits] + n_items * np.arange(fits.sum())[:, None, None]
        group = component_of(n_items * len(left), left.reshape(-1, 2)).reshape(-1, n_items)
        fits[fits] = (group == group[:, :1]).all(axis=1)
    return fits


def _without(links: Indices, pairs: Indices, n_items: int) -> Indices:
    """Those of the pairs that are not among the links."""
    taken, code = (one[:, 0] * n_items + one[:, 1] for one in (links, pairs))
    return pairs[~np.isin(code, taken)]


def _decoded(code: Indices, n_items: int, ordered: bool) -> Indices:
    """Pairs from numbers below N(N-1), or i < j from numbers below N(N-1)/2."""
    if ordered:
        first, second = np.divmod(code, n_items - 1)
        return np.column_stack([first, second + (second >= first)])
    # Item j has j pairs with those before it; j and N - j together have N.
    high, low = np.divmod(code, n_items)
    high += 1
    folded = low >= high
    low, high = np.where(folded, low - high, low), np.where(folded, n_items - high, high)
    return np.column_stack([low, high])


def _fewest_links(rng: np.random.Generator, n_items: int, connected: bool) -> Indices:
    """Pairs i < j: a spanning tree drawn uniformly, or as few as touch every item."""
    if not connected:
        order = rng.permutation(n_items)
        return np.sort(np.append(order, order[: n_items % 2]).reshape(-1, 2), axis=1)
    # Each item's first entry in a random walk.
    here = int(rng.integers(n_items))
    entered, links = {here}, list[tuple[int, int]]()
    while len(entered) < n_items:
        step = int(rng.integers(n_items - 1))
        there = step + (step >= here)
        if there not in entered:
            entered.add(there)
            links.append((min(here, there), max(here, there)))
        here = there
    return np.array(links, dtype=np.intp)


def _oriented(rng: np.random.Generator, links: Indices) -> Indices:
    return np.where(rng.random((len(links), 1)) < 0.5, links, links[:, ::-1])
