"""The papers' claims, held against each kind of number.

A claim is a sentence of a paper that asserts something checkable, in our own words, with the number
that decides and the limits within which the claim holds (data/claims.toml). The number is one
expression, its recipe, on the printed cells, on ours where twins or a measured judge made them, or
on what language models answered in others' experiments. Where numbers are missing that could turn
the answer, the claim cannot be checked.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from poe._paths import data_dir
from reproduction.measure import NAME as MODEL
from reproduction.published import NAMES, TEXTS, load
from reproduction.run import read
from reproduction.targets import find
from reproduction.twins import ATTRIBUTES
from reproduction.verdicts import PREFIXES

OUTCOMES = ("holds", "does not hold", "cannot be checked")
EVIDENCE = ("published", "simulated", "recorded", "measured")

FAR = 1e6  # size of what stands for a missing number: if it matters, the measure moves
FILLS = 8
BUILTINS = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len, "round": round}
# Table 3's K counts pairs in both orders; the curves of recorded judges count calls.
RECORDED_K = {10: "5N", 20: "10N", 40: "20N", 100: "50N"}
# The main claims about Table 1, which carry the paper, and how their number is written.
MAIN = {
    "v2-fifth-within-2": "{:.0f} of 5",
    "v2-win-ratio-loses-10": "{:.1f} at most",
    "v2-avg-prob-beats-win-ratio": "{:+.1f} at least",
    "v2-soft-beats-avg-prob": "{:+.1f} at least",
    "v2-gaussian-bt-alike-soft": "{:.1f} at most",
    "v2-full-within-1": "{:.1f} at most",
}


@dataclass(frozen=True)
class Claim:
    """One entry of data/claims.toml, whose comments say what each field means."""

    id: str
    paper: str
    place: str
    claim: str
    targets: list[str]
    measure: str
    evidence: list[str]
    recipe: str
    recorded: str = ""
    at_least: float = -np.inf
    at_most: float = np.inf
    judges: int = 1

    def measured(self, evidence: str) -> float:
        """The number that decides, NaN where it cannot be had."""
        recipe = self.recorded if evidence == "recorded" and self.recorded else self.recipe
        if all("/table" in target for target in self.targets):
            return on_cells(recipe, cells_of(self.targets, evidence))
        return on_curves(recipe, panels_of(self.targets, evidence), evidence)

    def limits(self, evidence: str = "published") -> dict[str, float]:
        """Between which numbers the claim holds; a count of judges falls with their number."""
        share = 1.0 / self.judges if evidence == "measured" and _one_model(self.targets) else 1.0
        return {"at least": share * self.at_least, "at most": share * self.at_most}

    def holds(self, value: float, evidence: str = "published") -> bool:
        """Whether the number lies within the limits, ends included."""
        low, high = self.limits(evidence).values()
        return bool(low <= round(value, 6) <= high)

    def verdict(self, value: float, evidence: str = "published") -> str:
        """One of `OUTCOMES`."""
        return OUTCOMES[2] if np.isnan(value) else OUTCOMES[not self.holds(value, evidence)]

    def shown(self, value: float, evidence: str = "published") -> str:
        """The number and the limits in a few words."""
        limits = self.limits(evidence)
        words = ", ".join(f"{name} {x:g}" for name, x in limits.items() if np.isfinite(x))
        return f"{f'{value:.4g}' if np.isfinite(value) else 'no number'} ({words})"


@cache
def all_claims() -> dict[str, Claim]:
    """All claims by id, in the order of the file."""
    entries = tomllib.loads((data_dir() / "claims.toml").read_text(encoding="utf-8"))["claim"]
    return {entry["id"]: Claim(**entry) for entry in entries}


def evaluate(*about: str) -> pd.DataFrame:
    """One row a claim and kind of number that it names.

    about : papers, tables and figures, such as "poe_v2/figure1c"; by default all claims are taken.
    Columns: id, paper, place, claim, measure, evidence, value (NaN where it cannot be checked),
    verdict, shown (the value and the limits in a few words).
    """
    chosen = [c for c in all_claims().values() if not about or {c.paper, *c.targets} & set(about)]
    if not chosen:
        raise ValueError(f"no claim is about {' or '.join(about)}")
    rows = []
    for claim in chosen:
        said = {key: getattr(claim, key) for key in ("id", "paper", "place", "claim", "measure")}
        for evidence in claim.evidence:
            value = claim.measured(evidence)
            found = {
                "verdict": claim.verdict(value, evidence),
                "shown": claim.shown(value, evidence),
            }
            rows.append({**said, "evidence": evidence, "value": value, **found})
    return pd.DataFrame(rows)


def overview(*about: str) -> pd.DataFrame:
    """One row a claim: id, paper, place, claim, measure, and each kind of number; see `evaluate`.

    Columns `published`, `simulated`, `recorded`, `measured` hold the value in words, the same
    names with " verdict" the verdict; empty where the claim does not name that kind.
    """
    long = evaluate(*about)
    table = long.drop_duplicates("id")[["id", "paper", "place", "claim", "measure"]]
    for kind in EVIDENCE:
        found = long[long["evidence"] == kind].set_index("id")
        for name, what in ((kind, "shown"), (f"{kind} verdict", "verdict")):
            table[name] = [found[what].get(id_, "") for id_ in table["id"]]
    return table.reset_index(drop=True)


def main_claims() -> pd.DataFrame:
    """The main claims about Table 1: claim, place, published and ours as text, whether each holds.

    Ours is the stored Table 1, of the kind in the column `kind`.
    """
    ours = read("table1")
    kind = "simulated" if ours is None else str(ours["kind"].iloc[0])
    rows = []
    for id_, form in MAIN.items():
        claim = all_claims()[id_]
        row: dict[str, object] = {"claim": claim.claim, "place": claim.place, "kind": kind}
        for side, evidence in (("published", "published"), ("ours", kind)):
            value = claim.measured(evidence)
            row |= {side: form.format(value), f"{side} holds": claim.holds(value)}
        rows.append(row)
    return pd.DataFrame(rows)


def accept(table: pd.DataFrame, folder: Path | None = None) -> Path:
    """Hold later runs to what `evaluate` gave; returns the file that has it."""
    path = (folder or data_dir() / "results") / "claims.csv"
    kept = table[["id", "evidence", "value", "verdict"]]
    kept.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return path


# ------------------------------------------------------------------ the numbers behind a recipe


def run(recipe: str, **names: Any) -> float:
    """Evaluate a recipe, NaN where something that it needs is not there.

    It reaches the names given, NumPy, pandas and a few builtins, nothing else.
    """
    try:
        return float(eval(recipe, {**names, "np": np, "pd": pd, "__builtins__": BUILTINS}))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError):
        return np.nan


def on_cells(recipe: str, cells: pd.DataFrame | None) -> float:
    """The number of a recipe about tables; NaN where a cell is missing that could turn it.

    Missing numbers are filled in several ways, with different ones in every cell, or they might
    cancel; where the measure moves, it needs them.
    """
    if cells is None:
        return np.nan
    missing = cells["number"].isna() & cells["printed"]
    if not missing.any():
        return _once(recipe, cells)
    rng = np.random.default_rng(0)
    values = set()
    for _ in range(FILLS):
        fill = pd.Series(FAR * rng.standard_normal(len(cells)), index=cells.index)
        values.add(_once(recipe, cells.assign(number=cells["number"].where(~missing, fill))))
    return values.pop() if len(values) == 1 else np.nan


def _once(recipe: str, cells: pd.DataFrame) -> float:
    def by(*columns: str) -> pd.DataFrame:
        index = ["table", "system", "dataset", "attribute"]
        keys = [*[name for name in index if name not in columns], *columns]
        return cells[[*keys, "number"]].set_index(keys)["number"].unstack(list(columns))

    return run(recipe, cells=cells, by=by)


def on_curves(recipe: str, panels: list[pd.DataFrame], evidence: str) -> float:
    """The number of a recipe about figures; the names that it may use are in data/claims.toml."""

    def table() -> pd.DataFrame:
        (only,) = panels
        return only

    def line(
        method: str, selection: str = "", bias: str = "none", *, of: pd.DataFrame | None = None
    ) -> pd.Series:
        rows = table() if of is None else of
        rows = rows[(rows["method"] == method) & (rows["bias"] == bias)]
        rows = rows[rows["selection"] == selection] if selection else rows
        if rows.empty:
            raise KeyError(f"no curve of {method} {selection} {bias}")
        return rows.set_index("k")["value"].sort_index()

    def texts(of: pd.DataFrame | None = None) -> int:
        return TEXTS[str((table() if of is None else of)["dataset"].iloc[0])]

    def needed(curve: pd.Series) -> int:
        return int(curve.index[curve >= curve.iloc[-1] - 1.0][0])

    def result(name: str) -> pd.DataFrame | None:
        return _result(name, evidence)

    if not panels:
        return np.nan
    return run(
        recipe, panels=panels, table=table, line=line, texts=texts, needed=needed, result=result
    )


def cells_of(targets: list[str], evidence: str) -> pd.DataFrame | None:
    """The cells of some tables, with ours in place of `number` unless the print is asked for.

    The column `printed` says where the paper has a number. None where there is nothing of a kind.
    """
    parts = [_cells(*target.split("/"), evidence=evidence) for target in targets]
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    return pd.concat(there, ignore_index=True).drop_duplicates(ignore_index=True)


def _cells(paper: str, table: str, *, evidence: str) -> pd.DataFrame | None:
    if evidence == "recorded":
        return _recorded(f"{paper}/{table}")
    cells = load(table, paper=paper)
    cells["printed"] = cells["number"].notna()
    if evidence == "published":
        return cells
    ours = read(f"{PREFIXES[paper]}{table}")
    if evidence == "measured" and _one_model([f"{paper}/{table}"]):
        return _measured(cells, f"{paper}/{table}")
    if ours is None or evidence not in set(ours["kind"]):
        return None
    ours = ours[ours["kind"] == evidence].dropna(subset="id")
    return cells.assign(number=cells["id"].map(ours.set_index("id")["value"]))


def _recorded(target: str) -> pd.DataFrame | None:
    """What recorded judges have to say in the shape of a table's cells; None where nothing.

    HANNA's judges stand for those of poe_v2's Table 3, LLMBar's for the first-position rates and
    accuracies of comparative_assessment; LLMBar's panels for skill_aggregation's, asked in one
    order (Table 1) or in both (Table 2), with sets and prompts in the place of tasks and pools.
    """
    name = {
        "poe_v2": "hanna",
        "comparative_assessment": "llmbar",
        "skill_aggregation": "aggregation",
    }
    paper, _, table = target.partition("/")
    rows = _result(f"recorded-{name.get(paper)}", "recorded")
    if rows is None:
        return None
    rows = rows.assign(number=rows["value"], table=table, printed=True)
    if target == "poe_v2/table3":
        times = (rows["k"] / TEXTS["hanna"]).round().astype(int)
        rows = rows.assign(k=times.map(RECORDED_K), dataset="HANNA").dropna(subset="k")
        return rows[rows["method"].isin(["avg-prob", "PoE-BT"])]
    if target == "comparative_assessment/table5":
        rows = rows[rows["method"] == "first-position"]
        return rows.assign(method="standard", number=rows["value"] / 100.0)
    if target == "comparative_assessment/table7":
        method = rows["method"].map({"accuracy": "standard", "both-orders": "debiased"})
        return rows.assign(method=method).dropna(subset="method")
    if paper == "skill_aggregation":
        orders = rows["selection"].map({"given": "table1", "both": "table2"})
        rows = rows.assign(table=orders, attribute="")
        # Naming the classes by a judge that is trusted is no method of the paper.
        kept = (rows["quantity"] == "accuracy") & (rows["method"] != "DawidSkene, trusted")
        return rows[kept]
    return None


def _one_model(targets: list[str]) -> bool:
    """Whether only SmolLM2 was measured for these: no store stood for a judge of theirs."""
    tables = [read(f"{PREFIXES[paper]}{name}") for paper, name in (t.split("/") for t in targets)]
    return not any(table is not None and "measured" in set(table["kind"]) for table in tables)


def _measured(cells: pd.DataFrame, target: str) -> pd.DataFrame | None:
    """What SmolLM2 says in the place of a table's judges: the cells of one of them, filled.

    The tables of poe_v2 on SummEval and TopicalChat, and those of comparative_assessment on
    position bias (5), debiased win-ratios (6) and accuracies (7, where "debiased" are the
    decisions on both orders' average). None where a cell of a table was not measured.
    """
    methods, shares, biases = (read(f"measured-{name}") for name in ("methods", "wording", "bias"))
    if methods is None or shares is None or biases is None:
        return None
    number: dict[tuple[object, ...], float] = {}
    keys = ["dataset", "attribute", "k", "method", "selection", "metric"]
    if target in {f"poe_v2/table{n}" for n in (1, 2, 5, 6, 7, 8)}:
        rows = methods
    elif target == "comparative_assessment/table5":
        rows = shares[shares["quantity"] == "first-position"]
        prompts = {"comparative-1": "1", "comparative-2": "2"}
        rows = rows.assign(prompt=rows["template"].map(prompts), value=rows["value"] / 100.0)
        keys = ["dataset", "attribute", "prompt"]
    elif target == "comparative_assessment/table6":
        names = {"none": "standard", "plug-in": "debiased"}
        rows = biases.query("method == 'win-ratio' and design == 'both orders'")
        rows = rows[rows["quantity"] == "spearman"]
        rows = rows.assign(method=rows["bias"].map(names))
        keys = ["dataset", "attribute", "method"]
    elif target == "comparative_assessment/table7":
        names = {"accuracy": "standard", "averaged": "debiased"}
        rows = shares[(shares["template"] == "poe") & shares["quantity"].isin(names)]
        rows = rows.assign(method=rows["quantity"].map(names))
        keys = ["dataset", "attribute", "method"]
    else:
        return None
    labels = {name: label for known in ATTRIBUTES.values() for label, name in known.items()}
    rows = rows.assign(dataset=rows["dataset"].map(NAMES), attribute=rows["attribute"].map(labels))
    mean = rows.groupby([key for key in keys if key != "attribute"])["value"]
    whole = mean.mean()[mean.size() == 4].reset_index().assign(attribute="mean")
    for _, row in pd.concat([rows, whole]).iterrows():
        number[tuple(str(row[key]) for key in keys)] = float(row["value"])
    one = cells[cells["system"] == cells["system"].iloc[0]].copy()
    one["number"] = [number.get(tuple(str(row[key]) for key in keys)) for _, row in one.iterrows()]
    one["number"] = one["number"].astype(float)
    # Part of a table is no table: what a claim counts would be too few.
    return None if one["number"].isna().any() else one.assign(system=MODEL, printed=True)


def panels_of(targets: list[str], evidence: str) -> list[pd.DataFrame]:
    """The panels of some figures; recorded: one for each of HANNA's judges and attributes."""
    if evidence == "recorded":
        stories = _result("recorded-hanna", evidence)
        return [] if stories is None else [p for _, p in stories.groupby(["system", "attribute"])]
    parts = [target.split("/") for target in targets]
    names = [one.name for paper, name in parts for one in find(f"{PREFIXES[paper]}{name}")]
    found = [_result(name, evidence) for name in dict.fromkeys(names)]
    return [panel for panel in found if panel is not None]


def _result(name: str, evidence: str) -> pd.DataFrame | None:
    """A stored result, None where there is none that is of one kind altogether."""
    table = read(name)
    return table if table is not None and set(table["kind"]) == {evidence} else None
