"""Your own copy of CMCQRD: reading questions whose difficulty is known.

The dataset is given out under its own licence agreement, so there is nothing to fetch. Lay
your copy out as one JSON file, a list of passages, and put it into POE_DATA_DIR as
cmcqrd/cmcqrd.json (UTF-8). These are the keys that the papers' own program reads:

    [
      {
        "context": "the passage",
        "questions": [
          {
            "question": "the question",
            "options": ["first option", "second option", "third option", "fourth option"],
            "question_difficulty": 61.5
          }
        ]
      }
    ]

Other keys are ignored; an "id" of a passage is kept in the questions' names. Difficulty may
have any scale, higher is harder. The papers use 658 questions (550 in one place of poe_v2);
a copy with another number is read, and its provenance says so. A judge is shown the passage,
an empty line, the question, and the options with numbers, "1) ...", one a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poe.datasets.errors import InvalidDataError
from poe.datasets.reading import Parsed, filled_text, json_in, number_in
from poe.datasets.registry import Entry

DIFFICULTY = "question_difficulty"


def read(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    """All questions of all passages, in the file's order, as one set of candidates."""
    passages = _list(entry, json_in(entry, data["questions"]), "the file")
    ids: list[str] = []
    texts: list[str] = []
    rows: list[dict[str, Any]] = []
    for p, passage in enumerate(passages, start=1):
        where = f"passage {p}"
        context = filled_text(entry, _key(entry, passage, "context", where), f"context of {where}")
        name = str(passage.get("id", f"passage-{p:03d}"))
        questions = _list(entry, _key(entry, passage, "questions", where), f"questions of {where}")
        for q, question in enumerate(questions, start=1):
            here = f"question {q} of {where}"
            texts.append(context + "\n\n" + _question(entry, question, here))
            value = number_in(entry, question[DIFFICULTY], f"{DIFFICULTY} of {here}")
            rows.append({DIFFICULTY: value})
            ids.append(f"{name}/{q}")
    _check(entry, ids)
    count = f"{len(ids)} questions on {len(passages)} passages; the papers have {entry.candidates}"
    return Parsed(
        contexts=("",),
        context_ids=("all",),
        candidate_ids=tuple(ids),
        texts=(tuple(texts),),
        rows=[rows],
        remarks=(("count", count),),
    )


def _question(entry: Entry, question: Any, where: str) -> str:
    asked = filled_text(entry, _key(entry, question, "question", where), f"the text of {where}")
    options = _list(entry, _key(entry, question, "options", where), f"options of {where}")
    if len(options) < 2:
        raise InvalidDataError(f"{entry.name}: {where} has {len(options)} option, not two or more")
    _key(entry, question, DIFFICULTY, where)
    lines = [
        f"{n}) {filled_text(entry, option, f'option {n} of {where}')}"
        for n, option in enumerate(options, start=1)
    ]
    return "\n".join([asked, *lines])


def _key(entry: Entry, row: Any, key: str, where: str) -> Any:
    if not isinstance(row, dict):
        raise InvalidDataError(
            f"{entry.name}: {where} is of type {type(row).__name__}, not an object with keys"
        )
    if key not in row:
        raise InvalidDataError(
            f"{entry.name}: {where} has no key {key!r}; its keys are "
            f"{', '.join(map(repr, row)) or 'none'}. The layout is described in "
            "poe.datasets.cmcqrd"
        )
    return row[key]


def _list(entry: Entry, value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        kind = "an empty list" if value == [] else f"of type {type(value).__name__}, not a list"
        raise InvalidDataError(
            f"{entry.name}: {what}: {kind}; the layout is described in poe.datasets.cmcqrd"
        )
    return value


def _check(entry: Entry, ids: list[str]) -> None:
    twice = next((name for k, name in enumerate(ids) if name in ids[:k]), None)
    if twice is not None:
        raise InvalidDataError(
            f"{entry.name}: two passages have the id {twice.rpartition('/')[0]!r}"
        )
    if len(ids) < 2:
        raise InvalidDataError(f"{entry.name}: one question alone cannot be compared")
