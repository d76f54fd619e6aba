"""What a judge that reads is asked, and what it answers.

A `Text` has the name by which its owner knows it. A `Prompt` is a template with label words; a
`Question` is a prompt filled with texts; an `Answer` is the log-probability of every label word.
Judges that read texts (`Reader`) map questions to answers; where the questions come from, and where
the answers are kept, is not their business.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from judging.errors import InvalidDataError
from judging.quoting import quoted, require_printable

if TYPE_CHECKING:
    from judging.judges.spending import Spending

REASON = 1000  # letters of why a question was refused, our words about it among them
ROUGHLY = "by the bytes of the texts"  # how tokens are counted where nobody knows them
# Bytes of a token of ASCII and of other letters, at most, mostly and at least: measured with the
# tokenizers of SmolLM2 and Qwen2.5 on English, German, code, and text in seven other scripts.
ASCII, OTHERS = (6.5, 3.7, 2.3), (5.5, 2.2, 1.1)
CERTAIN = 1e-12  # the least probability of a label that was seen: fits are exact up to there
PLACES = ("context", "first", "second")


@dataclass(frozen=True)
class Text:
    """A text and the name by which its owner knows it.

    Examples
    --------
    >>> judging.Text("essay-3", "Comparing is easier.").id
    'essay-3'
    """

    id: str
    text: str

    def __post_init__(self) -> None:
        require_printable(self.id)
        if not isinstance(self.text, str):
            raise InvalidDataError(
                f"the text {self.id!r} is {quoted(repr(self.text), 40)}, which is no string"
            )
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            raise InvalidDataError(
                f"the text has half of a character in it (U+{ord(self.text[error.start]):04X}, "
                f"letter {error.start + 1}); remove it"
            ) from None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text; the store keeps this and not the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Prompt:
    """A template and its label words (paper Table 4; book chapter 2).

    Parameters
    ----------
    name
        What it is called, for example "summeval/coherence".
    template
        The user's turn; places {context}, {first} and {second}, each at most once. A comparison has
        {first} and {second}, a scoring prompt {first} alone.
    labels
        The words whose probabilities are the answer; ("A", "B") for a comparison, first shown
        first, or the scale of a scoring prompt, ("1", ..., "5").
    prefix
        How the answer starts before the label, for example "Summary".
    system
        A system message, where the model has one.

    Examples
    --------
    >>> judging.Prompt("mine", "Which is better, {first} or {second}?").comparative
    True
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
    """One call of a judge: a prompt and the texts that fill it.

    Examples
    --------
    >>> prompt = judging.Prompt("mine", "A: {first} B: {second} Which is better?")
    >>> judging.Question(prompt, judging.Text("x", "Yes."), judging.Text("y", "No.")).text
    'A: Yes. B: No. Which is better?'
    """

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

    Parameters
    ----------
    log_p
        Natural logarithm of the probability of each label word, -inf where it was not seen.
    tokens
        Of the whole prompt.
    computed
        Tokens that went through the model for it; fewer than `tokens` where a prefix was shared,
        and a fraction where it is shared out.
    seconds
        Of work on it (its share of a batch).
    draws
        Sampled answers that `log_p` counts, 0 where the model gave log-probabilities.
    refused
        Why there is no answer and will be none, as the judge said it; "" for an answer. No label
        was seen then.

    Examples
    --------
    >>> judging.Answer(log_p=(-0.1, -2.3), tokens=40).log_p
    (-0.1, -2.3)
    """

    log_p: tuple[float, ...]
    tokens: int = 0
    computed: float = 0.0
    seconds: float = 0.0
    draws: int = 0
    refused: str = ""

    @classmethod
    def refusal(cls, prompt: Prompt, why: str, **counts: float) -> Answer:
        """The answer to a question that the judge will never answer; counts : as in `Answer`."""
        none = (float("-inf"),) * len(prompt.labels)
        return cls(none, refused=quoted(why, REASON) or "no reason given", **counts)  # type: ignore[arg-type]

    @property
    def read(self) -> int:
        """Tokens sent for it: of its prompt, and of all requests where samples took several."""
        return int(max(self.tokens, self.computed)) if self.draws else self.tokens

    @property
    def mass(self) -> float:
        """Probability that any of the label words comes next, at most 1."""
        return float(np.exp(self.log_p).sum())

    @property
    def p(self) -> float:
        """P(first is better) = P(A) / (P(A) + P(B)) (book chapter 2); NaN if neither was seen."""
        return float(first_better(*self.log_p[:2]))


def first_better(log_a: ArrayLike, log_b: ArrayLike) -> np.ndarray:
    """P(A) / (P(A) + P(B)) from log-probabilities (book eq. 2.2); NaN where neither was seen.

    Where both labels were seen it is never quite 0 or 1, which are decisions.
    """
    a, b = np.asarray(log_a, dtype=float), np.asarray(log_b, dtype=float)
    with np.errstate(invalid="ignore"):  # neither: minus infinity from minus infinity
        p = np.exp(a - np.logaddexp(a, b))
    return np.where(np.isfinite(a) & np.isfinite(b), np.clip(p, CERTAIN, 1.0 - CERTAIN), p)


def by_bytes(text: str) -> tuple[float, float, float]:
    """Tokens of a text where no tokenizer is at hand: at least, mostly, at most."""
    size, plain = len(text.encode("utf-8", "replace")), sum(map(str.isascii, text))
    least, mostly, most = (
        plain / ascii + (size - plain) / other for ascii, other in zip(ASCII, OTHERS, strict=True)
    )
    return least, mostly, most


class Reader:
    """A judge that reads texts: derive a class from this one and give it the first two.

    Parameters
    ----------
    specification
        Everything about the judge that changes its answers (kind, model, revision, precision, chat
        template, ...), as strings; the store keeps answers by it.
    answer
        Yields answers with the positions of their questions, in any order; for a question that it
        will never answer, `Answer.refusal`.
    spending
        The limits that it keeps, None where it keeps none.
    written
        Most tokens that one answer has.
    bounded
        Whether a reply has a most at all, so that a price has one too.
    counted_by
        How `count_tokens` counts, in words.
    unknown
        Fields of the specification that only a first answer tells.
    by_file
        Whether questions wait in a file for a later answer, a whole round of them together.

    Notes
    -----
    The rest has a default.

    Examples
    --------
    >>> issubclass(type(judging.open("demo")), judging.Reader)
    True
    """

    spending: Spending | None = None
    written: int = 1
    bounded: bool = True
    counted_by: str = ROUGHLY
    unknown: tuple[str, ...] = ()
    by_file: bool = False

    if TYPE_CHECKING:  # any attribute will do, one that is set in __init__ too

        @property
        def specification(self) -> Mapping[str, str]:
            """What makes two judges the same judge."""

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come, each with the position of its question, in any order."""
        raise NotImplementedError

    def count_tokens(self, questions: Sequence[Question]) -> Sequence[float]:
        """Tokens of each question, at least roughly; nothing is asked."""
        return [by_bytes(question.text)[1] for question in questions]

    @property
    def described(self) -> Mapping[str, str]:
        """What is known of the specification without a call: not the fields that are `unknown`."""
        return self.specification

    def believe(self, specification: Mapping[str, str]) -> None:
        """Take over what is `unknown` from a store's specification, until an answer tells."""
