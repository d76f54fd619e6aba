"""The asking loop: recall, plan, ask, fit, and decide whether to go on.

Rankings and leaderboards ask alike. All answers that a store has come first, whatever they were
asked for, and the seed fixes only what is new. Then, round after round, a plan says what to ask, it
is asked within the limits, and a look at all answers says whether to go on. What differs is which
comparisons there are, which come next, and what a look is; a subclass says so:

    stored, fetch, answer    the comparisons, and who answers them
    before, choose           which come next
    look                     fit the answers, and say whether to stop

What another run adds to the store while this one waits for it counts like its own answers: two runs
at once spend one budget.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from judging.judges.spending import AskingEndedError, SpendingLimitError
from judging.practice.asking.ending import Stop, too_few
from judging.practice.asking.links import ask_first, links_first
from poe.arrays import Floats, Indices
from poe.resistance import component_of

__all__ = ["Loop", "as_set"]

FEW = 20  # in a budget, one of so many: fewer are not worth a file, and a day of waiting


class FilledMeanwhileError(Exception):
    """Another run added to the store while this one waited for it.

    It ends `Store.ask` where that holds the lock and has asked nothing yet, so that a plan is made
    again before anything of the old one is paid for.
    """


class Loop(ABC):
    """Comparisons of n items, asked round after round.

    width : columns of a row. The last two are positions of items, the first shown and the second;
        before them stands the prompt, where there are several.
    things : what the items are called in a message.
    kept : whether a store has what was answered before an error.
    by_file : questions are collected for a batch, so that a round is asked as a whole.
    offline : nothing is asked.
    made : (K, width) comparisons that have an answer, p : (K,) what was said. refused : those that
    will have none. total : the most comparisons, those in the store included. stop : why asking
    ended before its time.
    """

    things = "items"
    kept = True
    by_file = offline = False

    def __init__(self, n_items: int, *, width: int = 2) -> None:
        self.n, self.width, self.total = n_items, width, 0
        self.forget()

    def forget(self) -> None:
        """Begin again with no answers; the store still has them."""
        self.made: Indices = np.empty((0, self.width), dtype=np.intp)
        self.p: Floats = np.empty(0)
        self.refused: list[tuple[int, ...]] = []
        self.stop: Stop | None = None
        self.ended: BaseException | None = None
        self._wanted = set[tuple[int, ...]]()

    # What differs ---------------------------------------------------------------------------

    @abstractmethod
    def stored(self) -> Indices:
        """Comparisons that the store has an answer to and that were not taken yet."""

    @abstractmethod
    def fetch(self, rows: Indices) -> Any:
        """Have comparisons answered for the store."""

    @abstractmethod
    def answer(self, rows: Indices) -> Floats:
        """P(the first is better) of each comparison; NaN where the judge will not answer."""

    @abstractmethod
    def before(self) -> Indices:
        """Choose what has to be asked before the answers can be fitted; nothing once they can."""

    @abstractmethod
    def look(self) -> Stop | None:
        """Fit all answers; why to stop now, None to go on."""

    @abstractmethod
    def choose(self) -> Indices:
        """Choose what to ask next; nothing where nothing is left."""

    # What does not --------------------------------------------------------------------------

    def ask_all(self) -> Stop:
        """Ask until there is a reason to stop, and return it."""
        self.recall()
        while True:
            rows = self.before()
            if not len(rows):
                reason = self.look()
                if reason is not None:
                    return reason
                rows = self.choose()
                if not len(rows):
                    why = "every comparison that the judge does not refuse was asked"
                    return Stop("budget", why)
            self.ask(rows)

    def recall(self) -> None:
        """Take every answer that the store has; nothing is asked."""
        if len(rows := self.stored()):
            self.take(rows)

    def take(self, rows: Indices) -> None:
        """Keep the answers to comparisons; those that the store lacks are asked."""
        p = self.answer(rows)
        out = np.isnan(p)
        self.refused += map(tuple, rows[out].tolist())
        self.made, self.p = np.vstack([self.made, rows[~out]]), np.append(self.p, p[~out])

    def ask(self, rows: Indices) -> None:
        """Put comparisons to the judge, and note what ends asking."""
        if self.offline:
            self.stop = Stop("offline", "offline, nothing was asked")
            return
        self._wanted = as_set(rows)
        try:
            if not (self.by_file or self.linked):
                ask_first(
                    links_first(self.n, self.made[:, -2:], rows[:, -2:]),
                    lambda part: self.fetch(rows[part]),
                )
            self.take(rows)
        except FilledMeanwhileError:
            self.recall()
        except (AskingEndedError, KeyboardInterrupt) as error:
            if not self.kept:
                raise
            self.recall()  # what was answered before it
            if not self.asked:
                raise
            self.stop, self.ended = Stop.of(error), error

    def filled_meanwhile(self) -> None:
        """Plan again where another run, which was waited for, asked what this one would not."""
        if not as_set(self.stored()) <= self._wanted:
            raise FilledMeanwhileError

    @property
    def asked(self) -> int:
        """Comparisons that were put to the judge, refused ones too."""
        return len(self.made) + len(self.refused)

    @property
    def left(self) -> int:
        """Comparisons that the budget leaves; none where they are too few for a file."""
        left = max(self.total - self.asked, 0)
        few = self.by_file and self.linked and (left == 1 or left * FEW < self.total)
        return 0 if few else left

    @property
    def linked(self) -> bool:
        """Whether what was answered links all items."""
        return not component_of(self.n, self.made[:, -2:]).any()

    def too_few(self) -> BaseException | None:
        """Word what ended asking before anything could be ranked."""
        if isinstance(self.ended, SpendingLimitError):
            return too_few(self.ended, len(self.p), self.n, self.things)
        return self.ended


def as_set(rows: Indices | Iterable[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Rows to look up."""
    return set(map(tuple, rows.tolist() if isinstance(rows, np.ndarray) else rows))
