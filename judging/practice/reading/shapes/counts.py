"""Counts of wins, a row a pair, of which each win becomes a row.

home.team, away.team, home.wins, away.wins      as BradleyTerry2 has them
model, opponent, wins, losses, ties
name, n_wins, n_wins_base, n_draws              as alpaca_eval has them, against its baseline

Where no pair stands both ways round, the columns say who was counted and not who was shown first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING

from judging.practice.reading.names import OPPOSED, PLACED, SIDES, cells, pairs_of, plain
from judging.practice.reading.shapes.turned import Turned, column_of, repeated, whole
from poe.errors import ComparisonError

if TYPE_CHECKING:
    import pandas as pd

WINS = ("wins", "win", "won", "n_wins", "n_win", "count", "votes")
TIES = ("ties", "draws", "tied", "n_ties", "n_draws", "tie", "draw")
PAIRS = (*pairs_of(WINS), ("wins", "losses"), ("win", "loss"), ("won", "lost"),
         ("n_wins", "n_losses"), ("n_wins", "n_wins_base"))  # fmt: skip
NAMES = (("first", "second"), *pairs_of(SIDES), *OPPOSED, *PLACED)
ALONE = (*SIDES, "column_1")  # who won against the one baseline
MAX_ROWS = 2_000_000  # rows that counts may become


def rows(table: pd.DataFrame, *sides: str) -> Turned | None:
    """A row a win, and a row a tie; sides : the columns of who was compared, where named."""
    who, tallies = (_found(table, known) for known in ([sides] if sides else NAMES, PAIRS))
    name = column_of(table, ALONE)
    if who is None and name and tallies is not None and plain(tallies[1]) == "n_wins_base":
        table, who = table.assign(base=["base"] * len(table)), (name, "base")
    if who is None or tallies is None:
        return None
    (first, second), (won, lost) = who, tallies
    tied = column_of(table, TIES)
    counts = [whole(table, column) for column in (won, lost, tied) if column is not None]
    if (total := sum(map(sum, counts))) > MAX_ROWS:
        raise ComparisonError(
            f"{total:,} wins are counted, and {MAX_ROWS:,} are the most that are read; give a row "
            "for each winner, with the count in a column weight"
        )
    of = [list(chain.from_iterable(map(repeat, range(len(table)), count))) for count in counts]
    p = [value for rows, value in zip(of, (1.0, 0.0, 0.5), strict=False) for _ in rows]
    notes = [f"counts of wins: {won!r} of {first!r}, {lost!r} of {second!r}"]
    notes[0] += "" if tied is None else f", ties in {tied!r}"
    pairs = set(zip(cells(table[first]), cells(table[second]), strict=True))
    if not (both_ways := any(one != other and (other, one) in pairs for one, other in pairs)):
        notes.append(
            "no two are counted both ways round, so nothing is said of a preference for a position"
        )
    turned = repeated(table, [*chain.from_iterable(of)], {"p": p})
    named = {"first": first, "second": second, "p": "p"}
    return Turned(turned, tuple(notes), named, in_order=both_ways)


def _found(table: pd.DataFrame, known: Iterable[Sequence[str]]) -> tuple[str, str] | None:
    """The first two columns that are there together."""
    for one, other in known:
        pair = column_of(table, [plain(one)]), column_of(table, [plain(other)])
        if pair[0] is not None and pair[1] is not None:
            return pair[0], pair[1]
    return None
