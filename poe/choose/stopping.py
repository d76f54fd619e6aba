"""When to stop asking: small rules about a fit, for `judging.rank(..., until=...)`.

A rule is any function of a `Fit` that says whether to stop. Those made here also say what
they measure, so that the history of a ranking shows how far it is from its limit.

Every rule looks at the fit's own uncertainty. Even where that is right, a rule that is asked after
every round stops too early now and then: at the rounds at which chance makes the answer look clear.
With a simulated judge of the fitted kind and a look every four calls the top three were right about
two percentage points less often than stated; with a look every 64 calls, as often as stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from poe.intervals import require_level
from poe.result import Fit

Until = Callable[[Fit], bool]


@dataclass(frozen=True)
class StopRule:
    """Stop when `measure(fit)` is at least (or at most) `limit`; of `least` items or more."""

    name: str
    measure: Callable[[Fit], float]
    limit: float
    at_least: bool
    least: int = 0

    def __call__(self, fit: Fit) -> bool:
        """Whether to stop."""
        return self.met(self.measure(fit))

    def met(self, value: float) -> bool:
        """Tell whether a measured value is enough."""
        return value >= self.limit if self.at_least else value <= self.limit

    def reason(self, value: float) -> str:
        """Say why it stopped."""
        side = "at least" if self.at_least else "at most"
        return f"{self.name}: {value:.3g}, {side} {self.limit:g} was asked for"


def top_known(k: int, probability: float = 0.95, *, draws: int = 2000, seed: int = 0) -> StopRule:
    """Stop when the k best are, with this probability, exactly those now on top.

    The probability is `fit.prob_top_set(k, draws=draws, seed=seed)`, which allows for the luck of
    those on top: with 2000 draws its standard error at 0.95 is 0.005.

    Examples
    --------
    >>> poe.top_known(3).name
    'probability of the top 3'
    """
    require_level(probability)
    if k < 1:
        raise ValueError(f"k is a number of best items, one or more, not {k}")

    def measure(fit: Fit) -> float:
        return fit.prob_top_set(k, draws=draws, seed=seed)

    return StopRule(f"probability of the top {k}", measure, probability, True, k + 1)


def ranks_within(width: int, level: float = 0.95, *, draws: int = 2000, seed: int = 0) -> StopRule:
    """Stop when every item's rank interval of this level spans at most `width` ranks.

    The span of ranks 2 to 5 is 3; width 0 wants every rank known.

    Examples
    --------
    >>> poe.ranks_within(0).reason(0)
    'widest 95% rank interval: 0, at most 0 was asked for'
    """
    require_level(level)
    if width < 0:
        raise ValueError(f"width is a number of ranks, zero or more, not {width}")

    def measure(fit: Fit) -> float:
        ranks = fit.rank_interval(level, draws=draws, seed=seed)
        return float((ranks[:, 1] - ranks[:, 0]).max())

    return StopRule(f"widest {level:.0%} rank interval", measure, width, False, width + 2)


def se_below(limit: float) -> StopRule:
    """Stop when no item's standard error (about the mean of all items) exceeds `limit`.

    Examples
    --------
    >>> poe.se_below(0.5).name
    'largest standard error'
    """
    if not limit > 0:
        raise ValueError(f"a standard error cannot be brought to {limit}; give a positive limit")

    def measure(fit: Fit) -> float:
        return float(fit.standard_errors().max())

    return StopRule("largest standard error", measure, limit, at_least=False)
