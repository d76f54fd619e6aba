"""The numbers that decide a claim, from published cells or from results of one kind.

A claim about tables has a recipe, one expression on the cells; a claim about curves, or about
results that no table prints, has a measure in `MEASURES`. Where numbers are missing that could turn
the answer there is no number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from reproduction import aggregation_claims, curve_claims
from reproduction.published import load
from reproduction.results import read
from reproduction.targets import ALIASES, of_table

Measure = Callable[[dict[str, pd.DataFrame], str], float]

# Measures by the claim's id, from every module that has some: results by name and the kind of
# evidence in, the number that decides out.
MEASURES: dict[str, Measure] = {**curve_claims.MEASURES, **aggregation_claims.MEASURES}

PREFIXES = {
    "poe_v1": "v1-",
    "comparative_assessment": "comparative-",
    "skill_aggregation": "skill-",
}
FAR = 1e6  # size of what stands for a missing number: if it matters, the measure moves
FILLS = 8
SAFE = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len, "round": round}
# Table 3's K counts pairs in both orders; recorded judges' curves count calls.
RECORDED_K = {10: "5N", 20: "10N", 40: "20N", 100: "50N"}
STORIES = 1056


def of_recipe(recipe: str, targets: tuple[str, ...], evidence: str) -> float:
    """The recipe's number on the targets' cells, NaN where it cannot be had."""
    parts = [cells_of(target, evidence) for target in targets]
    if any(part is None for part in parts):
        return np.nan
    cells = pd.concat([part for part in parts if part is not None], ignore_index=True)
    missing = cells["number"].isna() & cells["printed"]
    if not missing.any():
        return run_recipe(recipe, cells)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(FILLS):  # different numbers in every cell, or missing cells would cancel
        fill = pd.Series(FAR * rng.standard_normal(len(cells)), index=cells.index)
        filled = cells.assign(number=cells["number"].where(~missing, fill))
        values.append(run_recipe(recipe, filled))
    return values[0] if len(set(values)) == 1 else np.nan


def run_recipe(recipe: str, cells: pd.DataFrame) -> float:
    """Evaluate the expression of a claim on cells; NaN where it cannot be evaluated."""

    def by(*columns: str) -> pd.DataFrame:
        index = ["table", "system", "dataset", "attribute"]
        keys = [*[name for name in index if name not in columns], *columns]
        return cells.set_index(keys)["number"].unstack(list(columns))

    names = {"cells": cells, "by": by, "np": np, "pd": pd, "__builtins__": SAFE}
    try:
        return float(eval(recipe, names))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        return np.nan


def cells_of(target: str, evidence: str) -> pd.DataFrame | None:
    """Printed cells with ours in place of `number`; None where there is nothing of that kind."""
    paper, _, table = target.partition("/")
    cells = load(table, paper=paper)
    cells["printed"] = cells["number"].notna()
    if evidence == "published":
        return cells
    if evidence == "recorded":
        return _recorded_cells(target)
    at = of_table(paper, table)
    ours = read(at.result) if at else None
    if ours is None:
        return None
    ours = ours[ours["kind"] == evidence].dropna(subset="id")
    if ours.empty:
        return None
    number = cells["id"].map(ours.set_index("id")["value"])
    return cells.assign(number=number)


def _recorded_cells(target: str) -> pd.DataFrame | None:
    """What recorded judges have to say in the shape of a table; None where nothing."""
    if target == "poe_v2/table3":
        return _recorded_large(read("recorded-hanna"))
    if target in ("comparative_assessment/table5", "comparative_assessment/table7"):
        return _recorded_verdicts(read("recorded-llmbar"), target.rpartition("/")[2])
    return None


def _recorded_large(curves: pd.DataFrame | None) -> pd.DataFrame | None:
    """HANNA's judges as Table 3."""
    if curves is None or set(curves["kind"]) != {"recorded"}:
        return None
    times = (curves["k"] / STORIES).round().astype(int)
    rows = curves.assign(k=times.map(RECORDED_K), table="table3", number=curves["value"])
    rows = rows[rows["k"].notna() & rows["method"].isin(["avg-prob", "PoE-BT"])]
    return rows.assign(dataset="HANNA", printed=True).reset_index(drop=True)


def _recorded_verdicts(found: pd.DataFrame | None, table: str) -> pd.DataFrame | None:
    """LLMBar's judges as first-position rates, or accuracies of one order and of both."""
    if found is None or set(found["kind"]) != {"recorded"}:
        return None
    names = {"first-position": "standard"} if table == "table5" else {}
    names = names or {"accuracy": "standard", "both-orders": "debiased"}
    rows = found[found["method"].isin(list(names))]
    scale = 100.0 if table == "table5" else 1.0
    return rows.assign(
        method=rows["method"].map(names), number=rows["value"] / scale, table=table, printed=True
    ).reset_index(drop=True)


def of_measure(id_: str, targets: tuple[str, ...], evidence: str) -> float:
    """The measure's number on the targets' results, NaN where it cannot be had."""
    measure = MEASURES.get(id_)
    if measure is None:
        return np.nan
    found: dict[str, pd.DataFrame] = {}
    for target in targets:
        found.update(curves_of(target.partition("/")[0], target.partition("/")[2], evidence))
    if not found:
        return np.nan
    try:
        return float(measure(found, evidence))
    except (KeyError, ValueError, IndexError, ZeroDivisionError):
        return np.nan


def curves_of(paper: str, name: str, evidence: str) -> dict[str, pd.DataFrame]:
    """Results by panel. A figure's name stands for all its panels."""
    if evidence == "recorded":
        known = curve_claims.RECORDED
        tables = {key: read(key) for key in known}
        return {
            key: table
            for key, table in tables.items()
            if table is not None and set(table["kind"]) == {"recorded"}
        }
    prefix = PREFIXES.get(paper, "")
    name = ALIASES.get(f"{prefix}{name}", f"{prefix}{name}")
    table = read(name)
    tables = {name: table} if table is not None else {}
    for letter in "abcdef" if table is None else "":
        tables[f"{name}{letter}"] = read(f"{name}{letter}")
    return {
        key: found
        for key, found in tables.items()
        if found is not None and set(found["kind"]) == {evidence}
    }
