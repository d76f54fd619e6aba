"""Comparison graphs that need no search: chains and trees, near-regular and random graphs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Indices, Mask
from poe.resistance import as_pairs, component_of

_REDRAWS = 10  # of a whole random set; at large N it fits at once or never
_REPAIRS = 100  # rounds of swaps before another ring is drawn; ten are rarely needed


def chain(n_items: int) -> Indices:
    """The N - 1 comparisons 0-1, 1-2, ..., the start of paper eq. 60, book eq. 10.7; (N - 1, 2)."""
    return np.column_stack([np.arange(n_items - 1), np.arange(1, n_items)]).astype(np.intp)


def linked(n_items: int, pairs: ArrayLike, *, seed: int | np.random.Generator = 0) -> Indices:
    """As few comparisons as link all items: groups in random order, each to the next; (G - 1, 2).

    A link ends at the least compared items of a group, drawn at random among them. From
    nothing every item is a group, and the links are the chain in a random order. To a
    determinant all are alike: before the last link it is zero, and what a link adds does
    not depend on where in its groups it ends.
    """
    rng = np.random.default_rng(seed)
    group = component_of(n_items, pairs)
    degree = np.bincount(as_pairs(n_items, pairs).ravel(), minlength=n_items)
    links: list[tuple[int, int]] = []
    order = rng.permutation(group.max() + 1)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    for here, there in pairwise(order):
        ends = [_least(members[g], degree, rng) for g in (here, there)]
        degree[ends] += 1
        links.append((ends[0], ends[1]))
    return np.array(links, dtype=np.intp).reshape(-1, 2)


def _least(members: Indices, degree: Indices, rng: np.random.Generator) -> int:
    least = members[degree[members] == degree[members].min()]
    return int(rng.choice(least))


def regular(n_items: int, count: int, *, seed: int | np.random.Generator = 0) -> Indices:
    """A random graph in which all items are compared equally often; (count, 2), no pair twice.

    Rings through all items in random order, one after the other, the first of which (from
    N - 1 pairs on) links everything. The numbers of comparisons of two items differ by at
    most one, for odd N by two; a whole ring shows each item first once. O(count) memory and
    nearly as much work, so it serves where no N x N matrix fits.

    Random regular graphs are expanders, and their determinant is close to that of greedy
    selection (measured at 1056 items: as if one pair in a thousand had not been asked). What
    is given up: nothing is optimised, and comparisons already made are not looked at.

    Where the graph is dense (a ring would often repeat a pair) the rounds of a round-robin
    tournament of items in random order are used instead. ValueError above N(N-1)/2 pairs.
    """
    most = n_items * (n_items - 1) // 2
    if not 0 <= count <= most:
        raise ValueError(f"{n_items} items have {most} pairs; {count} were asked for")
    rng = np.random.default_rng(seed)
    if 16 * count > n_items**2:  # more than an eighth of all pairs
        return _round_robin(n_items, rng)[:count]
    taken = np.empty(0, dtype=np.intp)
    rings = []
    for _ in range(-(-count // n_items)):
        order = _fresh_order(rng, n_items, taken)
        rings.append(_ring(order))
        # Merging two ascending runs is what a stable sort does fast.
        taken = np.sort(np.append(taken, np.sort(_codes(rings[-1], n_items))), kind="stable")
    return np.vstack(rings)[:count] if rings else np.empty((0, 2), dtype=np.intp)


def _ring(order: Indices) -> Indices:
    """The closed path through `order`: every other edge first, so that degrees keep level."""
    edges = np.column_stack([order, np.roll(order, -1)])
    return np.vstack([edges[0:-1:2], edges[1:-1:2], edges[-1:]])


def _fresh_order(rng: np.random.Generator, n_items: int, taken: Indices) -> Indices:
    """A random order whose ring has no pair among `taken`: swaps mend one that has."""
    order = rng.permutation(n_items)
    check = np.arange(n_items)  # edges, by their first end's place in the order
    for _ in range(_REPAIRS):
        edges = np.column_stack([order[check], order[(check + 1) % n_items]])
        here = check[_contains(taken, _codes(edges, n_items))]
        if not here.size:
            return order
        there = rng.integers(n_items, size=len(here))
        for a, b in zip(here, there, strict=True):
            order[[a, b]] = order[[b, a]]
        moved = np.concatenate([here, there])
        check = np.unique(np.concatenate([moved, moved - 1]) % n_items)
    return _fresh_order(rng, n_items, taken)


def scattered(
    n_items: int,
    count: int,
    *,
    ordered: bool,
    cover: bool,
    connected: bool,
    seed: int | np.random.Generator = 0,
) -> Indices:
    """A uniform set of pairs without a list of all pairs, for large N; (count, 2).

    ordered : draw among the N(N-1) orders rather than the N(N-1)/2 pairs. cover,
        connected : as `poe.select`; where bounded redrawing does not find such a set, a
        uniform spanning tree (or a cover) is completed by uniform pairs.
    """
    rng = np.random.default_rng(seed)
    pool = n_items * (n_items - 1) // (1 if ordered else 2)
    for _ in range(_REDRAWS):
        pairs = _decoded(rng.choice(pool, count, replace=False), n_items, ordered)
        if connected and not component_of(n_items, pairs).any():
            return pairs
        if not connected and (not cover or len(np.unique(pairs)) == n_items):
            return pairs
    links = np.array(uniform_tree(rng, n_items) if connected else covering(rng, n_items))
    if ordered:
        links = np.where(rng.random((len(links), 1)) < 0.5, links, links[:, ::-1])
    key = [links[:, 0] * n_items + links[:, 1], pairs[:, 0] * n_items + pairs[:, 1]]
    rest = pairs[~np.isin(key[1], key[0])][: count - len(links)]
    return rng.permutation(np.vstack([links, rest]))


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


def uniform_tree(rng: np.random.Generator, n_items: int) -> list[tuple[int, int]]:
    """A spanning tree drawn uniformly: each item's first entry in a random walk."""
    here, entered, links = int(rng.integers(n_items)), set(), []
    entered.add(here)
    while len(entered) < n_items:
        step = int(rng.integers(n_items - 1))
        there = step + (step >= here)
        if there not in entered:
            entered.add(there)
            links.append((min(here, there), max(here, there)))
        here = there
    return links


def covering(rng: np.random.Generator, n_items: int) -> list[tuple[int, int]]:
    """Pairs that touch every item, as few as possible."""
    order = rng.permutation(n_items).tolist()
    if n_items % 2:
        order.append(order[0])
    return [(min(a, b), max(a, b)) for a, b in zip(order[::2], order[1::2], strict=True)]


def _codes(pairs: Indices, n_items: int) -> Indices:
    return pairs.min(axis=1) * n_items + pairs.max(axis=1)


def _contains(ascending: Indices, wanted: Indices) -> Mask:
    at = np.searchsorted(ascending, wanted)
    return np.asarray(np.append(ascending, -1)[at] == wanted)


def _round_robin(n_items: int, rng: np.random.Generator) -> Indices:
    """All pairs as the rounds of a tournament; the first two rounds together link everything.

    In round t items i and j meet if i + j = t modulo M = N - 1, and the item with 2i = t meets the
    one left over. For odd N a guest makes the number even; whoever meets it rests.
    """
    even = n_items + n_items % 2
    rounds = (rng.integers(even - 1) + np.arange(2)) % (even - 1)
    rest = np.setdiff1d(np.arange(even - 1), rounds)
    order = np.concatenate([np.unique(rounds), rng.permutation(rest)])
    label = rng.permutation(n_items)
    made = []
    for turn, t in enumerate(order):
        one = np.arange(even - 1)
        other = (t - one) % (even - 1)
        # Shown first is whoever has the other within half a circle ahead.
        meet = ((other - one) % (even - 1) <= (even - 2) // 2) & (one != other)
        pairs = np.column_stack([one[meet], other[meet]])
        if n_items == even:
            left_over = [one[one == other][0], even - 1]
            pairs = np.vstack([pairs, left_over[:: 1 - 2 * (turn % 2)]])
        made.append(label[pairs])
    return np.vstack(made)
