"""Writing answers while more of them come.

A thread of its own commits whatever has arrived since its last commit. An answer therefore
waits for one commit at most, many that come at once share one, and an interrupt of the main
thread never hits the middle of a commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

from poe.judges.questions import Answer, Question
from poe.judges.store.rows import judge_id, write_answer, write_names
from poe.judges.store.schema import connect, named_failures, transaction

Entry = tuple[Sequence[Question], Answer]  # all questions that this answer answers


class Writer:
    """Commits answers of one judge in the background; use as a context manager.

    `put` hands an answer over and raises the JudgeError of a commit that failed; `taken` gives
    the answers committed since the last look. Leaving the context waits until all is committed.
    """

    def __init__(self, path: Path, specification: Mapping[str, str], *, several: bool) -> None:
        self._path, self._specification, self._several = path, dict(specification), several
        self._waiting: SimpleQueue[Entry | None] = SimpleQueue()
        self._committed: SimpleQueue[Answer] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="poe-store-writer")

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._waiting.put(None)
        self._thread.join()
        if kind is None:
            self._raise()

    def put(self, questions: Sequence[Question], answer: Answer) -> None:
        """Hand over one answer."""
        self._raise()
        self._waiting.put((questions, answer))

    def taken(self) -> list[Answer]:
        """Answers that are safely in the file since the last call."""
        return _drain(self._committed)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            with named_failures(self._path):
                connection = connect(self._path)
                try:
                    self._commit_until_told(connection)
                finally:
                    connection.close()
        except BaseException as error:
            self._error = error

    def _commit_until_told(self, connection: sqlite3.Connection) -> None:
        last = False
        while not last:
            batch = [self._waiting.get(), *_drain(self._waiting)]
            last = batch[-1] is None
            entries = [entry for entry in batch if entry is not None]
            if not entries:
                continue
            with transaction(connection):
                judge = judge_id(
                    connection, self._specification, several=self._several, path=self._path
                )
                for questions, answer in entries:
                    write_names(connection, questions)
                    write_answer(connection, judge, questions[0], answer)
            for _, answer in entries:
                self._committed.put(answer)


def _drain(queue: SimpleQueue) -> list:
    found = []
    try:
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found
