"""What experts with ties share: one number more, which `poe.fit` finds with the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from poe.arrays import Floats
from poe.errors import SeparableError
from poe.experts.base import Expert

SMALLEST = -15.0  # log of the number: next to no ties between equals


class Tied(Expert):
    """An expert with one positive number, the larger the more answers are ties."""

    symbol: ClassVar[str]
    largest: ClassVar[float]  # log of the number: a tie three million times as likely as a win

    @property
    def is_open(self) -> bool:
        """Whether the number is to be found."""
        return getattr(self, self.symbol) is None

    def at(self, size: float) -> Self:
        """The same expert, its number given."""
        return type(self)(size)  # type: ignore[call-arg]

    def ties(self, p: Floats) -> Floats:
        """How much of each answer counts as a tie, from 0 to 1."""
        raise NotImplementedError

    def too_many(self, d: Floats, p: Floats) -> Floats:
        """The sign of its sum: whether a smaller number makes the answers more probable."""
        raise NotImplementedError


def with_ties(expert: Tied, p: Floats, weight: Floats, fit: Callable[..., Any]) -> Tied:
    """The expert with the number of largest likelihood.

    fit : with the scores of an expert. The likelihood is concave in the scores and the number (its
    log, for Davidson) together, so there is one such number; 0 without ties. ValueError where there
    is nothing else, SeparableError where all wins and losses agree with one order, which ties only
    refine.
    """
    symbol, ties = expert.symbol, expert.ties(p)
    if (ties == 1.0).all():
        known = f"{expert.family}({symbol}=...)"
        raise ValueError(f"all answers are ties, so {symbol} is infinite; give it, {known}")

    def excess(log_size: float) -> float:
        found = fit(expert=(one := expert.at(float(np.exp(log_size)))))
        return float(weight @ one.too_many(found.fitted_differences[found.real], p))

    if not ties.any():
        return expert.at(0.0)
    if excess(expert.largest) <= 0.0:
        raise SeparableError(
            "no answer contradicts another once ties are modelled, so scores and "
            f"{symbol} are infinite; give a prior, or {symbol}, {expert.family}({symbol}=...), "
            "or make more comparisons",
            reason="ties alone separate the items",
        )
    return expert.at(float(np.exp(brentq(excess, SMALLEST, expert.largest, xtol=1e-9))))
