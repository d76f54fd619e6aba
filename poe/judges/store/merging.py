"""Two stores into one."""

from __future__ import annotations

import json
import sqlite3
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from poe.errors import JudgeError
from poe.judges.store.rows import judge_id
from poe.judges.store.schema import (
    connect,
    decode_log_p,
    named_failures,
    transaction,
)

# Numbers of judges, prompts and texts differ from file to file; digests and names do not.
COPY = """
INSERT INTO prompts (digest, name, labels, comparative)
    SELECT digest, name, labels, comparative FROM other.prompts WHERE true ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name)
    SELECT digest, name FROM other.texts WHERE true ON CONFLICT DO NOTHING;
INSERT INTO asked (question, prompt, context, first, second)
    SELECT a.question,
        (SELECT p.id FROM prompts p JOIN other.prompts q USING (digest, name) WHERE q.id=a.prompt),
        ifnull((SELECT t.id FROM texts t JOIN other.texts u USING (digest, name)
            WHERE u.id = a.context), 0),
        (SELECT t.id FROM texts t JOIN other.texts u USING (digest, name) WHERE u.id = a.first),
        ifnull((SELECT t.id FROM texts t JOIN other.texts u USING (digest, name)
            WHERE u.id = a.second), 0)
    FROM other.asked a WHERE true ON CONFLICT DO NOTHING;
INSERT INTO answers
    SELECT (SELECT j.id FROM judges j JOIN other.judges k USING (digest) WHERE k.id = b.judge),
        question, log_p, tokens, computed, seconds, draws, at
    FROM other.answers b WHERE true ON CONFLICT DO NOTHING
"""
BOTH = """
FROM other.answers b JOIN other.judges k ON k.id = b.judge
    JOIN judges j USING (digest) JOIN answers a ON a.judge = j.id AND a.question = b.question
"""
CONFLICTS = f"""
SELECT substr(j.digest, 1, 8), p.name, c.name, f.name, s.name, a.log_p, b.log_p {BOTH}
    JOIN asked n ON n.question = a.question JOIN prompts p ON p.id = n.prompt
    JOIN texts f ON f.id = n.first
    LEFT JOIN texts s ON s.id = n.second LEFT JOIN texts c ON c.id = n.context
WHERE a.log_p <> b.log_p
"""


@dataclass(frozen=True)
class Merge:
    """What merging a store into another did.

    added : answers taken over. same : answers that both had, equal to the last bit.
    conflicts : one row an answer in which they differ, with the names it was asked under and the
        log-probabilities of `kept` (this store) and `other`, and the largest absolute difference
        of a label's probability. Answers of the same model computed in other batches or on
        another device differ in the last digits; a larger difference means another judge under
        the same specification.
    """

    added: int
    same: int
    conflicts: pd.DataFrame


def merge(connection: sqlite3.Connection, path: Path, other: Path, *, several: bool) -> Merge:
    """Copy the answers of the store at `other` into the open one, all of them or none."""
    if not other.is_file():
        raise JudgeError(f"there is no store {other} to merge")
    if path.exists() and other.samefile(path):
        raise JudgeError(f"{other} is this store itself; name another to merge")
    connect(other).close()  # refuses what is not a store, and finishes what a killed run left
    with named_failures(path):
        connection.execute("ATTACH ? AS other", (str(other),))
        try:
            with transaction(connection):
                found = _copy(connection, path, several=several)
        finally:
            connection.execute("DETACH other")
    if len(found.conflicts):
        warnings.warn(
            f"{len(found.conflicts)} answers of {other} differ from those in {path}, by "
            f"{found.conflicts.difference.max():.2g} in probability at most; those in {path} stay",
            stacklevel=3,
        )
    return found


def _copy(connection: sqlite3.Connection, path: Path, *, several: bool) -> Merge:
    for (text,) in connection.execute("SELECT specification FROM other.judges").fetchall():
        judge_id(connection, json.loads(text), several=several, path=path)
    (shared,) = connection.execute(f"SELECT count(*) {BOTH}").fetchone()
    conflicts = _conflicts(connection)
    (differing,) = connection.execute(f"SELECT count(*) {BOTH} WHERE a.log_p <> b.log_p").fetchone()
    (before,) = connection.execute("SELECT count(*) FROM main.answers").fetchone()
    for statement in COPY.split(";"):
        connection.execute(statement)
    (after,) = connection.execute("SELECT count(*) FROM main.answers").fetchone()
    return Merge(added=after - before, same=shared - differing, conflicts=conflicts)


def _conflicts(connection: sqlite3.Connection) -> pd.DataFrame:
    rows = []
    for *names, kept, other in connection.execute(CONFLICTS):
        pair = decode_log_p(kept), decode_log_p(other)
        rows.append((*names, *pair, _difference(*pair)))
    columns = ["judge", "prompt", "context", "first", "second", "kept", "other", "difference"]
    return pd.DataFrame(rows, columns=columns)


def _difference(kept: tuple[float, ...], other: tuple[float, ...]) -> float:
    return float(np.abs(np.exp(kept) - np.exp(other)).max())
