"""The papers' claims, held against each kind of number.

A claim is a sentence of a paper that asserts something checkable, in our own words, with the number
that decides and the limits within which the claim holds (data/claims.toml). The same measure is
taken of the published cells, of ours where twins or a measured judge made them, and of what
language models answered in others' experiments. Where numbers are missing that could turn the
answer, the claim cannot be checked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from poe._paths import data_dir
from reproduction import aggregation_claims, claim_numbers
from reproduction.results import read

Verdict = Literal["holds", "does not hold", "cannot be checked"]
EVIDENCE = ("published", "simulated", "recorded", "measured")


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
    if evidence == "recorded" and claim.id in aggregation_claims.RECORDED:
        return aggregation_claims.on_recorded(claim.id, read("recorded-aggregation"))
    if claim.recipe:
        return claim_numbers.of_recipe(claim.recipe, claim.targets, evidence)
    return claim_numbers.of_measure(claim.id, claim.targets, evidence)


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
