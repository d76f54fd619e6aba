"""Datasets with human scores: loaded from pinned public files, or stand-ins of their shape.

    >>> from poe import datasets
    >>> datasets.load("summeval", source="stand-in").n_candidates
    16

The files are not part of the package. `load` takes them from the folder `POE_DATA_DIR`, from
the cache, or from the network, and checks them against the digests in data/datasets.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from poe.datasets import standin
from poe.datasets.dataset import Dataset
from poe.datasets.downloading import download
from poe.datasets.errors import (
    DataNotFoundError,
    DatasetError,
    DownloadError,
    InvalidDataError,
    UnknownDatasetError,
)
from poe.datasets.files import (
    cache_dir,
    cached_path,
    data_folder,
    find,
    looked_for,
    read_verified,
)
from poe.datasets.parsing import parse
from poe.datasets.registry import Attribute, Entry, info, names

__all__ = [
    "Attribute",
    "DataNotFoundError",
    "Dataset",
    "DatasetError",
    "DownloadError",
    "Entry",
    "InvalidDataError",
    "UnknownDatasetError",
    "available",
    "cache_dir",
    "fetch",
    "info",
    "load",
    "names",
]

Source = Literal["real", "auto", "stand-in"]


def load(name: str, *, source: Source = "real") -> Dataset:
    """Contexts, candidate texts and human scores of a dataset.

    Parameters
    ----------
    name : str
        One of `names()`: "summeval" (100 contexts x 16 candidates) or "topicalchat" (60 x 6).
    source : {"real", "auto", "stand-in"}, optional
        "real" looks in the folder `POE_DATA_DIR`, then in the cache, then, unless
        `POE_DATA_DIR` is set, downloads into the cache. "auto" looks in the same places but
        never uses the network, and falls back to the stand-in. "stand-in" is always the
        invented dataset of the same shape.

    Returns
    -------
    Dataset
        Its `source` says which of the two it is, its `provenance` where it came from and
        under which licence.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DataNotFoundError
        If `POE_DATA_DIR` is not a folder, or it lacks the file.
    InvalidDataError
        If a file is there but is not the pinned one.
    DownloadError
        If the file had to be downloaded and could not be.
    """
    entry = info(name)
    if source not in get_args(Source):
        raise ValueError(
            f"source must be one of {', '.join(map(repr, get_args(Source)))}, not {source!r}"
        )
    if source == "stand-in":
        return standin.make(entry)
    path = find(entry)
    if path is None:
        if source == "auto":
            return standin.make(entry, reason="the real file is in none of the places looked at")
        if data_folder() is not None:
            raise DataNotFoundError(_not_there(entry))
        path = fetch(name)
    return parse(entry, read_verified(entry, path), _provenance(entry, path))


def available(name: str) -> Path | None:
    """Path from which `load` would read the real data without the network, or None.

    Parameters
    ----------
    name : str
        One of `names()`.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DataNotFoundError
        If `POE_DATA_DIR` is set but is not a folder.
    """
    return find(info(name))


def fetch(name: str) -> Path:
    """Download a dataset's file into the cache, unless a good copy is there already.

    An interrupted download is resumed. The licence notice is put beside the file.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Path
        The file in the cache.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DownloadError
        If the file cannot be downloaded, verified or stored.
    """
    entry = info(name)
    path = cached_path(entry)
    if path.is_file():
        try:
            read_verified(entry, path)
            return path
        except InvalidDataError:
            pass  # a damaged copy is replaced below
    notice = "".join(f"{key}: {value}\n\n" for key, value in _provenance(entry, path).items())
    download(entry, path, notice=notice)
    return path


def _provenance(entry: Entry, path: Path) -> dict[str, str]:
    return {
        "source": f"{entry.repository}, commit {entry.commit}, {entry.path}",
        "url": entry.url,
        "sha256": entry.sha256,
        "read_from": str(path),
        "scores": entry.raters,
        "licence": entry.licence,
        "notice": entry.notice,
        "citation": entry.citation,
        "bibkey": entry.bibkey,
    }


def _not_there(entry: Entry) -> str:
    looked = "".join(f"\n  {path}" for path in looked_for(entry))
    return (
        f"{entry.name}: POE_DATA_DIR lacks its file, and so does the cache; looked for{looked}\n"
        f"put {entry.url} at the first of these, or run poe.datasets.fetch({entry.name!r}) to "
        'download it into the cache, or use source="stand-in"'
    )
