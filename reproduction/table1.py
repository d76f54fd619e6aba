"""Table 1 of poe_v2: five judges, two numbers of calls, five methods, on SummEval.

    poe reproduce table1

The judges are twins (`reproduction.twins`), so the numbers are simulated. Each draw makes
a fresh twin of the judge and a fresh symmetric set of calls in every context; all methods
score the same draws (`reproduction.contexts`). A cell is the mean over four attributes of the
summary-level Spearman correlation, times 100.
"""

from __future__ import annotations

import pandas as pd
from tqdm import tqdm

from poe import datasets
from reproduction import contexts
from reproduction.settings import Settings

COMMAND = "poe reproduce table1"


def run(
    *,
    draws: int = 100,
    seed: int = 0,
    source: datasets.Source = "auto",
    progress: bool = False,
    workers: int = 2,
) -> pd.DataFrame:
    """Recompute the table; one row a cell, columns as `contexts.run` says.

    draws : twins and sets of calls a cell, rounded up to a multiple of 25.
    source : "real" labels, "stand-in", or "auto" for real where they are at hand.

    The numbers depend on the seed alone, not on the machine or the number of workers.
    """
    with tqdm(desc="table 1", unit="block", disable=not progress) as bar:

        def moved(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        settings = Settings(draws=draws, seed=seed, source=source, workers=workers, progress=moved)
        return contexts.run(settings, "table1")
