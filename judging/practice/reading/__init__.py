"""Texts and comparisons in tables, as people have them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from judging.practice.reading.forms import read as columns_of
from judging.practice.reading.tables import read_table
from poe.comparisons import Comparisons

__all__ = ["read"]


def read(
    source: Any,
    *,
    items: int | Iterable[Any] | None = None,
    **columns: Any,
) -> Comparisons:
    """Comparisons from a file or table of any form in which people have them.

    Parameters
    ----------
    source
        A path (CSV, TSV, JSON, JSONL, Excel, Parquet, see `judging.practice.reading.tables`), or a
        table (pandas, polars, Arrow, a list of dicts) with one row a comparison: first, second and
        p; or model_a, model_b and winner, ties in any spelling; or alpaca_eval's annotations
        (`judging.practice.reading.forms`). Counts of wins, rankings and Label Studio's JSON become
        such rows (`judging.practice.reading.shapes`).
    items
        As in `poe.Comparisons`.
    columns
        First, second, p, winner and weight name columns that have other names; tie_word and
        skip_word are words of your own in the winner's column, for a tie and for no verdict.

    Raises
    ------
    ComparisonError, InvalidDataError
        Naming the columns there are, or the rows and words that are no verdict.

    Notes
    -----
    Rows without a verdict are left out, with a warning.

    Examples
    --------
    >>> judging.read([{"model_a": "x", "model_b": "y", "winner": "tie"}]).p
    array([0.5])
    """
    table = source if hasattr(source, "iloc") else read_table(source)  # pandas keeps its rows
    contents = columns_of(table, **columns)
    for note in contents.notes:
        warnings.warn(note, stacklevel=2)
    return Comparisons(
        first=contents.first,
        second=contents.second,
        p=contents.p,
        weight=contents.weight,
        items=items,
    )
