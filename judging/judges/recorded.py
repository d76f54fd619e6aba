"""Recorded judges: what language models answered in others' published experiments.

Nothing is asked here: the answers were recorded by the authors of HANNA, LLMBar and PandaLM,
and their kind is *recorded*. They are part of the package (data/labels).

    >>> from judging.judges import recorded
    >>> judge = recorded.hanna("ChatGPT", 1, "coherence")
    >>> judge.answer([[0, 1], [1, 0]]).sum().round(12)
    np.float64(1.0)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from judging import datasets
from judging.datasets import files
from judging.datasets.dataset import RATERS, table
from judging.datasets.files import info
from judging.errors import DataNotFoundError, InvalidDataError, JudgeError
from judging.simulated import simulated_answers
from poe.arrays import Floats, Indices, Mask
from poe.comparisons import Comparisons
from poe.errors import name_some

HANNA_JUDGES = ("Beluga-13B", "OrcaPlatypus", "Mistral-7B", "Llama-13B", "ChatGPT")
HANNA_PROMPTS = (1, 2, 3, 4)
LLMBAR = ("set", "item", "judge", "strategy", "first", "p", "label", "independent")
# A verdict in a table, as P(the first is better): 1 the first, 2 the second, 0 a tie.
CODES = {"1": 1.0, "2": 0.0, "0": 0.5, "": np.nan, "-": np.nan}
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
    attribute : as in `judging.datasets.load("hanna")`. Raises JudgeError if there is no such one.
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
    scores = as_published(judge, prompt, attribute)
    scores = np.where(scores < LOWEST, np.nan, scores)
    scores.setflags(write=False)
    return RecordedScores(judge, prompt, attribute, people.candidate_ids, scores)


def as_published(judge: str, prompt: int, attribute: str) -> Floats:
    """The (1056,) means of three generations; some lie below the scale."""
    sums = table("hanna-judges.csv.gz")[f"{judge} {prompt} {attribute}"]
    return sums.astype(float).to_numpy() / RATERS


# Verdicts on pairs ------------------------------------------------------------------------------


def llmbar(sets: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Verdicts of six language models under up to 15 prompts on LLMBar's pairs, both orders.

    sets : "Natural", "Adversarial-Neighbor", ..., "MT-Bench", one or several; all by default.

    A row a verdict: set, item, judge, strategy; first, the output (1 or 2) that was shown first;
    p = P(the one shown first is better), 1 or 0, NaN where no verdict could be read; label, the
    output that is better; independent, False where the two orders of a pair are one opinion
    (strategies Swap and Rating). `attrs` has kind, licence and citation.
    """
    wide = table("llmbar.csv.gz").astype({"item": int, "label": int})
    if sets is not None:
        wanted, there = ([sets] if isinstance(sets, str) else list(sets)), set(wide["set"])
        if unknown := [name for name in wanted if name not in there]:
            known = name_some(wide["set"].unique(), 20)
            raise JudgeError(f"no recorded set {unknown[0]!r}; there are {known}")
        wide = wide[wide["set"].isin(wanted)]
    asked = wide.melt(["set", "item", "label"], var_name="column", value_name="winners")
    asked = asked[asked["winners"] != ""]
    place = {name: k for k, name in enumerate(wide["set"].unique())}
    asked = asked.sort_values("set", key=lambda names: names.map(place), kind="stable")
    rows = asked.loc[asked.index.repeat(2), ["set", "item", "label"]].reset_index(drop=True)
    column = np.repeat(asked["column"].to_numpy(object), 2)
    parts = {name: name.split("/") for name in wide.columns[3:]}
    strategy = np.array([parts[name][1] for name in column], object)
    # The winner is named by its place in the data; p is about the one shown first.
    given, swapped = (asked["winners"].str[k].map(CODES) for k in (0, 1))
    rows = rows.assign(
        judge=[parts[name][0] for name in column],
        strategy=strategy,
        first=np.tile([1, 2], len(asked)),
        p=np.column_stack([given, 1.0 - swapped]).ravel(),
        # Swap strategies show both orders in one conversation, and Rating strategies rate each
        # output alone: the two verdicts are one opinion, written twice.
        independent=[not name.startswith(("Swap", "Rating")) for name in strategy],
    )
    return _marked(rows[list(LLMBAR)], "llmbar")


def llmbar_pairs() -> pd.DataFrame:
    """LLMBar's pairs themselves: set, item, input, output_1, output_2, label.

    They are read from a clone of the repository in POE_DATA_DIR/LLMBar, or a file made from one;
    DataNotFoundError says how to get it.
    """
    try:
        rows = list(map(json.loads, files.read(info("llmbar").main).decode().splitlines()))
    except DataNotFoundError:
        rows = list(_from_clone())
        if not rows:
            raise
    columns = ["set", "item", "input", "output_1", "output_2", "label"]
    pairs = pd.DataFrame([{column: row[column] for column in columns} for row in rows])
    known = table("llmbar.csv.gz")[["set", "item", "label"]]
    if not pairs[["set", "item", "label"]].astype(str).equals(known):
        raise InvalidDataError("llmbar: the pairs are not those of the verdicts in data/labels")
    return _marked(pairs, "llmbar")


def _from_clone() -> Iterator[dict[str, Any]]:
    for group in ("LLMBar", "Processed"):
        top = (files.data_folder() or files.cache_dir()) / "LLMBar" / "Dataset" / group
        for path in sorted(top.glob("**/dataset.json"), key=lambda path: path.as_posix()):
            name = "-".join(path.parent.relative_to(top).parts)
            for item, row in enumerate(json.loads(path.read_bytes())):
                yield {**row, "set": name, "item": item}


def pandalm() -> pd.DataFrame:
    """Verdicts of gpt-3.5-turbo and PandaLM-7B on 999 pairs of five models, one order.

    A row a verdict: item, judge, first and second (the models, as shown), p = 1, 0 or 1/2 for a
    tie, NaN where no verdict could be read, and people, the majority of three annotators in the
    same coding. `attrs` as above. One order says nothing about position bias.
    """
    wide = table("pandalm.csv").astype({"item": int})
    people = wide[["annotator1", "annotator2", "annotator3"]]
    majority = people.mode(axis=1)[0].map(CODES)  # there always is one
    parts = [
        wide[["item", "first", "second"]].assign(
            judge=judge, p=wide[judge].map(CODES), people=majority
        )
        for judge in ("gpt-3.5-turbo", "pandalm-7b")
    ]
    columns = ["item", "judge", "first", "second", "p", "people"]
    return _marked(pd.concat(parts, ignore_index=True)[columns], "pandalm")


def _marked(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    entry = info(name)
    rows.attrs = {"kind": "recorded", "licence": entry.licence, "citation": entry.citation}
    return rows
