"""Recorded judges: what language models answered in others' published experiments.

Nothing is asked here: the answers were recorded by the authors of HANNA, LLMBar and PandaLM,
and their kind is *recorded*. They are part of the package (data/labels).

    >>> from poe.judges import recorded
    >>> judge = recorded.hanna("ChatGPT", 1, "coherence")
    >>> judge.answer([[0, 1], [1, 0]]).sum().round(12)
    np.float64(1.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from poe import datasets
from poe.comparisons import Comparisons, Floats, Indices, Mask
from poe.datasets import verdicts
from poe.datasets.verdicts import llmbar, llmbar_pairs, pandalm
from poe.errors import JudgeError, name_some
from poe.judges.simulated import simulated_answers

HANNA_JUDGES = verdicts.HANNA_JUDGES
HANNA_PROMPTS = verdicts.HANNA_PROMPTS
LOWEST = 1.0  # HANNA's scale; what lies below it is a failed generation that entered a mean

__all__ = [
    "HANNA_JUDGES",
    "HANNA_PROMPTS",
    "RecordedScores",
    "hanna",
    "llmbar",
    "llmbar_pairs",
    "pandalm",
]


@dataclass(frozen=True, eq=False)
class RecordedScores:
    """A judge that scored every text alone, read as a judge of pairs (book chapter 2).

    p_ij = sigma((s_i - s_j) / scale). These answers are more orderly than those of a judge that was
    shown the pairs: all follow from N numbers, so they are transitive, the two orders of a pair add
    up to one, and there is no position bias. Methods that profit from many noisy answers gain
    nothing here.

    judge, prompt, attribute : whose scores, under which of the authors' prompts, of what.
    items : (N,) names of the texts. scores : (N,) on 1 to 5, most of them means of three
        generations; NaN where there is none.
    scale : points a logit; declared, not fitted to people's scores. It changes no ranking of
        a full set of comparisons, only how much weight large differences have.
    """

    judge: str
    prompt: int
    attribute: str
    items: tuple[str, ...]
    scores: Floats
    scale: float = 1.0
    kind: str = "recorded"

    @property
    def missing(self) -> Mask:
        """(N,) whether the judge has no usable score of a text."""
        return cast(Mask, np.isnan(self.scores))

    @property
    def present(self) -> Indices:
        """Positions of the texts that have a score."""
        return np.flatnonzero(~self.missing)

    def answer(self, pairs: ArrayLike) -> Floats:
        """P(first is better) for (..., K, 2) positions (first, second): (..., K).

        Raises JudgeError, with the texts' names, where a score is missing: take the pairs
        among `present`.
        """
        chosen = np.asarray(pairs, dtype=np.intp)
        lacking = np.unique(chosen[self.missing[chosen]])
        if len(lacking):
            raise JudgeError(
                f"{self.judge}, prompt {self.prompt}, has no {self.attribute} score of "
                f"{name_some(self.items[k] for k in lacking)}; draw pairs among judge.present"
            )
        difference = self.scores[chosen[..., 0]] - self.scores[chosen[..., 1]]
        return simulated_answers(difference, sharpness=1.0 / self.scale)

    def compare(self, pairs: ArrayLike) -> Comparisons:
        """The answers as `Comparisons` among all N texts."""
        return Comparisons.from_pairs(pairs, self.answer(pairs), items=self.items)


def hanna(judge: str, prompt: int = 1, attribute: str = "coherence") -> RecordedScores:
    """One of HANNA's recorded judges (Chhun, Suchanek and Clavel 2024).

    judge : one of `HANNA_JUDGES`. prompt : which of the authors' four evaluation prompts, 1 to 4.
    attribute : as in `poe.datasets.load("hanna")`. Raises JudgeError if there is no such one.
    """
    people = datasets.load("hanna")
    for what, value, there in (
        ("judge", judge, HANNA_JUDGES),
        ("prompt", prompt, HANNA_PROMPTS),
        ("attribute", attribute, people.attributes),
    ):
        if value not in there:
            known = ", ".join(map(repr, there))
            raise JudgeError(f"no recorded {what} {value!r}; there are {known}")
    scores = verdicts.hanna(judge, prompt, attribute)
    scores = np.where(scores < LOWEST, np.nan, scores)
    scores.setflags(write=False)
    return RecordedScores(judge, prompt, attribute, people.candidate_ids, scores)
