"""From positions to probabilities: what `judging.rank` needs of a judge that reads texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from judging import kinds
from judging.errors import JudgeError
from judging.question import Answer, Prompt, Question, Reader, Text
from judging.store import Store
from poe.arrays import Floats, Indices, Mask
from poe.errors import name_some

Unanswered = Literal["skip", "tie", "stop"]
MAX_UNDECIDED_SHARE = 0.1  # of all answers with neither label; beyond it the prompt is wrong
NO_LABEL = "neither label was named"


class TextJudge:
    """Puts comparisons of texts to a judge through a store, and keeps what was said.

    Parameters
    ----------
    texts
        What positions stand for.
    context
        What they answer to, where the prompt shows it.
    store
        What keeps the answers; `Store(":memory:")` for this run alone.
    unanswered
        A question that the judge will never answer (a content filter, a text too long for it), or
        whose answer gives neither label a probability, is left out ("skip", NaN in what `answer`
        returns; a JudgeError where more than a tenth name neither), counts as a "tie", or raises a
        JudgeError that names the texts ("stop").
    progress
        Handed to the store, called as answers come.
    answered
        What `store.answered(judge, prompt)` said, where many contexts have it in common.

    Notes
    -----
    `answer` is the callable that `judging.rank` takes. What was asked is in `pairs`, (K, 2), what
    was said in `answers`, both in the order asked, without what was left out: that is in `refused`,
    (first, second, why). `meanwhile` is called where another process wrote to the store, before
    anything is asked. `new` counts the answers that were not in the store before, `ties` those
    counted as such.

    Examples
    --------
    >>> texts = [judging.Text("x", "Short."), judging.Text("y", "Interminable.")]
    >>> prompt = judging.prompts.for_attribute("plainer")
    >>> with judging.Store(":memory:") as store:
    ...     judge = judging.TextJudge(judging.open("demo"), prompt, texts, store=store)
    ...     judge.answer([(0, 1)]).round(2)
    array([1.])
    """

    def __init__(
        self,
        judge: Reader,
        prompt: Prompt,
        texts: Sequence[Text],
        *,
        store: Store,
        context: Text | None = None,
        unanswered: Unanswered = "skip",
        progress: Callable[..., object] | None = None,
        answered: Mapping[str | None, set[tuple[str, str]]] | None = None,
    ) -> None:
        if not prompt.comparative:
            raise JudgeError(f"prompt {prompt.name!r} shows one text; a comparison shows two")
        self.judge, self.prompt, self.texts = judge, prompt, tuple(texts)
        self.store, self.context, self.progress = store, context, progress
        self.unanswered, self._answered = unanswered, answered
        self.meanwhile: Callable[[], object] | None = None
        self.new = 0
        self.forget()

    def forget(self) -> None:
        """Begin again with no comparisons; the store still has the answers."""
        self.pairs: Indices = np.empty((0, 2), dtype=np.intp)
        self.answers: list[Answer] = []
        self.refused: list[tuple[Text, Text, str]] = []
        self.ties = 0

    def without(self, positions: Collection[int]) -> TextJudge:
        """The same judge about fewer texts, with nothing asked; what was new stays counted."""
        other = copy(self)
        other.texts = tuple(text for k, text in enumerate(self.texts) if k not in positions)
        other._answered = None  # what the store had at the beginning is not all any more
        other.forget()
        return other

    def questions(self, pairs: ArrayLike) -> list[Question]:
        """The questions that (K, 2) positions stand for."""
        return [
            Question(self.prompt, self.texts[i], self.texts[j], self.context)
            for i, j in np.asarray(pairs, dtype=np.intp).reshape(-1, 2).tolist()
        ]

    def stored(self) -> Indices:
        """(K, 2) comparisons of these texts that the store has answers to, in ascending order."""
        place = {text.digest: k for k, text in enumerate(self.texts)}
        known = self._answered
        if known is None:
            known = self.store.answered(self.judge, self.prompt)
        context = None if self.context is None else self.context.digest
        pairs = [(place[i], place[j]) for i, j in known.get(context, ()) if {i, j} <= place.keys()]
        return np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)

    def fetch(self, pairs: Indices) -> None:
        """Have comparisons answered for the store, from which `answer` then takes them."""
        self.store.ask(
            self.judge,
            self.questions(pairs),
            progress=self._note,
            meanwhile=self._filled_meanwhile,
        )

    def answer(self, pairs: Indices) -> Floats:
        """(K,) P(the first text is better), P(A) / (P(A) + P(B)); NaN where it was refused."""
        questions = self.questions(pairs)
        said = self.store.ask(
            self.judge, questions, progress=self._note, meanwhile=self._filled_meanwhile
        )
        before = (
            sum(why == NO_LABEL for *_, why in self.refused),
            len(self.pairs) + len(self.refused),
        )
        p, ties, left_out = decided(questions, said, self.unanswered, before=before)
        for k in np.flatnonzero(left_out).tolist():
            first, second = questions[k].first, questions[k].second
            assert second is not None
            self.refused.append((first, second, said[k].refused or NO_LABEL))
        asked = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        self.pairs = np.vstack([self.pairs, asked[~left_out]])
        self.answers += [answer for answer, out in zip(said, left_out, strict=True) if not out]
        self.ties += ties
        return p

    def _filled_meanwhile(self) -> None:
        """Another process asked for the store: what was known of it is not all any more."""
        self._answered = None
        if self.meanwhile is not None:
            self.meanwhile()

    def _note(self, *, answers: Sequence[Answer], **more: int) -> None:
        """Count new answers, those of a run that fails too."""
        self._answered = None  # what the store had at the beginning is not all any more
        self.new += sum(not answer.refused for answer in answers)
        if self.progress is not None:
            self.progress(answers=answers, **more)


def decided(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    unanswered: Unanswered,
    *,
    before: tuple[int, int] = (0, 0),
) -> tuple[Floats, int, Mask]:
    """(K,) P(the first is better), how many count as ties, and which are left out, with NaN.

    before : answers with neither label, and all answers, that came before these.

    Raises JudgeError for either if `unanswered` is "stop", and for answers with neither label if it
    is "skip" and more than `MAX_UNDECIDED_SHARE` are such.
    """
    p = np.array([answer.p for answer in answers], dtype=float)
    refused = np.array([bool(answer.refused) for answer in answers], dtype=bool)
    if refused.any() and unanswered == "stop":
        named = [_named(questions[k]) for k in np.flatnonzero(refused).tolist()]
        raise JudgeError(
            f"the judge refused {len(named)} of {len(p)} comparisons: {name_some(named, 3)} "
            f"({answers[int(np.argmax(refused))].refused}); leave them out (--set unanswered=skip) "
            "or count them as ties (--set unanswered=tie)"
        )
    silent = np.flatnonzero(np.isnan(p) & ~refused).tolist()
    many = before[0] + len(silent) > max(MAX_UNDECIDED_SHARE * (before[1] + len(p)), 2)
    if silent and (unanswered == "stop" or (unanswered == "skip" and many)):
        named = [_named(questions[k]) for k in silent]
        labels = " nor ".join(map(repr, questions[0].prompt.labels))
        rule = "; that is more than one in ten" if many else ""
        count, of = (a + b for a, b in zip(before, (len(silent), len(p)), strict=True))
        raise JudgeError(
            f"to {count:,} of {of:,} comparisons the judge said neither {labels}: "
            f"{name_some(named, 3)}{rule}; the answers are kept; change the prompt, "
            f"{'' if many else 'leave them out (--set unanswered=skip), '}or count them as ties "
            "(--set unanswered=tie)"
        )
    left_out = (refused | np.isnan(p)) & (unanswered == "skip")
    ties = 0 if unanswered == "skip" else int(refused.sum()) + len(silent)
    return np.where(np.isnan(p) & ~left_out, 0.5, p), ties, left_out


def _named(question: Question) -> str:
    return f"{question.first.id} before {question.ids[-1]}"


class StoredJudge(Reader):
    """A judge that is never asked: what `judging rank --offline` takes in a judge's place."""

    specification: Mapping[str, str]

    def __init__(self, specification: Mapping[str, str]) -> None:
        self.specification = specification

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Refuse."""
        raise JudgeError(f"offline: {len(questions)} questions have no answer in the store")


def stored_judge(store: Store, judge: Reader | str) -> Reader:
    """The judge in a store that a name, or the start of a digest, means; none is opened.

    One that is open stands for itself, unless its specification would take a call.
    """
    known = store.specifications()
    if isinstance(judge, str):
        name = judge.strip()
        near = [
            one
            for digest, one in known.items()
            if digest.startswith(name) or kinds.means(name, one)
        ]
    elif judge.unknown:
        name = str(judge)
        near = [one for one in known.values() if judge.described.items() <= one.items()]
    else:
        return judge
    if len(near) == 1:
        return StoredJudge(near[0])
    there = ", ".join(f"{digest} ({one.get('model', '?')})" for digest, one in known.items())
    raise JudgeError(
        f"offline, {name} is {'one of several' if near else 'none'} of the judges in {store.path}: "
        f"{there or 'it is empty'}; name one by its digest, such as --judge 1a2b3c4d"
    )
