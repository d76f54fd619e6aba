"""One measurement in a process of its own, because peak memory is a property of a process.

`python -m benchmarks.child NAME N` prints a line of JSON with its seconds and its peak memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np

import poe
from benchmarks.data import large
from benchmarks.machine import peak_gb
from benchmarks.timing import Row

FITS = {
    "gaussian": {"expert": "gaussian", "solver": "sparse"},
    "bradley-terry": {"solver": "sparse"},
    "bradley-terry-bias": {"bias": "fit", "solver": "sparse"},
}


def fitted(name: str, n: int) -> dict[str, float]:
    pairs, p = large(n, 10)
    start = time.perf_counter()
    comparisons = poe.Comparisons.from_pairs(pairs, p, items=n)
    built = time.perf_counter() - start
    del pairs, p  # poe keeps its own
    start = time.perf_counter()
    fit = poe.fit(comparisons, **FITS[name])
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "built": built,
        "gradient": fit.gradient,
        "steps": fit.steps,
        "peak_gb": peak_gb(),
    }


def selected(rule: str, n: int) -> dict[str, float]:
    start = time.perf_counter()
    pairs = poe.select(n, 10 * n, rule=rule, seed=0)
    seconds = time.perf_counter() - start
    peak = peak_gb()
    log_det = poe.resistance.log_det(n, pairs) if n <= 3000 else float("nan")
    return {"seconds": seconds, "peak_gb": peak, "log_det": log_det}


def measured(name: str, n: int, *, repeats: int = 1) -> tuple[Row, dict[str, float]]:
    """A row with the median of the repeats, without its titles, and the last measurement."""
    found = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "benchmarks.child", name, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    low, middle, high = np.quantile([one["seconds"] for one in found], [0.25, 0.5, 0.75])
    row = Row("", "", "", "poe", float(middle), float(low), float(high), repeats)
    row.peak_gb = max(one["peak_gb"] for one in found)
    return row, found[-1]


if __name__ == "__main__":
    chosen = fitted if sys.argv[1] in FITS else selected
    print(json.dumps(chosen(sys.argv[1], int(sys.argv[2]))))
