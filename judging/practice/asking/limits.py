"""When asking ends: what a budget of "10x" or a function as a stopping rule stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from poe.choose.stopping import StopRule, Until, top_known

__all__ = ["HOPELESS", "as_rules", "parse_budget", "require_rules", "top_known"]

HOPELESS = 4  # questions about a text or a system, all refused, after which it is left out


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
