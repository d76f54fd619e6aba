"""Readers of original files: contexts, texts and scores of the datasets, and your own copies.

Some datasets may not be downloaded from a pinned address. Lay your own copy out like this and put
it into POE_DATA_DIR, under a name that `judging data list` shows. Other keys and columns are
ignored.

cmcqrd (given out under its own licence agreement), JSON, a list of passages:

    [{"id": "passage-001", "context": "the passage", "questions": [
        {"question": "the question", "options": ["first option", "second option"],
         "question_difficulty": 61.5}]}]

webnlg, CSV: mr (the triples "subject | relation | object", joined by <br>), text, team, fluency,
grammar, semantics (means, 1 to 3). The references, team "webnlg", are left out.

podcast, JSON, a list of summaries with the keys transcript, summary, episode_id, system_id and
score: "B", "F", "G" or "E" (bad, fair, good, excellent), here 0, 1, 2, 3.

The papers use 658 questions, 223 x 8 texts and 179 x 15 summaries; a copy of another size is
read as it is. A judge is shown a question with its passage and numbered
options, a text's triples one a line under the sentence of the authors' code, and a story of HANNA
with its prompt (poe_v2, authors' code; book chapter 2).
"""

from __future__ import annotations

import csv
import io
import json
import pickle
import pickletools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judging.datasets.files import Entry
from judging.errors import InvalidDataError
from poe.errors import name_some

ALL = "all"  # id of the one context where all candidates are compared with all
GRADES = {"B": 0.0, "F": 1.0, "G": 2.0, "E": 3.0}
TRIPLES = "The following are semantic triples of the form (subject|relation|object)"

# Id and text of the context, id and text of the candidate, and its scores by field.
Row = tuple[str, str, str, str, Mapping[str, Any]]


@dataclass(frozen=True)
class Content:
    """What an original file holds, for C contexts with N candidates each.

    contexts : id to text, empty where the candidates share nothing. candidates : (N,) ids.
    texts : (C, N). scores : attribute to (C, N); empty of a file that has texts alone.
    """

    contexts: dict[str, str]
    candidates: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    scores: dict[str, NDArray[np.float64]]


def _summeval(data: bytes) -> Iterator[Row]:
    for name, article in load_plain(data).items():
        for system, summary in article["sys_summs"].items():
            yield name, article["src"], system, summary["sys_summ"], summary["scores"]


def _topicalchat(data: bytes) -> Iterator[Row]:
    for k, item in enumerate(json.loads(data)):  # six responses to one dialogue in succession
        context = f"dialogue-{k // 6:02d}"
        yield context, item["source"], item["system_id"], item["system_output"], item["scores"]


def _hanna(data: bytes) -> Iterator[Row]:
    if data.startswith(b"{"):  # the stories alone, one a line
        for one in map(json.loads, data.decode().removesuffix("\n").split("\n")):
            yield ALL, "", *_story(one["story_id"], one["prompt"], one["story"]), {}
        return
    stories: dict[int, list[dict[str, str]]] = {}
    for rating in _csv(data):  # several a story
        stories.setdefault(int(rating["Story ID"]), []).append(rating)
    fields = ("Coherence", "Complexity", "Surprise", "Relevance", "Empathy", "Engagement")
    for k, ratings in sorted(stories.items()):
        means = {f: sum(float(rating[f]) for rating in ratings) / len(ratings) for f in fields}
        yield ALL, "", *_story(k, ratings[0]["Prompt"], ratings[0]["Story"]), means


def _story(number: int, prompt: str, story: str) -> tuple[str, str]:
    """Its id and its text."""
    return f"story-{number:04d}", f"Prompt: {prompt}\n\nGenerated Story: {story}"


def _cmcqrd(data: bytes) -> Iterator[Row]:
    for p, passage in enumerate(json.loads(data), start=1):
        for q, question in enumerate(passage["questions"], start=1):
            options = [f"{n}) {option}" for n, option in enumerate(question["options"], start=1)]
            text = "\n".join([passage["context"], "", question["question"], *options])
            yield ALL, "", f"{passage.get('id', f'passage-{p:03d}')}/{q}", text, question


def _webnlg(data: bytes) -> Iterator[Row]:
    rows = [row for row in _csv(data) if row["team"] != "webnlg"]
    place = {triples: k for k, triples in enumerate(dict.fromkeys(row["mr"] for row in rows))}
    for row in sorted(rows, key=lambda row: (place[row["mr"]], row["team"])):
        triples = "\n".join(triple.strip() for triple in row["mr"].split("<br>"))
        context = f"triples-{place[row['mr']]:03d}"
        yield context, f"{TRIPLES}\n\n{triples}", row["team"], row["text"], row


def _podcast(data: bytes) -> Iterator[Row]:
    for item in json.loads(data):
        context, candidate = str(item["episode_id"]), str(item["system_id"])
        grade = {"score": GRADES[item["score"]]}
        yield context, item["transcript"], candidate, item["summary"], grade


def _ladder(data: bytes) -> Iterator[Row]:
    for row in _csv(data):
        topic, rung = row["id"].split("-")
        planted = {"planted": float(-int(rung)), "nothing": 0.0}
        yield topic, row["context"], f"rung-{rung}", row["text"], planted


READERS: dict[str, Callable[[bytes], Iterator[Row]]] = {
    "summeval": _summeval,
    "topicalchat": _topicalchat,
    "hanna": _hanna,
    "cmcqrd": _cmcqrd,
    "webnlg": _webnlg,
    "podcast": _podcast,
    "ladder": _ladder,
}


def _csv(data: bytes) -> list[dict[str, str]]:
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    return list(csv.DictReader(text, strict=True))


def parse(entry: Entry, data: bytes) -> Content:
    """Read an original file, checking every row; InvalidDataError names what is wrong and where."""
    try:
        read = list(READERS[entry.name](data))
        scored = entry.attributes if any(scores for *_, scores in read) else ()
        records = [
            (context, about, candidate, text, *(float(scores[a.field]) for a in scored))
            for context, about, candidate, text, scores in read
        ]
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as error:
        raise InvalidDataError(
            f"{entry.name}: the file is not laid out as expected ({type(error).__name__}: "
            f"{error}); judging/datasets/originals.py describes the layout"
        ) from error
    if not records:
        raise InvalidDataError(f"{entry.name}: the file holds no texts")
    attributes = [a.name for a in scored]
    rows = pd.DataFrame(records, columns=["context", "about", "candidate", "text", *attributes])

    def refuse(wrong: pd.Series, why: str) -> None:
        if wrong.any():
            context, candidate = rows.loc[wrong.idxmax(), ["context", "candidate"]]
            raise InvalidDataError(f"{entry.name}: {candidate!r} in context {context!r} {why}")

    refuse(rows["text"].str.strip() == "", "has no text")
    refuse(rows.duplicated(["context", "candidate"]), "is there a second time")
    first = rows.groupby("context")["about"].transform("first")
    refuse(rows["about"] != first, "answers to another text than those before")
    for a in scored:
        known = rows[a.name].between(a.low, a.high) & np.isfinite(rows[a.name])
        refuse(~known, f"has a {a.field} that is no number from {a.low:g} to {a.high:g}")

    candidates = tuple(rows["candidate"][rows["context"] == rows["context"][0]])
    for context, there in rows.groupby("context", sort=False)["candidate"]:
        if set(there) != set(candidates):
            raise InvalidDataError(
                f"{entry.name}: context {context!r} has texts of {name_some(there)}, not of "
                f"{name_some(candidates)} as the first one"
            )
    contexts = dict(zip(rows["context"], rows["about"], strict=True))
    order = pd.MultiIndex.from_product([contexts, candidates])
    table = rows.set_index(["context", "candidate"]).loc[order]
    shape = (len(contexts), len(candidates))
    texts = table["text"].to_numpy().reshape(shape)
    scores = {name: table[name].to_numpy().reshape(shape) for name in attributes}
    return Content(contexts, candidates, tuple(map(tuple, texts)), scores)


# Pickles as plain data -------------------------------------------------------------------------

# Only instructions that build plain values. Those that name or call something
# (GLOBAL, STACK_GLOBAL, INST, OBJ, NEWOBJ, REDUCE, BUILD, EXT1..4, PERSID) are not here.
# Checking the instructions before running any matters, because the unpickler serves
# extension codes from a process-wide cache without asking find_class.
_NAMES = """
    PROTO FRAME STOP MARK POP POP_MARK DUP PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET MEMOIZE
    EMPTY_DICT DICT SETITEM SETITEMS EMPTY_LIST LIST APPEND APPENDS
    EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    FLOAT BINFLOAT INT BININT BININT1 BININT2 NONE NEWTRUE NEWFALSE
"""
PLAIN = frozenset(_NAMES.split())


class PlainUnpickler(pickle.Unpickler):
    """A second lock: even if an instruction slipped through, no class is ever found."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Refuse every class and function."""
        raise InvalidDataError(f"the pickle refers to {module_name}.{global_name}")


def load_plain(data: bytes) -> Any:
    """Unpickle dict, list, tuple, str, float, int, bool and None.

    Raises InvalidDataError if the pickle is damaged, or refers to a class or function. Nothing of
    it has been executed then.
    """
    try:
        for opcode, _, position in pickletools.genops(data):
            if opcode.name not in PLAIN:
                raise InvalidDataError(
                    f"the pickle's instruction {opcode.name} at byte {position} would reach "
                    "outside plain data (dict, list, str, float)"
                )
        return PlainUnpickler(io.BytesIO(data)).load()
    except InvalidDataError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise InvalidDataError(f"the pickle is damaged ({error})") from error
