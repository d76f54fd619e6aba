"""What every target is told, and what a target is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from poe import datasets
from poe.comparisons import Floats
from poe.reproduce.twins import Twin, twins

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """How to run a target.

    draws : of twins and calls on SummEval and TopicalChat; a fifth of them, as in the papers,
    on HANNA and CMCQRD. source : which human scores. judges : judges that take the place of
    twins, by (dataset, system, attribute), such as a store's (`poe.reproduce.measured`).
    """

    draws: int = 100
    seed: int = 0
    source: datasets.Source = "auto"
    workers: int = 2
    progress: Progress | None = None
    judges: Mapping[tuple[str, str, str], Twin] = field(default_factory=dict)

    def judge(self, dataset: str, system: str, attribute: str) -> Twin:
        """The measured judge of that name, or its twin."""
        given = self.judges.get((dataset, system, attribute))
        return given if given is not None else twins(dataset)[system, attribute]

    def kind(self, judge: Twin) -> str:
        """Measured or simulated."""
        return "measured" if judge in self.judges.values() else "simulated"


@dataclass(frozen=True)
class Target:
    """One table or figure that can be recomputed.

    name : as on the command line, "table3", "figure5a", "comparative-table6". paper : key of
    `published.PAPERS`. what : in a line. inputs : kind of evidence by default. run : from
    settings to one row a cell or point. datasets : whose labels it reads. cost : seconds on two
    cores, for the order of a progress bar. table : the published table it fills, if any.
    """

    name: str
    paper: str
    what: str
    inputs: str
    run: Callable[[Settings], pd.DataFrame]
    datasets: tuple[str, ...]
    cost: float
    table: str | None = None

    @property
    def result(self) -> str:
        """Name of its file in data/results."""
        return self.name

    @property
    def command(self) -> str:
        """What to type."""
        return f"poe reproduce {self.name}"


def spread(values: Floats) -> tuple[float, float]:
    """Mean and Monte Carlo standard error of independent draws."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)
