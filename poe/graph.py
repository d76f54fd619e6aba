"""The comparison graph of one small problem, or of many: W, its Laplacian, and who is linked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv, dposv

from poe.arrays import Array, Floats, Indices, Mask

# All are about speed alone, timed on two ordinary cores; results do not depend on them.
FEW = 100  # items up to which NumPy finds groups sooner than a search by SciPy
MANY_LINKS = 4  # an item, and more: of a larger set it finds sooner that there are no groups
ROUNDS = 6  # in which a search of random comparisons reaches all items
FEW_ITEMS, MANY_PROBLEMS = 64, 50  # where eliminating all problems at once beats LAPACK
# In multiplications: what conjugate gradients cost before they begin, and a comparison.
FIXED, EACH = 5.5e6, 130.0


def is_small(problem: Any) -> bool:
    """Tell whether one dense factorisation, N^3, costs less than conjugate gradients."""
    return float(problem.n_items) ** 3 <= FIXED + EACH * len(problem.p)


class Graph:
    """The comparison graph of one small problem, or the graphs of a stack, laid out for solvers.

    Problems lie along the last axis, so that NumPy's inner loops run over all of them: a number
    an item is (N, *batch), a number a comparison (K, *batch), with batch = () for one problem
    and (B,) for a stack. `poe.large.LargeGraph` does the same for one huge problem.
    """

    ridge: float = 0.0  # added to the diagonal of the Laplacian, by large graphs only
    has_strain: bool = False  # whether groups of items must be looked at besides each item

    def __init__(self, n_items: int, first: Indices, second: Indices) -> None:
        self.n, self.first, self.second = n_items, first, second
        self.batch = first.shape[1:]
        b = math.prod(self.batch)
        self.size = n_items * b
        cell = np.maximum(first, second) * n_items + np.minimum(first, second)
        self._first, self._second, self._cell = first, second, cell
        if not self.batch:
            return
        column = np.arange(b).reshape(self.batch)
        # Places in the flattened arrays: one index is quicker to follow than two.
        self._first, self._second, self._cell = (
            (index * b + column).ravel() for index in (first, second, cell)
        )

    @classmethod
    def of(cls, problem: Any) -> Graph:
        """The graph of `Comparisons`, or of a `Stack` of shape (B, K)."""
        ends = (np.ascontiguousarray(one.T) for one in (problem.first, problem.second))
        return Graph(problem.n_items, *ends)

    def take(self, rows: Indices) -> Graph:
        """The graphs of some problems of the stack."""
        return Graph(self.n, self.first[:, rows], self.second[:, rows])

    def laid(self, values: Floats) -> Floats:
        """Numbers a comparison as the graph has its comparisons: (K,) or (B, K) to (K, *batch)."""
        return values.T.copy()

    def differences(self, x: Floats) -> Floats:
        """W x: (N, *batch) to (K, *batch)."""
        flat = x.reshape(-1)
        return (flat.take(self._first) - flat.take(self._second)).reshape(self.first.shape)

    def transposed(self, y: Floats) -> Floats:
        """W' y: (K, *batch) to (N, *batch)."""
        total = sums(self._first, y, self.size) - sums(self._second, y, self.size)
        return total.reshape(self.n, *self.batch)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        total = sums(self._first, weight, self.size) + sums(self._second, weight, self.size)
        return total.reshape(self.n, *self.batch)

    def links(self, strength: Floats) -> Floats:
        """Total strength between items i > j at [i, j], (N, N, *batch)."""
        cells = sums(self._cell, strength, self.n * self.size)
        return cells.reshape(self.n, self.n, *self.batch)

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        right_bias: Any = 0.0,
        *,
        tilt: Floats | None = None,
        enough: float = 0.0,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, Any]:
        """Scores and bias that the Hessian of the energy maps to (right, right_bias).

        tilt : how far the bias moves each comparison, or None where it is not fitted. `enough`
        and `scale` are for iterative solvers; this one is exact.
        """
        if tilt is None:
            return self.solve(stiffness, right), np.zeros(self.batch)
        tilted = tilt * stiffness
        border = self.transposed(tilted)
        both = self.solve(stiffness, np.stack([right, border], axis=1))
        plain, moved = both[:, 0], both[:, 1]
        information = (tilt * tilted).sum(axis=0) - (border * moved).sum(axis=0)
        if not self.batch and not information > 0.0:
            raise np.linalg.LinAlgError("Singular matrix")
        shift = (right_bias + (border * plain).sum(axis=0)) / information
        return plain + moved * shift, shift

    def bias_information(self, stiffness: Floats, tilt: Floats) -> float:
        """Curvature of the energy along the bias when the scores follow: 1 / its variance.

        Of one problem; both arguments laid out as the graph has its comparisons.
        """
        tilted = tilt * stiffness
        border = self.transposed(tilted)
        scale = self.degrees(tilted) + self.ridge
        moved, _ = self.direction(stiffness, border, enough=1e-10, scale=scale)
        return float(tilt @ tilted - border @ moved)

    def strain(self, slope: Floats, scores: Floats) -> float:
        """Measure how far from rest groups of items are: not at all, as this solver is exact."""
        return 0.0

    def solve(self, stiffness: Floats, right: Floats) -> Floats:
        """Solve W' diag(stiffness) W x = right with x_0 = 0; (N, *batch) or (N, R, *batch)."""
        links = self.links(stiffness)
        if not self.batch:
            return solve_one(links, right)
        if self.n <= FEW_ITEMS and self.size >= MANY_PROBLEMS * self.n:
            return eliminate(links, right)
        each = range(links.shape[-1])
        return np.stack([solve_one(links[..., b], right[..., b]) for b in each], axis=-1)


def solve_one(links: Floats, right: Floats) -> Floats:
    """Solve L x = right with x_0 = 0; links : as `eliminate` reads them. (N,) or (N, R).

    By LAPACK itself: for sixteen items, calling it through NumPy costs more than solving.
    """
    matrix, x, one = -links, np.zeros(right.shape), np.ones(len(links))
    matrix.reshape(-1)[:: len(links) + 1] = links @ one + one @ links
    _, x[1:], failed = dposv(matrix[1:, 1:], right[1:], lower=1)
    if failed:  # rounding has left a pivot below zero, and exchanges of rows may do without it
        _, _, x[1:], failed = dgesv((matrix - np.triu(links.T, 1))[1:, 1:], right[1:])
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def eliminate(links: Floats, right: Floats) -> Floats:
    """Solve L x = right for Laplacians L, with x_0 = 0; both arguments are overwritten.

    links : (N, N, B) strengths of the links between items, read below the diagonal only.
    right : (N, B) or (N, R, B), each column summing to zero.

    An item that is removed joins its neighbours: a and b get a new link of
    links_ia links_ib / sum_j links_ij (the star-mesh transformation of electrical networks). That
    is Gaussian elimination without a subtraction, so small links next to huge ones keep all
    their digits, as they must where weights differ by a factor of 1e18.
    """
    x = right if right.ndim == 3 else right[:, None]
    share = np.zeros_like(links)  # [i, j]: of what passed through i, how much went on to j
    total = np.ones_like(links[0])
    for i in range(len(links) - 1, 0, -1):
        own = links[i, :i]
        own += np.einsum("kb,kjb->jb", share[i + 1 :, i], links[i + 1 :, :i])
        np.sum(own, axis=0, out=total[i])
        np.divide(own, total[i], out=share[i, :i])
        x[:i] += share[i, :i, None] * x[i]
    x[0] = 0.0
    for i in range(1, len(links)):
        x[i] /= total[i]
        x[i] += np.einsum("jb,jrb->rb", share[i, :i], x[:i])
    return x.reshape(right.shape)


def sums(cell: Indices, value: Floats, size: int) -> Floats:
    """Sum the values of each cell: one flat bincount, far faster than np.add.at."""
    return np.bincount(cell.ravel(), value.ravel(), minlength=size)  # type: ignore[return-value]


def component_labels(first: Array, second: Array, n_items: int) -> Indices:
    """(n_items,) label of the group of linked items each belongs to, 0 for the first item's."""
    if n_items <= FEW or len(first) > MANY_LINKS * n_items:
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        if _soon_reached(*ends, n_items):
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
    return _soon_reached(tail, head, n_items) and _soon_reached(head, tail, n_items)


def _soon_reached(tail: Array, head: Array, n_items: int) -> bool:
    """Whether at most `ROUNDS` arrows lead from the first item to each other one."""
    reached = np.zeros(n_items, dtype=bool)
    reached[0] = True
    for _ in range(ROUNDS):
        reached[head[reached[tail]]] = True
        if reached.all():
            return True
    return False


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
