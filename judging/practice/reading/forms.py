"""Comparisons in tables as people have them: which columns say who was compared, and who won.

`read` finds the columns by their names, in any case, or by the names it is given:

    first, second, p                     P(the first is better)
    model_a, model_b, winner             model_a, model_b, tie, tie (bothbad) (Chatbot Arena)
    winner_model_a, winner_model_b, winner_tie beside model_a and model_b, 0 or 1 (the same)
    generator_1, generator_2, preference 1 the first, 2 the second, 1.5 or 0 a tie, and between
                                         (alpaca_eval's annotations)
    left, right, winner                  (evalica)
    winner, loser                        decisions whose order is not known
    first, second, p, in_order           1 throughout where the first was shown first, 0 where that
                                         is not known

What a table does not say is not guessed: codes such as 0, 1 and 2 are refused, and what was read in
one of several ways is told in a note. Nor is the order of two columns taken for the order in which
texts were shown where it cannot be (`_undone`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from judging.errors import DatasetError
from judging.practice.reading.columns import EMPTY, Columns
from judging.practice.reading.tables import as_name, place
from judging.quoting import unquoted
from poe.arrays import Floats, Indices, Mask
from poe.errors import ComparisonError, name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "UnnamedError", "read"]

PLACES = (("a", "b"), ("1", "2"), ("first", "second"), ("left", "right"))
SIDES = ("model", "generator", "system", "item", "player", "name", "id")
COUNTS = ("length", "tokens", "words", "chars")
TEXTS = ("output", "response", "answer", "text", "completion", "conversation")
PROBABILITIES = ("p", "p_first", "prob", "probability")
VERDICTS = ("winner", "verdict", "preferred", "outcome", "result", "label")
PROMPTS = ("prompt", "prompt_id", "question", "question_id", "instruction", "task", "task_id",
           "context", "context_id")  # fmt: skip
PEOPLE = ("annotator", "annotator_id", "rater", "judge", "judge_user", "user", "worker")
TIES = {"tie", "tied", "tiebothbad", "tiebothgood", "bothbad", "bothgood", "both", "neither",
        "draw", "drawn", "equal", "equals", "same", "even", "0.5"}  # fmt: skip
CODES = {"-1", "0", "1", "2", "true", "false", "yes", "no"}  # verdicts that need a key
ONE_SIDED = 20  # rows from which one item always on one side is no accident
SAME_SIDE = 6  # decisions all for one side that are no accident: of a coin, 2 / 2^6 = 3%
FEWEST_CLUSTERS = 10  # with fewer, an interval says more about how few there are
NO_ORDER, ORDER = {"0", "0.0", "false"}, {"1", "1.0", "true"}  # in a column in_order


class UnnamedError(ComparisonError):
    """No two columns of a table say who was compared."""


class UnsaidError(ComparisonError):
    """No column of a table says who won."""


def read(
    table: pd.DataFrame,
    *,
    first: str | None = None,
    second: str | None = None,
    p: str | None = None,
    winner: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
) -> Columns:
    """Find comparisons in a table; the keywords name columns that have other names.

    Rows without a verdict are left out, and rows that compare an item with itself, with a note.
    by : a column to break results down by. Raises ComparisonError naming the columns
    there are, or the rows and words that are no verdict.
    """
    there = {_plain(name): name for name in reversed(table.columns)}

    where = f"{table.attrs['source']}: " if "source" in table.attrs else ""

    def find(names: Iterable[str], given: str | None = None) -> Any:
        if given is not None:
            if given in table.columns or _plain(given) in there:
                return given if given in table.columns else there[_plain(given)]
            raise ComparisonError(
                f"{where}the table has no column {given!r}; it has {name_some(table.columns, 12)}"
            )
        return next((there[name] for name in names if name in there), None)

    sides = _sides(find, first, second)
    if sides is None:
        raise UnnamedError(
            f"{where}no two columns of {name_some(table.columns, 12)} say who was compared; a row "
            "is one comparison, with a column for each of the two: name them (first= and second=, "
            "or --first and --second), or call them first and second, or model_a and model_b"
        )
    in_order = [_plain(name) for name in sides] != ["winner", "loser"]
    values, notes = _verdicts(table, sides, find, p, winner)
    kept = ~np.isnan(values)
    if not kept.all():
        rows = int((~kept).sum())
        notes.append(f"{rows:,} {'row' if rows == 1 else 'rows'} without a verdict left out")
        table, values = table[kept], values[kept]
    first_names, second_names = (_names(table[side]) for side in sides)
    apart = np.array([one != other for one, other in zip(first_names, second_names, strict=True)])
    if not apart.all():
        rows = int((~apart).sum())
        notes.append(
            f"{rows:,} {'row compares' if rows == 1 else 'rows compare'} an item with itself, "
            "which tells nothing: left out"
        )
        table, values = table[apart], values[apart]
        first_names, second_names = (
            [name for name, kept in zip(names, apart, strict=True) if kept]
            for names in (first_names, second_names)
        )
    if not len(table):
        why = "".join(f" ({note})" for note in notes)
        raise ComparisonError(f"{where}there are no comparisons in the table{why}")
    if in_order and (undone := _undone(table, sides, find, first_names, second_names, values)):
        in_order = False
        notes.append(f"{undone}, so nothing is said of a preference for a position")
    heavy = find(["weight"], weight)
    lengths, note = _lengths(table, find)
    shared, name = _clusters(table, find, cluster)
    broken_by = "group" if by is None else str(find([], by))
    group = None if by is None else [unquoted(text) for text in _texts(table[broken_by])]
    return Columns(
        first=first_names,
        second=second_names,
        p=values,
        weight=None if heavy is None else _numbers(table[heavy], heavy),
        cluster=shared,
        cluster_name=name,
        lengths=lengths,
        in_order=in_order,
        notes=(*notes, *note),
        group=group,
        group_name=broken_by,
        cluster_wanted=cluster is not None,
        prompts=_prompts(table, find, cluster),
    )


def _undone(
    table: pd.DataFrame,
    sides: tuple[Any, Any],
    find: Callable[..., Any],
    first: list[Any],
    second: list[Any],
    p: Floats,
) -> str:
    """Why the places in a table are not those in which texts were shown, "" if they may be.

    p : (K,) P(the first is better). Where the winner is written first, all decisions name one
    side, and a preference for it would explain away what they say of the items.
    """
    known = find(["in_order"])
    said = set() if known is None else {text.lower() for text in _texts(table[known])}
    if said and said <= NO_ORDER:
        return "the column in_order says that the order in which texts were shown is not known"
    if said and said <= ORDER:
        return ""
    if [_plain(name) for name in sides] == ["generator_1", "generator_2"] and (
        find(["preference"]) is not None
    ):
        return "alpaca_eval's annotations have the order in which texts were shown undone"
    if len(first) >= ONE_SIDED:
        for names, others, place in ((first, second, "first"), (second, first, "second")):
            if len(set(names)) == 1 and names[0] not in others and len(set(others)) > 1:
                return f"{names[0]} stands {place} in all {len(names):,} rows"
    decided = p[p != 0.5]
    if (
        np.isin(decided, (0.0, 1.0)).all()
        and len(decided) >= SAME_SIDE
        and set(first) & set(second)
    ):
        for column, won in zip(sides, (1.0, 0.0), strict=True):
            if (decided == won).all():
                return (
                    f"all {len(decided):,} decisions are for {column}, as in a table where a "
                    "winner's place is fixed (a column in_order that is 1 says that what stands "
                    "first was shown first)"
                )
    return ""


def _plain(name: Any) -> str:
    """A column's name without what people vary: case, blanks, hyphens."""
    return re.sub(r"[\s\-.]+", "_", str(name).strip().lower())


def _pairs_of(stems: Iterable[str]) -> list[tuple[str, str]]:
    return [
        named
        for stem in stems
        for a, b in PLACES
        for named in ((f"{stem}_{a}", f"{stem}_{b}"), (f"{a}_{stem}", f"{b}_{stem}"))
    ]


def _sides(find: Callable[..., Any], first: str | None, second: str | None) -> Any:
    if first is not None or second is not None:
        one, other = find(["first"], first), find(["second"], second)
        return None if one is None or other is None else (one, other)
    known = [("first", "second"), *_pairs_of(SIDES), ("left", "right"), ("winner", "loser")]
    for one, other in known:
        if (pair := (find([one]), find([other]))) and None not in pair:
            return pair
    return None


def _names(values: pd.Series) -> list[Any]:
    """Items as they are; those of a file as texts, without spaces around them."""
    if "source" not in values.attrs:
        return values.tolist()
    known: dict[str, str] = {}
    for k, cell in enumerate(cells := values.tolist()):
        if (key := repr(cell)) not in known:
            try:
                known[key] = as_name(cell)
            except DatasetError as error:
                where = f"{place(values, k)}, column {values.name!r}"
                raise ComparisonError(f"{where}: {error}") from None
    return [known[repr(cell)] for cell in cells]


# Verdicts -------------------------------------------------------------------------------------


def _verdicts(
    table: pd.DataFrame, sides: tuple[Any, Any], find: Callable[..., Any], p: Any, winner: Any
) -> tuple[Floats, list[str]]:
    """(K,) P(the first is better), NaN where a row says nothing; and how it was read."""
    if [_plain(name) for name in sides] == ["winner", "loser"]:
        return np.ones(len(table)), []
    if winner is None and (column := find(PROBABILITIES, p)) is not None:
        values = _numbers(table[column], column)
        _refuse(
            (values < 0.0) | (values > 1.0), table[column], column, "no probability, from 0 to 1"
        )
        return values, []
    if winner is None and (column := find(["preference"])) is not None:
        return _preferences(table[column], column, sides)
    marks = [find([name]) for name in ("winner_model_a", "winner_model_b", "winner_tie")]
    if winner is None and None not in marks:
        won, lost, tied = (_numbers(table[name], name) for name in marks)
        _refuse(won + lost + tied != 1.0, table[marks[0]], marks[0], "not one of three marked")
        return won + 0.5 * tied, []
    column = find(VERDICTS, winner)
    if column is None:
        raise UnsaidError(
            f"none of the columns {name_some(table.columns, 12)} says who won; name it (winner= or "
            "--winner for names and ties, p= or --p for the probability that the first is better); "
            "counts of wins become two rows a pair, each with its winner and the count as weight"
        )
    return _words(table[column], column, table[sides[0]], table[sides[1]], sides)


def _preferences(said: pd.Series, column: Any, sides: tuple[Any, Any]) -> tuple[Floats, list[str]]:
    """Numbers from 1, the first, to 2, the second; in alpaca_eval's older files a tie is 0."""
    values = _numbers(said, column)
    zero = values == 0.0
    if zero.any():
        alpaca = [_plain(name) for name in sides] == ["generator_1", "generator_2"]
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
            f"if 1 says that the first won, name it as the probability (p= or --p {column}), "
            f"otherwise {way_out}"
        )
    return ComparisonError(
        f"{f'{source}: ' if source else ''}the column {column!r} has {name_some(codes)}, which may "
        f"mean two things, and nothing says which; {way_out}"
    )


def _words(
    said: pd.Series, column: Any, first: pd.Series, second: pd.Series, sides: tuple[Any, Any]
) -> tuple[Floats, list[str]]:
    """Verdicts in words: the name of the better, or its place, or a tie in any spelling."""
    texts = _texts(said)
    plain = {text: _word(text) for text in dict.fromkeys(texts)}
    places = _places(sides)
    by_place = np.array([places.get(plain[text], np.nan) for text in texts])
    tied = np.array([plain[text] in TIES for text in texts], dtype=bool)
    empty = np.array([text.lower() in EMPTY for text in texts], dtype=bool)
    named = zip(texts, _texts(first), _texts(second), strict=True)
    by_name = np.array([1.0 if t == a else 0.0 if t == b else np.nan for t, a, b in named])
    decided = ~tied & ~empty
    wholly = (~np.isnan(by_name))[decided].all(), (~np.isnan(by_place))[decided].all()
    # Items called a and b leave it open whether "a" is a name or a place; others settle it.
    items = {_word(name) for name in (*_texts(first), *_texts(second))}
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
    _refuse(wrong, said, column, f"{known}; leave the cell empty to leave a row out")
    _refuse(np.isnan(verdicts) & decided, said, column, "a name, where other rows name places")
    notes = [
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


def _texts(values: pd.Series) -> list[str]:
    """Cells as texts without spaces around them."""
    return [str(value).strip() for value in values.tolist()]


def _word(value: Any) -> str:
    """A verdict without case, blanks and signs; 1.0 is 1."""
    text = str(value).strip().lower()
    try:
        return f"{float(text):g}"
    except ValueError:
        return re.sub(r"[^0-9a-z]+", "", text)


def _places(sides: tuple[Any, Any]) -> dict[str, float]:
    """P(first is better) of the words for a place, a tie among them."""
    chances = dict[str, float]()
    for k, value in ((0, 1.0), (1, 0.0)):
        names = {_word(sides[k]), *(pair[k] for pair in PLACES)}
        names |= {f"{stem}{pair[k]}" for stem in (*SIDES, *TEXTS, "assistant") for pair in PLACES}
        chances |= dict.fromkeys(names, value)
    return chances | dict.fromkeys(TIES, 0.5) | {"win": 1.0, "loss": 0.0}


def _numbers(values: pd.Series, column: Any) -> Floats:
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


# What goes with the answers -------------------------------------------------------------------


def _clusters(
    table: pd.DataFrame, find: Callable[..., Any], given: str | None
) -> tuple[Indices | None, str]:
    """(K,) which rows share a prompt or an annotator, and what the column is called.

    Of several columns the first with enough values counts, and without one the first with any.
    """
    few: tuple[Indices | None, str] = None, ""
    for column in [find([], given)] if given else [find([n]) for n in (*PROMPTS, *PEOPLE)]:
        if column is None:
            continue
        codes = _numbered(table[column])
        count = int(codes.max()) + 1
        if given and count < 2:
            raise ComparisonError(f"the column {column!r} has one value: there is nothing to share")
        if given or FEWEST_CLUSTERS <= count < len(table):
            return codes, str(column)
        if few[0] is None and 1 < count < FEWEST_CLUSTERS and count < len(table):
            few = codes, str(column)
    return few


def _prompts(table: pd.DataFrame, find: Callable[..., Any], given: str | None) -> list[str] | None:
    """(K,) what each row is about."""
    for column in [find([], given)] if given else [find([name]) for name in PROMPTS]:
        if column is not None:
            return [unquoted(text) for text in _texts(table[column])]
    return None


def _numbered(values: pd.Series) -> Indices:
    """A number for each value, every missing one its own."""
    import pandas as pd

    texts = [f" {k}" if t.lower() in EMPTY else t for k, t in enumerate(_texts(values))]
    return np.asarray(pd.factorize(np.array(texts, dtype=object))[0])


def _lengths(table: pd.DataFrame, find: Callable[..., Any]) -> tuple[Floats | None, list[str]]:
    """(K, 2) lengths: numbers as they are, texts and conversations by their characters."""
    for stems, measure in ((COUNTS, _numbers), (TEXTS, _characters)):
        for pair in _pairs_of(stems):
            names = [find([name]) for name in pair]
            if None not in names:
                both = np.column_stack([measure(table[name], name) for name in names])
                if not (rows := int((~np.isfinite(both)).any(axis=1).sum())):
                    return both, []
                which = f"{names[0]} and {names[1]}"
                return None, [f"lengths are left alone: {rows:,} rows have none in {which}"]
    return None, []


def _characters(texts: pd.Series, column: Any) -> Floats:
    return np.array([_length(text) for text in texts], dtype=float)


def _length(value: Any) -> float:
    """Characters of a text, or of what the assistant says in a conversation; NaN of neither."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return sum(_length(turn) for turn in value)
    if isinstance(value, dict):
        if value.get("role", "assistant") != "assistant":
            return 0.0
        return _length(value.get("content", value.get("text") or ""))
    return float(len(value)) if isinstance(value, str) else np.nan
