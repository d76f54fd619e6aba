"""Side by side in one run: agreement first, then medians of interleaved repeats."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Entry:
    """One competitor on one problem.

    run : what is timed, of what `prepare` made (not timed; made anew for every call, so that
    nothing is remembered from one to the next). read : what must agree with the other
    entries, an array, from the result. within : the largest difference allowed. includes :
    what the number covers, in words. problems : how many problems one call solves; the time
    is a problem's.
    """

    who: str
    method: str
    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None
    read: Callable[[Any], Any] = lambda result: result
    within: float = 1e-6
    includes: str = ""
    problems: int = 1
    goal: str | None = None


@dataclass
class Row:
    """One line of the results. Times in seconds a problem; low and high are quartiles."""

    case: str
    problem: str
    method: str
    who: str
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    repeats: int = 0
    off: float | None = None
    includes: str = ""
    goal: str | None = None
    peak_gb: float | None = None
    note: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def race(
    case: str,
    problem: str,
    entries: Sequence[Entry],
    *,
    repeats: int,
    budget: float,
    least: float = 2e-3,
) -> list[Row]:
    """Time the entries in turn, round after round; the first is what the others must agree with.

    budget : seconds an entry may take in all; a slow one gets fewer repeats, at least one.
    least : seconds a measurement should last; fast entries are called that often in a row.
    """
    reference = None
    rows, times, calls, raced = [], [], [], []
    for entry in entries:
        row = Row(case, problem, entry.method, entry.who, includes=entry.includes, goal=entry.goal)
        rows.append(row)
        # The first call warms up, and shows whether this is the same answer.
        try:
            taken, result = _once(entry)
        except Exception as error:  # one that breaks must not take the others with it
            row.note = f"failed: {type(error).__name__}: {error}"
            continue
        found = np.asarray(entry.read(result), dtype=float)
        reference = found if reference is None else reference
        row.off = float(np.abs(found - reference).max())
        assert row.off <= entry.within, (
            f"{problem}, {entry.method}: {entry.who} is {row.off:.2g} away from "
            f"{rows[0].who}, and {entry.within:.2g} is allowed"
        )
        # What is slow is not run a second time; otherwise the warm-up does not count.
        slow = taken > budget / 2.0
        times.append([taken] if slow else [])
        calls.append(taken if slow else _once(entry)[0])
        raced.append((entry, row))
    for _ in range(repeats):
        for (entry, _), seconds, each in zip(raced, times, calls, strict=True):
            if seconds and sum(seconds) + max(each, least) > budget:
                continue
            number = max(1, min(int(least / max(min(seconds, default=each), 1e-9)), 10_000))
            seconds.append(_timed(entry, number))
    for (entry, row), seconds in zip(raced, times, strict=True):
        low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]) / entry.problems
        row.seconds, row.low, row.high = float(middle), float(low), float(high)
        row.repeats = len(seconds)
    return rows


def _once(entry: Entry) -> tuple[float, Any]:
    given = entry.prepare()
    start = time.perf_counter()
    result = entry.run(given)
    return time.perf_counter() - start, result


def _timed(entry: Entry, number: int) -> float:
    given = [entry.prepare() for _ in range(number)]
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    for one in given:
        entry.run(one)
    seconds = time.perf_counter() - start
    gc.enable()
    return seconds / number


def skipped(case: str, problem: str, method: str, who: str, why: str) -> Row:
    """A line that says why there is no number."""
    return Row(case, problem, method, who, note=why)


def centred(scores: Any) -> np.ndarray:
    """Scores with mean zero, whatever the convention they came in."""
    values = np.asarray(scores, dtype=float)
    return values - values.mean()
