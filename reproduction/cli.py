"""What `poe reproduce` and `poe scorecard` do: one function a command; each returns a status."""

from __future__ import annotations

import sys
from typing import Annotated

import pandas as pd
import typer

from reproduction import claims as papers_claims
from reproduction import verdicts


def scorecard(
    *,
    check: Annotated[bool, typer.Option("--check", help="Fail if a verdict got worse.")] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Hold later runs to these verdicts and claims.")
    ] = False,
    claims: Annotated[bool, typer.Option("--claims", help="The papers' claims as well.")] = False,
    causes: Annotated[
        bool, typer.Option("--causes", help="Why cells deviate, as far as known.")
    ] = False,
    cells: Annotated[str, typer.Option(metavar="TABLE", help="Cell by cell, such as table1.")] = "",
) -> int:
    """Say of every table of the papers how many numbers agree, deviate or were not attempted.

    Returns the exit status: 1 where a check fails. Raises ValueError for a table that is not there.
    """
    card = verdicts.scorecard()
    shown = _cells(card, cells) if cells else None
    for paper, part in card.groupby("paper", sort=False):
        print(f"\n{paper}\n{verdicts.totals(part).to_string()}")
        if len(found := verdicts.errors(part)):
            print("mean absolute difference of predictions, on real labels:")
            print(found.round(2).to_string(index=False))
    if shown is not None:
        print(shown.round(2).to_string(index=False, na_rep=""))
    if causes:
        _causes(card)
    held = papers_claims.evaluate() if claims or accept else pd.DataFrame()
    if claims:
        for row in held.itertuples():
            print(f"{row.id:34} {row.evidence:10} {row.verdict:18} {row.shown}")
        print(pd.crosstab(held["evidence"], held["verdict"]).to_string())
    if accept:
        print(f"accepted: {verdicts.accept(card)} and {papers_claims.accept(held)}")
    if check and len(worse := verdicts.worsened(card)):
        print(f"poe: {len(worse)} verdicts got worse:", file=sys.stderr)
        print(worse.to_string(index=False), file=sys.stderr)
        return 1
    if check:
        print("no verdict got worse, and every id has a row")
    return 0


def _cells(card: pd.DataFrame, table: str) -> pd.DataFrame:
    rows = card[(card["table"] == table) | card["id"].str.startswith(f"{table}/")]
    if rows.empty:
        there = ", ".join(card["table"].unique())
        raise ValueError(f"the scorecard has no table {table!r}; there are {there}")
    return rows[["id", "published", "ours", "se", "difference", "role", "kind", "verdict"]]


def _causes(card: pd.DataFrame) -> None:
    print("\ncells of a cause, mean absolute difference, and what the cause leaves of it:")
    for row in verdicts.effects(card).itertuples():
        left = f"{row.after:6.2f}" if pd.notna(row.after) else "      "
        shown = row.target or "no diagnosis"
        print(f"{row.cells:4d} {row.before:6.2f} {left}  {row.cause} [{shown}]")
    print("\ndeviations expected by chance, and observed:")
    print(verdicts.chance(card, by="paper").round(1).to_string(index=False))
