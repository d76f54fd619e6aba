"""Side by side in one run: agreement first, then medians of interleaved repeats.

Also one measurement in a process of its own (`python -m benchmarks.timing NAME N`), because peak
memory is a property of a process, and what the numbers were measured on.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import poe
from judging.simulated import simulated_answers
from reproduction.run import cores


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

    as_dict = asdict


def race(
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
        row = Row("", problem, entry.method, entry.who, includes=entry.includes, goal=entry.goal)
        rows.append(row)
        # The first call warms up, and shows whether this is the same answer.
        try:
            taken, result = _once(entry)
        except Exception as error:  # one that breaks must not take the others with it
            row.note = f"failed: {type(error).__name__}: {error}"
            continue
        answer = np.asarray(entry.read(result), dtype=float)
        reference = answer if reference is None else reference
        row.off = float(np.abs(answer - reference).max())
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
        row.repeats, row.more = len(seconds), {"least": min(seconds) / entry.problems}
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


def centred(scores: Any) -> np.ndarray:
    """Scores with mean zero, whatever the convention they came in."""
    values = np.asarray(scores, dtype=float)
    return values - values.mean()


# Simulated comparisons, the same in every process -------------------------------------------------


def comparisons(n: int, per_item: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs and probabilities of n items, `per_item` comparisons for every item.

    Ordered pairs: a ring through all items, so that they are linked, and any others. Repeats are
    possible, as they are where nobody keeps a list of what was asked.
    """
    rng, more = np.random.default_rng([seed, n, per_item]), (per_item - 1) * n
    ring = rng.permutation(n)
    first = np.concatenate([ring, rng.integers(n, size=more)])
    step = rng.integers(1, n, size=more)
    pairs = np.column_stack([first, np.concatenate([np.roll(ring, 1), (first[n:] + step) % n])])
    return pairs, probabilities(n, pairs, rng)


def probabilities(n: int, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What a judge with noise and a preference for the first position would answer."""
    quality = rng.standard_normal(n)
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]]
    return simulated_answers(d, bias=0.3, noise=0.5, e=rng)


# A process of its own -----------------------------------------------------------------------------

FITS: dict[str, dict[str, Any]] = {
    "gaussian": {"expert": "gaussian", "solver": "sparse"},
    "bradley-terry": {"solver": "sparse"},
    "bradley-terry-bias": {"bias": "fit", "solver": "sparse"},
}


def alone(name: str, n: int) -> dict[str, float]:
    """Seconds, peak memory and more of a fit of FITS, or of a selection by the rule `name`."""
    costs: dict[str, float] = {}
    if name in FITS:
        pairs, p = comparisons(n, 10)
        start = time.perf_counter()
        c = poe.Comparisons.from_pairs(pairs, p, items=n)
        costs["built"] = time.perf_counter() - start
        del pairs, p  # poe keeps its own
        start = time.perf_counter()
        fit = poe.fit(c, **FITS[name])
        costs |= {"seconds": time.perf_counter() - start, "peak_gb": peak_gb()}
        return costs | {"gradient": fit.gradient, "steps": fit.steps}
    start = time.perf_counter()
    chosen = poe.select(n, 10 * n, rule=name, seed=0)  # type: ignore[arg-type]
    costs |= {"seconds": time.perf_counter() - start, "peak_gb": peak_gb()}
    return costs | {"log_det": poe.log_det(n, chosen) if n <= 3000 else float("nan")}


def measured(name: str, n: int, *, repeats: int = 1) -> tuple[Row, dict[str, float]]:
    """A row with the median of the repeats, without its titles, and the last measurement."""
    runs = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "benchmarks.timing", name, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    low, middle, high = np.quantile([one["seconds"] for one in runs], [0.25, 0.5, 0.75])
    row = Row("", "", "", "poe", float(middle), float(low), float(high), repeats)
    row.peak_gb = max(one["peak_gb"] for one in runs)
    return row, runs[-1]


# The machine: processor, memory, versions; nothing that names a place -----------------------------

PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "cvxpy",
    "highspy",
    "choix",
    "evalica",
    "crowd-kit",
    "torch",
)


def describe_machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"),
        "packages": {name: version for name in PACKAGES if (version := installed(name))},
    }


def installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError):
        return None


def peak_gb() -> float:
    """Largest memory this process has held, interpreter and libraries included."""
    try:
        # getrusage would count what the parent held when it started this process.
        lines = Path("/proc/self/status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kilobytes = peak // 1024 if sys.platform == "darwin" else peak
    return kilobytes * 1024 / 1e9


if __name__ == "__main__":
    print(json.dumps(alone(sys.argv[1], int(sys.argv[2]))))
