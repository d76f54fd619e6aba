"""One large problem: the comparison graph as a sparse matrix, solved as its shape asks for.

A graph of random comparisons is an expander, which makes its Laplacian well conditioned at
any size: conjugate gradients with the diagonal as preconditioner need a dozen or two
iterations, while a factorisation would fill in. On a chain or a tree it is the other way round:
they need an iteration a link, and a factorisation fills in nothing. So a graph with few items at
which ways part, or a narrow one, is factorised (`Graph.direct`).

In between, what little weight, or a single link, ties to the rest moves as one. The diagonal does
not see that: the residual of each item may be small and their sum large, so that every score of
the group is wrong by the same amount. Groups (`Graph.groups`) are therefore preconditioned and
checked as items are. Memory grows with N + K, never with N^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from poe import graph, newton
from poe.comparisons import Array, Comparisons, Floats, Indices
from poe.experts import Expert

__all__ = ["Graph", "Layout", "bias_information", "incidence", "solve", "variances"]

MOST_ITERATIONS = 10_000  # of conjugate gradients, for one system
BRANCHING = 2000  # items at which ways part: the fill of a factorisation is at most their square
WIDE = 100  # items at one distance from the first
UNEVEN = 100.0  # groups are looked for wherever weights fall by so much

EXTREMES = (np.minimum, np.maximum)

Linear = Callable[[Floats], Floats]


class Layout(NamedTuple):
    """Comparisons sorted by item, each twice: once for either of its items.

    Entries start[i] to start[i + 1] belong to item i: `comparison` is the row of the
    comparison and `neighbour` the other item. Indices are 32-bit where that is enough, because
    large problems are bound by memory traffic.
    """

    start: Array
    comparison: Array
    neighbour: Array

    @classmethod
    def of(cls, comparisons: Comparisons) -> Layout:
        """By the columns of W: a counting sort, linear in their number."""
        rows = incidence(comparisons.first, comparisons.second, comparisons.n_items)
        columns = rows.tocsc()
        item = np.arange(comparisons.n_items, dtype=columns.indices.dtype)
        total = rows.indices[0::2] + rows.indices[1::2]
        neighbour = total[columns.indices] - np.repeat(item, np.diff(columns.indptr))
        return cls(columns.indptr, columns.indices, neighbour)

    def search(self) -> tuple[Array, Array]:
        """Items breadth first from the first one, (N,) or fewer, and (N,) where each was seen."""
        one, n = np.broadcast_to(np.int8(1), self.neighbour.shape), len(self.start) - 1
        both = csr_array((one, self.neighbour, self.start), shape=(n, n))
        return tuple(breadth_first_order(both, 0))


def incidence(first: Array, second: Array, n_items: int) -> csr_array:
    """W, sparse: row k holds +1 at the first item and -1 at the second."""
    k = len(first)
    index: Any = np.int32 if max(2 * k, n_items) < 2**31 else np.int64
    ends = np.empty(2 * k, dtype=index)
    ends[0::2], ends[1::2] = first, second
    sign = np.tile(np.array([1.0, -1.0]), k)
    return csr_array((sign, ends, np.arange(0, 2 * k + 1, 2, dtype=index)), shape=(k, n_items))


class Graph(graph.Graph):
    """The comparison graph of one large problem, for `poe.newton.solve`.

    Only the values of a Laplacian change from one Newton step to the next, so the
    comparisons are sorted by item once. ridge : added to the diagonal of the Laplacian.
    """

    def __init__(self, comparisons: Comparisons, *, ridge: float = 0.0) -> None:
        self.n, self.ridge, self.batch = comparisons.n_items, ridge, ()
        self.weight = comparisons.weight
        self._rank: Array | None = None
        self.start, self.comparison, self.neighbour = comparisons.layout
        self._comparisons = comparisons
        index = self.neighbour.dtype
        self.first: Any = comparisons.first.astype(index)
        self.second: Any = comparisons.second.astype(index)

    def differences(self, x: Floats) -> Floats:
        """W x: (N,) to (K,)."""
        return x.take(self.first) - x.take(self.second)

    def transposed(self, y: Floats) -> Floats:
        """W' y: (K,) to (N,)."""
        up = np.bincount(self.first, y, minlength=self.n)
        return np.asarray(up - np.bincount(self.second, y, minlength=self.n), dtype=float)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        return self._by_item(weight.take(self.comparison))

    def _by_item(self, value: Floats) -> Floats:
        """Sum of the entries of each item, zero for one that was never compared."""
        some = np.diff(self.start) > 0
        if some.all():
            return np.add.reduceat(value, self.start[:-1])
        total = np.zeros(self.n)
        total[some] = np.add.reduceat(value, self.start[:-1][some])
        return total

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        lean: float = 0.0,
        *,
        lever: Floats | None = None,
        enough: float = 1e-12,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, float]:
        """Scores and bias that the Hessian maps to (right, lean).

        enough : the residual that conjugate gradients may leave an item, in units of its `scale`,
        (N,), and a group, in units of the weight that ties it to the rest.
        """
        if self.direct:
            return super().direction(stiffness, right, lean, lever=lever)
        limit = enough * np.broadcast_to(scale, right.shape)
        value = stiffness.take(self.comparison)
        adjacency = csr_array((value, self.neighbour, self.start), shape=(self.n, self.n))
        degree = self._by_item(value) + self.ridge
        coarse = [(one, one.solver(stiffness, self.ridge)) for one in self.groups]

        def precondition(residual: Floats) -> Floats:
            scaled = residual / diagonal
            for one, solve in coarse:
                scaled[: self.n] += solve(one.sums(residual[: self.n]))[one.label]
            return scaled

        def done(residual: Floats) -> bool:
            return bool((np.abs(residual) <= limit).all()) and all(
                (np.abs(one.sums(residual[: self.n])) <= enough * one.held).all()
                for one, _ in coarse
            )

        if lever is None:
            diagonal = degree
            x = conjugate_gradients(lambda x: degree * x - adjacency @ x, precondition, right, done)
            return x, 0.0
        tilted = lever * stiffness
        border, total = self.transposed(tilted), float(lever @ tilted)

        def times(x: Floats) -> Floats:
            scores, bias = x[:-1], x[-1]
            product = degree * scores - adjacency @ scores - bias * border
            return np.append(product, total * bias - border @ scores)

        whole, diagonal = np.append(right, lean), np.append(degree, total)
        limit = np.append(limit, limit.max())
        x = conjugate_gradients(times, precondition, whole, done)
        return x[:-1], float(x[-1])

    def solve(self, stiffness: Floats, right: Floats) -> Floats:
        """Solve for one right hand side (N,) or several (N, R) by a factorisation."""
        return self._factor(stiffness)(right)

    def _factor(self, stiffness: Floats) -> Factor:
        degree = self.degrees(stiffness) + self.ridge
        found = Factor(
            degree, self.first, self.second, stiffness, regular=self.ridge > 0.0, rank=self._rank
        )
        self._rank = found.rank
        return found

    def strain(self, slope: Floats, scores: Floats) -> float:
        """How far from rest the scores are that this slope is left at, groups of items included.

        In units of the scores' range, or of 1 where that is less, as if each comparison were a
        spring of its weight: (N,) twice to one number.
        """
        size, most = max(1.0, float(np.ptp(scores))), 0.0
        if self.direct:
            return float(np.ptp(self._springs(slope))) / size
        for one in self.groups:
            total = one.sums(slope)
            most = max(most, float((np.abs(total) / one.held).max()))
        return most / size

    @cached_property
    def _springs(self) -> Linear:
        return self._factor(self.weight)

    @cached_property
    def direct(self) -> bool:
        """Whether a factorisation fills in little: nearly a tree, or long and narrow."""
        return self._few_branches() or self._narrow()

    def _few_branches(self) -> bool:
        """Whether from few items there are ways to three others that do not end there."""
        block, most = self._blocks, min(BRANCHING, self.n // 10)
        for some in (min(2 * most + 1, self.n), self.n):  # the first items decide for an expander
            row = np.repeat(np.arange(some, dtype=block.dtype), np.diff(self.start[: some + 1]))
            near = self.neighbour[: len(row)]
            inside = block[row] == block[near]
            row, near = row[inside], near[inside]
            begin = np.flatnonzero(np.diff(row, prepend=-1))
            if not begin.size:
                continue
            times = np.diff(begin, append=len(row))
            low, high = (np.repeat(f.reduceat(near, begin), times) for f in EXTREMES)
            if np.count_nonzero(np.bincount(row[(near > low) & (near < high)])) > most:
                return False
        return True

    def _narrow(self) -> bool:
        """Whether few items are equally far from the first: a window that slides over the items."""
        order, parent = self._comparisons.search
        place = np.zeros(self.n, dtype=np.intp)
        place[order] = np.arange(len(order))
        above, end = place[parent[order[1:]]], 1  # ascending
        while end < len(order):
            further = 1 + int(np.searchsorted(above, end))
            if further - end > min(WIDE, self.n**0.5):
                return False
            end = further
        return len(order) == self.n

    @cached_property
    def _blocks(self) -> Array:
        """(N,) the group of items each belongs to that no single link holds together.

        A link of a spanning tree is a bridge if no other leads out of what hangs on it. Each other
        comparison carries a random number from one item to the other, so that what leaves a part
        of the tree sums to zero where none does (to a chance of 1e-10 that it does all the same).
        """
        order, parent = self._comparisons.search
        down = parent[self.second] == self.first
        other = ~down & (parent[self.first] != self.second)
        carried = np.random.default_rng(0).integers(1, 2**36, size=len(other)) * other
        leaving, up = self.transposed(carried).tolist(), parent.tolist()
        for item in order[:0:-1].tolist():  # sums of whole numbers, which are exact
            leaving[up[item]] += leaving[item]
        tree = np.flatnonzero(~other)
        hanging = np.where(down[tree], self.second[tree], self.first[tree])
        bridges = tree[np.array(leaving)[hanging] == 0.0]
        if not bridges.size and len(order) == self.n:
            return np.zeros(self.n, dtype=np.intp)
        first, second = np.delete(self.first, bridges), np.delete(self.second, bridges)
        return graph.component_labels(first, second, self.n)

    @cached_property
    def groups(self) -> list[Groups]:
        """Groups that single links, or comparisons of much less weight, tie to the rest."""
        found = [] if self.ridge else [Groups(self, self._blocks, tree=True)]
        least, floor = float(self.weight.min()), float(self.weight.max()) / UNEVEN
        while floor > least:
            heavy = self.weight >= floor
            label = graph.component_labels(self.first[heavy], self.second[heavy], self.n)
            found.append(Groups(self, label))
            floor /= UNEVEN
        return [one for one in found if 1 < one.count < self.n]


class Groups:
    """Items in groups, and the comparisons between groups; tree : those form a tree.

    label : (N,). held : (count,) weight of the comparisons that tie a group to the rest.
    """

    def __init__(self, whole: Graph, label: Array, *, tree: bool = False) -> None:
        self.label, self.tree, self.count = label, tree, int(label.max()) + 1
        self.rows = np.flatnonzero(label[whole.first] != label[whole.second])
        self.first, self.second = label[whole.first[self.rows]], label[whole.second[self.rows]]
        self.held = self._degrees(whole.weight[self.rows])

    def sums(self, value: Floats) -> Floats:
        """(N,) to (count,)."""
        return graph.sums(self.label, value, self.count)

    def _degrees(self, link: Floats) -> Floats:
        return graph.sums(self.first, link, self.count) + graph.sums(self.second, link, self.count)

    def solver(self, stiffness: Floats, ridge: float) -> Linear:
        """The groups' own system, solved exactly on a tree and by its diagonal elsewhere."""
        link = stiffness[self.rows]
        degree = self._degrees(link) + ridge * np.bincount(self.label)
        if self.tree:
            return Factor(degree, self.first, self.second, link)
        return lambda right: right / degree


class Factor:
    """Solves a Laplacian with this diagonal and these links, with x_0 = 0 unless it is regular.

    rank : (N,) the order of elimination, that of an earlier factor of the same graph or, as finding
    one takes longer than the elimination, one for later factors.
    """

    def __init__(
        self,
        degree: Floats,
        first: Array,
        second: Array,
        link: Floats,
        *,
        regular: bool = False,
        rank: Array | None = None,
    ) -> None:
        at = np.arange(len(degree), dtype=first.dtype)
        self.low, self.rank = 0 if regular else 1, at if rank is None else rank
        row, column = self.rank[first], self.rank[second]
        values = np.concatenate([degree, -link, -link])
        cells = np.concatenate([self.rank, row, column]), np.concatenate([self.rank, column, row])
        matrix = csc_array((values, cells), shape=(len(at), len(at)))
        self.lu = splu(
            matrix[self.low :, self.low :],
            permc_spec="COLAMD" if rank is None else "NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        self._at = self.rank
        if rank is None:
            self.rank = np.append(at[: self.low], self.low + self.lu.perm_c)

    def __call__(self, right: Floats) -> Floats:
        found = np.zeros(right.shape)
        found[self._at] = right
        found[: self.low] = 0.0
        found[self.low :] = self.lu.solve(found[self.low :])
        return found[self._at]


def conjugate_gradients(
    times: Linear, precondition: Linear, right: Floats, done: Callable[[Floats], bool]
) -> Floats:
    """Solve a positive semidefinite system.

    `done` looks at every entry of the residual: a norm of them all would hide that the score of
    an item with few comparisons is still wrong.
    """
    x, residual = np.zeros_like(right), right.copy()
    along = precondition(residual)
    size = float(residual @ along)
    for _ in range(MOST_ITERATIONS):
        if done(residual):
            break
        image = times(along)
        curvature = float(along @ image)
        if not curvature > 0:  # as close as rounding allows
            break
        x += (size / curvature) * along
        residual -= (size / curvature) * image
        scaled = precondition(residual)
        size, before = float(residual @ scaled), size
        along = scaled + (size / before) * along
    return x


def solve(comparisons: Comparisons, expert: Expert, **options: Any) -> newton.Solution:
    """As `poe.newton.solve`, with its options, for one problem of any size."""
    return newton.solve(comparisons, expert, graph=Graph(comparisons), **options)


def variances(
    comparisons: Comparisons,
    stiffness: Floats,
    pairs: Indices,
    *,
    lever: Floats | None,
    ridge: float = 0.0,
) -> Floats:
    """Variance of s_i - s_j for each of (M, 2) pairs, one solve a pair."""
    graph = Graph(comparisons, ridge=ridge)
    found = []
    for i, j in pairs:
        right = np.zeros(comparisons.n_items)
        right[i] += 1.0
        right[j] -= 1.0
        x, _ = graph.direction(stiffness, right, lever=lever)
        found.append(x[i] - x[j])
    return np.array(found)


def bias_information(
    comparisons: Comparisons, stiffness: Floats, lever: Floats, *, ridge: float = 0.0
) -> float:
    """Curvature of the energy along the bias when the scores follow: 1 / its variance."""
    graph = Graph(comparisons, ridge=ridge)
    tilted = lever * stiffness
    border = graph.transposed(tilted)
    moved, _ = graph.direction(stiffness, border, enough=1e-10, scale=graph.degrees(tilted) + ridge)
    return float(lever @ tilted - border @ moved)
