"""Your own texts: a CSV or JSONL file with ids and texts, perhaps contexts and scores.

CSV (UTF-8, comma-separated, with a header) or JSONL (one object a line):

    id        a name, no two the same                       required
    text      the text                                      required
    context   what it answers to: a task, an article        optional
    score     a number that people gave it, empty if none   optional

Other columns are ignored. Texts with the same context are compared with each other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from poe.datasets.errors import InvalidDataError
from poe.datasets.rows import rows_of
from poe.errors import name_some
from poe.judges.questions import Text

Duplicates = Literal["warn", "refuse", "allow"]


@dataclass(frozen=True, eq=False)
class TextGroup:
    """The texts that answer to one context. scores : (n,), NaN where none was given."""

    context: Text | None
    items: tuple[Text, ...]
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """What `read_texts` found in a file, in its order.

    path : the file. items : the texts with their ids. contexts : one a text, None without.
    scores : (n,) floats, NaN where none was given; None if the file has no scores.
    """

    path: Path
    items: tuple[Text, ...]
    contexts: tuple[str | None, ...]
    scores: NDArray[np.float64] | None

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


def read_texts(path: str | Path, *, duplicates: Duplicates = "warn") -> OwnTexts:
    """Read texts of your own from a CSV or JSONL file; the module's docstring has the layout.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .jsonl or .ndjson.
    duplicates : {"warn", "refuse", "allow"}, optional
        What to do where two ids of one context have the same text: a judge cannot tell them
        apart, so their scores differ by its position bias alone.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    InvalidDataError
        If it is empty, not UTF-8, lacks a column, has an empty or repeated id, an empty text or
        a score that is no number; the message names lines and ids.
    """
    if duplicates not in get_args(Duplicates):
        raise ValueError(f"duplicates must be one of {get_args(Duplicates)}, not {duplicates!r}")
    path = Path(path)
    rows = list(rows_of(path))
    if not rows:
        raise InvalidDataError(f"{path}: there are no texts in it")
    ids = [_id(path, line, row) for line, row in rows]
    _refuse_repeated(path, ids, [line for line, _ in rows])
    items = tuple(
        Text(name, _text(path, line, row)) for name, (line, row) in zip(ids, rows, strict=True)
    )
    contexts = tuple(_context(path, line, row) for line, row in rows)
    if duplicates != "allow":
        _duplicates(path, items, contexts, refuse=duplicates == "refuse")
    scores = None
    if any("score" in row for _, row in rows):
        scores = np.array(
            [_score(path, name, line, row) for name, (line, row) in zip(ids, rows, strict=True)]
        )
    return OwnTexts(path, items, contexts, scores)


def _id(path: Path, line: int, row: dict[str, Any]) -> str:
    value = row["id"]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidDataError(f"{path}, line {line}: the id is {value!r}, not a name or number")
    if not str(value).strip():
        raise InvalidDataError(f"{path}, line {line}: the id is empty")
    return str(value).strip()


def _refuse_repeated(path: Path, ids: list[str], lines: list[int]) -> None:
    first: dict[str, int] = {}
    for name, line in zip(ids, lines, strict=True):
        if name in first:
            raise InvalidDataError(
                f"{path}: the id {name!r} is on line {first[name]} and again on line {line}; "
                "give every text an id of its own"
            )
        first[name] = line


def _text(path: Path, line: int, row: dict[str, Any]) -> str:
    value = row["text"]
    if not isinstance(value, str):
        _wrong(path, line, row, f"the text is {value!r}, not a text")
    if not value.strip():
        _wrong(path, line, row, "the text is empty; remove the row, or fill it")
    return value


def _context(path: Path, line: int, row: dict[str, Any]) -> str | None:
    value = row.get("context")
    if value is None:
        return None
    if not isinstance(value, str):
        _wrong(path, line, row, f"the context is {value!r}, not a text")
    return value if value.strip() else None


def _score(path: Path, name: str, line: int, row: dict[str, Any]) -> float:
    value = row.get("score")
    if value is None or (isinstance(value, str) and not value.strip()):
        return float("nan")
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError):
        _wrong(path, line, row, f"the score is {value!r}, not a number")
    if not np.isfinite(number):
        _wrong(path, line, row, f"the score is {value!r}; leave it empty where there is none")
    return number


def _wrong(path: Path, line: int, row: dict[str, Any], what: str) -> NoReturn:
    raise InvalidDataError(f"{path}, line {line}, id {str(row['id'])!r}: {what}")


def _duplicates(
    path: Path, items: Iterable[Text], contexts: Iterable[str | None], *, refuse: bool
) -> None:
    same: dict[tuple[str | None, str], list[str]] = {}
    for item, context in zip(items, contexts, strict=True):
        same.setdefault((context, item.text.strip()), []).append(item.id)
    groups = [group for group in same.values() if len(group) > 1]
    if not groups:
        return
    listed = "; ".join(name_some(group) for group in groups[:5])
    more = f"; and {len(groups) - 5} more groups" if len(groups) > 5 else ""
    message = f"{path}: the same text stands under several ids ({listed}{more})"
    if refuse:
        raise InvalidDataError(f"{message}; keep one of each")
    warnings.warn(f"{message}; a judge cannot tell them apart", stacklevel=3)
