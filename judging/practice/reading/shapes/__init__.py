"""Tables of other shapes, turned into rows that each compare two items.

Each file knows one shape: `rows(table)` gives the comparisons of a table that has it, and None of
any other. A new shape is a file and a place here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judging.practice.reading.names import PROBABILITIES, VERDICTS
from judging.practice.reading.shapes import (
    candidates,
    counts,
    games,
    label_studio,
    rankings,
)
from judging.practice.reading.shapes.turned import Turned, column_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_rows"]

DECIDED = (*VERDICTS, *PROBABILITIES, "preference", "winner_tie")
WORDED = (label_studio, games, candidates)  # who won is said in words, in whatever column


def as_rows(table: pd.DataFrame, first: str | None, second: str | None, *, decided: bool) -> Turned:
    """The table with a row a comparison, and what to tell of it; itself where it has such rows.

    first, second : the columns that a user named. decided : whether they said who won, as the
    table's own column may, so that there is nothing to count.
    """
    for shape in WORDED:
        if (turned := shape.rows(table)) is not None:
            return turned
    if decided or column_of(table, DECIDED) is not None:
        return Turned(table)
    sides = () if first is None or second is None else (first, second)
    return counts.rows(table, *sides) or rankings.rows(table) or Turned(table)
