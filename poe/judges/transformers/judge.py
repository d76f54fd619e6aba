"""Any transformers model as a judge: p = P(A) / (P(A) + P(B)) at the next token."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from poe.errors import JudgeError
from poe.judges.questions import Answer, Question
from poe.judges.transformers import preparing
from poe.judges.transformers.chat import writer_for
from poe.judges.transformers.loading import Loaded, load, require

LITTLE = 0.5  # warn where the label words have less probability than this, on average
EARLY = 64  # answers after which that warning may come


class TransformersJudge:
    """A language model that compares texts, or scores them, by its next token.

    The probability of each label word right after the prompt and the beginning of an answer
    (the prompt-based classifier; book chapter 2) is kept as it is: `Answer.p` is the share of the
    first, `Answer.mass` what all of them have together.

    model : a name on the hub, a folder, or what `loading.load` returned.
    revision, dtype, device, trust_remote_code : see `loading.load`.
    share_prefixes : compute what prompts have in common once (see `prefix`); the probabilities are
        the same. A model that cannot gets a message and separate prompts.
    too_long : "refuse" raises JudgeError before the first answer if a question is longer than the
        model reads; "truncate-context" drops the end of its context, counted in `truncated`.
    system : "merge" or "refuse" system messages where the model has no place for one.
    max_tokens : read no more than this, instead of the model's own limit.
    batch_tokens, row_tokens : tokens in a batch of separate prompts, and in a row of branches that
        share a prefix; by default what suits the device. Both are halved when memory runs out.
    """

    def __init__(
        self,
        model: str | Path | Loaded,
        *,
        revision: str | None = None,
        dtype: str = "auto",
        device: str = "auto",
        share_prefixes: bool = True,
        too_long: str = "refuse",
        system: str = "merge",
        max_tokens: int | None = None,
        batch_tokens: int | None = None,
        row_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        require()
        from poe.judges.transformers.engine import Engine

        for option, value, known in (
            ("too_long", too_long, ("refuse", "truncate-context")),
            ("system", system, ("merge", "refuse")),
        ):
            if value not in known:
                raise JudgeError(f"{option}={value!r} is none of {', '.join(known)}")
        if not isinstance(model, Loaded):
            more = {"dtype": dtype, "device": device, "trust_remote_code": trust_remote_code}
            model = load(str(model), revision=revision, **more)  # type: ignore[arg-type]
        self.loaded = model
        self.cut = too_long == "truncate-context"
        self.longest = max_tokens or model.longest
        self.writer = writer_for(model, system=system)
        self.truncated = 0
        self.warned = False
        self.engine = Engine(
            model, share=share_prefixes, batch_tokens=batch_tokens, row_tokens=row_tokens
        )
        self._system = system

    @property
    def specification(self) -> Mapping[str, str]:
        """What changes the answers beyond rounding: not the device, the batches or the sharing."""
        cut = f"context cut to {self.longest} tokens" if self.cut else "refused"
        place = "a place of its own" if self.writer.takes_system else self._system
        return {
            "kind": "transformers",
            "model": self.loaded.name,
            "revision": self.loaded.revision,
            "dtype": self.loaded.dtype,
            "template": self.writer.description,
            "system message": place,
            "too long": cut,
        }

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers with their positions, as they come: those that share a prefix together.

        Raises JudgeError for a question that is too long (before the first answer, if such ones
        are refused), and for label words that are not single tokens. Warns if contexts were cut,
        if memory ran out on the way, and once if the label words have little probability.
        """
        questions = list(questions)
        if self.longest is not None and not self.cut:
            preparing.refuse_long(questions, self.writer, longest=self.longest)
        notes = _Notes(self)
        try:
            yield from self._answers(questions, notes)
        finally:
            notes.close()

    def _answers(
        self, questions: Sequence[Question], notes: _Notes
    ) -> Iterator[tuple[int, Answer]]:
        clock = time.perf_counter()
        chunks = (
            preparing.prepare(questions, positions, self.writer, longest=self.longest, cut=self.cut)
            for positions in preparing.chunks(questions)
        )
        for ready in preparing.ahead(chunks):
            self.truncated += sum(one.cut > 0 for one in ready)
            notes.broken += sum(one.broken for one in ready)
            for group in self.engine.answer(ready):
                # A group's time goes to its answers by the tokens computed for them.
                rate = (time.perf_counter() - clock) / sum(computed for _, _, computed in group)
                for k, log_p, computed in group:
                    one = ready[k]
                    tokens = len(one.ids) + len(one.target.start)
                    answer = Answer(log_p, tokens, computed, rate * computed)
                    notes.heard(questions[one.position], answer)
                    yield one.position, answer
                clock = time.perf_counter()


class _Notes:
    """What a run should say once, and not once an answer."""

    def __init__(self, judge: TransformersJudge) -> None:
        self.judge = judge
        self.count, self.mass = 0, 0.0
        self.truncated, self.broken = judge.truncated, 0

    def heard(self, question: Question, answer: Answer) -> None:
        """Count an answer; warn early if the judge seems not to answer with label words."""
        self.count += 1
        self.mass += answer.mass
        self.prompt = question.prompt
        if self.count == EARLY:
            self._little()

    def close(self) -> None:
        """Say what is to be said about the whole run."""
        self._little()
        if cut := self.judge.truncated - self.truncated:
            self._say(
                f"{cut} questions were too long for the model's {self.judge.longest} tokens, and "
                "the end of their context was cut"
            )
        if self.broken:
            self._say(
                f"the model's control tokens stood in the texts of {self.broken} questions; each "
                "got a space after its first character, so that it is read as text"
            )

    def _little(self) -> None:
        if self.judge.warned or not self.count or self.mass / self.count >= LITTLE:
            return
        self.judge.warned = True
        words = ", ".join(map(repr, self.prompt.labels))
        self._say(
            f"{self.judge.loaded.name} gives the label words only {self.mass / self.count:.1%} "
            f"of the probability on average ({self.count} answers; last prompt "
            f"{self.prompt.name!r} with {words} after {self.prompt.prefix!r}): it would rather "
            "say something else, so try another prefix or prompt"
        )

    @staticmethod
    def _say(words: str) -> None:
        warnings.warn(words, stacklevel=5)
