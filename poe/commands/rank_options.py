"""The options of `poe rank`."""

from __future__ import annotations

import argparse
from pathlib import Path

from poe.commands import common
from poe.judges.opening import FORMS
from poe.judges.ranking import RULES

ABOUT = """Rank texts by asking a judge to compare two at a time.

TEXTS is a CSV or JSONL file with id and text, and if you have them context (what the texts
answer to; each context is ranked by itself) and score (by people; the agreement is reported)."""
EXAMPLE = """example, offline and in seconds:
  poe rank data/examples/explanations.csv --attribute "easier to read" --judge demo \\
    --report report.html

The intervals take the judge's answers as given: they say how far the ranking could move if this
judge were asked more, not how well it agrees with people."""


def add(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    """Add the command to the parser, and return it."""
    command: argparse.ArgumentParser = commands.add_parser(
        "rank",
        help="rank your own texts with a judge, and get a report",
        usage="poe rank TEXTS --attribute WORDS --judge JUDGE [options]",
        description=ABOUT,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("texts", type=Path, metavar="TEXTS", help="CSV or JSONL file")
    command.add_argument(
        "--attribute", required=True, metavar="WORDS", help='what wins, "more persuasive"'
    )
    command.add_argument("--judge", required=True, metavar="JUDGE", help=FORMS)
    command.add_argument("--thing", default="text", help='what they are, "essay" (default text)')
    command.add_argument(
        "--context-name", default="Context", help="how the prompt heads a context (default Context)"
    )
    command.add_argument("--dry-run", action="store_true", help="only say what it would take")
    _asking(command.add_argument_group("how much is asked"))
    _stopping(command.add_argument_group("stop before the budget is spent, as soon as one holds"))
    _fitting(command.add_argument_group("how answers become scores"))
    files = command.add_argument_group("files")
    files.add_argument("--report", type=Path, help="HTML report, one file without a network")
    files.add_argument("--out", type=Path, help="scores and intervals as CSV")
    files.add_argument("--comparisons", type=Path, help="every comparison as CSV")
    common.add_store_options(files)
    common.add_judge_options(command.add_argument_group("the judge"))
    return command


def _asking(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--budget", default="10x", help="calls at most: 10x (ten a text, default), 500, or all"
    )
    group.add_argument(
        "--rule",
        choices=list(RULES),
        default="adaptive",
        help="which comparisons: the most telling given the answers (default), the most telling "
        "whatever the answers, or random ones",
    )
    group.add_argument(
        "--orders",
        choices=["one", "both"],
        default="one",
        help="ask a pair in one random order, its position bias estimated from all (default), or "
        "in both",
    )
    group.add_argument(
        "--seed", type=common.seed, default=0, help="of all random choices (default 0)"
    )


def _stopping(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--until-top", type=common.positive, metavar="K", help="the K best are known"
    )
    group.add_argument(
        "--until-ranks-within", type=int, metavar="R", help="every rank is known to R ranks"
    )
    group.add_argument(
        "--until-error", type=float, metavar="S", help="every score's standard error is S or less"
    )


def _fitting(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--expert",
        choices=["bradley-terry", "gaussian", "laplacian"],
        default="bradley-terry",
        help="what an answer says of two scores (default bradley-terry)",
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, help="of intervals and stopping (default 0.95)"
    )
    group.add_argument(
        "--intervals",
        choices=["scatter", "decisions"],
        default="scatter",
        help="their width: from how far the answers scatter around the scores (default), or as "
        "if each answer were one decision, which is wider for a judge that gives probabilities",
    )
    group.add_argument(
        "--prior", type=float, default=0.0, help="wins added to every pair, for certain answers"
    )
    group.add_argument(
        "--top", type=common.positive, metavar="K", help="show P(among the K best) (default 3)"
    )
