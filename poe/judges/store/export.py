"""What a store holds, as tables and as `Comparisons`."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons
from poe.errors import JudgeError, name_some
from poe.judges.questions import Text
from poe.judges.store.schema import ANSWER_COLUMNS, decode_log_p

SHORT = 8  # characters of a judge's digest that are shown

NAMED = """
FROM answers a JOIN judges j ON j.id = a.judge JOIN asked n USING (question)
    JOIN prompts p ON p.id = n.prompt JOIN texts f ON f.id = n.first
    LEFT JOIN texts s ON s.id = n.second LEFT JOIN texts c ON c.id = n.context
"""
ORDER = "ORDER BY j.id, p.id, n.context, n.first, n.second"


def table(connection: sqlite3.Connection) -> pd.DataFrame:
    """One row an answer and the names under which it was asked.

    judge (short digest), prompt, prompt_digest, context, first, second : names.
    labels : the label words, separated by spaces. log_p_1, log_p_2, ... : their natural
    log-probabilities in that order, -inf where a label was not seen, NaN beyond the labels.
    p : P(first is better), for comparisons. mass : probability of all labels together.
    tokens, computed, seconds, draws : as in `Answer`. at : when it was stored (UTC).
    """
    query = (
        f"SELECT substr(j.digest, 1, {SHORT}) AS judge, p.name AS prompt, "
        "p.digest AS prompt_digest, c.name AS context, f.name AS first, s.name AS second, "
        f"p.labels, p.comparative, {ANSWER_COLUMNS}, a.at {NAMED} {ORDER}"
    )
    found = _read(connection, query)
    log_p = [decode_log_p(text) for text in found.pop("log_p")]
    width = max(map(len, log_p), default=2)
    labels = [" ".join(json.loads(text)) for text in found["labels"]]
    values = np.array([row + (np.nan,) * (width - len(row)) for row in log_p])
    values = values.reshape(len(found), width)
    comparative = found.pop("comparative").to_numpy() == 1
    place = list(found.columns).index("labels")
    found["labels"] = labels
    share = np.exp(values)
    with np.errstate(invalid="ignore"):
        p = np.where(comparative, share[:, 0] / share[:, :2].sum(axis=1), np.nan)
    for column in range(width):
        found.insert(place + 1 + column, f"log_p_{column + 1}", values[:, column])
    found.insert(place + 1 + width, "p", p)
    found.insert(place + 2 + width, "mass", np.nansum(share, axis=1))
    found["at"] = pd.to_datetime(found["at"], unit="s", utc=True)
    return found


def write(found: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV or Parquet, by the ending of the name."""
    if path.suffix == ".csv":
        found.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        found.to_parquet(path, index=False)
    else:
        raise JudgeError(f"{path}: answers are written as .csv or .parquet; end the name so")


def by_context(
    connection: sqlite3.Connection,
    *,
    prompt: str | None,
    judge: str | None,
    context: str | Text | None,
    texts: Sequence[Text] | None,
) -> dict[str | None, Comparisons]:
    """`Comparisons` by context, for one prompt and one judge."""
    found = _rows(connection, prompt=prompt, judge=judge, context=context)
    if texts is not None:
        found = found[_about(found, texts)]
    _require_one(found["judge"], "judges", "judge=")
    _require_one(found["prompt"] + " " + found["prompt_digest"], "prompts", "prompt=")
    # A prompt with two names has every question twice.
    found = found.drop_duplicates(["question", "context_id", "first", "second"])
    p = np.array([_p(text) for text in found["log_p"]])
    blank = np.isnan(p)
    if blank.any():
        warnings.warn(
            f"{blank.sum()} of {len(p)} answers held neither label; they are left out", stacklevel=4
        )
    found = found.assign(p=p)[~blank]
    if found.empty:
        raise JudgeError("the store has no such comparison; see its table() for what it has")
    names = None if texts is None else [text.id for text in texts]
    groups: dict[str | None, Comparisons] = {}
    for _, rows in found.groupby("context_id", sort=False):
        _require_one_text_a_name(rows)
        name = rows["context"].iloc[0]
        if name in groups:
            raise JudgeError(
                f"the store has answers in different contexts under the same name, {name!r}; "
                "give the one meant to comparisons() as context=Text(name, text)"
            )
        groups[name] = Comparisons.from_table(rows[["first", "second", "p"]], items=names)
    return groups


def _about(found: pd.DataFrame, texts: Sequence[Text]) -> list[bool]:
    """Which rows are about these very texts under these names."""
    these = {(text.id, text.digest) for text in texts}
    return [
        (row.first, row.first_digest) in these and (row.second, row.second_digest) in these
        for row in found.itertuples()
    ]


def _rows(
    connection: sqlite3.Connection,
    *,
    prompt: str | None,
    judge: str | None,
    context: str | Text | None,
) -> pd.DataFrame:
    conditions: list[str] = ["p.comparative"]
    values: list[str | int] = []
    if prompt is not None:
        conditions.append("(p.name = ? OR p.digest = ?)")
        values += [prompt, prompt]
    if judge is not None:
        conditions.append("substr(j.digest, 1, ?) = ?")
        values += [len(judge), judge]
    if isinstance(context, Text):
        conditions.append("c.name = ? AND c.digest = ?")
        values += [context.id, context.digest]
    elif context is not None:
        conditions.append("c.name = ?")
        values.append(context)
    query = (
        f"SELECT substr(j.digest, 1, {SHORT}) AS judge, p.name AS prompt, "
        "p.digest AS prompt_digest, hex(question) AS question, n.context AS context_id, "
        "c.name AS context, f.name AS first, s.name AS second, f.digest AS first_digest, "
        f"s.digest AS second_digest, a.log_p {NAMED} WHERE {' AND '.join(conditions)} {ORDER}"
    )
    return _read(connection, query, values)


def _read(
    connection: sqlite3.Connection, query: str, values: Sequence[str | int] = ()
) -> pd.DataFrame:
    # pandas' own reader hides SQLite's errors behind its own.
    found = connection.execute(query, values)
    return pd.DataFrame(found.fetchall(), columns=[column[0] for column in found.description])


def _p(log_p: str) -> float:
    a, b = np.exp(decode_log_p(log_p))
    return float(a / (a + b)) if a + b > 0 else float("nan")


def _require_one(kinds: pd.Series, things: str, argument: str) -> None:
    # A prompt is known by its digest, the last word; a judge is one word.
    if kinds.str.split().str[-1].nunique() > 1:
        raise JudgeError(
            f"the store has answers of several {things} here ({some(kinds)}); say which with "
            f"{argument}"
        )


def _require_one_text_a_name(rows: pd.DataFrame) -> None:
    names = np.concatenate([rows["first"], rows["second"]])
    digests = np.concatenate([rows["first_digest"], rows["second_digest"]])
    kinds = pd.DataFrame({"name": names, "digest": digests}).drop_duplicates()
    twice = kinds["name"][kinds["name"].duplicated()]
    if len(twice):
        raise JudgeError(
            f"the store has answers on different texts under the same name: {some(twice)}; say "
            "which are meant with texts="
        )


def some(names: Iterable[object]) -> str:
    """A few names, each once."""
    return name_some(list(dict.fromkeys(names)))
