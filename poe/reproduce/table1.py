"""Table 1 of poe_v2: five judges, two numbers of calls, five methods, on SummEval.

    poe reproduce table1

The judges are twins (`poe.reproduce.twins`), so the numbers are simulated. Each draw makes
a fresh twin of the judge and a fresh symmetric set of calls in every context; all methods
score the same draws (`poe.reproduce.sweep`). A cell is the mean over four attributes of the
summary-level Spearman correlation, times 100.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pandas as pd
from tqdm import tqdm

from poe import datasets
from poe.comparisons import Floats
from poe.reproduce.published import load
from poe.reproduce.sweep import METHODS, agreements
from poe.reproduce.twins import Twin, calibration_cells, twins

Block = dict[tuple[int, str], tuple[Floats, Floats]]
Job = tuple[tuple[str, str], int]  # ((judge, attribute), number of the block)

COMMAND = "poe reproduce table1"
CALLS = (48, 240)
FULL = 240
BLOCK = 25  # draws solved together: small enough for the cache and a smooth progress bar


def run(
    *,
    draws: int = 100,
    seed: int = 0,
    source: datasets.Source = "auto",
    progress: bool = False,
    workers: int = 2,
) -> pd.DataFrame:
    """Recompute the table; one row a cell, ids as in data/published/poe_v2_table1.csv.

    draws : twins and sets of calls a cell, rounded up to a multiple of 25.
    source : "real" labels, "stand-in", or "auto" for real where they are at hand.

    Columns: id, system, k, method; value, the mean over draws; se, its Monte Carlo
    standard error; run_sd, how far one run of one judge would scatter around it, given its
    full-set correlation; flat, contexts in which the method told nothing apart (per draw);
    role, whether the published cell was used to calibrate the twin ("calibrated"), is implied
    by one that was ("implied": on the full set both products of experts rank as the average
    probability does, book chapter 6) or is "predicted"; kind, labels, draws, seed. The numbers
    depend on the seed alone, not on the machine or the number of workers.
    """
    data = datasets.load("summeval", source=source)
    judges = twins("summeval")
    blocks = range(-(-draws // BLOCK))
    jobs = list(product(judges, blocks))
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(lambda job: _block(judges[job[0]], data, job[1], seed), jobs)
        bar = tqdm(results, total=len(jobs), desc="table 1", unit="block", disable=not progress)
        found = dict(zip(jobs, bar, strict=True))
    rows = list(_rows(found, list(dict.fromkeys(judge for judge, _ in judges)), len(blocks)))
    table = pd.DataFrame(rows)
    return table.assign(kind="simulated", labels=data.source, draws=len(blocks) * BLOCK, seed=seed)


def _block(twin: Twin, data: datasets.Dataset, block: int, seed: int) -> Block:
    """Correlations times 100 and numbers of flat contexts, a draw each, of one twin."""
    found = agreements(twin, data, calls=CALLS, draws=BLOCK, seed=[seed, block])
    return {
        cell: (100.0 * agreement.value, agreement.constant.astype(float))
        for cell, agreement in found.items()
    }


def _role(id_: str, k: int, method: str, used: frozenset[str]) -> str:
    if id_ in used:
        return "calibrated"
    return "implied" if k == FULL and method in ("PoE-BT", "PoE-g") else "predicted"


def _rows(found: dict[Job, Block], judges: list[str], blocks: int) -> Iterator[dict[str, object]]:
    printed = load("table5").set_index(["system", "k", "method"])["sd_number"]
    used = calibration_cells("summeval")
    attributes = list(dict.fromkeys(attribute for (_, attribute), _ in found))

    def per_draw(judge: str, k: int, method: str, part: int) -> Floats:
        return np.mean(
            [
                np.concatenate([found[(judge, a), b][k, method][part] for b in range(blocks)])
                for a in attributes
            ],
            axis=0,
        )

    for judge, k, method in product(judges, CALLS, METHODS):
        value = per_draw(judge, k, method, 0)
        # A run of the judge is one twin, averaged over many draws: take out what the full set
        # already says about this twin, and the scatter of draws that the paper averaged away.
        beyond = (value - per_draw(judge, FULL, "avg-prob", 0)).var(ddof=1)
        id_ = f"poe_v2/table1/{judge}/K{k}/{method}"
        yield {
            "id": id_,
            "system": judge,
            "k": k,
            "method": method,
            "value": value.mean(),
            "se": value.std(ddof=1) / np.sqrt(len(value)),
            "run_sd": np.sqrt(max(beyond - printed[judge, str(k), method] ** 2, 0.0)),
            "flat": per_draw(judge, k, method, 1).mean(),
            "role": _role(id_, k, method, used),
        }
