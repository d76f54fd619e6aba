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
    fetch.add_argument("name", choices=[*datasets.names(), *datasets.recordings()])
    fetch.set_defaults(run=_data_fetch)


def _data_list(_: argparse.Namespace) -> None:
    for name in datasets.names():
        entry = datasets.info(name)
        shape = f"{entry.contexts} contexts x {entry.candidates} candidates"
        if entry.contexts == 1:
            shape = f"{entry.candidates} candidates, all compared with all"
        print(f"{name}: {shape}; licence: {entry.licence}")
        _print_places(entry)
    for name in datasets.recordings():
        recording = datasets.recording(name)
        print(f"{name}: {recording.title}; licence: {recording.licence}")
        _print_places(recording)


def _print_places(entry: datasets.Published) -> None:
    for file in entry.files:
        place = datasets.place(file)
        if place is not None:
            said = str(place)
        elif file.url:
            said = f"not on this machine; get it with: poe data fetch {entry.name}"
        else:
            goes_to = datasets.looked_for(file)[0]
            said = f"not on this machine; your own copy: {file.obtain}; it goes to {goes_to}"
        doubt = " (digest from another project, never computed here)" if file.secondhand else ""
        print(f"    {f'{file.role}: ' if len(entry.files) > 1 else ''}{said}{doubt}")


def _data_fetch(options: argparse.Namespace) -> None:
    print(f"{options.name} is at {datasets.fetch(options.name)}")
