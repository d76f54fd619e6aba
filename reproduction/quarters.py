"""The order in which one large set is asked: a quarter of its calls at a time, each of some use.

The calls are both orders of 2N pairs of N texts, four pairs a text, one set that is fixed
beforehand (`pairs_of`). The first half asks every pair in one order, the second half in the other;
pairs come before orders because a text's four opponents say more than two of them said twice. In
each half a text is shown first in two of its pairs and second in two, so the half alone is fair to
every text whatever a judge makes of places, and two calls in succession share the text they show
first. Quarter 1 holds a tree through all texts, of the fewest steps from one of them, and one pair
more: from N calls on all texts are linked. A ring of N pairs would be linked too, but there texts
are a sixth of N steps apart, and the errors of all steps between add up.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from poe.arrays import Indices, Mask


def quarters(pairs: Indices) -> Indices:
    """(4, N, 2) calls in the order in which they are asked, from 2N pairs of N texts.

    pairs : (2N, 2), each once, four a text, linked. ValueError where they are not so.
    """
    n = len(pairs) // 2
    if not np.array_equal(np.bincount(pairs.ravel(), minlength=n), np.full(n, 4)):
        raise ValueError("an order in quarters is for 2N pairs of N texts, four pairs a text")
    calls = circuit(pairs)
    order, before = breadth_first_order(
        csr_array((np.ones(2 * n), tuple(pairs.T.astype(np.int32))), shape=(n, n)),
        int(pairs[0, 0]),
        directed=False,
    )
    if len(order) < n:
        raise ValueError("an order in quarters is for pairs that link all texts")
    place = np.argsort(order)
    tree = (before[calls[:, 0]] == calls[:, 1]) | (before[calls[:, 1]] == calls[:, 0])
    tree[np.flatnonzero(~tree)[0]] = True
    parts = [calls[tree], calls[~tree], calls[:, ::-1]]
    asked = [part[np.argsort(place[part[:, 0]], kind="stable")] for part in parts]
    return np.concatenate(asked).reshape(4, n, 2)


def circuit(pairs: Indices) -> Indices:
    """The pairs in the order of one walk along all of them, (M, 2) as it passes them (Hierholzer).

    Each text is left as often as it is reached. They are linked, an even number a text.
    """
    ends: dict[int, list[int]] = {}
    for k, pair in enumerate(pairs.tolist()):
        for text in pair:
            ends.setdefault(text, []).append(k)
    gone = np.zeros(len(pairs), dtype=bool)
    path, walk = [int(pairs[0, 0])], []
    while path:
        here = path[-1]
        while ends[here] and gone[ends[here][-1]]:
            ends[here].pop()
        if not ends[here]:
            walk.append(path.pop())
            continue
        k = ends[here].pop()
        gone[k] = True
        path.append(int(pairs[k].sum()) - here)
    return np.column_stack([walk[:-1], walk[1:]]).astype(np.intp)


def whole(calls: Indices, asked: Indices) -> Mask:
    """(M,) which of the calls (M, 2) that were answered lie in quarters that were in full."""
    n = len(asked[0])
    quarter = {tuple(call): k // n for k, call in enumerate(asked.reshape(-1, 2).tolist())}
    of = np.array([quarter[tuple(call)] for call in calls.tolist()], dtype=np.intp)
    return np.asarray((np.bincount(of, minlength=4) == n)[of])
