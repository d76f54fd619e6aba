"""Table 1 of poe_v2: five judges, two numbers of calls, five methods, on SummEval.

    poe reproduce table1

The judges are twins (`poe.reproduce.twins`), so the numbers are simulated. Each draw makes
a fresh twin of the judge and a fresh symmetric set of calls in every context; all methods
score the same draws. The table's cells are means over four attributes of the summary-level
Spearman correlation, times 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from zlib import crc32

import numpy as np
import pandas as pd
from tqdm import tqdm

from poe import datasets
from poe.comparisons import Floats, Indices
from poe.experts import BradleyTerry, Gaussian
from poe.metrics import summary_level
from poe.reproduce.published import load
from poe.reproduce.twins import Twin, calibration_cells, symmetric_stack, twins
from poe.scores import average_probability, bradley_terry, win_ratio
from poe.selection import select_stack
from poe.solvers import dense
from poe.stack import Stack

COMMAND = "poe reproduce table1"
CALLS = (48, 240)
FULL = 240
BLOCK = 25  # draws solved together: small enough for the cache and a smooth progress bar


def _poe(expert: Gaussian | BradleyTerry) -> Callable[[Stack], Floats]:
    return lambda stack: dense.solve(stack, expert, tol=1e-8).scores


METHODS: dict[str, Callable[[Stack], Floats]] = {
    "win-ratio": win_ratio,
    # The prior of the paper, on every pair as in its code.
    "BT": lambda stack: bradley_terry(stack, prior=1.0 / (stack.n_items - 1), tol=1e-8),
    "avg-prob": average_probability,
    "PoE-BT": _poe(BradleyTerry()),
    "PoE-g": _poe(Gaussian()),
}


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
    found: dict[tuple[tuple[str, str], int], dict[tuple[int, str], tuple[Floats, Floats]]] = {}
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(lambda job: _block(judges[job[0]], data, job[1], seed), jobs)
        bar = tqdm(results, total=len(jobs), desc="table 1", unit="block", disable=not progress)
        found = dict(zip(jobs, bar, strict=True))
    rows = list(_rows(found, list(dict.fromkeys(judge for judge, _ in judges)), len(blocks)))
    table = pd.DataFrame(rows)
    return table.assign(kind="simulated", labels=data.source, draws=len(blocks) * BLOCK, seed=seed)


def _block(
    twin: Twin, data: datasets.Dataset, block: int, seed: int
) -> dict[tuple[int, str], tuple[Floats, Floats]]:
    """Correlations (BLOCK,) and numbers of flat contexts of one twin, by calls and method."""
    gold = data.scores[twin.attribute]
    name = crc32(f"{twin.judge}/{twin.attribute}".encode())
    rng = np.random.default_rng([seed, name, block])
    judge = twin.answer(np.broadcast_to(gold, (BLOCK, *gold.shape)), rng)
    found = {}
    for k in CALLS:
        pairs = _calls(k, gold.shape[0], gold.shape[1], rng)
        stack = symmetric_stack(gold.shape[1], pairs, judge.answer(pairs))
        stack = stack.flattened()
        for method, score in METHODS.items():
            scores = score(stack).reshape(BLOCK, *gold.shape)
            agreement = summary_level(scores, gold)
            found[k, method] = (100.0 * agreement.value, agreement.constant.astype(float))
    return found


def _calls(k: int, contexts: int, n: int, rng: np.random.Generator) -> Indices:
    """(BLOCK, contexts, k, 2) symmetric calls, every item linked to every other."""
    drawn = 1 if k == FULL else BLOCK * contexts
    pairs = select_stack(drawn, n, k, rule="symmetric", seed=rng)
    return np.broadcast_to(pairs, (BLOCK * contexts, k, 2)).reshape(BLOCK, contexts, k, 2)


def _role(id_: str, k: int, method: str, used: frozenset[str]) -> str:
    if id_ in used:
        return "calibrated"
    return "implied" if k == FULL and method in ("PoE-BT", "PoE-g") else "predicted"


def _rows(found: dict, judges: list[str], blocks: int) -> Iterator[dict[str, object]]:
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
