"""Texts to be judged; and texts of your own, from a CSV or JSONL file with ids and texts.

CSV (UTF-8, comma-separated, with a header) or JSONL (one object a line):

    id        a name, no two the same                       required
    text      the text                                      required
    context   what it answers to: a task, an article        optional
    score     a number that people gave it, empty if none   optional

Other columns are ignored. Texts with the same context are compared with each other.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.errors import name_some

Duplicates = Literal["warn", "refuse", "allow"]
COLUMNS = ("id", "text", "context", "score")


@dataclass(frozen=True)
class Text:
    """A text and the name by which its owner knows it."""

    id: str
    text: str

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text; the store keeps this and not the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


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
    lines: dict[str, int] = {}
    same: dict[tuple[str | None, str], list[str]] = {}
    items, contexts, scores = [], [], []
    scored = False
    for line, row in _rows(path):
        try:
            name = _id(row["id"])
            if name in lines:
                raise InvalidDataError(
                    f"is on line {lines[name]} too; give every text an id of its own"
                )
            text, context, score = _text(row["text"]), _context(row), _score(row)
        except InvalidDataError as error:
            raise InvalidDataError(f"{path}, line {line}, id {row['id']!r}: {error}") from None
        lines[name] = line
        same.setdefault((context, text.strip()), []).append(name)
        items.append(Text(name, text))
        contexts.append(context)
        scores.append(score)
        scored = scored or "score" in row
    if not items:
        raise InvalidDataError(f"{path}: there are no texts in it")
    groups = [group for group in same.values() if len(group) > 1]
    if groups and duplicates != "allow":
        listed = "; ".join(name_some(group) for group in groups[:5])
        more = f"; and {len(groups) - 5} more groups" if len(groups) > 5 else ""
        message = f"{path}: the same text stands under several ids ({listed}{more})"
        if duplicates == "refuse":
            raise InvalidDataError(f"{message}; keep one of each")
        warnings.warn(f"{message}; a judge cannot tell them apart", stacklevel=2)
    return OwnTexts(path, tuple(items), tuple(contexts), np.array(scores) if scored else None)


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidDataError("the id is not a name or number")
    if not str(value).strip():
        raise InvalidDataError("the id is empty")
    return str(value).strip()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidDataError(f"the text is {value!r}, not a text")
    if not value.strip():
        raise InvalidDataError("the text is empty; remove the row, or fill it")
    return value


def _context(row: dict[str, Any]) -> str | None:
    value = row.get("context")
    if value is not None and not isinstance(value, str):
        raise InvalidDataError(f"the context is {value!r}, not a text")
    return value if value and value.strip() else None


def _score(row: dict[str, Any]) -> float:
    value = row.get("score")
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        number = float(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError):
        number = None
    if number is None:
        raise InvalidDataError(f"the score is {value!r}, not a number")
    if not math.isfinite(number):
        raise InvalidDataError(f"the score is {value!r}; leave it empty where there is none")
    return number


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file, each with the line it starts on and the columns we know."""
    readers = {".csv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl}
    if path.is_dir():
        raise InvalidDataError(f"{path} is a folder; name a file in it")
    if path.suffix.lower() not in readers:
        raise InvalidDataError(f"{path}: save it as .csv or .jsonl, the two kinds that are read")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file (seen from {Path.cwd()})") from None
    except OSError as error:
        raise DataNotFoundError(f"{path}: cannot be read ({error.strerror})") from error
    if not data.strip():
        raise InvalidDataError(f"{path}: the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidDataError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; save the file "
            "with the encoding UTF-8"
        ) from None
    for line, row in readers[path.suffix.lower()](path, text):
        missing = [name for name in ("id", "text") if name not in row]
        if missing:
            raise InvalidDataError(
                f"{path}, line {line}: lacks {name_some(missing)}; it has {name_some(row, 20)}"
            )
        yield line, {k: v for k, v in row.items() if k in COLUMNS}


def _csv(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        header = [name.strip() for name in next(reader)]
        if not {"id", "text"} <= set(header):
            other = next((mark for mark in ";\t" if any(mark in name for name in header)), None)
            hint = f"it seems to be separated by {other!r}, not by commas"
            raise InvalidDataError(
                f"{path}: the header has {name_some(header, 20)}, and needs 'id' and 'text'; "
                f"{hint if other else 'rename a column, or add one'}"
            )
        twice = [name for name in COLUMNS if header.count(name) > 1]
        if twice:
            raise InvalidDataError(f"{path}: the header has {name_some(twice)} more than once")
        start = reader.line_num + 1
        for cells in reader:
            line, start = start, reader.line_num + 1
            if cells and len(cells) != len(header):
                raise InvalidDataError(
                    f"{path}, line {line}: {len(cells)} cells where the header has {len(header)}; "
                    "a text with commas, quotes or line breaks goes in double quotes"
                )
            if cells:
                yield line, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InvalidDataError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def _jsonl(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Not splitlines(), which breaks at characters that JSON allows inside a text.
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except ValueError as error:
            raise InvalidDataError(f"{path}, line {line}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise InvalidDataError(
                f"{path}, line {line}: a {type(row).__name__}, not an object; JSONL has one object "
                '{"id": ..., "text": ...} a line'
            )
        yield line, row
