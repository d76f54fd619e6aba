"""The judge's benchmark as a page: what was measured, and what a whole experiment takes by it."""

from __future__ import annotations

import re
from typing import Any

CALLS = 96_000  # SummEval: 100 articles, 16 x 15 ordered pairs of summaries, 4 attributes
PUBLISHED = 4.0  # GPU hours, stated in the paper for Llama2-7B: an hour an attribute on an L40
FEWER, FASTER, SHARE = 10.0, 8.0, 0.45


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def text(result: dict[str, Any]) -> str:
    parts = [_head(result), _table(result), _goals(result), _run(result), _arithmetic(result)]
    return "\n\n".join(part for part in parts if part) + "\n"


def best(rows: list[dict[str, Any]], shape: str, way: str) -> dict[str, Any] | None:
    """The fastest of a shape asked in one way, over the sizes that were tried."""
    found = [row for row in rows if row["shape"] == shape and row["way"] == way]
    return max(found, key=lambda row: row["calls_per_second"], default=None)


def _head(result: dict[str, Any]) -> str:
    lengths, load = result["lengths"], result["load_average"]
    return (
        "# How fast a language model judges\n\n"
        "Written by `python -m benchmarks.judge` (`make bench-judge`); do not edit. Models of "
        "these shapes with random weights: what they answer is noise, how long it takes is "
        "measured. Prompts have SummEval's shape: an article of "
        f"{lengths['article']} tokens, {lengths['summaries']} summaries of "
        f"{lengths['summary']}, {lengths['questions']} questions of {lengths['question']}; every "
        "word is a token. Writing and tokenising the prompts is included.\n\n"
        f"{result['device']}, {result['dtype']}, torch {result['torch']}, transformers "
        f"{result['transformers']}; {_seconds(result)}load average "
        f"{load['before']} before and {load['after']} after (a quiet machine starts "
        f"near 0); {result['date']}. A product of two square matrices reaches "
        f"{result['matmul_tflops']:.3g} TFLOP/s here. TFLOP/s below count what the answers need: "
        "not padding, not what a mask hides. Of the repeats the fastest counts."
    )


def _seconds(result: dict[str, Any]) -> str:
    if any(row["peak_memory_gb"] is not None for row in result["rows"]):
        return ""
    return "one thread, and seconds are those the processor spent on it, not those on the wall; "


def _table(result: dict[str, Any]) -> str:
    lines = []
    for row in result["rows"]:
        lines.append(
            [
                row["shape"],
                row["way"],
                "" if row["size"] in (None, 1) else f"{row['size']:,}",
                f"{row['calls']:,}",
                _three(row["calls_per_second"]),
                f"{row['computed'] / row['calls']:.1f}",
                _three(row["tflops"]),
                f"{row['tflops'] / result['matmul_tflops']:.0%}",
                "" if row["peak_memory_gb"] is None else f"{row['peak_memory_gb']:.1f}",
            ]
        )
    head = ["shape", "prompts", "tokens at once", "calls", "calls/s", "tokens computed a call"]
    head += ["TFLOP/s", "of the peak", "memory, GB"]
    kept = [k for k in range(len(head)) if any(line[k] for line in lines)]
    return _markdown([head[k] for k in kept], [[line[k] for k in kept] for line in lines])


def _goals(result: dict[str, Any]) -> str:
    rows, lines = result["rows"], []
    for shape in dict.fromkeys(row["shape"] for row in rows):
        alone, batched = best(rows, shape, "one at a time"), best(rows, shape, "batched")
        shared = best(rows, shape, "prefix-shared")
        if alone and batched:
            share = batched["tflops"] / result["matmul_tflops"]
            lines.append([shape, "batched: share of the peak", SHARE, share, "{:.0%}"])
        if alone and shared:
            fewer = shared["tokens"] / shared["computed"]
            faster = shared["calls_per_second"] / alone["calls_per_second"]
            lines.append([shape, "shared: fewer tokens", FEWER, fewer, "{:.1f} times"])
            lines.append(
                [
                    shape,
                    "shared: more calls a second than one at a time",
                    FASTER,
                    faster,
                    "{:.1f} times",
                ]
            )
    on_gpu = any(row["peak_memory_gb"] is not None for row in rows)
    return "## Goals set beforehand, for a GPU\n\n" + _markdown(
        ["shape", "", "at least", "measured", ""],
        [
            [
                shape,
                what,
                form.format(least),
                form.format(value),
                _met(value >= least) if on_gpu else "",
            ]
            for shape, what, least, value, form in lines
        ],
    )


def _run(result: dict[str, Any]) -> str:
    rows, lines = result["rows"], []
    for shape in dict.fromkeys(row["shape"] for row in rows):
        for way in ("one at a time", "batched", "prefix-shared"):
            if row := best(rows, shape, way):
                lines.append([shape, way, _hours(CALLS / row["calls_per_second"])])
    return (
        f"## All of SummEval: {CALLS:,} calls, by these rates\n\n"
        f"The paper states {PUBLISHED:.0f} GPU hours for Llama2-7B, an hour an attribute on an L40 "
        "(published). Only a row of that shape, and with the device in mind, compares with it.\n\n"
        + _markdown(["shape", "prompts", "time"], lines)
    )


def _arithmetic(result: dict[str, Any]) -> str:
    lines = [
        [
            row["shape"],
            f"{row['tokens'] / 1e6:.1f}",
            "" if row["tokens_shared"] is None else f"{row['tokens_shared'] / 1e6:.2f}",
            _three(row["pflop"]),
            "" if row["pflop_shared"] is None else _three(row["pflop_shared"]),
        ]
        for row in result["arithmetic"]
    ]
    return (
        "## What it takes by counting\n\nAll of SummEval in numbers, for the papers' shapes; "
        "counted, nothing was run. Millions of tokens and PFLOP (10^15 operations), each prompt "
        "alone and with prefixes shared (an encoder-decoder cannot).\n\n"
        + _markdown(["shape", "tokens", "shared", "PFLOP", "shared"], lines)
    )


def _met(value: float, least: float) -> str:
    return "met" if value >= least else "not met"


def _hours(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell or " " for cell in row) + " |" for row in rows)
