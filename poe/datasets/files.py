"""Where a file lies on this machine, and reading it with its checksum."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from pathlib import Path

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.datasets.registry import File

DATA_VARIABLE = "POE_DATA_DIR"
CACHE_VARIABLE = "POE_CACHE_DIR"
MAX_BYTES = 512 * 2**20  # of a user's own copy, whose size nobody pinned


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


def cached_path(file: File) -> Path:
    """Where the cache keeps, or would keep, a file."""
    return cache_dir() / file.name


def looked_for(file: File) -> list[Path]:
    """Every path at which a file may lie, in the order in which they are tried."""
    folder = data_folder()
    paths = []
    if folder is not None:
        paths += [folder / f"{name}{ending}" for name in file.names for ending in ("", ".gz")]
    return [*paths, cached_path(file)]


def find(file: File) -> Path | None:
    """First path of `looked_for` that is a file, or None."""
    return next((path for path in looked_for(file) if path.is_file()), None)


def read_verified(file: File, path: Path) -> bytes:
    """Uncompressed bytes of a file, after its checksum was found right where one is pinned.

    Raises
    ------
    InvalidDataError
        If the file cannot be read or is not the pinned one; the message says what was
        expected, what is there, and how to get a good copy.
    """
    limit = file.size if file.sha256 else MAX_BYTES
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                data = stream.read(limit + 1)  # one more than right: a bomb stops here
        else:
            with path.open("rb") as plain:
                data = plain.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidDataError(
            f"{file.dataset}: {path} cannot be read ({error}); {_way_out(file, path)}"
        ) from error
    if not file.sha256 and len(data) > limit:
        raise InvalidDataError(f"{file.dataset}: {path} has more than {limit} bytes; not read")
    fault = mismatch(file, data)
    if fault:
        raise InvalidDataError(f"{file.dataset}: {path} {fault}; {_way_out(file, path)}")
    return data


def mismatch(file: File, data: bytes) -> str | None:
    """What distinguishes `data` from the pinned file, or None if nothing does."""
    got = hashlib.sha256(data).hexdigest()
    if not file.sha256 or got == file.sha256:
        return None
    size = f"more than {file.size}" if len(data) > file.size else f"{len(data)}"
    doubt = (
        "; this digest was taken over from another project and never computed here, so it may be "
        "the digest that is wrong"
    )
    return (
        f"is not the pinned file: expected sha256 {file.sha256} ({file.size} bytes), "
        f"got {got} ({size} bytes){doubt if file.secondhand else ''}"
    )


def _way_out(file: File, path: Path) -> str:
    if file.url and path == cached_path(file):
        return f"replace it with poe.datasets.fetch({file.dataset!r})"
    return f"replace it with a good copy{f' of {file.url}' if file.url else f': {file.obtain}'}"
