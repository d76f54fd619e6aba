"""What models are asked about the datasets: which, about what, in what order.

Small parts come first, so that every stop is useful; `reproduction.ask_model` does the asking.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from judging import prompts
from judging.datasets import Dataset
from judging.datasets.questions import pairs_of, questions_of
from judging.errors import JudgeError
from judging.question import Prompt, Question
from poe.arrays import Indices
from reproduction.answers import HANNA, PARAPHRASES, WIDE_CALLS, WORDINGS, Model, Place
from reproduction.llmbar_texts import load
from reproduction.quarters import quarters

DIALOGUE = ("coherency", "continuity", "engagingness", "naturalness")
SUMMARY = ("coherence", "consistency", "fluency", "relevance")
PLANTED = ("explanation", "cheerfulness")  # the second is a control


@dataclass(frozen=True)
class Run:
    """Questions asked with one template: every text, or every pair in both orders, of contexts.

    contexts : how many, the first in the model's order, all by default. calls : of each context,
    both orders of each pair, where all would be too many; they link all texts from 2(N-1) on.
    quarters : whether these are asked, and kept, a quarter at a time (`reproduction.quarters`).
    by_first : whether they are kept of a text shown first, all or none.
    """

    dataset: str
    template: str
    attributes: tuple[str, ...]
    contexts: int | None = None
    calls: int | None = None
    quarters: bool = False
    by_first: bool = False

    @property
    def name(self) -> str:
        """Name of its file in data/measured."""
        return f"{self.dataset}-{self.template}"

    def prompts(self) -> dict[str, str]:
        """Attributes by their prompts' names."""
        return {self.prompt(attribute).name: attribute for attribute in self.attributes}

    def of_context(
        self, data: Dataset, c: int, known: Collection[Place] = frozenset()
    ) -> list[Question]:
        """One context's questions but those at `known` places, the attributes together.

        They share all but the last words, and where they are asked in quarters each call is put
        for all attributes at once.
        """
        item = {name: k for k, name in enumerate(data.candidate_ids)}
        questions: list[Question] = []
        for attribute in self.attributes:
            every = questions_of(
                data,
                self.prompt(attribute),
                contexts=[c],
                calls=self.calls,
                both_orders=self.calls is not None,
            )
            for one in every:
                second = -1 if one.second is None else item[one.second.id]
                if (attribute, c, item[one.first.id], second) not in known:
                    questions.append(one)
        if self.quarters:
            asked = self.in_quarters(data, c).reshape(-1, 2).tolist()
            place = {
                (data.candidate_ids[i], data.candidate_ids[j]): k for k, (i, j) in enumerate(asked)
            }
            questions.sort(key=lambda one: place[one.first.id, one.second.id if one.second else ""])
        return questions

    def design(self, data: Dataset, c: int = 0) -> Indices:
        """(calls, 2) of one context, the two orders of a pair in succession."""
        return pairs_of(data.n_candidates, self.calls, both_orders=True, seed=(0, c))

    def in_quarters(self, data: Dataset, c: int = 0) -> Indices:
        """(4, N, 2) one context's calls, quarter by quarter."""
        return quarters(self.design(data, c)[::2])

    def prompt(self, attribute: str) -> Prompt:
        """The prompt of one attribute, in its form for decoder-only models."""
        return prompts.load(self.dataset, attribute, self.template, decoder_only=True)


LADDER = (Run("ladder", "poe", PLANTED), Run("ladder", "g-eval", PLANTED))
# Last, for it takes longest: N = 1056 texts of 250 words.
STORIES = Run("hanna", "poe", ("coherence", "complexity"), calls=HANNA, quarters=True)
RUNS = (
    Run("topicalchat", "poe", DIALOGUE),
    Run("topicalchat", "g-eval", DIALOGUE),
    Run("summeval", "poe", SUMMARY, 30),
    Run("topicalchat", "comparative-1", DIALOGUE),
    Run("summeval", "g-eval", SUMMARY, 30),
    Run("topicalchat", "comparative-2", DIALOGUE),
    Run("topicalchat", "numbers", DIALOGUE, 20),
    Run("topicalchat", "words", DIALOGUE, 20),
    Run("summeval", "poe", ("coherence",)),
    Run("summeval", "g-eval", ("coherence",)),
    *LADDER,
    STORIES,
)


# What is asked of the larger one: small parts first, so that every stop is useful. SummEval, HANNA
# and LLMBar wait for data/predictions.toml.
PART = 64  # questions between two lines, where a context has thousands
DESIGN = 4 * 16  # SummEval in other words: both orders of 2N pairs of an article
QWEN_RUNS = (
    Run("topicalchat", "poe", DIALOGUE),
    Run("summeval", "poe", ("coherence",), 30),
    Run("summeval", "poe", ("consistency", "fluency", "relevance"), 10),
    Run("llmbar", "poe", ("instruction",), 100),
    Run("summeval", "g-eval", ("coherence",), 10),
    Run("topicalchat", "g-eval", DIALOGUE, 10),
    *(Run("topicalchat", f"paraphrase-{k}", ("coherency",), 10) for k in PARAPHRASES),
    *(Run("topicalchat", words, DIALOGUE, 20) for words in WORDINGS),
    Run("summeval", "g-eval", SUMMARY, 10),
    *(Run("summeval", words, ("coherence",), 20, calls=DESIGN) for words in WORDINGS),
    Run("llmbar", "poe", ("instruction",)),
    Run("topicalchat", "g-eval", DIALOGUE),
    Run("summeval", "g-eval", ("coherence",), 30),
    *LADDER,
    STORIES,
)
# Asked of the larger one in a quarter of an hour on a GPU (`reproduction.away`).
WIDELY = ("coherence", "complexity", "surprise")
GPU_RUNS = (
    Run("summeval", "poe", SUMMARY),
    Run("hanna", "poe", WIDELY, calls=WIDE_CALLS, by_first=True),
    Run("summeval", "g-eval", SUMMARY),
    *(Run("topicalchat", words, DIALOGUE) for words in WORDINGS),
    *(Run("topicalchat", f"paraphrase-{k}", ("coherency",)) for k in PARAPHRASES),
    Run("llmbar", "poe", ("instruction",)),
    *(Run("summeval", words, SUMMARY, 30) for words in WORDINGS),
    Run("hanna", "g-eval", WIDELY),
    Run("hanna", "poe", ("relevance", "empathy", "engagement"), calls=WIDE_CALLS, by_first=True),
)
ASKED = {"smollm2": RUNS, "qwen": QWEN_RUNS}


def in_order(run: Run, model: Model) -> list[int]:
    """Contexts of a run in the order in which a model is asked about them.

    LLMBar's own pairs come before those that its authors took from elsewhere.
    """
    data = load(run.dataset)
    n = data.n_contexts
    order = np.random.default_rng(0).permutation(n) if model.at_random else np.arange(n)
    if run.dataset == "llmbar":
        own = [name.startswith(("Natural", "Adversarial")) for name in data.context_ids]
        order = order[np.argsort(~np.array(own)[order], kind="stable")]
    return [int(c) for c in order[: run.contexts]]


def parts_of(
    runs: Sequence[Run], data: Dataset, contexts: Iterable[int], known: Mapping[str, set[Place]]
) -> list[list[Question]]:
    """Group what is put to a judge at once, of runs asked together: a context's questions.

    known : places of each run that are kept. Of quarters, about `PART` questions, those together
    that show a text first.
    """
    parts: list[list[Question]] = []
    for c in contexts:
        questions = [one for run in runs for one in run.of_context(data, c, known[run.name])]
        if not runs[0].quarters:
            parts += [questions] if questions else []
            continue
        new: list[Question] = []
        for _, same in groupby(questions, key=lambda one: one.first.id):
            new += same
            if len(new) >= PART:
                parts.append(new)
                new = []
        parts += [new] if new else []
    return parts


def together(runs: Sequence[Run]) -> list[list[Run]]:
    """Neighbours whose prompts differ in their last words only: asked at once, they share the rest.

    Others share nothing, and go by themselves: each has contexts and calls of its own.
    """

    def about(run: Run) -> tuple[object, ...]:
        text = run.prompt(run.attributes[0]).template
        last = "{second}" if "{second}" in text else "{first}"
        return run.dataset, run.contexts, run.calls, text.partition(last)[0]

    return [list(part) for _, part in groupby(runs, key=about)]


def chosen(which: str, names: Sequence[str] = ()) -> list[Run]:
    """A model's runs; those of some names only, in the order of the names, where there are any."""
    known = [run.name for run in ASKED[which]]
    if unknown := [name for name in names if name not in known]:
        raise JudgeError(f"no run {unknown[0]!r}; there are {', '.join(dict.fromkeys(known))}")
    if not names:
        return list(ASKED[which])
    return [run for name in names for run in ASKED[which] if run.name == name]
