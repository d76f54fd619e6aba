"""The command line: `poe --help` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from poe import __version__, datasets
from poe.commands import data, judge, prompts, rank, reproduce, scorecard, store
from poe.errors import ComparisonError, JudgeError, NotConvergedError

COMMANDS = (reproduce, scorecard, data, judge, rank, store, prompts)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status and never shows a traceback for user errors."""
    parser = _parser()
    options = parser.parse_args(argv)
    options.argv = list(sys.argv[1:] if argv is None else argv)
    if not hasattr(options, "run"):
        parser.print_help()
        return 2
    try:
        status = int(options.run(options) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # as for a program that SIGPIPE ends
    except (
        ComparisonError,
        JudgeError,
        NotConvergedError,
        datasets.DatasetError,
        OSError,
        ValueError,
    ) as error:
        print(f"poe: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("poe: stopped; nothing was written", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poe", description="Judging by comparison: products of experts for LLM judges."
    )
    parser.add_argument("--version", action="version", version=f"poe {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
