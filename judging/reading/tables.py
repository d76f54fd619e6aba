"""Tables as they come: whatever a spreadsheet, a program or a colleague saved, as a data frame.

CSV, TSV and semicolons, JSON, JSONL, Parquet and xlsx; `read_table` tells them apart by the
file's name and its first line. The frame's index says where each row stood, and is called "line"
or "row", so that a message can name it (`place`). Cells of text files stay text: `007` is a name
and not a number. `csv_text` writes what a spreadsheet opens without running it.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging.errors import DataNotFoundError, InvalidDataError
from poe.errors import name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_name",
    "as_number",
    "csv_text",
    "find_column",
    "place",
    "printable",
    "read_table",
    "read_tables",
    "require_printable",
    "short",
]

KINDS = ".csv, .tsv, .txt, .json, .jsonl, .parquet or .xlsx"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
FORMULA = re.compile(
    r"'*[=+\-@\t\r＝＋－＠]"
)  # what a spreadsheet runs, or we marked as not to be run


# Reading --------------------------------------------------------------------------------------


def read_table(source: str | Path | pd.DataFrame, *, encoding: str | None = None) -> pd.DataFrame:
    """Read a table from a file, or take one that is there; the index names lines or rows.

    source : a file of the kind its name ends in, or a data frame (rows are numbered from 1).
    encoding : of a text file. By default UTF-8 or UTF-16, else Windows-1252 with a note.

    `attrs` of the frame has `source`, what messages call it; `notes`, sentences for the user; and
    `decimal`, the decimal mark of its numbers, a comma where semicolons part the cells.

    Raises DataNotFoundError if the file cannot be opened, InvalidDataError if it is no table.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        if "decimal" in source.attrs:  # read by this function: its lines keep their numbers
            return source
        table = source.astype(object)
        table.index = pd.RangeIndex(1, len(table) + 1, name="row")
        return _described(table, "the table")
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataNotFoundError(
            f"{path}: cannot be read ({error.strerror}; seen from {Path.cwd()})"
        ) from error
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq", ".xlsx", ".xlsm"):
        return _described(_by_pandas(path, content, parquet=kind.startswith(".p")), path)
    if kind not in (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson"):
        raise InvalidDataError(f"{path}: save it as {KINDS}, the kinds that are read")
    text, notes = _decoded(path, content, encoding)
    if "js" in kind:
        return _described(_json(path, text), path, notes)
    table, separator = _csv(path, text)
    return _described(table, path, notes, decimal="," if separator == ";" else ".")


def read_tables(sources: Sequence[str | Path], *, encoding: str | None = None) -> pd.DataFrame:
    """The rows of one or several files as one table; messages name the file of a row.

    Raises InvalidDataError where a file is named twice, or their decimal marks differ.
    """
    import pandas as pd

    if twice := {str(one) for one in sources if list(sources).count(one) > 1}:
        raise InvalidDataError(f"{name_some(sorted(twice))} is named twice; name each file once")
    tables = [read_table(one, encoding=encoding) for one in sources]
    if len(tables) == 1:
        return tables[0]
    if len(marks := {table.attrs["decimal"] for table in tables}) > 1:
        raise InvalidDataError(
            "the files have different decimal marks (commas and points); rank them one by one, or "
            "save them alike"
        )
    notes = [note for table in tables for note in table.attrs["notes"]]
    names = [f"{row} of {t.attrs['source']}" for t in tables for row in t.index]
    kind = tables[0].index.name
    for table in tables:
        table.attrs = {}  # pandas compares them when it joins
    together = pd.concat(tables, ignore_index=True)
    together.index = pd.Index(names, name=kind)
    return _described(together, f"{len(tables)} files", notes, marks.pop())


def _described(
    table: pd.DataFrame, source: object, notes: Iterable[str] = (), decimal: str = "."
) -> pd.DataFrame:
    table.columns = [str(name).strip() for name in table.columns]
    table.attrs = {"source": str(source), "notes": list(notes), "decimal": decimal}
    if not len(table):
        raise InvalidDataError(f"{source}: there are no rows in it")
    return table


def _decoded(path: Path, content: bytes, encoding: str | None) -> tuple[str, list[str]]:
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
                return _decoded(path, content, "cp1252")[0], [
                    f"{path} is not UTF-8 and was read as Windows-1252; if letters look wrong, "
                    "name its encoding with --encoding"
                ]
    try:
        return content.decode(encoding), []
    except LookupError:
        raise InvalidDataError(
            f"no encoding is called {encoding!r}; utf-8, utf-16, cp1252 and mac-roman are some"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{path} is not text in the encoding {encoding} ({error.reason} at byte "
            f"{error.start}); name the right one with --encoding, or save it as UTF-8"
        ) from None


def _csv(path: Path, text: str) -> tuple[pd.DataFrame, str]:
    """Delimited text, read strictly; the separator is the one that parts the header most."""
    import pandas as pd

    csv.field_size_limit(max(csv.field_size_limit(), len(text)))

    def reader(separator: str) -> Any:
        return csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)

    def columns(separator: str) -> int:
        try:
            return len(next(reader(separator), []))
        except csv.Error:
            return 0

    separator = max(SEPARATORS, key=columns)
    read = reader(separator)
    lines, rows = list[int](), list[list[str]]()
    try:
        header = [name.strip() or f"column {k}" for k, name in enumerate(next(read, []), start=1)]
        start = read.line_num + 1
        for row in read:
            if any(cell.strip() for cell in row):  # spreadsheets leave empty rows at the end
                if len(row) != len(header):
                    raise InvalidDataError(
                        f"{path}, line {start}: {len(row)} cells where the header has "
                        f"{len(header)}; a cell with {SEPARATORS[separator]}s, quotes or line "
                        "breaks goes in double quotes"
                    )
                lines.append(start)
                rows.append(row)
            start = read.line_num + 1
    except csv.Error as error:
        raise InvalidDataError(f"{path}, line {read.line_num}: not CSV ({error})") from error
    index = pd.Index(lines, name="line")
    return pd.DataFrame(rows, columns=header, index=index, dtype=object), separator


def _json(path: Path, text: str) -> pd.DataFrame:
    """A list of objects; or one object a line."""
    import pandas as pd

    index, rows = "row", list[Any]()
    try:
        if text.lstrip()[:1] == "[":
            rows = json.loads(text)
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
            f"{path}{at}: not JSON ({error}); one list of objects is read, or one object a line"
        ) from None
    for line, row in zip(lines, rows, strict=True):
        if not isinstance(row, dict):
            raise InvalidDataError(
                f"{path}, {index} {line}: not an object with the names of columns, such as "
                '{"id": "a", "text": "..."}'
            )
    return pd.DataFrame(rows, index=pd.Index(lines, name=index), dtype=object)


def _by_pandas(path: Path, content: bytes, *, parquet: bool) -> pd.DataFrame:
    import pandas as pd

    try:
        if parquet:
            table = pd.read_parquet(io.BytesIO(content), dtype_backend="numpy_nullable")
            if any(table.index.names):
                table = table.reset_index()
            table = table.astype(object)
        else:
            table = pd.read_excel(io.BytesIO(content), dtype=object, keep_default_na=False)
    except ImportError:
        extra = "pyarrow" if parquet else "openpyxl"
        raise InvalidDataError(
            f"{path}: reading it needs {extra}: pip install {extra}; or save it as CSV"
        ) from None
    except Exception as error:  # whatever the reader meets in a broken file
        what = "a Parquet file" if parquet else "an Excel workbook"
        raise InvalidDataError(f"{path}: not {what} that can be read ({error})") from error
    # A spreadsheet's own row numbers, whose first is the header.
    start = 1 if parquet else 2
    table.index = pd.RangeIndex(start, start + len(table), name="row")
    blank = [all(_missing(cell) for cell in row) for row in table.to_numpy()]
    return table[[not one for one in blank]]


# Columns and cells ----------------------------------------------------------------------------


def find_column(table: pd.DataFrame, *names: str, option: str = "") -> str | None:
    """The column that has one of these names in any case, the first name that is there.

    With `option`, what a user chooses it with (`--text-column`), the column is required and the
    InvalidDataError says which column comes near.
    """
    columns = list(table.columns)
    for name in names:
        exact = [column for column in columns if column == name]
        same = exact or [c for c in columns if c.strip().lower() == name.strip().lower()]
        if len(same) > 1:
            raise InvalidDataError(
                f"{table.attrs['source']}: more than one column is called {name_some(same)}; "
                "rename all but one"
            )
        if same:
            return str(same[0])
    if not option:
        return None
    lower = {column.lower(): column for column in columns}
    near = [
        lower[key]
        for name in names
        for key in (
            difflib.get_close_matches(name.lower(), lower, n=1)
            or [key for key in lower if name.lower() in key]
        )[:1]
    ]
    hint = f"; is it {option} {near[0]!r}?" if near else f"; name yours with {option}"
    raise InvalidDataError(
        f"{table.attrs['source']}: no column is called {' or '.join(map(repr, names))}, it has "
        f"{name_some(columns, 12)}{hint}"
    )


def place(table: pd.DataFrame | pd.Series, k: Any) -> str:
    """Where row k (from 0) stood: "pairs.csv, line 3"; its position if it was not read here."""
    source = table.attrs.get("source")
    return f"{source}, {table.index.name} {table.index[k]}" if source else f"row {k}"


def as_name(cell: Any) -> str:
    """A cell as the name of an item, spaces trimmed; raises InvalidDataError if it cannot be one.

    Whole numbers lose the ".0" that tables with gaps give them. The apostrophe that `csv_text` put
    before a name which a spreadsheet would run is taken away.
    """
    if _missing(cell):
        raise InvalidDataError("the id is empty")
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    name = " ".join(str(cell).split())
    if name[:1] == "'" and FORMULA.match(name):
        name = name[1:]
    require_printable(name)
    return name


def require_printable(name: str) -> None:
    """Refuse a name with half a character or a control character, which files cannot hold."""
    for letter in name:
        if (found := unicodedata.category(letter)) in ("Cc", "Cs"):
            what = "a control character" if found == "Cc" else "half of a character"
            raise InvalidDataError(f"the id has {what} in it (U+{ord(letter):04X}); remove it")


def short(name: Any, widest: int = 40) -> str:
    """A name that fits on a line, without what a terminal would take for a command."""
    text = printable(" ".join(str(name).split()))
    return text if len(text) <= widest else text[: widest - 1] + "…"


def printable(text: str) -> str:
    """The text, with a mark in place of every letter that is none."""
    return "".join(c if c.isprintable() else "�" for c in text)


def as_number(cell: Any, what: str, *, decimal: str = ".") -> float:
    """A cell as a number, NaN if it is empty; raises InvalidDataError if it is something else."""
    if _missing(cell):
        return math.nan
    text = str(cell).strip()
    try:
        number = float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidDataError(
            f"the {what} is {cell!r}, not a number; leave it empty where there is none"
        )
    return number


def _missing(cell: Any) -> bool:
    """Whether a cell is empty: None, NaN, NaT, pandas' NA, or nothing but spaces."""
    if isinstance(cell, str):
        return not cell.strip()
    import pandas as pd

    return cell is None or bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


# Writing --------------------------------------------------------------------------------------


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV that a spreadsheet opens without running anything.

    Text that begins with = + - @, a tab or a carriage return is a formula to a spreadsheet, and
    gets an apostrophe in front; `as_name` takes it away again.
    """

    def safe(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell

    safe_table = table.map(safe).rename(columns=safe)
    return str(safe_table.to_csv(index=False, lineterminator="\n"))
