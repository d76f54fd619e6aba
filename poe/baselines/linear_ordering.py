"""The linear ordering problem: the permutation with the largest sum above its diagonal.

Given gain[i, j], earned if i is placed above j, find the order with the largest total. With
counts of decisions as gains this is Kemeny's ranking, or the minimum feedback arc set of the
graph of decisions; it is NP-hard in general. Three facts make it practical here. Orders of
the strong components of the majority graph can be solved apart (every pair between two
components can be satisfied). A component of up to 16 items is solved exactly by dynamic
programming over its subsets. The rest is local search, which says that it is one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from poe.comparisons import Floats, Indices

LARGEST_EXACT = 18  # 2^18 subsets of 18 items: 38 MB
LONGEST_BLOCK = 8


@dataclass(frozen=True, eq=False)
class Ordering:
    """An order and its value.

    order : (N,) positions, top first. value : sum of gain[i, j] over i above j.
    optimal : whether it is proven that no order has a larger value. unique : whether it is
        proven that no other order has this value.
    """

    order: Indices
    value: float
    optimal: bool
    unique: bool


def linear_ordering(
    gain: Floats, *, exact_up_to: int = 16, restarts: int = 20, seed: int = 0
) -> Ordering:
    """Order of N items that maximises the sum of gain[i, j] over i above j.

    gain : (N, N) finite numbers; the diagonal is ignored.
    exact_up_to : largest strong component solved exactly, at most 18; time and memory
        double with each item. Larger ones are improved from the order of their row sums and
        from `restarts` random orders (`seed`) by moving items and blocks of up to 8.

    Among equally good orders the one nearer to the row sums of gain[i, j] - gain[j, i], then
    to the order given, is preferred; `unique` says whether there was a choice.
    """
    gain = np.array(gain, dtype=float)
    if gain.ndim != 2 or gain.shape[0] != gain.shape[1] or not len(gain):
        raise ValueError(f"gain must be a square matrix of at least one item, not {gain.shape}")
    np.fill_diagonal(gain, 0.0)
    if not np.isfinite(gain).all():
        i, j = np.argwhere(~np.isfinite(gain))[0]
        raise ValueError(f"gain[{i}, {j}] is {gain[i, j]}: every gain must be finite")
    if not 1 <= exact_up_to <= LARGEST_EXACT:
        raise ValueError(f"exact_up_to must lie in 1..{LARGEST_EXACT}, not {exact_up_to}")
    margin = gain - gain.T
    tol = 1e-12 * len(gain) * max(np.abs(gain).max(), np.finfo(float).tiny)
    by_sum = np.argsort(-margin.sum(axis=1), kind="stable")
    margin = margin[np.ix_(by_sum, by_sum)]
    rng = np.random.default_rng(seed)
    found, optimal, unique = [], True, True
    for group in _components(margin > tol):
        part = margin[np.ix_(group, group)]
        if len(group) <= exact_up_to:
            order, alone = _exact(part, tol)
        else:
            order, alone = _search(part, tol, restarts, rng), False
            optimal = False
        found.append(group[order])
        unique &= alone
    order = np.concatenate(found)
    # Neighbours that are not held in place could be swapped without loss.
    unique &= bool((margin[order[:-1], order[1:]] > tol).all())
    order = by_sum[order]
    value = float(np.triu(gain[np.ix_(order, order)]).sum())
    return Ordering(order, value, optimal, unique and optimal)


def _components(above: Floats) -> list[Indices]:
    """Strong components of the graph "i should be above j", top first, earliest item first."""
    count, label = connected_components(above, directed=True, connection="strong")
    groups = [np.flatnonzero(label == g) for g in range(count)]
    indicator = np.zeros((count, len(label)))
    indicator[label, np.arange(len(label))] = 1.0
    edge = (indicator @ above @ indicator.T) > 0
    np.fill_diagonal(edge, False)
    waiting = edge.sum(axis=0)
    ready = [(int(groups[g][0]), int(g)) for g in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, g = heapq.heappop(ready)
        ordered.append(groups[g])
        for h in np.flatnonzero(edge[g]):
            waiting[h] -= 1
            if waiting[h] == 0:
                heapq.heappush(ready, (int(groups[h][0]), int(h)))
    return ordered


def _exact(margin: Floats, tol: float) -> tuple[Indices, bool]:
    """Best order of a few items and whether it is the only one, by subsets (Held and Karp).

    best[S] is the value of the best order of the items in S, whose bits are set in S. The
    last of them is some i, and what i adds depends on the others as a set only.
    """
    n = len(margin)
    above = np.zeros((n, 1 << n))  # above[i, S]: sum of margin[j, i] over j in S
    for b in range(n):
        above[:, 1 << b : 2 << b] = above[:, : 1 << b] + margin[b][:, None]
    sets = np.arange(1 << n)
    size = np.bitwise_count(sets)
    best = np.full(1 << n, -np.inf)
    ways = np.zeros(1 << n, dtype=np.int64)
    last = np.zeros(1 << n, dtype=np.intp)
    best[0], ways[0] = 0.0, 1
    for k in range(1, n + 1):
        these = sets[size == k]
        for i in range(n):
            own = these[(these >> i) & 1 == 1]
            rest = own ^ (1 << i)
            value = best[rest] + above[i, rest]
            larger, equal = value > best[own] + tol, np.abs(value - best[own]) <= tol
            ways[own] = np.where(larger, ways[rest], ways[own] + np.where(equal, ways[rest], 0))
            last[own] = np.where(larger | equal, i, last[own])
            best[own] = np.maximum(best[own], value)
    order, left = [], (1 << n) - 1
    while left:
        order.append(int(last[left]))
        left ^= 1 << order[-1]
    return np.array(order[::-1], dtype=np.intp), bool(ways[-1] == 1)


def _search(margin: Floats, tol: float, restarts: int, rng: np.random.Generator) -> Indices:
    """Best local optimum from the order given and from random ones."""
    n = len(margin)
    starts = [np.arange(n), *(rng.permutation(n) for _ in range(restarts))]
    found = [_improve(start, margin, tol) for start in starts]
    values = [np.triu(margin[np.ix_(order, order)], 1).sum() for order in found]
    return found[int(np.argmax(values))]


def _improve(order: Indices, margin: Floats, tol: float) -> Indices:
    """Move single items until none helps, then a block, until neither does."""
    while True:
        order = _move_items(order, margin, tol)
        moved = _move_block(order, margin, tol)
        if moved is None:
            return order
        order = moved


def _move_items(order: Indices, margin: Floats, tol: float) -> Indices:
    improved = True
    while improved:
        improved = False
        for item in order.copy():
            place = int(np.flatnonzero(order == item)[0])
            others = np.delete(order, place)
            value = np.concatenate([[0.0], np.cumsum(margin[others, item])])
            target = int(np.argmax(value))
            if value[target] > value[place] + tol:
                order = np.insert(others, target, item)
                improved = True
    return order


def _move_block(order: Indices, margin: Floats, tol: float) -> Indices | None:
    """The best exchange of two neighbouring blocks, one of at most 8 items, if it helps."""
    n = len(order)
    total = np.zeros((n + 1, n + 1))  # total[a, c]: sum of margin over rows < a, columns < c
    total[1:, 1:] = margin[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
    best, where = tol, None
    for length in range(2, min(LONGEST_BLOCK, n - 1) + 1):
        short = np.arange(n - length + 1)
        end, far = short + length, np.arange(n + 1)
        # Block [a, b) with [b, c) loses its rectangle of the margin; b - a = length ...
        down = -(
            total[end][:, far]
            - total[short][:, far]
            - (total[end, end] - total[short, end])[:, None]
        )
        down[far[None, :] <= end[:, None]] = -np.inf
        # ... or c - b = length, a anywhere above.
        up = -(
            (total[short, end] - total[short, short])[:, None]
            - (total[far][:, end] - total[far][:, short]).T
        )
        up[far[None, :] >= short[:, None]] = -np.inf
        for gain, is_down in ((down, True), (up, False)):
            row, column = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[row, column] > best:
                best = gain[row, column]
                a, b, c = (row, row + length, column) if is_down else (column, row, row + length)
                where = (a, b, c)
    if where is None:
        return None
    a, b, c = where
    # Summed once more without the cumulative sums: rounding must not keep the search alive.
    if -margin[np.ix_(order[a:b], order[b:c])].sum() <= tol:
        return None
    return np.concatenate([order[:a], order[b:c], order[a:b], order[c:]])
