"""What a command shows and writes: tables, JSON, costs, files."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judging import machine
from judging.cost import duration
from judging.errors import JudgeError


def print_estimates(rows: Sequence[dict[str, Any]], store: Path, *, as_json: bool) -> None:
    """Say what asking each judge will take."""
    if as_json:
        print_json(rows)
        return
    for row in rows:
        who = f"{row['judge']}: " if len(rows) > 1 else ""
        print(f"{who}at most {row['calls']:,} calls; {row['stored']:,} answers are in {store}")
        print_cost(row)


def print_cost(row: dict[str, Any]) -> None:
    """Say what the calls of an `estimate` will take: tokens, and time where it is known."""
    if not row["calls"]:
        return
    low, high = row["tokens_low"], row["tokens_high"]
    margin = f", {low:,.0f} to {high:,.0f}" if low < high else ""
    print(f"about {row['tokens']:,.0f} tokens{margin} ({row['tokens_by']})")
    if row["seconds"] is None:
        print("time unknown: the run says it after its first two answers")
    else:
        print(f"about {duration(row['seconds'])} ({row['seconds_by']})")
    if "cost" in row:
        margin = f", ${row['cost_low']:,.4f} to ${row['cost_high']:,.4f}" if low < high else ""
        known = (
            "if no answer becomes longer than was asked for"
            if row["bounded"]
            else "and more by what the answers write, which nothing bounds"
        )
        print(f"about ${row['cost']:,.4f}{margin}, {known}")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal what takes longer than two seconds."""
    said = threading.Timer(
        2.0, print, [f"judging: {what} ..."], {"file": sys.stderr, "flush": True}
    )
    if sys.stderr.isatty():
        said.start()
    try:
        yield
    finally:
        said.cancel()


def print_json(value: Any) -> None:
    """Print for a program; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        value = value.item() if hasattr(value, "item") else value
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(plain(value), indent=1))


def require_writable(*paths: Path | None, inputs: Sequence[Path] = ()) -> None:
    """Refuse a path that cannot be written before a judge is asked, not after.

    Nor may it be another output, or one of `inputs` (a text file, a store), by whatever spelling or
    link.
    """
    taken = [(path, _same(path)) for path in inputs]
    for path in filter(None, paths):
        if path.is_dir():
            raise JudgeError(f"{path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise JudgeError(f"{path} cannot be written: there is no folder {path.parent}")
        marks = _same(path)
        for other, others in taken:
            if marks & others:
                raise JudgeError(
                    f"{path} would overwrite {other}, which this command also uses; name another "
                    "file"
                )
        taken.append((path, marks))
        if path.exists() and not path.is_file():
            continue  # a device or a pipe, which cannot be tried
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise JudgeError(f"{path} cannot be written: {error.strerror}") from None


def _same(path: Path) -> set[object]:
    """What two spellings of one file have in common: the resolved path, the inode if it is there.

    A store's journals are files of its own.
    """
    real = os.path.realpath(path)
    identities: set[object] = {
        os.path.normcase(real + end) for end in ("", "-journal", "-wal", "-shm")
    }
    if path.exists():
        identities.add((path.stat().st_dev, path.stat().st_ino))
    return identities


def write(path: Path, text: str, *, quiet: bool = False) -> None:
    """Write a file whole or not at all, and say so."""
    machine.write(path, text)
    if not quiet:
        print(f"written to {path}")


def named(paths: Sequence[Path]) -> str:
    """One file by its path, several by their number."""
    return str(paths[0]) if len(paths) == 1 else f"{len(paths)} files"


def typed() -> str:
    """The command as it was typed, for whoever repeats it."""
    return shlex.join(["judging", *sys.argv[1:]])


def deliver(
    text: Callable[[], str],
    everything: Callable[[], Any] | None,
    files: Mapping[Path, Callable[[], str]],
) -> None:
    """Show the text, or print everything as JSON where it is wanted; then write the files.

    What was asked is on the screen before a file can fail. With JSON nothing else is printed. A
    reader that goes away early, such as head, costs no file.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of a name
        sys.stdout.reconfigure(errors="replace")
    gone: BrokenPipeError | None = None
    try:
        if everything is None:
            print(text())
        else:
            print_json(everything())
        sys.stdout.flush()
    except BrokenPipeError as error:
        gone = error
    for path, content in files.items():
        with busy(f"writing {path}"):
            written = content()
        write(path, written, quiet=everything is not None or gone is not None)
    if gone is not None:
        raise gone
