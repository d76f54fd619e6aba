"""Who is on top together: a dead heat is told as one, and never as a lead."""

from __future__ import annotations

from typing import Any

import numpy as np

from poe.ranks import EQUAL

__all__ = ["on_top"]


def on_top(fit: Any) -> list[Any]:
    """Items of the highest score: one, or more where scores are equal (`poe.ranks.shared_ranks`).

    fit : has items and (N,) scores.
    """
    scores = np.asarray(fit.scores)
    order = np.argsort(-scores, kind="stable")
    return [fit.items[k] for k in order if scores[order[0]] - scores[k] <= EQUAL]
