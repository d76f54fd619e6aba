"""What is asked before the rest: the comparisons that link all items, the first two alone.

A limit of N - 1 calls then leaves a ranking, in whatever order a judge takes its questions, and two
answers tell how long the others will take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from judging.datasets.questions import spanning
from judging.errors import JudgeError, NoJudgeError
from judging.judges.spending import AskingEndedError
from judging.practice.meter import MEASURED
from poe.arrays import Indices

__all__ = ["ask_first", "links_first"]


def links_first(n_items: int, known: Indices, pairs: Indices) -> list[Indices]:
    """Positions of the earliest pairs that link what the known ones leave apart, in two parts.

    known, pairs : (..., 2) positions of items, answered already and about to be asked.
    """
    at = spanning(n_items, np.vstack([known.reshape(-1, 2), pairs])) - len(known)
    at = at[at >= 0]
    return [part for part in (at[:MEASURED], at[MEASURED:]) if len(part)]


def ask_first(parts: Iterable[Indices], ask: Callable[[Indices], object]) -> None:
    """Ask these parts, until one fails that may be the fault of its few questions.

    A server that refuses the first two may answer others: asking for all then tells which.
    """
    try:
        for part in parts:
            ask(part)
    except (AskingEndedError, NoJudgeError):
        raise
    except JudgeError as error:
        from judging.judges.server.judge import NoLabelError  # late: its libraries take long

        if isinstance(error, NoLabelError):  # so many answers as tell of the judge
            raise
