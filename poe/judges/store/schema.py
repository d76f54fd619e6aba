"""What is in a store file, how it is opened, and what its failures are called.

The file is in SQLite's rollback mode, not in write-ahead mode: write-ahead logging needs memory
shared by all processes, so it breaks on the network file systems that clusters have, and it
leaves a second file that is forgotten when the store is copied. A rollback journal asks for
nothing but file locks; the price is a wait of milliseconds a commit, which the writer spreads
over all answers that came meanwhile. On a network file system whose locks do not work (some NFS
mounts with `nolock`), give every process its own store and merge them.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from poe.errors import JudgeError
from poe.judges.questions import Answer

APPLICATION = 0x706F654A  # "poeJ": tells a store from other SQLite files
SCHEMA = 1
WAIT = 60.0  # seconds for another process to finish its commit

# Answers know a judge and a question; `asked` knows under which names a question was put, so
# that a text with two names, or a renamed one, is still paid for once. Texts and prompts are
# kept as digests.
TABLES = """
CREATE TABLE judges (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, specification TEXT NOT NULL
);
CREATE TABLE prompts (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, labels TEXT NOT NULL,
    comparative INTEGER NOT NULL, UNIQUE (digest, name)
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (digest, name)
);
CREATE TABLE asked (
    question BLOB NOT NULL, prompt INTEGER NOT NULL REFERENCES prompts,
    context INTEGER NOT NULL, first INTEGER NOT NULL REFERENCES texts, second INTEGER NOT NULL,
    PRIMARY KEY (question, prompt, context, first, second)
) WITHOUT ROWID;
CREATE TABLE answers (
    judge INTEGER NOT NULL REFERENCES judges, question BLOB NOT NULL, log_p TEXT NOT NULL,
    tokens INTEGER NOT NULL, computed REAL NOT NULL, seconds REAL NOT NULL,
    draws INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (judge, question)
) WITHOUT ROWID;
"""
NO_TEXT = 0  # in `asked`: the prompt has no such place


def connect(path: Path) -> sqlite3.Connection:
    """Open the store at `path`, make it if there is nothing, refuse what is not a store.

    Raises JudgeError for a missing folder, a file that is not a store, or one of a newer version.
    """
    if not path.parent.is_dir():
        raise JudgeError(f"there is no folder {path.parent} for the store {path.name}; make it")
    if path.is_dir():
        raise JudgeError(f"{path} is a folder; a store is a file, for example {path / 'a.sqlite'}")
    with named_failures(path):
        connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")  # a commit survives a power cut
            _check_or_create(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_or_create(connection: sqlite3.Connection, path: Path) -> None:
    if _numbers(connection) == (0, 0) and _is_empty(connection):
        with transaction(connection):
            if _is_empty(connection):  # another process may have been quicker
                for statement in TABLES.split(";")[:-1]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
    application, version = _numbers(connection)
    if application != APPLICATION:
        raise JudgeError(f"{path} is an SQLite file, but not a judgement store; name another file")
    if version > SCHEMA:
        raise JudgeError(
            f"{path} was written by a newer version of poe (store version {version}, this one "
            f"reads up to {SCHEMA}); upgrade: pip install -U judging-by-comparison"
        )


def _numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(application), int(version)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; waits for its turn to write."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into JudgeErrors that name the file and the way out."""
    try:
        yield
    except sqlite3.Error as error:
        raise JudgeError(f"{path}: {_cause(error)}") from error


def _cause(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorname", None) or ""
    kept = "every answer committed before is kept, and the same call goes on from there"
    if code.startswith("SQLITE_NOTADB"):
        return "not a judgement store (not even an SQLite file); name another file"
    if code.startswith("SQLITE_FULL"):
        return f"the disk is full; make room: {kept}"
    if code.startswith("SQLITE_IOERR"):
        return f"the disk does not take any more (full, over a quota, or failing); {kept}"
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return "the file or its folder cannot be written (SQLite writes a journal beside it)"
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another process has kept the store locked for {WAIT:g} s; {kept}"
    if code.startswith("SQLITE_CORRUPT"):
        return (
            "the file is damaged (copied while it was written?); recover it with "
            "`sqlite3 FILE .recover`, or merge what a copy of it holds into a new store"
        )
    return f"SQLite says: {error}"


# Values that go in and come out ----------------------------------------------------------


def specification_digest(specification: Mapping[str, str]) -> str:
    """SHA-256 of a specification; the order of its fields does not count."""
    return hashlib.sha256(encode_specification(specification).encode()).hexdigest()


def encode_specification(specification: Mapping[str, str]) -> str:
    """Fields in alphabetical order, as JSON."""
    return json.dumps(dict(specification), sort_keys=True, ensure_ascii=False)


def encode_log_p(log_p: Sequence[float]) -> str:
    """As JSON: exact to the last bit, null for -inf, readable without this package."""
    return json.dumps([None if math.isinf(value) else float(value) for value in log_p])


def decode_log_p(text: str) -> tuple[float, ...]:
    """Inverse of `encode_log_p`."""
    return tuple(-math.inf if value is None else value for value in json.loads(text))


ANSWER_COLUMNS = "log_p, tokens, computed, seconds, draws"


def to_answer(row: Sequence[object]) -> Answer:
    """An answer from a row of ANSWER_COLUMNS."""
    log_p, *rest = row
    return Answer(decode_log_p(str(log_p)), *rest)  # type: ignore[arg-type]
