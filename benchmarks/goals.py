"""What was asked of the engine before it was written, and what of it is met.

The tables and the figure of the times are in the book (book/how-it-was-made.md), drawn from the
results.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """`limit` in seconds, GB, or times what another package takes (`unit`); `what` in words."""

    what: str
    limit: float
    unit: str = "s"


GOALS = {
    "sweep": Goal("the paper's whole sweep, six methods and the Laplacian, on two cores", 300.0),
    "small-choix": Goal("16 items, 48 calls: soft Bradley-Terry, beside choix", 1.0, "times"),
    "small-evalica": Goal("16 items, 240 calls: soft Bradley-Terry, beside evalica", 1.0, "times"),
    "small-laplacian": Goal("16 items, 48 calls: Laplacian", 20e-3),
    "large-gaussian": Goal("1,056 items, 50N comparisons: Gaussian", 6e-3),
    "large-bt": Goal("1,056 items, 50N comparisons: soft Bradley-Terry", 40e-3),
    "large-laplacian-10": Goal("1,056 items, 10N comparisons: Laplacian", 0.4),
    "large-laplacian": Goal("1,056 items, 50N comparisons: Laplacian", 1.5),
    "million-gaussian": Goal("a million items, ten million comparisons: Gaussian", 6.0),
    "million-bt": Goal(
        "a million items, ten million comparisons: soft Bradley-Terry with its bias", 12.0
    ),
    "million-memory": Goal("a million items, ten million comparisons: peak memory", 3.0, "GB"),
    "chain": Goal("a chain of 100,000 items: soft Bradley-Terry", 5.0),
    "tree": Goal("a random tree of 100,000 items: soft Bradley-Terry", 5.0),
    "greedy": Goal("greedy selection of 10N pairs at 1,056 items", 15.0),
    "dawid-skene-million": Goal("Dawid-Skene on a million samples of ten judges", 5.0),
    "start-poe-python": Goal("a process that imports poe, beside one that does not", 2.0, "times"),
    "start-judging-python": Goal(
        "a process that imports judging, beside one that does not", 2.0, "times"
    ),
    "sizes-evalica": Goal("10 to 5,000 items: Bradley-Terry, beside evalica", 1.0, "times"),
    "sizes-choix": Goal("10 to 500 items: Bradley-Terry, beside choix", 1.0, "times"),
    "skill-34k": Goal("SkillAggregation on 34,000 texts, nine judges, five seeds", 180.0),
}


def results(folder: Path) -> list[dict[str, Any]]:
    """The rows of all cases that have been run."""
    cases = [json.loads(path.read_text()) for path in sorted(folder.glob("?_*.json"))]
    return [row for case in cases for row in case["rows"]]


def write(folder: Path) -> str:
    """Write the goals and what was measured into README.md; returns the table."""
    lines = ["| goal | at most | measured |  |  |", "| --- | --- | --- | --- | --- |"]
    rows = results(folder)
    for name, goal in GOALS.items():
        for value, note in _measured(name, rows):
            met = "met" if value <= goal.limit else "NOT MET"
            limit, measured = _in_words(goal.limit, goal.unit), _in_words(value, goal.unit)
            lines.append(f"| {goal.what} | {limit} | {measured} | {met} | {note or ' '} |")
    table = "\n".join(lines)
    text = (
        "# Benchmarks\n\nWritten by `python -m benchmarks` (`make bench`); do not edit. One file a "
        "case; the book's page of timings shows what is in them. Goals that were set beforehand:"
    )
    (folder / "README.md").write_text(f"{text}\n\n{table}\n")
    return table


def _measured(name: str, rows: list[dict[str, Any]]) -> list[tuple[float, str]]:
    """What stands beside a goal, and a remark on it."""
    if name == "million-memory":
        peaks = [row["peak_gb"] for row in rows if (row["goal"] or "").startswith("million")]
        return [(max(peaks), "")] if peaks else []
    sizes = name.startswith("sizes-")  # every problem of that case, and the worst of them
    goal = "sizes" if sizes else name
    own = [row for row in rows if row["goal"] == goal and row["seconds"]]
    if GOALS[name].unit != "times":
        return [(row["seconds"], row["note"] if name == "sweep" else "") for row in own]
    rival = name.split("-")[-1]
    beside = {(r["problem"], r["method"]): r["seconds"] for r in rows if r["who"] == rival}
    pairs = [(row, beside.get((row["problem"], row["method"]))) for row in own]
    ratios = [
        (row["seconds"] / others, f"{row['method']}, {row['problem']}")
        for row, others in pairs
        if others
    ]
    return [max(ratios)] if sizes and ratios else [(ratio, "") for ratio, _ in ratios]


def _in_words(value: float, unit: str) -> str:
    """Three digits in a unit that suits them."""
    if unit == "s" and value < 1.0:
        value, unit = 1e3 * value, "ms"
    return f"{value:.3g} {unit}"
