"""Making one target: is it up to date, run it, write it down, say what a store lacked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from poe import datasets
from poe.errors import JudgeError
from reproduction import files, sources
from reproduction.measured import Stored
from reproduction.runs import Run, Stopwatch
from reproduction.settings import Progress, Settings, Target


@dataclass(frozen=True)
class Request:
    """What was asked for, for any target.

    store : what a judgement store has, if one is given. full : see `Settings`.
    """

    draws: int = 100
    seed: int = 0
    labels: datasets.Source = "auto"
    out: Path | None = None
    workers: int = 2
    store: Stored | None = None
    invoked: str = ""
    full: bool = False

    def settings(self) -> dict[str, object]:
        """What a result has to have been made with to be up to date."""
        known: dict[str, object] = {"draws": self.draws, "seed": self.seed}
        return known if self.store is None else {**known, "measured": self.store.system}


@dataclass(frozen=True)
class Made:
    """One target that was made.

    lacking : lines on judges that the store has not in full. without : what the table misses since
    a package is not installed. written : whether it was, or a result that has more was kept.
    """

    table: pd.DataFrame
    path: Path
    run: Run
    lacking: list[str] = field(default_factory=list)
    without: str = ""
    written: bool = True


def takes_store(target: Target) -> bool:
    """Whether a measured judge can take the place of this target's twins."""
    return target.inputs == "simulated" and bool(target.datasets)


def made_from(target: Target, labels: str, store: Stored | None = None) -> dict[str, object]:
    """Checksums of all that a target reads."""
    papers = (target.paper,) if target.table else ()
    simulated = takes_store(target)  # by twins
    found = files.inputs(target.datasets, labels, papers=papers, simulated=simulated)
    return found if store is None else {**found, "answers": store.digest}


def labels_for(asked: str, target: Target) -> str:
    """Which labels a target would find: "real" or "stand-in"."""
    if asked != "auto":
        return asked
    if not target.datasets and target.inputs == "simulated":
        return "real"  # nothing stands in for anything
    public = [name for name in target.datasets if name not in files.PRIVATE] or ["summeval"]
    return "real" if all(datasets.available(name) for name in public) else "stand-in"


def is_fresh(target: Target, request: Request) -> bool:
    """Whether the result on disk is what `make` would write."""
    labels = labels_for(request.labels, target)
    code = sources.fingerprint()
    inputs = made_from(target, labels, request.store)
    return any(
        files.is_fresh(
            target.result,
            labels=labels,
            code=code,
            made_from=inputs,
            settings={**request.settings(), **variant},
            out=request.out,
        )
        for variant in target.variants(request.full)
    )


def check(target: Target, request: Request) -> None:
    """Raise what can be known before anything starts: labels that are not here, a vain store."""
    if request.store is not None and not takes_store(target):
        raise JudgeError(
            f"{target.name} has answers that others recorded, or that are drawn with the truth, so "
            "no judge of yours can take part in it; `poe reproduce list` marks the targets that "
            "--store can measure"
        )
    if request.labels == "real":  # what is missing is said before anything starts
        for name in set(target.datasets) - set(files.PRIVATE):
            datasets.load(name, source="real")


def make(target: Target, request: Request, *, progress: Progress | None = None) -> Made:
    """Run a target and write its result.

    Raises JudgeError, and writes nothing, where a store was given and has no part in the target.
    """
    check(target, request)
    store = request.store
    watch = Stopwatch(request.invoked or target.command, workers=request.workers)
    settings = Settings(
        draws=request.draws,
        seed=request.seed,
        source=request.labels,
        workers=request.workers,
        progress=progress,
        judges=store.judges if store else {},
        full=request.full,
    )
    table = target.run(settings)
    lacking = store.lacking(settings.asked) if store else []
    if store is not None and "measured" not in set(table["kind"]):
        raise JudgeError(_nothing_measured(target, store, settings, lacking))
    run, labels = watch.run(), _labels_of(table, target, request)
    without = str(table.attrs.get("without", ""))
    there = files.folder(labels, request.out) / f"{target.result}.csv"
    if without and there.exists() and len(pd.read_csv(there)) > len(table):
        return Made(table, there, run, lacking, without, written=False)
    path = files.write(
        target.result,
        table,
        command=target.command,
        what=target.what,
        code=sources.fingerprint(),
        made_from=made_from(target, labels, store),
        labels=labels,
        out=request.out,
        settings={**request.settings(), **target.variants(request.full)[0]},
        run=run,
    )
    return Made(table, path, run, lacking, without)


def _labels_of(table: pd.DataFrame, target: Target, request: Request) -> str:
    """Where the result belongs; a target that reads no dataset goes by what was asked for."""
    if target.datasets:
        return files.labels_of(table, target.datasets)
    stands_in = request.labels == "stand-in" or "stand-in" in set(table["labels"])
    return "stand-in" if stands_in else "real"


def _nothing_measured(target: Target, store: Stored, settings: Settings, lacking: list[str]) -> str:
    if not lacking:
        shown = sorted({f"{system} on {dataset}" for (dataset, system, _), _ in settings.asked})
        return (
            f"{target.name} shows {', '.join(shown)}; {store.path} stands for {store.system}, so "
            "nothing was measured and nothing was written"
        )
    return "\n".join(
        [
            f"nothing of {target.name} can be measured with {store.path}, so nothing was written; "
            f"of {store.system} it lacks",
            *(f"  {line}" for line in lacking),
        ]
    )
