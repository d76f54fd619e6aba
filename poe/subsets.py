"""Random sets of pairs that cover or link all items: drawn, looked at, and drawn again."""

from __future__ import annotations

import numpy as np

from poe.comparisons import Indices, Mask
from poe.designs import covering, uniform_tree

ROUNDS = 200  # redraws before a spanning tree is used; each keeps what already fits
TOGETHER = 16  # sets looked at at once


def many_subsets(
    rng: np.random.Generator,
    draws: int,
    pool: Indices,
    n_items: int,
    size: int,
    cover: bool,
    connected: bool,
) -> Indices:
    """(draws, size) positions in `pool`; those that do not fit are drawn again."""
    chosen = _subsets(rng, draws, len(pool), size)
    waiting = np.arange(draws)
    for _ in range(ROUNDS):
        fits = _fits(pool[chosen[waiting]], n_items, cover, connected)
        waiting = waiting[~fits]
        if not waiting.size:
            break
        chosen[waiting] = _subsets(rng, len(waiting), len(pool), size)
    else:
        for draw in waiting:
            chosen[draw] = _tree_first(rng, n_items, size, pool, connected)
    return chosen


def one_subset(
    rng: np.random.Generator,
    pool: Indices,
    n_items: int,
    size: int,
    cover: bool,
    connected: bool,
) -> Indices:
    """As a row of `many_subsets`, and as if drawn one after the other, but looked at together.

    Near N pairs hundreds of sets are drawn for one that links all items, and looking at each
    costs more than drawing it. After the first that fits the generator is set back to where
    that set left it, so what is drawn next does not depend on how many were looked at.
    """
    tried, together = 0, 1
    while tried < ROUNDS:
        together = min(together, ROUNDS - tried)
        before = rng.bit_generator.state
        sets = np.stack([rng.permutation(len(pool))[:size] for _ in range(together)])
        fits = _fits(pool[sets], n_items, cover, connected)
        if fits.any():
            first = int(fits.argmax())
            if first < together - 1:
                rng.bit_generator.state = before
                for _ in range(first + 1):
                    rng.permutation(len(pool))
            return np.asarray(sets[first])
        tried, together = tried + together, min(4 * together, TOGETHER)
    rng.permutation(len(pool))  # as where sets are looked at one by one: the last one is not
    return _tree_first(rng, n_items, size, pool, connected)


def _subsets(rng: np.random.Generator, draws: int, pool: int, size: int) -> Indices:
    """Uniform subsets of range(pool), each in random order: (draws, size)."""
    if draws * pool <= 50_000_000 and draws > 1:
        keys = rng.random((draws, pool), dtype=np.float32)
        return np.argsort(keys, axis=1)[:, :size]
    return np.stack([rng.permutation(pool)[:size] for _ in range(draws)])


def _fits(pairs: Indices, n_items: int, cover: bool, connected: bool) -> Mask:
    """Which of the (B, size, 2) sets satisfy the conditions."""
    if not (cover or connected):
        return np.ones(len(pairs), dtype=bool)
    rows = np.arange(len(pairs))[:, None]
    seen = np.zeros((len(pairs), n_items), dtype=bool)
    seen[rows, pairs[..., 0]] = seen[rows, pairs[..., 1]] = True
    covers = np.asarray(seen.all(axis=1))
    if connected and covers.any():  # most sets that fail leave an item out, which is soon seen
        covers[covers] = _links(pairs[covers], n_items)
    return covers


def _links(pairs: Indices, n_items: int) -> Mask:
    """Which of the (B, size, 2) sets link every item to every other."""
    rows = np.arange(len(pairs))[:, None]
    reach = np.arange(n_items) + np.zeros((len(pairs), 1), dtype=np.intp)
    # Each item takes the smallest label it touches until nothing changes.
    while True:
        before = reach.copy()
        low = np.minimum(reach[rows, pairs[..., 0]], reach[rows, pairs[..., 1]])
        for side in (0, 1):
            np.minimum.at(reach, (rows, pairs[..., side]), low)
        reach = np.take_along_axis(reach, reach, axis=1)
        if np.array_equal(before, reach):
            return np.asarray((reach == 0).all(axis=1))


def _tree_first(
    rng: np.random.Generator, n_items: int, size: int, pool: Indices, connected: bool
) -> Indices:
    """Positions in `pool` of a spanning tree (or a cover) and uniform pairs to make `size`."""
    links = uniform_tree(rng, n_items) if connected else covering(rng, n_items)
    where = np.full((n_items, n_items), -1)
    where[pool[:, 0], pool[:, 1]] = np.arange(len(pool))
    oriented = [(a, b) if rng.random() < 0.5 or where[b, a] < 0 else (b, a) for a, b in links]
    start = [max(where[a, b], where[b, a]) if where[a, b] < 0 else where[a, b] for a, b in oriented]
    rest = rng.permutation(np.delete(np.arange(len(pool)), start))[: size - len(start)]
    return rng.permutation(np.concatenate([start, rest]).astype(np.intp))
