"""`poe scorecard`: where every printed number stands."""

from __future__ import annotations

import argparse
import sys

import pandas as pd

from poe.commands.common import need_a_clone

ABOUT = """Every table of the papers: how many of its printed numbers have the same digits, are
within noise or deviate, and how many were not attempted."""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "scorecard", help="where every printed number stands today", description=ABOUT
    )
    command.add_argument("--check", action="store_true", help="fail if a verdict got worse")
    command.add_argument("--accept", action="store_true", help="hold later runs to these verdicts")
    command.add_argument("--claims", action="store_true", help="the papers' claims as well")
    command.add_argument("--causes", action="store_true", help="why cells deviate, as far as known")
    command.add_argument("--cells", metavar="TABLE", help="cell by cell, such as table1")
    command.set_defaults(run=_scorecard)


def _scorecard(options: argparse.Namespace) -> int:
    need_a_clone("poe scorecard")
    from reproduction import claims, verdicts

    card = verdicts.scorecard()
    cells = _chosen(card, options.cells) if options.cells else None
    for paper, part in card.groupby("paper", sort=False):
        print(f"\n{paper}\n{verdicts.totals(part).to_string()}")
        found = verdicts.errors(part)
        if len(found):
            print("mean absolute difference of predictions, on real labels:")
            print(found.round(2).to_string(index=False))
    if cells is not None:
        print(cells.round(2).to_string(index=False, na_rep=""))
    if options.causes:
        _causes(card)
    if options.claims:
        _claims()
    if options.accept:
        written = verdicts.accept(card), claims.accept(claims.evaluate())
        print(f"accepted; written to {written[0]} and {written[1]}")
    return _check(card) if options.check else 0


def _check(card: pd.DataFrame) -> int:
    from reproduction.verdicts import worsened

    worse = worsened(card)
    if len(worse):
        print(f"poe: {len(worse)} verdicts got worse:", file=sys.stderr)
        print(worse.to_string(index=False), file=sys.stderr)
        return 1
    print("no verdict got worse, and every id has a row")
    return 0


def _chosen(card: pd.DataFrame, table: str) -> pd.DataFrame:
    """The cells of a table; an error where there are none."""
    rows = card[(card["table"] == table) | card["id"].str.startswith(f"{table}/")]
    if rows.empty:
        there = ", ".join(map(str, card["table"].unique()))
        raise ValueError(f"the scorecard has no table {table!r}; there are {there}")
    return rows[["id", "published", "ours", "se", "difference", "role", "kind", "verdict"]]


def _causes(card: pd.DataFrame) -> None:
    from reproduction import verdicts

    print("\ncells of a cause, mean absolute difference, and what the cause leaves of it:")
    for row in verdicts.effects(card).itertuples():
        left = f"{row.after:6.2f}" if pd.notna(row.after) else "      "
        shown = row.target or "no diagnosis"
        print(f"{row.cells:4d} {row.before:6.2f} {left}  {row.cause} [{shown}]")
    print("\ndeviations expected by chance, and observed:")
    print(verdicts.chance(card, by="paper").round(1).to_string(index=False))


def _claims() -> None:
    from reproduction.claims import evaluate

    table = evaluate()
    for _, row in table.iterrows():
        print(f"{row['id']:34} {row['evidence']:10} {row['verdict']:18} {row['shown']}")
    print(pd.crosstab(table["evidence"], table["verdict"]).to_string())
