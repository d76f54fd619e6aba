"""Rows of the store: judges, names, answers, each entered once."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from poe.errors import JudgeError
from poe.judges.questions import Answer, Question, Text
from poe.judges.store.schema import (
    NO_TEXT,
    encode_log_p,
    encode_specification,
    specification_digest,
)


def judge_id(
    connection: sqlite3.Connection,
    specification: Mapping[str, str],
    *,
    several: bool,
    path: Path,
) -> int:
    """The number of a judge in this file, entered if it is new and may be."""
    check_judge(connection, specification, several=several, path=path)
    digest = specification_digest(specification)
    connection.execute(
        "INSERT INTO judges (digest, specification) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (digest, encode_specification(specification)),
    )
    (number,) = connection.execute("SELECT id FROM judges WHERE digest = ?", (digest,)).fetchone()
    return int(number)


def check_judge(
    connection: sqlite3.Connection,
    specification: Mapping[str, str],
    *,
    several: bool,
    path: Path,
) -> None:
    """Raise JudgeError if the file has answers of other judges only and several were not meant."""
    rows = connection.execute("SELECT digest, specification FROM judges").fetchall()
    if several or not rows or specification_digest(specification) in {row[0] for row in rows}:
        return
    known = [json.loads(row[1]) for row in rows]
    lines = min((differences(one, specification) for one in known), key=len)
    raise JudgeError(
        f"{path} holds the answers of another judge; what differs:\n  "
        + "\n  ".join(lines)
        + "\nname another store, set the judge up as it was, or say that several judges in one "
        "store are meant (several=True; --several-judges on the command line)"
    )


def differences(stored: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """One line a field in which two specifications differ."""
    return [
        f"{field}: {stored.get(field, 'not set')!s} in the store, "
        f"{given.get(field, 'not set')!s} now"
        for field in sorted({*stored, *given})
        if stored.get(field) != given.get(field)
    ]


def write_names(connection: sqlite3.Connection, questions: Sequence[Question]) -> None:
    """Enter under which names questions were asked."""
    connection.executemany(
        "INSERT INTO asked (question, prompt, context, first, second) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [
            (
                bytes.fromhex(question.key),
                _prompt_id(connection, question),
                _text_id(connection, question.context),
                _text_id(connection, question.first),
                _text_id(connection, question.second),
            )
            for question in questions
        ],
    )


def write_answer(
    connection: sqlite3.Connection, judge: int, question: Question, answer: Answer
) -> None:
    """Enter an answer, unless there is one."""
    """Enter an answer, unless there is one."""
    # Where another process was quicker its answer stands: everybody then works with the same one.
    connection.execute(
        "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            judge,
            bytes.fromhex(question.key),
            encode_log_p(answer.log_p),
            answer.tokens,
            answer.computed,
            answer.seconds,
            answer.draws,
            time.time(),
        ),
    )


def _prompt_id(connection: sqlite3.Connection, question: Question) -> int:
    prompt = question.prompt
    where = (prompt.digest, prompt.name)
    row = connection.execute(
        "SELECT id FROM prompts WHERE digest = ? AND name = ?", where
    ).fetchone()
    if row:
        return int(row[0])
    labels = json.dumps(prompt.labels, ensure_ascii=False)
    made = connection.execute(
        "INSERT INTO prompts (digest, name, labels, comparative) VALUES (?, ?, ?, ?)",
        (*where, labels, int(prompt.comparative)),
    )
    return int(made.lastrowid or 0)


def _text_id(connection: sqlite3.Connection, text: Text | None) -> int:
    if text is None:
        return NO_TEXT
    where = (text.digest, text.id)
    row = connection.execute("SELECT id FROM texts WHERE digest = ? AND name = ?", where).fetchone()
    if row:
        return int(row[0])
    made = connection.execute("INSERT INTO texts (digest, name) VALUES (?, ?)", where)
    return int(made.lastrowid or 0)


def check_answer(answer: Answer, question: Question) -> None:
    """Raise JudgeError unless the answer fits the labels of its question."""
    labels = question.prompt.labels
    if len(answer.log_p) != len(labels) or not all(value <= 1e-3 for value in answer.log_p):
        raise JudgeError(
            f"the judge gave log-probabilities {answer.log_p} for the labels {labels} of prompt "
            f"{question.prompt.name!r}; one number of at most 0 is needed for each"
        )


def not_entered(connection: sqlite3.Connection, questions: Sequence[Question]) -> list[Question]:
    """The questions whose present names of prompt and texts are not in the store."""
    query = (
        "SELECT 1 FROM asked n JOIN prompts p ON p.id = n.prompt JOIN texts f ON f.id = n.first "
        "LEFT JOIN texts s ON s.id = n.second LEFT JOIN texts c ON c.id = n.context "
        "WHERE n.question = ? AND p.name = ? AND f.name = ? AND s.name IS ? AND c.name IS ?"
    )
    return [
        question
        for question in questions
        if connection.execute(
            query,
            (
                bytes.fromhex(question.key),
                question.prompt.name,
                question.first.id,
                question.second and question.second.id,
                question.context and question.context.id,
            ),
        ).fetchone()
        is None
    ]
