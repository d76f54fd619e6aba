"""Table 3 of poe_v2: HANNA and CMCQRD, all texts ranked together, 5N to 50N symmetric comparisons.

A symmetric comparison is a pair in both orders, as the table's caption counts; so 5N are 10N
calls, and each text is in ten pairs (`reproduction.calibrate_large` says why not five).
CMCQRD's labels are not public: its cells run on a stand-in, and say so.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from poe.comparisons import Floats
from poe.metrics import spearman
from reproduction import large
from reproduction.contexts import attributes, facts_key
from reproduction.large import Large
from reproduction.published import load
from reproduction.settings import Settings, identity, spread
from reproduction.sweep import labels
from reproduction.twins import Twin, calibration_cells

RESAMPLES = 100


def run(settings: Settings) -> pd.DataFrame:
    """One row a printed cell, columns as `contexts.run` says; draws a fifth of settings.draws."""
    printed = load("table3")
    draws = large_draws(settings)
    jobs = {row["id"]: _job(settings, row) for _, row in printed.iterrows()}
    found = large.run(
        list(jobs.values()), draws=draws, workers=settings.workers, progress=settings.progress
    )
    used = calibration_cells("hanna", "cmcqrd")
    rows = []
    for _, row in printed.iterrows():
        judge, what = jobs[row["id"]]
        values = 100.0 * found[judge, what][row["method"]]
        end = found[judge, _at(settings, what, 50)]["avg-prob"]
        value, se = spread(values)
        rows.append(
            {
                **identity(row, "dataset", "attribute"),
                "value": value,
                "se": se,
                "boot_se": _boot_se(settings, judge, what, row["method"]),
                # One run of one judge around its twin, given all that is known of it: 50N.
                "run_sd": (values - 100.0 * end).std(ddof=1) / np.sqrt(2.0),
                "role": "calibrated" if row["id"] in used else "predicted",
                "kind": settings.kind(judge),
                "labels": labels(facts_key(row["dataset"]), settings.source).source,
            }
        )
    return pd.DataFrame(rows).assign(draws=draws, seed=settings.seed)


def large_draws(settings: Settings) -> int:
    """A fifth, as in the papers: 20 for 100."""
    return max(settings.draws // 5, 2)


def _job(settings: Settings, row: pd.Series) -> tuple[Twin, Large]:
    key = facts_key(row["dataset"])
    judge = settings.judge(key, row["system"], attributes(row["dataset"], row["attribute"])[0])
    what = Large(key, settings.source, 0, seed=settings.seed)
    return judge, _at(settings, what, int(row["k"].removesuffix("N")))


def _at(settings: Settings, what: Large, times: int) -> Large:
    n = labels(what.dataset, settings.source).n_candidates
    return Large(what.dataset, settings.source, 2 * times * n, seed=settings.seed)


def _boot_se(settings: Settings, judge: Twin, what: Large, method: str) -> float:
    """Bootstrap over texts of the first draw's correlation, times 100."""
    gold = labels(what.dataset, settings.source).scores[judge.attribute][0]
    predicted = _first_draw(judge, what)[method]
    rng = np.random.default_rng(settings.seed)
    rows = rng.integers(len(gold), size=(RESAMPLES, len(gold)))
    return float(100.0 * spearman(predicted[rows], gold[rows]).std(ddof=1))


@cache  # two methods are printed of each run
def _first_draw(judge: Twin, what: Large) -> dict[str, Floats]:
    return large.draw_scores(judge, what, 0)
