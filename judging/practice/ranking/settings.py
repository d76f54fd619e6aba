"""What a ranking is asked to be: how comparisons are chosen and paid, how answers become scores.

Also what stands for such a setting in short: a budget of "10x", a function as a stopping rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from poe.choose.adaptive import NextRule
from poe.choose.stopping import StopRule, Until, top_known
from poe.experts import Expert, Gaussian, get_expert
from poe.fitting import FARTHEST
from poe.result import Covariance, require_level

__all__ = [
    "HOPELESS",
    "Asking",
    "Fitting",
    "as_rules",
    "parse_budget",
    "require_rules",
    "top_known",
]

HOPELESS = 4  # questions about a text or a system, all refused, after which it is left out

# What a rule is called where nobody knows its formula, and the name of the formula.
RULES: dict[str, NextRule] = {
    "adaptive": "adaptive",
    "reordering": "reordering",
    "greedy": "determinant",
    "random": "random",
    "laplace": "laplace",
}


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How comparisons are chosen, and how much may be spent on them.

    Parameters
    ----------
    rule
        Which comparisons come next: "adaptive", the most informative, given the answers so far once
        they say enough; "reordering", the pair whose order is least sure, whose intervals
        are too narrow; "greedy", the most informative before any answer; "random"; see
        `poe.next_comparisons`.
    orders
        "both" shows every pair in both orders, "one" in one drawn at random; "auto" finds out which
        of the two is worth its calls, from a few pairs in both orders at the beginning
        (`poe.choose.orders`; book, "One order or both?").
    confirm
        Whether calls are kept back for a last round of fresh questions about the finalists
        (`judging.practice.ranking.confirmation`), whose answers alone say how sure the top is.
    batch
        Calls per round; one per text by default.
    rounds
        Instead, how many there are, the first included, for answers that take long to come.
    offline
        Never open the judge, and rank by what the store has.
    undecided
        An answer with neither label is left out ("skip"; more than one in ten stop the run), counts
        as a "tie", or stops the run.
    on_refusal
        A question that the judge will never answer (a content filter, a text too long for it) is
        left out ("skip"), counts as a "tie", or stops the run. A text of which nothing is answered
        is left out of the ranking, and named. What was refused is kept in the store and not asked
        again, unless retry_refused.
    limit_calls, limit_tokens
        Of new calls in the whole run, never exceeded.
    price
        Per million tokens read, and written; what was asked is then priced in a note.

    Examples
    --------
    >>> judging.Asking(rule="random", limit_calls=100).orders
    'auto'
    """

    rule: str = "adaptive"
    orders: Literal["auto", "one", "both"] = "auto"
    confirm: bool = False
    batch: int | None = None
    rounds: int | None = None
    offline: bool = False
    undecided: Literal["skip", "tie", "stop"] = "skip"
    on_refusal: Literal["skip", "tie", "stop"] = "skip"
    retry_refused: bool = False
    limit_calls: int | None = None
    limit_tokens: int | None = None
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES and self.rule not in RULES.values():
            raise ValueError(f"rule must be {', '.join(RULES)}, not {self.rule!r}")
        for name, words in (
            ("orders", ("auto", "one", "both")),
            ("undecided", ("skip", "tie", "stop")),
            ("on_refusal", ("skip", "tie", "stop")),
        ):
            if (word := getattr(self, name)) not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, not {word!r}")
        for name in ("batch", "rounds"):
            if (count := getattr(self, name)) is not None and count < 1:
                raise ValueError(f"{name} must be at least 1, not {count}")

    @property
    def both_orders(self) -> bool:
        """Whether every pair is asked in both orders from the first on."""
        return self.orders == "both"

    @property
    def formula(self) -> NextRule:
        """The rule's name in `poe.next_comparisons`, which may also be given as the rule."""
        return RULES.get(self.rule, cast(NextRule, self.rule))

    @property
    def costs(self) -> bool:
        """Whether anything is set that only a judge of texts can keep."""
        return (self.limit_calls, self.limit_tokens, self.price) != (None,) * 3


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How answers become scores, intervals and chances.

    Parameters
    ----------
    expert, bias, prior, covariance
        See `poe.fit`. The bias is fitted with the scores (Laplacian experts take it from the mean
        probability, and too few comparisons to tell it from the scores leave it at zero, with a
        note). Where decisions (p of 0 and 1) leave no doubt about a score and no prior is given,
        every item gets one win and one loss, spread over the others, with a note; prior=0 refuses
        such answers instead.
    level
        Of all intervals.
    top
        How many best are meant by "the probability to be among them".

    Examples
    --------
    >>> judging.Fitting(expert="gaussian").covariance
    'paired'
    """

    expert: str | Expert = "bradley-terry"
    bias: float | Literal["mean", "fit"] | None = "fit"
    prior: float | None = None
    covariance: Covariance = "paired"
    level: float = 0.95
    top: int = 3

    def __post_init__(self) -> None:
        get_expert(self.expert)
        require_level(self.level)
        if self.covariance not in ("paired", "scatter", "curvature"):
            raise ValueError(
                f"covariance must be 'paired', 'scatter' or 'curvature', not {self.covariance!r}"
            )
        bias: Any = self.bias
        number = isinstance(bias, Real) and abs(float(bias)) <= FARTHEST
        if not number and bias not in (None, "mean", "fit"):
            raise ValueError(f"bias must be a finite number, None, 'mean' or 'fit', not {bias!r}")
        if self.prior is not None and not 0.0 <= self.prior < np.inf:
            raise ValueError(f"prior must be a number of wins, zero or more, not {self.prior}")
        if self.top < 1:
            raise ValueError(f"top must be at least 1, not {self.top}")

    def least(self, n: int) -> int:
        """Answers about n items without which there are scores and no errors.

        Gaussian experts without a sigma take it from what the scores leave of the answers.
        """
        expert = get_expert(self.expert)
        free = isinstance(expert, Gaussian) and expert.sigma is None and expert.variance is None
        return n + (self.bias == "fit") if free else n - 1

    def top_of(self, n: int) -> int:
        """How many of n items are the best: `top`, but never all of them."""
        return max(min(self.top, n - 1), 1)


def parse_budget(budget: int | str, thing: str) -> tuple[float, bool]:
    """The number in a budget, and whether each `thing` has so many.

    500 is (500, False); "10x" is (10, True); "all" is (inf, False).
    """
    text = str(budget).strip().lower()
    if text == "all":
        return np.inf, False
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([x×]?)", text)
    if not form or not (form[2] or float(form[1]).is_integer()):
        raise ValueError(
            f"a budget is a whole number of calls (500), of calls a {thing} (10x) or all, not "
            f"{budget!r}"
        )
    return float(form[1]), bool(form[2])


def as_rules(until: Until | Iterable[Until] | None) -> list[StopRule]:
    """One rule, several (the first that is met stops) or none, all as `StopRule`."""
    given = [] if until is None else [until] if callable(until) else list(until)
    return [rule if isinstance(rule, StopRule) else _named(rule) for rule in given]


def require_rules(rules: Iterable[StopRule], n: int) -> None:
    """Refuse a rule that says nothing of so few items, before anything is asked."""
    for rule in rules:
        if n < rule.least:
            raise ValueError(
                f"the rule {rule.name!r} says nothing of {n} items; it is for {rule.least} or more"
            )


def _named(rule: Until) -> StopRule:
    if not callable(rule):
        raise TypeError(f"until must be functions of a fit, such as poe.top_known(3); not {rule!r}")
    name = getattr(rule, "__name__", type(rule).__name__)
    return StopRule(name, lambda fit: float(bool(rule(fit))), 1.0, at_least=True)
