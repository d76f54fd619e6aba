"""Rankings: a row a ranking, or a row an item of one. Every two items of a ranking become a row.

ranking                     "x > y = z", "x, y, z" or a list, the best first
1st, 2nd, 3rd               items, the best first; also rank_1, rank_2, or first, second, third
x, y, z                     an item a column: its rank, 1 to the number of items in each row
voter, item, rank           a row an item
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

from judging.practice.reading.names import PEOPLE, PROMPTS, plain
from judging.practice.reading.shapes.turned import Turned, column_of, refusal, repeated
from poe.errors import ComparisonError

if TYPE_CHECKING:
    import pandas as pd

RANKED = ("ranking", "ranked", "order", "ranks")
RANKS = ("rank", "place", "position")
ITEMS = ("item", "name", "id", "text_id", "model", "system", "generator", "player")
BALLOTS = ("ranking", "ranking_id", "ballot", "voter", "round", "group", "race", *PEOPLE, *PROMPTS)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
NUMBERED = re.compile(r"(?:rank|choice|place|position|preference|pos|top)?_?(\d+)(?:st|nd|rd|th)?")
MAX_PAIRS = 2_000_000  # pairs that rankings may become
BEST_IS_1 = "1 was read as the best rank; is it your worst? Then turn the ranks round"

Ranking = list[list[Any]]  # groups of equal items, the best first


def rows(table: pd.DataFrame) -> Turned | None:
    """Two items of a ranking a row; errors are clustered on the ranking."""
    for shape in (_cells, _places, _by_item, _long):
        if (found := shape(table)) is not None:
            return _pairs(table, *found)
    return None


def _pairs(
    table: pd.DataFrame, rankings: list[tuple[int, Ranking]], notes: tuple[str, ...]
) -> Turned:
    """Every two items of each ranking, which begins at row k."""
    of, number = list[int](), list[int]()
    first, second, p = list[Any](), list[Any](), list[float]()
    for which, (k, ranking) in enumerate(rankings, start=1):
        levels = [(level, item) for level, equal in enumerate(ranking) for item in equal]
        if len({str(item) for _, item in levels}) < len(levels):
            raise refusal(table, k, "an item stands twice in one ranking")
        if len(of) + len(levels) ** 2 // 2 > MAX_PAIRS:
            raise ComparisonError(f"the rankings have more than {MAX_PAIRS:,} pairs of items")
        for (better, one), (worse, other) in combinations(levels, 2):
            of.append(k)
            number.append(which)
            first.append(one)
            second.append(other)
            p.append(0.5 if better == worse else 1.0)
    turned = repeated(table, of, {"first": first, "second": second, "p": p, "ranking": number})
    said = f"{len(rankings):,} rankings, read as {len(of):,} pairs"
    named = {"first": "first", "second": "second", "p": "p"}
    return Turned(turned, (said, *notes), named, in_order=False)


def _cells(table: pd.DataFrame) -> tuple[list[tuple[int, Ranking]], tuple[str, ...]] | None:
    """One column holds whole rankings."""
    column = column_of(table, RANKED)
    if column is None:
        return None
    parted = [_parted(cell) for cell in table[column].tolist()]
    if not any(sum(map(len, ranking)) > 1 for ranking in parted):
        return None
    return [(k, ranking) for k, ranking in enumerate(parted) if ranking], ()


def _parted(cell: Any) -> Ranking:
    if isinstance(cell, (list, tuple)):
        return [one if isinstance(one, list) else [one] for one in cell]
    text = str(cell).strip().strip("[]")
    levels = re.split(r"\s*>+\s*", text) if ">" in text else re.split(r"\s*[,;|]\s*", text)
    split = ([name.strip(" '\"") for name in re.split(r"\s*=\s*", level)] for level in levels)
    return [equal for names in split if (equal := [n for n in names if n and n != "nan"])]


def _places(table: pd.DataFrame) -> tuple[list[tuple[int, Ranking]], tuple[str, ...]] | None:
    """Columns are places, and cells are items."""
    at = dict[int, str]()
    for name in table.columns:
        if (found := NUMBERED.fullmatch(plain(name))) is not None:
            at[int(found[1])] = name
    named = [column_of(table, [ordinal]) for ordinal in ORDINALS]
    columns = [at[k] for k in sorted(at)]
    if named[2] is not None and None not in named[:2]:
        columns = [name for name in named if name is not None]
    elif sorted(at) != list(range(1, len(at) + 1)):
        return None
    if len(columns) < 3:
        return None
    if all(_number(cell) is not None for cell in table[columns].to_numpy().flat):
        return None  # ranks or marks, not items
    filled = ([[cell] for cell in row if _text(cell)] for row in table[columns].to_numpy())
    return [(k, ranking) for k, ranking in enumerate(filled) if len(ranking) > 1], ()


def _by_item(table: pd.DataFrame) -> tuple[list[tuple[int, Ranking]], tuple[str, ...]] | None:
    """Columns are items, and cells are ranks: in each row 1 to the number of its items."""
    names = [name for name in table.columns if plain(name) not in {*BALLOTS, *ITEMS}]
    ranks = [[_number(cell) for cell in table[name].tolist()] for name in names]
    if len(names) < 3 or len(table) < 2:
        return None
    rankings = []
    for k in range(len(table)):
        there = {name: column[k] for name, column in zip(names, ranks, strict=True)}
        if any(v is None and _text(table[name].iloc[k]) for name, v in there.items()):
            return None
        given = {name: value for name, value in there.items() if value is not None}
        if sorted(given.values()) != list(range(1, len(given) + 1)):
            return None
        rankings.append((k, [[name] for name in sorted(given, key=lambda n: given[n] or 0.0)]))
    return rankings, (BEST_IS_1,)


def _long(table: pd.DataFrame) -> tuple[list[tuple[int, Ranking]], tuple[str, ...]] | None:
    """A row an item: its rank in the ranking that other columns name."""
    item, rank = column_of(table, ITEMS), column_of(table, RANKS)
    ballots = [name for name in table.columns if plain(name) in BALLOTS and name != item]
    if item is None or rank is None or not ballots:
        return None
    votes: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    cells = table[rank].tolist()
    for k, key in enumerate(zip(*(table[name].map(_text) for name in ballots), strict=True)):
        if (value := _number(cells[k])) is not None:
            votes.setdefault(key, []).append((value, k))
        elif _text(cells[k]):
            raise refusal(table, k, f"the column {rank!r} has {cells[k]!r}, which is no rank")
    rankings = []
    for places in votes.values():
        levels: dict[float, list[Any]] = {}
        for value, k in sorted(places):
            levels.setdefault(value, []).append(table[item].iloc[k])
        rankings.append((places[0][1], list(levels.values())))
    return rankings, (BEST_IS_1,)


def _text(cell: Any) -> str:
    text = str(cell).strip()
    return "" if text.lower() in {"nan", "none", "<na>"} else text


def _number(cell: Any) -> float | None:
    try:
        return float(_text(cell))
    except ValueError:
        return None
