"""Which columns say who was compared and who won, where names do not: a question to a user."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from judging.practice.reading.columns import EMPTY
from judging.practice.reading.names import NONE, PLACES, SIGNS, TIES, cells, word

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["hint"]

ROWS, COLUMNS = 200, 12  # of a table that are looked at


def hint(
    table: pd.DataFrame,
    *,
    first: str | None = None,
    second: str | None = None,
    winner: str | None = None,
) -> str:
    """Ask "is it --column first='Left entry' ...?" about the columns that fit best, or ""."""
    some = table.iloc[:ROWS, :COLUMNS]
    texts = {str(name): cells(some[name]) for name in some.columns}
    pairs = [(first, second)] if first and second else combinations(texts, 2)
    best, found = 0.0, tuple[str, ...]()
    for one, other in pairs:
        if one not in texts or other not in texts:
            continue
        for said in [winner] if winner in texts else texts:
            if said in (one, other):
                continue
            share = _share(texts[one], texts[other], texts[said], (one, other))
            if share > best:
                best, found = share, (one, other, said)
    if best < 0.9:
        return ""
    roles = zip(("first", "second", "winner"), found, (first, second, winner), strict=True)
    return f"is it {' '.join(f'--column {r}={name!r}' for r, name, known in roles if not known)}?"


def _share(first: list[str], second: list[str], said: list[str], names: tuple[str, str]) -> float:
    """The share of verdicts that name one of their row's two, a tie, or the column of one."""
    ties = {*TIES, *NONE}
    places = {word(name) for name in names}
    for pair in PLACES:
        if _differ(word(names[0]), word(names[1]), *pair):
            places |= set(pair)
    rows = [row for row in zip(first, second, said, strict=True) if row[2].lower() not in EMPTY]
    fits = list[bool]()
    named = False
    for a, b, verdict in rows:
        signs = SIGNS.fullmatch(verdict)
        words = [verdict] if signs is None else [signs["one"], signs["other"]]
        won = all(one in (a, b) or word(one) in places for one in words)
        named |= won
        fits.append(a != b and (won or word(verdict) in ties))
    return sum(fits) / len(rows) if named else 0.0


def _differ(one: str, other: str, place: str, opposite: str) -> bool:
    """Whether two names are the same but for a place: texta and textb, leftentry, rightentry."""
    ends = ((one[:k], one[k + len(place) :]) for k in range(len(one)) if one.startswith(place, k))
    return any(begin + opposite + end == other for begin, end in ends)
