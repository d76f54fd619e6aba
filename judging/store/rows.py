"""Answers as rows: what is entered, what is read back, and whether a judge can have said it."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from judging.errors import JudgeError
from judging.question import PLACES, REASON, Answer, Question
from judging.quoting import quoted
from poe.errors import name_some

COUNTS = ("tokens", "computed", "seconds", "draws")  # of an `Answer`


def judge_row(specification: Mapping[str, str]) -> dict[str, str]:
    """Encode what is entered about a judge."""
    text = _json(dict(specification))  # in which the order of the fields does not count
    return {"judge_digest": hashlib.sha256(text.encode()).hexdigest(), "specification": text}


def row_of(
    judge: Mapping[str, str], question: Question, answer: Answer | None = None
) -> dict[str, Any]:
    """Encode what is entered about a question and its judge, with the names of ROWS."""
    prompt = question.prompt
    row = {
        **judge,
        "prompt_digest": prompt.digest,
        "prompt": prompt.name,
        "labels": _json(prompt.labels),
        "comparative": int(prompt.comparative),
        "question": bytes.fromhex(question.key),
        "at": time.time(),
    }
    for place, text in question.texts.items():
        row |= {place: text and text.id, f"{place}_digest": text and text.digest}
    if answer is None:
        return row | dict.fromkeys(("log_p", *COUNTS))
    counts = {name: float(getattr(answer, name)) for name in COUNTS}
    return row | {"log_p": encode_log_p(answer.log_p, answer.refused)} | counts


def encode_log_p(log_p: Sequence[float], refused: str = "") -> str:
    """Encode what a row keeps of an answer: the log-probabilities, or why there are none."""
    values = [None if value == -math.inf else float(value) for value in log_p]
    return _json({"refused": refused} if refused else values)


def refused_in(row: Mapping[str, Any]) -> str:
    """Say why a question in a row of ROWS was refused, "" if it was answered."""
    try:
        content = json.loads(row["log_p"])
    except (TypeError, ValueError):
        return ""
    why = content.get("refused") if isinstance(content, dict) else None
    return quoted(why, REASON) if isinstance(why, str) else ""


def key_of(row: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the key that no two answers share."""
    return row["judge_digest"], row["question"]


def log_p_of(row: Mapping[str, Any]) -> tuple[float, ...]:
    """The answer in a row of ROWS; JudgeError if no judge can have answered so.

    A question that was refused has -inf for every label.
    """
    try:
        labels = [str(label) for label in json.loads(row["labels"])]
        given = [None] * len(labels) if refused_in(row) else json.loads(row["log_p"])
        log_p = tuple(-math.inf if value is None else float(value) for value in given)
        counts = [float(row[name] or 0) for name in COUNTS]
        json.loads(row["specification"]).items()
    except (AttributeError, TypeError, ValueError):
        log_p, counts, labels = (), [], ["A", "B"]
    texts = (repr(row[place]) for place in PLACES if row[place] is not None)
    question = f"prompt {row['prompt']!r} on {', '.join(texts)}"
    check(log_p, labels, question, counts)
    return log_p


def answer_in(row: Mapping[str, Any]) -> Answer:
    """The whole answer in a row of ROWS; JudgeError as `log_p_of`."""
    tokens, computed, seconds, draws = (row[name] for name in COUNTS)
    return Answer(log_p_of(row), tokens, computed, seconds, draws, refused_in(row))


def check(
    log_p: Sequence[float], labels: Sequence[str], question: object, counts: Sequence[float] = ()
) -> None:
    """Raise JudgeError unless these can be probabilities of the labels, and what they took."""
    try:
        small = len(log_p) == len(labels) and all(value <= 1e-3 for value in log_p)
        sound = small and sum(map(math.exp, log_p)) <= 1.01  # half precision rounds above 1
        counted = all(0 <= count < 2**53 for count in counts)
    except TypeError:
        sound = counted = False
    if not sound:
        raise JudgeError(
            f"the judge gave log-probabilities {log_p} for the labels {tuple(labels)} of "
            f"{question}; one number of at most 0 is needed for each, together no likelier than 1"
        )
    if not counted:
        raise JudgeError(f"the judge says that {question} took {counts} {', '.join(COUNTS)}")


_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def unanswered(questions: Sequence[Question], there: Mapping[str, Answer]) -> list[int]:
    """Positions of questions without answer, the first of those that are the same."""
    first: dict[str, int] = {}
    for position, question in enumerate(questions):
        if question.key not in there:
            first.setdefault(question.key, position)
    return list(first.values())


def require_one(thing: str, names: Iterable[Any]) -> None:
    """Raise JudgeError where there are several things and none was chosen."""
    names = list(dict.fromkeys(names))
    if len(names) > 1:
        raise JudgeError(
            f"the store has answers of {len(names)} {thing}s here ({name_some(names)}); say which "
            f"with {thing}="
        )


def require_one_text_a_name(rows: pd.DataFrame, places: Sequence[str]) -> None:
    """Raise JudgeError where one name stands for different texts."""
    pairs = {p for place in places for p in zip(rows[place], rows[f"{place}_digest"], strict=True)}
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise JudgeError(
            f"the store has answers on different texts under the same name: "
            f"{name_some(sorted(twice))}; say which items are meant with texts=, or ask again "
            "under a name of its own for each, which costs nothing"
        )
