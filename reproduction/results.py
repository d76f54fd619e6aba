"""Stored results: a CSV file with one row a cell or point, and one index of how each was made.

The index, data/results/index.json, has a block for every result: its file and columns, command,
kind, draws, seed, date and cost of the run, versions and one digest of all code and data of the
reproduction. Only a result in the index counts as made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from judging import machine
from judging.machine import data_dir
from reproduction.targets import Target

INDEX = "index.json"
WHOLE = "all"  # its block in the index: what the latest run of every target cost

Block = dict[str, Any]


def folder(out: Path | None = None) -> Path:
    """Where results lie: data/results, or where asked."""
    return data_dir() / "results" if out is None else out


def index(out: Path | None = None) -> dict[str, Block]:
    """How every result was made, by its name; that of all targets in one run is `WHOLE`."""
    path = folder(out) / INDEX
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def descriptions(out: Path | None = None) -> dict[str, Block]:
    """The index without the run of all targets."""
    return {name: block for name, block in index(out).items() if name != WHOLE}


def read(name: str, out: Path | None = None) -> pd.DataFrame | None:
    """The stored result of that name, or None where there is none."""
    path = folder(out) / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else None


def printed(name: str, out: Path | None = None) -> pd.DataFrame | None:
    """The same with every cell as it stands in the file: strings."""
    path = folder(out) / f"{name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else None


def write(table: pd.DataFrame, target: Target, about: Block, out: Path | None = None) -> Path:
    """Write a result (four decimals) and its block of the index; returns the file."""
    path = folder(out) / f"{target.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        known = index(out)
        # Out of the index first: a run that is interrupted before its end is not fresh.
        if known.pop(target.name, None):
            _write_index(known, out)
        machine.write(path, table.to_csv(index=False, float_format="%.4f", lineterminator="\n"))
        _write_index({**known, target.name: about}, out)
    return path


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
