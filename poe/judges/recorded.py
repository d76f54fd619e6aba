"""Recorded judges: what language models answered in others' published experiments.

Nothing is asked here: the answers were recorded by the authors of HANNA, LLMBar and PandaLM,
and their kind is *recorded*. They are part of the package (data/labels).

    >>> from poe.judges import recorded
    >>> judge = recorded.hanna("ChatGPT", 1, "coherence")
    >>> judge.answer([[0, 1], [1, 0]]).sum().round(12)
    np.float64(1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from poe import datasets
from poe.comparisons import Comparisons, Floats, Indices, Mask
from poe.datasets import standin_verdicts, verdicts
from poe.errors import JudgeError, name_some
from poe.judges.simulated import simulated_answers

HANNA_JUDGES = verdicts.HANNA_JUDGES
HANNA_PROMPTS = verdicts.HANNA_PROMPTS
LOWEST = 1.0  # HANNA's scale; what lies below it is a failed generation that entered a mean
STAND_IN_SEED = 2403


@dataclass(frozen=True, eq=False)
class RecordedScores:
    """A judge that scored every text alone, read as a judge of pairs (book chapter 2).

    p_ij = sigma((s_i - s_j) / scale), or with `hard` the decision: 1, 0, and 1/2 for a tie.

    These answers are more orderly than those of a judge that was shown the pairs: all follow
    from N numbers, so they are transitive, the two orders of a pair add up to one, and there
    is no position bias. Methods that profit from many noisy answers gain nothing here.

    judge, prompt, attribute : whose scores, under which of the authors' prompts, of what.
    items : (N,) names of the texts. scores : (N,) on 1 to 5, most of them means of three
        generations; NaN where there is none.
    scale : points a logit; declared, not fitted to people's scores. It changes no ranking of
        a full set of comparisons, only how much weight large differences have.
    kind : "recorded", or "simulated" for a stand-in.
    """

    judge: str
    prompt: int
    attribute: str
    items: tuple[str, ...]
    scores: Floats
    scale: float = 1.0
    hard: bool = False
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
        if self.hard:
            return cast(Floats, 0.5 + 0.5 * np.sign(difference))
        return simulated_answers(difference, sharpness=1.0 / self.scale)

    def compare(self, pairs: ArrayLike) -> Comparisons:
        """The answers as `Comparisons` among all N texts."""
        return Comparisons.from_pairs(pairs, self.answer(pairs), items=self.items)


def hanna(
    judge: str,
    prompt: int = 1,
    attribute: str = "coherence",
    *,
    scale: float = 1.0,
    hard: bool = False,
    source: datasets.Source = "real",
) -> RecordedScores:
    """One of HANNA's recorded judges (Chhun, Suchanek and Clavel 2024).

    Parameters
    ----------
    judge : str
        One of `HANNA_JUDGES`.
    prompt : int
        Which of the authors' four evaluation prompts, 1 to 4.
    attribute : str
        As in `poe.datasets.load("hanna")`.
    scale, hard, source :
        See `RecordedScores`, and `poe.datasets.load`.

    Raises
    ------
    JudgeError
        If there is no such judge, prompt or attribute.
    """
    _among("judge", judge, HANNA_JUDGES)
    _among("prompt", prompt, HANNA_PROMPTS)
    people = datasets.load("hanna", source=source)
    _among("attribute", attribute, people.attributes)
    if not scale > 0:
        raise JudgeError(f"scale is points a logit, so it must be positive, not {scale}")
    if source == "stand-in":
        scores, kind = _invented_scores(judge, prompt, attribute), "simulated"
    else:
        recorded = verdicts.hanna(judge, prompt, attribute)
        scores, kind = np.where(recorded < LOWEST, np.nan, recorded), "recorded"
    scores.setflags(write=False)
    names = people.candidate_ids
    return RecordedScores(judge, prompt, attribute, names, scores, scale, hard, kind)


def llmbar(
    sets: str | Sequence[str] | None = None, *, source: datasets.Source = "real"
) -> pd.DataFrame:
    """Verdicts of six language models under up to 15 prompts on LLMBar's pairs, both orders.

    Parameters
    ----------
    sets : str or sequence of str, optional
        "Natural", "Adversarial-Neighbor", ..., "MT-Bench"; all by default.

    Returns
    -------
    DataFrame
        A row a verdict: set, item, judge, strategy; first, the output (1 or 2) that was shown
        first; p = P(the one shown first is better), 1 or 0, NaN where no verdict could be read;
        label, the output that is better; independent, False where the two orders of a pair
        are one opinion (strategies Swap and Rating). `attrs["kind"]` is "recorded".

    Raises
    ------
    JudgeError
        If a set is unknown.
    """
    stands_in = source == "stand-in"
    table = standin_verdicts.llmbar() if stands_in else verdicts.llmbar()
    if sets is not None:
        wanted = (sets,) if isinstance(sets, str) else tuple(sets)
        for name in wanted:
            _among("set", name, tuple(table["set"].unique()))
        table = table[table["set"].isin(wanted)].reset_index(drop=True)
    return _marked(table, datasets.recording("llmbar"), "simulated" if stands_in else "recorded")


def llmbar_pairs() -> pd.DataFrame:
    """LLMBar's pairs themselves: set, item, input, output_1, output_2, label.

    Raises DataNotFoundError where they are not on this machine; the message says how to get them.
    """
    return _marked(verdicts.llmbar_pairs(), datasets.recording("llmbar"), "recorded")


def pandalm(*, source: datasets.Source = "real") -> pd.DataFrame:
    """Verdicts of gpt-3.5-turbo and PandaLM-7B on 999 pairs of five models, one order.

    Returns
    -------
    DataFrame
        A row a verdict: item, judge, first and second (the models, as shown), p = 1, 0 or 1/2
        for a tie, NaN where no verdict could be read, and people, the majority of three
        annotators in the same coding. `attrs["kind"]` is "recorded". With one order only,
        nothing can be said about position bias.
    """
    stands_in = source == "stand-in"
    table = standin_verdicts.pandalm() if stands_in else verdicts.pandalm()
    return _marked(table, datasets.recording("pandalm"), "simulated" if stands_in else "recorded")


def _marked(table: pd.DataFrame, entry: datasets.Published, kind: str) -> pd.DataFrame:
    table.attrs = {"kind": kind}
    if kind == "recorded":
        table.attrs |= {"licence": entry.licence, "citation": entry.citation}
    return table


def _among(what: str, value: Any, there: tuple[Any, ...]) -> None:
    if value not in there:
        raise JudgeError(f"no recorded {what} {value!r}; there are {', '.join(map(repr, there))}")


def _invented_scores(judge: str, prompt: int, attribute: str) -> Floats:
    """Scores of a simulated judge on the stand-in's stories: the people's, noise, thirds."""
    people = datasets.load("hanna", source="stand-in").scores[attribute][0]
    key = (HANNA_JUDGES.index(judge), prompt, *attribute.encode())
    rng = np.random.default_rng(np.random.SeedSequence(STAND_IN_SEED, spawn_key=key))
    seen = people + rng.normal(0.3, 0.8, people.shape)
    scores = np.clip(np.rint(3 * seen) / 3, 1.0, 5.0)
    return cast(Floats, np.where(rng.random(people.shape) < 0.01, np.nan, scores))
