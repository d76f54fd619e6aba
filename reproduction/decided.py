"""comparative_assessment: what single decisions of a judge say, on SummEval and TopicalChat.

The twins stand under that paper's prompts (their `earlier` rho and bias). Here every call is a
decision of its own, counted as a win, as the paper does; debiased decisions are taken at the median
of all the judge's answers about the attribute. Prompts are averaged in the twins' bias.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from poe.arrays import Floats
from poe.choose.selection import Rule, select_stack
from poe.comparisons import Comparisons
from poe.scores import average_probability
from poe.stack import Stack
from reproduction.baselines.likelihood import likelihood_ranking
from reproduction.published import all_tables, load
from reproduction.settings import Settings, bootstrap_se, cell, point
from reproduction.small import per_context
from reproduction.twins import Twin, calibration_cells, labels, stream, twin_of, twins

PAPER = "comparative_assessment"
JUDGES = ("FlanT5-3B", "FlanT5-11B", "Llama2-7B", "Llama2-13B")


# By measure as printed, and threshold: Spearman in each context (draws, C), shares (draws,).
Decisions = dict[tuple[str, str], Floats]


def matrices(judge: Twin, gold: Floats, seed: int, draws: int) -> Iterator[Floats]:
    """(C, N, N) answers to all calls, the diagonal NaN, of one draw after another."""
    for number in range(draws):
        rng = np.random.default_rng([seed, number, stream(judge), 5])
        yield judge.answer(gold, rng, draws=1).matrix()[0]


_KNOWN: dict[tuple[Twin, int, int], Decisions] = {}  # that some target needed


def decided(judge: Twin, seed: int, draws: int) -> Decisions:
    """All calls decided, `draws` times, at a half ("standard") and at the median ("debiased")."""
    gold = labels(judge.dataset).scores[judge.attribute]
    truth = np.sign(gold[:, :, None] - gold[:, None, :])
    n = gold.shape[1]
    decisions: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for p in matrices(judge, gold, seed, draws):
        for how, threshold in (("standard", 0.5), ("debiased", float(np.nanmedian(p)))):
            won = np.nan_to_num(np.sign(p - threshold))
            first = 0.5 + 0.5 * float(won.sum()) / (len(gold) * n * (n - 1))
            decisions["spearman", how].append(per_context(margin(won), gold))
            decisions["accuracy", how].append(float((won == truth)[truth != 0].mean()))
            decisions["first-position rate", how].append(first)
    return {key: np.array(each) for key, each in decisions.items()}


def margin(won: Floats) -> Floats:
    """Wins less losses of each item, of (..., N, N) decisions +1, 0, -1 for the row's."""
    return np.asarray(won.sum(axis=-1) - won.sum(axis=-2))


def table(settings: Settings) -> pd.DataFrame:
    """Simulate what twins can say of tables 1, 3, 5, 6, 7, 9 and 10; one row a cell."""
    rows = []
    for row, judge, decisions in _all_decided(cells(settings.target.table), settings):
        how, metric = "debiased" if row["method"] == "debiased" else "standard", row["metric"]
        about = cell(
            row,
            _values(decisions, metric, how),
            run_sd=_run_sd(row, decisions, how),
            boot_se=100.0 * bootstrap_se(decisions[metric, how])
            if metric == "spearman"
            else np.nan,
            role="calibrated" if _experiment(row) in _used() else "seen",
            dataset=judge.dataset,
        )
        rows.append(about)
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


def _all_decided(
    printed: pd.DataFrame, settings: Settings
) -> Iterator[tuple[pd.Series, Twin, Decisions]]:
    """Printed cells, the judge of each under that paper's prompts, and what it decides."""
    rows = [row for _, row in printed.iterrows()]
    judges = [twin_of(row).of_earlier_paper() for row in rows]
    tasks = [(judge, settings.seed, settings.draws) for judge in judges]
    decisions = settings.map(lambda task: decided(*task), tasks, known=_KNOWN)
    return zip(rows, judges, [decisions[task] for task in tasks], strict=True)


def _values(decisions: Decisions, metric: str, how: str) -> Floats:
    """(draws,) of a measure, in the units it is printed in."""
    if metric == "first-position rate":  # of decisions that are not debiased
        return decisions[metric, "standard"]
    each = decisions[metric, how]
    return np.asarray(100.0 * (np.nanmean(each, axis=-1) if metric == "spearman" else each))


def _run_sd(row: pd.Series, decisions: Decisions, how: str) -> float:
    """How far one run of one judge scatters around its twin, given what that was calibrated on.

    All calls are made, so that each draw is a run. Known of it is the same measure of the same
    decisions, or else of those at the other threshold, where the twin was calibrated on it.
    """
    known = {one[:-1] for one in _used()}  # whatever the prompt
    values = _values(decisions, row["metric"], how)
    for one in (how, "debiased", "standard"):
        if (one, *_experiment(row)[1:-1]) in known:
            values = values - _values(decisions, row["metric"], one)
            break
    return float(values.std(ddof=1))


def cells(table: str) -> pd.DataFrame:
    """The printed cells of a table that twins can say something about."""
    printed = load(table, paper=PAPER)
    return printed[
        printed["system"].isin(JUDGES)
        & printed["dataset"].isin(["SummEval", "TopicalChat"])
        & ~printed["attribute"].isin(["", "mean"])
        & printed["method"].isin(["standard", "debiased", "comparative"])
    ]


def _experiment(row: pd.Series) -> tuple[str, ...]:
    """What a cell reports: Table 7 repeats rows of 10, Table 9 of 5, and 1 and 3 rows of 6."""
    method = "standard" if row["method"] == "comparative" else row["method"]
    names = ("metric", "system", "dataset", "attribute", "prompt")
    return (method, *(str(row[name]) for name in names))


@cache
def _used() -> frozenset[tuple[str, ...]]:
    """Experiments of cells that the twins were calibrated on."""
    printed = all_tables(paper=PAPER)
    used = printed[printed["id"].isin(calibration_cells())]
    return frozenset(_experiment(row) for _, row in used.iterrows())


def consistency(settings: Settings) -> pd.DataFrame:
    """Table 8: pairs ordered from all calls among n summaries, against all sixteen and people.

    FlanT5-3B, coherence; n of the sixteen drawn at random in each context and draw.
    """
    judge = twins("summeval")["FlanT5-3B", "coherence"].of_earlier_paper()
    gold = labels("summeval").scores["coherence"]
    printed = load("table8", paper=PAPER)
    values: dict[str, list[float]] = {id_: [] for id_ in printed["id"]}
    rng = np.random.default_rng([settings.seed, 8])
    for p in matrices(judge, gold, settings.seed, settings.draws):
        won = np.nan_to_num(np.sign(p - 0.5))
        for _, row in printed.iterrows():
            n = int(row["note"].split(" = ")[1].split()[0]) if "n = " in row["note"] else 16
            chosen = np.sort(rng.permuted(np.tile(np.arange(16), (len(gold), 1)), axis=1)[:, :n])
            theirs = margin(won) if row["method"] == "final" else gold
            values[row["id"]].append(100.0 * _same_order(won, theirs, chosen))
    rows = [
        cell(row, np.array(values[row["id"]]), role="seen", dataset="summeval")
        for _, row in printed.iterrows()
    ]
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


def _same_order(won: Floats, theirs: Floats, chosen: Floats) -> float:
    """Share of the pairs among the chosen that have the same order, ties in ours half."""
    rows = np.arange(len(won))[:, None]
    ours = margin(won[rows[..., None], chosen[:, :, None], chosen[:, None, :]])
    theirs = theirs[rows, chosen]
    a = np.sign(ours[:, :, None] - ours[:, None, :])
    b = np.sign(theirs[:, :, None] - theirs[:, None, :])
    return float(((a * b)[b != 0].mean() + 1.0) / 2.0)


LIKELIHOOD_DRAWS = 40  # a search in every context


def likeliest(settings: Settings) -> pd.DataFrame:
    """Table 11: the likeliest ranking against the win-ratio, FlanT5-3B on SummEval."""
    rows = []
    for row, judge, decisions in _all_decided(load("table11", paper=PAPER), settings):
        each = decisions["spearman", "standard"]
        # How judges scatter is the same for both rankings, and a few draws cannot tell.
        scatter = float(_values(decisions, "spearman", "standard").std(ddof=1))
        if row["method"] == "likelihood":
            each = _likeliest(judge, settings)
        values = 100.0 * np.nanmean(each, axis=-1)
        about = cell(
            row,
            values,
            boot_se=100.0 * bootstrap_se(each),
            run_sd=_run_sd(row, decisions, "standard"),
            role="seen",
            dataset="summeval",
        )
        source = about.pop("labels")
        about |= {"se": scatter / np.sqrt(len(values)), "draws": len(values), "labels": source}
        rows.append(about)
    return pd.DataFrame(rows).assign(seed=settings.seed)


def _likeliest(judge: Twin, settings: Settings) -> Floats:
    gold = labels("summeval").scores[judge.attribute]
    n = gold.shape[1]
    pairs = np.argwhere(~np.eye(n, dtype=bool))

    def ranked(p: Floats) -> Floats:
        of_pairs = [context[pairs[:, 0], pairs[:, 1]] for context in p]
        every = [Comparisons.from_pairs(pairs, one, items=n) for one in of_pairs]
        ranks = [likelihood_ranking(c, restarts=1).scores for c in every]
        return per_context(np.stack(ranks), gold)

    draws = list(matrices(judge, gold, settings.seed, min(settings.draws, LIKELIHOOD_DRAWS)))
    correlations = settings.map(lambda number: ranked(draws[number]), range(len(draws)))
    return np.stack(list(correlations.values()))


RULES: tuple[Rule, ...] = ("random", "no-repeat", "symmetric")
RUNS = 50  # of the paper's figures
COUNTS = {
    "summeval": (16, 32, 48, 64, 80, 96, 112, 120, 160, 200, 240),
    "topicalchat": (6, 10, 14, 18, 22, 26, 30),
}


def curve(settings: Settings) -> pd.DataFrame:
    """Win-ratio against the number of calls, three ways to choose them, debiased or not."""
    (panel,) = settings.target.panels
    system, dataset, attribute = panel
    judge = twins(dataset)[system, attribute].of_earlier_paper()
    gold = labels(dataset).scores[attribute]
    contexts, n = gold.shape
    rows = np.arange(contexts)[:, None]
    runs = min(settings.draws, RUNS)
    answers_of = list(matrices(judge, gold, settings.seed, runs))

    def run(number: int) -> dict[tuple[str, int, str], float]:
        p = answers_of[number]
        correlations: dict[tuple[str, int, str], float] = {}
        thresholds = {"none": 0.5, "reweighted": float(np.nanmedian(p))}
        rng = np.random.default_rng([settings.seed, number, 6])
        for rule in RULES:
            for count in COUNTS[dataset]:
                if rule == "no-repeat" and count > n * (n - 1) // 2:
                    continue
                pairs = select_stack(contexts, n, count, rule=rule, seed=rng, connected=False)
                answers = p[rows, pairs[..., 0], pairs[..., 1]]
                for bias, threshold in thresholds.items():
                    hard = (np.sign(answers - threshold) + 1.0) / 2.0
                    scores = average_probability(Stack.of(n, pairs, hard))
                    each = float(np.nanmean(per_context(scores, gold)))
                    correlations[rule, count, bias] = 100.0 * each
        return correlations

    every = pd.DataFrame(settings.map(run, range(runs)))
    points = [
        point(settings, panel, count, "win-ratio", rule, values.to_numpy(), bias=bias)
        for (rule, count, bias), values in every.iterrows()
    ]
    return pd.DataFrame(points)
