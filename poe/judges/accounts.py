"""Accounts of a judge: what it may spend, spent and will spend, and how often it gave no label."""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poe.comparisons import Floats
from poe.errors import JudgeError
from poe.judges.questions import Answer, Prompt, Question, Reader

if TYPE_CHECKING:
    import pandas as pd

SILENT = 10  # answers without a label, from the start on, after which there is no point
SAMPLE = 64  # questions whose tokens are counted
PAUSE = 60.0  # seconds without an answer that end a run
SMALL = 0.5  # mean label mass below which a model mostly means to say something else


class AskingEndedError(JudgeError):
    """Nothing more can be asked for now; what was answered is sound, and kept."""


class SpendingLimitError(AskingEndedError):
    """The next call could go over the limit in calls or tokens."""


class Spending:
    """What was spent and what may be; one judge's threads share it, and never exceed it.

    calls : made so far. tokens : read and written in those that have ended.
    Room for a call is reserved before it is made, for the most tokens that it may take, and
    what it did take is noted afterwards. So up to one call's bound of the limit stays unused.
    """

    def __init__(self, *, calls: int | None = None, tokens: int | None = None) -> None:
        for name, limit in (("call_limit", calls), ("token_limit", tokens)):
            if limit is not None and (not isinstance(limit, int) or limit < 1):
                raise JudgeError(
                    f"{name} is a whole number of at least 1, not {limit!r}; leave it out for none"
                )
        self._call_limit, self._token_limit = calls, tokens
        self.calls = self.tokens = self._reserved = 0
        self._lock = threading.Lock()

    def reserve(self, bound: int) -> bool:
        """Room for one call of at most `bound` tokens; False if calls under way must end first.

        Raises SpendingLimitError if there is none even then.
        """
        with self._lock:
            room = math.inf if self._token_limit is None else self._token_limit - self.tokens
            if self.calls == self._call_limit or bound > room:
                raise SpendingLimitError(self._message(bound))
            if self._reserved + bound > room:
                return False
            self.calls += 1
            self._reserved += bound
            return True

    def settle(self, bound: int, tokens: int | None, *, turned_away: bool = False) -> None:
        """Note what a reserved call took: `tokens`, all of its bound if None.

        turned_away : nobody worked on it, so that it does not count at all.
        """
        with self._lock:
            self._reserved -= bound
            if turned_away:
                self.calls -= 1
            else:
                self.tokens += bound if tokens is None else tokens

    def _message(self, bound: int) -> str:
        limit = f"{self._token_limit or 0:,} tokens"
        used = f"{self.calls:,} calls and {self.tokens:,} tokens were used"
        if self.calls == self._call_limit:
            limit = f"{self._call_limit:,} calls"
        else:
            used += f", and the next call may need {bound:,}"
        return f"the limit of {limit} is reached ({used})"


class Tally:
    """Counts a judge's answers prompt by prompt; every kind of warning is given once a prompt.

    model : its name. top : how many of the likeliest tokens a server shows, None if all count.
    """

    def __init__(self, model: str, *, top: int | None = None) -> None:
        self.model, self.top = model, top
        # Answers, those without any label, those with one of two, probability of the labels, and
        # those of several draws that were all the same.
        self._counts: dict[Prompt, Floats] = defaultdict(lambda: np.zeros(5))
        self._said: set[tuple[Prompt, str]] = set()

    def add(self, prompt: Prompt, answer: Answer) -> None:
        """Count one answer."""
        unseen = sum(value == -math.inf for value in answer.log_p)
        neither = unseen == len(answer.log_p)
        one = unseen > 0 and not neither and not answer.draws
        alike = answer.draws > 1 and max(answer.log_p) == 0.0
        self._counts[prompt] += (1, neither, one, answer.mass, alike)

    def silent(self, prompt: Prompt) -> bool:
        """Whether none of the first answers held a label, so that there is no point in more."""
        answers, neither, *_ = self._counts[prompt]
        return bool(neither == answers == SILENT)

    def warn(self) -> None:
        """Say what was counted, if it matters and was not said before."""
        for prompt, (answers, neither, one, mass, alike) in self._counts.items():
            of = f"of {answers:.0f} answers of {self.model} to prompt {prompt.name!r}"
            if neither:
                self._say(prompt, "neither", f"{neither:.0f} {of} held none of the labels")
            if alike == answers >= SILENT:
                text = f"all draws were the same in each {of}: the server seems not to draw at all "
                text += "(for `transformers serve`: options={'generation_config': "
                text += "'{\"do_sample\": true}'})"
                self._say(prompt, "alike", text)
            if one and self.top is not None:
                text = f"a label was not among the {self.top} likeliest tokens and counts as "
                text += "impossible; raise top= if the server allows it"
                self._say(prompt, "one", f"in {one:.0f} {of} {text}")
            if mass < SMALL * answers:
                text = f"({', '.join(map(repr, prompt.labels))} after {prompt.prefix!r} in prompt "
                text += f"{prompt.name!r}): it would rather say something else; change the prompt "
                text += "or its prefix"
                share = f"only {mass / answers:.1%} of the probability on average"
                self._say(prompt, "mass", f"{self.model} gives the label words {share} {text}")

    def _say(self, prompt: Prompt, kind: str, text: str) -> None:
        if (prompt, kind) not in self._said:
            self._said.add((prompt, kind))
            warnings.warn(text, stacklevel=4)


# What it costs -------------------------------------------------------------------------------


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
    from poe.judges.demo import DemoJudge

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
