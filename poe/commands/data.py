"""`poe data`: list and fetch the datasets."""

from __future__ import annotations

import argparse

from poe import datasets


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
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
