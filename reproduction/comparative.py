"""comparative_assessment: its Tables 1, 3, 5, 6, 7, 9 and 10, on SummEval and TopicalChat.

The twins stand under that paper's prompts (their `earlier` rho and bias). Here every call is a
decision of its own, counted as a win, as the paper does; debiased decisions are taken at the median
of all the judge's answers about the attribute. Prompts are averaged in the twins' bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from poe import datasets
from poe.comparisons import Floats
from reproduction import sweep
from reproduction.contexts import attributes, facts_key
from reproduction.published import load
from reproduction.settings import Settings, identity, spread
from reproduction.sweep import labels, per_context
from reproduction.twins import Twin, calibration_cells, stream

JUDGES = ("FlanT5-3B", "FlanT5-11B", "Llama2-7B", "Llama2-13B")
PLACES = ("SummEval", "TopicalChat")


@dataclass(frozen=True)
class Facts:
    """Per draw: correlations in each context (draws, C) and shares (draws,), by what was done."""

    correlation: dict[str, Floats]
    accuracy: dict[str, Floats]
    first: Floats


def run(settings: Settings, table: str) -> pd.DataFrame:
    """Recompute what twins can say of one of the tables 1, 3, 5, 6, 7, 9 and 10."""
    known = cells(table)
    used = calibration_cells("summeval", "topicalchat")
    twice = _printed_twice(used)
    rows = []
    for done, (_, row) in enumerate(known.iterrows()):
        judge = judge_of(
            settings,
            facts_key(row["dataset"]),
            row["system"],
            attributes(row["dataset"], row["attribute"])[0],
        )
        found = decided(judge, settings.source, settings.seed, settings.draws)
        values, boot = values_of(found, row)
        value, se = spread(values)
        signature = _signature(row)
        rows.append(
            {
                **identity(row),
                "value": value,
                "se": se,
                "boot_se": boot,
                # The paper saw one judge, and nothing ties the twin to it but what is calibrated.
                "run_sd": float(values.std(ddof=1)),
                "role": "calibrated" if row["id"] in used or signature in twice else "predicted",
                "kind": settings.kind(judge),
                "labels": labels(facts_key(row["dataset"]), settings.source).source,
            }
        )
        if settings.progress:
            settings.progress(done + 1, len(known))
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


def cells(table: str) -> pd.DataFrame:
    """The printed cells of a table that twins can say something about."""
    printed = load(table, paper="comparative_assessment")
    return printed[
        printed["system"].isin(JUDGES)
        & printed["dataset"].isin(PLACES)
        & ~printed["attribute"].isin(["", "mean"])
        & printed["method"].isin(["standard", "debiased", "comparative"])
    ]


def judge_of(settings: Settings, dataset: str, system: str, attribute: str) -> Twin:
    """The measured judge, or its twin under that paper's prompts."""
    judge = settings.judge(dataset, system, attribute)
    return judge.of_earlier_paper() if isinstance(judge, Twin) else judge


def _signature(row: pd.Series) -> tuple[str, ...]:
    # Tables 1 and 3 print Table 6's standard win-ratio as "comparative".
    what = {"spearman": "correlation"}.get(row["metric"], row["metric"])
    method = "standard" if row["method"] == "comparative" else row["method"]
    return (what, row["system"], row["dataset"], row["attribute"], method, str(row["prompt"]))


def _printed_twice(used: frozenset[str]) -> frozenset[tuple[str, ...]]:
    """Calibrated cells under any id: Table 7 repeats rows of 10, Table 9 of 5."""
    found = set()
    for table in ("table5", "table6", "table9", "table10"):
        printed = load(table, paper="comparative_assessment")
        found |= {_signature(r) for _, r in printed.iterrows() if r["id"] in used}
    return frozenset(found)


def values_of(found: Facts, row: pd.Series) -> tuple[Floats, float]:
    """Per draw, what a cell prints, and its bootstrap error."""
    how = "debiased" if row["method"] == "debiased" else "standard"
    if row["metric"] == "spearman":
        each = found.correlation[how]
        return 100.0 * np.nanmean(each, axis=-1), 100.0 * sweep.bootstrap_se(each)
    if row["metric"] == "accuracy":
        return 100.0 * found.accuracy[how], np.nan
    return found.first, np.nan


@cache
def decided(judge: Twin, source: datasets.Source, seed: int, draws: int) -> Facts:
    """All calls decided, `draws` times."""
    gold = labels(judge.dataset, source).scores[judge.attribute]
    truth = np.sign(gold[:, :, None] - gold[:, None, :])
    correlation: dict[str, list[Floats]] = {"standard": [], "debiased": []}
    accuracy: dict[str, list[float]] = {"standard": [], "debiased": []}
    first = []
    for p in matrices(judge, gold, seed, draws):
        for how, threshold in (("standard", 0.5), ("debiased", float(np.nanmedian(p)))):
            won = np.nan_to_num(np.sign(p - threshold))
            score = won.sum(axis=-1) - won.sum(axis=-2)
            correlation[how].append(per_context(score, gold, "spearman"))
            accuracy[how].append(float((won == truth)[truth != 0].mean()))
            if how == "standard":
                n = gold.shape[1]
                first.append(0.5 + 0.5 * float(won.sum()) / (len(gold) * n * (n - 1)))
    return Facts(
        {how: np.stack(each) for how, each in correlation.items()},
        {how: np.array(each) for how, each in accuracy.items()},
        np.array(first),
    )


def matrices(judge: Twin, gold: Floats, seed: int, draws: int) -> Iterator[Floats]:
    """(C, N, N) answers to all calls, the diagonal NaN, of one draw after another."""
    name = stream(judge)
    for number in range(draws):
        rng = np.random.default_rng([seed, number, name, 5])
        yield judge.answer(gold, rng, draws=1).matrix()[0]
