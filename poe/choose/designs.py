"""Designs that need no search: a chain, links between groups, random graphs of equal degrees.

A pair is an ordered pair of positions (first, second).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Indices
from poe.comparisons import as_pairs
from poe.resistance import component_of

__all__ = ["both_orders_of", "chain", "in_orders_shown", "linked", "regular"]

_REPAIRS = 100  # rounds of swaps before another ring is drawn; ten are rarely needed


def chain(n_items: int) -> Indices:
    """The N - 1 comparisons 0-1, 1-2, ..., the start of paper eq. 60, book eq. 10.7; (N - 1, 2)."""
    return np.column_stack([np.arange(n_items - 1), np.arange(1, n_items)]).astype(np.intp)


def linked(n_items: int, pairs: ArrayLike, *, seed: int | np.random.Generator = 0) -> Indices:
    """Link all items by the fewest comparisons: groups in random order, in a chain; (G - 1, 2).

    A link ends at the least compared items of a group, drawn at random among them. From
    nothing every item is a group, and the links are the chain in a random order. To a
    determinant all are alike: before the last link it is zero, and what a link adds does
    not depend on where in its groups it ends.
    """
    rng = np.random.default_rng(seed)
    group = component_of(n_items, pairs)
    degree = np.bincount(as_pairs(pairs, n_items).ravel(), minlength=n_items)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    links = []
    for here, there in pairwise(rng.permutation(len(members))):
        least = (m[degree[m] == degree[m].min()] for m in (members[here], members[there]))
        ends = [int(rng.choice(one)) for one in least]
        degree[ends] += 1
        links.append(ends)
    return np.array(links, dtype=np.intp).reshape(-1, 2)


def regular(n_items: int, count: int, *, seed: int | np.random.Generator = 0) -> Indices:
    """A random graph in which all items are compared equally often; (count, 2), no pair twice.

    Rings through all items in random order, one after the other, the first of which (from
    N - 1 pairs on) links everything. The numbers of comparisons of two items differ by at
    most one, for odd N by two; a whole ring shows each item first once. O(count) memory and
    nearly as much work, so it serves where no N x N matrix fits.

    Random regular graphs are expanders, and their determinant is close to that of greedy
    selection (measured at 1056 items: as if one pair in a thousand had not been asked).

    Where the graph is dense (a ring would often repeat a pair) the rounds of a round-robin
    tournament of items in random order are used instead. ValueError above N(N-1)/2 pairs.
    """
    most = n_items * (n_items - 1) // 2
    if not 0 <= count <= most:
        raise ValueError(f"{n_items} items have {most} pairs; {count} were asked for")
    rng = np.random.default_rng(seed)
    if 16 * count > n_items**2:  # more than an eighth of all pairs
        return _round_robin(n_items, rng, count)
    taken, rings = np.empty(0, dtype=np.intp), [np.empty((0, 2), dtype=np.intp)]
    for _ in range(-(-count // n_items)):
        order = _fresh_order(rng, n_items, taken)
        edges = np.column_stack([order, np.roll(order, -1)])
        # Every other edge of the ring first, so that degrees keep level.
        rings.append(np.vstack([edges[0:-1:2], edges[1:-1:2], edges[-1:]]))
        # Merging two ascending runs is what a stable sort does fast.
        taken = np.sort(np.append(taken, np.sort(_codes(edges, n_items))), kind="stable")
    return np.vstack(rings)[:count]


def _fresh_order(rng: np.random.Generator, n_items: int, taken: Indices) -> Indices:
    """A random order whose ring has no pair among `taken`: swaps mend one that has."""
    order = rng.permutation(n_items)
    check = np.arange(n_items)  # edges, by their first end's place in the order
    for _ in range(_REPAIRS):
        edges = np.column_stack([order[check], order[(check + 1) % n_items]])
        codes = _codes(edges, n_items)
        here = check[np.append(taken, -1)[np.searchsorted(taken, codes)] == codes]
        if not here.size:
            return order
        there = rng.integers(n_items, size=len(here))
        for a, b in zip(here, there, strict=True):
            order[[a, b]] = order[[b, a]]
        moved = np.concatenate([here, there])
        check = np.unique(np.concatenate([moved, moved - 1]) % n_items)
    return _fresh_order(rng, n_items, taken)


def _codes(pairs: Indices, n_items: int) -> Indices:
    """A number for each pair, the same for its two orders."""
    return np.asarray(pairs.min(axis=1) * n_items + pairs.max(axis=1))


def _round_robin(n_items: int, rng: np.random.Generator, count: int) -> Indices:
    """So many pairs of a tournament's rounds; the first two rounds together link everything.

    In round t items i and j meet if i + j = t modulo M = N - 1, and the item with 2i = t meets the
    one left over. For odd N a guest makes the number even; whoever meets it rests.
    """
    even = n_items + n_items % 2
    rounds = (rng.integers(even - 1) + np.arange(2)) % (even - 1)
    rest = np.delete(np.arange(even - 1), rounds)
    order = np.concatenate([np.sort(rounds), rng.permutation(rest)])
    label = rng.permutation(n_items)
    turns, one = order[: -(-count // (n_items // 2)), None], np.arange(even - 1)
    other = (turns - one) % (even - 1)
    # Shown first is whoever has the other within half a circle ahead.
    meet = ((other - one) % (even - 1) <= (even - 2) // 2) & (one != other)
    ends = (np.broadcast_to(one, other.shape)[meet], other[meet])
    pairs = np.stack(ends, axis=-1).reshape(len(turns), -1, 2)
    if n_items == even:
        alone = (one == other).argmax(axis=1)
        left_over = np.stack([alone, np.full_like(alone, even - 1)], axis=-1)
        left_over[1::2] = left_over[1::2, ::-1]
        pairs = np.concatenate([pairs, left_over[:, None]], axis=1)
    return label[pairs.reshape(-1, 2)[:count]]


def both_orders_of(pairs: Indices) -> Indices:
    """Each pair followed by its other order: (..., K, 2) to (..., 2 K, 2)."""
    both = np.stack([pairs, pairs[..., ::-1]], axis=-2)
    return both.reshape(*pairs.shape[:-2], -1, 2)


def in_orders_shown(pairs: Indices, *, both_orders: bool, rng: np.random.Generator) -> Indices:
    """Each pair in a random order, followed by the other order if both are asked."""
    flip = rng.random(len(pairs)) < 0.5
    shown = np.where(flip[:, None], pairs[:, ::-1], pairs)
    return both_orders_of(shown) if both_orders else shown
