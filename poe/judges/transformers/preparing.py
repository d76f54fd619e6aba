"""Questions as token ids, in chunks that share prefixes, none longer than the model allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from poe.errors import JudgeError
from poe.judges.questions import PLACES, Question, Text
from poe.judges.transformers.chat import Target, Writer

CHUNK = 1024  # questions whose tokens are held at a time; one SummEval article has 960
SLACK = 64  # bytes that writing may add to one text and not to another, such as broken tokens

Item = TypeVar("Item")


@dataclass(frozen=True)
class Ready:
    """A question as the model will read it.

    cut : tokens taken from its context.
    broken : whether control tokens in it had to be broken.
    """

    position: int
    ids: list[int]
    target: Target
    cut: int = 0
    broken: bool = False


def name(question: Question) -> str:
    """A question in its owner's words."""
    texts = [("first", question.first), ("second", question.second), ("context", question.context)]
    shown = ", ".join(f"{place} {text.id!r}" for place, text in texts if text is not None)
    return f"{question.prompt.name!r} ({shown})"


def chunks(questions: Sequence[Question], *, most: int = CHUNK) -> Iterator[list[int]]:
    """Positions of questions, those that begin alike together; at most `most` in a chunk.

    A chunk ends where a new context begins, as long as that leaves it at least half full.
    """

    def key(k: int) -> tuple[str, ...]:
        question = questions[k]
        template = question.prompt.template
        places = sorted((p for p in PLACES if p in template), key=lambda p: template.find(f"{{{p}"))
        texts = [getattr(question, place) for place in places]
        return (*(text.digest for text in texts if text is not None), question.prompt.digest)

    keys = {k: key(k) for k in range(len(questions))}
    order = sorted(keys, key=lambda k: keys[k])
    while order:
        end = min(most, len(order))
        if end < len(order):
            new = [k for k in range(1, end + 1) if keys[order[k]][0] != keys[order[k - 1]][0]]
            end = new[-1] if new and new[-1] >= most // 2 else end
        yield order[:end]
        order = order[end:]


def prepare(
    questions: Sequence[Question],
    positions: Sequence[int],
    writer: Writer,
    *,
    longest: int | None,
    cut: bool,
) -> list[Ready]:
    """Write and encode questions; those too long are cut in their context, or refused.

    Raises JudgeError for a question longer than `longest` tokens that may not be cut, or cannot.
    """
    chosen = [questions[k] for k in positions]
    written = [writer.write(q.prompt, q.text) for q in chosen]
    targets = [writer.target(q.prompt, w) for q, w in zip(chosen, written, strict=True)]
    ready = []
    encoded = writer.encode(written)
    for position, question, ids, target in zip(positions, chosen, encoded, targets, strict=True):
        n = len(ids)
        if longest is not None and n > longest:
            if not cut:
                raise JudgeError(too_long(question, n, longest))
            ids = shorten(question, writer, longest, n)
        broken = writer.breaks(question.text)
        ready.append(Ready(position, ids, target, n - len(ids), broken))
    return ready


def refuse_long(questions: Sequence[Question], writer: Writer, *, longest: int) -> None:
    """Raise JudgeError, before anything is asked, for the first question that is too long.

    No token is shorter than a byte, so that only questions of many bytes are written out.
    """
    around: dict[str, int] = {}
    for question in questions:
        prompt, size = question.prompt, len(question.text.encode())
        if prompt.digest not in around:
            around[prompt.digest] = len(writer.write(prompt, question.text).encode()) - size
        if size + around[prompt.digest] + SLACK >= longest:
            ids = writer.encode([writer.write(prompt, question.text)])[0]
            if len(ids) > longest:
                raise JudgeError(too_long(question, len(ids), longest))


def too_long(question: Question, tokens: int, longest: int) -> str:
    """The message for a question that does not fit."""
    way = (
        "cut its context with too_long='truncate-context', shorten the texts, or take another model"
        if question.context is not None
        else "shorten the texts, or take another model"
    )
    return f"question {name(question)} has {tokens} tokens, and the model reads {longest}; {way}"


def shorten(question: Question, writer: Writer, longest: int, tokens: int) -> list[int]:
    """Tokens of the question with as much of its context, whole words from the start, as fits."""
    if question.context is None:
        raise JudgeError(too_long(question, tokens, longest))
    words = question.context.text.split(" ")

    def with_words(n: int) -> list[int]:
        context = Text(question.context.id, " ".join(words[:n]))  # type: ignore[union-attr]
        shorter = replace(question, context=context)
        return writer.encode([writer.write(shorter.prompt, shorter.text)])[0]

    low, high, best = 0, len(words), with_words(0)
    if len(best) > longest:
        raise JudgeError(
            f"question {name(question)} has {len(best)} tokens without any of its context, and the "
            f"model reads {longest}; shorten the texts, or take another model"
        )
    while high - low > 1:  # the largest number of words that fits
        middle = (low + high) // 2
        ids = with_words(middle)
        if len(ids) <= longest:
            low, best = middle, ids
        else:
            high = middle
    return best


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, the next one being made in a thread while one is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item
