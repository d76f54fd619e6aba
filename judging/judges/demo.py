"""A judge for trying things out: it compares how easy two texts are to read by a formula.

It is not a language model and looks neither at the question nor at the context. It exists so that
the whole path from texts to report runs offline in seconds, on any machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from scipy.special import log_expit

from judging.errors import JudgeError
from judging.judges.spending import Spending
from judging.question import Answer, Question, Reader

LABEL = "demo (readability), not a language model"

_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?=\s|$)")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_VOWELS = re.compile(r"[aeiouyàáâäæèéêëìíîïòóôöœùúûü]+")


class DemoJudge(Reader):
    """Answers p = sigmoid((r_first - r_second) / scale + lean + noise), r the reading ease.

    scale : points of reading ease that make a difference of one logit.
    lean : logits added for the text shown first, invented so that a demonstration has a
        position bias to find.
    noise : half-width of an invented disturbance in logits, a fixed function of the question,
        so that the same question always has the same answer.
    limit_calls, limit_tokens : never exceeded; the run stops with SpendingLimitError before.
    """

    counted_by = "words, since the demo judge has no tokens"

    def __init__(
        self,
        *,
        scale: float = 30.0,
        lean: float = 0.3,
        noise: float = 0.8,
        limit_calls: int | None = None,
        limit_tokens: int | None = None,
    ) -> None:
        if not scale > 0 or noise < 0:
            raise JudgeError(
                "the demo judge needs a positive scale and no negative noise, not "
                f"{scale:g} and {noise:g}"
            )
        self.scale, self.lean, self.noise = scale, lean, noise
        self.spending: Spending = Spending(calls=limit_calls, tokens=limit_tokens)

    @property
    def specification(self) -> Mapping[str, str]:
        """What changes its answers; `kind` says what it is."""
        settings = {"scale": self.scale, "lean": self.lean, "noise": self.noise}
        return {"kind": "demo", "model": LABEL} | {k: f"{v:g}" for k, v in settings.items()}

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """One answer a question, in order. `tokens` counts words: there is no tokenizer."""
        for position, question in enumerate(questions):
            if question.second is None:
                raise JudgeError(
                    "the demo judge, a readability formula, compares two texts; prompt "
                    f"{question.prompt.name!r} shows one"
                )
            started = time.perf_counter()
            ease = reading_ease(question.first.text) - reading_ease(question.second.text)
            disturbance = int(question.key[:13], 16) / 2.0**51 - 1.0  # looks random, in [-1, 1)
            logit = ease / self.scale + self.lean + self.noise * disturbance
            log_p = (float(log_expit(logit)), float(log_expit(-logit)))
            tokens = self.count_tokens([question])[0]
            while not self.spending.reserve(tokens):
                time.sleep(0.001)  # until another thread's question is answered
            self.spending.settle(tokens, tokens)
            seconds = time.perf_counter() - started
            yield position, Answer(log_p, tokens=tokens, computed=tokens, seconds=seconds)

    def count_tokens(self, questions: Sequence[Question]) -> list[int]:
        """Words of each question."""
        return [len(question.text.split()) for question in questions]


def reading_ease(text: str) -> float:
    """Flesch's reading ease, 206.835 - 1.015 words/sentences - 84.6 syllables/words.

    Higher is easier; about 90 for a children's story and 20 for a statute. A text without words
    scores 0. Source: R. Flesch, A new readability yardstick, Journal of Applied Psychology
    32 (1948). Syllables are groups of vowels, so it is meant for English.
    """
    words = _WORD.findall(text)
    if not words:
        return 0.0
    sentences = max(len(_SENTENCE_END.findall(text)), 1)
    spoken = sum(syllables(word) for word in words)
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * spoken / len(words)


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end; at least one."""
    lower = word.lower()
    count = len(_VOWELS.findall(lower))
    silent = lower.endswith("e") and not lower.endswith(("le", "ee", "ie", "ye", "oe"))
    return max(count - silent, 1)
