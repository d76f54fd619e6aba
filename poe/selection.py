"""Which comparisons to ask for: random subsets that leave no item out.

A pair is an ordered pair of positions (first, second). The three rules are those of the
comparative-assessment paper, section 3.4.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from poe.comparisons import Indices, Mask

Rule = Literal["random", "no-repeat", "symmetric"]

_ROUNDS = 200  # redraws before a spanning tree is used; each keeps what already fits


def select(
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
) -> Indices:
    """Draw `count` different comparisons among N items; (count, 2) positions, in random order.

    rule : "random", any of the N(N-1) ordered pairs; "no-repeat", never both orders of a
        pair, the order shown being random; "symmetric", always both orders, so `count`
        (which counts calls to the judge, as the paper's K does) must be even.
    cover : every item takes part. connected : every item is linked to every other, which
        all products of experts need; it implies cover.

    Sets are uniform among those that satisfy the conditions. Where such sets are so rare
    that bounded redrawing finds none, a uniform spanning tree is completed by uniform
    pairs instead. Raises ValueError when `count` cannot satisfy the conditions.
    """
    return select_stack(1, n_items, count, rule=rule, seed=seed, cover=cover, connected=connected)[
        0
    ]


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
    pool = _pool(n_items, rule)
    size = _check_count(n_items, count, rule, cover, connected, len(pool))
    chosen = _subsets(rng, draws, len(pool), size)
    waiting = np.arange(draws)
    for _ in range(_ROUNDS):
        fits = _fits(pool[chosen[waiting]], n_items, cover, connected)
        waiting = waiting[~fits]
        if not waiting.size:
            break
        chosen[waiting] = _subsets(rng, len(waiting), len(pool), size)
    else:
        for draw in waiting:
            chosen[draw] = _tree_first(rng, n_items, size, pool, connected)
    return _in_order_shown(rng, pool[chosen], rule)


def _pool(n_items: int, rule: Rule) -> Indices:
    """The pairs to draw from: ordered for "random", unordered otherwise."""
    if n_items < 2:
        raise ValueError(f"comparisons need at least two items, not {n_items}")
    if rule == "random":
        return np.argwhere(~np.eye(n_items, dtype=bool))
    if rule in ("no-repeat", "symmetric"):
        return np.column_stack(np.triu_indices(n_items, 1))
    raise ValueError(f"rule must be 'random', 'no-repeat' or 'symmetric', not {rule!r}")


def _check_count(
    n_items: int, count: int, rule: Rule, cover: bool, connected: bool, pool: int
) -> int:
    calls = 2 if rule == "symmetric" else 1
    if count % calls:
        raise ValueError(f"symmetric selection asks both orders, so count must be even: {count}")
    size = count // calls
    least = n_items - 1 if connected else (n_items + 1) // 2 if cover else 1
    if not least <= size <= pool:
        need = "link" if connected else "cover"
        raise ValueError(
            f"count is {count}; with rule {rule!r}, {n_items} items allow {least * calls} "
            f"(the fewest that {need} them all) to {pool * calls} comparisons"
        )
    return size


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
    reach = np.arange(n_items) + np.zeros((len(pairs), 1), dtype=np.intp)
    rows = np.arange(len(pairs))[:, None]
    if not connected:
        seen = np.zeros((len(pairs), n_items), dtype=bool)
        seen[rows, pairs[..., 0]] = seen[rows, pairs[..., 1]] = True
        return np.asarray(seen.all(axis=1))
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
    links = _uniform_tree(rng, n_items) if connected else _cover(rng, n_items)
    where = {pair: k for k, pair in enumerate(map(tuple, pool.tolist()))}
    oriented = [(a, b) if rng.random() < 0.5 or (b, a) not in where else (b, a) for a, b in links]
    start = [where[pair] if pair in where else where[pair[::-1]] for pair in oriented]
    rest = rng.permutation(np.setdiff1d(np.arange(len(pool)), start))[: size - len(start)]
    return rng.permutation(np.concatenate([start, rest]).astype(np.intp))


def _uniform_tree(rng: np.random.Generator, n_items: int) -> list[tuple[int, int]]:
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


def _cover(rng: np.random.Generator, n_items: int) -> list[tuple[int, int]]:
    """Pairs that touch every item, as few as possible."""
    order = rng.permutation(n_items).tolist()
    if n_items % 2:
        order.append(order[0])
    return [(min(a, b), max(a, b)) for a, b in zip(order[::2], order[1::2], strict=True)]


def _in_order_shown(rng: np.random.Generator, pairs: Indices, rule: Rule) -> Indices:
    if rule == "no-repeat":
        flip = rng.random(pairs.shape[:2]) < 0.5
        return np.where(flip[..., None], pairs[..., ::-1], pairs)
    if rule == "symmetric":
        both = np.stack([pairs, pairs[..., ::-1]], axis=2)
        return both.reshape(len(pairs), -1, 2)
    return pairs
