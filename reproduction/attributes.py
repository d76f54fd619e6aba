"""PoE-BT and the win-ratio by attribute: what Table 1 averages over."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction import facts, sweep
from reproduction.settings import Settings, spread
from reproduction.sweep import TABLE1, Setting, labels

CALLS = (48, 240)


def run(settings: Settings) -> pd.DataFrame:
    """One row a judge, attribute, number of calls and method of Table 1; the same draws as there.

    Columns: system, dataset, attribute, k, method; value and se, of the summary-level Spearman
    correlation times 100; kind, labels, draws, seed.
    """
    data = labels("summeval", settings.source)
    jobs = {
        (
            settings.judge("summeval", system, attribute),
            Setting("summeval", settings.source, k, seed=settings.seed),
        ): (system, attribute, k)
        for system in facts.JUDGES
        for attribute in data.scores
        for k in CALLS
    }
    found = sweep.run_blocks(
        jobs, draws=settings.draws, workers=settings.workers, progress=settings.progress
    )
    rows = []
    for job, (system, attribute, k) in jobs.items():
        for method in TABLE1:
            value, se = spread(100.0 * np.nanmean(found[job][method, "spearman"], axis=-1))
            head = {"system": system, "dataset": "summeval", "attribute": attribute, "k": k}
            rows.append(
                {**head, "method": method, "value": value, "se": se, "kind": settings.kind(job[0])}
            )
    draws = sweep.blocks(settings.draws) * sweep.BLOCK
    return pd.DataFrame(rows).assign(labels=data.source, draws=draws, seed=settings.seed)
