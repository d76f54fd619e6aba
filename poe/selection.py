"""Which comparisons to ask for before any answer is known.

A pair is an ordered pair of positions (first, second). The rules "random", "no-repeat" and
"symmetric" are those of the comparative-assessment paper, section 3.4; "greedy" is that of
the products-of-experts paper, section 3.6. `poe.next_comparisons` chooses with the answers
at hand.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Indices
from poe.designs import chain, linked, regular, scattered
from poe.greedy import extend
from poe.resistance import as_pairs
from poe.subsets import many_subsets, one_subset

Rule = Literal["random", "no-repeat", "symmetric", "greedy", "regular"]
RULES = ("random", "no-repeat", "symmetric", "greedy", "regular")

_LARGE = 200  # items up to which pairs are drawn from a list of all of them


def select(
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
    both_orders: bool = False,
    start: str | ArrayLike = "chain",
) -> Indices:
    """Draw `count` different comparisons among N items; (count, 2) positions.

    rule :
        "random", any of the N(N-1) ordered pairs.
        "no-repeat", never both orders of a pair, the order shown being random.
        "symmetric", always both orders, so `count` (which counts calls to the judge, as
        the paper's K does) must be even.
        "greedy", one after the other the pair that most increases det(W-tilde' W-tilde)
        (paper eq. 16; book eq. 10.4), ties broken at random. No pair is asked again while there
        are new ones, and then in the other order only. In order of choice: a smaller count with the
        same seed is a beginning of a larger. Memory grows as N^2, to 12,000 items, and work as
        N^2 a comparison at worst: beyond a few thousand items "regular" serves better.
        "regular", every item equally often in a random graph, at any N, see
        `poe.designs.regular`; its determinant is nearly that of "greedy".
    both_orders : each pair is asked in both orders, as "symmetric" does for random pairs.
    start : where "greedy" begins. "chain", the paper's N - 1 comparisons of neighbours in the
        list of items (eq. 60); "nothing", the same chain in a random order; or (M, 2)
        positions that were compared already, to which `count` are added, first of all such
        as link what is not linked.
    cover : every item takes part. connected : every item is linked to every other, which
        all products of experts need; it implies cover. Both hold for "greedy" and
        "regular" whatever is given.

    The first three rules return random order, and their sets are uniform among those that
    satisfy the conditions. Where such sets are so rare that bounded redrawing finds none, a
    uniform spanning tree is completed by uniform pairs instead. Raises ValueError when
    `count` cannot satisfy the conditions.
    """
    rng = np.random.default_rng(seed)
    _require_two(n_items)
    if not (isinstance(start, str) and start == "chain") and rule != "greedy":
        raise ValueError(f"start is for rule 'greedy'; rule {rule!r} always starts from nothing")
    if rule == "greedy":
        return _greedy(rng, n_items, count, both_orders, start)
    if rule == "regular":
        return _regular(rng, n_items, count, both_orders)
    if both_orders:
        rule = "symmetric"
    return select_stack(1, n_items, count, rule=rule, seed=rng, cover=cover, connected=connected)[0]


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
    if n_items > _LARGE:
        made = [_scattered(rng, n_items, count, rule, cover, connected) for _ in range(draws)]
        return _in_order_shown(rng, np.stack(made), rule)
    pool = _pool(n_items, rule)
    size = _check_count(n_items, count, rule, cover, connected, len(pool))
    if draws == 1:
        chosen = one_subset(rng, pool, n_items, size, cover, connected)[None]
    else:
        chosen = many_subsets(rng, draws, pool, n_items, size, cover, connected)
    return _in_order_shown(rng, pool[chosen], rule)


def _pool(n_items: int, rule: Rule) -> Indices:
    """The pairs to draw from: ordered for "random", unordered otherwise."""
    _require_two(n_items)
    if rule == "random":
        return np.argwhere(~np.eye(n_items, dtype=bool))
    if rule in ("no-repeat", "symmetric"):
        return np.column_stack(np.triu_indices(n_items, 1))
    raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, not {rule!r}")


def _scattered(
    rng: np.random.Generator, n_items: int, count: int, rule: Rule, cover: bool, connected: bool
) -> Indices:
    """As a row of `select_stack`, for items too many to list their pairs."""
    ordered = rule == "random"
    pool = n_items * (n_items - 1) // (1 if ordered else 2)
    size = _check_count(n_items, count, rule, cover, connected, pool)
    return scattered(n_items, size, ordered=ordered, cover=cover, connected=connected, seed=rng)


def _require_two(n_items: int) -> None:
    if n_items < 2:
        raise ValueError(f"comparisons need at least two items, not {n_items}")


def _check_count(
    n_items: int, count: int, rule: Rule, cover: bool, connected: bool, pool: int
) -> int:
    """How many of the `pool` to draw; a symmetric pair is two of the count."""
    least = n_items - 1 if connected else (n_items + 1) // 2 if cover else 1
    need = "link" if connected else "cover"
    calls = 2 if rule == "symmetric" else 1
    return _pairs_in(count, calls, n_items, rule, least, pool, f"the fewest that {need} them all")


def _pairs_in(
    count: int, calls: int, n_items: int, rule: Rule, least: int, most: int, why: str
) -> int:
    """The number of pairs that `count` calls pay for, `calls` each."""
    if count % calls:
        raise ValueError(f"both orders of each pair are asked, so count must be even: {count}")
    if not least * calls <= count <= most * calls:
        raise ValueError(
            f"count is {count}; with rule {rule!r}, {n_items} items allow {least * calls} "
            f"({why}) to {most * calls} comparisons"
        )
    return count // calls


def _greedy(
    rng: np.random.Generator, n_items: int, count: int, both_orders: bool, start: str | ArrayLike
) -> Indices:
    if isinstance(start, str) and start not in ("chain", "nothing"):
        raise ValueError(f"start must be 'chain', 'nothing' or (M, 2) positions, not {start!r}")
    made = as_pairs(n_items, [] if isinstance(start, str) else start)
    links = chain(n_items) if isinstance(start, str) and start == "chain" else None
    if links is None:
        links = linked(n_items, made, seed=rng)
    calls = 2 if both_orders else 1
    # Asked already: orders where one is asked at a time, pairs where both are.
    asked = {(i, j) if calls == 1 or i < j else (j, i) for i, j in made.tolist()}
    most = n_items * (n_items - 1) // calls - len(asked)
    least, why = len(links), "the fewest that link them all"
    _pairs_in(count, calls, n_items, "greedy", least, most, why)
    return extend(n_items, made, count, links=links, both_orders=both_orders, seed=rng)


def _regular(rng: np.random.Generator, n_items: int, count: int, both_orders: bool) -> Indices:
    calls, most = 2 if both_orders else 1, n_items * (n_items - 1) // 2
    why = "the fewest that link them all"
    size = _pairs_in(count, calls, n_items, "regular", n_items - 1, most, why)
    pairs = regular(n_items, size, seed=rng)
    return np.stack([pairs, pairs[:, ::-1]], axis=1).reshape(-1, 2) if both_orders else pairs


def _in_order_shown(rng: np.random.Generator, pairs: Indices, rule: Rule) -> Indices:
    if rule == "no-repeat":
        flip = rng.random(pairs.shape[:2]) < 0.5
        return np.where(flip[..., None], pairs[..., ::-1], pairs)
    if rule == "symmetric":
        both = np.stack([pairs, pairs[..., ::-1]], axis=2)
        return both.reshape(len(pairs), -1, 2)
    return pairs
