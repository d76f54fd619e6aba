"""What every target is told, and what a target is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pandas as pd

from poe import datasets
from poe.comparisons import Floats
from reproduction.twins import Twin, twins

Progress = Callable[[int, int], None]
Key = tuple[str, str, str]  # dataset, system, attribute
Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Settings:
    """How to run a target.

    draws : of twins and calls on SummEval and TopicalChat; a fifth of them, as in the papers,
    on HANNA and CMCQRD. source : which human scores. judges : judges that take the place of
    twins, by (dataset, system, attribute), such as a store's (`reproduction.measured`).
    full : the papers' sizes where a target uses less by default.
    asked : the keys that a run looked for in `judges`, and whether for any pair, for saying what
    was not there.
    """

    draws: int = 100
    seed: int = 0
    source: datasets.Source = "auto"
    workers: int = 2
    progress: Progress | None = None
    full: bool = False
    judges: Mapping[Key, Twin] = field(default_factory=dict)
    asked: set[tuple[Key, bool]] = field(default_factory=set, compare=False)

    def judge(self, dataset: str, system: str, attribute: str, *, every: bool = False) -> Twin:
        """The measured judge of that name, or its twin.

        every : whether it has to answer about any pair; a large set's store may hold a pool only.
        """
        key = (dataset, system, attribute)
        self.asked.add((key, every))
        given = self.judges.get(key)
        usable = given is not None and not (every and getattr(given, "pool", None) is not None)
        return given if given is not None and usable else twins(dataset)[system, attribute]

    def group(self, dataset: str, system: str, attributes: Iterable[str]) -> list[Twin]:
        """One judge an attribute for a mean over them: all measured, or all twins.

        A mean of measured and simulated numbers would be neither.
        """
        names = list(attributes)
        found = [self.judge(dataset, system, name) for name in names]
        if {self.kind(judge) for judge in found} == {"measured"}:
            return found
        return [twins(dataset)[system, name] for name in names]

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
    variants : from `Settings.full` to the settings under which a result is as good as what a run
    would give now or better; the first is that of such a run.
    """

    name: str
    paper: str
    what: str
    inputs: str
    run: Callable[[Settings], pd.DataFrame]
    datasets: tuple[str, ...]
    cost: float
    table: str | None = None
    variants: Callable[[bool], Sequence[Mapping[str, object]]] = lambda full: ({},)

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


def identity(row: pd.Series, *more: str) -> dict[str, object]:
    """The head of a result row: which printed cell it is about; `more` names further columns."""
    return {name: row[name] for name in ("id", "system", "k", "method", "selection", *more)}


def in_threads(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int,
    progress: Progress | None = None,
) -> list[Result]:
    """Results in the order of the jobs; an interruption does not wait for those not begun."""
    done = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            for found in pool.map(work, jobs):
                done.append(found)
                if progress:
                    progress(len(done), len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return done
