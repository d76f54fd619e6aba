"""What people said of the texts: scores of some, or choices between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging.errors import InvalidDataError
from judging.practice.reading.forms import UnnamedError, read
from judging.practice.reading.tables import as_name, as_number, find_column, place, read_table
from judging.practice.reading.verdicts import UnsaidError
from poe.errors import ComparisonError, name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["People", "read_people"]

NAMES = ("id", "name", "item", "text_id")
SCORES = ("score", "gold", "human", "rating", "people")
RANKS = ("rank", "ranking", "place", "position")  # of which nobody knows where they begin


@dataclass(frozen=True)
class People:
    """Labels by people.

    Parameters
    ----------
    scores
        A number by the id of a text.
    choices
        (first, second, share): ids of two texts and how many people chose the first; 1 or 0 for one
        person, one half for a tie.
    notes
        What was made of the labels, for a reader.

    Examples
    --------
    >>> from judging.practice.trust import People
    >>> len(People({"leaflet": 4.5, "journal": 2.0}, (("note", "journal", 1.0),)))
    3
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    choices: tuple[tuple[str, str, float], ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.scores) + len(self.choices)

    def of(self, names: set[str]) -> People:
        """Those about these texts."""
        return People(
            {name: score for name, score in self.scores.items() if name in names},
            tuple(one for one in self.choices if one[0] in names and one[1] in names),
        )


def read_people(
    source: str | Path | Any,
    *,
    encoding: str | None = None,
    tie_word: str | Sequence[str] = (),
    skip_word: str | Sequence[str] = (),
) -> People:
    """Read what people said, from a file or a data frame.

    Parameters
    ----------
    source
        With the columns id (or name) and score, a row is a text; several rows of one text, by
        several people, are averaged. Else a row is a choice, in any form that `judging fit` reads:
        first, second and winner, for example.
    encoding
        Of a file, where it is not found out.
    tie_word, skip_word
        Words of a choice, as for `judging.practice.reading.forms.read`.

    Raises
    ------
    InvalidDataError
        Where it is neither, or a score is no number.

    Examples
    --------
    >>> from judging.practice.trust import read_people
    >>> rows = [{"id": "a", "score": 4}, {"id": "a", "score": 5}, {"id": "b", "score": 2}]
    >>> read_people(rows).scores
    {'a': 4.5, 'b': 2.0}
    """
    table = read_table(source, encoding=encoding)
    name, score = find_column(table, *NAMES), find_column(table, *SCORES)
    if name is not None and score is not None:
        given = _scores(table, name, score)
        empty = len(table) - sum(map(len, given.values()))
        means = {key: sum(values) / len(values) for key, values in given.items()}
        rows = f"{empty:,} rows" if empty > 1 else "1 row"
        none = (f"{table.attrs['source']}: {rows} without a score left out",) if empty else ()
        return People(means, notes=(*none, *_several(table.attrs["source"], given)))
    try:
        choices = read(table, tie_word=tie_word, skip_word=skip_word)
    except (UnnamedError, UnsaidError) as error:
        if name is not None and (ranks := find_column(table, *RANKS)) is not None:
            raise InvalidDataError(
                f"{table.attrs['source']}: is 1 your best in {ranks!r}? Then write minus the rank "
                "into a column score, in which more is better; if 1 is the worst, call it score"
            ) from None
        raise InvalidDataError(
            f"{table.attrs['source']} says nothing of people: it has the columns "
            f"{name_some(table.columns, 8)}; call two of them id and score, or give choices as "
            f"first, second and winner ({error.what})"
        ) from None
    except ComparisonError as error:  # of a row, which it names
        raise InvalidDataError(str(error)) from None
    every = zip(choices.first, choices.second, choices.p.tolist(), strict=True)
    notes = tuple(f"{table.attrs['source']}: {note}" for note in choices.notes)
    return People({}, tuple((str(a), str(b), p) for a, b, p in every), notes)


def _scores(table: pd.DataFrame, name: str, score: str) -> dict[str, list[float]]:
    """All scores of each text that has one."""
    given: dict[str, list[float]] = {}
    decimal = table.attrs["decimal"]
    for k, (key, cell) in enumerate(zip(table[name], table[score], strict=True)):
        try:
            value = as_number(cell, "score", decimal=decimal)
            if value == value:
                given.setdefault(as_name(key), []).append(value)
        except InvalidDataError as error:
            raise InvalidDataError(f"{place(table, k)}: {error}") from None
    if not given:
        raise InvalidDataError(f"{table.attrs['source']}: there is no score in {score!r}")
    return given


def _several(source: str, given: Mapping[str, list[float]]) -> tuple[str, ...]:
    """A note where one text has scores that differ: one person's mistake, or several people."""
    several = {key: values for key, values in given.items() if len(set(values)) > 1}
    if not several:
        return ()
    key, values = next(iter(several.items()))
    shown = " and ".join(f"{value:g}" for value in values[:3])
    which = f"{len(several):,} texts have" if len(several) > 1 else "1 text has"
    return (f"{source}: {which} several scores, such as {key} ({shown}); the mean counts",)
