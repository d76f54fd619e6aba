"""(h) Several judges: Dawid and Skene beside crowd-kit, SkillAggregation with light encoder."""

from __future__ import annotations

import numpy as np

from benchmarks.machine import cores, installed
from benchmarks.timing import Entry, Row, race, skipped
from poe import panel

CASE = "h"
SETTINGS = {
    # samples beside crowd-kit and alone; texts, seeds; repeats, seconds
    "tiny": (300, 2_000, 100, 1, 1, 2.0),
    "quick": (1_000, 100_000, 500, 1, 2, 5.0),
    "full": (100_000, 1_000_000, 34_000, 5, 3, 120.0),
}


def rows(mode: str) -> list[Row]:
    small, large, texts, seeds, repeats, budget = SETTINGS[mode]
    goal = mode == "full"
    return [
        *_against_crowdkit(small, repeats, budget),
        *_alone(large, repeats, budget, goal=goal),
        *_skill(texts, seeds, goal=goal),
    ]


def decisions(n, k, *, seed=0):
    """Decisions of k judges between 65 and 95 per cent right, erring independently."""
    rng = np.random.default_rng([seed, n, k])
    truth = rng.integers(2, size=n)
    right = rng.random((n, k)) < np.linspace(0.65, 0.95, k)
    return np.where(right, truth[:, None], 1 - truth[:, None])


def texts_like(truth, *, words=200, seed=0):
    """Texts of random words, one in thirty of which depends on the truth."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{i}" for i in range(5000)])
    drawn = rng.integers(200, 5000, size=(len(truth), words))
    tells = rng.random(drawn.shape) < 1 / 30
    drawn[tells] = (rng.integers(0, 100, size=drawn.shape) + 100 * truth[:, None])[tells]
    return [" ".join(row) for row in vocabulary[drawn]]


def _against_crowdkit(n, repeats, budget):
    said = decisions(n, 10)
    problem = f"{n:,} samples, 10 judges"
    entries = [
        Entry(
            "poe",
            "Dawid-Skene",
            lambda given: panel.aggregate(given, prior="fit"),
            prepare=lambda: said,
            read=lambda found: found.p,
            includes="checks and standard errors; samples judged alike are counted once",
        )
    ]
    if installed("crowd-kit") is None:
        missing = skipped(CASE, problem, "Dawid-Skene", "crowd-kit", "not installed")
        return [*race(CASE, problem, entries, repeats=repeats, budget=budget), missing]
    from crowdkit.aggregation import DawidSkene

    entries.append(
        Entry(
            "crowd-kit",
            "Dawid-Skene",
            lambda frame: DawidSkene(n_iter=60, tol=1e-8).fit(frame),
            prepare=lambda: _long(said),
            read=lambda found: found.probas_.sort_index()[1].to_numpy(),
            within=1e-3,
            includes="its input, a table of a row a judgement, made before",
        )
    )
    return race(CASE, problem, entries, repeats=repeats, budget=budget)


def _long(said):
    import pandas as pd

    task, worker = np.nonzero(said >= 0)
    return pd.DataFrame({"task": task, "worker": worker, "label": said[task, worker]})


def _alone(n, repeats, budget, *, goal):
    said = decisions(n, 10)
    entry = Entry(
        "poe",
        "Dawid-Skene",
        panel.aggregate,
        prepare=lambda: said,
        read=lambda found: found.p[:1000],
        includes="checks and standard errors",
        goal="dawid-skene-million" if goal else None,
    )
    return race(CASE, f"{n:,} samples, 10 judges", [entry], repeats=repeats, budget=budget)


def _skill(n, seeds, *, goal):
    problem, method = f"{n:,} texts, 9 judges, {seeds} seeds", "SkillAggregation, light encoder"
    if installed("torch") is None:
        return [skipped(CASE, problem, method, "poe", "torch is not installed")]
    import torch

    torch.set_num_threads(cores() if goal else 1)
    truth = np.random.default_rng(1).integers(2, size=n)
    said = np.where(
        np.random.default_rng(2).random((n, 9)) < 0.65, truth[:, None], 1 - truth[:, None]
    )
    context = texts_like(truth)
    training = panel.Training(seeds=tuple(range(seeds)))
    entry = Entry(
        "poe",
        method,
        lambda texts: panel.aggregate(said, "skill", context=texts, training=training),
        prepare=lambda: context,
        read=lambda found: found.p[:100],
        includes=f"hashing the texts (200 words each) and {training.epochs} epochs a seed",
        goal="skill-34k" if goal else None,
    )
    return race(CASE, problem, [entry], repeats=1, budget=1.0)
