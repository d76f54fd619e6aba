"""One large set of items: HANNA's 1056 stories and CMCQRD's 658 questions, all ranked together.

As in the papers (poe_v2 4.2), calls are drawn from a pool of 200,000, both orders of 100,000
pairs; 20 draws. A draw is a fresh twin and a fresh set of calls. Sets link all items: five calls an
item leave some without any, which no method can score, so a random tree through all items comes
first where chance alone does not link them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import logit

from judging.datasets.questions import spanning
from judging.metrics import pearson, ranks, spearman
from poe import large, newton
from poe.arrays import Floats, Indices
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.resistance import component_of
from poe.scores import add_prior, average_probability, win_ratio
from reproduction.published import load
from reproduction.settings import Calls, Settings, cell, point, run_variance, spread
from reproduction.twins import (
    Asker,
    Twin,
    calibration_cells,
    labels,
    perceived,
    stream,
    twin_of,
    twins,
)

METHODS = ("win-ratio", "BT", "PoE-g-hard", "avg-prob", "PoE-BT", "PoE-g")
SOFT = ("avg-prob", "PoE-BT")
RESAMPLES = 100
PAPER_DRAWS = 20
TASTES = 4000  # of the control variate
POOL = 200_000  # calls

# Pairs ---------------------------------------------------------------------------------------


@cache
def pool(n: int, seed: int, draw: int = 0) -> Indices:
    """(100000, 2) different pairs, or all of them where there are fewer.

    Every judge has its own, as every one of the paper's may have had: who meets whom by chance is
    part of how a run scatters, above all for the average probability.
    """
    size = min(POOL // 2, n * (n - 1) // 2)
    rng = np.random.default_rng([n, seed, draw])
    return select(n, 2 * size, rule="symmetric", seed=rng)[::2]


def linked_pairs(
    n: int, count: int, rng: np.random.Generator, known: Indices | None = None
) -> Indices:
    """`count` pairs that link all items; a random tree first where chance does not.

    known : (M, 2), the pool that they are drawn from; `pool(n, 0)` by default.
    """
    known = pool(n, 0) if known is None else known
    chosen = known[rng.choice(len(known), min(count, len(known)), replace=False)]
    if not component_of(n, chosen).any():
        return chosen
    order = rng.permutation(len(known))
    tree = spanning(n, known[order])
    rest = order[~np.isin(order, order[tree])]
    return np.concatenate([known[order[tree]], known[rest[: count - len(tree)]]])


def compared(
    n: int,
    count: int,
    answer: Asker,
    rng: np.random.Generator,
    *,
    known: Indices | None = None,
    rule: str = "symmetric",
) -> Comparisons:
    """`count` calls about n items: both orders averaged, or each pair in one order at random.

    known : the pool, see `linked_pairs`. rule : "symmetric" or "no-repeat".
    """
    pairs = linked_pairs(n, count // 2 if rule == "symmetric" else count, rng, known)
    if rule == "symmetric":
        p = (answer(pairs) + 1.0 - answer(pairs[:, ::-1])) / 2.0
    else:
        flip = rng.random(len(pairs)) < 0.5
        pairs[flip] = pairs[flip][:, ::-1]
        p = np.asarray(answer(pairs), dtype=float)
    return Comparisons.from_pairs(pairs, p, items=n)


# Scores --------------------------------------------------------------------------------------


def scores(
    c: Comparisons, methods: Iterable[str] = SOFT, *, bias: str = "none", tol: float = 1e-12
) -> dict[str, Floats]:
    """Scores by method. bias : "plug-in", the paper's gamma and beta from the mean probability."""
    hard = c.hard()
    mean = float(c.p.mean()) if bias == "plug-in" else 0.5
    solvers: dict[str, Callable[[], Floats]] = {
        "win-ratio": lambda: win_ratio(c),
        "avg-prob": lambda: average_probability(c),
        # The prior as the paper's text has it, on each comparison made: on every pair, as in its
        # code, the graph would be complete.
        "BT": lambda: _mode(
            add_prior(hard, 1.0 / (c.n_items - 1), on="compared"), BradleyTerry(), tol
        ),
        "PoE-g-hard": lambda: _mode(hard, Gaussian(), tol),
        "PoE-BT": lambda: _mode(c, BradleyTerry(), tol, bias=-float(logit(mean)), soft=True),
        "PoE-g": lambda: _mode(c, Gaussian(), tol, bias=0.5 - mean),
    }
    return {name: solvers[name]() for name in methods}


def _mode(
    c: Comparisons, expert: Expert, tol: float, bias: float = 0.0, *, soft: bool = False
) -> Floats:
    """Soft answers are begun with near their mode; of decisions that may take more steps."""
    graph = large.LargeGraph(c)
    start = newton.near_mode(graph, graph.laid(c.p), graph.weight, expert) if soft else 0.0
    solution = newton.solve(c, expert, graph=graph, bias=bias, start=start, tol=tol)
    return solution.scores[0]


# Draws ---------------------------------------------------------------------------------------

Job = tuple[Twin, Calls, str, tuple[str, ...]]  # judge, calls, bias, methods
_KNOWN: dict[tuple[Job, int], dict[str, float]] = {}  # draws that some target needed


def run(jobs: Iterable[Job], settings: Settings) -> dict[Job, dict[str, Floats]]:
    """All draws of every job: dataset-level Spearman times 100, (draws,) by method."""
    parts = settings.drawn(draw, jobs, settings.large_draws, known=_KNOWN)
    return {job: {m: np.array([x[m] for x in each]) for m in job[3]} for job, each in parts.items()}


def draw(job: Job, number: int) -> dict[str, float]:
    """Dataset-level Spearman times 100 by method, of one draw."""
    gold = gold_ranks(job[0].dataset, job[0].attribute)
    by_method = draw_scores(job, number).items()
    return {m: 100.0 * float(pearson(ranks(s), gold)) for m, s in by_method}


@cache
def gold_ranks(dataset: str, attribute: str) -> Floats:
    """(N,) ranks of people's scores, which take as long to find as those of a draw."""
    return ranks(labels(dataset).scores[attribute][0])


def draw_scores(job: Job, number: int) -> dict[str, Floats]:
    """Scores by method, of one draw."""
    judge, calls, bias, methods = job
    gold = labels(judge.dataset).scores[judge.attribute][0]
    start = [calls.seed, number, stream(judge)]
    answer = judge.asker(gold, np.random.default_rng(start))
    design = np.random.default_rng([*start, calls.count, calls.again])
    c = compared(
        len(gold),
        calls.count,
        answer,
        design,
        known=pool(len(gold), calls.seed, number),
        rule=calls.rule,
    )
    return scores(c, methods, bias=bias)


# Targets -------------------------------------------------------------------------------------


def table(settings: Settings) -> pd.DataFrame:
    """Table 3 of poe_v2: 5N to 50N symmetric comparisons. One row a cell.

    A symmetric comparison is a pair in both orders, as the table's caption counts; so 5N are 10N
    calls, and each text is in ten pairs (`reproduction.calibrate_large` says why not five).
    CMCQRD's labels are not public: its cells run on drawn labels, and say so.

    value : the mean over draws, with the correlation of what the same judges perceive as a control
    variate (`perception`): the luck of twenty tastes would hide the differences of methods.
    """
    printed = load("table3")

    def job(row: pd.Series, times: int) -> Job:
        return symmetric(twin_of(row), 2 * times, SOFT, settings.seed)

    jobs = [job(row, int(row["k"].removesuffix("N"))) for _, row in printed.iterrows()]
    results = repeated(jobs, settings)
    # One run of one judge around its twin, given what was printed of it at 50N; a mean over the
    # judges and attributes of a dataset, for twenty draws of one say little.
    variances = [
        run_variance(
            results[one][row["method"]],
            results[job(row, 50)]["avg-prob"].mean(axis=0),
            averaged=PAPER_DRAWS,
        )
        for one, (_, row) in zip(jobs, printed.iterrows(), strict=True)
    ]
    alike = [printed[name] for name in ("dataset", "k", "method")]
    pooled = pd.Series(variances, printed.index).groupby(alike).transform("mean")
    errors = settings.map(text_errors, jobs)
    perceived_by = settings.map(
        lambda one: perception(one, settings.large_draws, settings.seed), [job[0] for job in jobs]
    )
    rows = []
    for one, (place, row) in zip(jobs, printed.iterrows(), strict=True):
        judge, method = one[0], row["method"]
        own, (shift, error) = perceived_by[judge]
        about = cell(
            row,
            results[one][method].mean(axis=0) - own + shift,
            more_se=error,
            boot_se=errors[one][method],
            run_sd=np.sqrt(max(pooled[place], 0.0)),
            role="calibrated" if row["id"] in calibration_cells() else "seen",
            dataset=judge.dataset,
            place=True,
        )
        rows.append(about)
    return pd.DataFrame(rows).assign(draws=settings.large_draws, seed=settings.seed)


def text_errors(job: Job) -> dict[str, float]:
    """Bootstrap error over texts of the first draw's correlation, by method."""
    gold = labels(job[0].dataset).scores[job[0].attribute][0]
    rng = np.random.default_rng(job[1].seed)
    again = rng.integers(len(gold), size=(RESAMPLES, len(gold)))
    by_method = draw_scores(job, 0).items()
    return {m: float(100.0 * spearman(s[again], gold[again]).std(ddof=1)) for m, s in by_method}


def perception(judge: Twin, draws: int, seed: int) -> tuple[Floats, tuple[float, float]]:
    """Spearman times 100 of what fresh twins perceive with people's scores: no call is made.

    That of each draw's twin, (draws,), and the mean over `TASTES` others with its error.
    """
    gold = labels(judge.dataset).scores[judge.attribute]
    drawn = [np.random.default_rng([seed, number, stream(judge)]) for number in range(draws)]
    taste = np.stack([rng.standard_normal(gold.shape) for rng in drawn])  # as `Twin.asker` does
    many = np.random.default_rng([seed, stream(judge), 13]).standard_normal((TASTES, *gold.shape))
    of_people = gold_ranks(judge.dataset, judge.attribute)
    own, others = (
        100.0 * pearson(ranks(perceived(gold, judge.rho, e)[:, 0]), of_people)
        for e in (taste, many)
    )
    return own, spread(others)


def _again(job: Job, number: int = 1) -> Job:
    """The same judges asked another draw of calls."""
    return (job[0], replace(job[1], again=number), *job[2:])


def repeated(jobs: Iterable[Job], settings: Settings) -> dict[Job, dict[str, Floats]]:
    """Several draws of calls put to the same judges: (M, draws) by method; M falls with calls.

    The fewer the calls, the more a draw scatters and the less it costs: M - 1 draws have as many
    calls in all as one of 50 comparisons an item.
    """

    def more(one: Job) -> int:
        return max(100 * labels(one[1].dataset).n_candidates // one[1].count, 1)

    asked = {one: [one, *(_again(one, k + 1) for k in range(more(one)))] for one in jobs}
    drawn = run([job for draws in asked.values() for job in draws], settings)
    return {
        one: {method: np.stack([drawn[draw][method] for draw in draws]) for method in one[3]}
        for one, draws in asked.items()
    }


def symmetric(judge: Twin, times: int, methods: tuple[str, ...], seed: int) -> Job:
    """`times` calls an item, both orders of each pair."""
    n = labels(judge.dataset).n_candidates
    return (judge, Calls(judge.dataset, times * n, seed=seed), "none", methods)


Design = tuple[str, str, tuple[str, ...]]  # rule, bias, methods
AVERAGES, EXPERTS = ("win-ratio", "avg-prob"), ("PoE-BT", "PoE-g")
TIMES = (2, 3, 5, 10, 20, 50, 100)  # calls an item
DESIGNS: dict[str, tuple[Sequence[int], tuple[Design, ...]]] = {
    "symmetric": (TIMES, (("symmetric", "none", METHODS),)),
    "symmetric or not": (
        TIMES[:-1],
        (
            ("symmetric", "none", AVERAGES + EXPERTS),
            ("no-repeat", "plug-in", EXPERTS),
            ("no-repeat", "none", AVERAGES),
        ),
    ),
    "bias or not": (
        TIMES[:-1],
        (("no-repeat", "plug-in", EXPERTS), ("no-repeat", "none", AVERAGES + EXPERTS)),
    ),
}


def curve(settings: Settings) -> pd.DataFrame:
    """An efficiency curve; the target's `designs` say which calls and which bias."""
    (panel,) = settings.target.panels
    system, dataset, attribute = panel
    judge = twins(dataset)[system, attribute]
    options = settings.target.options
    times, designs = DESIGNS[options.get("designs", "symmetric")]
    n = labels(dataset).n_candidates
    jobs = [
        (judge, Calls(dataset, each * n, rule, settings.seed), bias, methods)
        for (rule, bias, methods), each in product(designs, options.get("times", times))
    ]
    results = run(jobs, settings)
    rows = [
        point(settings, panel, calls.count, method, calls.rule, values, bias=bias)
        for (_, calls, bias, _), each in results.items()
        for method, values in each.items()
    ]
    return pd.DataFrame(rows)
