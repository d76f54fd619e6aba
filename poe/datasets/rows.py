"""The rows of a user's CSV or JSONL file, each with the line it stands on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.errors import name_some

Row = tuple[int, dict[str, Any]]  # the line it starts on, and its cells
COLUMNS = ("id", "text", "context", "score")


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file of texts, each with the line it starts on and the columns we know."""
    readers = {".csv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl}
    if path.is_dir():
        raise InvalidDataError(f"{path} is a folder; name a file in it")
    reader = readers.get(path.suffix.lower())
    if reader is None:
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
    return reader(path, text)


def _csv(path: Path, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        header = [name.strip() for name in next(reader)]
        _check_header(path, header)
        start = reader.line_num + 1
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not cells:
                continue
            if len(cells) != len(header):
                raise InvalidDataError(
                    f"{path}, line {line}: {len(cells)} cells where the header has {len(header)}; "
                    "a text with commas, quotes or line breaks goes in double quotes"
                )
            yield line, {k: v for k, v in zip(header, cells, strict=True) if k in COLUMNS}
    except csv.Error as error:
        raise InvalidDataError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def _check_header(path: Path, header: list[str]) -> None:
    missing = [name for name in ("id", "text") if name not in header]
    if missing:
        other = next((mark for mark in ";\t" if any(mark in name for name in header)), None)
        hint = f"; it seems to be separated by {other!r}, not by commas" if other else ""
        raise InvalidDataError(
            f"{path}: the header lacks {name_some(missing)}; it has {name_some(header, 20)}"
            f"{hint or '; rename a column, or add one'}"
        )
    twice = [name for name in COLUMNS if header.count(name) > 1]
    if twice:
        raise InvalidDataError(f"{path}: the header has {name_some(twice)} more than once")


def _jsonl(path: Path, text: str) -> Iterator[Row]:
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
        missing = [name for name in ("id", "text") if name not in row]
        if missing:
            raise InvalidDataError(
                f"{path}, line {line}: lacks {name_some(missing)}; it has {name_some(row, 20)}"
            )
        yield line, {k: v for k, v in row.items() if k in COLUMNS}
