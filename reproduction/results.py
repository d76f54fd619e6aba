"""Stored results: tables with one row a cell or point, and one index of how each was made.

A paper's results lie in one long table, whose column `target` says which row is whose; results
with other columns have a file of their own. The index, data/results/index.json, has a block for
every result: its file and columns, command, kind, draws, seed, date and cost of the run, versions
and one digest of all code and data of the reproduction. Only a result in the index counts as made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from judging import machine
from judging.machine import data_dir
from reproduction.targets import TARGETS, Target

INDEX = "index.json"
LAST = ("kind", "labels", "draws", "seed")  # columns of every long table, after all others
WHOLE = "all"  # its block in the index: what the latest run of every target cost

Block = dict[str, Any]


def folder(out: Path | None = None) -> Path:
    """Find where results lie: data/results, or where asked."""
    return data_dir() / "results" if out is None else out


def index(out: Path | None = None) -> dict[str, Block]:
    """Read how every result was made, by its name; that of all targets in one run is `WHOLE`."""
    path = folder(out) / INDEX
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def descriptions(out: Path | None = None) -> dict[str, Block]:
    """The index without the run of all targets."""
    return {name: block for name, block in index(out).items() if name != WHOLE}


def read(name: str, out: Path | None = None, **options: Any) -> pd.DataFrame | None:
    """The stored result of that name, or None where there is none; options of `pd.read_csv`."""
    about = index(out).get(name, {"file": name})
    path = folder(out) / f"{about['file']}.csv"
    if not path.exists():
        return None
    if about["file"] == name:
        return pd.read_csv(path, **options)
    head, *rows = path.read_text("utf-8").split("\n")
    own = [row for row in rows if row.startswith(f"{name},")]  # `target` is the first column
    columns = about["columns"]
    return pd.read_csv(StringIO("\n".join([head, *own])), usecols=columns, **options)[columns]


def stored(name: str, **wanted: object) -> pd.DataFrame:
    """Its rows that have these values in their columns; LookupError where it is not stored."""
    table = read(name)
    if table is None:
        raise LookupError(f"no result {name} is stored; `judging reproduce {name}` makes it")
    return where(table, **wanted)


def where(table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Rows of a table that have these values in their columns."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table


def printed(name: str, out: Path | None = None) -> pd.DataFrame | None:
    """The same with every cell as it stands in the file: strings."""
    return read(name, out, dtype=str, keep_default_na=False)


def write(table: pd.DataFrame, target: Target, about: Block, out: Path | None = None) -> Path:
    """Write a result (four decimals) and its block of the index; returns the file."""
    path = folder(out) / f"{target.file or target.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        known = index(out)
        beside = [name for name in known if known[name].get("file") == path.stem != target.name]
        tables = {name: printed(name, out) for name in beside if name != target.name}
        # Out of the index first: a run that is interrupted before its end is not fresh.
        if known.pop(target.name, None):
            _write_index(known, out)
        own = pd.read_csv(StringIO(_csv(table)), dtype=str, keep_default_na=False)
        whole = own if path.stem == target.name else _long({**tables, target.name: own})
        machine.write(path, _csv(whole))
        place = {"file": path.stem, "columns": list(table)}
        _write_index({**known, target.name: {**place, **about}}, out)
    return path


def _long(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tables below one another in the order of the targets, with the union of their columns."""
    order = {name: place for place, name in enumerate(TARGETS)}
    names = sorted(tables, key=lambda name: (order.get(name, len(order)), name))
    whole = pd.concat([tables[name].assign(target=name) for name in names], ignore_index=True)
    first = [name for name in whole if name not in ("target", *LAST)]
    last = [name for name in LAST if name in whole]
    whole = whole[["target", *first, *last]].fillna("")
    assert not whole.apply(lambda cells: cells.str.contains("\n").any()).any(), "a line is a row"
    return whole


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, float_format="%.4f", lineterminator="\n"))


def write_whole(about: Block, out: Path | None = None) -> Path:
    """Record in the index what a run of all targets took; returns the index."""
    with _alone(folder(out)):
        return _write_index({**index(out), WHOLE: about}, out)


def _write_index(blocks: Mapping[str, Block], out: Path | None) -> Path:
    """Blocks in the order of their names, one line a field: a run changes a few lines of it."""
    said = (
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(key)}: {json.dumps(block[key])}" for key in block)
        + "\n}"
        for name, block in sorted(blocks.items())
    )
    path = folder(out) / INDEX
    machine.write(path, "{\n" + ",\n".join(said) + "\n}\n")
    return path


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Be the one process that writes there."""
    from filelock import FileLock

    path = place / f"{INDEX}.lock"
    with FileLock(path):
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
