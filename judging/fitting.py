"""A fit where a bias or scores may have no finite value: what is done about it, and said.

`poe.fit` refuses such answers, in the items' names. A ranking that was paid for cannot: it gets the
prior that the papers use, or does without a bias, with a note for the reader.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from poe.comparisons import Comparisons
from poe.errors import SeparableError, UnidentifiedBiasError
from poe.existence import require_bias_identified
from poe.experts import Expert, Laplacian
from poe.fitting import fit
from poe.result import Covariance, Fit

__all__ = ["settled"]

MOST_PRIOR = 2000  # items up to which a prior on every pair fits into memory
ONE_WAY = 1e-6  # information on the bias per answer, below which it has no finite value


@cache
def silence_highs() -> None:
    """Let HiGHS greet, as it does once from 1.16 on, elsewhere than on standard output."""
    import highspy

    with suppress(OSError):  # no standard output is no place for a greeting either
        kept = os.dup(1)
        try:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 1)
            highspy.Highs()
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def settled(
    c: Comparisons,
    *,
    expert: str | Expert = "bradley-terry",
    bias: Any = "fit",
    prior: float | None = None,
    covariance: Covariance = "paired",
) -> tuple[Fit, list[str]]:
    """`poe.fit` where a bias or scores may have no finite value; and what was done, in words.

    Laplacian experts take the bias from the mean probability, since they cannot fit it. A bias that
    cannot be told from the scores is left out. Where an item won or lost everything and
    `prior` is None, the prior is the paper's 1 / (N - 1): every item has one win and one loss
    more, spread over the others.
    """
    notes: list[str] = []
    wins = prior or 0.0
    if expert == "laplacian" or isinstance(expert, Laplacian):
        silence_highs()
        bias = "mean" if bias == "fit" else bias
    while True:
        one_way = False
        try:
            if wins and bias == "fit" and len(c.components()) == 1:
                require_bias_identified(c)  # a prior alone would tell it, from next to nothing
            settled_fit = fit(c, expert, bias=bias, prior=wins, covariance=covariance)
            # Nearly certain answers leave a bias that is finite and says nothing.
            information = settled_fit.bias_information if settled_fit.bias_fitted else np.inf
            one_way = information <= ONE_WAY * len(c)
            if not one_way:
                return settled_fit, notes
        except SeparableError as error:
            one_way = bool(wins) and bias is not None  # a prior holds scores, and not the bias
            if not one_way:
                if prior is not None or c.n_items > MOST_PRIOR:
                    raise SeparableError(
                        f"{error}; for example --set prior=0.1 on the command line (nothing is "
                        "asked again), prior=0.1 in Python",
                        reason=error.reason,
                        items=error.items,
                    ) from None
                wins = prior = 1.0 / (c.n_items - 1)
                given = f"{wins:.3g} {'win' if wins == 1.0 else 'wins'}"
                notes.append(
                    f"{error.reason}: every item was given one win and one loss, spread over the "
                    f"others (a prior of {given} on every pair), which keeps scores finite "
                    "and sets their scale; trust ranks and order more than intervals of differences"
                )
        except UnidentifiedBiasError:
            if bias is None:
                raise
            bias = None
            notes.append(
                "too few comparisons to tell a position bias from the scores: none was assumed"
            )
        if one_way:
            bias = None
            notes.append("a preference for one position explains every decision: none was assumed")
