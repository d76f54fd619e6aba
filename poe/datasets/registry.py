"""The registry of datasets and recordings: data/datasets.toml as frozen records."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

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
class File:
    """One original file of a dataset or recording; data/datasets.toml explains the fields.

    A file without `url` is not downloaded: `obtain` says how a user gets their own copy. One
    without `sha256` cannot be compared with a pinned one, and is checked field by field. With
    `secondhand` the digest is another project's word: the file has never been hashed here.
    """

    dataset: str
    role: str
    names: tuple[str, ...]
    url: str = ""
    sha256: str = ""
    size: int = 0
    obtain: str = ""
    secondhand: bool = False


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the registry knows about published data: files, licence, citation.

    labels : the table in data/labels with its scores or verdicts, "" where they are not public.
    """

    name: str
    title: str
    licence: str
    notice: str
    bibkey: str
    citation: str
    files: tuple[File, ...]
    labels: str = ""

    @property
    def main(self) -> File:
        """The file with the texts."""
        return self.files[0]

    def file(self, role: str) -> File:
        """The file of that role."""
        return next(file for file in self.files if file.role == role)


@dataclass(frozen=True, kw_only=True)
class Entry(Published):
    """A dataset with human scores.

    contexts, candidates : its shape as the papers give it; where people bring their own copy,
        that copy decides. shared_context : whether the candidates of a context answer to a text
        that the judge is shown. decimals : to how many its source rounds a mean of scores.
    """

    contexts: int
    candidates: int
    shared_context: bool
    raters: str
    attributes: tuple[Attribute, ...]
    decimals: int | None = None


@cache
def _registry() -> tuple[dict[str, Entry], dict[str, Published], dict[str, str]]:
    with (data_dir() / "datasets.toml").open("rb") as stream:
        tables = tomllib.load(stream)
    mit, digests = tables.pop("notices")["mit"].strip(), tables.pop("labels")
    recorded = tables.pop("recorded")
    entries = {name: Entry(**_fields(name, table, mit)) for name, table in tables.items()}
    return (
        entries,
        {name: Published(**_fields(name, table, mit)) for name, table in recorded.items()},
        digests,
    )


def _fields(name: str, table: dict[str, Any], mit: str) -> dict[str, Any]:
    files = (
        File(**{**row, "dataset": name, "names": tuple(row["names"])}) for row in table["files"]
    )
    fields = {
        **table,
        "name": name,
        "notice": table["notice"].strip().replace("{mit}", mit),
        "files": tuple(files),
    }
    if "attributes" in table:
        fields["attributes"] = tuple(Attribute(**row) for row in table["attributes"])
    return fields


def names() -> tuple[str, ...]:
    """Names that `load` accepts."""
    return tuple(_registry()[0])


def recordings() -> tuple[str, ...]:
    """Names of the recorded verdicts that are not datasets; see `poe.judges.recorded`."""
    return tuple(_registry()[1])


def info(name: str) -> Entry:
    """Files, licence, citation, shape and attributes of one dataset.

    Raises
    ------
    UnknownDatasetError
        If there is no such dataset; the message suggests near names.
    """
    return _find(name, _registry()[0], "dataset")


def recording(name: str) -> Published:
    """Files, licence and citation of recorded verdicts; errors as for `info`."""
    return _find(name, _registry()[1], "recording")


def digest(table: str) -> str:
    """SHA-256 of a table in data/labels, uncompressed."""
    return _registry()[2][table]


Found = TypeVar("Found", bound=Published)


def _find(name: str, entries: dict[str, Found], what: str) -> Found:
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(str(name).lower().replace("-", ""), entries, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise UnknownDatasetError(
        f"no {what} named {name!r}; {hint}there are {', '.join(map(repr, entries))}"
    )
