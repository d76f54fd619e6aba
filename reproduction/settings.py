"""Settings of a run, and the helpers that all runs share."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from multiprocessing.pool import ThreadPool
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from judging.machine import WASM
from poe.arrays import Floats
from reproduction.targets import Target
from reproduction.twins import labels

SIGNIFICANT = 2.0  # standard errors beyond which a difference counts

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Settings:
    """What to make, and how.

    draws : of twins and calls on SummEval and TopicalChat; a fifth of them, as in the papers, on
    HANNA and CMCQRD. full : the papers' sizes where a target uses less by default. progress :
    called with the steps done and of all.

    The numbers depend on the target, the draws and the seed: not on the machine, nor on the number
    of workers.
    """

    target: Target = field(default_factory=Target)
    draws: int = 100
    seed: int = 0
    workers: int = 2
    full: bool = False
    progress: Callable[[int, int], None] | None = None

    def of(self, target: Target) -> Settings:
        """These settings for another target, with its share of draws."""
        return replace(self, target=target, draws=self.draws // self.target.times * target.times)

    @property
    def large_draws(self) -> int:
        """A fifth, as in the papers: 20 for 100."""
        return max(self.draws // 5, 2)

    def how(self, kind: str, labels: str) -> dict[str, object]:
        """The last columns of a table: what kind of number, whose labels, draws and seed."""
        return {"kind": kind, "labels": labels, "draws": self.draws, "seed": self.seed}

    def step(self, done: int, total: int) -> None:
        """Tell the progress."""
        if self.progress:
            self.progress(done, total)

    def map(
        self,
        work: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        known: dict[Job, Result] | None = None,
    ) -> dict[Job, Result]:
        """The result of each job, in order; `known` ones are not made again, new ones go there."""
        known = {} if known is None else known
        wanted = dict.fromkeys(jobs)
        new = [job for job in wanted if job not in known]
        for done, result in enumerate(_parallel(work, new, self.workers), start=1):
            known[new[done - 1]] = result
            self.step(done, len(new))
        return {job: known[job] for job in wanted}

    def drawn(
        self,
        work: Callable[[Job, int], Result],
        jobs: Iterable[Job],
        count: int,
        *,
        known: dict[tuple[Job, int], Result] | None = None,
    ) -> dict[Job, list[Result]]:
        """`count` draws of every job: `work(job, number)`, see `map`."""
        wanted = list(dict.fromkeys(jobs))
        done = self.map(lambda task: work(*task), product(wanted, range(count)), known=known)
        return {job: [done[job, number] for number in range(count)] for job in wanted}


_under_way: dict[str, Any] = {}  # what forked processes find where they begin


def _parallel(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """Results as they come, in order: from processes where they can be forked, else from threads.

    The steps of many small problems are short, and threads would wait for each other's turn.
    """
    if workers == 1 or len(jobs) < 2 or WASM:
        yield from map(work, jobs)
    elif sys.platform == "linux":
        _under_way.update(work=work, jobs=jobs)
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            yield from pool.imap(_job, range(len(jobs)))
    else:
        with ThreadPool(workers) as pool:
            yield from pool.imap(work, jobs)


def _job(number: int) -> Any:
    return _under_way["work"](_under_way["jobs"][number])


@dataclass(frozen=True)
class Calls:
    """Which calls are made.

    rule : "symmetric" and "greedy" ask each chosen pair in both orders and average the two
    answers; "random" and "no-repeat" take single calls as they come. count : calls. again : 1 for
    another draw of the calls, put to the same judges.
    """

    dataset: str
    count: int
    rule: str = "symmetric"
    seed: int = 0
    again: int = 0


def spread(values: Floats) -> tuple[float, float]:
    """Mean and Monte Carlo standard error of independent draws."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)


def by_context(each: Floats) -> Floats:
    """Means of each context, (C,), NaN where it has none; each (..., C)."""
    known = ~np.isnan(each)
    axes = tuple(range(each.ndim - 1))
    count, total = known.sum(axis=axes), np.where(known, each, 0.0).sum(axis=axes)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def bootstrap_se(each: Floats) -> float:
    """Standard error over contexts of the mean: what resampling contexts gives in the limit.

    each (draws, C) or (attributes, draws, C); NaN contexts are left out.
    """
    means = by_context(each)
    means = means[~np.isnan(means)]
    return float(means.std(ddof=1) / np.sqrt(len(means)))


def shared_errors(means: Floats) -> Floats:
    """The part of each quantity's standard error that it shares with the others: (Q,), with sign.

    means (Q, C): of each quantity in each of C independent places, as contexts or draws. One factor
    is taken, the mean of all quantities; a share is the covariance with it over its standard
    deviation, at most the quantity's own error. Differences of quantities are then about as sure
    as pairing makes them, where all rise and fall with the same places.
    """
    means = means[:, ~np.isnan(means).any(axis=0)]
    n = means.shape[1]
    if n < 3:
        return np.zeros(len(means))
    off = means - means.mean(axis=1, keepdims=True)
    factor = off.mean(axis=0)
    size = np.sqrt((factor**2).sum() * (n - 1) * n)
    return np.asarray(off @ factor / size) if size else np.zeros(len(means))


def run_variance(draws: Floats, given: Floats | float, *, averaged: int) -> Floats:
    """Variance of one run of one judge around its twin: (...), of each place.

    A run is one judge, fixed in its taste and in its answers to all calls, and the mean over
    `averaged` draws of the calls. draws : (M, R, ...) M draws of calls put to each of R judges;
    given : (R, ...) what is known of each judge, for its twin was calibrated on it. By analysis of
    variance: the covariance of two draws is the variance of the judges, half the mean square of
    their difference that of the draws, which a run averages. The estimate has no bias, so it can
    be below zero; take means over places before it is used.
    """
    x = draws - given
    count, judges = x.shape[:2]
    off = x - x.mean(axis=1, keepdims=True)
    pairs = (off.sum(axis=0) ** 2 - (off**2).sum(axis=0)).sum(axis=0)
    between = pairs / (count * (count - 1) * (judges - 1))
    within = ((x - x.mean(axis=0)) ** 2).sum(axis=0).mean(axis=0) / (count - 1)
    return np.asarray(between + within / averaged)


def cell(
    row: pd.Series,
    values: Floats,
    *,
    role: str,
    dataset: str,
    boot_se: float = np.nan,
    run_sd: float | None = None,
    more_se: float = 0.0,
    place: bool = False,
) -> dict[str, object]:
    """The row of a printed cell, from what each draw gives in its place.

    id, system, k, method, selection and (with `place`) dataset and attribute as printed. value, the
    mean over draws, and se, its Monte Carlo error; common : the part of it, `more_se`, that all
    cells of the judge have, of a number added to all draws. boot_se : bootstrap error over contexts
    or texts. run_sd : how far one run of one judge scatters around its twin; by default as far as
    the draws, each a judge of its own: the paper saw one judge.
    role : what the printed number is to us, one of `twins.ROLES`.
    """
    value, se = spread(values)
    names = ("id", "system", "k", "method", "selection")
    return {
        **{name: row[name] for name in (*names, *(("dataset", "attribute") if place else ()))},
        "value": value,
        "se": float(np.hypot(se, more_se)),
        "common": more_se,
        "boot_se": boot_se,
        "run_sd": float(np.std(values, ddof=1)) if run_sd is None else run_sd,
        "role": role,
        "kind": "simulated",
        "labels": labels(dataset).source,
    }


def point(
    settings: Settings,
    panel: tuple[str, str, str],
    count: int,
    method: str,
    selection: str,
    values: Floats,
    *,
    bias: str = "none",
    kind: str = "simulated",
) -> dict[str, object]:
    """The row of a curve's point: value, se, low and high (the 95 % band), from its draws."""
    value, se = spread(values)
    system, dataset, attribute = panel
    return {
        "panel": settings.target.name,
        "system": system,
        "dataset": dataset,
        "attribute": attribute,
        "k": count,
        "method": method,
        "selection": selection,
        "bias": bias,
        "value": value,
        "se": se,
        "low": value - 1.96 * se,
        "high": value + 1.96 * se,
        "kind": kind,
        "labels": labels(dataset).source,
        "draws": len(values),
        "seed": settings.seed,
    }
