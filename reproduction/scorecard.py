"""The scorecard: every printed cell, ours beside it, and what to think of the difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from poe._paths import data_dir
from reproduction.causes import UNCOMPARED, explain
from reproduction.published import PAPERS
from reproduction.results import VERDICTS, compare, read
from reproduction.targets import of_table

COMMANDS = {
    table: target.command
    for table in PAPERS["poe_v2"]
    if (target := of_table("poe_v2", table)) is not None
}


def scorecard(paper: str = "poe_v2") -> pd.DataFrame:
    """One row for each published cell of a paper (468 of poe_v2).

    Columns of `compare`, and table, command, and what `causes.explain` adds: cause (of a
    deviation), left and reason (why a cell was not attempted), empty where they do not apply.
    """
    parts = []
    for table in PAPERS[paper]:
        target = of_table(paper, table)
        rows = compare(table, read(target.result) if target else None, paper=paper)
        rows.insert(1, "table", table)
        rows["command"] = target.command if target else ""
        parts.append(rows)
    return explain(pd.concat(parts, ignore_index=True))


def everything() -> pd.DataFrame:
    """The scorecards of all papers, one after the other, with the column `paper`."""
    return pd.concat([scorecard(p).assign(paper=p) for p in PAPERS], ignore_index=True)


def predictions(card: pd.DataFrame) -> pd.DataFrame:
    """Cells that are compared and that a twin predicts, on real labels.

    Cells used to calibrate a twin, implied by one that was, or looked at when the twins were
    designed are left out, and so are cells of which the printed value cannot be read.
    """
    role = card["role"].isin(["predicted", "held out"])
    return card[role & (card["labels"] == "real") & ~card["verdict"].isin(UNCOMPARED)]


def totals(card: pd.DataFrame, *, by: str = "table") -> pd.DataFrame:
    """Numbers of cells by table (or paper, kind) and verdict, with a last row for all."""
    order = list(dict.fromkeys(card[by]))
    counts = pd.crosstab(card[by], card["verdict"]).reindex(order)
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    counts.loc["all"] = counts.sum()
    counts.insert(0, "cells", counts.sum(axis=1))
    return counts


def errors(card: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute difference by table over cells that are predictions on real labels.

    One row a table and role ("predicted", "held out"): cells, error; see `predictions`.
    """
    rows = predictions(card)
    grouped = rows.assign(error=rows["difference"].abs()).groupby(["table", "role"], sort=False)
    return grouped["error"].agg(["size", "mean"]).set_axis(["cells", "error"], axis=1).reset_index()


def error_of(card: pd.DataFrame, *, tables: tuple[str, ...], k: tuple[str, ...] = ()) -> float:
    """Mean absolute difference over the predictions of some tables, and rows of K."""
    rows = predictions(card)
    rows = rows[rows["table"].isin(tables)]
    if k:
        rows = rows[rows["k"].astype(str).isin(k)]
    return float(rows["difference"].abs().mean()) if len(rows) else float("nan")


def worsened(card: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """Cells whose verdict is worse than in the baseline, or that have disappeared."""
    order = {name: rank for rank, name in enumerate(VERDICTS)}
    now = card.set_index("id")["verdict"]
    rows = baseline.assign(now=baseline["id"].map(now).fillna("missing"))
    before = rows["verdict"].map(order)
    return rows[rows["now"].map(order).fillna(len(order)) > before]


def without_row(card: pd.DataFrame, ids: pd.Series) -> list[str]:
    """Published ids that have no row on the scorecard."""
    return sorted(set(ids) - set(card["id"]))


def baseline_path() -> Path:
    """The verdicts that CI holds the results to."""
    return data_dir() / "results" / "verdicts.csv"


def summary(card: pd.DataFrame) -> dict[str, float]:
    """The numbers of the at-a-glance line: cells, attempted, predicted and the mean error.

    A cell that cannot be read was not attempted: a comparison with nothing is none.
    """
    tried = card[~card["verdict"].isin(UNCOMPARED)]
    predicted = predictions(card)
    error = predicted["difference"].abs()
    return {
        "cells": len(card),
        "attempted": len(tried),
        "predicted": len(predicted),
        "error": float(error.mean()) if len(error) else np.nan,
        "within_one": float((error < 1.0).mean()) if len(error) else np.nan,
    }
