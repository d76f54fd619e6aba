"""What a judge that reads is asked, and what it answers.

A `Prompt` is a template with label words; a `Question` is a prompt filled with texts; an
`Answer` is the log-probability of every label word. Judges that read texts (`Reader`) map
questions to answers; where the questions come from (of a dataset, `questions_of`) and where the
answers are kept is not their business.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from poe.comparisons import Indices
from poe.datasets.texts import Text
from poe.designs import in_orders_shown, regular
from poe.errors import JudgeError

if TYPE_CHECKING:
    from poe.datasets import Dataset

PLACES = ("context", "first", "second")


@dataclass(frozen=True)
class Prompt:
    """A template and its label words (paper Table 4; book chapter 2).

    name : what it is called, for example "summeval/coherence".
    template : the user's turn; places {context}, {first} and {second}, each at most once. A
        comparison has {first} and {second}, a scoring prompt {first} alone.
    labels : the words whose probabilities are the answer; ("A", "B") for a comparison, first
        shown first, or the scale of a scoring prompt, ("1", ..., "5").
    prefix : how the answer starts before the label, for example "Summary".
    system : a system message, where the model has one.
    """

    name: str
    template: str
    labels: tuple[str, ...] = ("A", "B")
    prefix: str = ""
    system: str | None = None

    def __post_init__(self) -> None:
        places = re.findall(r"\{(\w+)\}", self.template)
        unknown = [place for place in places if place not in PLACES]
        if unknown or len(set(places)) < len(places) or "first" not in places:
            raise ValueError(
                f"prompt {self.name!r}: the template needs {{first}}, and may have {{context}} and "
                f"{{second}}, each once; it has {', '.join(places) or 'no places'}"
            )
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"prompt {self.name!r}: label words must be two or more, all distinct")
        if self.comparative and len(self.labels) != 2:
            raise ValueError(f"prompt {self.name!r}: a comparison has two label words")

    @property
    def comparative(self) -> bool:
        """Whether it compares two texts (or scores one)."""
        return "{second}" in self.template

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in it that changes an answer; its name does not."""
        parts = [self.template, list(self.labels), self.prefix, self.system]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """One call of a judge: a prompt and the texts that fill it."""

    prompt: Prompt
    first: Text
    second: Text | None = None
    context: Text | None = None

    def __post_init__(self) -> None:
        for place in ("second", "context"):
            needed, given = f"{{{place}}}" in self.prompt.template, getattr(self, place)
            if needed != (given is not None):
                raise ValueError(
                    f"prompt {self.prompt.name!r} has {'a' if needed else 'no'} {{{place}}}, but "
                    f"the question has {'none' if needed else 'one'}"
                )

    def __str__(self) -> str:
        """The names of its prompt and texts, never the texts themselves."""
        places = ("first", "second", "context")
        shown = {place: text for place in places if (text := self.texts[place]) is not None}
        named = (f"{place} {text.id!r}" for place, text in shown.items())
        return f"prompt {self.prompt.name!r} with {', '.join(named)}"

    @property
    def texts(self) -> dict[str, Text | None]:
        """Its texts by their place, in the order of `PLACES`."""
        return {"context": self.context, "first": self.first, "second": self.second}

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the texts that it has, in the order of `PLACES`."""
        return tuple(text.id for text in self.texts.values() if text is not None)

    @property
    def text(self) -> str:
        """The user's turn: the template with the texts in their places."""
        given = {place: text.text for place, text in self.texts.items() if text is not None}
        return re.sub(r"\{(\w+)\}", lambda place: given[place[1]], self.prompt.template)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the prompt and the texts in the order shown: the same key, the same answer."""
        texts = [None if text is None else text.digest for text in self.texts.values()]
        return hashlib.sha256(json.dumps([self.prompt.digest, texts]).encode()).hexdigest()


@dataclass(frozen=True)
class Answer:
    """What a judge said to one question.

    log_p : natural logarithm of the probability of each label word, -inf where it was not seen.
    tokens : of the whole prompt. computed : tokens that went through the model for it; fewer
        than `tokens` where a prefix was shared, and a fraction where it is shared out.
    seconds : of work on it (its share of a batch). draws : sampled answers that `log_p` counts,
        0 where the model gave log-probabilities.
    """

    log_p: tuple[float, ...]
    tokens: int = 0
    computed: float = 0.0
    seconds: float = 0.0
    draws: int = 0

    @property
    def mass(self) -> float:
        """Probability that any of the label words comes next, at most 1."""
        return float(np.exp(self.log_p).sum())

    @property
    def p(self) -> float:
        """P(first is better) = P(A) / (P(A) + P(B)) (book chapter 2); NaN if neither was seen."""
        share = np.exp(self.log_p)
        return float(share[0] / share.sum()) if share.sum() > 0 else float("nan")


class Reader(Protocol):
    """A judge that reads texts: transformers model, server, or the demo.

    specification : everything about the judge that changes its answers (kind, model, revision,
        precision, chat template, ...), as strings; the store keeps answers by it.
    """

    @property
    def specification(self) -> Mapping[str, str]:
        """What makes two judges the same judge."""

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come, each with the position of its question, in any order."""


# Of a dataset ---------------------------------------------------------------------------------


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
    shown = in_orders_shown(upper, both_orders=both_orders, rng=rng)
    every = shown if both_orders else np.vstack([shown, shown[:, ::-1]])
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
