"""Greedy choice: always the pair with the largest effective resistance (paper 3.6, A.7).

Comparing a and b multiplies det(W-tilde' W-tilde) by 1 + R_ab (paper eqs. 16 and 48 to 51), so
the best next comparison is the largest entry of the matrix of effective resistances. Under
the Laplace approximation the factor is 1 + c_ab R_ab with c_ab the curvature a comparison
would have, sigma(s_a - s_b) sigma(s_b - s_a) for Bradley-Terry (paper A.6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poe.arrays import Floats, Indices, Mask
from poe.choose.designs import in_orders_shown
from poe.comparisons import as_pairs
from poe.resistance import effective_resistance, fall

Counts = NDArray[np.signedinteger[Any]]
Strength = Callable[[Indices, Indices], Floats]

MOST_ITEMS = 6_000  # about 48 bytes for each pair of items: 1.7 GB
_TIE = 1e-9  # gains closer than this, relative to the best, differ by rounding only
# Updates saved up before the matrix is brought up to date: few enough that a row, which takes them
# one by one, stays cheap, and many enough that one product of matrices does them all at once.
_HELD = 128


def choose(
    resistance: Floats,
    shown: Counts,
    count: int,
    *,
    rng: np.random.Generator,
    strength: Strength | None = None,
    value: Strength | None = None,
    both_orders: bool = False,
) -> Indices:
    """Pick comparisons one after the other, each that with the largest gain v_ij R_ij.

    resistance : (N, N) effective resistances of a connected graph. shown : (N, N) how often
        i was shown first and j second. Both are brought up to date in place.
    strength : c_ij for positions i and j (arrays), the curvature a comparison adds; one by default.
    value : v_ij, what a unit of variance is worth there; c_ij by default.
    both_orders : each pair is asked in both orders, two comparisons.

    No pair is repeated while there are new ones, and then no order; a pair that was asked in
    one order is asked in the other, a new pair in a random one. Ties are broken at random.
    Returns (count, 2) positions (first, second) in order of choice, so that a shorter
    selection with the same seed is the beginning of a longer one.

    Resistances only fall, so a pair far from the top stays below it: between looks at the whole
    matrix only the pairs near the top are followed, and the updates of the matrix are held back
    and applied as one product. The picks are those of the argmax over all pairs at every step.
    """
    n, calls = len(resistance), 1 + both_orders
    chosen: list[tuple[int, int]] = []
    level = 0
    held, square = np.empty((_HELD, n)), np.zeros(n)  # vectors w, and their sum of w_i^2
    while len(chosen) < count:
        first, second, gain, floor = _front(resistance, shown, level, value or strength)
        c = np.ones_like(gain) if strength is None else strength(first, second)
        v = c if value is None else value(first, second)
        if not gain.size:
            level += 1
            continue
        k = 0
        while k < _HELD and len(chosen) < count:
            edge = float(gain.max()) * (1.0 - _TIE)
            if edge < max(floor, 0.0):
                break  # the largest may lie outside the front, or none is left
            ties = np.flatnonzero(gain >= edge)
            pick = int(ties[rng.integers(len(ties))])
            a, b = int(first[pick]), int(second[pick])
            # What the updates held take off a row, the sum of (w_a - w_j)^2, multiplied out.
            at_a, at_b = (
                resistance[i] - (square[i] + square - 2.0 * (held[:k, i] @ held[:k]))
                for i in (a, b)
            )
            w = held[k] = fall(at_a, at_b, at_a[b], calls * float(c[pick]))
            square += w * w
            gain -= v * (w[first] - w[second]) ** 2
            gain[pick] = -np.inf
            if shown[a, b] > shown[b, a] or (shown[a, b] == shown[b, a] and rng.random() < 0.5):
                a, b = b, a
            for pair in ((a, b), (b, a))[:calls]:
                shown[pair] += 1
                chosen.append(pair)
            k += 1
        fallen = -2.0 * (held[:k].T @ held[:k])
        fallen += square
        fallen += square[:, None]
        resistance -= fallen
        square[:] = 0.0
    return np.array(chosen, dtype=np.intp).reshape(-1, 2)


def best_pair(gain: Floats, room: Mask, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """The pair (i, j) of largest gain among those with room, ties broken at random.

    gain, room : (..., N, N), c_ij R_ij and whether i and j may still be asked; of many problems
    one pair each. The plain argmax, for a few items, where `choose` is for many: after it
    `poe.resistance.add_comparison` brings the resistances up to date.
    """
    n = gain.shape[-1]
    gain = np.where(room, gain * (1.0 + _TIE * rng.random(gain.shape)), -np.inf)
    best = gain.reshape(*gain.shape[:-2], n * n).argmax(axis=-1)
    return best // n, best % n


def extended(
    rng: np.random.Generator,
    n_items: int,
    made: Indices,
    weight: Floats,
    links: Indices,
    count: int,
    both_orders: bool,
    avoid: ArrayLike = (),
) -> Indices:
    """`count` comparisons to add to those made: links to join all items, then greedily.

    Between items that nothing links the resistance is infinite. avoid : (K, 2), as if they had been
    shown, though they tell nothing. Returns order of choice.
    """
    require_room(n_items)
    first = in_orders_shown(links, both_orders=both_orders, rng=rng)[:count]
    every = np.vstack([made, first])
    if len(first) == count:
        return first
    if len(made):
        weight = np.append(weight, np.ones(len(first)))
        resistance = effective_resistance(n_items, every, weight=weight)
    else:
        # The links are a path, along which resistances are distances: exact, unlike an inverse.
        place = np.empty(n_items)
        place[np.append(links[:1, 0], links[:, 1])] = np.arange(n_items) / (1 + both_orders)
        resistance = np.subtract.outer(place, place)
        np.abs(resistance, out=resistance)
    shown = count_shown(n_items, every) + count_shown(n_items, as_pairs(avoid, n_items))
    more = choose(resistance, shown, count - len(first), rng=rng, both_orders=both_orders)
    return np.vstack([first, more])


def _front(
    resistance: Floats, shown: Counts, level: int, value: Strength | None
) -> tuple[Indices, Indices, Floats, float]:
    """The pairs asked `level` times with the largest gains: first, second, gain, floor.

    No pair outside the front has a gain of `floor` or more, now or later.
    """
    first, second = np.nonzero(np.triu(times_asked(shown, shown.T) == level, 1))
    gain = resistance[first, second]
    gain = np.maximum(gain if value is None else gain * value(first, second), 0.0)
    size, floor = int(4.0 * len(resistance) ** (4 / 3)), -1.0
    if gain.size > size:
        floor = float(np.partition(gain, -size)[-size]) * (1.0 - 4.0 * _TIE)
    near = gain >= floor
    return first[near], second[near], gain[near], floor


def require_room(n_items: int) -> None:
    """Raise ValueError where numbers for every pair of items are too many to store."""
    if n_items > MOST_ITEMS:
        raise ValueError(
            f"this choice stores numbers for each pair of items: {n_items} items would take "
            f"{48e-9 * n_items**2:.1f} GB, and {MOST_ITEMS} are the most allowed; "
            "poe.select(..., rule='regular') needs no matrix and has nearly the same determinant"
        )


def count_shown(n_items: int, pairs: Indices) -> Counts:
    """(N, N) how often i was shown first and j second."""
    shown = np.zeros((n_items, n_items), dtype=np.int32)
    np.add.at(shown, (pairs[:, 0], pairs[:, 1]), 1)
    return shown


def times_asked(there: Counts, back: Counts) -> Counts:
    """Count the times a pair was asked, by its orders: 0 never, 1 in one order, 2 in both, ..."""
    return 2 * np.minimum(there, back) + (there != back)
