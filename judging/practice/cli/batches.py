"""Rounds in files: a command that writes requests instead of asking, and ends."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from judging.errors import JudgeError
from judging.practice.cli import screen
from judging.practice.cli.exits import SaidError, Status

if TYPE_CHECKING:
    from judging.judges import Reader, Store
    from judging.practice.batch import BatchJudge
    from judging.practice.ranking.settings import Asking

ROUNDS = 2  # of a budget; each waits for a provider, up to a day


class Batches:
    """The judge of one command, asked directly, or by a file where one is named."""

    def __init__(
        self, path: Path | None, store: Path, *, forbidden: object = None, judges: int = 1
    ) -> None:
        self.path, self.store = path, store
        self.judge: BatchJudge | None = None
        if path is None:
            return
        if judges > 1:
            raise JudgeError(
                "--batch is for one judge: give each a command and a store of its own; then "
                "`judging store merge` joins the stores, and this command without --batch ranks "
                "by both"
            )
        if forbidden:
            raise JudgeError(
                "--batch writes a file and asks nothing, so it goes without --offline, "
                "--limit-calls and limit-tokens; how much is written, the budget says"
            )
        screen.require_writable(path, inputs=[store])

    def asked_in(self, asking: Asking) -> Asking:
        """The settings, in few rounds where each is a file, unless a number is set."""
        few = self.path is not None and asking.rounds is None
        return replace(asking, rounds=ROUNDS) if few else asking

    def reader(self, judge: Reader) -> Reader:
        """The judge, or one that collects what it is asked."""
        if self.path is None:
            return judge
        from judging.practice.batch import BatchJudge

        self.judge = BatchJudge(judge)
        return self.judge

    def finish(self, store: Store) -> NoReturn:
        """Write what was collected, say what to do with it, and end."""
        assert self.path is not None
        assert self.judge is not None
        count, paths = len(self.judge.waiting), self.judge.write(self.path, store)
        sys.stdout.flush()
        print(
            f"judging: {count:,} request{'s are' if count > 1 else ' is'} in "
            f"{' and '.join(map(str, paths))}; have {'them' if count > 1 else 'it'} answered, then "
            f"`judging store import RESULTS --store {self.store}`, then this command again",
            file=sys.stderr,
        )
        raise SaidError(Status.ROUND)
