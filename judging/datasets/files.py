"""The registry of datasets and recordings, data/datasets.toml, and where their files lie."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import logging
import os
import tomllib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from judging.errors import DataNotFoundError, DownloadError, InvalidDataError, UnknownDatasetError
from judging.machine import data_dir, write

DATA_VARIABLE = "POE_DATA_DIR"
CACHE_VARIABLE = "POE_CACHE_DIR"
TIMEOUT = 30.0  # seconds without a byte
RETRIES = 3  # after the first attempt, a second apart, then two, then three


@dataclass(frozen=True)
class Attribute:
    """What people scored: its name here, in the paper, the file and the source, and its scale."""

    name: str
    label: str
    field: str
    source_name: str
    low: float
    high: float


@dataclass(frozen=True)
class File:
    """An original file, as data/datasets.toml has it: without `url` one's own copy (`obtain`).

    shipped : its path below data/, where the texts are ours and part of the package.
    made_of : files that `judging.datasets.again` makes it of.
    """

    dataset: str
    role: str
    names: tuple[str, ...]
    url: str = ""
    sha256: str = ""
    size: int = 0
    obtain: str = ""
    shipped: str = ""
    made_of: tuple[File, ...] = ()

    @property
    def way(self) -> str:
        """How to get it, in words."""
        if self.url:
            return f"get it: judging data fetch {self.dataset}"
        return f"to get your own copy: {self.obtain}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A dataset with human scores, or recorded verdicts; data/datasets.toml explains the fields.

    labels : "" where the scores are not public. attributes : what people scored; a recording has
    none. The shape is that of the papers; one's own copy may have another.
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
    again: File | None = None

    @property
    def main(self) -> File:
        """The file with the texts."""
        return self.files[0]

    @property
    def there(self) -> File:
        """The file with the texts; the same from elsewhere where that alone is on this machine."""
        if self.again is not None and find(self.main) is None and find(self.again) is not None:
            return self.again
        return self.main


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
        "again": _made(name, table["again"]) if "again" in table else None,
    }
    return Entry(name=name, **{**table, **changed})


def _made(name: str, row: dict[str, Any]) -> File:
    """A file that is made of others; these lie beside it for as long as that takes."""
    own = row["names"][0]
    parts = tuple(
        File(name, row["role"], (f"{own}.part-{k}",), **part)
        for k, part in enumerate(row["made_of"], start=1)
    )
    return File(**{**row, "dataset": name, "names": tuple(row["names"]), "made_of": parts})


def names() -> tuple[str, ...]:
    """Names that `load` accepts."""
    return tuple(name for name, entry in _registry()[0].items() if entry.attributes)


def recordings() -> tuple[str, ...]:
    """Names of the recorded verdicts that are not datasets; see `judging.judges.recorded`."""
    return tuple(name for name, entry in _registry()[0].items() if not entry.attributes)


def info(name: str) -> Entry:
    """Look up a dataset or recording; UnknownDatasetError suggests near names."""
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


def cache_dir() -> Path:
    """Folder for downloads: `POE_CACHE_DIR`, else the platform's cache folder for `poe`."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen or platformdirs.user_cache_dir("poe", appauthor=False)).expanduser()


def data_folder() -> Path | None:
    """Folder named by `POE_DATA_DIR`, or None where it is not set.

    Raises DataNotFoundError if it is set but is no folder: a wrong setting is never passed over.
    """
    chosen = os.environ.get(DATA_VARIABLE)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise DataNotFoundError(
            f"{DATA_VARIABLE} is {chosen!r}, which is not a folder (seen from {Path.cwd()}); "
            f"correct it, or unset {DATA_VARIABLE} to use the cache"
        )
    return folder


def looked_for(file: File) -> list[Path]:
    """Every path at which a file may lie, in the order in which they are tried."""
    if file.shipped:
        return [data_dir() / file.shipped]
    folder = data_folder()
    names = [f"{name}{ending}" for name in file.names for ending in ("", ".gz")]
    return [*([] if folder is None else map(folder.joinpath, names)), cache_dir() / file.names[0]]


def find(file: File) -> Path | None:
    """First path of `looked_for` that is a file, or None."""
    return next((path for path in looked_for(file) if path.is_file()), None)


def read(file: File) -> bytes:
    """The bytes of an original file, uncompressed, found right where a digest is pinned.

    Raises DataNotFoundError if it is nowhere, InvalidDataError if it cannot be read or is not the
    pinned one; both say how to get a good copy.
    """
    path = find(file)
    if path is None:
        places = "".join(f"\n  {place}" for place in looked_for(file))
        raise DataNotFoundError(
            f"{file.dataset}: the file of its {file.role} is not on this machine; looked for"
            f"{places}\n{file.way}; it goes to one of these places"
        )
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            data = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidDataError(
            f"{file.dataset}: {path} cannot be read ({error}); delete it and {file.way}"
        ) from error
    got = hashlib.sha256(data).hexdigest()
    if file.sha256 and got != file.sha256:
        raise InvalidDataError(
            f"{file.dataset}: {path} is not the pinned file: expected sha256 {file.sha256} "
            f"({file.size} bytes), got {got} ({len(data)} bytes); delete it and {file.way}"
        )
    return data


def overview() -> str:
    """List the data for `judging data list`: what there is, its licence, where texts are."""
    lines = []
    for entry in map(info, (*names(), *recordings())):
        lines.append(f"{entry.name}: {entry.title}; licence: {entry.licence}")
        if entry.labels:
            lines.append("    scores: part of the package")
        file = entry.there
        place = find(file) or f"not on this machine; {file.way}"
        goes = "" if find(file) or file.url else f"; it goes to {looked_for(file)[0]}"
        lines.append(
            f"    {'texts' if entry.labels or entry.attributes else 'files'}: {place}{goes}"
        )
    return "\n".join(lines)


def fetch(name: str) -> Path:
    """Download the original files of a dataset or recording, unless good copies are there already.

    Texts that are part of the package are here. Several processes may do so at once. The licence
    notice is put beside each file. Returns the file with the texts, in the cache. Raises
    UnknownDatasetError, DataNotFoundError if there is no pinned address to fetch from,
    DownloadError if a file cannot be downloaded, verified or stored.
    """
    entry = info(name)
    if entry.main.shipped:
        return looked_for(entry.main)[0]
    if not entry.main.url:
        raise DataNotFoundError(
            f"{name}: there is no pinned public address to fetch it from; {entry.main.way}; "
            f"it goes to {looked_for(entry.main)[0]}"
        )
    main = entry.main
    for file in entry.files:
        try:
            download(entry, file)
        except DownloadError as error:
            if entry.again is None or file is not main:
                raise
            main = entry.again
            _make(entry, main, error)
    return cache_dir() / main.names[0]


def _make(entry: Entry, file: File, why: DownloadError) -> None:
    """Put a file together of those that it is made of, which are not kept; `why` its need arose."""
    from judging.datasets.again import MAKERS

    path = cache_dir() / file.names[0]
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256:
        return
    try:
        for part in file.made_of:
            download(entry, part)
    except DownloadError as error:
        raise DownloadError(f"{why}. The same texts from elsewhere: {error}") from error
    parts = [cache_dir() / part.names[0] for part in file.made_of]
    made = MAKERS[entry.name](place.read_bytes() for place in parts)
    assert hashlib.sha256(made).hexdigest() == file.sha256, "the parts are the pinned ones"
    notice = _notice(entry, " and ".join(part.url for part in file.made_of))
    try:
        path.with_name(path.name + ".NOTICE.txt").write_text(notice, encoding="utf-8")
        write(path, made)
        for place in parts:
            place.unlink()
            place.with_name(place.name + ".NOTICE.txt").unlink()
    except OSError as error:
        raise DownloadError(f"{entry.name}: cannot store the file at {path} ({error})") from error


def _notice(entry: Entry, source: str) -> str:
    """What stands beside a file that was downloaded."""
    return f"source: {source}\n\nlicence: {entry.licence}\n\nnotice: {entry.notice}\n"


def download(entry: Entry, file: File) -> None:
    """Fetch one file into the cache, as `fetch` does for all of them."""
    import pooch  # takes a while to import, and few ever download
    from requests import RequestException

    path = cache_dir() / file.names[0]
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        pooch.create(
            path=path.parent,
            base_url="",
            registry={path.name: f"sha256:{file.sha256}"},
            urls={path.name: file.url},
            retry_if_failed=RETRIES,
        ).fetch(path.name, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))
        path.with_name(path.name + ".NOTICE.txt").write_text(
            _notice(entry, file.url), encoding="utf-8"
        )
    except ValueError as error:  # what came is not the pinned file
        raise DownloadError(
            f"{file.dataset}: {file.url}: {error}. Something between here and the server may "
            "change it, such as a log-in page; open the address in a browser to see"
        ) from error
    except RequestException as error:
        raise DownloadError(
            f"{file.dataset}: {file.url} could not be downloaded ({error}); without a network, "
            f"put the file at {path}, or as {file.names[0]} into a folder {DATA_VARIABLE}"
        ) from error
    except OSError as error:
        raise DownloadError(
            f"{file.dataset}: cannot store the file at {path} ({error}); make room there for "
            f"{file.size / 1e6:.1f} MB, or set {CACHE_VARIABLE} to another folder"
        ) from error
