"""Bytes as a table: delimited text, JSON, Parquet and workbooks, as people and programs save them.

Each reader gives a frame of objects whose index says where a row stood and is called "line" or
"row". Cells of text files stay text: `007` is a name and not a number.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from judging.errors import InvalidDataError
from poe.errors import name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Found", "decoded", "load", "missing"]

KINDS = ".csv, .tsv, .txt, .json, .jsonl, .parquet or .xlsx"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
WORKBOOKS, PARQUET = (".xlsx", ".xlsm"), (".parquet", ".pq")
DELIMITED, JSON = (".csv", ".tsv", ".tab", ".txt"), (".json", ".jsonl", ".ndjson")
SEPARATOR_LINE = re.compile(r"\ufeff?sep=(.)\r?\n")  # with which Excel begins its own exports


class Found(NamedTuple):
    """A table, sentences for the user, and the decimal mark of its numbers."""

    table: pd.DataFrame
    notes: Sequence[str] = ()
    decimal: str = "."


def load(
    source: str, content: bytes, suffix: str, *, encoding: str | None, sheet: str | None
) -> Found:
    """The table in a file's bytes, told by the end of its name or, without one, by how it begins.

    source : what messages call it. Raises InvalidDataError if it is none.
    """
    kind = suffix or _sniffed(content)
    if sheet is not None and kind not in WORKBOOKS:
        raise InvalidDataError(f"{source}: only a workbook (.xlsx) has sheets; leave out the sheet")
    if kind in PARQUET:
        return _parquet(source, content)
    if kind in WORKBOOKS:
        return _workbook(source, content, sheet)
    if kind not in (*DELIMITED, *JSON):
        if content.startswith(b"SQLite format 3"):
            raise InvalidDataError(
                f"{source} is a store, and a table is needed here: `--comparisons FILE` of the "
                "command that filled it writes one"
            )
        raise InvalidDataError(f"{source}: save it as {KINDS}, the kinds that are read")
    text, notes = decoded(source, content, encoding)
    table = _json(source, text) if kind in JSON else _csv(source, text)
    return table._replace(notes=notes)


def missing(cell: Any) -> bool:
    """Tell whether a cell is empty: None, NaN, NaT, pandas' NA, or nothing but spaces."""
    if isinstance(cell, str):
        return not cell.strip()
    import pandas as pd

    return cell is None or bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def _sniffed(content: bytes) -> str:
    """The kind of something that has no name, such as standard input."""
    begins = {b"PK\x03\x04": ".xlsx", b"PAR1": ".parquet"}
    first = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return begins.get(content[:4], ".json" if first in (b"[", b"{") else ".csv")


def decoded(source: str, content: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file, and a note where its encoding was guessed."""
    if encoding is None:
        every_second = content[1:400:2]
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            encoding = "utf-16"
        elif every_second and every_second.count(0) > len(every_second) / 2:
            encoding = "utf-16-le"
        else:
            try:
                return content.decode("utf-8-sig"), []
            except UnicodeDecodeError:
                return decoded(source, content, "cp1252")[0], [
                    f"{source} is not UTF-8 and was read as Windows-1252; if letters look wrong, "
                    "name its encoding (--set encoding=...)"
                ]
    try:
        return content.decode(encoding), []
    except LookupError:
        raise InvalidDataError(
            f"no encoding is called {encoding!r}; utf-8, utf-16, cp1252 and mac-roman are some"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{source} is not text in the encoding {encoding} ({error.reason} at byte "
            f"{error.start}); name the right one (--set encoding=...), or save it as UTF-8"
        ) from None


def _csv(source: str, text: str) -> Found:
    """Delimited text, read strictly; the separator is the one that parts the header most."""
    import pandas as pd

    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    said = SEPARATOR_LINE.match(text)
    text, before = text[said.end() if said else 0 :], 1 if said else 0

    def reader(separator: str) -> Any:
        return csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)

    def columns(separator: str) -> int:
        try:
            return len(next(reader(separator), []))
        except csv.Error:
            return 0

    separator = said[1] if said else max(SEPARATORS, key=columns)
    read = reader(separator)
    lines, rows = list[int](), list[list[str]]()
    try:
        header = _named(next(read, []))
        start = before + read.line_num + 1
        for row in read:
            if any(cell.strip() for cell in row):  # spreadsheets leave empty rows at the end
                if len(row) != len(header):
                    raise InvalidDataError(
                        f"{source}, line {start}: {len(row)} cells where the header has "
                        f"{len(header)}; a cell with {SEPARATORS.get(separator, 'separator')}s, "
                        "quotes or line breaks goes in double quotes"
                    )
                lines.append(start)
                rows.append(row)
            start = before + read.line_num + 1
    except csv.Error as error:
        raise InvalidDataError(
            f"{source}, line {before + read.line_num}: not CSV ({error})"
        ) from error
    table = pd.DataFrame(rows, columns=header, index=pd.Index(lines, name="line"), dtype=object)
    return Found(table, decimal="," if separator == ";" else ".")


def _named(header: Sequence[Any]) -> list[str]:
    """The names in a header; a column without one is called by its number."""
    return [
        f"column {k}" if missing(name) else str(name).strip()
        for k, name in enumerate(header, start=1)
    ]


# JSON -----------------------------------------------------------------------------------------


def _json(source: str, text: str) -> Found:
    """A list of objects; one object a line; or pandas' way of saving a frame, column by column."""
    import pandas as pd

    index, rows = "row", list[Any]()
    try:
        whole = _whole(text)
        if whole is not None:
            rows = whole
            lines = list(range(1, len(rows) + 1))
        else:
            index, lines = "line", []
            # Not splitlines(), which breaks at characters that JSON allows inside a text.
            for line, content in enumerate(text.split("\n"), start=1):
                if content.strip():
                    lines.append(line)
                    rows.append(json.loads(content))
    except (ValueError, RecursionError) as error:
        at = f", line {lines[-1]}" if index == "line" and lines else ""
        raise InvalidDataError(
            f"{source}{at}: not JSON ({error}); one list of objects is read, or one object a line"
        ) from None
    for line, row in zip(lines, rows, strict=True):
        if not isinstance(row, dict):
            raise InvalidDataError(
                f"{source}, {index} {line}: not an object with the names of columns, such as "
                '{"id": "a", "text": "..."}'
            )
    try:
        "".join(str(name) for row in rows for name in row).encode()
    except UnicodeEncodeError:
        raise InvalidDataError(
            f"{source}: the name of a column holds half of a character, which no text has"
        ) from None
    return Found(pd.DataFrame(rows, index=pd.Index(lines, name=index), dtype=object))


def _whole(text: str) -> list[Any] | None:
    """The rows of a text that is one list, or one object made of columns; None if it is neither."""
    if text.lstrip()[:1] == "[":
        content = json.loads(text)
        return list(content)
    try:
        content = json.loads(text)
    except ValueError:
        return None  # an object a line
    if not isinstance(content, dict) or not content:
        return None
    if isinstance(rows := content.get("data"), list) and all(isinstance(row, dict) for row in rows):
        return rows  # pandas' orient="table", and what many programs' interfaces answer
    if {"columns", "data"} <= content.keys():  # orient="split"
        try:
            return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]
        except (TypeError, ValueError):
            raise ValueError("its data do not fit its columns") from None
    columns = [
        column if isinstance(column, dict) else dict(enumerate(column))
        for column in content.values()
        if isinstance(column, (dict, list))
    ]
    if len(columns) < len(content) or len({tuple(column) for column in columns}) > 1:
        return None
    return [
        {name: column[key] for name, column in zip(content, columns, strict=True)}
        for key in columns[0]
    ]


# Files that pandas reads ----------------------------------------------------------------------


def _parquet(source: str, content: bytes) -> Found:
    def read() -> pd.DataFrame:
        import pandas as pd

        table = pd.read_parquet(io.BytesIO(content), dtype_backend="numpy_nullable")
        if any(table.index.names):
            table = table.reset_index()
        return table.astype(object)

    table = _by_pandas(source, read, "a Parquet file", "pyarrow")
    return Found(_numbered(table, 1))


def _workbook(source: str, content: bytes, wanted: str | None) -> Found:
    """One sheet of a workbook, the first that has anything; a title above the header is passed."""

    def read() -> Mapping[str, pd.DataFrame]:
        import pandas as pd

        options = {"header": None, "dtype": object, "keep_default_na": False}
        frames: Any = pd.read_excel(io.BytesIO(content), sheet_name=None, **options)
        return {str(name): sheet for name, sheet in frames.items()}

    sheets = _by_pandas(source, read, "an Excel workbook", "openpyxl")
    filled = [name for name, one in sheets.items() if not all(map(missing, one.to_numpy().flat))]
    if wanted is not None and wanted not in sheets:
        raise InvalidDataError(
            f"{source}: no sheet is called {wanted!r}; it has {name_some(list(sheets))}"
        )
    sheet = wanted or next(iter(filled or sheets))
    notes = []
    if wanted is None and len(filled) > 1:
        others = name_some([one for one in filled if one != sheet])
        notes.append(
            f"{source}: the sheet {sheet!r} was read, and not {others}; --set sheet=NAME "
            "(sheet= in Python) names another"
        )
    rows = sheets[sheet]
    cells = [sum(not missing(cell) for cell in row) for row in rows.to_numpy()]
    # A title stands alone in its row. Where no row has two cells there is one column, and no title.
    enough = min(2, max(cells, default=0))
    above = len(list(takewhile(lambda many: many < enough, cells)))
    if any(cells[:above]):
        notes.append(f"{source}: what stands above row {above + 1} was taken for a title")
    if above == len(rows):
        return Found(rows.iloc[:0], notes)
    table = rows.iloc[above + 1 :].copy()
    table.columns = _named(rows.iloc[above])
    kept = [
        not (missing(name) and all(map(missing, table.iloc[:, k])))
        for k, name in enumerate(rows.iloc[above])
    ]
    return Found(_numbered(table.loc[:, kept], above + 2), notes)  # the sheet's own numbers


def _numbered(table: pd.DataFrame, start: int) -> pd.DataFrame:
    """The rows that have something in them, with their numbers."""
    import pandas as pd

    table.index = pd.RangeIndex(start, start + len(table), name="row")
    return table[[not all(map(missing, row)) for row in table.to_numpy()]]


def _by_pandas(source: str, read: Callable[[], Any], what: str, library: str) -> Any:
    try:
        return read()
    except ImportError:
        raise InvalidDataError(
            f"{source}: reading it needs {library}: pip install {library}; or save it as CSV"
        ) from None
    except Exception as error:  # whatever the reader meets in a broken file
        raise InvalidDataError(f"{source}: not {what} that can be read ({error})") from error
