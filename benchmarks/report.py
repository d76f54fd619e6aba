"""benchmarks/results/README.md and its figure, from the results of the cases."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import GOALS

TITLES = {
    "a": "One context of 16 items",
    "b": "The paper's whole sweep",
    "c": "One large problem",
    "d": "A hundred times larger",
    "e": "A million items",
    "f": "Greedy selection",
    "g": "How the cost grows",
    "h": "Several judges",
}
REMARKS = {
    "a": "`poe, stacked` solves many problems in one call, as tables of results need. `poe` is one "
    "call for one problem; its checks cost more than the arithmetic at this size.",
    "b": "5 judges, 4 attributes, 100 contexts, 100 draws and 14 numbers of calls (32 to 240), on "
    "simulated judges of SummEval's human scores: the numbers of problems are the paper's.",
    "c": "Decisions are drawn among items so close to each other that scores are finite without "
    "a prior, which the other packages need.",
    "e": "Each fit runs in a process of its own.",
    "h": "Simulated judges of two classes; the texts are random words.",
    "g": "Ten comparisons an item. The exponent is the slope through the three largest N.",
}
FIGURE = "growth.svg"


def write(folder: Path) -> str:
    """Write README.md and the figure; returns the table of goals as text."""
    results = {r["case"]: r for r in (_read(path) for path in sorted(folder.glob("?_*.json")))}
    if not results:
        return "There are no results yet."
    rows = [row for result in results.values() for row in result["rows"]]
    goals = _goals(rows)
    parts = ["# Benchmarks", _about(results.values()), *([goals] if goals else [])]
    for case, result in results.items():
        parts += [f"## {TITLES[case]} ({case})", *([REMARKS[case]] if case in REMARKS else [])]
        parts.append(_growth(result["rows"], folder) if case == "g" else _table(result["rows"]))
    (folder / "README.md").write_text("\n\n".join(parts) + "\n")
    return goals


def failures(folder: Path) -> list[str]:
    """What failed inside a case."""
    rows = [row for path in sorted(folder.glob("?_*.json")) for row in _read(path)["rows"]]
    return [
        f"{row['problem']}, {row['method']}, {row['who']}: {row['note']}"
        for row in rows
        if row["note"].startswith("failed")
    ]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def _about(results: Iterable[dict[str, Any]]) -> str:
    results = list(results)
    machines = [result["machine"] for result in results]
    first = machines[0]
    packages = ", ".join(f"{name} {version}" for name, version in first["packages"].items())
    same = all(machine == first for machine in machines)
    days = sorted({result["date"] for result in results})
    modes = sorted({result["mode"] for result in results})
    return (
        "Written by `python -m benchmarks` (`make bench`); do not edit. Times are medians of "
        "repeats that took turns with those of the others; the ratio is to `poe` on the same "
        "problem. All who solve the same problem were found to give the same answer before they "
        "were timed: `off by` is the largest difference in a score (Laplacian: in the objective "
        "an item compared) from the first line.\n\n"
        f"{first['processor']}, {first['cores']} cores, {first['memory_gb']} GB, "
        f"{first['system']}, Python {first['python']}; {packages}; threads of the linear algebra "
        f"library: {first['blas_threads']}. {' to '.join(days)}, mode "
        f"{' and '.join(modes)}.{'' if same else ' Not all cases ran on this machine.'}"
    )


def _goals(rows: list[dict[str, Any]]) -> str:
    lines = []
    for name, goal in GOALS.items():
        for value, row in _values(name, rows):
            met = "met" if value <= goal.limit else "NOT MET"
            note = row["note"] if name == "sweep" else ""
            lines.append(
                [goal.what, _unit(goal.limit, goal.unit), _unit(value, goal.unit), met, note]
            )
    if not lines:
        return ""
    return markdown(["goal", "at most", "measured", "", ""], lines)


def _values(name: str, rows: list[dict[str, Any]]) -> list[tuple[float, dict[str, Any]]]:
    if name == "million-memory":
        peaks = [row for row in rows if (row["goal"] or "").startswith("million")]
        worst = max(peaks, key=lambda row: row["peak_gb"], default=None)
        return [(worst["peak_gb"], worst)] if worst else []
    own = [row for row in rows if row["goal"] == name and row["seconds"]]
    if GOALS[name].unit != "times":
        return [(row["seconds"], row) for row in own]
    key, rival = ("problem", "method"), name.split("-")[-1]
    others = {tuple(row[k] for k in key): row["seconds"] for row in rows if row["who"] == rival}
    beside = [(row, others.get(tuple(row[k] for k in key))) for row in own]
    return [(row["seconds"] / seconds, row) for row, seconds in beside if seconds]


def _table(rows: list[dict[str, Any]]) -> str:
    base = {(row["problem"], row["method"]): row["seconds"] for row in rows if row["who"] == "poe"}
    lines = []
    for row in rows:
        own, reference = row["seconds"], base.get((row["problem"], row["method"]))
        ratio = f"{own / reference:.3g}" if own and reference and row["who"] != "poe" else ""
        spread = f"{_time(row['low'])} to {_time(row['high'])}" if row["repeats"] > 2 else ""
        lines.append(
            [
                row["problem"],
                row["method"],
                row["who"],
                _time(own),
                spread,
                ratio,
                "" if not row["off"] else f"{row['off']:.0e}",
                "" if row["peak_gb"] is None else f"{row['peak_gb']:.2f} GB",
                "; ".join(part for part in (row["includes"], row["note"]) if part),
            ]
        )
    head = ["problem", "method", "who", "time", "quartiles", "ratio", "off by", "memory", "remarks"]
    return markdown(head, lines)


def _growth(rows: list[dict[str, Any]], folder: Path) -> str:
    series = _series(rows)
    draw(series, folder / FIGURE)
    lines = []
    for (who, method), (n, seconds) in series.items():
        slope = f"{exponent(n, seconds):.2f}" if len(n) > 2 else ""
        largest = f"{_time(seconds[-1])} at {n[-1]:,.0f}"
        lines.append([who, method, slope, largest])
    return (
        f"![Seconds against the number of items, both on logarithmic axes]({FIGURE})\n\n"
        + markdown(["who", "method", "exponent", "largest"], lines)
    )


def _series(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row["seconds"]:
            found.setdefault((row["who"], row["method"]), []).append(
                (row["more"]["n"], row["seconds"])
            )
    return {key: tuple(np.array(sorted(points)).T) for key, points in found.items()}  # type: ignore[misc]


def draw(series: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    """Log-log growth, poe in colour and solid, the others grey and dashed."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"  # the same file from the same numbers
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 6.0), layout="constrained")
    colours = iter(plt.get_cmap("tab10").colors)
    greys = iter(("s", "^", "v", "D", "x", "+", "*"))
    for (who, method), (n, seconds) in series.items():
        slope = f" (N^{exponent(n, seconds):.2f})" if len(n) > 2 else ""
        style = (
            {"color": next(colours), "marker": "o"}
            if who == "poe"
            else {"color": "0.45", "marker": next(greys), "linestyle": "--", "linewidth": 1.0}
        )
        axes.plot(n, seconds, label=f"{who}: {method}{slope}", markersize=4, **style)
    axes.set(xscale="log", yscale="log", xlabel="items N, ten comparisons an item")
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def exponent(n: np.ndarray, seconds: np.ndarray) -> float:
    """Slope of log time against log N through the three largest N; below, overhead counts."""
    return float(np.polyfit(np.log(n[-3:]), np.log(seconds[-3:]), 1)[0])


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A table, without the columns that are empty and have a title."""
    kept = [k for k, title in enumerate(head) if not title or any(line[k] for line in lines)]
    rows = [[line[k] for k in kept] for line in (head, ["---"] * len(head), *lines)]
    return "\n".join("| " + " | ".join(cell or " " for cell in row) + " |" for row in rows)


def _unit(value: float, unit: str) -> str:
    return _time(value) if unit == "s" else f"{value:.3g} {unit}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (600.0, 1.0, "s")):
        if seconds < limit:
            return f"{_three(seconds * factor)} {unit}"
    return f"{_three(seconds / 60)} min" if seconds < 36_000 else f"{_three(seconds / 3600)} h"


def _three(value: float) -> str:
    """Three digits, never as a power of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
