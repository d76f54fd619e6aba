"""Tables as they come: whatever a spreadsheet, a program or a colleague saved, as a data frame.

CSV, TSV and semicolons, JSON, JSONL, Parquet and xlsx (`judging.practice.reading.formats`),
standard input, a folder of texts, or a frame of any library. The index of the frame that
`read_table` gives says where each row stood, and is called "line", "row" or "file", so that a
message can name it (`place`).
"""

from __future__ import annotations

import difflib
import math
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging.errors import DataNotFoundError, InvalidDataError
from judging.practice.reading import formats
from judging.practice.reading.formats import missing
from judging.quoting import quoted, require_printable, unquoted
from poe.errors import name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_name",
    "as_number",
    "as_text",
    "find_column",
    "is_table",
    "place",
    "read_table",
    "read_tables",
]

STDIN = "-"
TEXT_FILES = (".txt", ".md")  # of a folder, a text each


# Reading --------------------------------------------------------------------------------------


def read_table(
    source: Any, *, encoding: str | None = None, sheet: str | None = None
) -> pd.DataFrame:
    """Read a table from a file, or take one that is there; the index names lines or rows.

    source : a file of the kind its name ends in, "-" for standard input; a folder of texts, a file
        each; a data frame of pandas, polars, Arrow or whatever else narwhals knows, or a list of
        dicts (rows count from 1).
    encoding : of a text file. By default UTF-8 or UTF-16, else Windows-1252 with a note.
    sheet : of a workbook. By default the first that has anything in it.

    `attrs` of the frame has `source`, what messages call it; `notes`, sentences for the user; and
    `decimal`, the decimal mark of its numbers, a comma where semicolons part the cells.

    Raises DataNotFoundError if the file cannot be opened, InvalidDataError if it is no table.
    """
    import pandas as pd

    if not isinstance(source, (str, Path)):
        if "decimal" in getattr(source, "attrs", {}):  # read by this function: its lines stay
            return source
        table = _frame(source)
        table.index = pd.RangeIndex(1, len(table) + 1, name="row")
        return _described(table, "the table")
    path = Path(source)
    if path.is_dir():
        return _folder(path, encoding)
    name = "standard input" if source in (STDIN, Path(STDIN)) else str(path)
    content = _bytes(path)
    # A pipe has a name that says nothing: /dev/stdin, /dev/fd/63.
    suffix = (path.suffix.lower() or "none") if path.is_file() else ""
    table, notes, decimal = formats.load(name, content, suffix, encoding=encoding, sheet=sheet)
    return _described(table, name, notes, decimal)


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == Path(STDIN) else path.read_bytes()
    except OSError as error:
        raise DataNotFoundError(
            f"{path}: cannot be read ({error.strerror}; seen from {Path.cwd()})"
        ) from error


def _folder(path: Path, encoding: str | None) -> pd.DataFrame:
    """The texts that lie in a folder: columns id, the name of a file without its end, and text."""
    import pandas as pd

    shown = sorted(one for one in path.iterdir() if one.name[0] != ".")
    if links := [one.name for one in shown if one.is_symlink()]:
        raise InvalidDataError(
            f"{path}: {name_some(links, 3)} {'is a link' if len(links) == 1 else 'are links'}, and "
            "what a link points to would be sent to the judge; put a copy of the text in its place"
        )
    there = [one for one in shown if one.is_file()]
    files = [one for one in there if one.suffix.lower() in TEXT_FILES]
    kinds = " or ".join(TEXT_FILES)
    if not files:
        raise InvalidDataError(f"{path}: a folder has a text a file, {kinds}; none is in it")
    names = [one.stem for one in files]
    if len(set(names)) < len(names):  # a.txt and a.md
        names = [one.name for one in files]
    notes, texts = [], []
    for one in files:
        text, guessed = formats.decoded(str(one), _bytes(one), encoding)
        texts.append(text.rstrip())
        notes += guessed
    if len(files) < len(there):
        notes.append(f"{path}: read {len(files)} of {len(there)} files, those ending in {kinds}")
    index = pd.Index([one.name for one in files], name="file")
    table = pd.DataFrame({"id": names, "text": texts}, index=index, dtype=object)
    return _described(table, path, notes)


def read_tables(
    sources: Sequence[str | Path], *, encoding: str | None = None, sheet: str | None = None
) -> pd.DataFrame:
    """The rows of one or several files as one table; messages name the file of a row.

    Raises InvalidDataError where a file is named twice, or their decimal marks differ.
    """
    import pandas as pd

    if twice := {str(one) for one in sources if list(sources).count(one) > 1}:
        raise InvalidDataError(f"{name_some(sorted(twice))} is named twice; name each file once")
    tables = [read_table(one, encoding=encoding, sheet=sheet) for one in sources]
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


def is_table(source: Any) -> bool:
    """Tell whether `read_table` can take it: a path, a frame of any library, a list of dicts."""
    rows = isinstance(source, (list, tuple)) and source and all(isinstance(r, dict) for r in source)
    return isinstance(source, (str, Path)) or bool(rows) or _is_frame(source)


def _is_frame(source: Any) -> bool:
    return any(hasattr(source, name) for name in ("collect_schema", "columns", "column_names"))


def _frame(source: Any) -> pd.DataFrame:
    """A frame of any library, or a list of dicts, as one of pandas that holds objects."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source.astype(object)
    if isinstance(source, (list, tuple)):
        return pd.DataFrame(list(source), dtype=object)
    import narwhals as nw

    try:
        frame: Any = nw.from_native(source)
    except TypeError:
        raise InvalidDataError(
            f"a {type(source).__name__} is no table: give a path, a data frame (pandas, polars, "
            "Arrow) or a list of dicts"
        ) from None
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    # Not narwhals' to_pandas, for which polars needs Arrow.
    return pd.DataFrame(frame.to_dict(as_series=False), dtype=object)


def _described(
    table: pd.DataFrame, source: object, notes: Iterable[str] = (), decimal: str = "."
) -> pd.DataFrame:
    table.columns = [str(name).strip() for name in table.columns]
    table.attrs = {"source": str(source), "notes": list(notes), "decimal": decimal}
    if not len(table):
        raise InvalidDataError(f"{source}: there are no rows in it")
    return table


# Columns and cells ----------------------------------------------------------------------------


def find_column(table: pd.DataFrame, *names: str, role: str = "") -> str | None:
    """The column that has one of these names in any case, the first name that is there.

    With `role`, the name that the commands' --column has for it, the column is required and the
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
    if not role:
        return None
    lower = {column.lower(): column for column in columns}
    near = [
        lower[key]
        for name in names
        for key in (
            difflib.get_close_matches(name.lower(), lower, n=1)
            or [key for key in lower if name.lower() in re.split(r"[\W_]+", key)]
        )[:1]
    ]
    near = near or (columns if len(columns) == 1 else [])
    hint = (
        f"; is it --column {role}={near[0]!r}?" if near else f"; name yours: --column {role}=NAME"
    )
    raise InvalidDataError(
        f"{table.attrs['source']}: no column is called {' or '.join(map(repr, names))}, it has "
        f"{name_some(columns, 12)}{under_a_title(columns) or hint}"
    )


def under_a_title(columns: Sequence[Any]) -> str:
    """What to do where one name stands above the first of several columns alone, "" elsewhere."""
    unnamed = [f"column {k}" for k in range(2, len(columns) + 1)]
    if not unnamed or list(columns[1:]) != unnamed:
        return ""
    return "; the first line looks like a title: take it out, and let the columns' names come first"


def place(table: pd.DataFrame | pd.Series, k: Any) -> str:
    """Say where row k (from 0) stood: "pairs.csv, line 3", or its position if not read here."""
    source = table.attrs.get("source")
    return f"{source}, {table.index.name} {table.index[k]}" if source else f"row {k}"


def as_name(cell: Any) -> str:
    """A cell as the name of an item, spaces trimmed; raises InvalidDataError if it cannot be one.

    Whole numbers lose the ".0" that tables with gaps give them, days the midnight that workbooks
    do, and a name that a spreadsheet would run the apostrophe that `csv_text` put before it.
    Letters are those of Unicode's form NFC, so that names that look the same are the same.
    """
    if missing(cell):
        raise InvalidDataError("the id is empty")
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    name = unquoted(" ".join(unicodedata.normalize("NFC", str(cell)).split()))
    require_printable(name)
    return name


def as_text(cell: Any, what: str = "text") -> str:
    """A cell as a text to be judged; the text parts of a chat's content are put together.

    Raises InvalidDataError for what is empty or no text.
    """
    if isinstance(cell, list) and cell and all(isinstance(part, dict) for part in cell):
        parts = [part.get("text") for part in cell]
        if all(isinstance(part, str) for part in parts):
            cell = "\n".join(map(str, parts))
        elif all("content" in part for part in cell):
            raise InvalidDataError(
                f"the {what} is a chat of {len(cell)} messages; give the content of the one that "
                "is to be judged"
            )
    if isinstance(cell, (int, float)) and not isinstance(cell, bool) and not missing(cell):
        return as_name(cell)  # a workbook keeps the answer 42 as a number
    if isinstance(cell, str) and cell.strip():
        return cell
    if missing(cell):
        raise InvalidDataError(f"the {what} is empty; fill it, or take it out")
    raise InvalidDataError(
        f"the {what} is {quoted(repr(cell), 40)}, which is no text; write it as one"
    )


def as_number(cell: Any, what: str, *, decimal: str = ".") -> float:
    """A cell as a number, NaN if it is empty; raises InvalidDataError if it is something else."""
    if missing(cell):
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
