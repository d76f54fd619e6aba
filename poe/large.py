"""One large problem: the comparison graph as a sparse matrix, solved as its shape asks for.

A graph of random comparisons is an expander, which makes its Laplacian well conditioned at
any size: conjugate gradients with the diagonal as preconditioner need a dozen or two
iterations, while a factorisation would fill in. On a chain or a tree it is the other way round:
they need an iteration per link, and a factorisation fills in nothing. So a graph with few items at
which ways part, or a narrow one, is factorised (`LargeGraph.direct`). That is also more exact:
where decisions in a sparse set leave an item between two that are far apart, it hardly resists, and
a residual of 1e-12 can leave its score wrong by 1 and more.

In between, what little weight, or a single link, ties to the rest moves as one. The diagonal does
not see that: the residual of each item may be small and their sum large, so that every score of
the group is wrong by the same amount. Groups (`LargeGraph.groups`) are therefore preconditioned and
checked as items are. Memory grows with N + K, never with N^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import frexp
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from poe import newton
from poe.arrays import Array, Floats, Indices
from poe.comparisons import Comparisons
from poe.experts import Expert
from poe.graph import Graph, component_labels, sums

MOST_ITERATIONS = 10_000  # of conjugate gradients, for one system
BRANCHING = 2000  # items at which ways part: the fill of a factorisation is at most their square
FEW = 1000  # of them that a factorisation always takes in its stride, in sparse sets
WIDE = 100  # items at one distance from the first
UNEVEN = 100.0  # groups are looked for wherever weights fall by so much
SOFT = 1e4  # by which stiffness must fall for a group to be looked for at the present scores
NEAR, FINEST = 1e-4, 1e-15  # of a difference that a group may be off; of a sum, only rounding

Linear = Callable[[Floats], Floats]


def incidence(first: Array, second: Array, n_items: int) -> csr_array:
    """W, sparse: row k holds +1 at the first item and -1 at the second."""
    k = len(first)
    index: Any = np.int32 if max(2 * k, n_items) < 2**31 else np.int64
    ends = np.empty(2 * k, dtype=index)
    ends[0::2], ends[1::2] = first, second
    sign = np.tile(np.array([1.0, -1.0]), k)
    return csr_array((sign, ends, np.arange(0, 2 * k + 1, 2, dtype=index)), shape=(k, n_items))


class LargeGraph(Graph):
    """The comparison graph of one large problem, for `poe.newton.solve`.

    Only the values of a Laplacian change from one Newton step to the next, so the comparisons are
    sorted once (`Layout`), and numbers a comparison are in that order. ridge : added to the
    diagonal of the Laplacian.
    """

    has_strain = True

    def __init__(self, comparisons: Comparisons, *, ridge: float = 0.0) -> None:
        self.n, self.size, self.ridge = comparisons.n_items, comparisons.n_items, ridge
        self.batch = ()
        self.order, self.start, self.first, self.second = comparisons.layout
        self._first, self._second = self.first, self.second
        self._comparisons = comparisons
        self._rank: Array | None = None

    @cached_property
    def weight(self) -> Floats:
        """(K,) weights of the sorted comparisons."""
        return self.laid(self._comparisons.weight)

    def laid(self, values: Floats) -> Floats:
        """Numbers a comparison in the order of the sorted comparisons."""
        return values.take(self.order)

    @cached_property
    def counts(self) -> Indices:
        """(N,) comparisons of each item."""
        return np.diff(self.start) + np.bincount(self.second, minlength=self.n)

    def degrees(self, weight: Floats) -> Floats:
        """Sum of the weights of each item's comparisons."""
        one = float(weight[0])
        if frexp(one)[0] == 0.5 and not np.ptp(weight):  # a power of two, whose multiples are exact
            return one * self.counts
        return super().degrees(weight)

    def direction(
        self,
        stiffness: Floats,
        right: Floats,
        right_bias: float = 0.0,
        *,
        tilt: Floats | None = None,
        enough: float = 1e-12,
        scale: Floats | float = 1.0,
    ) -> tuple[Floats, float]:
        """Scores and bias that the Hessian maps to (right, right_bias).

        enough : the residual that conjugate gradients may leave an item, in units of its `scale`,
        (N,), and a group, in units of the weight that ties it to the rest.
        """
        if self.direct:
            return super().direction(stiffness, right, right_bias, tilt=tilt)
        limit = enough * np.broadcast_to(scale, right.shape)
        degree, laplacian = self.laplacian(stiffness)
        soft = self._soft(stiffness)
        groups = [*self.groups, *soft]
        coarse = [(one, one.solver(stiffness, self.ridge)) for one in groups]
        bounds = [enough * one.held for one in groups]
        least = FINEST * float(degree.max())
        for k, one in enumerate(soft, start=len(self.groups)):
            bounds[k] = np.minimum(bounds[k], np.maximum(NEAR * one.ties(stiffness), least))

        def precondition(residual: Floats) -> Floats:
            scaled = residual / diagonal
            for one, solve in coarse:
                scaled[: self.n] += solve(one.sums(residual[: self.n]))[one.label]
            return scaled

        def done(residual: Floats) -> bool:
            return bool((np.abs(residual) <= limit).all()) and all(
                (np.abs(one.sums(residual[: self.n])) <= bound).all()
                for one, bound in zip(groups, bounds, strict=True)
            )

        if tilt is None:
            diagonal = degree
            return conjugate_gradients(laplacian, precondition, right, done), 0.0
        tilted = tilt * stiffness
        border, total = self.transposed(tilted), float(tilt @ tilted)

        def times(x: Floats) -> Floats:
            scores, bias = x[:-1], x[-1]
            return np.append(laplacian(scores) - bias * border, total * bias - border @ scores)

        whole, diagonal = np.append(right, right_bias), np.append(degree, total)
        limit = np.append(limit, limit.max())
        x = conjugate_gradients(times, precondition, whole, done)
        return x[:-1], float(x[-1])

    def laplacian(self, stiffness: Floats) -> tuple[Floats, Linear]:
        """The diagonal of W' diag(stiffness) W + ridge I, and its product with (N,) or (N, R)."""
        degree, (shown, back) = self.degrees(stiffness) + self.ridge, self._shown

        def times(x: Floats) -> Floats:
            shown.data = back.data = stiffness
            return (degree * x.T).T - shown @ x - back @ x

        return degree, times

    @cached_property
    def _shown(self) -> tuple[Any, Any]:
        """Who was shown before whom, (N, N), and its transpose, to be filled with numbers."""
        one = np.broadcast_to(1.0, self.second.shape)
        shown: Any = csr_array((one, self.second, self.start), shape=(self.n, self.n))
        return shown, shown.T

    def solve(self, stiffness: Floats, right: Floats) -> Floats:
        """Solve for one right hand side (N,) or several (N, R) by a factorisation."""
        return self._factor(stiffness)(right)

    def _factor(self, stiffness: Floats) -> Factor:
        degree = self.degrees(stiffness) + self.ridge
        factor = Factor(
            degree, self.first, self.second, stiffness, regular=self.ridge > 0.0, rank=self._rank
        )
        self._rank = factor.rank
        return factor

    def strain(self, slope: Floats, scores: Floats) -> float:
        """Measure how far from rest the scores of this slope are, groups of items included.

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
        block = self._blocks
        most = min(BRANCHING, max(self.n // 10, min(FEW, 2 * self.n // 3)))
        some = min(self.start[min(2 * most + 1, self.n)], 8 * self.n)
        for end in (some, None):  # some decide for expanders
            first, second = self.first[:end], self.second[:end]
            inside = block[first] == block[second]
            row = np.concatenate([first[inside], second[inside]])
            near = np.concatenate([second[inside], first[inside]])
            one, two = np.full((2, self.n), -1)
            one[row] = near  # some way, and below another
            others = near != one[row]
            two[row[others]] = near[others]
            third = others & (near != two[row])
            if np.count_nonzero(np.bincount(row[third])) > most:
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

        A link of the search's tree is a bridge if no other leads out of what hangs on it. From most
        items of an expander another does. Each other comparison carries a random number from one
        item to the other, so that what leaves a part of the tree sums to zero where none does (to
        a chance of 1e-10 that it does all the same).
        """
        order, parent = self._comparisons.search
        parent = np.maximum(parent, 0)  # items unreachable from the first get it as their parent
        down, up = parent[self.second] == self.first, parent[self.first] == self.second
        rows = np.flatnonzero(down | up)  # few, so that the others are counted by what is left
        tied = sum(np.bincount(end[rows], minlength=self.n) for end in (self.first, self.second))
        alone = self.counts == tied  # no other way from the item itself
        alone[0] = True
        items = order[alone[order]][:0:-1]
        if not items.size:
            return np.zeros(self.n, dtype=np.intp)
        carried = np.random.default_rng(0).integers(1, 2**36, size=len(down)).astype(float)
        carried[rows] = 0
        holder = first_above(alone, parent)
        leaving = sums(holder, self.transposed(carried), self.n).tolist()
        for item, above in zip(items.tolist(), holder[parent[items]].tolist(), strict=True):
            leaving[above] += leaving[item]  # sums of whole numbers, which are exact
        alone[items] = np.array(leaving)[items] == 0.0
        return (np.cumsum(alone) - 1)[first_above(alone, parent)]

    def _soft(self, stiffness: Floats) -> list[Groups]:
        """Groups that only answers far out in their tails tie to the rest, at these scores."""
        each = stiffness / self.weight
        labels, floor, least = [], float(each.max()) / SOFT, float(each.min())
        while floor > least and not self.ridge:
            firm = each >= floor
            labels.append(component_labels(self.first[firm], self.second[firm], self.n))
            floor /= UNEVEN
        return [Groups(self, label) for label in labels if 0 < label.max() < self.n - 1]

    @cached_property
    def groups(self) -> list[Groups]:
        """Groups that single links, or comparisons of much less weight, tie to the rest."""
        labels = [] if self.ridge else [self._blocks]
        weight = self._comparisons.weight
        least, floor = float(weight.min()), float(weight.max()) / UNEVEN
        while floor > least:
            heavy = self.weight >= floor
            labels.append(component_labels(self.first[heavy], self.second[heavy], self.n))
            floor /= UNEVEN
        some = [label for label in labels if 0 < label.max() < self.n - 1]
        return [Groups(self, label, tree=label is labels[0] and not self.ridge) for label in some]


class Groups:
    """Items in groups, and the comparisons between groups; tree : those form a tree.

    label : (N,). held : (count,) weight of the comparisons that tie a group to the rest.
    """

    def __init__(self, whole: LargeGraph, label: Array, *, tree: bool = False) -> None:
        self.label, self.tree, self.count = label, tree, int(label.max()) + 1
        self.rows = np.flatnonzero(label[whole.first] != label[whole.second])
        self.first, self.second = label[whole.first[self.rows]], label[whole.second[self.rows]]
        self.held = self._degrees(whole.weight[self.rows])

    def sums(self, value: Floats) -> Floats:
        """(N,) to (count,)."""
        return sums(self.label, value, self.count)

    def ties(self, stiffness: Floats) -> Floats:
        """(count,) stiffness of the comparisons that tie each group to the rest."""
        return self._degrees(stiffness[self.rows])

    def _degrees(self, link: Floats) -> Floats:
        return sums(self.first, link, self.count) + sums(self.second, link, self.count)

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
        """The solution for one right hand side, (N,)."""
        x = np.zeros(right.shape)
        x[self._at] = right
        x[: self.low] = 0.0
        x[self.low :] = self.lu.solve(x[self.low :])
        return x[self._at]


def first_above(marked: Array, parent: Array) -> Array:
    """(N,) the first marked item on the way from each item up, itself if it is; the top is one."""
    above = np.where(marked, np.arange(len(marked)), parent)
    # Each look doubles the way that is gone, so a chain of a million items takes twenty.
    while ((further := above[above]) != above).any():
        above = further
    return above


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
    return newton.solve(comparisons, expert, graph=LargeGraph(comparisons), **options)


def variances(
    comparisons: Comparisons,
    stiffness: Floats,
    pairs: Indices,
    *,
    tilt: Floats | None,
    ridge: float = 0.0,
) -> Floats:
    """Variance of s_i - s_j for each of (M, 2) pairs, one solve a pair."""
    whole, apart = LargeGraph(comparisons, ridge=ridge), []
    stiffness, tilt = whole.laid(stiffness), None if tilt is None else whole.laid(tilt)
    for i, j in pairs:
        right = np.zeros(comparisons.n_items)
        right[i] += 1.0
        right[j] -= 1.0
        x, _ = whole.direction(stiffness, right, tilt=tilt)
        apart.append(x[i] - x[j])
    return np.array(apart)
