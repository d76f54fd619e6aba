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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.errors import name_some


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


def read_texts(path: str | Path) -> OwnTexts:
    """Read texts of your own from a CSV or JSONL file; the module's docstring has the layout.

    Raises
    ------
    DataNotFoundError
        If the file cannot be opened.
    InvalidDataError
        If it is empty, not UTF-8, lacks a column, has an empty or repeated id, an empty text or
        a score that is no number; the message names the line.
    """
    path = Path(path)
    items: dict[str, Text] = {}
    contexts: list[str | None] = []
    scores: list[float] = []
    scored = False
    for line, row in _rows(path):
        try:
            item = _text(row)
            if item.id in items:
                raise InvalidDataError("was there before; give every text an id of its own")
            score = _score(row.get("score"))
        except InvalidDataError as error:
            raise InvalidDataError(f"{path}, line {line}, id {row.get('id')!r}: {error}") from None
        items[item.id] = item
        context = row.get("context")
        contexts.append(str(context) if context and str(context).strip() else None)
        scores.append(score)
        scored = scored or "score" in row
    if not items:
        raise InvalidDataError(f"{path}: there are no texts in it")
    found = np.array(scores) if scored else None
    return OwnTexts(path, tuple(items.values()), tuple(contexts), found)


def _text(row: dict[str, Any]) -> Text:
    if row.get("id") is None or row.get("text") is None:
        raise InvalidDataError(f"needs 'id' and 'text', and has {name_some(row, 20)}")
    name, text = str(row["id"]).strip(), row["text"]
    if not name:
        raise InvalidDataError("the id is empty")
    if not isinstance(text, str) or not text.strip():
        raise InvalidDataError("the text is empty, or is no text; remove the row, or fill it")
    return Text(name, text)


def _score(value: Any) -> float:
    if value is None or not str(value).strip():
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidDataError(
            f"the score is {value!r}, not a number; leave it empty where there is none"
        )
    return number


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file, each with the line it ends on."""
    readers = {".csv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl}
    if path.suffix.lower() not in readers:
        raise InvalidDataError(f"{path}: save it as .csv or .jsonl, the two kinds that are read")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataNotFoundError(
            f"{path}: cannot be read ({error.strerror}; seen from {Path.cwd()})"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{path} is not UTF-8 ({error}); save it with the encoding UTF-8"
        ) from None
    return readers[path.suffix.lower()](path, text)


def _csv(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        if not {"id", "text"} <= set(header):
            raise InvalidDataError(
                f"{path}: the header has {name_some(header, 20)}, and needs 'id' and 'text', with "
                "commas between the columns"
            )
        reader.fieldnames = header
        for row in reader:
            if None in row or None in row.values():
                raise InvalidDataError(
                    f"{path}, line {reader.line_num}: not as many cells as the header has; a text "
                    "with commas, quotes or line breaks goes in double quotes"
                )
            yield reader.line_num, row
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
                f"{path}, line {line}: not an object; JSONL has one, with id and text, a line"
            )
        yield line, row
