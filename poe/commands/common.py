"""What several commands need."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from poe.commands.progress import duration
from poe.errors import ComparisonError, JudgeError
from poe.judges import planning
from poe.judges.opening import open_judge
from poe.judges.questions import Question, Reader
from poe.judges.store import Store

STORE = Path("judgements.sqlite")


def positive(text: str) -> int:
    """A whole number of at least 1, for argparse."""
    return _whole(text, least=1)


def seed(text: str) -> int:
    """The seed of random choices, for argparse."""
    return _whole(text, least=0)


def _whole(text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least}, not {text!r}")
    return number


def in_a_clone() -> bool:
    """Whether the reproduction is here; it lives beside the package, not in the wheel."""
    return find_spec("reproduction") is not None


def need_a_clone(command: str) -> None:
    """Say what a command lacks where the wheel alone is installed."""
    if not in_a_clone():
        raise ComparisonError(
            f"`{command}` needs the repository, not only the package: clone it and "
            "`pip install -e .` in the clone"
        )


# Judges and stores -------------------------------------------------------------------------


def add_judge_options(group: argparse._ArgumentGroup) -> None:
    """Options of the judge: limits, its own settings, what to do with a shrug."""
    group.add_argument(
        "--judge-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the judge, such as dtype=float32 or concurrency=8; may be repeated",
    )
    group.add_argument(
        "--limit-calls", type=positive, metavar="N", help="stop after N new calls, all kept"
    )
    group.add_argument(
        "--limit-tokens", type=positive, metavar="N", help="stop after N new tokens, all kept"
    )
    group.add_argument(
        "--undecided",
        choices=["stop", "tie"],
        default="stop",
        help="an answer that gives neither label any probability stops the run (default) or "
        "counts as a tie",
    )


def add_store_options(group: argparse._ArgumentGroup) -> None:
    """Where answers are kept."""
    group.add_argument(
        "--store",
        type=Path,
        default=STORE,
        help=f"answers are kept here and never asked for twice (default {STORE})",
    )
    group.add_argument(
        "--several-judges", action="store_true", help="let the store hold answers of other judges"
    )
    group.add_argument("--quiet", action="store_true", help="no progress")


def open_from(options: argparse.Namespace) -> Reader:
    """The judge that the options name."""
    settings = _settings(options.judge_option)
    if options.judge.startswith("openai:"):  # a server's own limits are never overstepped
        limits = {"call_limit": options.limit_calls, "token_limit": options.limit_tokens}
        settings = {name: n for name, n in limits.items() if n is not None} | settings
    return open_judge(options.judge, **settings)


def open_store(options: argparse.Namespace) -> Store:
    """The store that the options name; a dry run leaves no new file behind."""
    path = Path(options.store)
    if options.dry_run and path.parent.is_dir() and not path.exists():
        path = Path(":memory:")
    return Store(path, several=options.several_judges)


def print_cost(questions: Sequence[Question], judge: Reader, store: Store) -> None:
    """Say what asking will take: tokens, and time where it is known."""
    if not questions:
        return
    table = store.table()
    same = [
        digest
        for digest, given in store.specifications().items()
        if given == dict(judge.specification)
    ]
    found = planning.cost(questions, judge, table[table["judge"].isin(same)])
    print(f"about {found.tokens:,.0f} tokens ({found.tokens_by})")
    if found.seconds is None:
        print("time unknown: a real run with --limit-calls 100 measures it, and its answers stay")
    else:
        print(f"about {duration(found.seconds)} ({found.seconds_by})")


def how_to_go_on(store: Store) -> str:
    """What to say after Ctrl-C."""
    return (
        f"the {len(store):,} answers so far are in {store.path}; the same command goes on from "
        "there and asks nothing twice"
    )


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings as one line each, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"poe: note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _settings(given: Sequence[str]) -> dict[str, str | int | float | bool]:
    """NAME=VALUE pairs; numbers, true and false are taken as such."""
    made: dict[str, str | int | float | bool] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise JudgeError(
                f"--judge-option {text!r} is not NAME=VALUE, for example dtype=float32"
            )
        made[name] = _value(value)
    return made


def _value(text: str) -> str | int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# Files --------------------------------------------------------------------------------------


def require_writable(*paths: Path | None) -> None:
    """Refuse a path that cannot be written before a judge is asked, not after."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise JudgeError(f"{path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise JudgeError(f"{path} cannot be written: there is no folder {path.parent}")
        part = path.with_name(path.name + ".part")
        try:
            part.touch()
            part.unlink()
        except OSError as error:
            raise JudgeError(f"{path} cannot be written: {error.strerror}") from None
