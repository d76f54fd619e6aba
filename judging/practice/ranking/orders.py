"""What was found out about the second order of a pair: a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poe.choose.orders import Decision

__all__ = ["Narrow", "OneOrder", "Orders"]

WORTH, MOST = 1.1, 10.0  # times as many calls, below and above which nothing is claimed


@dataclass(frozen=True)
class OrderErrors:
    """How the errors of a pair's two orders correlate."""

    c: float
    se: float


@dataclass(frozen=True)
class Orders:
    """What was decided about the two orders of a pair, and why.

    times : as many calls in one order as are worth as much,
    at least; None where the first answers cannot tell.
    """

    orders: Literal["one", "both"]
    reason: str
    errors: OrderErrors
    times: float | None

    @property
    def case(self) -> str:
        """Which sentence."""
        return "place, perhaps" if self.reason == "place" and not self.times else self.reason

    @classmethod
    def of(cls, decision: Decision) -> Orders:
        """Two errors of c nearer to none: what is claimed must not be luck."""
        nearest = decision.c + 2.0 * decision.se
        least = decision.ratio * (1.0 + decision.c) / max(1.0 + nearest, 1e-9)
        surely = decision.reason == "place" and nearest < 0.0 and least >= WORTH
        errors = OrderErrors(decision.c, decision.se)
        times = min(least, MOST) if surely else None
        return cls(decision.orders, decision.reason, errors, times)


@dataclass(frozen=True)
class OneOrder:
    """Comparisons that have one order alone, though both were wanted."""

    single: int
    of: int


@dataclass(frozen=True)
class Narrow:
    """The rule looks at the answers from the start."""

    rule: str
