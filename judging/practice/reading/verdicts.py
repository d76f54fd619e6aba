"""Who won: the cells of a verdict as P(the first is better), NaN where a row says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from judging.practice.reading.columns import EMPTY
from judging.practice.reading.guess import hint
from judging.practice.reading.names import (
    CODES,
    NONE,
    PLACES,
    PROBABILITIES,
    SIDES,
    SIGNS,
    TEXTS,
    TIES,
    VERDICTS,
    cells,
    meant,
    plain,
    word,
)
from judging.practice.reading.tables import place
from poe.arrays import Floats, Mask
from poe.errors import ComparisonError, name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MissingColumnError", "UnsaidError", "numbers", "verdicts"]


TIED = {"=", "==", "~"}
SAY = ("_winner", "_verdict", "_preference")  # how a column that says who won may end


class MissingColumnError(ComparisonError):
    """A table lacks a column; what : which, without the way out that the message adds."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(f"{what}; {way_out}")
        self.what = what


class UnsaidError(MissingColumnError):
    """No column of a table says who won."""


def verdicts(
    table: pd.DataFrame,
    sides: tuple[Any, Any],
    find: Callable[..., Any],
    p: Any,
    winner: Any,
    own: Mapping[str, str],
) -> tuple[Floats, list[str]]:
    """(K,) P(the first is better), NaN where a row says nothing; and how it was read.

    own : what words of a user's own mean (`names.meanings`).
    """
    if [plain(name) for name in sides] == ["winner", "loser"]:
        return np.ones(len(table)), []
    if winner is None and (column := find(PROBABILITIES, p)) is not None:
        values = numbers(table[column], column)
        _refuse(
            (values < 0.0) | (values > 1.0), table[column], column, "no probability, from 0 to 1"
        )
        return values, []
    if winner is None and (column := find(["preference"])) is not None:
        return _preferences(table[column], column, sides)
    marks = [find([name]) for name in ("winner_model_a", "winner_model_b", "winner_tie")]
    if winner is None and None not in marks:
        won, lost, tied = (numbers(table[name], name) for name in marks)
        _refuse(won + lost + tied != 1.0, table[marks[0]], marks[0], "not one of three marked")
        return won + 0.5 * tied, []
    column = find(VERDICTS, winner)
    if column is None and len(ends := [one for one in table if plain(one).endswith(SAY)]) == 1:
        (column,) = ends
    if column is None:
        where = f"{table.attrs['source']}: " if "source" in table.attrs else ""
        raise UnsaidError(
            f"{where}none of the columns {name_some(table.columns, 12)} says who won",
            hint(table, first=sides[0], second=sides[1])
            or "name it (winner= for names and ties, p= for the probability that the first is "
            "better; each after --column on the command line)",
        )
    return _words(table[column], column, table[sides[0]], table[sides[1]], sides, own)


def _preferences(said: pd.Series, column: Any, sides: tuple[Any, Any]) -> tuple[Floats, list[str]]:
    """Numbers from 1, the first, to 2, the second; in alpaca_eval's older files a tie is 0."""
    values = numbers(said, column)
    zero = values == 0.0
    if zero.any():
        alpaca = [plain(name) for name in sides] == ["generator_1", "generator_2"]
        if not (alpaca and (values > 1.0).any()):
            there = np.unique(values[~np.isnan(values)])
            raise _unkeyed(said, column, [f"{value:g}" for value in there], sides)
        values = np.where(zero, 1.5, values)
    notes = ["0 was read as a tie"] if zero.any() else []
    notes += (
        [] if _ends_in_numbers(sides) else [f"1 was read as a win of {sides[0]}, 2 of {sides[1]}"]
    )
    _refuse((values < 1.0) | (values > 2.0), said, column, "not between 1 and 2")
    return 2.0 - values, notes


def _ends_in_numbers(sides: tuple[Any, Any]) -> bool:
    """Whether the columns themselves say which is 1 and which is 2."""
    return [str(side)[-1:] for side in sides] == ["1", "2"]


def _unkeyed(
    said: pd.Series, column: Any, codes: Iterable[str], sides: tuple[Any, Any]
) -> ComparisonError:
    """The refusal of verdicts that mean one thing in one table and another in the next."""
    source, codes = said.attrs.get("source"), sorted(codes)
    way_out = f"write the winner's name, or {sides[0]}, {sides[1]} and tie"
    if set(codes) <= {"0", "1"}:
        way_out = (
            f"if 1 says that the first won, name it as the probability (--column p={column}, in "
            f"Python p=), otherwise {way_out}"
        )
    return ComparisonError(
        f"{f'{source}: ' if source else ''}the column {column!r} has {name_some(codes)}, which may "
        f"mean two things, and nothing says which; {way_out}"
    )


def _words(
    said: pd.Series,
    column: Any,
    first: pd.Series,
    second: pd.Series,
    sides: tuple[Any, Any],
    own: Mapping[str, str],
) -> tuple[Floats, list[str]]:
    """Verdicts in words: the name of the better, or its place, or a tie in any spelling."""
    places = _places(sides)
    texts = [meant(text, own) for text in cells(said)]
    texts, notes = _signs(texts, cells(first), cells(second), places)
    plain = {text: word(text) for text in dict.fromkeys(texts)}
    by_place = np.array([places.get(plain[text], np.nan) for text in texts])
    tied = np.array([plain[text] in TIES for text in texts], dtype=bool)
    empty = np.array([text.lower() in EMPTY for text in texts], dtype=bool)
    named = zip(texts, cells(first), cells(second), strict=True)
    by_name = np.array([1.0 if t == a else 0.0 if t == b else np.nan for t, a, b in named])
    unsaid = np.array([plain[text] in NONE for text in texts], dtype=bool)
    unsaid &= np.isnan(by_name) & np.isnan(by_place)
    if unsaid.any():
        none = dict.fromkeys(texts[k] for k in np.flatnonzero(unsaid))
        notes.append(f"{name_some(none, 3)} in {column!r}: read as no verdict")
    decided = ~tied & ~empty & ~unsaid
    wholly = (~np.isnan(by_name))[decided].all(), (~np.isnan(by_place))[decided].all()
    # Items called a and b leave it open whether "a" is a name or a place; others settle it.
    items = {word(name) for name in (*cells(first), *cells(second))}
    words = {plain[text] for text, one in zip(texts, decided, strict=True) if one}
    open_ = not wholly[0] or items <= set(places) | CODES
    if open_ and (codes := words & CODES) and codes not in ({"1", "2"}, {"2"}):
        raise _unkeyed(said, column, codes, sides)
    apart = decided & (by_name != by_place)
    for wrong, why in (
        (apart & all(wholly) & (items <= set(places)), "the place of the other"),
        (tied & ~np.isnan(by_name), "a tie"),
    ):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ComparisonError(
                f"{place(said, row)}: {column!r} is {texts[row]!r}, which names one item and "
                f"{why}; give P(the first is better) in a column p"
            )
    verdicts = np.where(np.isnan(by_name) | (not wholly[0]), by_place, by_name)
    wrong = np.isnan(by_name) & np.isnan(by_place) & decided
    known = f"no verdict: the winner's name, {sides[0]}, {sides[1]} or tie"
    _refuse(
        wrong,
        said,
        column,
        f"{known}; leave the cell empty to leave a row out, or name a word for a tie or for no "
        "verdict (--set tie-word=WORD, --set skip-word=WORD; in Python tie_word=, skip_word=)",
    )
    _refuse(np.isnan(verdicts) & decided, said, column, "a name, where other rows name places")
    notes += [
        f"{won} was read as a win of {sides[0]}, {lost} of {sides[1]}"
        for won, lost in (("1", "2"), ("win", "loss"))
        if not wholly[0] and words & {won, lost} and not _ends_in_numbers(sides)
    ]
    if all(wholly) and apart.any():
        texts = [texts[k] for k in np.flatnonzero(apart)]
        notes.append(
            f"{name_some(dict.fromkeys(texts), 3)} in {column!r}: read as names, not places"
        )
    return np.where(tied, 0.5, np.where(decided, verdicts, np.nan)), notes


def _signs(
    texts: list[str], first: list[str], second: list[str], places: dict[str, float]
) -> tuple[list[str], list[str]]:
    """Verdicts such as A>>B, B<A and A=B as the place or the name that they call the better."""
    read, far = list[str](), False
    for text, *names in zip(texts, first, second, strict=True):
        found = SIGNS.fullmatch(text)
        sides = [] if found is None else [found["one"], found["other"]]
        placed = {places.get(word(side)) for side in sides}
        if found is None or not (placed == {0.0, 1.0} or sorted(sides) == sorted(names)):
            read.append(text)
            continue
        sign = found["sign"]
        read.append("tie" if sign in TIED else sides[0 if ">" in sign else 1])
        far |= len(sign) > 1 and sign not in TIED
    return read, ["A>>B was read as one win, as A>B is"] if far else []


def _places(sides: tuple[Any, Any]) -> dict[str, float]:
    """P(first is better) of the words for a place, a tie among them."""
    chances = dict[str, float]()
    for k, value in ((0, 1.0), (1, 0.0)):
        names = {word(sides[k]), *(pair[k] for pair in PLACES)}
        names |= {f"{stem}{pair[k]}" for stem in (*SIDES, *TEXTS, "assistant") for pair in PLACES}
        chances |= dict.fromkeys(names, value)
    return chances | dict.fromkeys(TIES, 0.5) | {"win": 1.0, "loss": 0.0}


def numbers(values: pd.Series, column: Any) -> Floats:
    """Cells as numbers, NaN where they are empty."""
    comma = values.attrs.get("decimal") == ","
    numbers, wrong = np.full(len(values), np.nan), np.zeros(len(values), dtype=bool)
    for k, value in enumerate(values.tolist()):
        try:
            if isinstance(value, str):
                value = value.replace(",", ".") if comma else value
            elif not isinstance(value, (Real, Decimal)):
                value = str(value)  # what is missing has a text for it, and nothing else is right
            numbers[k] = float(value)
        except (ValueError, OverflowError):
            wrong[k] = str(value).strip().lower() not in EMPTY
    _refuse(wrong, values, column, "no number")
    return numbers


def _refuse(wrong: Mask, values: pd.Series, column: Any, why: str) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size:
        shown = name_some(dict.fromkeys(map(str, values.iloc[rows[:1000]])), 3)
        raise ComparisonError(
            f"{place(values, rows[0])}: the column {column!r} has {shown}, {why}"
            + (f" ({rows.size:,} rows)" if rows.size > 1 else "")
        )
