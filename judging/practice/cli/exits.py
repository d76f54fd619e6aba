"""How a command ends: its exit status, and the exception of a command that has said why."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judging.practice.asking.ending import Stop
    from judging.practice.board.gate import Gate

__all__ = ["MEANINGS", "SaidError", "Status", "gated", "in_words", "of", "stopped"]


class Status(IntEnum):
    """The exit statuses; `MEANINGS` says what each means."""

    DONE = 0
    FAILED = 1
    MISUSED = 2
    PARTIAL = 3
    ROUND = 4
    UNMET = 5
    INTERRUPTED = 128 + 2  # as for a program that SIGINT ends
    UNREAD = 128 + 13  # as for a program that SIGPIPE ends


MEANINGS = {
    Status.DONE: "everything was done",
    Status.FAILED: "an error, with a message that says what to change",
    Status.MISUSED: "a mistake on the command line, or a judge that is not available",
    Status.PARTIAL: "only a part was done, because a limit was reached or the server was lost, and "
    "the same command continues it; or a requirement that cannot be decided yet",
    Status.ROUND: "requests were written for a batch (--batch); run the same command again once "
    "the results are imported",
    Status.UNMET: "a requirement (--require) does not hold",
    Status.INTERRUPTED: "Ctrl-C; what was answered is kept",
    Status.UNREAD: "nobody reads the output any more, as with `| head`",
}


class SaidError(Exception):
    """The command ends with this status, and the user knows why: nothing more is printed."""

    def __init__(self, status: Status) -> None:
        super().__init__(MEANINGS[status])
        self.status = status


def of(error: Exception) -> Status:
    """Choose the status of a command that this error ended before it had anything to show.

    PARTIAL where the same command goes on: at a limit, or where a server was lost.
    """
    from judging.errors import NoJudgeError
    from judging.judges.spending import AskingEndedError, RoundWrittenError, SpendingLimitError

    if isinstance(error, NoJudgeError):
        return Status.MISUSED
    if isinstance(error, SpendingLimitError):
        return Status.PARTIAL
    if not isinstance(error, AskingEndedError) or isinstance(error, RoundWrittenError):
        return Status.FAILED
    from judging.judges.server.http import SilentServerError, UnreachableError  # else none is left

    if isinstance(error, SilentServerError):
        return Status.FAILED
    return Status.MISUSED if isinstance(error, UnreachableError) else Status.PARTIAL


def stopped(stop: Stop | None) -> None:
    """End the command where asking was cut short: what there is was ranked, shown and written."""
    if stop is not None:
        raise SaidError(Status.INTERRUPTED if stop.kind == "interrupted" else Status.PARTIAL)


def gated(verdicts: Sequence[Gate]) -> None:
    """End the command by what became of its requirements: the worst of them counts."""
    states = {one.state for one in verdicts}
    if "fails" in states:
        raise SaidError(Status.UNMET)
    if "open" in states:
        raise SaidError(Status.PARTIAL)


def in_words() -> str:
    """The table of exit statuses, for the help."""
    rows = (f"{status:d}: {meaning}." for status, meaning in MEANINGS.items())
    return "Exit statuses. " + " ".join(rows)
