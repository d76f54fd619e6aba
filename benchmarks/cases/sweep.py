"""(b) The paper's whole sweep: 5 judges, 4 attributes, 100 contexts, 100 draws, 14 values of K.

Every draw makes a fresh twin of a judge and a fresh symmetric set of calls in every context;
six methods and the Laplacian score it, and each is correlated with the gold scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from scipy.stats import spearmanr

from benchmarks import machine
from benchmarks import textbook as book
from benchmarks.timing import Row
from poe import central_path, datasets, newton
from poe.comparisons import Floats
from poe.experts import BradleyTerry, Expert, Gaussian, Laplacian
from poe.scores import add_prior, average_probability, win_ratio
from poe.selection import select_stack
from poe.stack import Stack
from reproduction.small import agreements
from reproduction.twins import symmetric_stack, twins

CASE = "b"
CALLS = tuple(range(32, 241, 16))  # 14 values, from 2N to all pairs in both orders
DRAWS, BLOCK = 100, 10
PRIOR = 1.0 / 15.0
SETTINGS = {
    # draws, textbook problems a K, twins taken
    "tiny": (1, 1, 1),
    "quick": (2, 1, 3),
    "full": (100, 10, 20),
}
TOLERANCE = 1e-8  # as poe reproduce


def rows(mode: str) -> list[Row]:
    draws, textbook, jobs = SETTINGS[mode]
    return [_poe(draws, jobs, "sweep" if mode == "full" else None), _textbook(textbook)]


def methods() -> dict[str, Callable[[Stack], Floats]]:
    """The paper's six and the Laplacian, by the solver chosen."""

    def solve(stack: Stack, expert: Expert) -> Floats:
        if isinstance(expert, Laplacian):
            return central_path.solve(stack, expert).scores
        return newton.solve(stack, expert, tol=TOLERANCE).scores

    return {
        "win-ratio": win_ratio,
        "BT": lambda stack: solve(add_prior(stack.hard(), PRIOR), BradleyTerry()),
        "PoE-g-hard": lambda stack: solve(stack.hard(), Gaussian()),
        "avg-prob": average_probability,
        "PoE-BT": lambda stack: solve(stack, BradleyTerry()),
        "PoE-g": lambda stack: solve(stack, Gaussian()),
        "PoE-L": lambda stack: solve(stack, Laplacian()),
    }


def _poe(draws: int, jobs: int, goal: str | None) -> Row:
    every = sorted(twins("summeval"))
    chosen = every[:: max(len(every) // jobs, 1)][:jobs]
    blocks = [min(BLOCK, draws - start) for start in range(0, draws, BLOCK)]
    tasks = [(*name, number, size) for name, (number, size) in product(chosen, enumerate(blocks))]
    with ProcessPoolExecutor(machine.cores()) as pool:
        list(pool.map(_warm, range(machine.cores())))
        start = time.perf_counter()
        found = list(pool.map(_block, tasks))
        seconds = time.perf_counter() - start
    share = len(chosen) * draws / (len(every) * DRAWS)
    mean = {m: float(np.mean([one[m] for one in found])) for m in found[0]}
    return Row(
        CASE,
        "the whole sweep, 2.8 million problems of 16 items",
        f"{len(mean)} methods",
        "poe, stacked",
        seconds=seconds / share,
        repeats=1,
        includes="drawing twins and calls, answering, scoring and Spearman's correlations; "
        f"tolerance {TOLERANCE:.0e}; {machine.cores()} processes",
        goal=goal,
        note="run in full" if share == 1.0 else f"run on {share:.2%} and multiplied up",
        more={"mean": mean, "share": share},
    )


def _warm(_: int) -> None:
    """Imports are not what is measured."""
    _block((*sorted(twins("summeval"))[0], 0, 1), calls=CALLS[:1])


def _block(task: tuple[str, str, int, int], calls: tuple[int, ...] = CALLS) -> Mapping[str, float]:
    judge, attribute, number, draws = task
    data = datasets.load("summeval")
    twin = twins("summeval")[judge, attribute]
    chosen = methods()
    found = agreements(twin, data, calls=calls, draws=draws, seed=[number], methods=chosen)
    return {m: float(np.mean([found[k, m] for k in calls])) for m in chosen}


def _textbook(count: int) -> Row:
    """One problem at a time, scored and correlated; multiplied up to the whole sweep."""
    data = datasets.load("summeval")
    twin = next(iter(twins("summeval").values()))
    gold = data.scores[twin.attribute]
    n, rng, seconds = gold.shape[1], np.random.default_rng(0), 0.0
    judge = twin.answer(gold, rng)
    for k in CALLS:
        pairs = select_stack(len(gold), n, k, rule="symmetric", seed=rng)
        stack = symmetric_stack(n, pairs, judge.answer(pairs))
        expected = methods()["PoE-BT"](stack)
        for row in range(count):
            f, g, p = stack.first[row], stack.second[row], stack.p[row]
            start = time.perf_counter()
            scores = _textbook_scores(f, g, p, n)
            [spearmanr(one, gold[row]).statistic for one in scores.values()]
            seconds += time.perf_counter() - start
            assert np.abs(scores["PoE-BT"] - expected[row]).max() < 1e-4
    problems = len(twins("summeval")) * DRAWS * len(gold) * len(CALLS)
    return Row(
        CASE,
        "the whole sweep, 2.8 million problems of 16 items",
        "7 methods",
        "textbook",
        seconds=seconds / (count * len(CALLS)) * problems / machine.cores(),
        repeats=1,
        includes="scoring and Spearman's correlations only",
        note=f"run on {count * len(CALLS)} of {problems:,} problems on one core, multiplied up "
        "and divided by the number of cores",
    )


def _textbook_scores(f: np.ndarray, g: np.ndarray, p: np.ndarray, n: int) -> dict[str, Floats]:
    hard = np.sign(p - 0.5) / 2.0 + 0.5
    return {
        "win-ratio": book.win_ratio(f, g, p, n),
        "BT": book.bradley_terry_by_zermelo(f, g, hard, n, prior=PRIOR),
        "PoE-g-hard": book.gaussian_by_inverse(f, g, hard, n),
        "avg-prob": book.average_probability(f, g, p, n),
        "PoE-BT": book.soft_bradley_terry_by_bfgs(f, g, p, n),
        "PoE-g": book.gaussian_by_inverse(f, g, p, n),
        "PoE-L": book.laplacian_by_cvxpy(f, g, p, n),
    }
