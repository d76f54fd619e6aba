"""What the commands share: the app, options, judges, stores and their costs, writing files."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from poe import _paths
from poe.errors import JudgeError

if TYPE_CHECKING:
    from poe.judges import Question, Reader, Store


class _Shown:
    """In the help a flag has no type beside it, and what takes a word says so in one."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return list(params)


class Command(_Shown, TyperCommand):
    """A command, its help without noise."""


class Group(_Shown, TyperGroup):
    """Commands, their help without noise."""


app = typer.Typer(
    cls=Group,
    help="Judging by comparison: products of experts for LLM judges.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
store_app = typer.Typer(
    cls=Group, help="List, merge or export judgement stores.", no_args_is_help=True
)
data_app = typer.Typer(cls=Group, help="List or fetch the datasets.", no_args_is_help=True)
app.add_typer(store_app, name="store")
app.add_typer(data_app, name="data")

# Options that several commands have -----------------------------------------------------------


def opt(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option and its line of help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def column(text: str, *names: str) -> Any:
    """An option that names a column."""
    return opt(text, *names, panel="Columns, where they have other names", metavar="COLUMN")


ASKED = "How much is asked"
STOP = "Stop before the budget is spent, as soon as one holds"
SCORES = "How answers become scores"
JUDGE = "The judge"
FILES = "Files"

FORMS = "smollm2, hf:MODEL, hf:MODEL@REVISION, hf:FILE.gguf, openai:MODEL@URL or demo."
ENDS = (
    "With --dry-run: a list of judges with calls (at most), stored, tokens, seconds, cost. Exit "
    "status 3: a limit, or a server that was lost, made the ranking partial."
)
Count = int | None
JudgeName = Annotated[str, opt(FORMS, "--judge", metavar="JUDGE")]
DryRun = Annotated[bool, opt("Only say what it would take.", "--dry-run")]
Offline = Annotated[
    bool, opt("Rank by the answers in the store; the judge is not opened.", "--offline")
]
Quiet = Annotated[bool, opt("No progress.", "--quiet")]
Template = Annotated[str | None, opt("Which wording; `poe prompts` lists them.")]
DecoderOnly = Annotated[bool, opt("The ending for decoder-only models.", "--decoder-only")]

Orders = Annotated[
    Literal["one", "both"],
    opt("A pair in one random order, its bias estimated, or in both.", panel=ASKED),
]
Seed = Annotated[int, opt("Of all random choices.", min=0)]

Expert = Annotated[
    Literal["bradley-terry", "gaussian", "laplacian"],
    opt("What an answer says of two scores.", panel=SCORES),
]
Prior = Annotated[
    float | None,
    opt(
        "Wins added to every pair. By default none, or, where an item won or lost everything, one "
        "win and one loss an item.",
        panel=SCORES,
        min=0.0,
    ),
]
Confidence = Annotated[
    float, opt("How sure intervals and stopping are.", panel=SCORES, min=0.0, max=1.0)
]

JudgeOptions = Annotated[
    list[str],
    opt("A setting such as dtype=float32; may be repeated.", panel=JUDGE, metavar="NAME=VALUE"),
]
LimitCalls = Annotated[Count, opt("Stop after so many new calls, all kept.", panel=JUDGE, min=1)]
LimitTokens = Annotated[Count, opt("Stop after so many new tokens, all kept.", panel=JUDGE, min=1)]
PriceInput = Annotated[
    float | None, opt("Dollars for a million tokens read.", panel=JUDGE, metavar="DOLLARS")
]
PriceOutput = Annotated[
    float | None, opt("Dollars for a million tokens written.", panel=JUDGE, metavar="DOLLARS")
]
Undecided = Annotated[
    Literal["stop", "tie"],
    opt("An answer without a label stops the run or counts as a tie.", panel=JUDGE),
]

Report = Annotated[Path | None, opt("HTML report in one file.", panel=FILES)]
Out = Annotated[Path | None, opt("Scores and intervals as CSV.", panel=FILES)]
Comparisons = Annotated[Path | None, opt("Every comparison as CSV.", panel=FILES)]
AsJson = Annotated[bool, opt("Print one JSON object instead of tables.", "--json", panel=FILES)]
STORE = Path("judgements.sqlite")
StorePath = Annotated[Path, opt("Answers are kept here, never asked for twice.", panel=FILES)]
SeveralJudges = Annotated[
    bool, opt("Let the store hold several judges.", "--several-judges", panel=FILES)
]
Encoding = Annotated[str | None, opt("Of a text file, if it is guessed wrong.", panel=FILES)]

# Judges and stores ----------------------------------------------------------------------------


def open_judge(
    name: str,
    settings: Sequence[str],
    limit_calls: int | None = None,
    limit_tokens: int | None = None,
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
        try:
            options[key] = json.loads(value)  # a number, true or false
        except ValueError:
            options[key] = value
    limits = {"call_limit": limit_calls, "token_limit": limit_tokens}
    options = {key: n for key, n in limits.items() if n is not None} | options
    return judges.open(name, **options)


@contextmanager
def open_store(
    path: Path, *, several: bool = False, dry_run: bool = False, offline: bool = False
) -> Iterator[Store]:
    """The store at a path. A dry run leaves no new file behind; offline it must be there.

    Ctrl-C ends the command once the user knows that nothing is lost.
    """
    from poe.judges import Store

    if offline and dry_run:
        raise JudgeError("--offline asks nothing, so a --dry-run of it has nothing to say")
    if offline and not path.is_file():
        raise JudgeError(f"there is no store {path} to take answers from")
    new = dry_run and path.parent.is_dir() and not path.exists()
    with closing(Store(":memory:" if new else path, several=several or offline)) as store:
        try:
            yield store
        except KeyboardInterrupt:
            print(
                f"\npoe: stopped; the {len(store):,} answers so far are in {path}; the same "
                "command goes on from there and asks nothing twice",
                file=sys.stderr,
            )
            raise typer.Exit(-130) from None  # stopped, and said so


def prices(read: float | None, written: float | None) -> tuple[float, float] | None:
    """Dollars for a million tokens read, and written, if any was given."""
    return None if read is None and written is None else (read or 0.0, written or 0.0)


def estimate(
    name: str,
    judge: Reader,
    store: Store,
    questions: Sequence[Question],
    *,
    calls: int,
    stored: int,
    price: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """What so many calls to a judge would take, judged by some of their questions."""
    from poe.judges import accounts

    table, ours = store.table(), store.specification(judge)
    same = [digest for digest, one in store.specifications().items() if one == ours]
    cost = accounts.cost(questions, judge, table[table["judge"].isin(same)], calls=calls)
    row = {"judge": name, "calls": calls, "stored": stored, **vars(cost)}
    if price is not None:
        row["cost"] = accounts.Price(*price).of(cost.tokens, accounts.written(judge) * calls)
    return row


def print_estimates(rows: Sequence[dict[str, Any]], store: Path, *, as_json: bool) -> None:
    """Say what asking each judge will take."""
    if as_json:
        print_json(rows)
        return
    for row in rows:
        who = f"{row['judge']}: " if len(rows) > 1 else ""
        print(f"{who}at most {row['calls']:,} calls; {row['stored']:,} answers are in {store}")
        print_cost(row)


def print_cost(row: dict[str, Any]) -> None:
    """Say what the calls of an `estimate` will take: tokens, and time where it is known."""
    if not row["calls"]:
        return
    print(f"about {row['tokens']:,.0f} tokens ({row['tokens_by']})")
    if row["seconds"] is None:
        print("time unknown: a run with --limit-calls 100 measures it, and its answers stay")
    else:
        print(f"about {duration(row['seconds'])} ({row['seconds_by']})")
    if "cost" in row:
        print(f"about ${row['cost']:,.4f}, where an answer has no more tokens than it may")


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "3 min", "2.5 h", "4 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"


# What comes out -------------------------------------------------------------------------------


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal what takes longer than two seconds."""
    said = threading.Timer(2.0, print, [f"poe: {what} ..."], {"file": sys.stderr, "flush": True})
    if sys.stderr.isatty():
        said.start()
    try:
        yield
    finally:
        said.cancel()


def print_json(value: Any) -> None:
    """Print for a program; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        value = value.item() if hasattr(value, "item") else value
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(plain(value), indent=1))


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
        marks = _same(path) | _same(part)
        for other, others in taken:
            if marks & others:
                raise JudgeError(
                    f"{path} would overwrite {other}, which this command also uses; name another "
                    "file"
                )
        taken.append((path, marks))
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
