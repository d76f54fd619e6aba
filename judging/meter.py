"""New answers counted, priced and shown as they come."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from judging.cost import Price
from judging.question import Answer, Reader


class Meter:
    """New answers counted, priced, and shown by a bar after two seconds; a store's `progress`.

    total : calls at most. shown : whether there is a bar; by default on a terminal and in a
    notebook. price : dollars per million tokens read, and written. judge : whose answers come now.
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
        self.judge: Reader | None = None
        self.calls = self.read = self.written = self.done = 0

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers."""
        self.calls += len(answers)
        self.read += int(sum(max(answer.tokens, answer.computed) for answer in answers))
        self.written += (1 if self.judge is None else self.judge.written) * len(answers)
        self.bar.update(len(answers))

    def passed(self, calls: int) -> None:
        """A ranking is made, whether its calls were needed or not."""
        self.done += calls
        self.bar.update(self.done - self.bar.n)

    def notes(self) -> list[str]:
        """What was asked, priced."""
        if self.price is None:
            return []
        return [
            f"asked now: {self.calls:,} calls, {self.read:,} tokens read and at most "
            f"{self.written:,} written, ${self.price.of(self.read, self.written):,.4f} at "
            f"${self.price.input:g} and ${self.price.output:g} a million"
        ]
