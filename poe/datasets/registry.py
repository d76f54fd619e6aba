"""The registry of datasets: data/datasets.toml as frozen records."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from poe._paths import data_dir
from poe.datasets.errors import UnknownDatasetError


@dataclass(frozen=True)
class Attribute:
    """One thing that people scored: its name here, in the paper, in the file, and its scale."""

    name: str
    label: str
    field: str
    source_name: str
    low: float
    high: float


@dataclass(frozen=True)
class Entry:
    """What the registry knows about one dataset; data/datasets.toml explains the fields."""

    name: str
    title: str
    format: str
    contexts: int
    candidates: int
    url: str
    sha256: str
    size: int
    files: tuple[str, ...]
    repository: str
    commit: str
    path: str
    raters: str
    licence: str
    notice: str
    bibkey: str
    citation: str
    attributes: tuple[Attribute, ...]

    @property
    def file_name(self) -> str:
        """Name of the file inside the cache, in a folder of the dataset's own."""
        return self.files[0]


@cache
def _registry() -> dict[str, Entry]:
    with (data_dir() / "datasets.toml").open("rb") as stream:
        tables = tomllib.load(stream)
    mit = tables.pop("notices")["mit"].strip()
    return {name: _entry(name, table, mit) for name, table in tables.items()}


def _entry(name: str, table: dict[str, Any], mit: str) -> Entry:
    fields = {
        **table,
        "files": tuple(table["files"]),
        "notice": table["notice"].strip().replace("{mit}", mit),
        "attributes": tuple(Attribute(**row) for row in table["attributes"]),
    }
    return Entry(name=name, **fields)


def names() -> tuple[str, ...]:
    """Names that `load` accepts."""
    return tuple(_registry())


def info(name: str) -> Entry:
    """Address, checksum, licence, citation and attributes of one dataset.

    Raises
    ------
    UnknownDatasetError
        If there is no such dataset; the message suggests near names.
    """
    entries = _registry()
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(str(name).lower().replace("-", ""), entries, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise UnknownDatasetError(
        f"no dataset named {name!r}; {hint}there are {', '.join(map(repr, entries))}"
    )
