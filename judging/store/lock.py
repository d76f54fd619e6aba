"""One writer a store: whoever asks holds a lock, which ends with the process that has it."""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from judging.errors import JudgeError
from judging.machine import WASM
from judging.quoting import quoted
from judging.store.schema import READ_ONLY

__all__ = ["writing"]

log = logging.getLogger(__name__)


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Be the one that asks for a store; another that does is waited for.

    Who waits says for whom: the process, its command, and since when it has been asking. The lock
    is the operating system's, on a file beside the store, so a process that died holds none.
    """
    if str(store) == ":memory:" or WASM:
        yield
        return
    from filelock import FileLock, Timeout

    path = store.with_name(store.name + ".lock")
    lock = FileLock(path)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.warning(
                "%s is asking for %s; waiting for its answers (Ctrl-C ends)", _holder(path), store
            )
            lock.acquire()
    except OSError:
        raise JudgeError(f"{store}: {READ_ONLY}") from None
    try:
        path.write_text(
            json.dumps(
                {
                    "pid": os.getpid(),
                    "host": platform.node(),
                    "since": datetime.now().astimezone().isoformat(timespec="seconds"),
                    "command": quoted(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]])),
                }
            ),
            "utf-8",
        )
        yield
    finally:
        # Removed while it is held: a waiter finds the file gone and creates a new one.
        with suppress(OSError):
            path.unlink()
        lock.release()


def _holder(path: Path) -> str:
    """Who holds a lock, as it said."""
    try:
        held = json.loads(path.read_text("utf-8"))
        return (
            f"process {held['pid']:d} on {quoted(held['host'])} "
            f"({quoted(held['command'])}, since {quoted(held['since'])})"
        )
    except (OSError, KeyError, TypeError, ValueError):
        return "another process"
