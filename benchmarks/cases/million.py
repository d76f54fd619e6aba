"""(e) A million items, ten million comparisons; each fit in a process of its own."""

from __future__ import annotations

from benchmarks.child import measured
from benchmarks.timing import Row

CASE = "e"
SETTINGS = {"tiny": (300, 1), "quick": (30_000, 1), "full": (1_000_000, 3)}
METHODS = {
    "gaussian": ("Gaussian", "million-gaussian"),
    "bradley-terry": ("soft Bradley-Terry", None),
    "bradley-terry-bias": ("soft Bradley-Terry, bias fitted", "million-bt"),
}


def rows(mode: str) -> list[Row]:
    n, repeats = SETTINGS[mode]
    found = []
    for name, (method, goal) in METHODS.items():
        row, last = measured(name, n, repeats=repeats)
        row.case, row.method = CASE, method
        row.problem = f"{n:,} items, {10 * n:,} comparisons"
        row.goal = goal if mode == "full" else None
        row.includes = (
            "poe.fit with all checks; making the Comparisons from arrays of positions took "
            f"{last['built']:.2g} s more; {last['steps']} Newton steps to a largest gradient entry "
            f"of {last['gradient']:.0e}; memory is the whole process, data included"
        )
        found.append(row)
    return found
