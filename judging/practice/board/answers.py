"""Answers of systems to prompts, as a table has them: a row per answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from judging.errors import InvalidDataError
from judging.practice.asking.limits import parse_budget
from judging.practice.reading.tables import as_name, as_text, find_column, place, read_table
from judging.quoting import quoted
from poe.errors import name_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answers", "read_answers"]

NAMED, SHOWN = 3, 60  # systems or pairs that a note names, letters of a prompt in it


@dataclass(frozen=True, eq=False)
class Answers:
    """What systems answered: texts[k, i] of system i to prompt k, "" where it has no answer.

    notes : what of the table is not used, and what was guessed of it.
    """

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    texts: Any
    notes: tuple[str, ...] = ()

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
) -> Answers:
    """Answers of systems to prompts, from a table with a row an answer; columns in any case.

    Prompts are the same that differ in the space around them alone; the first spelling counts.

    Raises InvalidDataError naming the column or row that is wrong.
    """
    rows = read_table(table)
    known = {
        "system": (system, ("system", "model", "generator")),
        "prompt": (prompt, ("prompt", "instruction", "question", "prompt_id", "question_id")),
        "answer": (answer, ("answer", "output", "response", "text", "completion")),
    }
    columns = [
        _column(rows, *((given,) if given else names), role=role)
        for role, (given, names) in known.items()
    ]
    texts: dict[tuple[str, str], str] = {}
    spelt: dict[str, str] = {}
    for k, (name, about, text) in enumerate(rows[columns].itertuples(index=False, name=None)):
        try:
            name = as_name(name)
            if not isinstance(about, (str, int)) or not str(about).strip():
                raise InvalidDataError("the prompt is empty")
            about = spelt.setdefault(normalize("NFC", str(about).strip()), str(about))
            text = as_text(text, "answer")
            if (name, about) in texts:
                raise InvalidDataError(f"{name} answered this prompt before; keep one of the rows")
        except InvalidDataError as error:
            raise InvalidDataError(f"{place(rows, k)}: {error}") from None
        texts[name, about] = text
    systems = tuple(dict.fromkeys(name for name, _ in texts))
    asked = tuple(dict.fromkeys(about for _, about in texts))
    if len(systems) < 2:
        raise InvalidDataError(
            f"{rows.attrs['source']}: a leaderboard compares systems, and the column "
            f"{columns[0]!r} has only {name_some(systems)}"
        )
    grid = [[texts.get((name, about), "") for name in systems] for about in asked]
    alone = _of_one_system(texts, len(asked))
    if all(sum(text != "" for text in row) < 2 for row in grid):
        raise InvalidDataError(
            f"{rows.attrs['source']}: no prompt has answers of two systems, so there is nothing to "
            f"compare: {'; '.join(alone)}"
        )
    notes = (*rows.attrs["notes"], *alone)
    return Answers(systems, asked, np.array(grid, dtype=object), notes)


def _of_one_system(texts: Mapping[tuple[str, str], str], count: int) -> list[str]:
    """Note which of `count` prompts one system alone answered, and which of these look alike."""
    by_prompt: dict[str, list[str]] = {}
    for name, about in texts:
        by_prompt.setdefault(about, []).append(name)
    alone = {about: names[0] for about, names in by_prompt.items() if len(names) == 1}
    if not alone:
        return []
    first = dict[str, str]()  # of each system, a prompt that it alone answered
    for about, name in alone.items():
        first.setdefault(name, about)
    named = [f"{name}: {quoted(about, SHOWN)!r}" for name, about in first.items()]
    more = f"; and of {len(named) - NAMED:,} more systems" if len(named) > NAMED else ""
    many = len(alone) > 1
    notes = [
        f"{len(alone):,} {'prompts' if many else 'prompt'} of {count:,} "
        f"{'have' if many else 'has'} answers of one system only, so "
        f"{'they are' if many else 'it is'} left out ({'; '.join(named[:NAMED])}{more})"
    ]
    alike: dict[str, list[str]] = {}
    for about in by_prompt:
        alike.setdefault(" ".join(about.casefold().split()), []).append(about)
    near = [same for same in alike.values() if len(same) > 1 and any(one in alone for one in same)]
    if near:
        pairs = [" and ".join(repr(quoted(one, SHOWN)) for one in same) for same in near]
        rest = f"; and {len(near) - NAMED:,} more" if len(near) > NAMED else ""
        notes.append(
            "prompts that differ in capitals or blanks alone count as different: "
            f"{'; '.join(pairs[:NAMED])}{rest}"
        )
    return notes


def _column(rows: pd.DataFrame, *names: str, role: str) -> str | None:
    """The column, with what to do about a table that has a column a system."""
    try:
        return find_column(rows, *names, role=role)
    except InvalidDataError as error:
        if role != "system":
            raise
        raise InvalidDataError(
            f"{error} (a row is one answer; a table with a column a system is turned by pandas' "
            "melt(id_vars='prompt', var_name='system', value_name='answer'))"
        ) from None
