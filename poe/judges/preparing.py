"""Before a judge is asked: which texts are ranked, and how many calls a budget is."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from poe.errors import JudgeError, name_some
from poe.judges.questions import Text
from poe.result import COVARIANCE_ITEMS


def number_of_calls(budget: str, n_items: int, *, both_orders: bool = False) -> tuple[int, str]:
    """Calls that "10x" (ten a text) or "500" stand for, at most all there are, and a note.

    Raises JudgeError if the budget is not of this form, or too small to link all texts.
    """
    most, calls = n_items * (n_items - 1), 2 if both_orders else 1
    least = calls * (n_items - 1)
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([x×]?)|all", budget.strip().lower())
    if not form:
        raise JudgeError(
            f"a budget is a number of calls (500), of calls a text (10x) or all, not {budget!r}"
        )
    if budget.strip().lower() == "all":
        return most, ""
    number = float(form[1]) * (n_items if form[2] else 1)
    if not form[2] and not number.is_integer():
        raise JudgeError(f"a budget is a whole number of calls, not {budget!r}; 2.5x is allowed")
    count = int(np.ceil(number / calls - 1e-9)) * calls
    if count < least:
        raise JudgeError(
            f"a budget of {count} calls cannot link {n_items} texts: the fewest that do are {least}"
            f"{' (each pair in both orders)' if both_orders else ''}; 10x is a good start"
        )
    if count > most:
        return most, (
            f"the budget allows {count} calls, but {n_items} texts have only {most} comparisons, "
            "both orders counted: all of them were asked"
        )
    return count, ""


def distinct(texts: Sequence[Text]) -> tuple[list[Text], dict[str, str]]:
    """The texts without word-for-word copies, and whose copy each of the others is.

    Raises JudgeError for an empty text or an id that occurs twice.
    """
    ids = [text.id for text in texts]
    twice = [i for i in dict.fromkeys(ids) if ids.count(i) > 1] if len(set(ids)) < len(ids) else []
    if twice:
        raise JudgeError(f"more than one text is called {name_some(twice)}; ids must be distinct")
    empty = [text.id for text in texts if not text.text.strip()]
    if empty:
        raise JudgeError(f"there is nothing to judge in {name_some(empty)}: the text is empty")
    first: dict[str, Text] = {}
    twins = {}
    for text in texts:
        original = first.setdefault(text.digest, text)
        if original is not text:
            twins[text.id] = original.id
    kept = list(first.values())
    if len(kept) > COVARIANCE_ITEMS:
        raise JudgeError(
            f"intervals of {len(kept)} texts do not fit into memory, {COVARIANCE_ITEMS} are the "
            "most; rank parts of them, or use poe.rank from Python, which gives scores alone"
        )
    if len(kept) < 2:
        raise JudgeError(
            f"a ranking needs at least two different texts; {len(texts)} "
            f"{'was' if len(texts) == 1 else 'were'} given, {len(kept)} different"
        )
    return kept, twins
