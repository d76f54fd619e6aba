"""`judging compare`: two systems, and whether the first is as good as the second."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from judging.practice.cli import exits, screen
from judging.practice.cli import options as o
from judging.practice.cli.fit import Cluster, First, Probability, Second, Winner


@o.app.command(
    epilog="With --json, standard output is one object: name, other, difference (of scores), se, "
    "low, high, p_better, win_rate (fitted), direct_rate and direct_se (of the comparisons of "
    "these two alone), state (holds, fails or open), sure, more (comparisons that would decide) "
    "and notes."
)
def compare(
    new: Annotated[str, typer.Argument(help="The system in question, as the tables call it.")],
    old: Annotated[str, typer.Argument(help="The system to compare it with.")],
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="Comparisons that you have, as for `judging leaderboard`, or that its "
            "--comparisons wrote.",
            metavar="TABLE",
        ),
    ],
    margin: Annotated[
        float,
        o.opt(
            "Points of the win rate by which the first may be worse: 2 asks for 48%.",
            panel=o.GATE,
            metavar="POINTS",
        ),
    ] = 0.0,
    sure: o.Sure = 0.95,
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    cluster: Cluster = None,
    errors: o.Errors = "auto",
    length_control: o.LengthControl = False,
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    as_json: o.AsJson = False,
    encoding: o.Encoding = None,
    sheet: o.Sheet = None,
) -> None:
    """Decide whether one system is as good as another.

    Ends with 0 if it is, 1 if it is worse, and 3 if that cannot be told yet.
    """
    from judging.practice.board import gate, of_columns
    from judging.practice.reading.forms import UnnamedError, read
    from judging.practice.reading.tables import read_tables
    from judging.practice.sentences import say
    from poe.errors import ComparisonError

    with screen.busy(f"reading {screen.named(tables)}"):
        names = {"first": first, "second": second, "winner": winner, "p": p, "cluster": cluster}
        try:
            columns = read(read_tables(tables, encoding=encoding, sheet=sheet), **names)
        except UnnamedError as error:
            raise ComparisonError(
                f"{error}; answers that nobody compared are for `judging leaderboard FILE --judge "
                "JUDGE`"
            ) from None
    board = of_columns(columns, length=length_control, errors=errors, prior=prior, level=confidence)
    known = {str(name): name for name in board.plain.items}
    wanted = gate.require(known.get(new, new), known.get(old, old), -margin / 100.0, known.values())
    verdict = gate.check(board, wanted, sure)
    apart = board.compare(wanted.new, wanted.old)
    against: Any = board.against(wanted.old)
    direct = against.loc[wanted.new] if wanted.new in against.index else None

    def text() -> str:
        lines = [
            f"{wanted.new} against {wanted.old}: difference {apart['difference']:+.2f} "
            f"({apart['low']:+.2f} to {apart['high']:+.2f}), win rate {apart['win_rate']:.1%}"
        ]
        if direct is None:
            lines.append("They were never compared with each other, only with others.")
        else:
            lines.append(
                f"Of their own {int(direct['comparisons']):,} comparisons {wanted.new} won "
                f"{100 * direct['win_rate']:.1f}% ± {100 * direct['se']:.1f} (ties half)."
            )
        if board.equal is not None:
            equal = board.compare(wanted.new, wanted.old, equal_length=True)
            lines.append(
                f"At equal lengths: difference {equal['difference']:+.2f} ({equal['low']:+.2f} to "
                f"{equal['high']:+.2f}), win rate {equal['win_rate']:.1%}; the verdict does not "
                "use it."
            )
        return "\n".join([say(verdict), *lines, *board.sentences()])

    def everything() -> dict[str, Any]:
        return {
            "name": wanted.new,
            "other": wanted.old,
            **apart,
            "direct_rate": None if direct is None else float(direct["win_rate"]),
            "direct_se": None if direct is None else float(direct["se"]),
            "state": verdict.state,
            "sure": verdict.p,
            "more": verdict.more,
            "notes": board.sentences(),
        }

    screen.deliver(text, everything if as_json else None, {})
    exits.gated([verdict])
