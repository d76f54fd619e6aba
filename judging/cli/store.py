"""`judging store`: what a store of answers has, and what can be done with several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judging.cli import opening, screen
from judging.cli import options as o
from judging.errors import JudgeError


@o.store_app.command("list")
def store_list(
    store: Annotated[Path, typer.Argument(help="The store, such as judgements.sqlite.")],
) -> None:
    """List a store's judges, prompts and numbers of answers."""
    with opening.open_store(store, offline=True) as kept_answers:
        table = kept_answers.table()
        for digest, given in kept_answers.specifications().items():
            print(f"judge {digest}: " + ", ".join(f"{key} {value}" for key, value in given.items()))
            ours = table[table["judge"] == digest]
            for prompt, rows in ours.groupby("prompt", sort=False):
                print(f"    {prompt}: {len(rows):,} answers, {rows['tokens'].sum():,} tokens")


@o.store_app.command("merge")
def store_merge(
    store: Annotated[
        Path,
        typer.Argument(help="The store that takes the answers; it is made if it does not exist."),
    ],
    others: Annotated[
        list[Path],
        typer.Argument(help="The stores that the answers are copied from.", metavar="STORES"),
    ],
    several_judges: o.SeveralJudges = False,
) -> None:
    """Copy the answers of other stores into a store."""
    if missing := [str(other) for other in others if not other.is_file()]:
        raise JudgeError(f"there is no store {' or '.join(missing)} to merge; nothing was made")
    with opening.open_store(store, several=several_judges) as kept_answers:
        for other in others:
            found = kept_answers.merge(other)
            print(
                f"{other}: {found.added:,} answers were new, {found.same:,} were there, "
                f"{found.differ:,} differ"
            )
        print(f"{kept_answers.path} now has {len(kept_answers):,} answers")


@o.store_app.command("export")
def store_export(
    store: Annotated[Path, typer.Argument(help="The store, such as judgements.sqlite.")],
    out: Annotated[Path, typer.Argument(help="A file that ends in .csv or .parquet.")],
) -> None:
    """Write every answer as one row of a CSV or Parquet file."""
    screen.require_writable(out, inputs=[store])
    with opening.open_store(store, offline=True) as kept_answers:
        kept_answers.export(out)
        print(f"{len(kept_answers):,} answers written to {out}")
