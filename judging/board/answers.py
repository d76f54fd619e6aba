"""Answers of systems to prompts, as a table has them: a row per answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judging.errors import InvalidDataError
from judging.ranking.settings import parse_budget
from judging.reading.formats import missing
from judging.reading.tables import as_name, as_text, find_column, place, read_table
from poe.errors import name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answers", "read_answers"]


@dataclass(frozen=True, eq=False)
class Answers:
    """What systems answered: texts[k, i] of system i to prompt k, "" where it has no answer.

    groups : of each prompt, the value of a column to break results down by; None without one.
    """

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    texts: Any
    groups: tuple[str, ...] | None = None

    def calls(self, budget: int | str, *, both_orders: bool = False) -> int:
        """Comparisons that 500, "100x" (a system) or "all" stand for, at most all there are."""
        n, count = len(self.systems), (self.texts != "").sum(axis=1)
        most = int((count * (count - 1)).sum()) // (1 if both_orders else 2)
        number, a_system = parse_budget(budget, "system")
        wanted = number * n if a_system else number
        if wanted < 2 * n:
            raise ValueError(
                f"{wanted:g} comparisons say little about {n} systems; {2 * n} are the fewest, "
                "100x is a good start"
            )
        return int(min(wanted, most))


def read_answers(
    table: Path | pd.DataFrame | str,
    *,
    system: str | None = None,
    prompt: str | None = None,
    answer: str | None = None,
    by: str | None = None,
) -> Answers:
    """Answers of systems to prompts, from a table with a row an answer; columns in any case.

    by : a column that says to which group a prompt belongs, in all its rows the same.
    Raises InvalidDataError naming the column or row that is wrong.
    """
    rows = read_table(table)
    known = {
        "--system": (system, ("system", "model", "generator")),
        "--prompt": (prompt, ("prompt", "instruction", "question", "prompt_id", "question_id")),
        "--answer": (answer, ("answer", "output", "response", "text", "completion")),
    }
    columns = [
        _column(rows, *((given,) if given else names), option=option)
        for option, (given, names) in known.items()
    ]
    values = None if by is None else rows[find_column(rows, by, option="--by")].to_list()
    texts: dict[tuple[str, str], str] = {}
    groups: dict[str, str] = {}
    for k, (name, about, text) in enumerate(rows[columns].itertuples(index=False, name=None)):
        try:
            name = as_name(name)
            if not isinstance(about, (str, int)) or not str(about).strip():
                raise InvalidDataError("the prompt is empty")
            text = as_text(text, "answer")
            if (name, str(about)) in texts:
                raise InvalidDataError(f"{name} answered this prompt before; keep one of the rows")
            if values is not None:
                group = "" if missing(values[k]) else as_name(values[k])
                if groups.setdefault(str(about), group) != group:
                    raise InvalidDataError(
                        f"the prompt is in two groups, {groups[str(about)]!r} and {group!r}; --by "
                        "takes a column that says the same of a prompt in all its rows"
                    )
        except InvalidDataError as error:
            raise InvalidDataError(f"{place(rows, k)}: {error}") from None
        texts[name, str(about)] = text
    systems = tuple(dict.fromkeys(name for name, _ in texts))
    asked = tuple(dict.fromkeys(about for _, about in texts))
    if len(systems) < 2:
        raise InvalidDataError(
            f"{rows.attrs['source']}: a leaderboard compares systems, and the column "
            f"{columns[0]!r} has only {name_some(systems)}"
        )
    grid = [[texts.get((name, about), "") for name in systems] for about in asked]
    every = None if by is None else tuple(groups[about] for about in asked)
    return Answers(systems, asked, np.array(grid, dtype=object), every)


def _column(rows: pd.DataFrame, *names: str, option: str) -> str | None:
    """The column, with what to do about a table that has a column a system."""
    try:
        return find_column(rows, *names, option=option)
    except InvalidDataError as error:
        if option != "--system":
            raise
        raise InvalidDataError(
            f"{error} (a row is one answer; a table with a column a system is turned by pandas' "
            "melt(id_vars='prompt', var_name='system', value_name='answer'))"
        ) from None
