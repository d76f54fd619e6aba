"""Contexts of a few items: SummEval's sixteen summaries, TopicalChat's six responses.

Draws of twins and calls, scored by every method: the tables of poe_v2 (1, 2 and 5 to 8) and poe_v1
(1 to 5), and the curves of both. A block of draws depends on its seed, twin, number of calls and
rule alone, not on the machine or on what else is computed, so that all targets that need it share
it, and all methods score the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from zlib import crc32

import numpy as np
import pandas as pd

from judging import datasets
from judging.metrics import pearson, spearman
from poe import newton
from poe.arrays import Floats, Indices
from poe.choose.selection import select, select_stack
from poe.experts import BradleyTerry, Gaussian, Laplacian
from poe.scores import add_prior, average_probability, win_ratio
from poe.stack import Stack
from reproduction import central_path
from reproduction.published import load
from reproduction.sequential import scores_after
from reproduction.settings import Calls, Settings, bootstrap_se, cell, point, run_variance, spread
from reproduction.twins import (
    JUDGES,
    Twin,
    attributes,
    calibration_cells,
    key_of,
    labels,
    stream,
    symmetric_stack,
    twins,
)

Job = tuple[Twin, Calls]
Method = Callable[[Stack], Floats]
Correlations = dict[tuple[str, str], Floats]  # by (method, kind)

BLOCK = 25  # draws solved together: small enough for the cache and a smooth progress bar
KINDS = {"spearman": spearman, "pearson": pearson}
_KNOWN: dict[tuple[Job, int], Correlations] = {}  # blocks that some target needed
_LEVELS: dict[tuple[Twin, int], Floats] = {}  # of twins that some table needed
DESIGNS = 100  # greedy sets of pairs to draw from; they do not depend on answers


def _bt(stack: Stack) -> Floats:
    # The prior of the paper, on every pair as in its code.
    return _soft_bt(add_prior(stack.hard(), 1.0 / (stack.n_items - 1)))


def _soft_bt(stack: Stack) -> Floats:
    return newton.solve(stack, BradleyTerry(), tol=1e-9).scores


def _gaussian(stack: Stack) -> Floats:
    return newton.solve(stack, Gaussian(), tol=1e-9).scores


METHODS: dict[str, Method] = {
    "win-ratio": win_ratio,
    "BT": _bt,
    "PoE-g-hard": lambda stack: _gaussian(stack.hard()),
    "avg-prob": average_probability,
    "PoE-BT": _soft_bt,
    "PoE-g": _gaussian,
}
TABLE1 = ("win-ratio", "BT", "avg-prob", "PoE-BT", "PoE-g")

# Draws ---------------------------------------------------------------------------------------


def run_blocks(jobs: Iterable[Job], settings: Settings) -> dict[Job, Correlations]:
    """All draws of every job: correlations (draws, C) by (method, kind), as `block` has them."""
    wanted = list(jobs)
    for calls in {calls for _, calls in wanted if calls.rule == "greedy"}:
        greedy_designs(labels(calls.dataset).n_candidates)  # once, not in every process
    parts = settings.drawn(block, wanted, _drawn(settings) // BLOCK, known=_KNOWN)
    return {
        job: {key: np.concatenate([one[key] for one in many]) for key in many[0]}
        for job, many in parts.items()
    }


def block(job: Job, number: int) -> Correlations:
    """Correlations in each context by (method, kind), (BLOCK, C), of one block of draws.

    NaN where all human scores of the context are equal; 0 where only the method's are.
    """
    twin, calls = job
    gold = labels(calls.dataset).scores[twin.attribute]
    stack = answers(twin, calls, gold, seed=[calls.seed, number], draws=BLOCK)
    return correlations(stack, gold, METHODS, KINDS)


def answers(twin: Twin, calls: Calls, gold: Floats, *, seed: Sequence[int], draws: int) -> Stack:
    """Fresh twins, fresh sets of calls, and what the twins answer: (draws, C, K) as a stack.

    Where calls come in both orders, a comparison is a pair and its p the average of both.
    """
    pairs, p = single_answers(twin, calls, gold, seed=seed, draws=draws)
    n = gold.shape[1]
    if calls.rule in ("symmetric", "greedy"):
        return symmetric_stack(n, pairs, p)
    return Stack.of(n, pairs, p)


def single_answers(
    twin: Twin, calls: Calls, gold: Floats, *, seed: Sequence[int], draws: int
) -> tuple[Indices, Floats]:
    """The calls of `answers` one by one: pairs (draws, C, K, 2) and p (draws, C, K)."""
    contexts, n = gold.shape
    name = stream(twin)
    judge = twin.answer(gold, np.random.default_rng([*seed, name]), draws=draws)
    which = [calls.count, crc32(calls.rule.encode()), calls.again]
    design = np.random.default_rng([*seed, name, *which])
    pairs = draw_pairs(calls.rule, calls.count, draws * contexts, n, design)
    pairs = pairs.reshape(draws, contexts, calls.count, 2)
    return pairs, judge.answer(pairs)


def draw_pairs(rule: str, count: int, sets: int, n: int, rng: np.random.Generator) -> Indices:
    """(sets, count, 2) calls in which every item is linked to every other."""
    if rule == "greedy":
        designs = greedy_designs(n)[:, :count]
        chosen = designs[rng.integers(len(designs), size=sets)]
        # The order of items in a file means nothing: the paper's chain in a random order.
        order = rng.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
        return np.take_along_axis(order, chosen.reshape(sets, -1), axis=1).reshape(chosen.shape)
    # The full set is one set only; drawing it again would waste time, not change it.
    drawn = 1 if count == n * (n - 1) else sets
    pairs = select_stack(drawn, n, count, rule=rule, seed=rng)  # type: ignore[arg-type]
    return np.broadcast_to(pairs, (sets, count, 2))


@cache
def greedy_designs(n: int) -> Indices:
    """Greedy sets of all pairs in order of choice, ties broken differently in each.

    Fewer calls are a beginning of these.
    """
    rng = np.random.default_rng(n)
    every = n * (n - 1)
    designs = [select(n, every, rule="greedy", both_orders=True, seed=rng) for _ in range(DESIGNS)]
    return np.stack(designs)


def per_context(scores: Floats, gold: Floats, kind: str = "spearman") -> Floats:
    """Correlation in each context, (..., C): NaN without, 0 where the method told nothing."""
    each = KINDS[kind](scores, np.broadcast_to(gold, scores.shape))
    return np.where(np.ptp(gold, axis=-1) > 0, np.nan_to_num(each, nan=0.0), np.nan)


def correlations(
    stack: Stack, gold: Floats, methods: Mapping[str, Method], kinds: Iterable[str] = ("spearman",)
) -> Correlations:
    """Correlate every method's scores with `gold`: each context's, (draws, C) by (method, kind)."""
    stack, by_method = stack.flattened(), {}
    for name, score in methods.items():
        scores = score(stack).reshape(-1, *gold.shape)
        by_method.update({(name, kind): per_context(scores, gold, kind) for kind in kinds})
    return by_method


def efficiency(
    judge: str, data: datasets.Dataset, *, calls: Iterable[int], methods: Iterable[str]
) -> pd.DataFrame:
    """Agreement against the number of calls, mean over the dataset's attributes, times 100.

    One row a number of calls and method: k, method, value, se (Monte Carlo). Each of ten draws
    makes fresh twins and, in every context, a fresh symmetric set of calls.
    """
    chosen = {name: METHODS[name] for name in methods}
    judges = [twin for (name, _), twin in twins(data.name).items() if name == judge]
    if not judges:
        raise ValueError(f"there is no twin of {judge!r} on {data.name}")
    rows = []
    for k in calls:
        parts = []
        for twin in judges:
            gold = data.scores[twin.attribute]
            stack = answers(twin, Calls(data.name, k), gold, seed=[0], draws=10)
            parts.append(correlations(stack, gold, chosen))
        for method in chosen:
            each = [np.nanmean(part[method, "spearman"], axis=-1) for part in parts]
            value, se = spread(100.0 * np.mean(each, axis=0))
            rows.append({"k": k, "method": method, "value": value, "se": se})
    return pd.DataFrame(rows)


# Tables --------------------------------------------------------------------------------------

PAPER_DRAWS = 100  # draws of calls behind a printed mean
TASTES = {"summeval": 20, "topicalchat": 80}  # blocks of judges behind the level of a twin
RUNS = {"summeval": 1, "topicalchat": 4}  # blocks of judges asked twice; few contexts tell less


@dataclass(frozen=True)
class Cell:
    """The experiment that a printed cell reports, whatever table it is printed in."""

    dataset: str
    system: str
    attribute: str
    calls: int
    rule: str
    method: str
    metric: str


def cells(table: str, paper: str = "poe_v2") -> pd.DataFrame:
    """The printed cells with the experiment of each in the column `cell`."""
    printed = load(table, paper=paper)
    pairs = 2 if paper == "poe_v1" else 1  # the first version counts pairs, the second calls
    experiments = [
        Cell(
            row["dataset"],
            row["system"],
            row["attribute"],
            pairs * int(row["k"]),
            "greedy" if row["selection"] == "greedy" else "symmetric",
            row["method"],
            row["metric"],
        )
        for _, row in printed.iterrows()
    ]
    return printed.assign(cell=experiments)


def table(settings: Settings) -> pd.DataFrame:
    """One row a printed cell, columns of `settings.cell`; a mean over contexts and attributes.

    value : the mean over draws, with the full-set correlation of the same judges as a control
    variate: it is cheap, so that its mean comes from many more of them (`level`). Otherwise the
    luck of a hundred tastes would decide verdicts.
    run_sd : how far one run of one judge would scatter around its twin, given its full-set
    correlation.
    """
    target = settings.target
    printed = cells(target.table, target.paper)
    asked: dict[Cell, list[Job]] = {}
    for of in printed["cell"]:
        key = key_of(of.dataset)
        judges = [twins(key)[of.system, name] for name in attributes(key, of.attribute)]
        asked[of] = [(judge, Calls(key, of.calls, of.rule, settings.seed)) for judge in judges]
    wanted = [job for jobs in asked.values() for job in jobs]
    by_job = run_blocks([*wanted, *map(_whole, wanted)], settings)
    runs = BLOCK * min(RUNS[name] for name in target.datasets)
    again = run_blocks(map(_again, wanted), replace(settings, draws=min(runs, settings.draws)))
    tasks = [(judge, settings.seed) for judge, _ in wanted]
    levels = settings.map(lambda task: level(*task), tasks, known=_LEVELS)
    rows = []
    for _, row in printed.iterrows():
        of, jobs = row["cell"], asked[row["cell"]]
        kind = (of.method, of.metric)
        # (attributes, draws, contexts)
        each = np.stack([by_job[job][kind] for job in jobs])
        other = np.stack([again[_again(job)][kind] for job in jobs])
        full = np.stack([by_job[_whole(job)]["avg-prob", "spearman"] for job in jobs])
        means, of_full = (100.0 * np.nanmean(x, axis=-1).mean(axis=0) for x in (each, full))
        many = [levels[judge, settings.seed] for judge, _ in jobs]
        shift, error = spread(100.0 * np.mean(many, axis=0))
        variance = sum(map(_run_variance, each, other, full))
        about = cell(
            row,
            means - of_full + shift,
            more_se=error,
            boot_se=100.0 * bootstrap_se(each),
            run_sd=100.0 * float(np.sqrt(max(variance, 0.0))) / len(jobs),
            role=role(of),
            dataset=key_of(of.dataset),
        )
        rows.append(about | {"k": int(row["k"])})
    return pd.DataFrame(rows).assign(draws=_drawn(settings), seed=settings.seed)


def level(twin: Twin, seed: int) -> Floats:
    """Full-set Spearman of the average probability, (tastes,), of many fresh twins.

    Those of the first blocks are the judges of the blocks of draws.
    """
    gold = labels(twin.dataset).scores[twin.attribute]
    levels = []
    for number in range(TASTES[twin.dataset]):
        rng = np.random.default_rng([seed, number, stream(twin)])
        p = twin.answer(gold, rng, draws=BLOCK).matrix()
        scores = np.nansum(p - np.swapaxes(p, -1, -2), axis=-1)
        levels.append(np.nanmean(per_context(scores, gold), axis=-1))
    return np.concatenate(levels)


def all_calls(dataset: str) -> int:
    """Both orders of every pair of a context."""
    n = labels(dataset).n_candidates
    return n * (n - 1)


def _whole(job: Job) -> Job:
    """The same judges asked all calls."""
    judge, calls = job
    return judge, replace(calls, count=all_calls(calls.dataset), rule="symmetric")


def _again(job: Job) -> Job:
    """The same judges asked another draw of calls; of all calls there is one only."""
    judge, calls = job
    whole = calls.count == all_calls(calls.dataset)
    return job if whole else (judge, replace(calls, again=1))


def _run_variance(one: Floats, other: Floats, full: Floats) -> float:
    """`run_variance` of a mean over contexts, which are independent: (draws, C) each.

    That makes it smooth: every context has its share of the degrees of freedom.
    """
    runs = len(other)
    each = run_variance(np.stack([one[:runs], other]), full[:runs], averaged=PAPER_DRAWS)
    known = ~np.isnan(each)
    return float(each[known].sum() / known.sum() ** 2)


def role(cell: Cell) -> str:
    """Name what the published cell is to us, one of `twins.ROLES`.

    Implied are, of a calibrated average probability of all calls, both products of experts in
    Spearman's correlation (they rank alike, book chapter 6). Of Pearson's (Table 6) the difference
    of two cells went into a twin, its sharpness: the average probability is a prediction, and
    PoE-BT is implied by it.
    """
    if cell.metric == "pearson" and cell.method == "PoE-BT" and cell in _calibrated():
        return "implied"
    if cell.metric == "spearman":
        if cell in _calibrated():
            return "calibrated"
        full = cell.calls == all_calls(key_of(cell.dataset))
        same = cell.method in ("PoE-g", "PoE-BT")
        if full and same and replace(cell, method="avg-prob") in _calibrated():
            return "implied"
    # Table 2, selected, and Table 8, in both versions of the paper: data/twins.toml.
    blind = cell.rule == "greedy" or (cell.dataset == "TopicalChat" and cell.metric == "pearson")
    return "blind" if blind else "seen"


@cache
def _calibrated() -> frozenset[Cell]:
    known = pd.concat([cells(f"table{number}") for number in (5, 6, 7, 8)])
    return frozenset(known.loc[known["id"].isin(calibration_cells()), "cell"])


def by_attribute(settings: Settings) -> pd.DataFrame:
    """PoE-BT and the win-ratio by attribute: what Table 1 averages over, from the same draws."""
    data = labels("summeval")
    jobs = {
        (system, "summeval", name, k): (
            twins("summeval")[system, name],
            Calls("summeval", k, seed=settings.seed),
        )
        for system, name, k in product(JUDGES, data.scores, (48, 240))
    }
    by_job = run_blocks(jobs.values(), settings)
    rows = []
    for (head, job), method in product(jobs.items(), TABLE1):
        value, se = spread(100.0 * np.nanmean(by_job[job][method, "spearman"], axis=-1))
        rows.append((*head, method, value, se, "simulated"))
    columns = ["system", "dataset", "attribute", "k", "method", "value", "se", "kind"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(labels=data.source, draws=_drawn(settings), seed=settings.seed)


def _drawn(settings: Settings) -> int:
    return -(-settings.draws // BLOCK) * BLOCK


# Figures -------------------------------------------------------------------------------------

COUNTS = {  # of calls; the papers print none on their axes that the text at hand keeps
    "summeval": (32, 40, 48, 64, 80, 96, 120, 144, 168, 180, 192, 216, 240),
    "topicalchat": (12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
}
PRINTED = {"summeval": 48, "topicalchat": 18}  # few calls of a context: Tables 5 and 7


def few_and_all(dataset: str) -> tuple[int, int]:
    """Calls of a context: a fifth of all, or the fewest of `COUNTS` above; and all."""
    counts = COUNTS[dataset]
    return next(k for k in counts if k >= counts[-1] / 5), counts[-1]


def curve(
    settings: Settings, *, rules: Sequence[str] = ("symmetric",), methods: Iterable[str] = METHODS
) -> pd.DataFrame:
    """An efficiency curve: one point a number of calls, rule and method. K counts calls."""
    (panel,) = settings.target.panels
    system, dataset, attribute = panel
    judge = twins(dataset)[system, attribute]
    counts = settings.target.options.get("counts", COUNTS[dataset])
    every = [Calls(dataset, k, rule, settings.seed) for k, rule in product(counts, rules)]
    by_job = run_blocks([(judge, calls) for calls in every], settings)
    rows = []
    for calls, method in product(every, methods):
        values = 100.0 * np.nanmean(by_job[judge, calls][method, "spearman"], axis=-1)
        selection = "random" if calls.rule == "symmetric" else calls.rule
        rows.append(point(settings, panel, calls.count, method, selection, values))
    return pd.DataFrame(rows)


def selection(settings: Settings) -> pd.DataFrame:
    """Figure 1c: random, greedy, and greedy by the Laplace approximation of PoE-BT."""
    methods = ("avg-prob", "PoE-BT", "PoE-g", "win-ratio")
    points = curve(settings, rules=("symmetric", "greedy"), methods=methods)
    (panel,) = settings.target.panels
    judge = twins(panel[1])[panel[0], panel[2]]
    few = min(settings.draws, BLOCK)  # each step needs a fit in every context
    rows = [
        point(settings, panel, count, "PoE-BT", "laplace", 100.0 * np.nanmean(each, axis=-1))
        for count, each in laplace(judge, few, settings).items()
    ]
    return pd.concat([points, pd.DataFrame(rows)], ignore_index=True)


def laplace(judge: Twin, draws: int, settings: Settings) -> dict[int, Floats]:
    """PoE-BT when each next pair has the largest c_ab R_ab at the present scores (paper A.6).

    From the paper's chain, its items in a random order; both orders of each pair. (draws, C) by
    number of calls.
    """
    gold = labels(judge.dataset).scores[judge.attribute]
    contexts, n = gold.shape
    p = judge.answer(gold, np.random.default_rng([settings.seed, 3]), draws=draws).matrix()
    p = ((p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0).reshape(-1, n, n)
    rng = np.random.default_rng([settings.seed, 4])
    counts = settings.target.options.get("counts", COUNTS[judge.dataset])
    wanted = [count for count in counts if count <= n * (n - 1) // 2]
    after = scores_after(p, "laplace", rng, most=wanted[-1])
    return {
        calls: per_context(scores.reshape(draws, contexts, n), gold)
        for calls, scores in after.items()
        if calls in wanted
    }


TURNED = 0.1
LAPLACIAN_DRAWS = 10  # a Laplacian fit takes twenty times as long


def laplacian_experts(settings: Settings) -> pd.DataFrame:
    """poe_v1's Laplacian experts (its appendix B): on clean answers, and with some turned.

    The paper prints no numbers for them; it says that their longer tails could help against
    outliers. K = 48 of SummEval, mean over attributes. "turned" replaces a tenth of the answers p,
    after both orders were averaged, by 1 - p.
    """
    methods = {name: METHODS[name] for name in ("avg-prob", "PoE-BT", "PoE-g")}
    methods["PoE-l"] = lambda stack: central_path.solve(stack, Laplacian()).scores
    draws = max(min(settings.draws // 10, LAPLACIAN_DRAWS), 2)
    gold = labels("summeval").scores
    rows = []
    for done, system in enumerate(JUDGES):
        parts: dict[tuple[str, str], list[Floats]] = {}
        for attribute, people in gold.items():
            judge = twins("summeval")[system, attribute]
            calls = Calls("summeval", 48, seed=settings.seed)
            clean = answers(judge, calls, people, seed=[settings.seed, 11], draws=draws)
            wrong = np.random.default_rng([settings.seed, done]).random(clean.p.shape) < TURNED
            turned = replace(clean, p=np.where(wrong, 1.0 - clean.p, clean.p))
            for how, stack in (("none", clean), ("turned", turned)):
                for (name, _), each in correlations(stack, people, methods).items():
                    mean = 100.0 * np.nanmean(each, axis=-1)
                    parts.setdefault((how, name), []).append(mean)
        for (how, name), values in parts.items():
            panel = (system, "summeval", "mean")
            mean = np.mean(values, axis=0)
            row = point(settings, panel, 48, name, "random", mean, bias=how)
            rows.append(row | {"panel": "laplacian"})
        settings.step(done + 1, len(JUDGES))
    return pd.DataFrame(rows)


BINS = 10


def joint_counts(settings: Settings) -> pd.DataFrame:
    """Figure 9: counts of probability and score difference on a grid, and their correlation."""
    rows = []
    for head, p, gap in _joint(settings):
        counts, at_p, at_gap = np.histogram2d(p, gap, bins=(20, 21))
        correlation = float(np.corrcoef(p, gap)[0, 1])
        middles = [(at[:-1] + at[1:]) / 2.0 for at in (at_p, at_gap)]
        table = pd.DataFrame({**head, "p": 0.0}, index=range(counts.size))
        table["p"], table["difference"] = zip(*product(*middles), strict=True)
        rows.append(table.assign(count=counts.ravel().astype(int), value=100.0 * correlation))
    return pd.concat(rows, ignore_index=True)


def joint_moments(settings: Settings) -> pd.DataFrame:
    """Figure 10: mean and variance of the score difference in bins of the probability's range."""
    rows = []
    for head, p, gap in _joint(settings):
        edges = np.linspace(p.min(), p.max(), BINS + 1)
        place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, BINS - 1)
        moments = {"count": "size", "value": "mean", "variance": lambda x: x.var(ddof=0)}
        bins = pd.Series(gap).groupby(place).agg(**moments).reindex(range(BINS))
        bins["count"] = bins["count"].fillna(0).astype(int)
        rows.append(bins.assign(**head, p=(edges[:-1] + edges[1:]) / 2.0))
    names = [*head, "p", "count", "value", "variance"]
    return pd.concat(rows, ignore_index=True)[names]


def _joint(settings: Settings) -> Iterable[tuple[dict[str, object], Floats, Floats]]:
    """Probabilities and score differences of all calls of one judge, a panel after the other."""
    for letter, (system, dataset, attribute) in zip("ab", settings.target.panels, strict=True):
        judge = twins(dataset)[system, attribute]
        gold = labels(dataset).scores[attribute]
        p = judge.answer(gold, np.random.default_rng([settings.seed, 9]), draws=1).matrix()[0]
        gap = gold[:, :, None] - gold[:, None, :]
        off = ~np.eye(gold.shape[1], dtype=bool)
        head = {
            "panel": f"{settings.target.name}{letter}",
            "system": system,
            "dataset": dataset,
            "attribute": attribute,
            "kind": "simulated",
            "labels": labels(dataset).source,
            "draws": 1,
            "seed": settings.seed,
        }
        yield head, p[:, off].ravel(), gap[:, off].ravel()
