"""The cases; each is a function of the mode ("tiny" or "full") that gives rows."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import judging
import poe
from benchmarks import peers
from benchmarks import textbook as book
from benchmarks.timing import (
    Entry,
    Row,
    centred,
    comparisons,
    installed,
    measured,
    probabilities,
    race,
)
from poe import large as one_large
from poe import newton
from poe.experts import BradleyTerry, Gaussian, Laplacian
from poe.scores import add_prior
from poe.stack import Stack
from reproduction import central_path
from reproduction.run import cores

CASES = {
    "a": "one_context",
    "b": "sweep",
    "c": "large",
    "d": "million",
    "e": "greedy",
    "f": "growth",
    "g": "panel",
    "h": "trees",
    "i": "start",
    "j": "sizes",
}
SOFT, WITH_BIAS = "soft Bradley-Terry", "soft Bradley-Terry, bias fitted"
DECISIONS = "Bradley-Terry on decisions"
PRIOR = 1.0 / 15.0
CHECKED = "with poe's checks: linked, finite"
FRESH = "poe.fit on comparisons not seen before: layout, connection, existence, solution"


def rows(case: str, mode: str) -> list[Row]:
    results = globals()[CASES[case]](mode)
    for row in results:
        row.case, row.goal = case, row.goal if mode == "full" else None
    return results


class Problem:
    """One set of comparisons, and the entries of those who solve it."""

    def __init__(self, n: int, pairs: np.ndarray, p: np.ndarray) -> None:
        self.n, self.pairs, self.p = n, pairs, p
        self.given = (*pairs.T, p, n)

    def hard(self) -> Problem:
        return Problem(self.n, self.pairs, np.sign(self.p - 0.5) / 2.0 + 0.5)

    def fresh(self) -> poe.Comparisons:
        return poe.Comparisons.from_pairs(self.pairs, self.p, items=self.n)

    def poe(self, method: str, run: Any, includes: str = CHECKED, **more: Any) -> Entry:
        return Entry("poe", method, run, self.fresh, includes=includes, **more)

    def fit(self, method: str, includes: str = CHECKED, **options: Any) -> Entry:
        more = {key: options.pop(key) for key in ("goal", "read") if key in options}
        return self.poe(method, lambda c: poe.fit(c, **options).scores, includes, **more)

    def textbook(
        self, method: str, function: Any, within: float = 1e-6, who: str = "", **more: Any
    ) -> Entry:
        options = {key: more.pop(key) for key in ("prior",) if key in more}
        run = lambda _: function(*self.given, **options)
        return Entry(who or "textbook", method, run, within=within, **more)

    def bradley_terry(self, method: str, *, prior: float = 0.0, within: float = 1e-2) -> Any:
        """The entries of choix and evalica, if they are there."""
        if peers.HAVE_CHOIX:
            wins = peers.wins_matrix(*self.given, prior=prior)
            says = "ilsr_pairwise_dense, from a matrix of wins"
            run = lambda _: centred(peers.choix_matrix(wins))
            yield Entry("choix", method, run, within=1e-5, includes=says)
        if peers.HAVE_EVALICA:
            lists = peers.evalica_input(*self.given, prior=prior)
            yield Entry(
                "evalica",
                method,
                lambda _: peers.evalica_bradley_terry(lists),
                read=lambda result: peers.evalica_scores(result, log=True),
                within=within,
                includes="its default tolerance",
            )

    def evalica_share(self, method: str) -> Iterator[Entry]:
        if peers.HAVE_EVALICA:
            lists = peers.evalica_input(*self.given)
            says = "average_win_rate: the same number where all pairs are asked equally often"
            run = lambda _: peers.evalica_win_rate(lists)
            read = lambda result: peers.evalica_scores(result, log=False)
            yield Entry("evalica", method, run, read=read, includes=says)

    def laplacian(self, goal: str | None = None) -> list[Entry]:
        """Objectives an item compared are held against each other: the optimum is rarely unique."""

        def objective(scores: np.ndarray) -> np.ndarray:
            value = book.laplacian_objective(*self.given[:3], scores)
            return np.array([value / len(self.p)])

        says = "cvxpy; objectives agree"
        return [
            self.fit("Laplacian", expert="laplacian", read=objective, goal=goal),
            self.textbook(
                "Laplacian", book.laplacian_by_cvxpy, 1e-7, read=objective, includes=says
            ),
        ]


def one_context(mode: str) -> list[Row]:
    """(a) One context of 16 items at 48, 128 and 240 calls, every method."""
    calls, repeats, budget, problems = {
        "tiny": ((48,), 1, 0.1, 8),
        "full": ((48, 128, 240), 11, 1.0, 2000),
    }[mode]
    results = []
    for k in calls:
        rng = np.random.default_rng([0, 16, k])
        pairs = poe.select(16, k, rule="symmetric", seed=rng)
        problem = Problem(16, pairs, probabilities(16, pairs, rng))
        for entries in _every_method(problem, problems, k):
            results += race(f"16 items, {k} calls", entries, repeats=repeats, budget=budget)
    return results


def _every_method(one: Problem, problems: int, calls: int) -> Iterator[list[Entry]]:
    """Lists of entries; those of one list solve the same problem."""
    stack = Stack.of(16, np.stack([one.pairs] * problems), np.stack([one.p] * problems))
    hard, prior = one.hard(), f"Bradley-Terry, prior {PRIOR:.3f} wins on every pair"

    def stacked(method: str, run: Any, **more: Any) -> Entry:
        says = f"{problems} problems together, a problem's share; no checks"
        more = {"read": lambda scores: scores[0], "within": 1e-8} | more
        return Entry("poe, stacked", method, run, problems=problems, includes=says, **more)

    def newtons(method: str, what: Stack, expert: Any, **options: Any) -> Entry:
        return stacked(method, lambda _: newton.solve(what, expert, tol=1e-8, **options).scores)

    yield [
        one.poe("win-ratio", poe.win_ratio),
        stacked("win-ratio", lambda _: poe.win_ratio(stack)),
        one.textbook("win-ratio", book.win_ratio),
        *hard.evalica_share("win-ratio"),
    ]
    yield [
        one.poe("average probability", poe.average_probability),
        stacked("average probability", lambda _: poe.average_probability(stack)),
        one.textbook("average probability", book.average_probability),
        *one.evalica_share("average probability"),
    ]
    yield [
        one.poe(prior, lambda c: poe.bradley_terry(c, prior=PRIOR)),
        newtons(prior, add_prior(stack.hard(), PRIOR), BradleyTerry()),
        hard.textbook(
            prior, book.bradley_terry_by_zermelo, prior=PRIOR, includes="Zermelo's iteration"
        ),
        *hard.bradley_terry(prior, prior=PRIOR, within=1e-3),
    ]
    bfgs = book.soft_bradley_terry_by_bfgs
    yield [
        one.fit(SOFT, goal={48: "small-choix", 240: "small-evalica"}.get(calls)),
        newtons(SOFT, stack, BradleyTerry()),
        one.textbook(SOFT, bfgs, 1e-4, includes="BFGS with the gradient"),
        one.textbook(SOFT, book.bradley_terry_by_zermelo, who="textbook, Zermelo"),
        *one.bradley_terry(SOFT, within=1e-3),
    ]
    yield [
        one.fit(WITH_BIAS, bias="fit"),
        dataclasses.replace(newtons(WITH_BIAS, stack, BradleyTerry(), fit_bias=True), within=1e-6),
    ]
    yield [
        one.fit("Gaussian", expert="gaussian"),
        newtons("Gaussian", stack, Gaussian()),
        one.textbook("Gaussian", book.gaussian_by_inverse, 1e-9, includes="inverse"),
        one.textbook("Gaussian", book.gaussian_by_pinv, 1e-9, who="textbook, pinv"),
    ]
    ours, theirs = one.laplacian("small-laplacian" if calls == 48 else None)
    path = lambda _: central_path.solve(stack, Laplacian()).scores
    read = lambda scores: ours.read(scores[0])
    yield [ours, stacked("Laplacian", path, read=read), theirs]


def large(mode: str) -> list[Row]:
    """(c) One problem of 1,056 items, with 10 and 50 comparisons an item."""
    n, sizes, repeats, budget = {
        "tiny": (40, (10,), 1, 0.2),
        "full": (1056, (10, 50), 11, 5.0),
    }[mode]
    results = []
    for per_item in sizes:
        for entries in _large_methods(Problem(n, *comparisons(n, per_item)), per_item):
            name = f"{n:,} items, {per_item}N comparisons"
            results += race(name, entries, repeats=repeats, budget=budget)
    return results


def _large_methods(one: Problem, per_item: int) -> Iterator[list[Entry]]:
    most = per_item == 50

    def solver(method: str, expert: Any) -> Entry:
        run = lambda c: one_large.solve(c, expert, tol=1e-8).scores[0]
        # Bradley-Terry begins elsewhere than in `fit`, and both stop at a gradient of 1e-8.
        within = 1e-9 if isinstance(expert, Gaussian) else 1e-7
        entry = one.poe(method, run, "the solution and the layout only", within=within)
        return dataclasses.replace(entry, who="poe, solver alone")

    goal = "large-gaussian" if most else None
    lsmr = partial(one.textbook, who="textbook, sparse W", includes="scipy's LSMR")
    yield [
        one.fit("Gaussian", FRESH, expert="gaussian", solver="sparse", goal=goal),
        solver("Gaussian", Gaussian()),
        one.textbook("Gaussian", book.gaussian_by_inverse, 1e-5, includes="dense W, inverse"),
        lsmr("Gaussian", book.gaussian_by_lsmr, 1e-5),
    ]
    yield [
        one.fit(SOFT, FRESH, solver="sparse", goal="large-bt" if most else None),
        solver(SOFT, BradleyTerry()),
        one.textbook(SOFT, book.soft_bradley_terry_by_bfgs, 1e-4, includes="dense W, BFGS"),
        lsmr(SOFT, book.soft_bradley_terry_by_lbfgs, 1e-4, includes="scipy's L-BFGS-B"),
        *one.bradley_terry(SOFT),
    ]
    says = FRESH + ", and whether the bias is identified"
    yield [one.fit(WITH_BIAS, says, bias="fit", solver="sparse")]
    if not most:
        yield list(_decisions(one))
    yield one.laplacian("large-laplacian" if most else "large-laplacian-10")


def _decisions(like: Problem) -> Iterator[Entry]:
    """Hard Bradley-Terry without a prior, which most packages are about.

    The items are close to each other, so that none wins everything and scores are finite.
    """
    method, one = DECISIONS, _decided_closely(like, 0.3)
    yield one.fit(method, FRESH, solver="sparse")
    if peers.HAVE_CHOIX:
        data = peers.winners_and_losers(*one.given[:3])
        for name, run, within in peers.choix_decisions(data, one.n):
            call = lambda _, run=run: run()
            yield Entry(f"choix, {name}", method, call, read=centred, within=within)
    yield from (entry for entry in one.bradley_terry(method) if entry.who == "evalica")


def _decided_closely(like: Problem, spread: float) -> Problem:
    first, second = like.pairs.T
    rng = np.random.default_rng([like.n, len(like.p)])
    quality = spread * rng.standard_normal(like.n)
    chance = 1.0 / (1.0 + np.exp(quality[second] - quality[first]))
    return Problem(like.n, like.pairs, (rng.random(len(chance)) < chance).astype(float))


def million(mode: str) -> list[Row]:
    """(d) A million items, ten million comparisons; each fit in a process of its own."""
    n, repeats = {"tiny": (300, 1), "full": (1_000_000, 3)}[mode]
    results = []
    for name, method, goal in (
        ("gaussian", "Gaussian", "million-gaussian"),
        ("bradley-terry", SOFT, None),
        ("bradley-terry-bias", WITH_BIAS, "million-bt"),
    ):
        row, last = measured(name, n, repeats=repeats)
        row.problem, row.method, row.goal = f"{n:,} items, {10 * n:,} comparisons", method, goal
        row.includes = (
            "poe.fit with all checks; making the Comparisons from arrays of positions took "
            f"{last['built']:.2g} s more; {last['steps']} Newton steps to a largest gradient entry "
            f"of {last['gradient']:.0e}; memory is the whole process, data included"
        )
        results.append(row)
    return results


def greedy(mode: str) -> list[Row]:
    """(e) Greedy selection of 10N pairs, and what is left of it where N^2 numbers are too many."""
    # items; items and steps of the textbook's race; items of the fallback; repeats, seconds
    n, small, steps, huge, repeats, budget = {
        "tiny": (40, 20, 10, 7000, 1, 0.2),
        "full": (1056, 1056, 300, 20_000, 3, 20.0),
    }[mode]
    method, count = "greedy selection", small - 1 + steps  # the chain, and then greedy steps
    select = partial(poe.select, rule="greedy", seed=0)
    value = lambda pairs: np.array([poe.log_det(small, pairs) / small])
    says = "Sherman-Morrison; log determinants an item agree, ties fall differently"
    theirs = lambda _: book.greedy(small, count)
    results = race(
        f"{small:,} items, {steps} steps from the chain",
        [
            Entry("poe", method, lambda _: select(small, count), read=value),
            Entry("textbook", method, theirs, read=value, within=1e-2, includes=says),
        ],
        repeats=repeats,
        budget=budget,
    )
    for rule, size, times in (("greedy", n, repeats), ("regular", n, 1), ("regular", huge, 1)):
        row, last = measured(rule, size, repeats=times)
        row.method, row.problem = f"{rule} selection", f"{size:,} items, 10N pairs"
        row.goal = "greedy" if rule == "greedy" else None
        if np.isfinite(last["log_det"]):
            row.includes = f"log determinant {last['log_det']:.2f}"
        results.append(row)
    try:
        select(huge, 10 * huge)
    except ValueError as error:
        results[-1].note = f'rule "greedy" says: {error}'
    return results


SPARSE = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DENSE = (100, 200, 400, 800, 1600)


def growth(mode: str) -> list[Row]:
    """(f) How the cost grows with the number of items, at ten comparisons an item."""
    most, repeats, budget = {
        "tiny": (200, 1, 0.1),
        "full": (1_000_000, 5, 10.0),
    }[mode]

    def peer(who: str, one: Problem) -> Entry | None:
        return next((e for e in one.bradley_terry(SOFT) if e.who == who), None)

    def greedily(one: Problem) -> Entry:
        run = lambda _: poe.select(one.n, 10 * one.n, rule="greedy")
        return Entry("poe", "greedy selection", run)

    makers = [
        (SPARSE, lambda one: one.fit("Gaussian", expert="gaussian", solver="sparse")),
        (SPARSE, lambda one: one.fit(SOFT, solver="sparse")),
        (SPARSE, lambda one: one.fit(WITH_BIAS, bias="fit", solver="sparse")),
        ((*DENSE, 3200), lambda one: one.fit("Laplacian", expert="laplacian")),
        (DENSE, greedily),
        (DENSE, lambda one: one.textbook("Gaussian", book.gaussian_by_inverse)),
        (DENSE[:4], lambda one: one.textbook(SOFT, book.soft_bradley_terry_by_bfgs)),
        (
            SPARSE[:5],
            lambda one: one.textbook(
                SOFT, book.soft_bradley_terry_by_lbfgs, who="textbook, sparse W"
            ),
        ),
        (DENSE, partial(peer, "choix")),
        ((*DENSE, 3200), partial(peer, "evalica")),
    ]
    results = []
    for sizes, make in makers:
        chosen = [n for n in sizes if n <= most] or [50, 100, 200]
        for n in chosen:
            entry = make(Problem(n, *comparisons(n, 10)))
            if entry is None:
                continue
            entry = dataclasses.replace(entry, read=lambda _: 0.0, includes="")
            row = race(f"{n:,} items", [entry], repeats=repeats, budget=budget)[0]
            row.off, row.more = None, {"n": n}
            results.append(row)
    return results


# (j) Sizes ----------------------------------------------------------------------------------------

CHOIX, EVALICA = (
    500,
    500_000,
)  # items of a dense matrix, answers as Python's lists: seconds, not more


def sizes(mode: str) -> list[Row]:
    """(j) From ten items to a million, soft and on decisions, beside those who do either.

    Equal work: evalica knows decisions only, so a probability is two of them to it, and a decision
    one. Where a peer would take minutes, or gigabytes, it is left out, and the row says so.
    """
    items, repeats, budget = {
        "tiny": ((10, 30), 1, 0.1),
        "full": ((10, 30, 100, 200, 300, 500, 1000, 5000, 100_000, 1_000_000), 51, 1.0),
    }[mode]
    results = []
    for n, per_item in product(items, (10, 50)):
        count = n * per_item
        if count > 10**7:
            continue
        some = [] if n <= CHOIX else ["choix"]
        some += [] if count <= EVALICA else ["evalica"]
        note = f"left out, as minutes or gigabytes are too much: {', '.join(some)}" if some else ""
        one = Problem(n, *comparisons(n, per_item))
        races = [[one.fit(SOFT, FRESH, goal="sizes"), *_peers(one, SOFT, some)]]
        if n <= 5000:  # more, and some item loses to all by chance
            close = _decided_closely(one, 0.1)
            fitted = close.fit(DECISIONS, FRESH, goal="sizes")
            races.append([fitted, *_peers(close, DECISIONS, [*some, "choix"])])
        for entries in races:
            name = f"{n:,} items, {per_item}N comparisons"
            raced = race(name, entries, repeats=repeats, budget=budget)
            raced[0].note = note
            for row in raced:
                row.more |= {"n": n, "per_item": per_item}
            results += raced
    return results


def _peers(one: Problem, method: str, but: list[str]) -> Iterator[Entry]:
    if {*but} >= {"choix", "evalica"}:
        return
    for entry in one.bradley_terry(method):
        if entry.who not in but:  # its own tolerance and limit: how far off it is stands in the row
            yield dataclasses.replace(entry, within=np.inf)


# (h) Trees ---------------------------------------------------------------------------------------


def trees(mode: str) -> list[Row]:
    """(h) What is no expander: a chain and a random tree, beside sums along their paths."""
    n, repeats, budget = {"tiny": (300, 1, 0.1), "full": (100_000, 3, 20.0)}[mode]
    rng, child, results = np.random.default_rng([8, n]), np.arange(1, n), []
    for kind, parent in (("chain", child - 1), ("tree", (rng.random(n - 1) * child).astype(int))):
        links, names = np.column_stack([parent, child]), rng.permutation(n)
        p = rng.uniform(0.1, 0.9, n - 1)
        one = Problem(n, names[links], p)
        for method, expert, steps, goal in (
            ("Gaussian", "gaussian", p - 0.5, None),
            (SOFT, "bradley-terry", np.log(p / (1.0 - p)), kind),
        ):
            says = "differences added along the paths, which only a tree allows"
            sums = lambda _, given=(links, names, steps): book.added_along(*given)
            entries = [
                one.fit(method, FRESH, expert=expert, solver="sparse", goal=goal),
                Entry("textbook", method, sums, within=1e-6, includes=says),
            ]
            results += race(f"a {kind} of {n:,} items", entries, repeats=repeats, budget=budget)
    return results


# (b) The sweep -----------------------------------------------------------------------------------

CALLS = tuple(range(32, 241, 16))  # 14 values, from 2N to all pairs in both orders
DRAWS, BLOCK, TOLERANCE = 100, 10, 1e-8  # the tolerance of judging reproduce


def sweep(mode: str) -> list[Row]:
    """(b) The paper's whole sweep: 5 judges, 4 attributes, 100 contexts, 100 draws, 14 values of K.

    Every draw makes a fresh twin of a judge and a fresh symmetric set of calls in every context;
    six methods and the Laplacian score it, and each is correlated with the gold scores.
    """
    from reproduction.twins import twins

    draws, textbook, jobs = {"tiny": (1, 1, 1), "full": (100, 10, 20)}[mode]
    every = sorted(twins("summeval"))
    chosen = every[:: max(len(every) // jobs, 1)][:jobs]
    blocks = [min(BLOCK, draws - start) for start in range(0, draws, BLOCK)]
    tasks = [(*name, number, size) for name, (number, size) in product(chosen, enumerate(blocks))]
    with ProcessPoolExecutor(cores()) as pool:
        # Imports are not what is measured.
        list(pool.map(partial(_block, calls=CALLS[:1]), [(*every[0], 0, 1)] * cores()))
        start = time.perf_counter()
        means = list(pool.map(_block, tasks))
        seconds = time.perf_counter() - start
    share = len(chosen) * draws / (len(every) * DRAWS)
    problem = "the whole sweep, 2.8 million problems of 16 items"
    ours = Row(
        "",
        problem,
        f"{len(means[0])} methods",
        "poe, stacked",
        seconds=seconds / share,
        repeats=1,
        includes="drawing twins and calls, answering, scoring and Spearman's correlations; "
        f"tolerance {TOLERANCE:.0e}; {cores()} processes",
        goal="sweep",
        note="run in full" if share == 1.0 else f"run on {share:.2%} and multiplied up",
        more={"mean": {m: float(np.mean([one[m] for one in means])) for m in means[0]}},
    )
    seconds, count = _textbook_sweep(textbook)
    whole = len(every) * DRAWS * 100 * len(CALLS)
    theirs = Row(
        "",
        problem,
        "7 methods",
        "textbook",
        seconds=seconds / count * whole / cores(),
        repeats=1,
        includes="scoring and Spearman's correlations only",
        note=f"run on {count} of {whole:,} problems on one core, multiplied up and divided by the "
        "number of cores",
    )
    return [ours, theirs]


def _methods() -> dict[str, Any]:
    """The paper's six and the Laplacian."""

    def by_newton(stack: Stack, expert: Any) -> np.ndarray:
        return newton.solve(stack, expert, tol=TOLERANCE).scores

    return {
        "win-ratio": poe.win_ratio,
        "BT": lambda stack: by_newton(add_prior(stack.hard(), PRIOR), BradleyTerry()),
        "PoE-g-hard": lambda stack: by_newton(stack.hard(), Gaussian()),
        "avg-prob": poe.average_probability,
        "PoE-BT": lambda stack: by_newton(stack, BradleyTerry()),
        "PoE-g": lambda stack: by_newton(stack, Gaussian()),
        "PoE-L": lambda stack: central_path.solve(stack, Laplacian()).scores,
    }


def _block(task: tuple[str, str, int, int], *, calls: tuple[int, ...] = CALLS) -> dict[str, float]:
    from reproduction.settings import Calls
    from reproduction.small import answers, correlations
    from reproduction.twins import twins

    judge, attribute, number, draws = task
    gold = judging.datasets.load("summeval").scores[attribute]
    twin = twins("summeval")[judge, attribute]
    by_method: dict[str, list[Any]] = {method: [] for method in _methods()}
    for k in calls:
        stack = answers(twin, Calls("summeval", k), gold, seed=[number], draws=draws)
        for (method, _), each in correlations(stack, gold, _methods()).items():
            by_method[method].append(np.nanmean(each, axis=-1))
    return {method: float(np.mean(each)) for method, each in by_method.items()}


def _textbook_sweep(count: int) -> tuple[float, int]:
    """Seconds for so many problems of each K, one at a time, scored and correlated."""
    from scipy.stats import spearmanr

    from poe.choose.selection import select_stack
    from reproduction.twins import symmetric_stack, twins

    twin = next(iter(twins("summeval").values()))
    gold = judging.datasets.load("summeval").scores[twin.attribute]
    n, rng, seconds = gold.shape[1], np.random.default_rng(0), 0.0
    judge = twin.answer(gold, rng)
    for k in CALLS:
        pairs = select_stack(len(gold), n, k, rule="symmetric", seed=rng)
        stack = symmetric_stack(n, pairs, judge.answer(pairs))
        expected = _methods()["PoE-BT"](stack)
        for row in range(count):
            f, g, p = stack.first[row], stack.second[row], stack.p[row]
            start = time.perf_counter()
            hard = np.sign(p - 0.5) / 2.0 + 0.5
            soft = book.soft_bradley_terry_by_bfgs(f, g, p, n)
            scores = [
                soft,
                book.win_ratio(f, g, p, n),
                book.bradley_terry_by_zermelo(f, g, hard, n, prior=PRIOR),
                book.gaussian_by_inverse(f, g, hard, n),
                book.average_probability(f, g, p, n),
                book.gaussian_by_inverse(f, g, p, n),
                book.laplacian_by_cvxpy(f, g, p, n),
            ]
            [spearmanr(one, gold[row]).statistic for one in scores]
            seconds += time.perf_counter() - start
            assert np.abs(soft - expected[row]).max() < 1e-4
    return seconds, count * len(CALLS)


# (g) Several judges ------------------------------------------------------------------------------


def panel(mode: str) -> list[Row]:
    """(g) Dawid and Skene beside crowd-kit; SkillAggregation with the light encoder."""
    # samples beside crowd-kit and alone; texts, seeds; repeats, seconds
    small, many, texts, seeds, repeats, budget = {
        "tiny": (300, 2_000, 100, 1, 1, 2.0),
        "full": (100_000, 1_000_000, 34_000, 5, 3, 120.0),
    }[mode]
    run = partial(race, repeats=repeats, budget=budget)
    said, method = _decided(many, 10), "Dawid-Skene"
    alone = Entry(
        "poe",
        method,
        lambda _: judging.panel.aggregate(said),
        read=lambda result: result.p[:1000],
        includes="checks and standard errors",
        goal="dawid-skene-million",
    )
    return [
        *run(f"{small:,} samples, 10 judges", list(_dawid_skene(_decided(small, 10)))),
        *run(f"{many:,} samples, 10 judges", [alone]),
        *_skill(texts, seeds, threads=cores() if mode == "full" else 1),
    ]


def _decided(n: int, k: int) -> np.ndarray:
    """Decisions of k judges between 65 and 95 per cent right, erring independently."""
    rng = np.random.default_rng([0, n, k])
    truth = rng.integers(2, size=n)
    right = rng.random((n, k)) < np.linspace(0.65, 0.95, k)
    return np.where(right, truth[:, None], 1 - truth[:, None])


def _dawid_skene(said: np.ndarray) -> Iterator[Entry]:
    yield Entry(
        "poe",
        "Dawid-Skene",
        lambda _: judging.panel.aggregate(said, prior="fit"),
        read=lambda result: result.p,
        includes="checks and standard errors; samples judged alike are counted once",
    )
    if installed("crowd-kit") is None:
        return
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    task, worker = np.nonzero(said >= 0)
    table = pd.DataFrame({"task": task, "worker": worker, "label": said[task, worker]})
    yield Entry(
        "crowd-kit",
        "Dawid-Skene",
        lambda _: DawidSkene(n_iter=60, tol=1e-8).fit(table),
        read=lambda result: result.probas_.sort_index()[1].to_numpy(),
        within=1e-3,
        includes="its input, a table of a row a judgement, made before",
    )


def _skill(n: int, seeds: int, *, threads: int) -> list[Row]:
    problem, method = f"{n:,} texts, 9 judges, {seeds} seeds", "SkillAggregation, light encoder"
    if installed("torch") is None:
        return [Row("", problem, method, "poe", note="torch is not installed")]
    import torch

    torch.set_num_threads(threads)
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=n)
    said = np.where(rng.random((n, 9)) < 0.65, truth[:, None], 1 - truth[:, None])
    # Random words, one in thirty of which depends on the truth.
    drawn = rng.integers(200, 5000, size=(n, 200))
    tells = rng.random(drawn.shape) < 1 / 30
    drawn[tells] = (rng.integers(0, 100, size=drawn.shape) + 100 * truth[:, None])[tells]
    texts = [" ".join(row) for row in np.array([f"w{i}" for i in range(5000)])[drawn]]
    training = [judging.panel.Training(seed=seed) for seed in range(seeds)]
    entry = Entry(
        "poe",
        method,
        lambda _: [
            judging.panel.aggregate(said, "skill", context=texts, training=t) for t in training
        ],
        read=lambda results: results[0].p[:100],
        includes=f"hashing the texts (200 words each) and {training[0].epochs} epochs a seed",
        goal="skill-34k",
    )
    return race(problem, [entry], repeats=1, budget=1.0)


def start(mode: str) -> list[Row]:
    """New processes that import a front door, each beside one that imports nothing.

    NumPy and pandas are there to be held against: a front door that imported them would take as
    long.
    """

    def process(code: str) -> int:
        return subprocess.check_call([sys.executable, "-c", code])

    repeats = 1 if mode == "tiny" else 30
    return [
        row
        for door in ("poe", "judging", "numpy", "pandas")
        for row in race(
            "a new process",
            [
                Entry("python", f"import {door}", lambda _: process("pass")),
                Entry(
                    door,
                    f"import {door}",
                    lambda _, door=door: process(f"import {door}"),  # type: ignore[misc]
                    goal=f"start-{door}-python" if door in ("poe", "judging") else None,
                ),
            ],
            repeats=repeats,
            budget=20.0,
        )
    ]
