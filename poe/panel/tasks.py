"""The paper's three tasks, unrolled into samples: HaluEval-Dialogue, TruthfulQA, Chatbot Arena.

No file of these is downloaded: no checksum of the copies that the paper used is known here. Put
your copy under POE_DATA_DIR; what it holds is checked against the paper's counts, and a copy that
differs is read with a note that says so.

    halueval/dialogue_data.json     data/dialogue_data.json of RUCAIBox/HaluEval (MIT), one JSON
                                    object a line: dialogue_history, right_response,
                                    hallucinated_response
    truthfulqa/TruthfulQA.csv       of sylinrl/TruthfulQA (Apache-2.0): Question, Correct Answers,
                                    Incorrect Answers, each a list joined by "; "; or
                                    truthfulqa/generation.jsonl, the rows of the data set
                                    truthfulqa/truthful_qa, configuration "generation", with
                                    question, correct_answers and incorrect_answers
    chatbot_arena/train.csv         of Kaggle's competition lmsys-chatbot-arena (its own rules):
                                    prompt, response_a, response_b (JSON lists, a turn each),
                                    winner_model_a, winner_model_b, winner_tie
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from poe._paths import data_dir
from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.datasets.files import DATA_VARIABLE, data_folder
from poe.judges.questions import Prompt, Question, Text


@dataclass(frozen=True)
class Task:
    """N samples of a task, each a question for a judge and its truth.

    name : "halueval", "truthfulqa" or "chatbot-arena". questions : N filled prompts; the first
    label word is class 1. truth : N classes, 1 for "Yes" or for the first response. groups : N
    names of what a sample was unrolled from. note : how the copy compares with the paper's.
    """

    name: str
    questions: tuple[Question, ...]
    truth: tuple[int, ...]
    groups: tuple[str, ...]
    note: str

    def __len__(self) -> int:
        return len(self.questions)

    def contexts(self) -> list[str]:
        """What a context encoder reads: the texts of each sample, without the instruction."""
        parts = [(q.context, q.first, q.second) for q in self.questions]
        return ["\n\n".join(t.text for t in row if t is not None) for row in parts]


Sample = tuple[str, str, str | None, int, str]  # context, first, second, truth, group


@dataclass(frozen=True)
class _Source:
    files: tuple[str, ...]
    read: Callable[[Path], Iterator[Sample]]
    expected: int
    share: float
    what: str


def load(name: str, *, swapped: bool = False) -> Task:
    """A task from your copy (paper appendix A.1), with the paper's prompts (appendix B).

    name : "halueval": every response once, class 1 "Yes, it is hallucinated" (20,000 in the
        paper, half of each); "truthfulqa": every answer once, class 1 "Yes, truthful" (5,918,
        43.93 %); "chatbot-arena": single-turn conversations without ties, class 1 "A is better"
        (34,297; that ties are left out is ours to assume: the paper's truth is binary).
    swapped : Chatbot Arena with the responses in the other order; truth is swapped with them.

    Raises DataNotFoundError where no copy is found, InvalidDataError where it is another file.
    """
    if name not in SOURCES:
        raise DataNotFoundError(f"no task is called {name!r}; there are {', '.join(SOURCES)}")
    if swapped and name != "chatbot-arena":
        raise ValueError("only chatbot-arena shows two texts that can be swapped")
    source = SOURCES[name]
    path = _find(name, source)
    try:
        samples = list(source.read(path))
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise InvalidDataError(
            f"{name}: {path.name} is not the file described in poe.panel.tasks ({error!r})"
        ) from error
    if not samples:
        raise InvalidDataError(f"{name}: {path.name} holds no sample")
    if swapped:
        samples = [(c, b or "", a, 1 - y, g) for c, a, b, y, g in samples]
    asked = prompt(name)
    questions = tuple(
        Question(
            asked,
            first=Text(f"{group}/first", first),
            second=None if second is None else Text(f"{group}/second", second),
            context=Text(group, context),
        )
        for context, first, second, _, group in samples
    )
    truth = tuple(sample[3] for sample in samples)
    return Task(name, questions, truth, tuple(s[4] for s in samples), _note(source, truth, swapped))


@cache
def prompt(name: str) -> Prompt:
    """The paper's prompt for a task, from data/prompts/panel/panel.toml."""
    with (data_dir() / "prompts" / "panel" / "panel.toml").open("rb") as stream:
        row: dict[str, Any] = tomllib.load(stream)["templates"][name]
    return Prompt(
        name=f"panel/{name}",
        template=row["text"].strip("\n"),
        labels=tuple(row["labels"]),
        prefix=row["prefix"],
        system=row["system"].strip("\n"),
    )


def _find(name: str, source: _Source) -> Path:
    folder = data_folder()
    places = [folder / file for file in source.files] if folder else []
    for place in places:
        if place.is_file():
            return place
    raise DataNotFoundError(
        f"{name}: put {source.what} into {DATA_VARIABLE} as {' or '.join(source.files)}; "
        "nothing is downloaded"
    )


def _note(source: _Source, truth: tuple[int, ...], swapped: bool) -> str:
    count, share = len(truth), sum(truth) / len(truth)
    if count != source.expected:
        return f"{count} samples; the paper has {source.expected}"
    if not swapped and source.share == source.share and abs(share - source.share) > 5e-5:
        return f"class 1 is {share:.2%} of the samples; in the paper {source.share:.2%}"
    return "as many samples as in the paper"


def _halueval(path: Path) -> Iterator[Sample]:
    with path.open(encoding="utf-8") as stream:
        for n, line in enumerate(stream):
            row = json.loads(line)
            for key, truth in (("right_response", 0), ("hallucinated_response", 1)):
                yield row["dialogue_history"], row[key], None, truth, f"dialogue-{n}"


def _truthfulqa(path: Path) -> Iterator[Sample]:
    for n, (question, right, wrong) in enumerate(_truthful_rows(path)):
        for answers, truth in ((right, 1), (wrong, 0)):
            for answer in answers:
                if answer.strip():
                    yield question, answer.strip(), None, truth, f"question-{n}"


def _truthful_rows(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        if path.suffix == ".csv":
            for row in csv.DictReader(stream):
                yield (
                    row["Question"],
                    row["Correct Answers"].split(";"),
                    row["Incorrect Answers"].split(";"),
                )
        else:
            for line in stream:
                found = json.loads(line)
                yield found["question"], found["correct_answers"], found["incorrect_answers"]


def _chatbot_arena(path: Path) -> Iterator[Sample]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            turns, a, b = (json.loads(row[key]) for key in ("prompt", "response_a", "response_b"))
            if len(turns) != 1 or row["winner_tie"] == "1":
                continue
            won = (row["winner_model_a"], row["winner_model_b"])
            if won not in (("1", "0"), ("0", "1")):
                raise ValueError(f"conversation {row['id']} has no single winner")
            texts = [str(part[0] or "") for part in (turns, a, b)]
            yield texts[0], texts[1], texts[2], int(won[0]), f"conversation-{row['id']}"


SOURCES = {
    "halueval": _Source(
        ("halueval/dialogue_data.json",),
        _halueval,
        20_000,
        0.5,
        "data/dialogue_data.json of https://github.com/RUCAIBox/HaluEval",
    ),
    "truthfulqa": _Source(
        ("truthfulqa/TruthfulQA.csv", "truthfulqa/generation.jsonl"),
        _truthfulqa,
        5_918,
        0.4393,
        "TruthfulQA.csv of https://github.com/sylinrl/TruthfulQA",
    ),
    "chatbot-arena": _Source(
        ("chatbot_arena/train.csv",),
        _chatbot_arena,
        34_297,
        float("nan"),
        "train.csv of https://www.kaggle.com/competitions/lmsys-chatbot-arena/data",
    ),
}
