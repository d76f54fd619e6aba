"""The file of a store: its tables, the statements, and what SQLite's errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from judging.errors import JudgeError
from judging.machine import WASM

MARKS = {"application_id": 0x706F654A, "user_version": 1}  # "poeJ", and the version of TABLES
WAIT = 60.0  # seconds for another process to finish its commit

# Answers know a judge and a question; `asked` knows under which names a question was put, so
# that a text with two names, or a renamed one, is still paid for once. Texts and prompts are
# kept as digests. In `asked`, 0 stands for a place that the prompt does not have. log_p is
# JSON: exact to the last bit, null for -inf, readable without this package; of a question that
# the judge refuses it is {"refused": why}, which an answer takes the place of.
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
ENTER = """
INSERT INTO judges (digest, specification) VALUES (:judge_digest, :specification)
    ON CONFLICT DO NOTHING;
INSERT INTO prompts (digest, name, labels, comparative)
    VALUES (:prompt_digest, :prompt, :labels, :comparative) ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) SELECT :context_digest, :context WHERE :context_digest NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) VALUES (:first_digest, :first) ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) SELECT :second_digest, :second WHERE :second_digest NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO asked (question, prompt, context, first, second) VALUES (:question,
    (SELECT id FROM prompts WHERE digest = :prompt_digest AND name = :prompt),
    ifnull((SELECT id FROM texts WHERE digest = :context_digest AND name = :context), 0),
    (SELECT id FROM texts WHERE digest = :first_digest AND name = :first),
    ifnull((SELECT id FROM texts WHERE digest = :second_digest AND name = :second), 0))
    ON CONFLICT DO NOTHING;
INSERT INTO answers SELECT id, :question, :log_p, :tokens, :computed, :seconds, :draws, :at
    FROM judges WHERE digest = :judge_digest AND :log_p NOT NULL
    ON CONFLICT DO UPDATE SET log_p = excluded.log_p, tokens = excluded.tokens,
        computed = excluded.computed, seconds = excluded.seconds, draws = excluded.draws,
        at = excluded.at
    WHERE answers.log_p LIKE '{%' AND excluded.log_p NOT LIKE '{%'
"""
NAMED = """
asked n JOIN prompts p ON p.id = n.prompt JOIN texts f ON f.id = n.first
    LEFT JOIN texts s ON s.id = n.second LEFT JOIN texts c ON c.id = n.context
"""
LOOK_UP = f"""
SELECT a.log_p, a.tokens, a.computed, a.seconds, a.draws, EXISTS (
    SELECT 1 FROM {NAMED} WHERE n.question = a.question AND p.name = :prompt
        AND f.name = :first AND s.name IS :second AND c.name IS :context)
FROM answers a JOIN judges j ON j.id = a.judge
WHERE j.digest = :judge_digest AND a.question = :question
"""
FORGET_REFUSED = """
DELETE FROM answers WHERE log_p LIKE '{%' AND judge = (SELECT id FROM judges WHERE digest = ?)
"""
ANSWERED = f"""
SELECT c.digest, f.digest, s.digest FROM answers a JOIN judges j ON j.id = a.judge JOIN {NAMED}
WHERE n.question = a.question AND j.digest = ? AND p.digest = ? AND s.digest IS NOT NULL
"""
ROWS = f"""
SELECT substr(j.digest, 1, 8) AS judge, p.name AS prompt, p.digest AS prompt_digest,
    c.name AS context, f.name AS first, s.name AS second, p.labels, a.log_p, a.tokens, a.computed,
    a.seconds, a.draws, a.at, j.digest AS judge_digest, j.specification, p.comparative,
    c.digest AS context_digest, f.digest AS first_digest, s.digest AS second_digest, a.question
FROM answers a JOIN judges j ON j.id = a.judge JOIN {NAMED}
WHERE n.question = a.question AND (:prompt IS NULL OR :prompt IN (p.name, p.digest))
    AND (:judge IS NULL OR substr(j.digest, 1, length(:judge)) = :judge)
    AND (:context IS NULL OR c.name = :context)
ORDER BY j.id, p.id, n.context, n.first, n.second
"""
KEPT = "every answer committed before is kept, and the same call goes on from there"
READ_ONLY = "the file or its folder cannot be written (SQLite writes a journal beside it)"
FAILURES = {  # how SQLite's names of errors begin, and what to tell the user
    "SQLITE_NOTADB": "not a judgement store (not even an SQLite file); name another file",
    "SQLITE_FULL": f"the disk is full; make room: {KEPT}",
    "SQLITE_IOERR": f"the disk does not take any more (full, over a quota, or failing); {KEPT}",
    "SQLITE_BUSY": f"another process has kept the store locked for {{wait:g}} s; {KEPT}",
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_CANTOPEN": f"there is no such folder, or {READ_ONLY}",
    "SQLITE_PERM": READ_ONLY,
    "SQLITE_CORRUPT": "the file is damaged (copied while it was written?); take an earlier copy, "
    "or begin a new store",
}


def prepare(
    connection: sqlite3.Connection,
    path: Path,
    transaction: Callable[[], AbstractContextManager[object]],
) -> None:
    """Make the tables in an empty file; raise JudgeError unless it is a store of ours."""
    execute = connection.execute
    execute("PRAGMA trusted_schema = OFF")  # the file may be somebody else's
    # A commit survives a power cut; WebAssembly cannot sync the folder, as EXTRA wants.
    execute(f"PRAGMA synchronous = {'FULL' if WASM else 'EXTRA'}")

    def state() -> tuple[int, ...]:
        marks = (execute(f"PRAGMA {name}").fetchone()[0] for name in MARKS)
        return *marks, execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]

    empty = (0,) * (len(MARKS) + 1)
    if state() == empty:
        with transaction():
            if state() == empty:  # another process may have been quicker
                for statement in TABLES.split(";")[:-1]:
                    execute(statement)
                for name, value in MARKS.items():
                    execute(f"PRAGMA {name} = {value}")
    application, version, _ = state()
    if application != MARKS["application_id"]:
        raise JudgeError(f"{path} is an SQLite file, but not a judgement store; name another file")
    if version != MARKS["user_version"]:
        raise JudgeError(f"{path} is of another version of this package; update whichever is older")


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into JudgeErrors that name the file and the way out."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", None) or ""
        said = [text for start, text in FAILURES.items() if code.startswith(start)]
        text = said[0].format(wait=WAIT) if said else f"SQLite says: {error}"
        raise JudgeError(f"{path}: {text}") from error
