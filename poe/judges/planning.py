"""Which questions a dataset comes to, and what they will cost before any is asked."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poe.comparisons import Indices
from poe.datasets.dataset import Dataset
from poe.designs import regular
from poe.errors import JudgeError
from poe.judges.demo import DemoJudge
from poe.judges.questions import Answer, Prompt, Question, Reader, Text

SAMPLE = 64  # questions whose tokens are counted
PAUSE = 60.0  # seconds without an answer that end a run


def pairs_of(n_items: int, count: int | None, *, both_orders: bool, seed: Sequence[int]) -> Indices:
    """The first `count` of all N(N-1) comparisons in an order of their own; (count, 2).

    All pairs come before any in its other order, unless `both_orders` puts the two next to each
    other. From N - 1 pairs on all items are linked, and every beginning spreads them evenly
    (`poe.designs.regular`). A larger count with the same seed contains a smaller one, so a store
    that is filled further asks only what is new.
    """
    most = n_items * (n_items - 1)
    rng = np.random.default_rng(list(seed))
    upper = regular(n_items, most // 2, seed=rng)
    turned = np.where(rng.random((len(upper), 1)) < 0.5, upper[:, ::-1], upper)
    if both_orders:
        every = np.stack([turned, turned[:, ::-1]], axis=1).reshape(-1, 2)
    else:
        every = np.vstack([turned, turned[:, ::-1]])
    count = most if count is None else count
    if count > most:
        raise JudgeError(
            f"{n_items} texts have {most} comparisons, both orders counted; {count} were asked for"
        )
    if both_orders and count % 2:
        raise JudgeError(f"with both orders the calls come in twos: {count + 1}, not {count}")
    return every[:count]


def questions_of(
    dataset: Dataset,
    prompt: Prompt,
    *,
    contexts: Sequence[int],
    calls: int | None = None,
    both_orders: bool = False,
    seed: int = 0,
) -> list[Question]:
    """The questions of some contexts of a dataset, context after context.

    For a comparison `calls` in each context (all of them by default, see `pairs_of`); for a
    scoring prompt one a text.
    """
    made = []
    for c in contexts:
        texts = dataset.candidates(c)
        context = dataset.context(c) if "{context}" in prompt.template else None
        if not prompt.comparative:
            made += [Question(prompt, text, None, context) for text in texts]
            continue
        pairs = pairs_of(len(texts), calls, both_orders=both_orders, seed=(seed, c))
        made += [Question(prompt, texts[i], texts[j], context) for i, j in pairs.tolist()]
    return made


def examples(dataset: Dataset, prompt: Prompt, *, cut: int = 0) -> Iterator[Question]:
    """Questions to look at: the first pair of every context, other pairs where there is but one.

    cut : characters shown of a text; 0 for all.
    """

    def shown(text: Text) -> Text:
        rest = len(text.text) - cut
        if cut < 1 or rest <= 0:
            return text
        return Text(text.id, f"{text.text[:cut]} [{rest:,} more characters]")

    step = 2 if prompt.comparative else 1
    last = dataset.n_candidates - step if dataset.n_contexts == 1 else 0
    for c in range(dataset.n_contexts):
        context = dataset.context(c) if "{context}" in prompt.template else None
        texts = [shown(text) for text in dataset.candidates(c)]
        for k in range(0, last + 1, step):
            second = texts[k + 1] if prompt.comparative else None
            yield Question(prompt, texts[k], second, context and shown(context))


def contexts_of(dataset: Dataset, wanted: str | None) -> range:
    """Positions that "10" (the first ten) or "20:30" stand for; all by default."""
    n = dataset.n_contexts
    if wanted is None:
        return range(n)
    form = re.fullmatch(r"(?:(\d+):)?(\d+)", wanted)
    start, end = (int(form[1] or 0), int(form[2])) if form else (0, 0)
    if not start < end <= n:
        raise JudgeError(
            f"contexts are 10 (the first ten) or 20:30 (from the 21st to the 30th), at most {n}, "
            f"not {wanted!r}"
        )
    return range(start, end)


def shard_of(questions: Sequence[Question], shard: str | None) -> list[Question]:
    """The i-th of n equal parts for "i/n", neighbours together so that prefixes are shared."""
    if shard is None:
        return list(questions)
    form = re.fullmatch(r"(\d+)/(\d+)", shard)
    i, n = (int(form[1]), int(form[2])) if form else (0, 0)
    if not 1 <= i <= n:
        raise JudgeError(f"a shard is written 2/8, the second of eight, not {shard!r}")
    cut = [len(questions) * k // n for k in (i - 1, i)]
    return list(questions[cut[0] : cut[1]])


@dataclass(frozen=True)
class Price:
    """Dollars (or any money) for a million tokens read, and for a million written."""

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 <= value < math.inf:
                raise ValueError(
                    f"the price of {name} tokens is a number of at least 0, not {value}"
                )

    def of(self, read: float, written: float) -> float:
        """What so many tokens cost."""
        return (read * self.input + written * self.output) / 1e6


def written(judge: Reader | None) -> int:
    """Most tokens that one answer of a judge has, 1 where nothing else is known."""
    return int(getattr(getattr(judge, "options", None), "written", 1))


class Meter:
    """New answers counted, priced, and shown by a bar after two seconds; a store's `progress`.

    total : calls at most. shown : whether there is a bar; by default on a terminal and in a
    notebook. price : for a million tokens read, and written. judge : whose answers come now.
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
        self.written += written(self.judge) * len(answers)
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


@dataclass(frozen=True)
class Cost:
    """What asking will take: tokens and seconds with how they were found, None if unknown."""

    tokens: float
    tokens_by: str
    seconds: float | None
    seconds_by: str


def cost(
    questions: Sequence[Question],
    judge: Reader,
    answered: pd.DataFrame,
    *,
    calls: int | None = None,
) -> Cost:
    """Tokens and time of questions, from a sample and from what the judge did before.

    answered : rows of the store's `table` for this judge; their times of storing give the
        throughput, pauses left out. calls : how many questions there are, where those given are
        only some.
    """
    if not questions:
        return Cost(0.0, "nothing to ask", 0.0, "nothing to ask")
    sample = list(questions[:: max(len(questions) // SAMPLE, 1)][:SAMPLE])
    demo = isinstance(judge, DemoJudge)
    count = getattr(judge, "count_tokens", None)
    if count is not None:
        each, by = np.mean(count(sample)), f"the judge's tokenizer, {len(sample)} questions"
    else:
        words = np.mean([len(question.text.split()) for question in sample])
        each = words if demo else 4.0 / 3.0 * words
        by = "words; the demo judge has no tokens" if demo else "words, at four tokens for three"
    n, seconds, measured = len(questions) if calls is None else calls, None, ""
    rate = throughput(answered["at"]) if len(answered) else None
    if rate:
        seconds, measured = n / rate, f"{rate:.3g}/s in this store so far"
    return Cost(float(each) * n, by, seconds, measured)


def throughput(at: pd.Series) -> float | None:
    """Answers a second while a judge was at work, from the times at which they were stored."""
    gaps = at.sort_values().diff().dt.total_seconds().to_numpy()[1:]
    busy = gaps[gaps < PAUSE]
    return float(len(busy) / busy.sum()) if busy.size and busy.sum() > 0 else None
