"""What judges have in common whose model runs on this machine: prompts, lengths, limits, order."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence

from judging.judges.spending import Spending
from judging.judges.tally import Tally
from judging.judges.writer import Writer
from judging.question import Answer, Question, Reader

EARLY = 64  # answers after which a warning of little label mass may come
INSTEAD = "use a server, openai:MODEL@URL"  # where what runs a model is missing
SPECIAL = 8  # more than the tokens, such as a beginning, that come from no byte of a prompt


class LocalJudge(Reader):
    """A judge that knows its tokens: it counts them, and refuses questions that are too long.

    A class derived from it sets `writer` (what writes its prompts) and `longest` (tokens that the
    model reads, None for any number), and gives `_note` every answer.
    """

    counted_by = "the judge's tokenizer"
    shorten = "shorten the texts or their context, or take another model"
    writer: Writer
    longest: int | None

    def __init__(self, name: str, *, limit_calls: int | None, limit_tokens: int | None) -> None:
        self.spending: Spending = Spending(calls=limit_calls, tokens=limit_tokens)
        self._tally = Tally(name)
        self._answered = 0

    def count_tokens(self, questions: Sequence[Question]) -> list[int]:
        """Tokens of each question, too long or not."""
        written = [self.writer.write(q.prompt, q.text) for q in questions]
        return list(map(len, self.writer.encode(written)))

    def _too_long(self, questions: Sequence[Question]) -> dict[int, Answer]:
        """The refusals of questions that are too long, by their positions; nothing is asked."""
        refusals: dict[int, Answer] = {}
        if self.longest is None:
            return refusals
        for k, question in enumerate(questions):
            written = self.writer.write(question.prompt, question.text)
            if len(written.encode()) + SPECIAL > self.longest:  # no token is shorter than a byte
                tokens = len(self.writer.encode([written])[0])
                if tokens > self.longest:
                    why = f"{tokens} tokens, and the model reads {self.longest}; {self.shorten}"
                    refusals[k] = Answer.refusal(question.prompt, why)
        return refusals

    def _note(self, question: Question, answer: Answer) -> None:
        """Count an answer, and warn early where labels have little probability."""
        self._tally.add(question.prompt, answer)
        self._answered += 1
        if self._answered == EARLY:
            self._tally.warn()

    def _warn(self, broken: int) -> None:
        """Say what was counted, and how many questions had control tokens in their texts."""
        self._tally.warn()
        if broken:
            warnings.warn(
                f"the model's control tokens stood in the texts of {broken} questions; each got "
                "a space after its first character, so that it is read as text",
                stacklevel=3,
            )


def chunked(questions: Sequence[Question], most: int) -> Iterator[list[int]]:
    """Positions of questions, those that begin alike together; at most `most` in a chunk.

    The order is that of what they say, piece by piece: the template's words before its first
    text, that text, the words after it, and so on. A chunk ends where another first text begins
    (of a comparison, the context), as long as that leaves it at least half full.
    """

    def key(question: Question) -> tuple[str, ...]:
        pieces, texts = re.split(r"\{(\w+)\}", question.prompt.template), question.texts
        shown = (texts[place] for place in pieces[1::2])
        pieces[1::2] = [text.digest for text in shown if text is not None]
        return tuple(pieces)

    keys = [key(question) for question in questions]
    order = sorted(range(len(questions)), key=keys.__getitem__)
    while order:
        end = min(most, len(order))
        if end < len(order):
            new = [k for k in range(1, end + 1) if keys[order[k]][:2] != keys[order[k - 1]][:2]]
            end = new[-1] if new and new[-1] >= most // 2 else end
        yield order[:end]
        order = order[end:]
