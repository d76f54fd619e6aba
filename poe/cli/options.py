"""What the commands share: the app, options, opening judges and stores, writing files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from poe import _paths
from poe.errors import JudgeError

if TYPE_CHECKING:
    from poe.judges import Answer, Question, Reader, Store

app = typer.Typer(
    help="Judging by comparison: products of experts for LLM judges.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
store_app = typer.Typer(help="List, merge or export judgement stores.", no_args_is_help=True)
data_app = typer.Typer(help="List or fetch the datasets.", no_args_is_help=True)
app.add_typer(store_app, name="store")
app.add_typer(data_app, name="data")

# Options that several commands have -----------------------------------------------------------


def opt(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option and its line of help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


TABLE, ASKED, SCORES, FILES, JUDGE = (
    "Where the table has other names",
    "How much is asked",
    "How answers become scores",
    "Files",
    "The judge",
)
STOP = "Stop before the budget is spent, as soon as one holds"
STORE = Path("judgements.sqlite")
FORMS = "smollm2, hf:MODEL, hf:MODEL@REVISION, hf:FILE.gguf, openai:MODEL@URL or demo."
Orders = Literal["one", "both"]
Count = int | None
JudgeName = Annotated[str, opt(FORMS, "--judge", metavar="JUDGE")]
JudgeOptions = Annotated[
    list[str],
    opt("A setting such as dtype=float32; may be repeated.", panel=JUDGE, metavar="NAME=VALUE"),
]
LimitCalls = Annotated[Count, opt("Stop after so many new calls, all kept.", panel=JUDGE, min=1)]
LimitTokens = Annotated[Count, opt("Stop after so many new tokens, all kept.", panel=JUDGE, min=1)]
StorePath = Annotated[Path, opt("Answers are kept here, never asked for twice.", panel=FILES)]
SeveralJudges = Annotated[
    bool, opt("Let the store hold several judges.", "--several-judges", panel=FILES)
]
DryRun = Annotated[bool, opt("Only say what it would take.", "--dry-run")]
Quiet = Annotated[bool, opt("No progress.", "--quiet")]
Seed = Annotated[int, opt("Of all random choices.", min=0)]
Undecided = Annotated[
    Literal["stop", "tie"],
    opt("An answer without a label stops the run or counts as a tie.", panel=JUDGE),
]
PriceInput = Annotated[
    float | None, opt("Dollars for a million tokens read.", panel=JUDGE, metavar="DOLLARS")
]
PriceOutput = Annotated[
    float | None, opt("Dollars for a million tokens written.", panel=JUDGE, metavar="DOLLARS")
]
DecoderOnly = Annotated[bool, opt("The ending for decoder-only models.", "--decoder-only")]
Column = Annotated[str | None, opt("A column with another name.", panel=TABLE, metavar="NAME")]
Encoding = Annotated[str | None, opt("Of the file, if it is guessed wrong.", panel=TABLE)]
Template = Annotated[str | None, opt("Which wording; `poe prompts` lists them.")]


def open_judge(
    name: str, settings: Sequence[str], limit_calls: int | None, limit_tokens: int | None
) -> Reader:
    """The judge of that name, which never goes over these limits."""
    from poe import judges

    options: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise JudgeError(
                f"--judge-option {text!r} is not NAME=VALUE, for example dtype=float32"
            )
        options[key] = _value(value)
    limits = {"call_limit": limit_calls, "token_limit": limit_tokens}
    options = {key: n for key, n in limits.items() if n is not None} | options
    return judges.open(name, **options)


def _value(text: str) -> Any:
    """A number, true or false where the text is one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def open_store(path: Path, *, several: bool, dry_run: bool) -> Store:
    """The store at a path; a dry run leaves no new file behind."""
    from poe.judges import Store

    new = dry_run and path.parent.is_dir() and not path.exists()
    return Store(":memory:" if new else path, several=several)


def print_cost(questions: Sequence[Question], judge: Reader, store: Store) -> None:
    """Say what asking will take: tokens, and time where it is known."""
    from poe.judges import planning

    if not questions:
        return
    table, given = store.table(), store.specifications()
    same = [digest for digest, one in given.items() if one == store.specification(judge)]
    found = planning.cost(questions, judge, table[table["judge"].isin(same)])
    print(f"about {found.tokens:,.0f} tokens ({found.tokens_by})")
    if found.seconds is None:
        print("time unknown: a real run with --limit-calls 100 measures it, and its answers stay")
    else:
        print(f"about {duration(found.seconds)} ({found.seconds_by})")


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "3 min", "2.5 h", "4 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"


def stopped(store: Store) -> typer.Exit:
    """What ends a run that Ctrl-C stopped, once the user knows that nothing is lost."""
    print(
        f"\npoe: stopped; the {len(store):,} answers so far are in {store.path}; the same command "
        "goes on from there and asks nothing twice",
        file=sys.stderr,
    )
    return typer.Exit(-130)  # stopped, and said so


class Meter:
    """A progress bar of new answers; a store's `progress`."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        from tqdm import tqdm

        slow = 0.2 if sys.stderr.isatty() else 10.0
        self.bar = tqdm(total=total, unit="call", disable=quiet, mininterval=slow, leave=False)

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers."""
        self.bar.update(len(answers))


def require_writable(*paths: Path | None, inputs: Sequence[Path] = ()) -> None:
    """Refuse a path that cannot be written before a judge is asked, not after.

    Nor may it be another output, or one of `inputs` (a text file, a store), by whatever spelling or
    link.
    """
    taken = [(path, _same(path)) for path in inputs]
    for path in filter(None, paths):
        if path.is_dir():
            raise JudgeError(f"{path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise JudgeError(f"{path} cannot be written: there is no folder {path.parent}")
        part = path.with_name(path.name + ".part")
        for other, marks in taken:
            if marks & (_same(path) | _same(part)):
                raise JudgeError(
                    f"{path} would overwrite {other}, which this command also uses; name another "
                    "file"
                )
        taken.append((path, _same(path) | _same(part)))
    for path in filter(None, paths):
        part = path.with_name(path.name + ".part")
        try:
            part.touch()
            part.unlink()
        except OSError as error:
            raise JudgeError(f"{path} cannot be written: {error.strerror}") from None


def _same(path: Path) -> set[object]:
    """What two spellings of one file have in common: the resolved path, the inode if it is there.

    A store's journals are files of its own.
    """
    real = os.path.realpath(path)
    found: set[object] = {os.path.normcase(real + end) for end in ("", "-journal", "-wal", "-shm")}
    if path.exists():
        found.add((path.stat().st_dev, path.stat().st_ino))
    return found


def write(path: Path, text: str, *, quiet: bool = False) -> None:
    """Write a file whole or not at all, and say so."""
    _paths.write(path, text)
    if not quiet:
        print(f"written to {path}")
