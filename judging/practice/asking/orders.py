"""What was found out about the second order of a pair, as a finding."""

from __future__ import annotations

from typing import Any

from judging.practice import findings as f
from poe.choose.orders import Decision

__all__ = ["orders_of"]

MIN_WORTH, MAX_WORTH = 1.1, 10.0  # times as many calls, below and above which nothing is claimed


def orders_of(decision: Decision) -> Any:
    """Orders: what was decided, and why; times : as many calls in one order are worth as much.

    None where the first answers cannot tell: two errors of c nearer to none, what is claimed must
    not be luck.
    """
    nearest = decision.c + 2.0 * decision.se
    least = decision.ratio * (1.0 + decision.c) / max(1.0 + nearest, 1e-9)
    surely = decision.reason == "place" and nearest < 0.0 and least >= MIN_WORTH
    case = "place, perhaps" if decision.reason == "place" and not surely else decision.reason
    errors = f.OrderErrors(decision.c, decision.se)
    return f.Orders(case, decision.orders, errors, min(least, MAX_WORTH) if surely else None)
