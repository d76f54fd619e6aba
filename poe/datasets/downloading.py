"""Download one file: resumed where it broke off, verified, put in place in one step."""

from __future__ import annotations

import errno
import http.client
import os
import re
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from poe.datasets.errors import DownloadError
from poe.datasets.files import CACHE_VARIABLE, DATA_VARIABLE, mismatch
from poe.datasets.registry import File

ATTEMPTS = 4
TIMEOUT = 30.0  # seconds without a byte
BLOCK = 2**16
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # answers that may get better


class _Interrupted(Exception):
    """The transfer broke off or the server asked to come back; worth another attempt."""


def download(
    file: File,
    target: Path,
    *,
    notice: str = "",
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Fetch `file` from its pinned address to `target`.

    What has arrived lies in `target` + `.part` until it is complete, so a later attempt,
    in this call or another, asks for the rest only. The complete file is verified before
    it takes its name.

    Parameters
    ----------
    file : File
        Gives address, size and checksum.
    target : Path
        Where the file goes; its folder is made.
    notice : str, optional
        Licence notice, written beside the file.
    attempts : int, optional
        How often to try before giving up.
    timeout : float, optional
        Seconds without a byte after which an attempt has failed.
    pause : callable, optional
        Called with the seconds to wait before the next attempt: 1, 2, 4, ...

    Raises
    ------
    DownloadError
        If there is no network, the server refuses, the checksum is wrong or the file
        cannot be stored; the message says which and what to do.
    """
    part = target.with_name(target.name + ".part")
    last: Exception | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(attempts):
            if attempt:
                pause(2.0 ** (attempt - 1))
            try:
                resumed = _attempt(file, part, timeout)
                _finish(file, part, target, resumed=resumed)
                target.with_name(target.name + ".NOTICE.txt").write_text(notice, encoding="utf-8")
                return
            except _Interrupted as error:
                last = error
    except OSError as error:
        raise DownloadError(_storage_message(file, target, error)) from error
    raise DownloadError(
        f"{file.dataset}: {file.url} could not be downloaded ({last}; {attempts} attempts); "
        f"{_without_network(file, target)}"
    ) from last


def _attempt(file: File, part: Path, timeout: float) -> bool:
    """Bring `part` up to the full size; True if some of it was there before.

    Raises `_Interrupted` with what arrived kept.
    """
    have = part.stat().st_size if part.exists() else 0
    if have == file.size:
        return True  # complete, only the last step is missing
    if have > file.size:
        part.unlink()
        have = 0
    request = urllib.request.Request(file.url, headers={"User-Agent": "poe-datasets"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # the server knows nothing beyond what is here: start again
            part.unlink(missing_ok=True)
        elif error.code not in PASSING:
            raise DownloadError(_refusal(file, f"HTTP status {error.code}")) from None
        raise _Interrupted(f"the server answered with HTTP status {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _Interrupted(f"no connection: {reason}") from error
    with response:
        if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
            raise DownloadError(_refusal(file, "a web page instead of the file"))
        # A server that ignores Range answers 200 and sends the whole file again.
        resumed = response.status == 206
        if resumed and _starts_at(response.headers) != have:
            part.unlink(missing_ok=True)
            raise _Interrupted("the server sent another piece than was asked for")
        _receive(file, response, part, append=resumed)
    return resumed


def _starts_at(headers: http.client.HTTPMessage) -> int | None:
    found = re.match(r"bytes (\d+)-", headers.get("Content-Range", ""))
    return int(found.group(1)) if found else None


def _receive(file: File, response: http.client.HTTPResponse, part: Path, *, append: bool) -> None:
    with part.open("ab" if append else "wb") as stream:
        while stream.tell() <= file.size:
            try:
                block = response.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _Interrupted(f"the connection broke off: {error}") from error
            if not block:
                break
            stream.write(block)
        size = stream.tell()
    if size < file.size:
        raise _Interrupted(f"only {size} of {file.size} bytes arrived")


def _finish(file: File, part: Path, target: Path, *, resumed: bool) -> None:
    """Verify `part` and give the name `target` to a copy that nobody else writes to."""
    data = part.read_bytes()
    part.unlink(missing_ok=True)
    fault = mismatch(file, data)
    if fault and resumed:  # the older piece may have been the bad one
        raise _Interrupted(f"the resumed file {fault}")
    if fault:
        raise DownloadError(
            f"{file.dataset}: what {file.url} delivered {fault}; it was thrown away. Try "
            f"again; if it stays so, something between here and the server changes it"
        )
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _refusal(file: File, answer: str) -> str:
    return (
        f"{file.dataset}: {file.url} answered with {answer}; the address may have moved, or "
        "a proxy or log-in page stands in between. Open the address in a browser to see"
    )


def _without_network(file: File, target: Path) -> str:
    return (
        f"without a network, set {DATA_VARIABLE} to a folder that holds {file.name}, "
        'or use source="stand-in" (--texts stand-in, --labels stand-in), or run '
        f"poe.datasets.fetch({file.dataset!r}) on another machine and copy the file it names to "
        f"{target}"
    )


def _storage_message(file: File, target: Path, error: OSError) -> str:
    cause = "the disk is full" if error.errno == errno.ENOSPC else f"{error}"
    return (
        f"{file.dataset}: cannot store the file at {target} ({cause}); it needs "
        f"{file.size / 1e6:.1f} MB. Make room there, or set {CACHE_VARIABLE} to a folder "
        "that can be written to"
    )
