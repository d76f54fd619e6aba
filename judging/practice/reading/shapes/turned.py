"""What a table of another shape becomes: rows of comparisons that still know where they stood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from judging.practice.reading.names import plain
from judging.practice.reading.tables import place
from poe.errors import ComparisonError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Turned", "column_of", "refusal", "repeated", "whole"]


class Turned(NamedTuple):
    """Rows that compare two items, notes, and which of their columns the shape itself names.

    in_order : whether the first of a row may be what was shown first.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    named: Mapping[str, str] = {}
    in_order: bool = True


def column_of(table: pd.DataFrame, names: Iterable[str]) -> str | None:
    """The column that has one of these names, the first name that is there."""
    there = {plain(name): str(name) for name in reversed(table.columns)}
    return next((there[name] for name in names if name in there), None)


def repeated(
    table: pd.DataFrame, rows: Sequence[int], columns: Mapping[str, Sequence[Any]]
) -> pd.DataFrame:
    """Row rows[k] of the table (from 0) for each k, with these columns; its line stays with it."""
    turned = table.iloc[np.asarray(rows, dtype=np.intp)].copy()
    for name, values in columns.items():
        turned[name] = np.fromiter(values, dtype=object, count=len(rows))
    turned.attrs = dict(table.attrs)
    return turned


def whole(table: pd.DataFrame, column: str) -> list[int]:
    """The whole numbers of a column, 0 where it is empty; else a refusal that names the row."""
    found = []
    for k, cell in enumerate(table[column].tolist()):
        text = str(cell).strip()
        try:
            number = 0.0 if text.lower() in {"", "nan", "none", "<na>"} else float(text)
        except ValueError:
            number = -1.0
        if number < 0.0 or not number.is_integer():
            raise refusal(table, k, f"the column {column!r} has {text!r}, which is no count")
        found.append(int(number))
    return found


def refusal(table: pd.DataFrame, k: int, why: str) -> ComparisonError:
    """An error that names row k."""
    return ComparisonError(f"{place(table, k)}: {why}")
