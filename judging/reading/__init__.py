"""Texts and comparisons in tables, as people have them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging.reading.forms import read as columns_of
from judging.reading.tables import read_table
from poe.comparisons import Comparisons

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read"]


def read(
    source: str | Path | pd.DataFrame,
    *,
    items: int | Iterable[Any] | None = None,
    **columns: str | None,
) -> Comparisons:
    """Comparisons from a file or table of any form in which people have them.

    source : a path (CSV, TSV, JSON, JSONL, Excel, Parquet, see `judging.reading.tables`), or a
        table with one row a comparison: first, second and p; or model_a, model_b and winner, ties
        in any spelling; or alpaca_eval's annotations (`judging.reading.forms`).
    items : as in `poe.Comparisons`. columns : first, second, p, winner and weight name columns that
        have other names.

    Raises ComparisonError or InvalidDataError naming the columns there are, or the rows and words
    that are no verdict. Rows without a verdict are left out, with a warning.
    """
    table = read_table(source) if isinstance(source, str | Path) else source
    found = columns_of(table, **columns)
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    return Comparisons(
        first=found.first, second=found.second, p=found.p, weight=found.weight, items=items
    )
