"""The command line: `poe reproduce table1`, `poe scorecard`, `poe data`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from poe import __version__, datasets
from poe.errors import ComparisonError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status and never shows a traceback for user errors."""
    parser = _parser()
    options = parser.parse_args(argv)
    if not hasattr(options, "run"):
        parser.print_help()
        return 2
    try:
        return int(options.run(options) or 0)
    except (ComparisonError, datasets.DatasetError, OSError, ValueError) as error:
        print(f"poe: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("poe: stopped; nothing was written", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poe", description="Judging by comparison: products of experts for LLM judges."
    )
    parser.add_argument("--version", action="version", version=f"poe {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_reproduce(commands)
    _add_scorecard(commands)
    _add_data(commands)
    return parser


def _add_reproduce(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("reproduce", help="recompute a table of the paper")
    command.add_argument("target", choices=["table1", "twins"], help="what to recompute")
    command.add_argument("--draws", type=_positive, default=100, help="draws a cell (default 100)")
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


def _add_scorecard(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("scorecard", help="where every printed number stands today")
    command.add_argument("--check", action="store_true", help="fail if a verdict got worse")
    command.add_argument("--accept", action="store_true", help="hold later runs to these verdicts")
    command.set_defaults(run=_scorecard)


def _scorecard(options: argparse.Namespace) -> int:
    from poe.reproduce.scorecard import baseline_path, scorecard, totals, worsened

    card = scorecard()
    print(totals(card).to_string())
    if options.accept:
        card[["id", "verdict"]].to_csv(baseline_path(), index=False, lineterminator="\n")
        print(f"accepted; written to {baseline_path()}")
    if options.check:
        worse = worsened(card, pd.read_csv(baseline_path()))
        if len(worse):
            print(f"poe: {len(worse)} verdicts got worse:", file=sys.stderr)
            print(worse.to_string(index=False), file=sys.stderr)
            return 1
        print("no verdict got worse")
    return 0


def _add_data(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("data", help="list or fetch the datasets")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what there is and where it would come from")
    listing.set_defaults(run=_data_list)
    fetch = actions.add_parser("fetch", help="download from the pinned address and verify")
    fetch.add_argument("name", choices=datasets.names())
    fetch.set_defaults(run=_data_fetch)


def _data_list(_: argparse.Namespace) -> None:
    for name in datasets.names():
        entry, place = datasets.info(name), datasets.available(name)
        print(f"{name}: {entry.contexts} contexts x {entry.candidates} candidates, {entry.licence}")
        print(f"    {place or f'not on this machine; get it with: poe data fetch {name}'}")


def _data_fetch(options: argparse.Namespace) -> None:
    print(f"{options.name} is at {datasets.fetch(options.name)}")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
