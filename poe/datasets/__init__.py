"""Datasets with human scores: pinned public files, your own copies, or stand-ins of their shape.

    >>> from poe import datasets
    >>> datasets.load("summeval", source="stand-in").n_candidates
    16

The files are not part of the package. `load` takes them from the folder `POE_DATA_DIR`, from
the cache, or from the network, and checks them against the digests in data/datasets.toml.
Texts of your own, in a CSV or JSONL file, are read by `read_texts`.
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
from poe.datasets.files import find as place
from poe.datasets.parsing import parse
from poe.datasets.registry import (
    Attribute,
    Entry,
    File,
    Published,
    info,
    names,
    recording,
    recordings,
)
from poe.datasets.texts import OwnTexts, TextGroup, read_texts

__all__ = [
    "Attribute",
    "DataNotFoundError",
    "Dataset",
    "DatasetError",
    "DownloadError",
    "Entry",
    "File",
    "InvalidDataError",
    "OwnTexts",
    "Published",
    "Source",
    "TextGroup",
    "UnknownDatasetError",
    "available",
    "cache_dir",
    "fetch",
    "info",
    "load",
    "locate",
    "looked_for",
    "names",
    "place",
    "read_texts",
    "recording",
    "recordings",
]

Source = Literal["real", "auto", "stand-in"]


def load(name: str, *, source: Source = "real") -> Dataset:
    """Contexts, candidate texts and human scores of a dataset.

    Parameters
    ----------
    name : str
        One of `names()`: "summeval" (100 contexts x 16 candidates), "topicalchat" (60 x 6),
        "hanna" (1 x 1056), "cmcqrd" (1 x 658), "webnlg" (223 x 8), "podcast" (179 x 15).
    source : {"real", "auto", "stand-in"}, optional
        "real" looks in the folder `POE_DATA_DIR`, then in the cache, then, unless
        `POE_DATA_DIR` is set, downloads into the cache. "auto" looks in the same places but
        never uses the network, and falls back to the stand-in. "stand-in" is always the
        invented dataset of the same shape.

    Returns
    -------
    Dataset
        Its `source` says which of the two it is, its `provenance` where it came from and
        under which licence. HANNA's stories are in a file of their own, which `fetch` gets;
        without it `has_texts` is False, and the scores are all there.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DataNotFoundError
        If `POE_DATA_DIR` is not a folder, or it lacks the file, or the dataset has no public
        address and your own copy is not here; the message says how to get one.
    InvalidDataError
        If a file is there but is not the pinned one, or not laid out as it should be.
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
    if source == "auto" and find(entry.main) is None:
        return standin.make(entry, reason="the real file is in none of the places looked at")
    paths = locate(entry)
    data = {role: read_verified(entry.file(role), path) for role, path in paths.items()}
    return parse(entry, data, _provenance(entry, paths))


def locate(entry: Published) -> dict[str, Path]:
    """Where the files of a dataset or recording are, by role, downloaded if need be.

    Optional files that are absent are left out. Raises as `load` does.
    """
    paths = {}
    for file in entry.files:
        path = find(file)
        if path is None and not file.optional:
            if data_folder() is not None or not file.url:
                raise DataNotFoundError(_not_there(file))
            path = _fetch(entry, file)
        if path is not None:
            paths[file.role] = path
    return paths


def available(name: str) -> Path | None:
    """Path from which the real data would be read without the network, or None.

    Parameters
    ----------
    name : str
        One of `names()` or `recordings()`.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DataNotFoundError
        If `POE_DATA_DIR` is set but is not a folder.
    """
    return find(_published(name).main)


def fetch(name: str) -> Path:
    """Download the files that have a pinned address, unless good copies are there already.

    An interrupted download is resumed. The licence notice is put beside each file.

    Parameters
    ----------
    name : str
        One of `names()` or `recordings()`.

    Returns
    -------
    Path
        The main file in the cache.

    Raises
    ------
    UnknownDatasetError
        If there is no dataset of that name.
    DataNotFoundError
        If it has no pinned address; the message says how to get your own copy.
    DownloadError
        If a file cannot be downloaded, verified or stored.
    """
    entry = _published(name)
    if not entry.main.url:
        raise DataNotFoundError(
            f"{name}: there is no pinned public address to fetch it from; to get your own copy: "
            f"{entry.main.obtain}; it goes to {looked_for(entry.main)[0]}"
        )
    for file in entry.files:
        if file.url:
            _fetch(entry, file)
    return cached_path(entry.main)


def _fetch(entry: Published, file: File) -> Path:
    path = cached_path(file)
    if path.is_file():
        try:
            read_verified(file, path)
            return path
        except InvalidDataError:
            pass  # a damaged copy is replaced below
    told = _provenance(entry, {file.role: path})
    download(file, path, notice="".join(f"{key}: {value}\n\n" for key, value in told.items()))
    return path


def _published(name: str) -> Published:
    return recording(name) if name in recordings() else info(name)


def _provenance(entry: Published, paths: dict[str, Path]) -> dict[str, str]:
    files = [entry.file(role) for role in paths]
    return {
        "source": "; ".join(_origin(file) for file in files),
        "url": " ".join(file.url for file in files if file.url) or "none that is pinned",
        "sha256": " ".join(file.sha256 or "not pinned" for file in files),
        "read_from": " ".join(map(str, paths.values())),
        "scores": getattr(entry, "raters", "verdicts as recorded"),
        "licence": entry.licence,
        "notice": entry.notice,
        "citation": entry.citation,
        "bibkey": entry.bibkey,
    }


def _origin(file: File) -> str:
    if not file.commit:
        return f"the user's own copy ({file.obtain})"
    return f"{file.repository}, commit {file.commit}, {file.path}"


def _not_there(file: File) -> str:
    looked = "".join(f"\n  {path}" for path in looked_for(file))
    lacking = f"{file.dataset}: its file is not on this machine"
    if data_folder() is not None:
        lacking = f"{file.dataset}: POE_DATA_DIR lacks its file, and so does the cache"
    if not file.url:
        return (
            f"{lacking}; looked for{looked}\nto get your own copy: {file.obtain}; put it at the "
            'first of these, or use source="stand-in" (--texts stand-in, --labels stand-in)'
        )
    return (
        f"{lacking}; looked for{looked}\n"
        f"put {file.url} at the first of these, or run poe.datasets.fetch({file.dataset!r}) to "
        'download it into the cache, or use source="stand-in" (--texts stand-in, --labels stand-in)'
    )
