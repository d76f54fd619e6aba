"""Prompts of SummEval's shape out of invented words, each word one token."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.judge_shapes import VOCABULARY


@dataclass(frozen=True)
class Lengths:
    """Tokens of an article, a summary and a question, and how many summaries; 4 questions.

    Those of SummEval, about; `python -m benchmarks.judge` measures with them.
    """

    article: int = 450
    summary: int = 75
    question: int = 22
    summaries: int = 16
    questions: int = 4

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    def ids(self) -> list[list[int]]:
        """A context's prompts as numbers, all different where the prompts are."""
        fresh = itertools.count()
        take = lambda n: list(itertools.islice(fresh, n))  # noqa: E731
        article = take(self.article)
        summaries = [take(self.summary) for _ in range(self.summaries)]
        asked = [take(self.question) for _ in range(self.questions)]
        return [
            article + a + b + question
            for a in summaries
            for b in summaries
            if a is not b
            for question in asked
        ]


def words(seed: int, count: int) -> str:
    """Invented words; the first ones are kept for the prompt and the labels."""
    chosen = np.random.default_rng(seed).integers(100, VOCABULARY - 10, count)
    return " ".join(f"w{k}" for k in chosen)


@cache
def tokenizer() -> Any:
    """Words are tokens, so that lengths are what they are meant to be."""
    import tokenizers
    import transformers

    known = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "A": 4, "B": 5, "Summary": 6}
    known |= {f"w{k}": k for k in range(len(known), VOCABULARY)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    made.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    return made


def questions(lengths: Lengths, *, contexts: int, most: int | None = None) -> list[Any]:
    """All ordered pairs of summaries and all questions, of some contexts.

    most : take only so many, spread evenly.
    """
    from poe.judges import Prompt, Question, Text

    prompts = [
        Prompt(  # the beginning of the answer is one token of the question's
            f"question {k}",
            f"{{context}} {{first}} {{second}} {words(k, lengths.question - 1)}",
            prefix="Summary",
        )
        for k in range(lengths.questions)
    ]
    found = []
    for c in range(contexts):
        context = Text(f"article {c}", words(100 + c, lengths.article))
        texts = [
            Text(f"summary {c}.{k}", words(1000 + 50 * c + k, lengths.summary))
            for k in range(lengths.summaries)
        ]
        found += [
            Question(prompt, a, b, context)
            for a in texts
            for b in texts
            if a is not b
            for prompt in prompts
        ]
    if most is None or most >= len(found):
        return found
    return [found[k] for k in np.linspace(0, len(found) - 1, most).round().astype(int)]
