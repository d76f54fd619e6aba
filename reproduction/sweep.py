"""Draws of twins and calls in contexts of a few items, scored by every method.

What the tables and curves of SummEval and TopicalChat are made of. A `Block` of draws depends
on its seed, twin, number of calls and rule alone: not on the machine, on the number of workers
or on what else is computed. So all targets that need a block share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from poe import central_path, datasets, newton
from poe.comparisons import Floats, Indices
from poe.experts import BradleyTerry, Expert, Gaussian, Laplacian
from poe.metrics import Correlation, pearson, spearman
from poe.scores import add_prior, average_probability, win_ratio
from poe.selection import select, select_stack
from poe.stack import Stack
from reproduction.settings import in_threads
from reproduction.twins import Twin, stream, symmetric_stack, twins

Method = Callable[[Stack], Floats]
Found = dict[tuple[str, str], Floats]

BLOCK = 25  # draws solved together: small enough for the cache and a smooth progress bar
KINDS = ("spearman", "pearson")
DESIGNS = 100  # greedy sets of pairs to draw from; they do not depend on answers


def _poe(expert: Expert, *, tol: float | None = 1e-9) -> Method:
    solve: Any = central_path.solve if isinstance(expert, Laplacian) else newton.solve
    options = {} if tol is None else {"tol": tol}
    return lambda stack: solve(stack, expert, **options).scores


def _bt(stack: Stack) -> Floats:
    # The prior of the paper, on every pair as in its code.
    with_prior = add_prior(stack.hard(), 1.0 / (stack.n_items - 1))
    return _poe(BradleyTerry())(with_prior)


METHODS: dict[str, Method] = {
    "win-ratio": win_ratio,
    "BT": _bt,
    "PoE-g-hard": lambda stack: _poe(Gaussian())(stack.hard()),
    "avg-prob": average_probability,
    "PoE-BT": _poe(BradleyTerry()),
    "PoE-g": _poe(Gaussian()),
}
# With the Laplacian of poe_v1, appendix B, which is too slow to come along every time.
ALL_METHODS: dict[str, Method] = {**METHODS, "PoE-l": _poe(Laplacian(), tol=None)}
TABLE1 = ("win-ratio", "BT", "avg-prob", "PoE-BT", "PoE-g")


@dataclass(frozen=True)
class Setting:
    """What a block of draws depends on, beside the twin.

    rule : "symmetric" and "greedy" ask each chosen pair in both orders and average the two
    answers; "random" and "no-repeat" take single calls as they come. count : calls.
    """

    dataset: str
    source: datasets.Source
    count: int
    rule: str = "symmetric"
    seed: int = 0


def block(twin: Twin, setting: Setting, number: int) -> Found:
    """Correlations in each context by (method, kind), (BLOCK, C), of one block of draws.

    NaN where all human scores of the context are equal; 0 where only the method's are.
    """
    return _block(twin, setting, number, BLOCK, tuple(METHODS))


@cache
def _block(
    twin: Twin, setting: Setting, number: int, draws: int, methods: tuple[str, ...]
) -> Found:
    gold = labels(setting.dataset, setting.source).scores[twin.attribute]
    stack = answers(twin, setting, gold, seed=[setting.seed, number], draws=draws).flattened()
    found = {}
    for method in methods:
        scores = ALL_METHODS[method](stack).reshape(draws, *gold.shape)
        for kind in KINDS:
            found[method, kind] = per_context(scores, gold, kind)
    return found


def answers(
    twin: Twin, setting: Setting, gold: Floats, *, seed: Sequence[int], draws: int
) -> Stack:
    """Fresh twins, fresh sets of calls, and what the twins answer: (draws, C, K) as a stack."""
    contexts, n = gold.shape
    name = stream(twin)
    judge = twin.answer(gold, np.random.default_rng([*seed, name]), draws=draws)
    design = np.random.default_rng([*seed, name, setting.count, crc32(setting.rule.encode())])
    pairs = calls(setting.rule, setting.count, draws * contexts, n, design)
    pairs = pairs.reshape(draws, contexts, setting.count, 2)
    p = judge.answer(pairs)
    if setting.rule in ("symmetric", "greedy"):
        return symmetric_stack(n, pairs, p)
    return Stack.of(n, pairs, p)


def calls(rule: str, count: int, sets: int, n: int, rng: np.random.Generator) -> Indices:
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
    made = [select(n, every, rule="greedy", both_orders=True, seed=rng) for _ in range(DESIGNS)]
    return np.stack(made)


def per_context(scores: Floats, gold: Floats, kind: str) -> Floats:
    """Correlation in each context, (..., C): NaN without, 0 where the method told nothing."""
    each = (spearman if kind == "spearman" else pearson)(
        scores, np.broadcast_to(gold, scores.shape)
    )
    usable = np.ptp(gold, axis=-1) > 0
    return np.where(usable, np.nan_to_num(each, nan=0.0), np.nan)


@cache
def labels(dataset: str, source: datasets.Source) -> datasets.Dataset:
    """Human scores, loaded once. CMCQRD's are not public: a stand-in where they are not at hand."""
    if dataset == "cmcqrd" and source == "real":
        source = "auto"
    return datasets.load(dataset, source=source)


def blocks(draws: int) -> int:
    """How many blocks hold so many draws."""
    return -(-draws // BLOCK)


def run_blocks(
    jobs: Iterable[tuple[Twin, Setting]],
    *,
    draws: int,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> dict[tuple[Twin, Setting], Found]:
    """All draws of every job: correlations (draws, C) by (method, kind).

    progress : called with the number of blocks done and of all. Results do not depend on
    the number of workers.
    """
    wanted = list(dict.fromkeys(jobs))
    tasks = list(product(wanted, range(blocks(draws))))
    done = in_threads(
        lambda task: block(*task[0], task[1]), tasks, workers=workers, progress=progress
    )
    parts: dict[tuple[Twin, Setting], list[Found]] = {}
    for (job, _), found in zip(tasks, done, strict=True):
        parts.setdefault(job, []).append(found)
    return {
        job: {cell: np.concatenate([one[cell] for one in many]) for cell in many[0]}
        for job, many in parts.items()
    }


def agreements(
    twin: Twin,
    data: datasets.Dataset,
    *,
    calls: Iterable[int],
    draws: int,
    seed: Sequence[int],
    methods: Iterable[str] | Mapping[str, Method] = TABLE1,
    rule: str = "symmetric",
) -> dict[tuple[int, str], Correlation]:
    """Summary-level Spearman of one twin by (number of calls, method), one value a draw.

    Each draw makes a fresh twin and, in every context, a fresh set of calls in which every
    item is linked to every other. All methods, named or your own, score the same draws.
    """
    gold = data.scores[twin.attribute]
    chosen = methods if isinstance(methods, Mapping) else {m: ALL_METHODS[m] for m in methods}
    found = {}
    for k in calls:
        stack = answers(twin, Setting(data.name, "auto", k, rule), gold, seed=seed, draws=draws)
        for method, score in chosen.items():
            scores = score(stack.flattened()).reshape(draws, *gold.shape)
            each = per_context(scores, gold, "spearman")
            used = int((~np.isnan(each[0])).sum())
            flat = np.ptp(scores, axis=-1) <= 1e-12
            found[k, method] = Correlation(
                np.nanmean(each, axis=-1), used, len(gold) - used, flat.sum(-1)
            )
    return found


def efficiency(
    judge: str,
    data: datasets.Dataset,
    *,
    calls: Sequence[int],
    draws: int = 10,
    seed: int = 0,
    methods: Sequence[str] = TABLE1,
) -> pd.DataFrame:
    """Agreement against the number of calls, mean over the dataset's attributes, times 100.

    One row a number of calls and method: k, method, value, se (Monte Carlo).
    """
    one = partial(agreements, data=data, calls=calls, draws=draws, seed=[seed], methods=methods)
    parts = [one(twin) for (name, _), twin in twins(data.name).items() if name == judge]
    if not parts:
        raise ValueError(f"there is no twin of {judge!r} on {data.name}")
    rows = []
    for k in calls:
        for method in methods:
            value = 100.0 * np.mean([part[k, method].value for part in parts], axis=0)
            se = value.std(ddof=1) / np.sqrt(draws)
            rows.append({"k": k, "method": method, "value": value.mean(), "se": se})
    return pd.DataFrame(rows)


def bootstrap_se(each: Floats) -> float:
    """Standard error over contexts of the mean: what resampling contexts gives in the limit.

    each (draws, C) or (attributes, draws, C); NaN contexts are left out.
    """
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(each)
        total = np.where(known, each, 0.0)
        axes = tuple(range(each.ndim - 1))
        count = known.sum(axis=axes)
    means = total.sum(axis=axes)[count > 0] / count[count > 0]
    return float(means.std(ddof=1) / np.sqrt(len(means)))
