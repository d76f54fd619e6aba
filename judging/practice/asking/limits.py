"""When asking ends: what a budget of "10x" or a function as a stopping rule stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from poe.choose.stopping import StopRule, Until, top_known

__all__ = ["HOPELESS", "as_rules", "parse_budget", "require_rules", "shares", "top_known"]

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


def shares(
    budget: int | str, sizes: Sequence[int], *, both_orders: bool = False
) -> tuple[list[int], tuple[str, ...]]:
    """Comparisons for each of several rankings of so many texts, and a note if all were asked for.

    500 is shared in proportion to the texts, exact in sum; "10x" are ten per text; "all" is all
    there are. Each has as many as link its texts, and no more than there are. With both orders
    pairs are shared, so that an odd budget leaves one call.

    Raises ValueError if the budget is not of this form, or too small to link all texts.
    """
    n, each = np.asarray(sizes, dtype=np.int64), 2 if both_orders else 1
    least, most = n - 1, n * (n - 1) // each  # in units of `each` calls
    number, a_text = parse_budget(budget, "text")
    if (n < 2).any():
        raise ValueError(f"a ranking needs at least two items, not {n.min()}")
    if number == np.inf:
        return (each * most).tolist(), ()
    if a_text:
        wanted = np.floor(number * n / each + 1e-9).astype(np.int64)
        units = int(wanted.sum())
    else:
        units = int(number) // each
        wanted = _in_proportion(min(units, int(most.sum())), n, least, most)
    if (wanted < least).any() or units < least.sum():
        texts = f"the texts of {len(n)} rankings" if len(n) > 1 else f"{n.sum()} texts"
        raise ValueError(
            f"a budget of {budget} calls cannot link {texts}: the fewest that do are "
            f"{each * least.sum()}{' (each pair in both orders)' if both_orders else ''}; 10x is a "
            "good start"
        )
    note = (
        f"the budget allows {each * units} calls, but "
        f"{f'the {len(n)} rankings' if len(n) > 1 else f'{n.sum()} texts'} have only "
        f"{each * most.sum()} comparisons, both orders counted: all of them were asked"
    )
    every = units > most.sum()
    return (each * np.minimum(wanted, most)).tolist(), (note,) if every else ()


def _in_proportion(
    total: int, size: NDArray[np.int64], least: NDArray[np.int64], most: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Whole numbers between `least` and `most` in proportion to `size` that sum to `total`."""
    low, high = 0.0, float(total) + 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(np.floor(middle * size), least, most).sum() <= total:
            low = middle
        else:
            high = middle
    share = np.clip(np.floor(low * size), least, most).astype(np.int64)
    # What is left goes one each to those that are nearest to their next.
    nearest = np.argsort(np.floor(low * size) - low * size, kind="stable")
    more = [k for k in nearest if least[k] <= np.floor(low * size[k]) and share[k] < most[k]]
    share[more[: max(total - int(share.sum()), 0)]] += 1
    return share


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
