"""Any transformers model as a judge: p = P(A) / (P(A) + P(B)) at the next token."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from judging.judges.local import LocalJudge, chunked
from judging.judges.spending import SpendingLimitError
from judging.judges.transformers.load import Loaded, find, require_torch, writer_for
from judging.question import Answer, Question

if TYPE_CHECKING:
    from judging.judges.transformers.engine import Engine, Ready

CHUNK = 1024  # questions whose tokens are held at a time; one SummEval article has 960


class TransformersJudge(LocalJudge):
    """A language model that compares texts, or scores them, by its next token.

    The probability of each label word right after the prompt and the beginning of an answer
    (the prompt-based classifier; book chapter 2) is kept as it is: `Answer.p` is the share of the
    first, `Answer.mass` what all of them have together.

    model : a name on the hub, a folder, or a model that is loaded. The weights of another are
        loaded when the first question is asked, so that a store may refuse it before, and a dry
        run does without.
    revision, dtype, device : see `find`.
    share_prefixes : compute what prompts have in common once (see `prefix`); the probabilities are
        the same. A model that cannot gets a message and separate prompts.
    max_tokens : refuse questions longer than this, instead of than the model's own limit.
    batch_tokens, row_tokens : tokens in a batch of separate prompts, and in a row of branches that
        share a prefix; by default what suits the device. Both are halved when memory runs out.
    limit_calls, limit_tokens : of answers and of tokens in their prompts, never exceeded; the run
        stops with SpendingLimitError before it would be.
    """

    def __init__(
        self,
        model: str | Path | Loaded,
        *,
        revision: str | None = None,
        dtype: str = "auto",
        device: str = "auto",
        share_prefixes: bool = True,
        max_tokens: int | None = None,
        batch_tokens: int | None = None,
        row_tokens: int | None = None,
        limit_calls: int | None = None,
        limit_tokens: int | None = None,
    ) -> None:
        require_torch()
        if isinstance(model, Loaded):
            self.checkpoint = model.checkpoint
        else:
            self.checkpoint = find(str(model), revision=revision, dtype=dtype, device=device)
        super().__init__(self.checkpoint.name, limit_calls=limit_calls, limit_tokens=limit_tokens)
        self.longest = max_tokens or self.checkpoint.longest
        self.writer = writer_for(self.checkpoint)
        self.broken = 0
        self._batches = share_prefixes, batch_tokens, row_tokens

    @cached_property
    def loaded(self) -> Loaded:
        """The model with its weights."""
        return self.checkpoint.load()

    @cached_property
    def engine(self) -> Engine:
        """What asks it."""
        from judging.judges.transformers.engine import Engine

        share, batch, row = self._batches
        return Engine(self.loaded, share=share, batch_tokens=batch, row_tokens=row)

    @property
    def specification(self) -> Mapping[str, str]:
        """What changes the answers beyond rounding: not the device, the batches or the sharing."""
        return {
            "kind": "transformers",
            "model": self.checkpoint.name,
            "revision": self.checkpoint.revision,
            "dtype": self.checkpoint.dtype,
            "template": self.writer.description,
            "system message": "a place of its own" if self.writer.takes_system else "merge",
            "too long": "refused",  # was an option once, and is in old stores
        }

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers with their positions, as they come: those that share a prefix together.

        Questions that are too long are refused, before the first answer. Raises JudgeError for
        label words that are not single tokens. Warns if memory ran out on the way, and once per
        prompt if its label words have little probability.
        """
        questions = list(questions)
        refused = self._too_long(questions)
        yield from refused.items()
        left = [k for k in range(len(questions)) if k not in refused]
        broken = self.broken
        try:
            for k, answer in self._answers([questions[k] for k in left]):
                yield left[k], answer
        finally:
            self._warn(self.broken - broken)

    def likeliest(self, question: Question, count: int) -> dict[str, float]:
        """Log-probabilities of the likeliest next tokens after a question."""
        import torch

        ids = self.writer.encode([self.writer.write(question.prompt, question.text)])
        with torch.inference_mode():
            logits = self.loaded.model(torch.tensor(ids, device=self.loaded.device)).logits[0, -1]
        best = logits.float().log_softmax(-1).topk(count)
        words = map(self.loaded.tokenizer.decode, best.indices[:, None].tolist())
        return dict(zip(words, best.values.tolist(), strict=True))

    def _answers(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        chunks = (self.prepare(questions, chunk) for chunk in chunked(questions, CHUNK))
        for ready in _ahead(chunks):
            self.broken += sum(one.broken for one in ready)
            while ready:
                paid = self._paid(ready)
                yield from self._asked(questions, paid)
                ready = ready[len(paid) :]

    def _asked(
        self, questions: Sequence[Question], paid: Sequence[Ready]
    ) -> Iterator[tuple[int, Answer]]:
        left = set(range(len(paid)))
        _ = self.engine  # loading it is not the first answer's time
        clock = time.perf_counter()
        try:
            for group in self.engine.answer(paid):
                # A group's time goes to its answers by the tokens computed for them.
                rate = (time.perf_counter() - clock) / sum(share for _, _, share in group)
                for k, log_p, share in group:
                    one = paid[k]
                    left.discard(k)
                    self.spending.settle(one.tokens, one.tokens)
                    answer = Answer(log_p, one.tokens, share, rate * share)
                    self._note(questions[one.position], answer)
                    yield one.position, answer
                clock = time.perf_counter()
        finally:
            for k in left:
                self.spending.settle(paid[k].tokens, 0, turned_away=True)

    def _paid(self, ready: Sequence[Ready]) -> list[Ready]:
        """The first of them, as many as the limits allow; SpendingLimitError if that is none."""
        paid: list[Ready] = []
        for one in ready:
            try:
                while not self.spending.reserve(one.tokens):
                    if paid:
                        return paid
                    time.sleep(0.02)  # until another thread's questions are answered
            except SpendingLimitError:
                if paid:
                    return paid
                raise
            paid.append(one)
        return paid

    # Questions as tokens ---------------------------------------------------------------------

    def prepare(
        self, questions: Sequence[Question], positions: Sequence[int] | None = None
    ) -> list[Ready]:
        """Questions, or those at some positions, written and encoded as the model reads them."""
        from judging.judges.transformers.engine import Ready

        positions = range(len(questions)) if positions is None else positions
        chosen = [questions[k] for k in positions]
        written = [self.writer.write(q.prompt, q.text) for q in chosen]
        encoded = self.writer.encode(written)
        return [
            Ready(k, ids, self.writer.target(q.prompt, text), self.writer.breaks(q.text))
            for k, q, text, ids in zip(positions, chosen, written, encoded, strict=True)
        ]


def _ahead(chunks: Iterator[list[Ready]]) -> Iterator[list[Ready]]:
    """The same chunks, the next one being made in a thread while one is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield chunk
