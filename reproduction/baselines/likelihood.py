"""The most likely order of comparisons that were made: comparative_assessment, appendix B."""

from __future__ import annotations

from typing import Any

import numpy as np

from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from reproduction.baselines.papers import OrderOfItems

LONGEST_BLOCK = 8  # items that the local search moves together
FLOOR = 1e-9  # of probabilities: an exact 0 or 1 would forbid orders for certain


def likelihood_ranking(comparisons: Comparisons, *, restarts: int = 20) -> OrderOfItems:
    """Order that maximises the likelihood of the probabilities, the best that was found.

    (comparative_assessment appendix B, eqs. 11 and 12.) With z = 1 if the order places the
    first item above the second and 0 otherwise, the probability of a comparison that the judge
    calls p is p if z = 1 and 1 - p if z = 0. So

        P(C | order) = product over comparisons of p^z (1 - p)^(1 - z).

    The paper prints p^z + (1 - p)^(1 - z), which is p + 1 or 1 + (1 - p): at least one, and
    not the probability of anything. Its maximum can be another order.

    Up to a constant the log-likelihood is the sum of logit(p) over the comparisons with z = 1,
    so this is a linear ordering problem: NP-hard in general. Items that contradict each other
    in circles are ordered by local search (single items, then blocks of up to eight, from the
    order of their sums and from `restarts` random orders); such groups of items among each
    other need no search. Among equally good orders the one nearer to the sums of logits is
    preferred.

    Raises DisconnectedError with the items' names.
    """
    comparisons.require_connected()
    first, second = comparisons.first, comparisons.second
    p = np.clip(comparisons.p, FLOOR, 1.0 - FLOOR)
    gain = np.zeros((comparisons.n_items,) * 2)  # what is earned if i is placed above j
    np.add.at(gain, (first, second), comparisons.weight * np.log(p))
    np.add.at(gain, (second, first), comparisons.weight * np.log1p(-p))
    margin = gain - gain.T
    tol = 1e-12 * len(gain) * max(np.abs(gain).max(), np.finfo(float).tiny)
    by_sum = np.argsort(-margin.sum(axis=1), kind="stable")
    margin = margin[np.ix_(by_sum, by_sum)]
    rng = np.random.default_rng(0)
    parts = [
        group[_search(margin[np.ix_(group, group)], tol, restarts, rng)]
        if len(group) > 1
        else group
        for group in _circles(margin > tol)
    ]
    return OrderOfItems(comparisons.items, by_sum[np.concatenate(parts)])


def _circles(above: Floats) -> list[Indices]:
    """Groups of items that are above each other by way of others; the groups top first."""
    reach = above | np.eye(len(above), dtype=bool)
    for _ in range(len(above).bit_length()):
        reach = (reach.astype(float) @ reach) > 0.0
    left, groups = np.ones(len(above), dtype=bool), []
    while left.any():
        beaten = (reach & ~reach.T)[left].any(axis=0)
        top = np.flatnonzero(left & ~beaten)[0]  # the earliest that no other group has to precede
        groups.append(np.flatnonzero(reach[top] & reach[:, top]))
        left[groups[-1]] = False
    return groups


def _search(margin: Floats, tol: float, restarts: int, rng: np.random.Generator) -> Indices:
    """Best local optimum from the order given and from random ones."""
    n = len(margin)
    starts = [np.arange(n), *(rng.permutation(n) for _ in range(restarts))]
    optima = [_improved(start, margin, tol) for start in starts]
    return optima[int(np.argmax([np.triu(margin[np.ix_(o, o)], 1).sum() for o in optima]))]


def _improved(order: Indices, margin: Floats, tol: float) -> Indices:
    """Move single items until none helps, then a block, until neither does."""
    while True:
        moved = True
        while moved:
            moved = False
            for item in order.copy():
                place = int(np.flatnonzero(order == item)[0])
                others = np.delete(order, place)
                value = np.concatenate([[0.0], np.cumsum(margin[others, item])])
                target = int(np.argmax(value))
                if value[target] > value[place] + tol:
                    order, moved = np.insert(others, target, item), True
        exchanged = _exchanged(order, margin, tol)
        if exchanged is None:
            return order
        order = exchanged


def _exchanged(order: Indices, margin: Floats, tol: float) -> Indices | None:
    """The best exchange of two neighbouring blocks, one of at most 8 items, if it helps."""
    n = len(order)
    total = np.zeros((n + 1, n + 1))  # total[a, c]: sum of margin over rows < a, columns < c
    total[1:, 1:] = margin[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)

    def loss(a: Any, b: Any, c: Any) -> Floats:
        """Sum of the margin of items a to b over items b to c, lost if they change places."""
        return np.asarray(total[b, c] - total[a, c] - (total[b, b] - total[a, b]))

    best, where = tol, None
    for length in range(2, min(LONGEST_BLOCK, n - 1) + 1):
        block, far = np.ogrid[: n - length + 1, : n + 1]
        end = block + length
        down = np.where(far > end, -loss(block, end, far), -np.inf)
        up = np.where(far < block, -loss(far, block, end), -np.inf)
        for gain, is_down in ((down, True), (up, False)):
            a, other = (int(k) for k in np.unravel_index(np.argmax(gain), gain.shape))
            if gain[a, other] > best:
                best = gain[a, other]
                where = (a, a + length, other) if is_down else (other, a, a + length)
    if where is None:
        return None
    a, b, c = where
    # Summed once more without the cumulative sums: rounding must not keep the search alive.
    if -margin[np.ix_(order[a:b], order[b:c])].sum() <= tol:
        return None
    return np.concatenate([order[:a], order[b:c], order[a:b], order[c:]])
