"""The one data type: which items were compared, in which order, with which probability.

A comparison shows item `first` and then item `second` to a judge, and records
p = P(first is better). Everything else in the package starts from a `Comparisons`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral, Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Array, Floats, Indices
from poe.errors import ComparisonError, DisconnectedError, name_some
from poe.graph import FEW, Layout, component_labels

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # rows that a message lists
HEAVIEST, APART = 1e100, 1e15  # of weights, and the largest over the smallest


class Comparisons:
    """K pairwise comparisons among N items; ComparisonError names the rows that are wrong.

    Parameters
    ----------
    first, second : K item names each, in the order shown to the judge
    p
        K probabilities in [0, 1] that `first` is the better; 0, 1/2 and 1 record a loss, a tie and
        a win where the judge gives decisions only.
    items
        The N item names in the order scores are wanted, or the number N for 0 to N - 1. By default
        the names that occur: integers ascending, anything else as they first appear.
    weight : K positive numbers (default 1); a comparison of weight 2 counts twice

    Attributes
    ----------
    items, first, second, p, weight
        A tuple of N names, and (K,) arrays, read-only; the first two are positions in it.

    Examples
    --------
    >>> poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    Comparisons(3 comparisons among 3 items)
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
        items: int | Iterable[Any] | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first, second = _names(first, "first"), _names(second, "second")
        _require_same_length(first=first, second=second)
        _require_no_numbers_among_truths(first, second)
        self.items = _in_order(first, second) if items is None else _listed(items)
        place = {name: i for i, name in enumerate(self.items)}
        self._set(_places(first, "first", place), _places(second, "second", place), p, weight)

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        p: ArrayLike,
        *,
        items: int | Iterable[Any],
        weight: ArrayLike | None = None,
    ) -> Comparisons:
        """Build from a (K, 2) array of positions (first, second), as `poe.select` returns.

        `items` is the N item names, or the number N, which names them 0 to N - 1.
        """
        made = cls.__new__(cls)
        made.items = _listed(items)
        first, second = as_pairs(pairs, len(made.items)).T
        made._set(first.copy(), second.copy(), p, weight)
        return made

    def _set(self, first: Indices, second: Indices, p: Any, weight: Any) -> None:
        """The one pass of checks that every set of comparisons goes through."""
        p = _numbers(p, "p")
        weight = np.ones(len(p)) if weight is None else _numbers(weight, "weight")
        _require_same_length(first=first, second=second, p=p, weight=weight)
        if not len(p):
            raise ComparisonError("there are no comparisons: at least one is needed")
        rows = (first, second, self.items)
        right = (p >= 0) & (p <= 1)  # False for NaN
        refuse_rows(~right, *rows, lambda k: f"p is {p[k]:g}, not in [0, 1]")
        refuse_rows(first == second, *rows, lambda k: "an item is compared with itself")
        right = (weight >= 1 / HEAVIEST) & (weight <= HEAVIEST)
        refuse_rows(~right, *rows, lambda k: f"weight is {weight[k]:g}, not a positive number")
        if (least := weight.min()) * APART < (most := weight.max()):
            raise ComparisonError(
                f"weights from {least:g} to {most:g} differ by more than a factor of {APART:g}, "
                "where rounding hides the small ones (a prior's weight is twice its wins)"
            )
        for array in (first, second, p, weight):
            array.setflags(write=False)
        self.first, self.second, self.p, self.weight = first, second, p, weight

    # Tables ----------------------------------------------------------------------------

    @classmethod
    def from_table(
        cls, table: Mapping[str, Any] | pd.DataFrame, *, items: int | Iterable[Any] | None = None
    ) -> Comparisons:
        """Build from columns first, second and p, and weight where there is one.

        `judging.read` reads the many other forms of table that people have.
        """
        missing = [name for name in ("first", "second", "p") if name not in table]
        if missing:
            raise ComparisonError(
                f"the table has no column {name_some(missing)}; it has {name_some(table, 12)}. "
                "Name its columns first, second and p, or read it by judging.read, which knows "
                "other forms"
            )
        return cls(
            first=table["first"],
            second=table["second"],
            p=table["p"],
            items=items,
            weight=table.get("weight"),
        )

    def to_table(self) -> pd.DataFrame:
        """One row per comparison: first, second, p, weight."""
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
        one = np.eye(self.n_items)
        w = one[self.first] - one[self.second]
        return np.vstack([one[:1], w]) if anchor else w

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
        return Layout.of(self.first, self.second, self.n_items)

    @cached_property
    def search(self) -> tuple[Array, Array]:
        """Items breadth first from the first one, those linked with it, and where each was seen."""
        return self.layout.search()

    @cached_property
    def _labels(self) -> Indices:
        if self.n_items > FEW and len(self.search[0]) == self.n_items:
            return np.zeros(self.n_items, dtype=np.intp)
        return component_labels(self.first, self.second, self.n_items)

    def require_compared(self) -> None:
        """Raise ComparisonError naming the items that appear in no comparison."""
        seen = np.zeros(self.n_items, dtype=bool)
        seen[self.first] = seen[self.second] = True
        if not seen.all():
            alone = [self.items[i] for i in np.flatnonzero(~seen)]
            raise ComparisonError(
                f"never compared: {name_some(alone)}; add a comparison for each, "
                "or leave them out of `items`",
                items=alone,
            )

    def require_connected(self) -> None:
        """Raise DisconnectedError unless every item is linked to every other."""
        if self._labels.any():
            self.require_compared()
            groups = self.components()
            raise DisconnectedError(
                f"items {name_some(groups[1])} share no comparison with the rest "
                f"({len(groups)} separate groups), so their scores relative to it are undefined; "
                "add a comparison between the groups, or score each group alone",
                items=groups[1],
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
        made = copy.copy(self)  # what is known of the graph stays known
        made.p = 0.5 * (1.0 + np.sign(self.p - 0.5))
        made.p.setflags(write=False)
        return made

    def merged(self) -> Comparisons:
        """Repeats of the same ordered pair as one: mean p, summed weight."""
        n = self.n_items
        codes, group = np.unique(self.first * n + self.second, return_inverse=True)
        weight = np.bincount(group, self.weight)
        p = np.clip(np.bincount(group, self.weight * self.p) / weight, 0, 1)
        pairs = np.column_stack(np.divmod(codes, n))
        return Comparisons.from_pairs(pairs, p, items=self.items, weight=weight)

    def symmetrised(self) -> Comparisons:
        """Both orders of each pair averaged: p = (p_ij + 1 - p_ji) / 2 (paper 3.5; book eq. 9.3).

        Returns one comparison a pair, weight summed. Raises ComparisonError naming the
        pairs that were judged in one order only: they have nothing to be averaged with.
        """
        once, n = self.merged(), self.n_items
        code, mirrored = once.first * n + once.second, once.second * n + once.first
        single = np.flatnonzero(~np.isin(mirrored, code))
        if single.size:
            names = [[once.items[i] for i in once.pairs[k]] for k in single]
            raise ComparisonError(
                f"judged in one order only: {name_some(f'{a} before {b}' for a, b in names)}; ask "
                "for the other order, or model the position bias instead (bias= in poe.fit)"
            )
        forth = np.flatnonzero(once.first < once.second)
        back = np.searchsorted(code, mirrored[forth])  # merged comparisons are sorted by code
        p = (once.p[forth] + 1.0 - once.p[back]) / 2.0
        weight = once.weight[forth] + once.weight[back]
        return Comparisons.from_pairs(once.pairs[forth], p, items=self.items, weight=weight)


# What a `Comparisons` may be made from: every refusal names the row, the items and the way out


def _names(values: Iterable[Any], column: str) -> list[Any]:
    """Item names as a list, NumPy's scalars as Python's: the two must be one item."""
    single = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    if single or not isinstance(values, Iterable):
        raise ComparisonError(f"{column}: expected a sequence of item names, not {values!r}")
    names = [value.item() if isinstance(value, np.generic) else value for value in values]
    for row, name in enumerate(names):
        try:
            missing = name is None or hash(name) is None or bool(name != name)
        except (TypeError, ValueError):  # a list, or pandas' missing value
            missing = True
        if missing:
            raise ComparisonError(
                f"row {row}: an item name is missing, or is no text or number: {column} is {name!r}"
            )
    return names


def _listed(items: int | Iterable[Any]) -> tuple[Hashable, ...]:
    """The items that a caller named or counted."""
    if isinstance(items, Integral):
        return tuple(range(int(items)))
    names = tuple(_names(items, "items"))  # type: ignore[arg-type]
    require_unique(names)
    return names


def _require_no_numbers_among_truths(first: list[Any], second: list[Any]) -> None:
    """Refuse True beside 1: a dictionary takes them for one name."""
    if bool in (kinds := {*map(type, first), *map(type, second)}) and len(kinds) > 1:
        both = [name for name in (*first, *second) if isinstance(name, (bool, Number))]
        for truth in (True, False):
            if {type(name) for name in both if name == truth} > {bool}:
                raise ComparisonError(
                    f"{truth} and {int(truth)} are the same name to Python, so two items would "
                    "become one; name them by texts"
                )


def _in_order(first: list[Any], second: list[Any]) -> tuple[Hashable, ...]:
    """The items that occur: integers ascending, anything else in order of first appearance."""
    seen = dict.fromkeys(name for pair in zip(first, second, strict=True) for name in pair)
    whole = all(isinstance(name, Integral) for name in seen)
    return tuple(sorted(seen)) if whole else tuple(seen)


def _places(names: list[Any], column: str, place: dict[Hashable, int]) -> Indices:
    """Positions of the names among the items; an unknown name is refused."""
    try:
        return np.array([place[name] for name in names], dtype=np.intp)
    except KeyError as unknown:
        name = unknown.args[0]
        raise ComparisonError(
            f"row {names.index(name)}: {column} is {name!r}, which is not among the items "
            f"({name_some(place)})"
        ) from None


def as_pairs(pairs: ArrayLike, n_items: int) -> Indices:
    """Positions as a (K, 2) array; ComparisonError where they are not two different of N items."""
    positions = np.asarray(pairs)
    if not positions.size:
        return np.empty((0, 2), dtype=np.intp)
    if positions.shape[1:] != (2,) or positions.dtype.kind not in "iu":
        raise ComparisonError(
            f"pairs must be (K, 2) integer positions, not {positions.dtype}{positions.shape}; for "
            "names use Comparisons()"
        )
    same = positions[:, 0] == positions[:, 1]
    if positions.min() < 0 or positions.max() >= n_items or same.any():
        wrong = (positions < 0).any(1) | (positions >= n_items).any(1) | same
        row = int(np.flatnonzero(wrong)[0])
        raise ComparisonError(
            f"row {row} of pairs is {positions[row].tolist()}: two different positions in "
            f"0..{n_items - 1} are needed"
        )
    return positions.astype(np.intp)


def _numbers(values: ArrayLike, what: str) -> Floats:
    """One number per comparison."""
    given = np.asarray(np.ma.filled(values, np.nan))
    try:
        if given.dtype.kind not in "biufOUT":
            raise TypeError(f"{given.dtype} would turn into something else")
        array = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ComparisonError(f"{what} must be numbers, one per comparison: {error}") from None
    if array.ndim != 1:
        raise ComparisonError(f"{what} must be one-dimensional, not of shape {array.shape}")
    return array


def _require_same_length(**columns: Any) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ComparisonError(
            "the columns differ in length: "
            + ", ".join(f"{name} has {length}" for name, length in lengths.items())
        )


def require_unique(items: Sequence[Hashable]) -> None:
    """Refuse items that are listed twice."""
    if len(set(items)) < len(items):
        twice = [name for name in dict.fromkeys(items) if items.count(name) > 1]
        raise ComparisonError(f"listed more than once in items: {name_some(twice)}")


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
