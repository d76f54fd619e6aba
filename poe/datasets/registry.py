"""The registry of datasets and recordings: data/datasets.toml as frozen records."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from poe._paths import data_dir
from poe.errors import UnknownDatasetError


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
class File:
    """One original file of a dataset or recording; data/datasets.toml explains the fields.

    A file without `url` is not downloaded: `obtain` says how a user gets their own copy. One
    without `sha256` cannot be compared with a pinned one, and is checked field by field.
    """

    dataset: str
    role: str
    names: tuple[str, ...]
    url: str = ""
    sha256: str = ""
    size: int = 0
    obtain: str = ""

    @property
    def way(self) -> str:
        """How to get it, in words."""
        if self.url:
            return f"get it: poe data fetch {self.dataset}"
        return f"to get your own copy: {self.obtain}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the registry knows about a dataset with human scores, or about recorded verdicts.

    labels : the table in data/labels with its scores or verdicts, "" where they are not public.
    contexts, candidates : its shape as the papers give it; where people bring their own copy,
        that copy decides. shared_context : whether the candidates of a context answer to a text
        that the judge is shown. attributes : what people scored; a recording has none.
    decimals : to how many its source rounds a mean of scores.
    """

    name: str
    title: str
    licence: str
    notice: str
    bibkey: str
    citation: str
    files: tuple[File, ...]
    labels: str = ""
    contexts: int = 0
    candidates: int = 0
    shared_context: bool = False
    raters: str = ""
    attributes: tuple[Attribute, ...] = ()
    decimals: int | None = None

    @property
    def main(self) -> File:
        """The file with the texts."""
        return self.files[0]

    def file(self, role: str) -> File:
        """The file of that role."""
        return next(file for file in self.files if file.role == role)


@cache
def _registry() -> tuple[dict[str, Entry], dict[str, str]]:
    with (data_dir() / "datasets.toml").open("rb") as stream:
        tables = tomllib.load(stream)
    mit, digests = tables.pop("notices")["mit"].strip(), tables.pop("labels")
    tables |= tables.pop("recorded")
    return {name: _entry(name, table, mit) for name, table in tables.items()}, digests


def _entry(name: str, table: dict[str, Any], mit: str) -> Entry:
    changed = {
        "notice": table["notice"].strip().replace("{mit}", mit),
        "files": tuple(
            File(**{**row, "dataset": name, "names": tuple(row["names"])}) for row in table["files"]
        ),
        "attributes": tuple(Attribute(**row) for row in table.get("attributes", ())),
    }
    return Entry(name=name, **{**table, **changed})


def names() -> tuple[str, ...]:
    """Names that `load` accepts."""
    return tuple(name for name, entry in _registry()[0].items() if entry.attributes)


def recordings() -> tuple[str, ...]:
    """Names of the recorded verdicts that are not datasets; see `poe.judges.recorded`."""
    return tuple(name for name, entry in _registry()[0].items() if not entry.attributes)


def info(name: str) -> Entry:
    """Files, licence, citation, shape and attributes of one dataset or recording.

    Raises
    ------
    UnknownDatasetError
        If there is no such name; the message suggests near ones.
    """
    entries = _registry()[0]
    if name not in entries:
        near = difflib.get_close_matches(name.lower().replace("-", ""), entries, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise UnknownDatasetError(
            f"no dataset named {name!r}; {hint}there are {', '.join(map(repr, entries))}"
        )
    return entries[name]


def digest(table: str) -> str:
    """SHA-256 of a table in data/labels, uncompressed."""
    return _registry()[1][table]
