"""Predictions about LLMBar, HANNA and scores, before the judge is asked.

`python -m studies.predict_more` puts them at the end of data/predictions.toml. The twin is
that of `studies.predictions`, calibrated on the judge's TopicalChat answers.

LLMBar: a pair is a context of two texts, z = +1 for the better output and -1 for the other, which
the twin reads as well as it reads dialogues. It knows nothing of adversarial pairs, written so
that the worse output looks better: there it should fail, and by how much is what they measure.

HANNA: all stories in one set, twice as many pairs as stories, each in both orders; and what the
first N, 2N and all 4N of these calls tell, in the order in which they are asked
(`studies.few_calls`). Single raters hardly agree about coherence there (their correlations are
-0.02 to -0.08), so what any judge can reach is low and unknown; the twin knows nothing of it. The
smaller model's calls are foretold from its own answers about TopicalChat.

Scores: a comparison's error is taken to be that of two readings, one of each text, and a score to
be one reading: s = a q + (tau / sqrt 2) e. All comparisons then average over many readings of a
text where its score has one. What this leaves out is all that comparing may add: texts seen side
by side.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.special import expit

from judging.datasets.questions import pairs_of
from judging.machine import data_dir
from judging.metrics import spearman
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.scores import average_probability
from poe.stack import Stack
from reproduction import ask_model, large
from reproduction.answers import HANNA, WIDE_CALLS
from reproduction.llmbar_texts import ATTRIBUTE, sets
from reproduction.measured_tables import absolute_of, asked, group
from reproduction.small import per_context
from reproduction.to_ask import WIDELY
from reproduction.twins import Twin, labels
from studies import few_calls, predictions
from studies.orders import agreement
from studies.predictions import DRAWS, FILE, Calibrated, calibrated, drawn, numbers, rows, sources

Known = Sequence[tuple[Floats, Floats]]  # as `predictions.sources` gives them
METHODS = ("win-ratio", "BT", "avg-prob", "PoE-BT", "PoE-g")
GAINS = (("PoE-BT", "win-ratio"), ("PoE-BT", "BT"), ("PoE-BT", "avg-prob"))
ADVERSARIAL, NATURAL, ALL = "adversarial", "natural", "all"
STORIES = ("coherence", "complexity")  # what is asked of HANNA
FEW = "HANNA, the first N, 2N and 4N calls in the order asked"
SMALLER = f"HANNA asked of SmolLM2-135M, {FEW.removeprefix('HANNA, ')}"
WIDE = "HANNA, both orders of 10N pairs"
EVERY = "SummEval, all 100 articles"
# Sets of what was asked in part before they were predicted: which part.
ENOUGH = 60  # articles of which most were not asked before; a machine's time ended at 88
BEFORE = {EVERY: "coherence of 30 articles, other attributes of 10"}
CLAIMS = {
    "averaging both orders makes decisions better": ("both orders - one, accuracy", "above 0.0"),
    "PoE-BT beats counting wins at 2N pairs": ("PoE-BT - win-ratio", "above 0.0"),
    "PoE-BT beats Bradley-Terry on decisions at 2N pairs": ("PoE-BT - BT", "above 0.0"),
    "comparing beats scoring": ("avg-prob - expected", "above 0.0"),
}
CLAIMS_OF_FEW = {
    "0.19% of all comparisons do about as well as 0.38%": ("PoE-BT, 4N - 2N", "at most 1.0"),
    "half the calls do as well as counting the wins of all": (
        "PoE-BT, 2N - win-ratio, 4N",
        "above 0.0",
    ),
    "with very few comparisons PoE-g can be poor": ("PoE-BT - PoE-g, N", "above 3.0"),
    "with more comparisons PoE-g is about as good": ("PoE-BT - PoE-g, 4N", "at most 1.0"),
    **{
        f"{better} beats {what} at {size} calls": (f"{better} - {other}, {size}", "above 0.0")
        for size in ("N", "2N", "4N")
        for better, other, what in (
            ("PoE-BT", "win-ratio", "counting wins"),
            ("PoE-BT", "BT", "Bradley-Terry on decisions"),
            ("PoE-BT", "avg-prob", "the average probability"),
            ("avg-prob", "win-ratio", "counting wins"),
        )
    },
}

CLAIMS_OF_WIDE = {
    **{name: CLAIMS[name] for name in CLAIMS if name != "comparing beats scoring"},
    "0.38% of all comparisons do about as well as 1.9%": ("PoE-BT, 10N - 2N pairs", "at most 2.0"),
}

# What is read off answers, a twin's and the judge's own -----------------------------------------


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


def wide_calls() -> Indices:
    """(20N, 2) both orders of 10N pairs in succession; the first 4N are those asked in quarters."""
    n = labels("hanna").n_candidates
    return pairs_of(n, WIDE_CALLS, both_orders=True, seed=(0, 0))


def of_wide(logits: Floats, gold: Floats) -> dict[str, float]:
    """`of_set` of `wide_calls`, and what they add to the first 2N pairs."""
    calls = wide_calls()
    whole, part = of_set(calls, logits, gold), of_set(calls[:HANNA], logits[:HANNA], gold)
    return whole | {"PoE-BT, 10N - 2N pairs": whole["PoE-BT"] - part["PoE-BT"]}


# What the twin says -----------------------------------------------------------------------------


def _again(known: Known, rng: np.random.Generator, at: int | None = None) -> Calibrated:
    """Calibrated on contexts drawn again of one attribute, any where none is named."""
    logits, z = known[int(rng.integers(len(known))) if at is None else at]
    chosen = rng.integers(len(z), size=len(z))
    return calibrated(logits[chosen], z[chosen])


def _twin(parameters: Calibrated, dataset: str, attribute: str) -> Twin:
    return parameters.twin(ask_model.QWEN.name, dataset, attribute)


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


def pairs(known: Known, rng: np.random.Generator) -> dict[str, list[float]]:
    """LLMBar, one draw: numbers of natural, adversarial and all pairs that are asked first."""
    contexts = planned_pairs()
    gold = ask_model.load("llmbar").scores[ATTRIBUTE]
    logits = _twin(_again(known, rng), "llmbar", ATTRIBUTE).answer(gold, rng).logits[contexts]
    shown = np.stack([logits[:, 0, 1], logits[:, 1, 0]], axis=-1)
    better = gold[contexts, 0] - gold[contexts, 1]
    each = [of_pairs(shown[at], better[at]) for at in by_set(contexts).values()]
    return {name: [one[name] for one in each] for name in each[0]}


def stories(
    known: Known, rng: np.random.Generator, attribute: str = "coherence"
) -> dict[str, list[float]]:
    """One attribute of HANNA, one draw."""
    gold = labels("hanna").scores[attribute][0]
    calls = pairs_of(len(gold), HANNA, both_orders=True, seed=(0, 0))
    p = _twin(_again(known, rng), "hanna", attribute).asker(gold, rng)(calls)
    quantities = of_set(calls, np.log(p) - np.log1p(-p), gold)
    return {name: [value] for name, value in quantities.items()}


def wide_stories(known: Known, rng: np.random.Generator) -> dict[str, list[float]]:
    """Three attributes of HANNA from both orders of 10N pairs, and what 2N tell, one draw."""
    quantities: dict[str, list[float]] = {}
    for attribute in WIDELY:
        gold = labels("hanna").scores[attribute][0]
        calls = wide_calls()
        p = _twin(_again(known, rng), "hanna", attribute).asker(gold, rng)(calls)
        for name, value in of_wide(np.log(p) - np.log1p(-p), gold).items():
            quantities.setdefault(name, []).append(value)
    return quantities


def articles(known: Known, rng: np.random.Generator) -> dict[str, list[float]]:
    """SummEval's four attributes on all of its articles, one draw."""
    every = range(len(labels("summeval").scores["coherence"]))
    runs = dict.fromkeys(ask_model.SUMMARY, every)
    drawn_now = list(drawn(known, runs, rng, which="qwen"))
    values = numbers(drawn_now, draws=1, seed=[int(rng.integers(2**31))])
    return {name: value.tolist() for name, value in values.items()}


def few_stories(known: Known, rng: np.random.Generator) -> dict[str, list[float]]:
    """HANNA's coherence and complexity after N, 2N and 4N calls, one draw."""
    quantities: dict[str, list[float]] = {}
    for attribute in STORIES:
        gold = labels("hanna").scores[attribute][0]
        calls = few_calls.story_calls()
        p = _twin(_again(known, rng), "hanna", attribute).asker(gold, rng)(calls.reshape(-1, 2))
        logits = (np.log(p) - np.log1p(-p)).reshape(calls.shape[:2])
        for name, value in few_calls.numbers(calls, logits, gold).items():
            quantities.setdefault(name, []).append(value)
    return quantities


def scoring(
    known: Known, rng: np.random.Generator, dataset: str, attributes: Iterable[str], contexts: int
) -> dict[str, list[float]]:
    """Scores against all comparisons of the same texts, one draw; own attributes of TopicalChat."""
    quantities: dict[str, list[float]] = {"expected": [], "avg-prob - expected": []}
    run = ask_model.Run(dataset, "g-eval", (), contexts)
    here = ask_model.in_order(run, ask_model.QWEN)
    for k, attribute in enumerate(attributes):
        one = _again(known, rng, k if dataset == "topicalchat" else None)
        every = labels(dataset).scores[attribute]
        gold, n = every[here], every.shape[1]
        judge = _twin(one, dataset, attribute).answer(every, rng)
        error = rng.standard_normal(every.shape) * one.noise / np.sqrt(2.0)
        alone = per_context((one.sharpness * judge.quality + error)[here], gold)
        p = expit(judge.logits[here])
        calls = np.argwhere(~np.eye(n, dtype=bool))
        stack = Stack.of(n, np.broadcast_to(calls, (len(p), *calls.shape)), p[:, *calls.T])
        compared = per_context(average_probability(stack), gold)
        quantities["expected"].append(100.0 * float(np.nanmean(alone)))
        quantities["avg-prob - expected"].append(100.0 * float(np.nanmean(compared - alone)))
    return quantities


# Writing it down --------------------------------------------------------------------------------

Drawn = Callable[[Known, np.random.Generator], Mapping[str, list[float]]]
SETS: dict[str, tuple[str, tuple[str, ...], Drawn]] = {
    "LLMBar, the 100 pairs that are asked first": (
        "llmbar-poe",
        (NATURAL, ADVERSARIAL, ALL),
        pairs,
    ),
    "HANNA, both orders of 2112 pairs": ("hanna-poe", ("coherence",), stories),
    "TopicalChat, scores of ten dialogues against all comparisons": (
        "topicalchat-g-eval",
        ask_model.DIALOGUE,
        lambda known, rng: scoring(known, rng, "topicalchat", ask_model.DIALOGUE, 10),
    ),
    "SummEval, scores of ten articles against all comparisons": (
        "summeval-g-eval",
        ("coherence",),
        lambda known, rng: scoring(known, rng, "summeval", ("coherence",), 10),
    ),
    "HANNA's complexity, both orders of 2112 pairs": (
        "hanna-poe",
        ("complexity",),
        lambda known, rng: stories(known, rng, "complexity"),
    ),
    FEW: ("hanna-poe", STORIES, few_stories),
    SMALLER: ("hanna-poe", STORIES, few_stories),
    WIDE: ("hanna-poe", WIDELY, wide_stories),
    EVERY: ("summeval-poe", ask_model.SUMMARY, articles),
}
DRAWS_OF = {FEW: 100, SMALLER: 100}  # seconds each; else `DRAWS`


def model_of(predicted: str) -> str:
    """Whose answers a set is about, and comes from."""
    return "smollm2" if predicted == SMALLER else "qwen"


def draws_of(one: Drawn, known: Known, *, draws: int = DRAWS, seed: int = 0) -> dict[str, Floats]:
    """(draws, A) of every number."""
    quantities: dict[str, list[list[float]]] = {}
    for draw in range(draws):
        for name, values in one(known, np.random.default_rng([seed, 28, draw])).items():
            quantities.setdefault(name, []).append(values)
    return {name: np.array(values) for name, values in quantities.items()}


def as_toml(predicted: str, attributes: Sequence[str], quantities: Mapping[str, Floats]) -> str:
    """One set, to be put at the end of data/predictions.toml."""
    place = "qwen/" if model_of(predicted) == "qwen" else ""
    about = {
        "predicted": predicted,
        "calibrated_on": f"TopicalChat, data/measured/{place}topicalchat-poe.csv.gz",
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": "python -m studies.predict_more",
    }
    if predicted in BEFORE:
        about["asked_before"] = BEFORE[predicted]
    claims = CLAIMS_OF_FEW if attributes == STORIES else CLAIMS
    claims = {WIDE: CLAIMS_OF_WIDE, EVERY: predictions.CLAIMS}.get(predicted, claims)
    lines = rows(quantities, attributes, claims, "set.prediction")
    if "all" in attributes:  # which is no attribute beside others, and no mean of them
        lines = _without_means(lines)
    return "\n".join(["", "[[set]]", *(f'{k} = "{v}"' for k, v in about.items()), *lines]) + "\n"


def _without_means(lines: Sequence[str]) -> list[str]:
    tables = "\n".join(lines).split("\n\n")
    return "\n\n".join(one for one in tables if 'attribute = "mean"' not in one).split("\n")


def written() -> list[dict[str, object]]:
    """The sets that have been written down."""
    return list(tomllib.loads((data_dir() / FILE).read_text("utf-8")).get("set", []))


# What came of it --------------------------------------------------------------------------------


def asked_pairs(contexts: Sequence[int]) -> tuple[list[int], Floats, Floats]:
    """Of LLMBar's `contexts` those that were asked, logits (P, 2) by order, and which is better.

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
    logits = few_calls.said(attribute, ask_model.QWEN)
    if logits.empty:
        return np.empty((0, 2), dtype=np.intp), np.empty(0)
    there = set(logits.index)
    pairs = [(i, j) for i, j in logits.index if i < j and (j, i) in there]
    calls = np.array([pair for i, j in pairs for pair in ((i, j), (j, i))], dtype=np.intp)
    return calls, logits.loc[[tuple(one) for one in calls.tolist()]].to_numpy()


def _measured(
    predicted: str, name: str, attributes: Sequence[str], which: str
) -> dict[tuple[str, str], float]:
    """The judge's own numbers, by quantity and attribute; those that there are."""
    quantities: dict[tuple[str, str], float] = {}
    if predicted == EVERY:
        every = group("summeval", which=which)
        if not every or len(every[0].contexts) < ENOUGH:
            return quantities
        for quantity, values in numbers(every, draws=100, seed=[0]).items():
            there = zip(every, values.tolist(), strict=True)
            quantities |= {(quantity, one.attribute): x for one, x in there}
        quantities |= _means(quantities, attributes)
    elif predicted == WIDE:
        for attribute in attributes:
            logits = few_calls.said(attribute, ask_model.MODELS[which])
            every_call = list(map(tuple, wide_calls().tolist()))
            if not logits.empty and logits.index.isin(every_call).sum() == len(every_call):
                of = of_wide(
                    logits.loc[every_call].to_numpy(), labels("hanna").scores[attribute][0]
                )
                quantities |= {(quantity, attribute): x for quantity, x in of.items()}
        quantities |= _means(quantities, attributes)
    elif name == "llmbar-poe":
        known, logits, better = asked_pairs(planned_pairs())
        for kind, at in by_set(known).items():
            if at:
                quantities |= {(q, kind): v for q, v in of_pairs(logits[at], better[at]).items()}
    elif name == "hanna-poe" and len(attributes) == 1:
        calls, logits = asked_stories(attributes[0])
        if len(calls) == HANNA:
            gold = labels("hanna").scores[attributes[0]][0]
            quantities |= {(q, attributes[0]): v for q, v in of_set(calls, logits, gold).items()}
    elif name == "hanna-poe":
        for attribute in attributes:
            calls, logits = few_calls.asked(attribute, ask_model.MODELS[which])
            gold = labels("hanna").scores[attribute][0]
            of = few_calls.numbers(calls, logits, gold)
            quantities |= {(q, attribute): v for q, v in of.items()}
        quantities |= _means(quantities, attributes)
    else:
        dataset = name.partition("-")[0]
        here = ask_model.in_order(ask_model.Run(dataset, "g-eval", (), 10), ask_model.QWEN)
        for attribute in attributes:
            where = "processor" if dataset == "summeval" else "qwen"  # as it was predicted
            if (one := asked(dataset, attribute, "poe", where)) is None:
                continue
            each = absolute_of(one)
            known = [k for k, c in enumerate(one.contexts) if c in here]
            for quantity in ("expected", "avg-prob - expected"):
                values = each[quantity,][0, known]
                if np.isfinite(values).any():
                    quantities[quantity, attribute] = 100.0 * float(np.nanmean(values))
        quantities |= _means(quantities, attributes)
    return quantities


def _means(
    quantities: Mapping[tuple[str, str], float], attributes: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Over several attributes, of each quantity that all of them have."""
    if len(attributes) < 2:
        return {}
    every = {q: [quantities.get((q, a), np.nan) for a in attributes] for q, _ in quantities}
    means = {(q, "mean"): float(np.mean(values)) for q, values in every.items()}
    return {place: value for place, value in means.items() if np.isfinite(value)}


def outcomes() -> pd.DataFrame:
    """Every prediction of these sets beside what was measured; only those that were measured.

    Columns: predicted, date, quantity, attribute, low, median, high, measured, inside, and claim,
    holds_if, chance where there is a claim.
    """
    rows = []
    for one in written():
        name, attributes, _ = SETS[str(one["predicted"])]
        predicted = str(one["predicted"])
        values = _measured(predicted, name, attributes, model_of(predicted))
        for row in cast(list[dict[str, Any]], one["prediction"]):
            value = values.get((row["quantity"], row["attribute"]))
            if value is not None:
                inside = row["low"] <= value <= row["high"]
                about = {"predicted": one["predicted"], "date": one["date"]}
                rows.append({**about, **row, "measured": value, "inside": inside})
    return pd.DataFrame(rows)


def standing() -> pd.DataFrame:
    """How many predictions of each set were written, scored, inside, and not asked yet (open)."""
    found, rows = outcomes(), {}
    for one in written():
        here = found[found["predicted"] == one["predicted"]] if len(found) else found
        count = len(cast(list[Any], one["prediction"]))
        inside = int(here["inside"].sum()) if len(here) else 0
        rows[str(one["predicted"])] = (count, len(here), inside, count - len(here))
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["written", "scored", "inside", "open"]
    )


def main() -> None:
    """Predict what is not predicted yet; refuses what the judge has been asked."""
    path = data_dir() / FILE
    there = {one["predicted"] for one in written()}
    for predicted, (name, attributes, one) in SETS.items():
        if predicted in there:
            continue
        which = model_of(predicted)
        if predicted not in BEFORE and len(ask_model.kept(name, ask_model.MODELS[which])):
            raise SystemExit(f"the judge has been asked ({name}); it is too late to predict")
        draws = DRAWS_OF.get(predicted, DRAWS)
        text = as_toml(predicted, attributes, draws_of(one, sources(which), draws=draws))
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
