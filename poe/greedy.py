"""Greedy determinant selection: compare where the resistance is largest (paper 3.6, A.7).

Comparing a and b multiplies det(W-tilde' W-tilde) by 1 + R_ab (paper eqs. 16 and 48 to 51), so
the best next comparison is the largest entry of the matrix of effective resistances. Under
the Laplace approximation the factor is 1 + c_ab R_ab with c_ab the curvature a comparison
would have, sigma(s_a - s_b) sigma(s_b - s_a) for Bradley-Terry (paper A.6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Floats, Indices
from poe.designs import linked
from poe.front import Counts, Front, Network, Strength
from poe.resistance import as_pairs, effective_resistance

MOST_ITEMS = 12_000  # 12 bytes for each pair of items: 1.7 GB
MOST_TO_INVERT = 6_000  # 48 bytes for each pair while the inverse is taken: the same


def extend(
    n_items: int,
    made: ArrayLike,
    count: int,
    *,
    links: Indices | None = None,
    weight: ArrayLike | None = None,
    both_orders: bool = False,
    seed: int | np.random.Generator = 0,
) -> Indices:
    """`count` comparisons to add to those made, greedily for the determinant; (count, 2).

    made : (M, 2) positions compared already, perhaps none. weight : (M,) their weights.
    links : the comparisons to begin with, which must link everything. By default as few as do
        (`poe.designs.linked`): between unlinked items the resistance is infinite.
    both_orders : each pair is asked in both orders, two of the `count`, which must be even.

    Returns positions (first, second) in order of choice. See `choose` for what is promised,
    and `require_room` for the size of N.
    """
    made = as_pairs(n_items, made)
    require_room(n_items, to_invert=len(made) > 0)
    rng = np.random.default_rng(seed)
    calls = 2 if both_orders else 1
    links = linked(n_items, made, seed=rng) if links is None else links
    first = in_orders_shown(links, both_orders=both_orders, rng=rng)[:count]
    shown = count_shown(n_items, np.vstack([made, first]))
    if len(first) == count:
        return first
    if len(made):
        every = np.ones(len(made)) if weight is None else np.asarray(weight, dtype=float)
        every = np.concatenate([every, np.ones(len(first))])
        resistance = effective_resistance(n_items, np.vstack([made, first]), weight=every)
    else:
        # The links are a path, along which resistances are distances: exact, unlike an inverse.
        place = np.empty(n_items)
        place[np.append(links[:1, 0], links[:, 1])] = np.arange(n_items) / calls
        resistance = np.subtract.outer(place, place)
        np.abs(resistance, out=resistance)
    more = choose(resistance, shown, count - len(first), rng=rng, both_orders=both_orders)
    return np.vstack([first, more])


def choose(
    resistance: Floats,
    shown: Counts,
    count: int,
    *,
    rng: np.random.Generator,
    strength: Strength | None = None,
    both_orders: bool = False,
) -> Indices:
    """Pick comparisons one after the other, each that with the largest gain c_ij R_ij.

    resistance : (N, N) effective resistances of a connected graph. shown : (N, N) how often
        i was shown first and j second. Both are brought up to date in place.
    strength : c_ij for positions i and j (arrays that broadcast); one by default.
    both_orders : each pair is asked in both orders, two comparisons.

    No pair is repeated while there are new ones, and then no order; a pair that was asked in
    one order is asked in the other, a new pair in a random one. Ties are broken at random.
    Returns (count, 2) positions (first, second) in order of choice, so that a shorter
    selection with the same seed is the beginning of a longer one.
    """
    calls = 2 if both_orders else 1
    network = Network(resistance)
    chosen: list[tuple[int, int]] = []
    level = 0
    while len(chosen) < count:
        front = Front(resistance, shown, level, strength)
        if not front.gain.size:
            level += 1
            continue
        while len(chosen) < count and network.room and (k := front.best(rng)) is not None:
            a, b = int(front.first[k]), int(front.second[k])
            front.lower(network.add(a, b, calls * float(front.strength[k])), k)
            if shown[a, b] > shown[b, a] or (shown[a, b] == shown[b, a] and rng.random() < 0.5):
                a, b = b, a
            for pair in ((a, b), (b, a))[:calls]:
                shown[pair] += 1
                chosen.append(pair)
        network.settle()
    return np.array(chosen, dtype=np.intp).reshape(-1, 2)


def require_room(n_items: int, *, to_invert: bool = False) -> None:
    """Raise ValueError where a number for every pair of items is too much to store."""
    most, each = (MOST_TO_INVERT, 48) if to_invert else (MOST_ITEMS, 12)
    if n_items > most:
        raise ValueError(
            f"greedy selection stores numbers for each pair of items: {n_items} items would take "
            f"{each * 1e-9 * n_items**2:.1f} GB, and {most} are the most allowed"
            f"{' where comparisons were made already' if to_invert else ''}; "
            "poe.select(..., rule='regular') needs no matrix and has nearly the same determinant"
        )


def count_shown(n_items: int, pairs: Indices) -> Counts:
    """(N, N) how often i was shown first and j second."""
    shown = np.zeros((n_items, n_items), dtype=np.int32)
    np.add.at(shown, (pairs[:, 0], pairs[:, 1]), 1)
    return shown


def in_orders_shown(pairs: Indices, *, both_orders: bool, rng: np.random.Generator) -> Indices:
    """Each pair in a random order, followed by the other order if both are asked."""
    flip = rng.random(len(pairs)) < 0.5
    shown = np.where(flip[:, None], pairs[:, ::-1], pairs)
    return np.stack([shown, shown[:, ::-1]], axis=1).reshape(-1, 2) if both_orders else shown
