"""Questions and a judge whose answers can be computed by hand, for the tests of the store."""

import hashlib
import math
import time

from judging.question import Answer, Prompt, Question, Reader, Text
from judging.store import Store

PROMPT = Prompt("test/better", "{context}\nA: {first}\nB: {second}\nWhich is better?")


def texts(count, word="text"):
    return [Text(f"{word}-{k}", f"the {word} number {k}") for k in range(count)]


def questions(count, *, contexts=1):
    """All ordered pairs of `count` texts in each context."""
    items = texts(count)
    return [
        Question(PROMPT, first, second, context)
        for context in texts(contexts, "context")
        for first in items
        for second in items
        if first is not second
    ]


def hear(monkeypatch, judge, what):
    """A list that fills with `what(question)` for every question that a kind of judge answers."""
    heard, answer = [], judge.answer

    def listening(self, questions):
        for k, said in answer(self, questions):
            heard.append(what(questions[k]))
            yield k, said

    monkeypatch.setattr(judge, "answer", listening)
    return heard


def expected(question):
    """The answer of `HashJudge`: a function of the question, so a torn one would show."""
    share = int(hashlib.sha256(question.key.encode()).hexdigest()[:8], 16) / 2**32
    p = 0.05 + 0.9 * share
    return Answer(
        (math.log(0.9 * p), math.log(0.9 * (1 - p))), tokens=len(question.text), computed=1.5
    )


class HashJudge(Reader):
    """Answers by a hash, or at some positions `instead`; counts what it was asked.

    It is not a language model.
    """

    def __init__(self, *, delay=0.0, fail_after=None, error=None, instead=(), **fields):
        self.specification = {"kind": "hash", "revision": "1", **fields}
        self.delay, self.fail_after, self.error = delay, fail_after, error
        self.instead = dict(instead)
        self.asked = []
        self.closed = False

    def answer(self, questions):
        try:
            for position, question in enumerate(questions):
                if position == self.fail_after:
                    raise self.error
                if self.delay:
                    time.sleep(self.delay)
                self.asked.append(question.key)
                yield position, self.instead.get(position, expected(question))
        finally:
            self.closed = True


def filled(path, asked, **options):
    """A store of a `HashJudge`'s answers to some questions, closed."""
    with Store(path) as store:
        store.ask(HashJudge(**options), asked)
    return path
