"""Comparisons in tables as people have them: which columns say who was compared, and who won.

`read` finds the columns by their names, in any case, or by the names it is given:

    first, second, p                     P(the first is better)
    model_a, model_b, winner             model_a, model_b, tie, tie (bothbad) (Chatbot Arena)
    winner_model_a, winner_model_b, winner_tie beside model_a and model_b, 0 or 1 (the same)
    generator_1, generator_2, preference 1 the first, 2 the second, 1.5 or 0 a tie, and between
                                         (alpaca_eval's annotations)
    left, right, winner                  (evalica); also home and away, or a and b
    winner, loser                        decisions whose order is not known
    A>>B, A=B among the verdicts          (Arena-Hard)
    first, second, p, in_order           1 throughout where the first was shown first, 0 where that
                                         is not known

Tables of another shape, such as counts of wins and rankings, are turned into these first
(`judging.practice.reading.shapes`).

What a table does not say is not guessed: codes such as 0, 1 and 2 are refused, and what was read in
one of several ways is told in a note. Nor is the order of two columns taken for the order in which
texts were shown where it cannot be (`_undone`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judging.errors import DatasetError
from judging.practice.reading.columns import EMPTY, Columns
from judging.practice.reading.guess import hint
from judging.practice.reading.names import (
    COUNTS,
    OPPOSED,
    PEOPLE,
    PLACED,
    PROMPTS,
    SIDES,
    TEXTS,
    cells,
    meanings,
    pairs_of,
    plain,
)
from judging.practice.reading.shapes import as_rows
from judging.practice.reading.tables import as_name, place, under_a_title
from judging.practice.reading.verdicts import MissingColumnError, numbers, verdicts
from judging.quoting import unquoted
from poe.arrays import Floats, Indices
from poe.errors import ComparisonError, name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "UnnamedError", "read"]

ONE_SIDED = 20  # rows from which one item always on one side is no accident
SAME_SIDE = 6  # decisions all for one side that are no accident: of a coin, 2 / 2^6 = 3%
FEWEST_CLUSTERS = 10  # with fewer, an interval says more about how few there are
NO_ORDER, ORDER = {"0", "0.0", "false"}, {"1", "1.0", "true"}  # in a column in_order


class UnnamedError(MissingColumnError):
    """No two columns of a table say who was compared."""


def read(
    table: pd.DataFrame,
    *,
    first: str | None = None,
    second: str | None = None,
    p: str | None = None,
    winner: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    tie_word: str | Sequence[str] = (),
    skip_word: str | Sequence[str] = (),
) -> Columns:
    """Find comparisons in a table; the keywords name columns that have other names.

    Rows without a verdict are left out, and rows that compare an item with itself, with a note.
    tie_word, skip_word : words in the winner's column
    that mean a tie, and that the row is to be left out, beside those known
    (`judging.practice.reading.names`). Raises ComparisonError naming the columns
    there are, or the rows and words that are no verdict.
    """
    shape = as_rows(table, first, second, decided=winner is not None or p is not None)
    table, already = shape.table, shape.named
    first, second = first or already.get("first"), second or already.get("second")
    if winner is None and p is None:
        winner, p = already.get("winner"), already.get("p")
    there = {plain(name): name for name in reversed(table.columns)}

    where = f"{table.attrs['source']}: " if "source" in table.attrs else ""

    def find(names: Iterable[str], given: str | None = None) -> Any:
        if given is not None:
            if given in table.columns or plain(given) in there:
                return given if given in table.columns else there[plain(given)]
            raise ComparisonError(
                f"{where}the table has no column {given!r}; it has {name_some(table.columns, 12)}"
            )
        return next((there[name] for name in names if name in there), None)

    sides = _sides(find, first, second)
    if sides is None:
        title = under_a_title(table.columns)
        raise UnnamedError(
            f"{where}no two columns of {name_some(table.columns, 12)} say who was compared",
            ("" if title else hint(table, winner=winner))
            or "a row is one comparison, with a column for each of the two: name them (first= and "
            "second=, each after --column on the command line), or call them first and second, or "
            f"model_a and model_b{title}",
        )
    in_order = shape.in_order and [plain(name) for name in sides] != ["winner", "loser"]
    values, notes = verdicts(table, sides, find, p, winner, meanings(tie_word, skip_word))
    notes = [*shape.notes, *notes]
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
    return Columns(
        first=first_names,
        second=second_names,
        p=values,
        weight=None if heavy is None else numbers(table[heavy], heavy),
        cluster=shared,
        cluster_name=name,
        lengths=lengths,
        in_order=in_order,
        notes=(*notes, *note),
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
    said = set() if known is None else {text.lower() for text in cells(table[known])}
    if said and said <= NO_ORDER:
        return "the column in_order says that the order in which texts were shown is not known"
    if said and said <= ORDER:
        return ""
    if [plain(name) for name in sides] == ["generator_1", "generator_2"] and (
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


def _sides(find: Callable[..., Any], first: str | None, second: str | None) -> Any:
    if first is not None or second is not None:
        one, other = find(["first"], first), find(["second"], second)
        return None if one is None or other is None else (one, other)
    known = [
        ("first", "second"),
        *pairs_of(SIDES),
        *PLACED,
        ("winner", "loser"),
        *OPPOSED,
    ]
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


# What goes with the answers -------------------------------------------------------------------


def _clusters(
    table: pd.DataFrame, find: Callable[..., Any], given: str | None
) -> tuple[Indices | None, str]:
    """(K,) which rows share a prompt or an annotator, and what the column is called.

    Of several columns the first with enough values counts, and without one the first with any.
    """
    few: tuple[Indices | None, str] = None, ""
    for column in (
        [find([], given)] if given else [find([n]) for n in ("ranking", *PROMPTS, *PEOPLE)]
    ):
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
            return [unquoted(text) for text in cells(table[column])]
    return None


def _numbered(values: pd.Series) -> Indices:
    """A number for each value, every missing one its own."""
    import pandas as pd

    texts = [f" {k}" if t.lower() in EMPTY else t for k, t in enumerate(cells(values))]
    return np.asarray(pd.factorize(np.array(texts, dtype=object))[0])


def _lengths(table: pd.DataFrame, find: Callable[..., Any]) -> tuple[Floats | None, list[str]]:
    """(K, 2) lengths: numbers as they are, texts and conversations by their characters."""
    for stems, measure in ((COUNTS, numbers), (TEXTS, _characters)):
        for pair in pairs_of(stems):
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
