"""What asking a judge costs: prices, and tokens and time estimated before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judging.question import ROUGHLY, Question, Reader, by_bytes

if TYPE_CHECKING:
    import pandas as pd

MEASURED = 20  # answers from which the store's own tokens are taken for those to come
SAMPLE = 64  # questions whose tokens are counted
PAUSE = 60.0  # seconds without an answer that end a run


@dataclass(frozen=True)
class Price:
    """Dollars, or any money, per million tokens read and per million written."""

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 <= value < math.inf:
                raise ValueError(
                    f"the price of {name} tokens is a number of at least 0, not {value}"
                )

    def of(self, read: float, written: float) -> float:
        """Compute the price of some tokens."""
        return (read * self.input + written * self.output) / 1e6


@dataclass(frozen=True)
class Cost:
    """What asking will take: tokens and seconds with how they were found, None if unknown.

    tokens_low, tokens_high : between which the tokens will be, the same where they are known.
    """

    tokens: float
    tokens_by: str
    seconds: float | None
    seconds_by: str
    tokens_low: float = 0.0
    tokens_high: float = 0.0


def cost(
    questions: Sequence[Question],
    judge: Reader,
    answered: pd.DataFrame,
    *,
    calls: int | None = None,
) -> Cost:
    """Tokens and time of questions, from a sample and from what the judge did before.

    Tokens are the judge's own where it has a tokenizer here; else what its answers in the store
    took, a byte of the question for a byte; else a guess by bytes, with its bounds.
    answered : rows of the store's `table` for this judge; their times of storing give the
        throughput, pauses left out. calls : how many questions there are, where those given are
        only some.
    """
    if not questions:
        return Cost(0.0, "nothing to ask", 0.0, "nothing to ask")
    sample = list(questions[:: max(len(questions) // SAMPLE, 1)][:SAMPLE])
    counted = "one question" if len(sample) == 1 else f"{len(sample)} questions"
    each, by = float(np.mean(judge.count_tokens(sample))), f"{judge.counted_by}, {counted}"
    n, seconds, measured = len(questions) if calls is None else calls, None, ""
    low = high = each
    if judge.counted_by == ROUGHLY:
        low, _, high = np.mean([by_bytes(q.text) for q in sample], axis=0).tolist()
        same = {question.prompt.digest for question in questions}
        tokens = answered[["tokens", "computed"]].max(axis=1)  # of all samples of an answer
        tokens = tokens[answered["prompt_digest"].isin(same)]
        if len(tokens) >= MEASURED and tokens.mean() > 0:
            low = high = each = float(tokens.mean())
            by = f"what {len(tokens):,} answers in this store took"
    rate = throughput(answered["at"]) if len(answered) else None
    if rate:
        seconds, measured = n / rate, f"{rate:.3g}/s in this store so far"
    return Cost(each * n, by, seconds, measured, low * n, high * n)


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "3 min", "2.5 h", "4 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"


def throughput(at: pd.Series) -> float | None:
    """Answers per second while a judge was at work, from the times at which they were stored."""
    gaps = at.sort_values().diff().dt.total_seconds().to_numpy()[1:]
    busy = gaps[gaps < PAUSE]
    return float(len(busy) / busy.sum()) if busy.size and busy.sum() > 0 else None
