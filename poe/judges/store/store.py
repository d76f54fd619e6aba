"""The store as its users see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from poe.comparisons import Comparisons
from poe.errors import JudgeError
from poe.judges.naming import describe
from poe.judges.questions import Answer, Question, Reader, Text
from poe.judges.store import export
from poe.judges.store.asking import Progress, ask_missing, first_of_each
from poe.judges.store.merging import Merge, merge
from poe.judges.store.rows import check_judge, not_entered, write_names
from poe.judges.store.schema import (
    ANSWER_COLUMNS,
    connect,
    named_failures,
    specification_digest,
    to_answer,
    transaction,
)

MANY = 500  # keys a query; SQLite takes a limited number of parameters


class Store:
    """All answers of a judge, in one SQLite file; nothing is asked twice, nothing is lost.

        with Store("judgements.sqlite") as store:
            answers = store.ask(judge, questions)
            comparisons = store.comparisons(context="article-1")

    An answer is kept by everything that changes it: the judge's whole specification, the prompt
    with its label words, the texts and their order. Killed at any moment, a store holds every
    answer that was reported and none in part; several processes may use it at once. It holds
    digests and names of texts and prompts, never the texts.

    path : the file; made if it is not there.
    several : whether answers of several judges are meant to be in it. Otherwise a judge whose
        specification differs from the one in the file is refused, with the fields that differ.

    Raises
    ------
    JudgeError naming the file, for anything that is not a usable store, a full disk, a folder
    that cannot be written, or another judge.
    """

    def __init__(self, path: str | Path, *, several: bool = False) -> None:
        self.path = Path(path)
        self.several = several
        self._connection = connect(self.path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything in it was already safe."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def __len__(self) -> int:
        """Number of answers, of all judges."""
        with named_failures(self.path):
            (count,) = self._connection.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    # Asking ----------------------------------------------------------------------------

    def missing(self, judge: Reader, questions: Sequence[Question]) -> list[int]:
        """Positions of the questions that `ask` would put to the judge.

        Of questions that are the same (same prompt, texts and order) only the first counts.
        """
        return first_of_each(questions, self._answers(judge, questions))

    def ask(
        self, judge: Reader, questions: Sequence[Question], progress: Progress | None = None
    ) -> list[Answer]:
        """Answers to all questions, in their order; only what is missing is asked.

        progress : called as progress(done=, total=, answers=) after commits, from the caller's
            thread: `answers` are new since the last call, `done` counts them all, and every one
            of them survives whatever happens next.

        When the judge fails or Ctrl-C stops it, what it has answered is stored before the
        error goes on to the caller; the same call then asks for the rest. Two processes that ask
        the same question at the same time are both given the answer stored first, but both
        have asked: give them different questions.
        """
        found = self._answers(judge, questions)
        self._enter_names([question for question in questions if question.key in found])
        wanted = first_of_each(questions, found)
        if wanted:
            ask_missing(self.path, judge, questions, wanted, progress, several=self.several)
            found = self._answers(judge, questions)
        silent = [k for k, question in enumerate(questions) if question.key not in found]
        if silent:
            raise JudgeError(
                f"the judge left {len(silent)} of {len(wanted)} questions unanswered, the first "
                f"being {describe(questions[silent[0]])}; ask again for these"
            )
        return [found[question.key] for question in questions]

    def _enter_names(self, answered: Sequence[Question]) -> None:
        """Enter the names under which answered questions are asked now, where they are new."""
        with named_failures(self.path):
            new = not_entered(self._connection, answered)
            if new:
                with transaction(self._connection):
                    write_names(self._connection, new)

    def _answers(self, judge: Reader, questions: Sequence[Question]) -> dict[str, Answer]:
        """The answers that are there, by the key of the question."""
        specification = judge.specification
        keys = sorted({question.key for question in questions})
        found: dict[str, Answer] = {}
        with named_failures(self.path):
            check_judge(self._connection, specification, several=self.several, path=self.path)
            digest = specification_digest(specification)
            for part in _parts(keys, MANY):
                rows = self._connection.execute(
                    f"SELECT hex(question), {ANSWER_COLUMNS} FROM answers WHERE judge = "
                    "(SELECT id FROM judges WHERE digest = ?) AND question IN "
                    f"({', '.join('?' * len(part))})",
                    (digest, *map(bytes.fromhex, part)),
                )
                found.update((key.lower(), to_answer(row)) for key, *row in rows)
        return found

    # What is in it ---------------------------------------------------------------------

    def specifications(self) -> dict[str, dict[str, str]]:
        """The judges in the store: short digest, as in `table`, to specification."""
        with named_failures(self.path):
            rows = self._connection.execute("SELECT digest, specification FROM judges ORDER BY id")
            return {digest[: export.SHORT]: json.loads(text) for digest, text in rows}

    def table(self) -> pd.DataFrame:
        """One row an answer and the names under which it was asked; see `export.table`."""
        with named_failures(self.path):
            return export.table(self._connection)

    def export(self, path: str | Path) -> None:
        """Write `table` to a file whose name ends in .csv or .parquet."""
        export.write(self.table(), Path(path))

    def comparisons(
        self,
        *,
        prompt: str | None = None,
        context: str | Text | None = None,
        judge: str | Reader | Mapping[str, str] | None = None,
        texts: Sequence[Text] | None = None,
    ) -> Comparisons:
        """The answers of one judge to one prompt in one context, items by their names.

        prompt : its name or digest. judge : the judge, its specification, or the start of its
            digest. context : the context or its name. Each may be left out where the store has
            only one.
        texts : the items, in the order wanted: only answers on these very texts, under these
            names, count. Needed where a name was given to different texts; advisable where
            items were renamed.

        Answers with none of the labels are left out with a warning. Raises JudgeError where
        nothing, or more than one thing, fits.
        """
        groups = self._by_context(prompt=prompt, judge=judge, texts=texts, context=context)
        if len(groups) > 1:
            raise JudgeError(
                f"{self.path} has answers in {len(groups)} contexts "
                f"({export.some(groups)}); name one with context=, or use by_context()"
            )
        return next(iter(groups.values()))

    def by_context(
        self,
        *,
        prompt: str | None = None,
        judge: str | Reader | Mapping[str, str] | None = None,
        texts: Sequence[Text] | None = None,
    ) -> dict[str | None, Comparisons]:
        """Name of the context to its `Comparisons`; arguments as in `comparisons`."""
        return self._by_context(prompt=prompt, judge=judge, texts=texts, context=None)

    def _by_context(
        self,
        *,
        prompt: str | None,
        judge: str | Reader | Mapping[str, str] | None,
        texts: Sequence[Text] | None,
        context: str | Text | None,
    ) -> dict[str | None, Comparisons]:
        digest = None
        if isinstance(judge, str):
            digest = judge
        elif judge is not None:
            specification = judge if isinstance(judge, Mapping) else judge.specification
            digest = specification_digest(specification)
        with named_failures(self.path):
            return export.by_context(
                self._connection, prompt=prompt, judge=digest, texts=texts, context=context
            )

    def merge(self, other: str | Path) -> Merge:
        """Take over the answers of another store, a shard of the same work.

        Where both have answered a question differently this store's answer stays, a warning
        says so, and the result lists them.
        """
        return merge(self._connection, self.path, Path(other), several=self.several)


def _parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
