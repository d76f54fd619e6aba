"""Predictions about LLMBar, HANNA and scores, written before the judge was asked; what came of it.

The twin was that of `studies.predictions`, calibrated on the judge's TopicalChat answers.

LLMBar: a pair is a context of two texts, z = +1 for the better output and -1 for the other, which
the twin reads as well as it reads dialogues. It knows nothing of adversarial pairs, written so
that the worse output looks better: there it should fail, and by how much is what they measure.

HANNA: all stories in one set, twice as many pairs as stories, each in both orders; and what the
first N, 2N and all 4N of these calls tell, in the order in which they are asked
(`studies.few_calls`). Single raters hardly agree about coherence there (their correlations are
-0.02 to -0.08), so what any judge can reach is low and unknown; the twin knows nothing of it. The
smaller model's calls were foretold from its own answers about TopicalChat.

Scores: a comparison's error was taken to be that of two readings, one of each text, and a score to
be one reading: s = a q + (tau / sqrt 2) e. All comparisons then average over many readings of a
text where its score has one. What this leaves out is all that comparing may add: texts seen side
by side.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.special import expit

from judging.machine import data_dir
from judging.metrics import spearman
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from reproduction import ask_model, large
from reproduction.answers import HANNA, Model
from reproduction.llmbar_texts import ATTRIBUTE, sets
from reproduction.measured_tables import absolute_of, asked, group
from reproduction.to_ask import WIDELY
from reproduction.twins import labels
from studies import few_calls
from studies.few_calls import METHODS, wide_calls
from studies.orders import agreement
from studies.predictions import FILE, numbers

GAINS = (("PoE-BT", "win-ratio"), ("PoE-BT", "BT"), ("PoE-BT", "avg-prob"))
ADVERSARIAL, NATURAL, ALL = "adversarial", "natural", "all"
STORIES = ("coherence", "complexity")  # what is asked of HANNA
FEW = "HANNA, the first N, 2N and 4N calls in the order asked"
SMALLER = f"HANNA asked of SmolLM2-135M, {FEW.removeprefix('HANNA, ')}"
WIDE = "HANNA, both orders of 10N pairs"
EVERY = "SummEval, all 100 articles"
ENOUGH = 60  # articles of which most were not asked before; a machine's time ended at 88
# Of each set in the file, the table with the answers, and the attributes.
SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "LLMBar, the 100 pairs that are asked first": ("llmbar-poe", (NATURAL, ADVERSARIAL, ALL)),
    "HANNA, both orders of 2112 pairs": ("hanna-poe", ("coherence",)),
    "TopicalChat, scores of ten dialogues against all comparisons": (
        "topicalchat-g-eval",
        ask_model.DIALOGUE,
    ),
    "SummEval, scores of ten articles against all comparisons": (
        "summeval-g-eval",
        ("coherence",),
    ),
    "HANNA's complexity, both orders of 2112 pairs": ("hanna-poe", ("complexity",)),
    FEW: ("hanna-poe", STORIES),
    SMALLER: ("hanna-poe", STORIES),
    WIDE: ("hanna-poe", WIDELY),
    EVERY: ("summeval-poe", ask_model.SUMMARY),
}


def written() -> list[dict[str, object]]:
    """The sets that have been written down."""
    return list(tomllib.loads((data_dir() / FILE).read_text("utf-8")).get("set", []))


# What is read off answers ------------------------------------------------------------------------


def of_pairs(logits: Floats, better: Floats) -> dict[str, float]:
    """From logits (P, 2) of the text shown first, in the order given and in the other.

    better : (P,) +1 where the text shown first in the order given is better, else -1. All times
    100: how often one order is right, both averaged, the difference, the share of calls that
    prefer the first place, and c, the correlation of being right in either order.
    """
    p = expit(logits)
    right = 0.5 + 0.5 * np.sign(p - 0.5) * better[:, None] * np.array([1.0, -1.0])
    both = 0.5 + 0.5 * np.sign(p[:, 0] - p[:, 1]) * better
    quantities = {
        "accuracy of one order": right.mean(),
        "accuracy of both orders": both.mean(),
        "both orders - one, accuracy": both.mean() - right.mean(),
        "first place preferred": (0.5 + 0.5 * np.sign(p - 0.5)).mean(),
        "c, of being right": agreement(right)[0],
    }
    return {name: 100.0 * float(value) for name, value in quantities.items()}


def of_set(pairs: Indices, logits: Floats, gold: Floats) -> dict[str, float]:
    """From calls (K, 2), both orders of each pair in succession, about one large set (N,)."""
    p = expit(logits)
    averaged = (p[0::2] + 1.0 - p[1::2]) / 2.0
    c = Comparisons.from_pairs(pairs[0::2], averaged, items=len(gold))
    at = {m: 100.0 * float(spearman(s, gold)) for m, s in large.scores(c, METHODS).items()}
    quantities = at | {f"{a} - {b}": at[a] - at[b] for a, b in GAINS}
    people = np.sign(gold[pairs[0::2, 0]] - gold[pairs[0::2, 1]])
    shares = of_pairs(
        np.stack([logits[0::2], logits[1::2]], axis=-1)[people != 0], people[people != 0]
    )
    return quantities | {
        name: shares[name]
        for name in (
            "accuracy of one order",
            "both orders - one, accuracy",
            "first place preferred",
        )
    }


def of_wide(logits: Floats, gold: Floats) -> dict[str, float]:
    """`of_set` of `wide_calls`, and what they add to the first 2N pairs."""
    calls = wide_calls()
    whole, part = of_set(calls, logits, gold), of_set(calls[:HANNA], logits[:HANNA], gold)
    return whole | {"PoE-BT, 10N - 2N pairs": whole["PoE-BT"] - part["PoE-BT"]}


# What came of it --------------------------------------------------------------------------------


def planned_pairs() -> list[int]:
    """LLMBar's pairs that are asked first."""
    run = next(run for run in ask_model.QWEN_RUNS if run.dataset == "llmbar")
    return ask_model.in_order(run, ask_model.QWEN)


def by_set(contexts: Sequence[int]) -> dict[str, list[int]]:
    """Positions in some contexts of LLMBar that are natural, adversarial, and all."""
    names = sets()
    kinds = {NATURAL: "Natural", ADVERSARIAL: "Adversarial", ALL: ""}
    return {
        kind: [k for k, c in enumerate(contexts) if names[c].startswith(start)]
        for kind, start in kinds.items()
    }


def asked_pairs(contexts: Sequence[int]) -> tuple[list[int], Floats, Floats]:
    """Find which of LLMBar's `contexts` were asked, logits (P, 2) by order, and which is better.

    Empty where none was.
    """
    try:
        there, log_p = ask_model.answers("llmbar", ATTRIBUTE, model=ask_model.QWEN)
    except LookupError:
        return [], np.empty((0, 2)), np.empty(0)
    place = {c: k for k, c in enumerate(there)}
    known = [c for c in contexts if c in place]
    logits = (log_p[..., 0] - log_p[..., 1])[[place[c] for c in known]]
    gold = ask_model.load("llmbar").scores[ATTRIBUTE][known]
    return known, np.stack([logits[:, 0, 1], logits[:, 1, 0]], axis=-1), gold[:, 0] - gold[:, 1]


def asked_stories(attribute: str = "coherence") -> tuple[Indices, Floats]:
    """HANNA's calls (K, 2), both orders of each pair in succession, and their logits; or none."""
    logits = few_calls.story_logits(attribute, ask_model.QWEN)
    if logits.empty:
        return np.empty((0, 2), dtype=np.intp), np.empty(0)
    there = set(logits.index)
    pairs = [(i, j) for i, j in logits.index if i < j and (j, i) in there]
    calls = np.array([pair for i, j in pairs for pair in ((i, j), (j, i))], dtype=np.intp)
    return calls, logits.loc[[tuple(one) for one in calls.tolist()]].to_numpy()


def measured(predicted: str) -> dict[tuple[str, str], float]:
    """The judge's own numbers of one set, by quantity and attribute, and their means.

    Those that there are: none where the judge was not asked all that the set is about.
    """
    name, attributes = SETS[predicted]
    which, each = "smollm2" if predicted == SMALLER else "qwen", dict[str, dict[str, float]]()
    if predicted == EVERY:
        every = group("summeval", which=which)
        if every and len(every[0].contexts) >= ENOUGH:
            values = numbers(every, draws=100, seed=[0]).items()
            each = {
                one.attribute: {q: float(x[k]) for q, x in values} for k, one in enumerate(every)
            }
    elif name == "llmbar-poe":
        known, logits, better = asked_pairs(planned_pairs())
        each = {kind: of_pairs(logits[at], better[at]) for kind, at in by_set(known).items() if at}
    elif name == "hanna-poe":
        each = {one: _of_stories(predicted, one, ask_model.MODELS[which]) for one in attributes}
    else:
        each = {one: _of_marks(name.partition("-")[0], one) for one in attributes}
    named = dict.fromkeys(q for of in each.values() for q in of)
    if len(attributes) > 1:  # of what all have
        mean = {q: float(np.mean([each[a].get(q, np.nan) for a in each])) for q in named}
        each["mean"] = {q: x for q, x in mean.items() if np.isfinite(x)}
    return {(q, attribute): x for attribute, of in each.items() for q, x in of.items()}


def _of_stories(predicted: str, attribute: str, model: Model) -> dict[str, float]:
    """What the calls of one set tell about HANNA; empty before all were answered."""
    gold = labels("hanna").scores[attribute][0]
    if predicted in (FEW, SMALLER):
        return few_calls.numbers(*few_calls.asked(attribute, model), gold)
    if predicted == WIDE:
        logits = few_calls.story_logits(attribute, model)
        calls = list(map(tuple, wide_calls().tolist()))
        there = not logits.empty and logits.index.isin(calls).sum() == len(calls)
        return of_wide(logits.loc[calls].to_numpy(), gold) if there else {}
    asked_of, said = asked_stories(attribute)
    return of_set(asked_of, said, gold) if len(asked_of) == HANNA else {}


def _of_marks(dataset: str, attribute: str) -> dict[str, float]:
    """Correlation of expected marks in ten contexts, and what comparing gains over it."""
    where = "processor" if dataset == "summeval" else "qwen"  # as it was predicted
    if (one := asked(dataset, attribute, "poe", where)) is None:
        return {}
    here = ask_model.in_order(ask_model.Run(dataset, "g-eval", (), 10), ask_model.QWEN)
    known, each = [k for k, c in enumerate(one.contexts) if c in here], absolute_of(one)
    values = {q: each[q,][0, known] for q in ("expected", "avg-prob - expected")}
    return {q: 100.0 * float(np.nanmean(x)) for q, x in values.items() if np.isfinite(x).any()}


def outcomes() -> pd.DataFrame:
    """Every prediction of these sets beside what was measured; only those that were measured.

    Columns: predicted, date, quantity, attribute, low, median, high, measured, inside, and claim,
    holds_if, chance where there is a claim.
    """
    rows = []
    for one in written():
        predicted = str(one["predicted"])
        values = measured(predicted)
        for row in cast(list[dict[str, Any]], one["prediction"]):
            value = values.get((row["quantity"], row["attribute"]))
            if value is not None:
                inside = row["low"] <= value <= row["high"]
                about = {"predicted": one["predicted"], "date": one["date"]}
                rows.append({**about, **row, "measured": value, "inside": inside})
    return pd.DataFrame(rows)


def standing() -> pd.DataFrame:
    """Count the predictions of each set: written, scored, inside, and not asked yet (open)."""
    found, rows = outcomes(), {}
    for one in written():
        here = found[found["predicted"] == one["predicted"]] if len(found) else found
        count = len(cast(list[Any], one["prediction"]))
        inside = int(here["inside"].sum()) if len(here) else 0
        rows[str(one["predicted"])] = (count, len(here), inside, count - len(here))
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["written", "scored", "inside", "open"]
    )
