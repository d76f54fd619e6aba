"""New answers counted, priced and shown as they come."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from judging.cost import Price, duration
from judging.judges.spending import Spending
from judging.question import Answer, Reader

MEASURED = 2  # answers that tell how long the others take
TOGETHER = 0.02  # of the time of both, below which one did not wait for the other


class Meter:
    """New answers counted, priced, and shown by a bar after two seconds; a store's `progress`.

    total : calls at most. shown : whether there is a bar; by default on a terminal and in a
    notebook. price : dollars per million tokens read, and written.
    """

    def __init__(
        self, total: int, *, shown: object = None, price: tuple[float, float] | None = None
    ) -> None:
        with warnings.catch_warnings():  # a bar of letters will do where there are no widgets
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        watched = sys.stderr.isatty() or "ipykernel" in sys.modules
        self.bar = tqdm(
            total=total,
            unit="call",
            disable=shown is False or (shown is not True and not watched),
            delay=2.0,
            mininterval=0.2 if watched else 10.0,
            leave=False,
        )
        self.told = shown is not True  # the line that says how long it takes
        self.price = price and Price(*price)
        self._judge: Reader | None = None
        self._spent: list[tuple[Spending, tuple[int, int, int]]] = []  # each once, and as it began
        self.calls = self.read = self.written = self.done = 0
        self.began: float | None = None  # when the first judge was there to be asked
        self.first: float | None = None  # when its first answer came

    @property
    def judge(self) -> Reader | None:
        """The judge whose answers come now."""
        return self._judge

    @judge.setter
    def judge(self, judge: Reader) -> None:
        self._judge = judge
        self.began = perf_counter() if self.began is None else self.began
        spending = getattr(judge, "spending", None)
        self.expect(self.bar.total)
        if spending is not None and all(spending is not one for one, _ in self._spent):
            self._spent.append((spending, _counts(spending)))

    def expect(self, calls: int) -> None:
        """So many calls at most, or what the limit allows; the bar counts them."""
        limit = getattr(getattr(self.judge, "spending", None), "limit_calls", None)
        self.bar.total = calls if limit is None else min(calls, limit)

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers."""
        self.first = perf_counter() if self.first is None else self.first
        self.calls += len(answers)
        self.read += sum(answer.read for answer in answers)
        self.written += (1 if self.judge is None else self.judge.written) * len(answers)
        self.bar.update(len(answers))
        if self.calls >= MEASURED and not self.told:
            self._tell_time()
        if self.price is not None:
            read, written, _ = self.bill()
            self.bar.set_postfix_str(f"${self.price.of(read, written):,.4f}", refresh=False)

    def _tell_time(self) -> None:
        """The first line: how many calls, and what they take if they go on like this."""
        self.told, now, calls = True, perf_counter(), self.bar.total
        if self.began is None or self.first is None or calls <= self.calls:
            return
        spent, gap = now - self.began, now - self.first
        # One by one, of which the first may have had to wait for a model; or both together, as a
        # batch; or side by side, each as long as the time until there were two.
        at_once = getattr(getattr(self.judge, "options", None), "concurrency", 1)
        each = gap if gap > TOGETHER * spent else spent / self.calls
        each = spent if at_once > 1 else each
        time = duration(calls * each / min(at_once, calls))
        say: Any = self.bar.write if spent > self.bar.delay else print  # not to draw it early
        if self.price is not None:
            read, written, _ = self.bill()
            time += f" and ${self.price.of(read, written) * calls / self.calls:,.4f}"
        say(f"judging: at most {calls:,} calls, about {time} by the first two", file=sys.stderr)

    def skip_stored(self, calls: int) -> None:
        """Take calls whose answers are stored off the total of the bar."""
        self.bar.total -= calls

    def passed(self, calls: int) -> None:
        """A ranking is made, whether its calls were needed or not."""
        self.done += calls
        self.bar.update(self.done - self.bar.n)

    def bill(self) -> tuple[int, int, int]:
        """Tokens read and written, and replies billed that could not be used.

        As the judge's server counted them, tries that failed too; where nobody counts, those of the
        answers, and the most that may have been written.
        """
        now = [np.subtract(_counts(one), began) for one, began in self._spent]
        tokens, written, unused = np.sum(now, axis=0).tolist() if now else (0, 0, 0)
        if not tokens:
            return self.read, self.written, 0
        return tokens - written, written or self.written, unused

    def notes(self) -> list[str]:
        """Price what was asked."""
        if self.price is None:
            return []
        read, written, unused = self.bill()
        # By the bytes, of a server that counts no tokens.
        bound = "at most " if read and not self.read else ""
        known = not written or any(one.written for one, _ in self._spent)
        most = "" if known else "at most "
        more = f"; {unused:,} more replies were billed and could not be used" if unused else ""
        return [
            f"asked now: {self.calls:,} {'call' if self.calls == 1 else 'calls'}, "
            f"{bound}{read:,} tokens read and {most}{written:,} written, "
            f"${self.price.of(read, written):,.4f} at ${self.price.input:g} and "
            f"${self.price.output:g} a million{more}"
        ]


def _counts(spending: Spending) -> tuple[int, int, int]:
    return spending.tokens, spending.written, spending.unused
