"""The one data type: which items were compared, in which order, with which probability.

A comparison shows item `first` and then item `second` to a judge, and records
p = P(first is better). Everything else in the package starts from a `Comparisons`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from poe.errors import ComparisonError, DisconnectedError, name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparisons", "Floats", "Indices", "Mask"]

Array = NDArray[Any]
Columns = tuple[Array, Array, Array]  # (K, 2) pairs, (K,) p, (K,) weight
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

SMALL = 1000  # comparisons; below, building sparse matrices costs more than it saves
SHOWN = 5  # rows that a message lists


class Comparisons:
    """K pairwise comparisons among N items.

    Parameters
    ----------
    first, second : sequences of K item names, in the order shown to the judge.
    p : K probabilities in [0, 1] that `first` is the better; 0, 1/2 and 1 record a
        loss, a tie and a win where the judge gives decisions only.
    items : the N item names in the order scores are wanted. By default the names that
        occur: integers ascending, anything else in order of first appearance.
    weight : K positive numbers (default 1); a comparison of weight 2 counts twice.

    Attributes
    ----------
    items : tuple of N names. first, second : (K,) positions in `items`.
    p, weight : (K,) floats. All arrays are read-only.

    Raises
    ------
    ComparisonError naming the rows and items that are wrong.
    """

    items: tuple[Hashable, ...]
    first: Indices
    second: Indices
    p: Floats
    weight: Floats

    def __init__(
        self,
        *,
        first: Iterable[Any],
        second: Iterable[Any],
        p: ArrayLike,
        items: Iterable[Any] | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first, second = names_of(first), names_of(second)
        require_same_length(first=first, second=second)
        self.items = item_order(first, second, items)
        self._set(*positions_of(first, second, self.items), p, weight)

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        p: ArrayLike,
        *,
        items: int | Sequence[Any],
        weight: ArrayLike | None = None,
    ) -> Comparisons:
        """Build from a (K, 2) array of positions (first, second), as `poe.select` returns.

        `items` is the N item names, or the number N, which names them 0 to N - 1.
        """
        made = cls.__new__(cls)
        made.items = tuple(range(items)) if isinstance(items, int) else tuple(items)
        require_unique(made.items)
        made._set(*position_pairs(pairs, len(made.items)), p, weight)
        return made

    def _set(self, first: Indices, second: Indices, p: Any, weight: Any) -> None:
        probability = numbers_of(p, "p")
        weights = np.ones(len(probability)) if weight is None else numbers_of(weight, "weight")
        require_same_length(first=first, second=second, p=probability, weight=weights)
        require_rows(first, second, probability, weights, self.items)
        self.first, self.second, self.p, self.weight = first, second, probability, weights
        for array in (first, second, probability, weights):
            array.setflags(write=False)

    # Tables and files ------------------------------------------------------------------

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        *,
        first: str = "first",
        second: str = "second",
        p: str = "p",
        weight: str | None = None,
        items: Iterable[Any] | None = None,
    ) -> Comparisons:
        """Read a tidy table with one row a comparison; the keywords name its columns.

        A column called `weight` is used when it is there and `weight` is not given.
        """
        if weight is None and "weight" in table.columns:
            weight = "weight"
        wanted = [first, second, p] + ([weight] if weight else [])
        require_columns(table, wanted, names=[first, second])
        return cls(
            first=table[first].tolist(),
            second=table[second].tolist(),
            p=table[p].to_numpy(),
            weight=table[weight].to_numpy() if weight else None,
            items=items,
        )

    @classmethod
    def from_csv(cls, path: str | Path, **columns: Any) -> Comparisons:
        """Read a CSV file; item names are kept as text, so `007` stays `007`."""
        import pandas as pd

        names = {columns.get("first", "first"): str, columns.get("second", "second"): str}
        try:
            table = pd.read_csv(path, dtype=names)
        except pd.errors.EmptyDataError:
            raise ComparisonError(f"{path} is empty") from None
        return cls.from_table(table, **columns)

    @classmethod
    def from_parquet(cls, path: str | Path, **columns: Any) -> Comparisons:
        """Read a Parquet file (needs pyarrow: `pip install 'judging-by-comparison[parquet]'`)."""
        import pandas as pd

        return cls.from_table(pd.read_parquet(path), **columns)

    def to_table(self) -> pd.DataFrame:
        """One row a comparison: first, second, p, weight."""
        import pandas as pd

        names = pd.Series(self.items, dtype=object)
        return pd.DataFrame(
            {
                "first": names[self.first].to_numpy(),
                "second": names[self.second].to_numpy(),
                "p": self.p,
                "weight": self.weight,
            }
        )

    # Shape and structure ---------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.p)

    def __repr__(self) -> str:
        return f"Comparisons({len(self)} comparisons among {self.n_items} items)"

    @property
    def n_items(self) -> int:
        """Number of items N, compared or not."""
        return len(self.items)

    @property
    def pairs(self) -> Indices:
        """(K, 2) positions of first and second."""
        return np.column_stack([self.first, self.second])

    def matrix(self, *, anchor: bool = False) -> Floats:
        """The comparison matrix W (paper 3.3 and A.1; book chapter 6), dense, (K, N).

        Row k holds +1 at the first item and -1 at the second, so W s is the vector of
        score differences. With `anchor` a row (1, 0, ..., 0) is prepended, W-tilde.
        """
        rows = np.arange(len(self))
        w = np.zeros((len(self), self.n_items))
        w[rows, self.first] = 1.0
        w[rows, self.second] = -1.0
        return np.vstack([np.eye(1, self.n_items), w]) if anchor else w

    def components(self) -> list[tuple[Hashable, ...]]:
        """Groups of items linked by chains of comparisons, largest first."""
        order = np.argsort(self._labels, kind="stable")
        sizes = np.bincount(self._labels)
        groups = np.split(order, np.cumsum(sizes)[:-1])
        named = [tuple(self.items[i] for i in group) for group in groups]
        return sorted(named, key=len, reverse=True)

    @cached_property
    def layout(self) -> Layout:
        """The comparisons sorted by item, for solvers of large problems; made once."""
        return lay_out(self.first, self.second, self.n_items)

    @cached_property
    def _is_connected(self) -> bool:
        return is_connected(self.layout) if len(self) > SMALL else not self._labels.any()

    @cached_property
    def _labels(self) -> Indices:
        known = self.layout if len(self) > SMALL else None
        return component_labels(self.first, self.second, self.n_items, known=known)

    def require_compared(self) -> None:
        """Raise ComparisonError naming the items that appear in no comparison."""
        seen = np.zeros(self.n_items, dtype=bool)
        seen[self.first] = seen[self.second] = True
        if not seen.all():
            alone = [self.items[i] for i in np.flatnonzero(~seen)]
            raise ComparisonError(
                f"never compared: {name_some(alone)}; add a comparison for each, "
                "or leave them out of `items`"
            )

    def require_connected(self) -> None:
        """Raise DisconnectedError unless every item is linked to every other."""
        self.require_compared()
        if not self._is_connected:
            groups = self.components()
            raise DisconnectedError(
                f"items {name_some(groups[1])} share no comparison with the rest "
                f"({len(groups)} separate groups), so their scores relative to it are undefined; "
                "add a comparison between the groups, or score each group alone"
            )

    # New comparisons from old ----------------------------------------------------------

    def take(self, rows: ArrayLike) -> Comparisons:
        """The comparisons at `rows` (positions or a mask), with the same items."""
        rows = np.asarray(rows)
        return Comparisons.from_pairs(
            self.pairs[rows], self.p[rows], items=self.items, weight=self.weight[rows]
        )

    def hard(self) -> Comparisons:
        """Decisions only: p above 1/2 becomes 1, below becomes 0, exactly 1/2 stays a tie."""
        return self._with_p(0.5 * (1.0 + np.sign(self.p - 0.5)))

    def _with_p(self, p: Floats) -> Comparisons:
        return Comparisons.from_pairs(self.pairs, p, items=self.items, weight=self.weight)

    def merged(self) -> Comparisons:
        """Repeats of the same ordered pair as one: mean p, summed weight."""
        pairs, p, weight = _merged(self.first, self.second, self.p, self.weight, self.n_items)
        return Comparisons.from_pairs(pairs, p, items=self.items, weight=weight)

    def symmetrised(self) -> Comparisons:
        """Both orders of each pair averaged: p = (p_ij + 1 - p_ji) / 2 (paper 3.5).

        Returns one comparison a pair, weight summed. Raises ComparisonError naming the
        pairs that were judged in one order only: they have nothing to be averaged with.
        """
        once = self.merged()
        pairs, p, weight = _symmetrised(once.pairs, once.p, once.weight, self.items)
        return Comparisons.from_pairs(pairs, p, items=self.items, weight=weight)


# What a `Comparisons` may be made from --------------------------------------------------


def names_of(values: Iterable[Any]) -> list[Any]:
    """Item names as a list, NumPy's scalars as Python's: the two must be one item."""
    if isinstance(values, str):
        raise ComparisonError(f"expected a sequence of item names, not the single text {values!r}")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def item_order(
    first: list[Any], second: list[Any], items: Iterable[Any] | None
) -> tuple[Hashable, ...]:
    """The items as given, or those that occur: integers ascending, others as they appear."""
    if items is not None:
        order = tuple(names_of(items))
        require_unique(order)
        return order
    seen = dict.fromkeys(name for pair in zip(first, second, strict=True) for name in pair)
    whole = all(isinstance(name, Integral) and not isinstance(name, bool) for name in seen)
    return tuple(sorted(seen)) if whole else tuple(seen)


def positions_of(
    first: list[Any], second: list[Any], items: Sequence[Hashable]
) -> tuple[Array, Array]:
    """Positions in `items` of the names in both columns; an unknown name is refused."""
    position = {name: i for i, name in enumerate(items)}
    for column, names in (("first", first), ("second", second)):
        for row, name in enumerate(names):
            if name not in position:
                raise ComparisonError(
                    f"row {row}: {column} is {name!r}, which is not among the items "
                    f"({name_some(position)})"
                )
    one, other = (
        np.array([position[name] for name in names], dtype=np.intp) for names in (first, second)
    )
    return one, other


def position_pairs(pairs: ArrayLike, n_items: int) -> tuple[Array, Array]:
    """Both columns of (K, 2) positions, which must lie among N items."""
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ComparisonError(f"pairs must have shape (K, 2), not {pairs.shape}")
    if pairs.size and not np.issubdtype(pairs.dtype, np.integer):
        raise ComparisonError("pairs must be integer positions; for names use Comparisons()")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n_items)).any(axis=1))
    if outside.size:
        raise ComparisonError(
            f"row {outside[0]}: positions {pairs[outside[0]].tolist()} must lie in 0..{n_items - 1}"
        )
    return pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.intp)


def require_rows(
    first: Array, second: Array, p: Array, weight: Array, items: Sequence[Hashable]
) -> None:
    """Refuse rows whose p, pair or weight cannot be, naming their items."""
    if not len(first):
        raise ComparisonError("there are no comparisons: at least one is needed")

    def refuse(wrong: Array, why: Callable[[int], str]) -> None:
        refuse_rows(wrong, first, second, items, why)

    inside = (p >= 0) & (p <= 1)  # False for NaN
    refuse(~inside, lambda k: f"p is {p[k]:g}, not in [0, 1]")
    refuse(first == second, lambda k: "an item is compared with itself")
    usable = np.isfinite(weight) & (weight > 0)
    refuse(~usable, lambda k: f"weight is {weight[k]:g}, not a positive number")


def refuse_rows(
    wrong: Array, first: Array, second: Array, items: Sequence[Hashable], why: Callable[[int], str]
) -> None:
    """Raise ComparisonError if any row is wrong, with the items of the first few and why."""
    rows = np.flatnonzero(wrong)
    if not rows.size:
        return
    lines = [
        f"row {k} ({items[first[k]]!r} against {items[second[k]]!r}): {why(k)}"
        for k in rows[:SHOWN]
    ]
    if rows.size > SHOWN:
        lines.append(f"and {rows.size - SHOWN} more rows like these")
    raise ComparisonError("\n".join(lines))


def require_columns(table: pd.DataFrame, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table that lacks a wanted column, or a name in one of the columns `names`."""
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        raise ComparisonError(
            f"the table has no column {name_some(missing)}; it has "
            f"{name_some(table.columns, 12)}; name yours with first=, second=, p=, weight="
        )
    blank = table[list(names)].isna().any(axis=1).to_numpy()
    if blank.any():
        raise ComparisonError(f"row {np.flatnonzero(blank)[0]}: an item name is missing")


def numbers_of(values: ArrayLike, what: str) -> Array:
    """One number a comparison."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ComparisonError(f"{what} must be numbers, one a comparison") from None
    if array.ndim != 1:
        raise ComparisonError(f"{what} must be one-dimensional, not of shape {array.shape}")
    return array


def require_unique(items: Sequence[Hashable]) -> None:
    """Refuse items that are listed twice."""
    if len(set(items)) < len(items):
        twice = [name for name in dict.fromkeys(items) if items.count(name) > 1]
        raise ComparisonError(f"listed more than once in items: {name_some(twice)}")


def require_same_length(**columns: Any) -> None:
    """Refuse columns that differ in length."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ComparisonError(
            "the columns differ in length: "
            + ", ".join(f"{name} has {length}" for name, length in lengths.items())
        )


def _merged(first: Array, second: Array, p: Array, weight: Array, n_items: int) -> Columns:
    """Repeats of the same ordered pair as one: mean p by weight, weight summed."""
    codes, group = np.unique(first * n_items + second, return_inverse=True)
    total = np.bincount(group, weight)
    mean = np.bincount(group, weight * p) / total
    return np.column_stack(np.divmod(codes, n_items)), np.clip(mean, 0, 1), total


def _symmetrised(pairs: Array, p: Array, weight: Array, items: Sequence[Hashable]) -> Columns:
    """Both orders of each of the merged pairs as one, (p_ij + 1 - p_ji) / 2, weight summed.

    Raises ComparisonError naming the pairs that are there in one order only.
    """
    there = {(i, j): k for k, (i, j) in enumerate(pairs.tolist())}
    single = [pair for pair in there if pair[::-1] not in there]
    if single:
        named = [f"{items[i]} before {items[j]}" for i, j in single]
        raise ComparisonError(
            f"judged in one order only: {name_some(named)}; ask for the other order, or "
            "model the position bias instead (bias= in poe.fit)"
        )
    forth = np.flatnonzero(pairs[:, 0] < pairs[:, 1])
    back = np.array([there[(j, i)] for i, j in pairs[forth].tolist()], dtype=np.intp)
    return pairs[forth], (p[forth] + 1.0 - p[back]) / 2.0, weight[forth] + weight[back]


# The comparison graph laid out by item --------------------------------------------------


class Layout(NamedTuple):
    """Comparisons sorted by item, each twice: once for either of its items.

    Entries start[i] to start[i + 1] belong to item i: `comparison` is the row of the
    comparison and `neighbour` the other item. Indices are 32-bit where that is enough, because
    large problems are bound by memory traffic.
    """

    start: NDArray[Any]
    comparison: NDArray[Any]
    neighbour: NDArray[Any]


def incidence(first: NDArray[Any], second: NDArray[Any], n_items: int) -> csr_array:
    """W, sparse: row k holds +1 at the first item and -1 at the second."""
    k = len(first)
    index: Any = np.int32 if max(2 * k, n_items) < 2**31 else np.int64
    ends = np.empty(2 * k, dtype=index)
    ends[0::2], ends[1::2] = first, second
    sign = np.tile(np.array([1.0, -1.0]), k)
    return csr_array((sign, ends, np.arange(0, 2 * k + 1, 2, dtype=index)), shape=(k, n_items))


def lay_out(first: NDArray[Any], second: NDArray[Any], n_items: int) -> Layout:
    """Sort the comparisons by item (a counting sort: linear in their number)."""
    rows = incidence(first, second, n_items)
    columns = rows.tocsc()
    item = np.repeat(np.arange(n_items, dtype=columns.indices.dtype), np.diff(columns.indptr))
    total = rows.indices[0::2] + rows.indices[1::2]
    return Layout(columns.indptr, columns.indices, total[columns.indices] - item)


def component_labels(
    first: NDArray[Any], second: NDArray[Any], n_items: int, *, known: Layout | None = None
) -> NDArray[np.intp]:
    """(n_items,) label of the group of linked items each belongs to.

    `known` saves the sorting of a large problem that was laid out before.
    """
    if len(first) <= SMALL:
        return _small_labels(first, second, n_items)
    start, _, neighbour = known or lay_out(first, second, n_items)
    graph = csr_array((np.ones(len(neighbour)), neighbour, start), shape=(n_items, n_items))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def is_connected(layout: Layout) -> bool:
    """Whether a walk from the first item reaches them all; quicker than labels for all."""
    n = len(layout.start) - 1
    ones = np.ones(len(layout.neighbour))
    graph = csr_array((ones, layout.neighbour, layout.start), shape=(n, n))
    reached = breadth_first_order(graph, 0, directed=True, return_predecessors=False)
    return len(reached) == n


def _small_labels(first: NDArray[Any], second: NDArray[Any], n_items: int) -> NDArray[np.intp]:
    """Each item takes the smallest label it touches: quicker than SciPy for a few hundred."""
    label = np.arange(n_items)
    while True:
        before = label.copy()
        low = np.minimum(label[first], label[second])
        np.minimum.at(label, first, low)
        np.minimum.at(label, second, low)
        label = label[label]
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1]
