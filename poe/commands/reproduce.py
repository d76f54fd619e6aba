"""`poe reproduce`: recompute a table or a figure of the papers."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from poe import datasets
from poe.commands.common import in_a_clone, need_a_clone, positive
from poe.commands.reproduce_drawing import check, draw
from poe.commands.reproduce_output import listing, measured, report
from poe.errors import JudgeError

if TYPE_CHECKING:
    from reproduction.making import Made, Request
    from reproduction.runs import Run
    from reproduction.settings import Target

PUBLIC = ("summeval", "topicalchat", "hanna")


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "reproduce",
        help="recompute a table or figure of the papers, or all of them",
        usage="poe reproduce TARGET [options]",
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
    command.add_argument(
        "--full", action="store_true", help="the several-judges paper's sizes (about half an hour)"
    )
    command.add_argument(
        "--draw", type=Path, metavar="FOLDER", help="draw figures there, as SVG and PDF"
    )
    command.add_argument("--force", action="store_true", help="recompute what is up to date")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.set_defaults(run=_reproduce)


def _name(text: str) -> str:
    if text in ("list", "twins") or not in_a_clone():
        return text
    from reproduction.targets import TARGETS, find

    try:
        find(text)
    except ValueError:
        near = get_close_matches(text, ["all", "list", "twins", *TARGETS])
        known = f"did you mean {' or '.join(near)}?" if near else "there are all, table1 and more;"
        raise argparse.ArgumentTypeError(
            f"there is no {text!r}; {known} `poe reproduce list` names them all"
        ) from None
    return text


def _reproduce(options: argparse.Namespace) -> int:
    need_a_clone("poe reproduce")
    if options.target == "twins":
        _reproduce_twins()
        return 0
    if options.target == "list":
        print(listing())
        return 0
    from reproduction.targets import find

    chosen = find(options.target)
    if options.draw is not None:
        check()
    request = _request(options)
    code = 0
    if len(chosen) == 1:
        _one(chosen[0], request, quiet=options.quiet)
    else:
        code = _several(chosen, request, options)
    if options.draw is not None and code == 0:
        print(*draw(chosen, request, options.draw), sep="\n")
    return code


def _request(options: argparse.Namespace) -> Request:
    from reproduction.making import Request
    from reproduction.measured import stored

    store = None
    if options.store is not None:
        store = stored(options.store, system=options.system, source=options.labels)
    return Request(
        draws=options.draws,
        seed=options.seed,
        labels=options.labels,
        out=options.out,
        workers=options.workers,
        store=store,
        invoked=f"poe reproduce {options.target}" + (" --full" if options.full else ""),
        full=options.full,
    )


def _one(target: Target, request: Request, *, quiet: bool) -> None:
    made = _made(target, request, quiet=quiet)
    print(report(target, made.table))
    _say(target, request, made)


def _made(target: Target, request: Request, *, quiet: bool, leave: bool = True) -> Made:
    from reproduction.making import check, make

    check(target, request)  # before a bar is drawn
    with tqdm(desc=target.name, disable=quiet, leave=leave) as bar:

        def moved(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return make(target, request, progress=moved)


def _say(target: Target, request: Request, made: Made) -> None:
    if request.store is not None:
        tqdm.write(measured(target, made))
    if made.without:
        tqdm.write(f"{target.name}: {made.without}")
    done = "written to" if made.written else "not written; the fuller result is kept in"
    tqdm.write(f"{target.name}: {made.run.seconds:.0f} s; {done} {made.path}")


def _several(chosen: list[Target], request: Request, options: argparse.Namespace) -> int:
    from reproduction.making import is_fresh
    from reproduction.runs import Stopwatch

    watch = Stopwatch(request.invoked, workers=request.workers)
    made, refused = 0, []
    whole = tqdm(chosen, unit="target", disable=options.quiet)
    try:
        for target in whole:
            whole.set_description(target.name)
            if not options.force and is_fresh(target, request):
                continue
            try:
                _say(target, request, _made(target, request, quiet=options.quiet, leave=False))
            except JudgeError as error:  # a store that has no part in one target may in others
                refused.append(target.name)
                tqdm.write(f"{target.name}: not made: {error}")
                continue
            made += 1
    except KeyboardInterrupt:
        print(f"stopped; {made} targets were recomputed and are kept, the same command goes on")
        return 130
    fresh = len(chosen) - made - len(refused)
    run = watch.run()
    print(f"{made} of {len(chosen)} targets recomputed, {fresh} were up to date; {_cost(run)}")
    if refused:
        print(f"not made, {len(refused)}: {', '.join(refused)}")
    if options.target == "all" and not refused:
        _record(run, request, made=made, up_to_date=fresh)
    return 0 if made or fresh else 1


def _record(run: Run, request: Request, *, made: int, up_to_date: int) -> None:
    from reproduction import files, runs

    real = all(datasets.available(name) for name in PUBLIC) and request.labels != "stand-in"
    folder = files.folder("real" if real else "stand-in", request.out)
    path = runs.write_all(
        folder, run, made=made, up_to_date=up_to_date, settings=request.settings()
    )
    if path is not None:
        print(f"this run is recorded in {path}")


def _cost(run: Run) -> str:
    """Wall and processor time of a run in words."""
    minutes, seconds = divmod(round(run.seconds), 60)
    wall = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{wall} in all ({run.cpu_seconds:.0f} s of processor time, {run.cores} cores)"


def _reproduce_twins() -> None:
    from poe._paths import data_dir
    from reproduction.twins_file import as_toml, calibrate_twins

    found = calibrate_twins()
    path = data_dir() / "twins.toml"
    path.write_text(as_toml(found))
    print(f"{sum(map(len, found.values()))} twins calibrated; written to {path}")
