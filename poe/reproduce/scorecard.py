"""The scorecard: every printed cell, ours beside it, and what to think of the difference."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from poe._paths import data_dir
from poe.reproduce.published import TABLES
from poe.reproduce.results import VERDICTS, compare, read

COMMANDS = {"table1": "poe reproduce table1"}

# What is known of deviations, by the beginning of the id and the method. Everything else
# that deviates has the cause the default gives: none is known.
CAUSES = {
    ("poe_v2/table1/Mistral-7B/K48/", "avg-prob"): "one sharpness for all twins: Mistral's "
    "printed gain from probabilities is that of a judge close to certainty (Table 1 page)",
    ("poe_v2/table1/Mistral-7B/K48/", "PoE-g"): "one sharpness for all twins: Mistral's "
    "printed gain from probabilities is that of a judge close to certainty (Table 1 page)",
    ("poe_v2/table1/Mistral-7B/K48/", "PoE-BT"): "cause unknown: a sharper twin explains "
    "avg-prob and PoE-g but not this cell (Table 1 page)",
}


def scorecard() -> pd.DataFrame:
    """One row for each of the 468 published cells; columns of `compare`, table and command."""
    parts = []
    for table in TABLES:
        rows = compare(table, read(table))
        rows.insert(1, "table", table)
        rows["command"] = COMMANDS.get(table, "")
        parts.append(rows)
    card = pd.concat(parts, ignore_index=True)
    card["cause"] = [
        _cause(id_, method) if found == "deviates" else ""
        for id_, method, found in zip(card["id"], card["method"], card["verdict"], strict=True)
    ]
    return card


def _cause(id_: str, method: str) -> str:
    for (start, name), text in CAUSES.items():
        if id_.startswith(start) and method == name:
            return text
    return "cause unknown"


def totals(card: pd.DataFrame) -> pd.DataFrame:
    """Numbers of cells by table and verdict, with a last row for all tables."""
    counts = pd.crosstab(card["table"], card["verdict"])
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    counts.loc["all"] = counts.sum()
    counts.insert(0, "cells", counts.sum(axis=1))
    return counts


def worsened(card: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """Cells whose verdict is worse than in the baseline, or that have disappeared."""
    order = {name: rank for rank, name in enumerate(VERDICTS)}
    now = card.set_index("id")["verdict"]
    rows = baseline.assign(now=baseline["id"].map(now).fillna("missing"))
    before = rows["verdict"].map(order)
    return rows[rows["now"].map(order).fillna(len(order)) > before]


def baseline_path() -> Path:
    """The verdicts that CI holds the results to."""
    return data_dir() / "results" / "verdicts.csv"
