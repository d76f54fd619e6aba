"""What `poe rank` prints and writes."""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from poe.judges.ranking import TextRanking
from poe.report import facts, report
from poe.report.diagnosis import rate_in_words
from poe.report.document import judge_name, kind
from poe.report.sections import percent, percent_level, places

SHOWN = 20  # rows of a table on a screen; a longer one is cut in the middle
WIDEST = 40  # characters of an id


def show(found: Sequence[TextRanking]) -> None:
    """The tables and what to know about them."""
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of an id
        sys.stdout.reconfigure(errors="replace")
    for one in found:
        if len(found) > 1:
            print(f"\nContext {one.name}")
        print(_table(one))
        print(_diagnosis(one))
    print(_judge(found))
    for note in dict.fromkeys(note for one in found for note in one.notes):
        print(f"Note: {note}.")
    print(
        "Intervals take the judge's answers as given: not how well it agrees with people, and not "
        "mistakes it makes every time."
    )


def _table(found: TextRanking) -> str:
    rows = found.scores()
    sure = percent_level(found.level)
    columns = {
        "rank": rows["rank"].astype(str),
        "id": rows["id"].map(lambda name: _shortened(str(name))),
        "score": rows["score"].map("{:+.2f}".format),
        f"ranks ({sure})": [
            places(low, high) for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)
        ],
        f"P(top {found.top})": rows["p_top"].map(percent),
    }
    table = pd.DataFrame(columns)
    if len(table) <= SHOWN + 5:
        return _aligned(table)
    gap = pd.DataFrame([["…"] * table.shape[1]], columns=table.columns)
    return _aligned(pd.concat([table[: SHOWN - 5], gap, table[-5:]]))


def _aligned(table: pd.DataFrame) -> str:
    """Columns two spaces apart, names to the left and numbers to the right."""
    lines = [list(table.columns), *table.to_numpy().tolist()]
    wide = [max(_width(line[k]) for line in lines) for k in range(len(lines[0]))]

    def cell(k: int, text: str) -> str:
        space = " " * (wide[k] - _width(text))
        return text + space if k == 1 else space + text

    return "\n".join("  ".join(cell(k, text) for k, text in enumerate(line)) for line in lines)


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide letter, none for an accent of its own."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _shortened(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= WIDEST else name[: WIDEST - 1] + "…"


def _diagnosis(found: TextRanking) -> str:
    at, mass = facts.position(found), facts.masses(found)
    bias = f"First position preferred: {rate_in_words(at.counted)}"
    if at.equal:
        bias += f"; between equal texts {rate_in_words(at.equal)}, corrected for"
    lines = [
        f"Stopped: {found.ranking.stopped_because}.",
        f"{bias}.",
        f"Label words: median mass {pd.Series(mass).median():.2g}, lowest {mass.min():.2g}.",
    ]
    agreement = found.agreement()
    if agreement:
        rho, r, n = agreement
        lines.append(
            f"Agreement with the {n} scores by people: Spearman {rho:.2f}, Pearson {r:.2f}."
        )
    return "\n".join(lines)


def _judge(found: Sequence[TextRanking]) -> str:
    calls = sum(len(one.judged.pairs) for one in found)
    new = sum(one.judged.new for one in found)
    tokens = sum(one.tokens for one in found)
    unit = "words" if kind(found[0]).startswith("simulated") else "tokens"
    return (
        f"Judge: {judge_name(found[0])}. {calls:,} comparisons, {tokens:,} {unit}; {new:,} asked "
        f"now, {max(calls - new, 0):,} from the store."
    )


def write(
    found: Sequence[TextRanking], options: argparse.Namespace, *, command: str, made: str
) -> list[Path]:
    """Write the files asked for, each whole or not at all; return their paths."""
    several = len(found) > 1

    def together(part: Callable[[TextRanking], pd.DataFrame]) -> str:
        tables = [part(one).assign(context=one.name) if several else part(one) for one in found]
        return str(pd.concat(tables).to_csv(index=False, lineterminator="\n"))

    if options.out:
        _write(options.out, together(TextRanking.scores))
    if options.comparisons:
        _write(options.comparisons, together(TextRanking.comparisons))
    if options.report:
        page = report(
            found, attribute=options.attribute, command=command, made=made, thing=options.thing
        )
        _write(options.report, page)
    return [path for path in (options.out, options.comparisons, options.report) if path]


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
