"""New answers counted, priced and shown as they come."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy as np

from judging.cost import Price
from judging.judges.spending import Spending
from judging.question import Answer, Reader


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
        self.price = price and Price(*price)
        self._judge: Reader | None = None
        self._spent: list[tuple[Spending, tuple[int, int, int]]] = []  # each once, and as it began
        self.calls = self.read = self.written = self.done = 0

    @property
    def judge(self) -> Reader | None:
        """Whose answers come now."""
        return self._judge

    @judge.setter
    def judge(self, judge: Reader) -> None:
        self._judge = judge
        spending = getattr(judge, "spending", None)
        if spending is not None and all(spending is not one for one, _ in self._spent):
            self._spent.append((spending, _counts(spending)))

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers."""
        self.calls += len(answers)
        self.read += sum(answer.read for answer in answers)
        self.written += (1 if self.judge is None else self.judge.written) * len(answers)
        self.bar.update(len(answers))
        if self.price is not None:
            read, written, _ = self.bill()
            self.bar.set_postfix_str(f"${self.price.of(read, written):,.4f}", refresh=False)

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
        """What was asked, priced."""
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
