"""(f) Greedy selection of 10N pairs, and what is left of it where N^2 numbers are too many."""

from __future__ import annotations

import numpy as np

import poe
from benchmarks import textbook as book
from benchmarks.child import measured
from benchmarks.timing import Entry, Row, race
from poe.resistance import log_det

CASE = "f"
SETTINGS = {
    # items; items and steps of the textbook's race; items of the fallback; repeats, seconds
    "tiny": (40, 20, 10, 500, 1, 0.2),
    "quick": (200, 60, 100, 20_000, 3, 2.0),
    "full": (1056, 1056, 300, 20_000, 3, 20.0),
}


def rows(mode: str) -> list[Row]:
    n, small, steps, huge, repeats, budget = SETTINGS[mode]
    found = _against_textbook(small, steps, repeats, budget)
    for rule, size, times in (("greedy", n, repeats), ("regular", n, 1), ("regular", huge, 1)):
        row, last = measured(rule, size, repeats=times)
        row.case, row.method, row.problem = CASE, f"{rule} selection", f"{size:,} items, 10N pairs"
        row.goal = "greedy" if rule == "greedy" and mode == "full" else None
        if np.isfinite(last["log_det"]):
            row.includes = f"log determinant {last['log_det']:.2f}"
        row.note = _refusal(huge) if size == huge else ""
        found.append(row)
    return found


def _against_textbook(n, steps, repeats, budget):
    count = n - 1 + steps  # the chain, and then greedy steps

    def value(pairs):
        return np.array([log_det(n, pairs) / n])

    entries = [
        Entry(
            "poe",
            "greedy selection",
            lambda _: poe.select(n, count, rule="greedy", seed=0),
            read=value,
        ),
        Entry(
            "textbook",
            "greedy selection",
            lambda _: book.greedy(n, count),
            read=value,
            within=1e-2,
            includes="Sherman-Morrison; log determinants an item agree, ties fall differently",
        ),
    ]
    problem = f"{n:,} items, {steps} steps from the chain"
    return race(CASE, problem, entries, repeats=repeats, budget=budget)


def _refusal(n):
    """What greedy says where it cannot."""
    try:
        poe.select(n, 10 * n, rule="greedy")
    except ValueError as error:
        return f'rule "greedy" says: {error}'
    return ""
