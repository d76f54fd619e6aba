"""`poe store`: what a judgement store holds; merge shards; export."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from poe.commands import common
from poe.errors import JudgeError
from poe.judges.store import Store


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("store", help="list, merge or export judgement stores")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="its judges, prompts and numbers of answers")
    listing.add_argument("store", type=Path, help="such as judgements.sqlite")
    listing.set_defaults(run=_list)
    merge = actions.add_parser("merge", help="take over the answers of other stores")
    merge.add_argument("store", type=Path, help="the store that grows; made if it is not there")
    merge.add_argument("others", type=Path, nargs="+", metavar="OTHER", help="stores to take over")
    merge.add_argument(
        "--several-judges", action="store_true", help="let it hold answers of several judges"
    )
    merge.set_defaults(run=_merge)
    export = actions.add_parser("export", help="every answer as a row of a CSV or Parquet file")
    export.add_argument("store", type=Path, help="such as judgements.sqlite")
    export.add_argument("out", type=Path, help="ends in .csv or .parquet")
    export.set_defaults(run=_export)


def _list(options: argparse.Namespace) -> None:
    with closing(_existing(options.store)) as store:
        table = store.table()
        for digest, given in store.specifications().items():
            print(f"judge {digest}: " + ", ".join(f"{key} {value}" for key, value in given.items()))
            ours = table[table["judge"] == digest]
            for prompt, rows in ours.groupby("prompt", sort=False):
                print(f"    {prompt}: {len(rows):,} answers, {rows['tokens'].sum():,} tokens")


def _merge(options: argparse.Namespace) -> None:
    with (
        common.plain_warnings(),
        closing(Store(options.store, several=options.several_judges)) as store,
    ):
        for other in options.others:
            found = store.merge(other)
            print(
                f"{other}: {found.added:,} answers taken over, {found.same:,} were there, "
                f"{len(found.conflicts):,} differ"
            )
        print(f"{store.path} now has {len(store):,} answers")


def _export(options: argparse.Namespace) -> None:
    common.require_writable(options.out)
    with closing(_existing(options.store)) as store:
        store.export(options.out)
        print(f"{len(store):,} answers written to {options.out}")


def _existing(path: Path) -> Store:
    """A store that is there: looking at one must not make one."""
    if not path.is_file():
        raise JudgeError(f"there is no store {path}")
    return Store(path, several=True)
