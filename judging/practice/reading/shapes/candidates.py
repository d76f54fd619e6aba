"""Both candidates in a cell: comparison_candidates "a, b", comparison_winner "a" (LangWatch)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judging.practice.reading.names import plain
from judging.practice.reading.shapes.turned import Turned, refusal, repeated

if TYPE_CHECKING:
    import pandas as pd

ENDS = ("candidates", "models", "systems", "competitors")


def rows(table: pd.DataFrame) -> Turned | None:
    """The two of each cell as columns; a row with fewer is left out."""
    columns = [name for name in table.columns if plain(name).endswith(ENDS)]
    cells = [_parts(cell) for cell in table[columns[0]].tolist()] if len(columns) == 1 else []
    if not any(len(parts) == 2 for parts in cells):
        return None
    column, said = columns[0], []
    for k, parts in enumerate(cells):
        if len(parts) > 2:
            raise refusal(
                table, k, f"{len(parts)} candidates in {column!r}; a row is read that compares two"
            )
    kept = [k for k, parts in enumerate(cells) if len(parts) == 2]
    if few := len(cells) - len(kept):
        has = "row has" if few == 1 else "rows have"
        said.append(f"{few:,} {has} fewer than two candidates: left out")
    sides = {"first": [cells[k][0] for k in kept], "second": [cells[k][1] for k in kept]}
    named = {"first": "first", "second": "second"}
    return Turned(repeated(table, kept, sides), tuple(said), named)


def _parts(cell: Any) -> list[str]:
    """The names in a cell, a list or a text with commas."""
    parts = cell if isinstance(cell, (list, tuple)) else str(cell).split(",")
    return [name for part in parts if (name := str(part).strip()) and name.lower() != "nan"]
