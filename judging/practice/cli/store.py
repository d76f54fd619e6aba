"""`judging store`: what a store of answers has, and what can be done with several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judging.errors import JudgeError
from judging.practice.cli import opening, screen
from judging.practice.cli import options as o


@o.store_app.command(
    "list",
    epilog="With --json, standard output is a list of judges: judge (a short digest), "
    "specification, and prompts, a list with prompt, answers, refused and tokens.",
)
def store_list(
    store: Annotated[Path, typer.Argument(help="The store.")] = o.STORE,
    as_json: o.AsJson = False,
) -> None:
    """List a store's judges, prompts and numbers of answers."""
    with opening.open_store(store, offline=True) as kept_answers:
        contents = kept_answers.contents()

    def text() -> str:
        lines = []
        for one in contents:
            given = ", ".join(f"{key} {value}" for key, value in one["specification"].items())
            lines.append(f"judge {one['judge']}: {given}")
            for prompt in one["prompts"]:
                said = f"{prompt['answers']:,} answers, {prompt['tokens']:,} tokens"
                said += f", {prompt['refused']:,} refused" if prompt["refused"] else ""
                lines.append(f"    {prompt['prompt']}: {said}")
        return "\n".join(lines or ["there are no answers in it"])

    screen.deliver(text, (lambda: contents) if as_json else None, {})


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
) -> None:
    """Copy the answers of other stores into a store."""
    if missing := [str(other) for other in others if not other.is_file()]:
        raise JudgeError(f"there is no store {' or '.join(missing)} to merge; nothing was made")
    with opening.open_store(store, several=True) as kept_answers:
        for other in others:
            tally = kept_answers.merge(other)
            print(
                f"{other}: {tally.added:,} answers were new, {tally.same:,} were there, "
                f"{tally.differ:,} differ"
            )
        print(f"{kept_answers.path} now has {len(kept_answers):,} answers")


@o.store_app.command("import")
@o.takes(calling="store")
def store_import(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="The result files of a batch, in any order; a file given twice changes nothing.",
            metavar="RESULTS",
        ),
    ],
    calling: o.Calling,
    model: Annotated[
        str | None,
        o.opt("Take the answers of this model, if the results have several.", "--model"),
    ] = None,
) -> None:
    """Read the results of a batch (--batch) into the store of the command that wrote it."""
    from judging.practice.batch import import_results
    from poe.errors import name_some

    usable = 0
    with opening.open_store(calling.store, several=True) as kept_answers:
        for path in results:
            tally = import_results(kept_answers, path, model=model)
            usable += tally.added + tally.same + tally.differ + tally.refused
            lines = [f"{tally.added:,} answers were new, {tally.same:,} were there"]
            lines += [f"{tally.differ:,} differ from the store's, which stay"] * bool(tally.differ)
            lines += [f"{n:,} {why}" for why, n in tally.failed.most_common(5)]
            lines += [f"{tally.refused:,} of these count as refused"] * bool(tally.refused)
            lines += [
                f"{n:,} are of the model {name}, left out" for name, n in tally.others.items()
            ]
            lines += [f"{tally.unknown:,} are of no batch of this store"] * bool(tally.unknown)
            print(f"{path}: {'; '.join(lines)}")
        print(f"{kept_answers.path} now has {len(kept_answers):,} answers")
    if not usable:
        raise JudgeError(f"none of {name_some(list(map(str, results)))} had an answer to keep")
