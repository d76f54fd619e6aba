"""The command line: `judging --help` lists the commands."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import FrameType
from typing import Annotated, Any, cast

import typer

from judging.errors import DatasetError, JudgeError

# Importing a module of commands is what adds them.
from judging.practice.cli import (  # noqa: F401
    ask,
    data,
    fit,
    leaderboard,
    plan,
    prompts,
    rank,
    store,
)
from judging.practice.cli.exits import SaidError, Status
from judging.practice.cli.exits import of as ended_by
from judging.practice.cli.options import Command, app
from poe.errors import NotConvergedError

__all__ = ["app", "main", "parse"]

ORDER = [
    "rank",
    "leaderboard",
    "fit",
    "plan",
    "ask",
    "prompts",
]  # in the help
app.registered_commands.sort(key=lambda one: ORDER.index(one.callback.__name__))  # type: ignore[union-attr]
for group in (app, *(one.typer_instance for one in app.registered_groups)):
    for one in group.registered_commands:  # type: ignore[union-attr]
        one.cls = Command

# Commands that need the repository: the papers' numbers are not in the package.
IN_A_CLONE = {
    "reproduce": "Recompute a table or figure of the papers (in a clone).",
    "scorecard": "Every printed number beside ours, with its verdict (in a clone).",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status and never shows a traceback for user errors."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with _plain_warnings(), _killed_politely():
            _attach(arguments)
            status = app(args=arguments, prog_name="judging", standalone_mode=False)
        sys.stdout.flush()
        if status == Status.INTERRUPTED:  # Ctrl-C where the command had nothing to keep
            print("judging: stopped; nothing was written", file=sys.stderr)
        return int(status or 0)
    except SaidError as ended:
        sys.stdout.flush()
        return int(ended.status)
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and not ended.code:
            return 0  # a shell asked what completes a word
        # The reader, such as head, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Status.UNREAD)
    except (ValueError, OSError, DatasetError, JudgeError, NotConvergedError) as error:
        print(f"judging: {error}", file=sys.stderr)
        return int(ended_by(error))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        from typer.rich_utils import rich_format_error

        if getattr(getattr(error, "param", None), "name", "") == "judge":
            from judging import kinds

            error.message = getattr(error, "message", "") or kinds.ready()  # type: ignore[attr-defined]
        rich_format_error(cast(Any, error))  # a mistake on the command line, with the usage
        return int(Status.MISUSED)


def _attach(arguments: Sequence[str]) -> None:
    """Take a clone's command, if it is meant, from the entry points judging.commands."""
    for name, about in IN_A_CLONE.items():
        app.registered_commands = [c for c in app.registered_commands if c.name != name]
        run: Callable[..., Any] = lambda: None  # noqa: E731
        if name in arguments[:1]:
            try:
                (place,) = entry_points(group="judging.commands", name=name)
                run = place.load()
            except (ValueError, ModuleNotFoundError) as error:
                missing = getattr(error, "name", None) or "reproduction"
                if missing.split(".")[0] != "reproduction":
                    raise
                raise JudgeError(
                    f"judging {name} needs the papers' numbers, which are not in the package: "
                    "clone the repository and run it there"
                ) from None
        app.command(name, cls=Command, help=about)(run)


def parse(arguments: Sequence[str]) -> str:
    """Check a command line without running it: what is wrong, or ""."""
    _attach(arguments)
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    try:
        while rest and hasattr(command, "commands") and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        if rest and hasattr(command, "commands") and not rest[0].startswith("-"):
            return f"No such command {rest[0]!r}."
        command.make_context("judging", rest)
    except Exception as error:  # click's own copy inside typer has no public name
        if not hasattr(error, "format_message"):
            raise
        return str(error.format_message())
    return ""


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as one line each, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"judging: note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _end(number: int, frame: FrameType | None) -> None:
    ctrl_c = signal.getsignal(signal.SIGINT)  # which a shell's background jobs ignore
    (ctrl_c if callable(ctrl_c) else signal.default_int_handler)(signal.SIGINT, frame)


def _ended_at_once() -> None:
    """Leave SIGTERM to the system, in a worker.

    It has nothing to keep, and its pool ends it this way: Python would look at the signal only
    after waiting for the next task, which then never comes.
    """
    if signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ended_at_once)


@contextmanager
def _killed_politely() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: calls under way are waited for, and answers are kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _version(wanted: bool) -> None:
    if wanted:
        from poe import __version__

        print(f"judging {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Judging by comparison: products of experts for LLM judges."""
