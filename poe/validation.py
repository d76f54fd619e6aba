"""What a `Comparisons` may be made from: every refusal names the row, the items and the way out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from poe.errors import ComparisonError, name_some

Array = NDArray[Any]
SHOWN = 5  # rows that a message lists


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
