"""comparative_assessment: Tables 1, 3, 5 to 11, Figures 4 and 5, on SummEval and TopicalChat.

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
from poe.baselines.likelihood import likelihood_ranking
from poe.comparisons import Comparisons, Floats
from poe.reproduce import curves, sweep
from poe.reproduce.contexts import attributes, facts_key
from poe.reproduce.published import load
from poe.reproduce.settings import Settings, identity, spread
from poe.reproduce.sweep import labels, per_context
from poe.reproduce.twins import Twin, calibration_cells, stream
from poe.selection import Rule, select_stack
from poe.stack import Stack

JUDGES = ("FlanT5-3B", "FlanT5-11B", "Llama2-7B", "Llama2-13B")
PLACES = ("SummEval", "TopicalChat")
RULES: tuple[Rule, ...] = ("random", "no-repeat", "symmetric")
PANELS = {
    "figure4": ("FlanT5-3B", "summeval", "coherence"),
    "figure5a": ("FlanT5-11B", "summeval", "coherence"),
    "figure5b": ("Llama2-13B", "summeval", "consistency"),
    "figure5c": ("FlanT5-11B", "topicalchat", "engagingness"),
    "figure5d": ("Llama2-7B", "topicalchat", "naturalness"),
}
RUNS = 50  # of the paper's figures
CALLS = {
    "summeval": (16, 32, 48, 64, 80, 96, 112, 120, 160, 200, 240),
    "topicalchat": (6, 10, 14, 18, 22, 26, 30),
}
LIKELIHOOD_DRAWS = 2


@dataclass(frozen=True)
class Facts:
    """Per draw: correlations in each context (draws, C) and shares (draws,), by what was done."""

    correlation: dict[str, Floats]
    accuracy: dict[str, Floats]
    first: Floats


def run(settings: Settings, table: str) -> pd.DataFrame:
    """Recompute what twins can say of one of the tables 1, 3, 5, 6, 7, 9 and 10."""
    printed = load(table, paper="comparative_assessment")
    known = printed[
        printed["system"].isin(JUDGES)
        & printed["dataset"].isin(PLACES)
        & ~printed["attribute"].isin(["", "mean"])
        & printed["method"].isin(["standard", "debiased", "comparative"])
    ]
    used = calibration_cells("summeval", "topicalchat")
    twice = _printed_twice(used)
    rows = []
    for done, (_, row) in enumerate(known.iterrows()):
        judge = _judge(
            settings,
            facts_key(row["dataset"]),
            row["system"],
            attributes(row["dataset"], row["attribute"])[0],
        )
        found = decided(judge, settings.source, settings.seed, settings.draws)
        values, boot = _values(found, row)
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


def _judge(settings: Settings, dataset: str, system: str, attribute: str) -> Twin:
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


def _values(found: Facts, row: pd.Series) -> tuple[Floats, float]:
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
    for p in _matrices(judge, gold, seed, draws):
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


def _matrices(judge: Twin, gold: Floats, seed: int, draws: int) -> Iterator[Floats]:
    """(C, N, N) answers to all calls, the diagonal NaN, of one draw after another."""
    name = stream(judge)
    for number in range(draws):
        rng = np.random.default_rng([seed, number, name, 5])
        yield judge.answer(gold, rng, draws=1).matrix()[0]


def table8(settings: Settings) -> pd.DataFrame:
    """Pairs ordered from all calls among n summaries, against all sixteen and the human scores.

    FlanT5-3B, coherence; n of the sixteen drawn at random in each context and draw.
    """
    judge = _judge(settings, "summeval", "FlanT5-3B", "coherence")
    gold = labels("summeval", settings.source).scores["coherence"]
    printed = load("table8", paper="comparative_assessment")
    values: dict[str, list[float]] = {id_: [] for id_ in printed["id"]}
    rng = np.random.default_rng([settings.seed, 8])
    draws = min(settings.draws, 25)
    for p in _matrices(judge, gold, settings.seed, draws):
        won = np.nan_to_num(np.sign(p - 0.5))
        final = won.sum(axis=-1) - won.sum(axis=-2)
        for _, row in printed.iterrows():
            n = int(row["note"].split(" = ")[1].split()[0]) if "n = " in row["note"] else 16
            chosen = np.sort(rng.permuted(np.tile(np.arange(16), (len(gold), 1)), axis=1)[:, :n])
            values[row["id"]].append(_consistent(won, final, gold, chosen, row["method"]))
    rows = []
    for _, row in printed.iterrows():
        value, se = spread(100.0 * np.array(values[row["id"]]))
        rows.append(
            {
                **identity(row),
                "value": value,
                "se": se,
                "boot_se": np.nan,
                "run_sd": 100.0 * float(np.std(values[row["id"]], ddof=1)),
                "role": "predicted",
                "kind": settings.kind(judge),
                "labels": labels("summeval", settings.source).source,
            }
        )
    return pd.DataFrame(rows).assign(draws=draws, seed=settings.seed)


def _consistent(won: Floats, final: Floats, gold: Floats, chosen: Floats, method: str) -> float:
    """Share of the pairs among the chosen that have the same order, ties in ours half."""
    rows = np.arange(len(gold))[:, None]
    part = won[rows[..., None], chosen[:, :, None], chosen[:, None, :]]
    ours = part.sum(axis=-1) - part.sum(axis=-2)
    theirs = (final if method == "final" else gold)[rows, chosen]
    a = np.sign(ours[:, :, None] - ours[:, None, :])
    b = np.sign(theirs[:, :, None] - theirs[:, None, :])
    decided = b != 0
    return float(((a * b)[decided].mean() + 1.0) / 2.0)


def table11(settings: Settings) -> pd.DataFrame:
    """The likeliest ranking against the win-ratio, FlanT5-3B on SummEval."""
    printed = load("table11", paper="comparative_assessment")
    rows = []
    for _, row in printed.iterrows():
        name = attributes("SummEval", row["attribute"])[0]
        judge = _judge(settings, "summeval", row["system"], name)
        gold = labels("summeval", settings.source).scores[name]
        if row["method"] == "likelihood":
            each = _likeliest(judge, settings, name)
        else:
            found = decided(judge, settings.source, settings.seed, settings.draws)
            each = found.correlation["standard"]
        values = 100.0 * np.nanmean(each, axis=-1)
        value, se = spread(values)
        rows.append(
            {
                **identity(row),
                "value": value,
                "se": se,
                "boot_se": 100.0 * sweep.bootstrap_se(each),
                "run_sd": float(values.std(ddof=1)),
                "role": "predicted",
                "kind": settings.kind(judge),
                "draws": len(values),
                "labels": labels("summeval", settings.source).source,
            }
        )
        assert len(gold) == each.shape[-1]
    return pd.DataFrame(rows).assign(seed=settings.seed)


def _likeliest(judge: Twin, settings: Settings, name: str) -> Floats:
    gold = labels("summeval", settings.source).scores[name]
    n = gold.shape[1]
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
    found = []
    for p in _matrices(judge, gold, settings.seed, LIKELIHOOD_DRAWS):
        ranks = []
        for context in p:
            c = Comparisons.from_pairs(pairs, context[pairs[:, 0], pairs[:, 1]], items=n)
            best = likelihood_ranking(c, floor=1e-9, exact_up_to=1, restarts=1)
            ranks.append(best.scores)
        found.append(per_context(np.stack(ranks), gold, "spearman"))
    return np.stack(found)


def figure(settings: Settings, name: str) -> pd.DataFrame:
    """Win-ratio against the number of calls, three ways to choose them, debiased or not."""
    system, dataset, attribute = of = PANELS[name]
    judge = _judge(settings, dataset, system, attribute)
    gold = labels(dataset, settings.source).scores[attribute]
    contexts, n = gold.shape
    runs = min(settings.draws, RUNS)
    found: dict[tuple[str, int, str], list[float]] = {}
    for number, p in enumerate(_matrices(judge, gold, settings.seed, runs)):
        middle = float(np.nanmedian(p))
        rng = np.random.default_rng([settings.seed, number, 6])
        rows = np.arange(contexts)[:, None]
        for rule in RULES:
            for count in CALLS[dataset]:
                if rule == "no-repeat" and count > n * (n - 1) // 2:
                    continue
                pairs = select_stack(
                    contexts,
                    n,
                    count,
                    rule=rule,
                    seed=rng,
                    connected=False,
                )
                answers = p[rows, pairs[..., 0], pairs[..., 1]]
                for bias, threshold in (("none", 0.5), ("reweighted", middle)):
                    hard = (np.sign(answers - threshold) + 1.0) / 2.0
                    scores = sweep.METHODS["avg-prob"](Stack.of(n, pairs, hard))
                    each = per_context(scores, gold, "spearman")
                    found.setdefault((rule, count, bias), []).append(float(np.nanmean(each)))
        if settings.progress:
            settings.progress(number + 1, runs)
    points = [
        curves.point(
            settings,
            f"comparative-{name}",
            of,
            count,
            "win-ratio",
            rule,
            100.0 * np.array(values),
            bias,
        )
        for (rule, count, bias), values in found.items()
    ]
    return pd.DataFrame(points)


__all__ = ["PANELS", "decided", "figure", "run", "table8", "table11"]
