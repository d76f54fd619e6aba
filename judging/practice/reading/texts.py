"""Texts of your own, from any table (`judging.practice.reading.tables`).

Columns, in any case and any order:

    text      the text                                      required
    id        a name, no two the same                       row numbers without it
    context   what it answers to: a task, an article        optional
    score     a number that people gave it, empty if none   optional

Other columns are ignored. A folder has a text a file, called by the file's name. Texts with the
same context are compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judging.errors import InvalidDataError
from judging.practice.reading import tables
from judging.question import Text


@dataclass(frozen=True, eq=False)
class TextGroup:
    """The texts that answer to one context. scores : (n,), NaN where none was given."""

    context: Text | None
    items: tuple[Text, ...]
    scores: NDArray[np.float64]

    @property
    def gold(self) -> dict[str, float]:
        """The scores that people gave, by id."""
        pairs = zip(self.items, self.scores.tolist(), strict=True)
        return {text.id: score for text, score in pairs if score == score}


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """What `read_texts` found in a table, in its order.

    items : the texts with their ids. contexts : one per text, None without. scores : (n,) floats,
    NaN where none was given; None if the table has no scores. notes : what was guessed. source :
    the file, "" for a data frame.
    """

    items: tuple[Text, ...]
    contexts: tuple[str | None, ...]
    scores: NDArray[np.float64] | None
    notes: tuple[str, ...] = ()
    source: str = ""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the texts."""
        return tuple(item.id for item in self.items)

    def groups(self) -> tuple[TextGroup, ...]:
        """The texts by context, in the order of first appearance."""
        members: dict[str | None, list[int]] = {}
        for k, context in enumerate(self.contexts):
            members.setdefault(context, []).append(k)
        scores = np.full(len(self), np.nan) if self.scores is None else self.scores
        return tuple(
            TextGroup(
                context=None if context is None else Text(f"context-{number}", context),
                items=tuple(self.items[k] for k in rows),
                scores=scores[rows],
            )
            for number, (context, rows) in enumerate(members.items(), start=1)
        )


def read_texts(
    source: Any,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    context_column: str | None = None,
    score_column: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> OwnTexts:
    """Read texts of your own from a file or a data frame; the module's docstring has the columns.

    Parameters
    ----------
    source
        As for `judging.practice.reading.tables.read_table`. The keywords name columns that are
        called something else, a file's encoding and a workbook's sheet. Without a column of ids,
        texts are called by the index of a pandas frame that has one of its own, else by the number
        of their row.

    Raises
    ------
    DataNotFoundError
        If the file cannot be opened.
    InvalidDataError
        With line and id, if it is not a table, lacks a column, or has an empty, repeated or
        unprintable id, an empty text or a score that is not a number.

    Examples
    --------
    >>> judging.read_texts([{"id": "a", "text": "One."}, {"id": "b", "text": "Two."}]).items[1]
    Text(id='b', text='Two.')
    """
    table = tables.read_table(source, encoding=encoding, sheet=sheet)

    def cells(kind: str, named: str | None, *, required: bool = False) -> list[Any] | None:
        role = kind if required or named else ""
        try:
            column = tables.find_column(table, named or kind, role=role)
        except InvalidDataError as error:
            if named or not {"system", "answer"} <= {str(one).lower() for one in table.columns}:
                raise
            raise InvalidDataError(
                f"{error}; answers of systems to prompts are for `judging leaderboard`"
            ) from None
        return None if column is None else table[column].tolist()

    notes = list(table.attrs["notes"])
    texts = cells("text", text_column, required=True) or []
    ids = cells("id", id_column)
    contexts, scores = cells("context", context_column), cells("score", score_column)
    if ids is None:
        ids = names_in(source)
    if ids is None:
        ids = list(range(1, len(texts) + 1))
        notes.append(
            "there is no column 'id', so texts are called by the number of their row; --column "
            "id=NAME (id_column= in Python) names another"
        )
    items: dict[str, Text] = {}
    given: list[float] = []
    wrong: list[str] = []
    for k, (cell, text) in enumerate(zip(ids, texts, strict=True)):
        try:
            name = tables.as_name(cell)
            if name in items:
                raise InvalidDataError("this id appears twice; give every text an id of its own")
            items[name] = Text(name, tables.as_text(text))
            if scores is not None:
                given.append(tables.as_number(scores[k], "score", decimal=table.attrs["decimal"]))
        except InvalidDataError as error:
            wrong.append(f"{tables.place(table, k)}, id {cell!r}: {error}")
    if wrong:
        more = f"; and {len(wrong) - 1} more like it, next: {wrong[1]}" if wrong[1:] else ""
        raise InvalidDataError(wrong[0] + more)
    return OwnTexts(
        items=tuple(items.values()),
        contexts=tuple(_context(cell) for cell in contexts or [None] * len(texts)),
        scores=None if scores is None else np.array(given),
        notes=tuple(notes),
        source=table.attrs["source"] if isinstance(source, (str, Path)) else "",
    )


def names_in(source: Any) -> list[Any] | None:
    """The names that a pandas frame or series has in its index; None for row numbers."""
    index: Any = getattr(source, "index", None)
    if not hasattr(index, "tolist") or type(index).__name__ == "RangeIndex":
        return None
    return list(index.tolist())


def _context(cell: Any) -> str | None:
    return str(cell) if cell is not None and cell == cell and str(cell).strip() else None
