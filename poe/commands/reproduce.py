"""`poe reproduce`: recompute a table or a figure of the papers."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from tqdm import tqdm

from poe import datasets
from poe.commands.common import positive

if TYPE_CHECKING:
    from poe.reproduce.settings import Target
    from poe.reproduce.twins import Twin


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "reproduce", help="recompute a table or figure of the papers, or all of them"
    )
    command.add_argument(
        "target",
        metavar="TARGET",
        type=_name,
        help="table1, figure6, figure6a, ..., all, list or twins",
    )
    command.add_argument("--draws", type=positive, default=100, help="draws a cell (default 100)")
    command.add_argument("--seed", type=int, default=0, help="seed of all draws (default 0)")
    command.add_argument(
        "--labels",
        choices=["auto", "real", "stand-in"],
        default="auto",
        help="human scores to use; auto takes the real ones where they are at hand",
    )
    command.add_argument("--out", type=Path, help="folder for results (default data/results)")
    command.add_argument("--store", type=Path, help="judgement store: its judge instead of a twin")
    command.add_argument(
        "--as", dest="system", metavar="JUDGE", help="which judge of the papers the store's is"
    )
    command.add_argument("--workers", type=positive, default=2, help="threads (default 2)")
    command.add_argument("--force", action="store_true", help="recompute what is up to date")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.set_defaults(run=_reproduce)


def _name(text: str) -> str:
    from poe.reproduce.targets import TARGETS, find

    if text in ("list", "twins"):
        return text
    try:
        find(text)
    except ValueError:
        known = ", ".join(list(TARGETS)[:9])
        raise argparse.ArgumentTypeError(
            f"there is no {text!r}; there are all, {known} and more, see `poe reproduce list`"
        ) from None
    return text


def _reproduce(options: argparse.Namespace) -> int:
    if options.target == "twins":
        _reproduce_twins()
        return 0
    from poe.reproduce.targets import TARGETS, find

    if options.target == "list":
        for target in TARGETS.values():
            print(f"{target.name:24} {target.inputs:10} {target.paper}: {target.what}")
        return 0
    chosen = find(options.target)
    if len(chosen) == 1:
        _run(chosen[0], options, skip=False)
        return 0
    return _several(chosen, options)


def _several(chosen: list[Target], options: argparse.Namespace) -> int:
    started, made = time.perf_counter(), 0
    whole = tqdm(chosen, unit="target", disable=options.quiet)
    try:
        for target in whole:
            whole.set_description(target.name)
            made += _run(target, options, skip=not options.force)
    except KeyboardInterrupt:
        print(f"stopped; {made} targets were recomputed and are kept, the same command goes on")
        return 130
    print(
        f"{made} of {len(chosen)} targets recomputed, the others were up to date; "
        f"{time.perf_counter() - started:.0f} s"
    )
    return 0


def _run(target: Target, options: argparse.Namespace, *, skip: bool) -> bool:
    """Recompute one target; False where it was up to date."""
    from poe.reproduce import results
    from poe.reproduce.settings import Settings

    asked = {"draws": options.draws, "seed": options.seed, "store": str(options.store or "")}
    labels = _labels(options.labels, target.datasets)
    if skip and results.is_fresh(
        target.result, labels=labels, reads=target.datasets, settings=asked, out=options.out
    ):
        return False
    if options.labels == "real":  # what is missing is said before anything starts
        for name in set(target.datasets) - set(results.PRIVATE):
            datasets.load(name, source="real")
    judges: Mapping[tuple[str, str, str], Twin] = {}
    if options.store is not None:
        from poe.reproduce.measured import judges_of

        judges = judges_of(options.store, system=options.system, source=options.labels)
    started = time.perf_counter()
    with tqdm(desc=target.name, disable=options.quiet, leave=not skip) as bar:

        def moved(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        settings = Settings(
            draws=options.draws,
            seed=options.seed,
            source=options.labels,
            workers=options.workers,
            progress=moved,
            judges=judges,
        )
        table = target.run(settings)
    path = results.write(
        target.result,
        table,
        command=target.command,
        out=options.out,
        reads=target.datasets,
        settings=asked,
    )
    if not skip:
        print(_report(target, table))
    tqdm.write(f"{target.name}: {time.perf_counter() - started:.0f} s; written to {path}")
    return True


def _labels(asked: str, reads: tuple[str, ...]) -> str:
    from poe.reproduce.results import PRIVATE

    if asked != "auto":
        return asked
    public = [name for name in reads if name not in PRIVATE] or ["summeval"]
    return "real" if all(datasets.available(name) for name in public) else "stand-in"


def _reproduce_twins() -> None:
    from poe._paths import data_dir
    from poe.reproduce.twins_file import as_toml, calibrate_twins

    found = calibrate_twins()
    path = data_dir() / "twins.toml"
    path.write_text(as_toml(found))
    print(f"{sum(map(len, found.values()))} twins calibrated; written to {path}")


def _report(target: Target, table: pd.DataFrame) -> str:
    from poe.reproduce import results

    if target.table is None:
        head = table.drop(columns=["seed", "labels"], errors="ignore").head(12)
        return head.to_string(index=False) + f"\n... {len(table)} rows"
    compared = results.compare(target.table, table, paper=target.paper)
    compared = compared[compared["verdict"] != "not attempted"]
    return _as_text(compared) + "\n" + _summary(compared)


def _as_text(compared: pd.DataFrame) -> str:
    """The table as printed in the paper: ours, with the published value in brackets."""
    cell = compared["ours"].map("{:.1f}".format) + " (" + compared["published"] + ")"
    keys = [
        c
        for c in ("system", "k", "selection", "dataset", "attribute")
        if compared[c].fillna("").nunique() > 1
    ]
    rows = compared.assign(cell=cell)
    wide = rows.pivot_table(
        index=keys, columns="method", values="cell", aggfunc="first", sort=False
    )
    wide = wide[list(dict.fromkeys(compared["method"]))]
    wide.columns.name = None
    return wide.fillna("").reset_index().to_string(index=False)


def _summary(compared: pd.DataFrame) -> str:
    kind = "/".join(sorted(set(compared["kind"])))
    judge = "twins of the judges" if kind == "simulated" else "answers that were recorded"
    labels = set(compared["labels"])
    counts = compared["verdict"].value_counts()
    lines = [
        "Ours, with the published value in brackets.",
        f"Ours is {kind}: {judge} on {' or '.join(sorted(labels))} labels.",
        "Verdicts: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".",
    ]
    predicted = compared[compared["role"].isin(["predicted", "held out"])]
    predicted = predicted[predicted["labels"] == "real"]
    if len(predicted):
        error = predicted["difference"].abs().mean()
        lines.append(
            f"Mean absolute difference over the {len(predicted)} predicted cells, neither used to "
            f"calibrate nor implied by one that was: {error:.2f} points."
        )
    if "stand-in" in labels:
        lines.append(
            "Stand-in labels have the shape of the dataset, not its content, so no difference to "
            "the paper means anything; `poe data fetch` gets the real ones where they are public."
        )
    return "\n".join(lines)
