"""Where a dataset's file lies on this machine, and reading it with its checksum."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from pathlib import Path

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.datasets.registry import Entry

DATA_VARIABLE = "POE_DATA_DIR"
CACHE_VARIABLE = "POE_CACHE_DIR"


def cache_dir() -> Path:
    """Folder for downloads: `POE_CACHE_DIR`, else the platform's cache folder for `poe`."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "poe" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "poe"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "poe"


def data_folder() -> Path | None:
    """Folder named by `POE_DATA_DIR`, or None where it is not set.

    Raises
    ------
    DataNotFoundError
        If it is set but is no folder: a wrong setting is never passed over in silence.
    """
    chosen = os.environ.get(DATA_VARIABLE)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise DataNotFoundError(
            f"{DATA_VARIABLE} is {chosen!r}, which {what} (seen from {Path.cwd()}); "
            f"correct it, or unset {DATA_VARIABLE} to use the cache and the network"
        )
    return folder


def cached_path(entry: Entry) -> Path:
    """Where the cache keeps, or would keep, the file of a dataset."""
    return cache_dir() / entry.file_name


def looked_for(entry: Entry) -> list[Path]:
    """Every path at which the file may lie, in the order in which they are tried."""
    folder = data_folder()
    paths = []
    if folder is not None:
        paths += [folder / f"{name}{ending}" for name in entry.files for ending in ("", ".gz")]
    return [*paths, cached_path(entry)]


def find(entry: Entry) -> Path | None:
    """First path of `looked_for` that is a file, or None."""
    return next((path for path in looked_for(entry) if path.is_file()), None)


def read_verified(entry: Entry, path: Path) -> bytes:
    """Uncompressed bytes of a file, after its checksum was found right.

    Raises
    ------
    InvalidDataError
        If the file cannot be read or is not the pinned one; the message says what was
        expected, what is there, and how to get a good copy.
    """
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                data = stream.read(entry.size + 1)  # one more than right: a bomb stops here
        else:
            with path.open("rb") as plain:
                data = plain.read(entry.size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidDataError(
            f"{entry.name}: {path} cannot be read ({error}); {_way_out(entry, path)}"
        ) from error
    fault = mismatch(entry, data)
    if fault:
        raise InvalidDataError(f"{entry.name}: {path} {fault}; {_way_out(entry, path)}")
    return data


def mismatch(entry: Entry, data: bytes) -> str | None:
    """What distinguishes `data` from the pinned file, or None if nothing does."""
    got = hashlib.sha256(data).hexdigest()
    if got == entry.sha256:
        return None
    size = f"more than {entry.size}" if len(data) > entry.size else f"{len(data)}"
    return (
        f"is not the pinned file: expected sha256 {entry.sha256} ({entry.size} bytes), "
        f"got {got} ({size} bytes)"
    )


def _way_out(entry: Entry, path: Path) -> str:
    if path == cached_path(entry):
        return f"replace it with poe.datasets.fetch({entry.name!r})"
    return f"replace it with a good copy of {entry.url}"
