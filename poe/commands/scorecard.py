"""`poe scorecard`: where every printed number stands."""

from __future__ import annotations

import argparse
import sys

import pandas as pd


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
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
