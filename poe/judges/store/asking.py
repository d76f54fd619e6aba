"""Putting questions to a judge while its answers are stored."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from poe.judges.questions import Answer, Question, Reader
from poe.judges.store.rows import check_answer
from poe.judges.store.writer import Writer


class Progress(Protocol):
    """What `Store.ask` tells after every commit."""

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> object:
        """`done` of the `total` questions asked are safely stored, `answers` newly so."""


def ask_missing(
    path: Path,
    judge: Reader,
    questions: Sequence[Question],
    wanted: Sequence[int],
    progress: Progress | None,
    *,
    several: bool,
) -> None:
    """Ask the judge the questions at the wanted positions; store and report what it answers."""
    same: dict[str, list[Question]] = {}
    for question in questions:
        same.setdefault(question.key, []).append(question)
    asked = [questions[position] for position in wanted]
    done = 0

    def report(writer: Writer) -> None:
        nonlocal done
        answers = writer.taken()
        done += len(answers)
        if answers and progress is not None:
            progress(done=done, total=len(asked), answers=answers)

    writer = Writer(path, judge.specification, several=several)
    try:
        with writer, closing(_stream(judge, asked)) as stream:
            for position, answer in stream:
                check_answer(answer, asked[position])
                writer.put(same[asked[position].key], answer)
                report(writer)
    finally:
        report(writer)


def _stream(
    judge: Reader, questions: Sequence[Question]
) -> Generator[tuple[int, Answer], None, None]:
    """The judge's answers as a generator, so that it is closed in every case."""
    yield from judge.answer(questions)


def first_of_each(questions: Sequence[Question], there: Mapping[str, Answer]) -> list[int]:
    """Positions of unanswered questions, the first of those that are the same."""
    first: dict[str, int] = {}
    for position, question in enumerate(questions):
        if question.key not in there:
            first.setdefault(question.key, position)
    return list(first.values())
