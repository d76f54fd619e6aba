"""Who is linked with whom by chains of comparisons, and comparisons sorted by item to find it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poe.arrays import Array, Indices, Mask

FEW = 100  # items up to which NumPy finds groups sooner than a search by SciPy
ROUNDS = 6  # in which a search of random comparisons reaches all items


def component_labels(first: Array, second: Array, n_items: int) -> Indices:
    """(n_items,) label of the group of linked items each belongs to, 0 for the first item's."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    if n_items <= FEW and soon_all_linked(*ends, n_items):
        return np.zeros(n_items, dtype=np.intp)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    links = csr_array((np.ones(len(first)), (first, second)), shape=(n_items, n_items))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def reachable(tail: Array, head: Array, n_items: int) -> Mask:
    """(n_items, n_items) whether arrows from tail to head lead from one to another."""
    paths = np.eye(n_items, dtype=np.float32)
    paths[tail, head] = 1.0
    for _ in range((n_items - 1).bit_length()):  # paths of twice the length each time
        paths = np.minimum(paths @ paths, 1.0)
    return paths > 0


def soon_all_linked(tail: Array, head: Array, n_items: int) -> bool:
    """Whether a few arrows, tail to head, lead from the first item to each other one, and back.

    Then each leads to each. False may also mean that it takes more than `ROUNDS` of them.
    """
    for start, end in ((tail, head), (head, tail)):
        reached = np.zeros(n_items, dtype=bool)
        reached[0] = True
        for _ in range(ROUNDS):
            reached[end[reached[start]]] = True
            if reached.all():
                break
        else:
            return False
    return True


def strong_components(n_items: int, edges: Indices) -> Indices:
    """Label of each item's strongly connected component in a directed graph; edges (E, 2)."""
    if n_items <= FEW:
        reached = reachable(edges[:, 0], edges[:, 1], n_items)
        return np.unique((reached & reached.T).argmax(axis=1), return_inverse=True)[1]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    arrows = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_items,) * 2)
    return connected_components(arrows, directed=True, connection="strong")[1]


class Layout(NamedTuple):
    """Comparisons sorted by the item shown first: rows order[start[i]:start[i + 1]] show item i.

    first, second : the items of the sorted rows, first[start[i]:start[i + 1]] = i. Indices are
    32-bit where that is enough, because large problems are bound by memory traffic.
    """

    order: Array
    start: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, first: Array, second: Array, n_items: int) -> Layout:
        """By the columns of a sparse matrix: a counting sort, linear in their number."""
        from scipy.sparse import csr_array

        k, n = len(first), n_items
        index: Any = np.int32 if max(k, n) < 2**31 else np.int64
        row = np.arange(k + 1)
        ends = (one.astype(index) for one in (second, first, row))
        columns = csr_array(tuple(ends), shape=(k, n)).tocsc()
        item = np.repeat(np.arange(n, dtype=index), np.diff(columns.indptr))
        return cls(columns.indices, columns.indptr, item, columns.data)

    def search(self) -> tuple[Array, Array]:
        """Items breadth first from the first one, (N,) or fewer, and (N,) where each was seen."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        one, n = np.broadcast_to(1.0, self.second.shape), len(self.start) - 1
        shown = csr_array((one, self.second, self.start), shape=(n, n))
        return tuple(breadth_first_order(shown, 0, directed=False))
