"""`poe reproduce`: recompute a table of the paper."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from poe import datasets
from poe.commands.common import positive


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("reproduce", help="recompute a table of the paper")
    command.add_argument("target", choices=["table1", "twins"], help="what to recompute")
    command.add_argument("--draws", type=positive, default=100, help="draws a cell (default 100)")
    command.add_argument("--seed", type=int, default=0, help="seed of all draws (default 0)")
    command.add_argument(
        "--labels",
        choices=["auto", "real", "stand-in"],
        default="auto",
        help="human scores to use; auto takes the real ones where they are at hand",
    )
    command.add_argument("--out", type=Path, help="folder for results (default data/results)")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> None:
    if options.target == "twins":
        _reproduce_twins()
        return
    from poe.reproduce import results, table1

    started = time.perf_counter()
    table = table1.run(
        draws=options.draws, seed=options.seed, source=options.labels, progress=not options.quiet
    )
    path = results.write("table1", table, command=table1.COMMAND, out=options.out)
    compared = results.compare("table1", table)
    print(_as_text(compared))
    print(_summary(compared))
    print(f"{time.perf_counter() - started:.0f} s; written to {path}")


def _reproduce_twins() -> None:
    from poe._paths import data_dir
    from poe.reproduce.calibrate import as_toml, calibrate_all

    found = calibrate_all(datasets.load("summeval", source="real").scores)
    path = data_dir() / "twins.toml"
    path.write_text(as_toml(found))
    print(f"{len(found)} twins calibrated; written to {path}")


def _as_text(compared: pd.DataFrame) -> str:
    """The table as printed in the paper: ours, with the published value in brackets."""
    cell = compared["ours"].map("{:.1f}".format) + " (" + compared["published"] + ")"
    wide = compared.assign(cell=cell).pivot(index=["system", "k"], columns="method", values="cell")
    order = compared.drop_duplicates(["system", "k"])[["system", "k"]]
    wide = wide.loc[[tuple(row) for row in order.to_numpy()], compared["method"].unique()]
    wide.columns.name = None
    return wide.reset_index().to_string(index=False)


def _summary(compared: pd.DataFrame) -> str:
    labels, kind = compared["labels"].iloc[0], compared["kind"].iloc[0]
    predicted = compared[compared["role"] == "predicted"]
    counts = compared["verdict"].value_counts()
    lines = [
        "Ours, with the published value in brackets: Spearman correlation x 100.",
        f"Ours is {kind}: twins of the judges on {labels} labels.",
        "Verdicts: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".",
    ]
    if labels == "real":
        error = predicted["difference"].abs().mean()
        lines.append(
            f"Mean absolute difference over the {len(predicted)} predicted cells, neither used to "
            f"calibrate nor implied by one that was: {error:.2f} points."
        )
    else:
        lines.append(
            "Stand-in labels have the shape of SummEval, not its content, so no difference to "
            "the paper means anything; `poe data fetch summeval` gets the real ones."
        )
    return "\n".join(lines)
