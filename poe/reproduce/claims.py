"""The papers' claims, held against each kind of number.

A claim is a sentence of a paper that asserts something checkable, in our own words, with the number
that decides and the limits within which the claim holds (data/claims.toml). The same measure is
taken of the published cells, of ours where twins or a measured judge made them, and of what
language models answered in others' experiments. Where numbers are missing that could turn the
answer, the claim cannot be checked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from poe._paths import data_dir
from poe.reproduce import curve_claims
from poe.reproduce.published import load
from poe.reproduce.results import read
from poe.reproduce.targets import ALIASES, of_table

Verdict = Literal["holds", "does not hold", "cannot be checked"]
EVIDENCE = ("published", "simulated", "recorded", "measured")
FAR = 1e6  # size of what stands for a missing number: if it matters, the measure moves
FILLS = 8
SAFE = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len, "round": round}
# Table 3's K counts pairs in both orders; recorded judges' curves count calls.
RECORDED_K = {10: "5N", 20: "10N", 40: "20N", 100: "50N"}
STORIES = 1056


@dataclass(frozen=True)
class Claim:
    """One entry of data/claims.toml, whose comments say what each field means."""

    id: str
    paper: str
    place: str
    claim: str
    targets: tuple[str, ...]
    measure: str
    evidence: tuple[str, ...]
    at_least: float = -np.inf
    at_most: float = np.inf
    recipe: str = ""

    def holds(self, value: float) -> bool:
        """Whether the measure lies within the limits, ends included."""
        return bool(self.at_least <= round(value, 6) <= self.at_most)


@cache
def entries() -> tuple[Claim, ...]:
    """All claims, in the order of the file."""
    with (data_dir() / "claims.toml").open("rb") as file:
        rows = tomllib.load(file)["claim"]
    known = Claim.__dataclass_fields__
    return tuple(_claim({key: row[key] for key in row if key in known}) for row in rows)


def _claim(row: dict[str, Any]) -> Claim:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Claim(**fields)


def evaluate(claims: Sequence[Claim] | None = None) -> pd.DataFrame:
    """One row a claim and kind of number it names.

    Columns: id, paper, place, claim, measure, evidence, value (NaN where it cannot be checked),
    verdict, shown (the value and the limits in a few words).
    """
    rows = []
    for claim in entries() if claims is None else claims:
        for evidence in claim.evidence:
            value = measured(claim, evidence)
            verdict: Verdict = "cannot be checked"
            if np.isfinite(value):
                verdict = "holds" if claim.holds(value) else "does not hold"
            rows.append(
                {
                    "id": claim.id,
                    "paper": claim.paper,
                    "place": claim.place,
                    "claim": claim.claim,
                    "measure": claim.measure,
                    "evidence": evidence,
                    "value": value,
                    "verdict": verdict,
                    "shown": _shown(claim, value),
                }
            )
    return pd.DataFrame(rows)


def measured(claim: Claim, evidence: str) -> float:
    """The number that decides, NaN where it cannot be had."""
    if not claim.recipe:
        return _from_curves(claim, evidence)
    parts = [_cells(target, evidence) for target in claim.targets]
    if any(part is None for part in parts):
        return np.nan
    cells = pd.concat([part for part in parts if part is not None], ignore_index=True)
    missing = cells["number"].isna() & cells["printed"]
    if not missing.any():
        return run_recipe(claim.recipe, cells)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(FILLS):  # different numbers in every cell, or missing cells would cancel
        fill = pd.Series(FAR * rng.standard_normal(len(cells)), index=cells.index)
        filled = cells.assign(number=cells["number"].where(~missing, fill))
        values.append(run_recipe(claim.recipe, filled))
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


def _cells(target: str, evidence: str) -> pd.DataFrame | None:
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
    ours = ours[ours["kind"] == evidence]
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


def _from_curves(claim: Claim, evidence: str) -> float:
    measure: Callable[[dict[str, pd.DataFrame], str], float] | None
    measure = curve_claims.MEASURES.get(claim.id)
    if measure is None:
        return np.nan
    found: dict[str, pd.DataFrame] = {}
    for target in claim.targets:
        found.update(_curves(target.partition("/")[0], target.partition("/")[2], evidence))
    if not found:
        return np.nan
    try:
        return float(measure(found, evidence))
    except (KeyError, ValueError, IndexError, ZeroDivisionError):
        return np.nan


def _curves(paper: str, name: str, evidence: str) -> dict[str, pd.DataFrame]:
    """Results by panel. A figure's name stands for all its panels."""
    if evidence == "recorded":
        known = curve_claims.RECORDED
        tables = {key: read(key) for key in known}
        return {
            key: table
            for key, table in tables.items()
            if table is not None and set(table["kind"]) == {"recorded"}
        }
    prefix = {"poe_v1": "v1-", "comparative_assessment": "comparative-"}.get(paper, "")
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


def _shown(claim: Claim, value: float) -> str:
    limits = []
    if np.isfinite(claim.at_least):
        limits.append(f"at least {claim.at_least:g}")
    if np.isfinite(claim.at_most):
        limits.append(f"at most {claim.at_most:g}")
    number = f"{value:.4g}" if np.isfinite(value) else "no number"
    return f"{number} ({', '.join(limits)})"


def overview(paper: str | None = None) -> pd.DataFrame:
    """One row a claim: id, paper, place, claim, and for each kind of number verdict and value.

    Columns `published`, `simulated`, `recorded`, `measured` hold the value in words, the same
    names with " verdict" the verdict; empty where the claim does not name that kind.
    """
    long = evaluate([c for c in entries() if paper in (None, c.paper)])
    rows: list[dict[str, Any]] = []
    for id_, group in long.groupby("id", sort=False):
        first = group.iloc[0]
        row = {key: first[key] for key in ("paper", "place", "claim", "measure")}
        row["id"] = id_
        for kind in EVIDENCE:
            one = group[group["evidence"] == kind]
            row[kind] = one["shown"].iloc[0] if len(one) else ""
            row[f"{kind} verdict"] = one["verdict"].iloc[0] if len(one) else ""
        rows.append(row)
    return pd.DataFrame(rows)


MAIN = {  # the sentences about Table 1 that carry the paper, and how their number is written
    "v2-fifth-within-2": "{:.0f} of 5",
    "v2-win-ratio-loses-10": "{:.1f} at most",
    "v2-avg-prob-beats-win-ratio": "{:+.1f} at least",
    "v2-soft-beats-avg-prob": "{:+.1f} at least",
    "v2-gaussian-bt-alike-soft": "{:.1f} at most",
    "v2-full-within-1": "{:.1f} at most",
}


def claims() -> pd.DataFrame:
    """The main claims about Table 1: claim, place, published and ours as text, whether each holds.

    Ours is the committed Table 1, of the kind in the column `kind`.
    """
    by_id = {claim.id: claim for claim in entries()}
    ours = read("table1")
    kind = "simulated" if ours is None else str(ours["kind"].iloc[0])
    rows = []
    for id_, show in MAIN.items():
        claim = by_id[id_]
        theirs, mine = measured(claim, "published"), measured(claim, kind)
        rows.append(
            {
                "claim": claim.claim,
                "place": claim.place,
                "published": show.format(theirs),
                "published holds": claim.holds(theirs),
                "ours": show.format(mine),
                "ours holds": claim.holds(mine),
                "kind": kind,
            }
        )
    return pd.DataFrame(rows)
