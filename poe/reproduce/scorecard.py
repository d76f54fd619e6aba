"""The scorecard: every printed cell, ours beside it, and what to think of the difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from poe._paths import data_dir
from poe.reproduce.published import PAPERS
from poe.reproduce.results import VERDICTS, compare, read
from poe.reproduce.targets import of_table

COMMANDS = {
    table: target.command
    for table in PAPERS["poe_v2"]
    if (target := of_table("poe_v2", table)) is not None
}

# What is known of deviations: (beginning of the id, what else it contains, cause). The first
# that fits counts; everything else that deviates has the cause the default gives: none is known.
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        "poe_v",
        "Mistral-7B/.*PoE-BT",
        "its twin is sharp and nearly free of noise, and the optimum of Bradley-Terry reads the "
        "logits behind probabilities near 0 and 1; an iteration stopped early, as the paper's "
        "may have been, does not, and changes no other judge (target diagnosis-zermelo); the "
        "rest of the difference is unexplained",
    ),
    (
        "poe_v2/table6",
        "",
        "Pearson's correlation depends on the shape of what the judge perceives, for which all "
        "twins share one number; the rank correlations of the same runs agree",
    ),
    ("poe_v1/table3", "", "as poe_v2's Table 6: the shape of what the judge perceives"),
    (
        "poe_v2/table9",
        "PAIRS-beam",
        "neither the beam nor the use of both orders is stated, and a twin's errors are "
        "independent, which suits a sort",
    ),
    (
        "poe_v2/table9",
        "G-Eval",
        "calibrated on the same scorer under the other paper's prompts, which does better",
    ),
    (
        "comparative_assessment/table3",
        "",
        "one bias for two prompts: the more biased prompt loses more than the mean bias does",
    ),
    (
        "comparative_assessment/table6",
        "standard",
        "one bias for two prompts: the more biased prompt loses more than the mean bias does",
    ),
    (
        "comparative_assessment/table5",
        "",
        "the twin has one bias, the mean of the two prompts that are printed apart",
    ),
    (
        "comparative_assessment/table9",
        "",
        "the twin has one bias, the mean of the two prompts that are printed apart",
    ),
    ("comparative_assessment/table1/", "", "one bias for two prompts, as in Table 6"),
)

# Why a cell was not attempted: (beginning of the id, pattern, reason).
REASONS: tuple[tuple[str, str, str], ...] = (
    (
        "poe_v2/table9",
        "G-Eval",
        "nothing but the cell itself is printed to calibrate an absolute scorer on",
    ),
    ("poe_v1", "ChatGPT", "no number of the full set is printed for this judge"),
    ("comparative_assessment/table2", "", "the podcasts are not public in a form that can be had"),
    ("comparative_assessment/table4", "", "WebNLG's labels are not at hand"),
    ("comparative_assessment", "WebNLG", "WebNLG's labels are not at hand"),
    ("comparative_assessment", "Podcast", "the podcasts are not at hand"),
    ("comparative_assessment", "FlanT5-220M|FlanT5-770M", "no accuracy to calibrate on is printed"),
    ("comparative_assessment", "/baseline|GPTScore", "quoted from other work; not a comparison"),
    (
        "comparative_assessment",
        "prompt-scoring|G-Eval",
        "the model scores texts alone, and nothing but the cell is printed to calibrate on",
    ),
    ("comparative_assessment", "mean|average", "a mean over data sets of which one is not at hand"),
    ("skill_aggregation", "", "its judges' answers are not public; the methods are tested apart"),
)


def scorecard(paper: str = "poe_v2") -> pd.DataFrame:
    """One row for each published cell of a paper (468 of poe_v2).

    Columns of `compare`, and table, command, cause (of a deviation) and reason (why a cell was
    not attempted), empty where they do not apply.
    """
    parts = []
    for table in PAPERS[paper]:
        target = of_table(paper, table)
        rows = compare(table, read(target.result) if target else None, paper=paper)
        rows.insert(1, "table", table)
        rows["command"] = target.command if target else ""
        parts.append(rows)
    card = pd.concat(parts, ignore_index=True)
    card["cause"] = _explain(card, "deviates", CAUSES, "cause unknown")
    card["reason"] = _explain(card, "not attempted", REASONS, "no twin of this judge")
    return card


def everything() -> pd.DataFrame:
    """The scorecards of all papers, one after the other, with the column `paper`."""
    return pd.concat([scorecard(p).assign(paper=p) for p in PAPERS], ignore_index=True)


def _explain(
    card: pd.DataFrame, verdict: str, known: tuple[tuple[str, str, str], ...], default: str
) -> pd.Series:
    found = pd.Series(default, index=card.index)
    for start, pattern, text in reversed(known):
        fits = card["id"].str.startswith(start) & card["id"].str.contains(pattern, regex=True)
        found[fits] = text
    return found.where(card["verdict"] == verdict, "")


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

    One row a table and role ("predicted", "held out"): cells, error. Cells used to calibrate a
    twin, implied by one that was, or looked at when the twins were designed are left out.
    """
    rows = card[card["role"].isin(["predicted", "held out"]) & (card["labels"] == "real")]
    grouped = rows.assign(error=rows["difference"].abs()).groupby(["table", "role"], sort=False)
    return grouped["error"].agg(["size", "mean"]).set_axis(["cells", "error"], axis=1).reset_index()


def error_of(card: pd.DataFrame, *, tables: tuple[str, ...], k: tuple[str, ...] = ()) -> float:
    """Mean absolute difference over the predictions of some tables, and rows of K."""
    rows = card[card["role"].isin(["predicted", "held out"]) & (card["labels"] == "real")]
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
    """The numbers of the at-a-glance line: cells, attempted, predicted and the mean error."""
    tried = card[card["verdict"] != "not attempted"]
    predicted = tried[tried["role"].isin(["predicted", "held out"]) & (tried["labels"] == "real")]
    error = predicted["difference"].abs()
    return {
        "cells": len(card),
        "attempted": len(tried),
        "predicted": len(predicted),
        "error": float(error.mean()) if len(error) else np.nan,
        "within_one": float((error < 1.0).mean()) if len(error) else np.nan,
    }
