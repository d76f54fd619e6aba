"""Why asking ended: as a value, and as the errors that carry the answers there were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from judging.errors import JudgeError
from judging.judges.spending import RoundWrittenError, SpendingLimitError
from poe.comparisons import Comparisons

__all__ = ["RankingFailedError", "RankingInterruptedError", "Stop", "too_few"]

Kind = Literal["rule", "budget", "limit", "interrupted", "lost", "offline", "batch"]


@dataclass(frozen=True)
class Stop:
    """Why a ranking asked no more.

    kind : "rule", a stopping rule was met; "budget", it was spent. What was wanted was asked then.
        The others leave a partial ranking: "limit", of calls or tokens; "interrupted", by Ctrl-C;
        "lost", the judge went away; "offline", the store had no more; "batch", what comes next
        waits in a file.
    text : the same for a reader, with the numbers.
    """

    kind: Kind
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def partial(self) -> bool:
        """Whether fewer comparisons were asked than were wanted."""
        return self.kind not in ("rule", "budget")

    @classmethod
    def of(cls, error: BaseException) -> Stop:
        """Classify an error that ended asking: Ctrl-C, a limit, or a judge that was lost."""
        if isinstance(error, KeyboardInterrupt):
            return cls("interrupted", "Ctrl-C")
        if isinstance(error, RoundWrittenError):
            return cls("batch", str(error))
        return cls("limit" if isinstance(error, SpendingLimitError) else "lost", str(error))


class RankingFailedError(JudgeError):
    """A judge that is a function, or a fit of its answers, failed; no answer is lost.

    comparisons : the answers so far. The error itself is the `__cause__`. Answers of a judge that
    reads texts are in its store, and its errors are raised as they are.
    """

    def __init__(self, error: BaseException, comparisons: Comparisons) -> None:
        super().__init__(
            f"{error} (the {len(comparisons)} answers so far are the attribute `comparisons` of "
            "this error)"
        )
        self.comparisons = comparisons


class RankingInterruptedError(KeyboardInterrupt):
    """Ctrl-C while a judge that is a function was asked; comparisons : the answers so far."""

    def __init__(self, comparisons: Comparisons) -> None:
        super().__init__("the answers so far are the attribute `comparisons`")
        self.comparisons = comparisons


def too_few(limit: SpendingLimitError, answers: int, n: int, things: str) -> SpendingLimitError:
    """A limit that was reached before anything could be ranked, and that a reader may go on."""
    these = "this answer is" if answers == 1 else f"these {answers:,} answers are"
    return SpendingLimitError(
        f"{limit}; {these} too few to rank {n:,} {things}, "
        f"which takes {n - 1:,} or more; the same command goes on from there"
    )
