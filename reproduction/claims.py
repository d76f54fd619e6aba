"""The papers' claims, held against each kind of number.

A claim is a sentence of a paper that asserts something checkable, in our own words, with the number
that decides and the limits within which the claim holds (data/claims.toml). The number is one
expression, its recipe, on the printed cells, on ours where twins made them, or on what language
models answered, to us or to others. Where numbers are missing that could turn the answer, the claim
cannot be checked.

The number's error is its standard deviation when every cell moves by its own: a printed cell by
its rounding, ours by the standard error stored beside it, of which the part that a judge's cells
have in common (column `common`) moves them together. Where a move of two errors, or of one printed
digit, could turn the answer, it is borderline. A number that one judge alone decides, as extremes
do, names that judge and says what it is without.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judging.machine import data_dir
from reproduction.answers import SMOLLM2
from reproduction.published import NAMES, TEXTS, load
from reproduction.results import read, stored
from reproduction.settings import SIGNIFICANT
from reproduction.targets import find
from reproduction.twins import ATTRIBUTES
from reproduction.verdicts import PREFIXES

OUTCOMES = ("holds", "borderline", "does not hold", "cannot be checked")
EVIDENCE = ("published", "simulated", "recorded", "measured")

FAR = 1e6  # size of what stands for a missing number: if it matters, the measure moves
FILLS = 8
MOVES = 16  # of all cells by their errors
DIGITS = {"points": 0.1, "% accuracy": 0.01, "% of pairs": 0.1}  # printed, by unit
BUILTINS = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len, "round": round}


@dataclass(frozen=True)
class Shape:
    """How a stored result takes the shape of printed tables; see the comments of the file."""

    result: str
    tables: list[str]
    rows: str = "index >= 0"
    column: str = "method"
    by: str = "method"
    names: Mapping[str, str] = field(default_factory=dict)
    unit: float = 1.0


@dataclass(frozen=True)
class Number:
    """What a recipe gives: its value and error, NaN where it cannot be had, in the claim's unit.

    judge : the only one whose absence changes the value, "" where there is none such; without :
    the value then.
    """

    value: float
    error: float = np.nan
    judge: str = ""
    without: float = np.nan


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
    unit: str = "points"
    without: tuple[str, ...] = ()
    at_least: float = -np.inf
    at_most: float = np.inf
    judges: int = 1

    def measured(self, evidence: str, *, moves: int = MOVES) -> Number:
        """The number that decides; without error and deciding judge where nothing is moved."""
        recipe = self.recorded if evidence == "recorded" and self.recorded else self.recipe
        without = self.left_out(evidence)
        if all("/table" in target for target in self.targets):
            cells = cells_of(self.targets, evidence)
            return _of_cells(recipe, None if cells is None else _others(cells, without), moves)
        panels = [_others(panel, without) for panel in panels_of(self.targets, evidence)]
        return _of_curves(recipe, [panel for panel in panels if len(panel)], evidence, moves)

    def left_out(self, evidence: str) -> tuple[str, ...]:
        """Judges that this kind of number does without; printed ones are complete."""
        return tuple(self.without) if evidence == "simulated" else ()

    def limits(self, evidence: str = "published") -> dict[str, float]:
        """Between which numbers the claim holds; of a count of judges one model is its share."""
        share = 1.0 / self.judges if evidence == "measured" else 1.0
        return {"at least": share * self.at_least, "at most": share * self.at_most}

    def verdict(self, number: Number, evidence: str = "published") -> str:
        """One of `OUTCOMES`."""
        if np.isnan(number.value):
            return "cannot be checked"
        margin = self.margin(number, evidence)
        if abs(margin) <= 1.0 + 1e-9:
            return "borderline"
        return "holds" if margin > 0.0 else "does not hold"

    def margin(self, number: Number, evidence: str = "published") -> float:
        """Compute the distance to the nearest limit, in units of what could turn the answer.

        The unit is `SIGNIFICANT` errors or one printed digit, whichever is more; infinite where
        neither is known. Negative: outside the limits.
        """
        limits = np.array(list(self.limits(evidence).values()))
        value = round(number.value, 6)
        near = max(SIGNIFICANT * float(np.nan_to_num(number.error)), DIGITS.get(self.unit, 0.0))
        side = 1.0 if limits[0] <= value <= limits[1] else -1.0
        return side * float(np.abs(value - limits).min()) / near if near else side * np.inf

    def shown(self, number: Number, evidence: str = "published") -> str:
        """The number with its error and unit, the limits, and the judge that decides."""
        if np.isnan(number.value):
            return "no number"
        percent = self.unit == "share"
        times, unit = (100.0, "%") if percent else (1.0, f" {self.unit}")
        places = _places(times * number.error)
        value, without = (written(times * x, places) for x in (number.value, number.without))
        error = f" ± {times * number.error:.{places}f}" if places is not None else ""
        if value == "1" and unit.endswith("s"):
            unit = unit[:-1]
        limits = {name: x for name, x in self.limits(evidence).items() if np.isfinite(x)}
        words = [f"{name} {times * x:g}{'%' if percent else ''}" for name, x in limits.items()]
        words += [f"without {judge}" for judge in self.left_out(evidence)]
        alone = f"; {number.judge} decides, {without} without" if number.judge else ""
        return f"{value}{error}{unit} ({', '.join(words)}){alone}"


def _places(error: float) -> int | None:
    """Decimals that an error leaves: one digit of it, two if the first is 1; None without one."""
    if not error >= 5e-5:
        return None
    power = int(np.floor(np.log10(error)))
    return max(0, (error < 2 * 10.0**power) - power)


def written(value: float, places: int | None, sign: str = "") -> str:
    """A number with so many decimals, or three digits; `sign` "+" signs all but zero."""
    if places is None:
        return f"{value:.3g}"
    value = round(value, places) + 0.0
    return f"{value:{sign if value else ''}.{places}f}"


def _others(rows: pd.DataFrame, without: tuple[str, ...]) -> pd.DataFrame:
    if not without:
        return rows
    there = rows["system"] + "/" + rows["dataset"]
    return rows[~(rows["system"].isin(without) | there.isin(without))]


@cache
def all_claims() -> dict[str, Claim]:
    """All claims by id, in the order of the file."""
    return {entry["id"]: Claim(**entry) for entry in _file()["claim"]}


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((data_dir() / "claims.toml").read_text(encoding="utf-8"))


def evaluate() -> pd.DataFrame:
    """One row a claim and kind of number that it names, from the results as they are.

    Columns: id, paper, place, claim, measure, evidence, value (NaN where it cannot be checked),
    error, judge, without (see `Number`), verdict, shown (all of it in a few words).
    """
    numbers = {(c.id, kind): c.measured(kind) for c in all_claims().values() for kind in c.evidence}
    return _judged(numbers)


def accepted() -> pd.DataFrame:
    """Read what `evaluate` gave when it was last accepted."""
    rows = (
        stored("claims").fillna({"judge": ""}).drop(columns="verdict").set_index(["id", "evidence"])
    )
    return _judged({key: Number(**row) for key, row in rows.to_dict("index").items()})


def _judged(numbers: Mapping[tuple[str, str], Number]) -> pd.DataFrame:
    rows = []
    for (id_, evidence), number in numbers.items():
        claim = all_claims()[id_]
        said = {key: getattr(claim, key) for key in ("id", "paper", "place", "claim", "measure")}
        outcome = {
            "verdict": claim.verdict(number, evidence),
            "shown": claim.shown(number, evidence),
        }
        rows.append({**said, "evidence": evidence, **asdict(number), **outcome})
    return pd.DataFrame(rows)


def overview(*about: str) -> pd.DataFrame:
    """One row a claim: id, paper, place, claim, measure, and each kind of number, as accepted.

    about : papers, tables and figures, such as "poe_v2/figure1c"; by default all claims are taken.
    Columns `published`, `simulated`, `recorded`, `measured` hold the value in words, the same
    names with " verdict" the verdict; empty where the claim does not name that kind.
    """
    long = accepted()
    if about:
        wanted = {c.id for c in all_claims().values() if {c.paper, *c.targets} & set(about)}
        long = long[long["id"].isin(wanted)]
    if long.empty:
        raise ValueError(f"no claim is about {' or '.join(about)}")
    table = long.drop_duplicates("id")[["id", "paper", "place", "claim", "measure"]]
    for kind in EVIDENCE:
        rows = long[long["evidence"] == kind].set_index("id")
        for name, what in ((kind, "shown"), (f"{kind} verdict", "verdict")):
            table[name] = [rows[what].get(id_, "") for id_ in table["id"]]
    return table.reset_index(drop=True)


def accept(table: pd.DataFrame, folder: Path | None = None) -> Path:
    """Hold later runs to what `evaluate` gave; returns the file that has it."""
    path = (folder or data_dir() / "results") / "claims.csv"
    kept = table[["id", "evidence", "value", "error", "judge", "without", "verdict"]]
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


def _of_cells(recipe: str, cells: pd.DataFrame | None, moves: int) -> Number:
    value = on_cells(recipe, cells)
    if cells is None or np.isnan(value) or not moves:
        return Number(value)
    rng = np.random.default_rng(0)
    moved = [on_cells(recipe, _moved(cells, "number", "error", rng)) for _ in range(moves)]
    number = Number(value, float(np.std(moved, ddof=1)))
    systems = cells["system"].unique()
    without = {name: on_cells(recipe, cells[cells["system"] != name]) for name in systems}
    # False too where it cannot do without.
    changed = [name for name in systems if abs(without[name] - value) > 1e-9]
    if len(systems) > 2 and len(changed) == 1:
        number = replace(number, judge=changed[0], without=without[changed[0]])
    return number


def _of_curves(recipe: str, panels: list[pd.DataFrame], evidence: str, moves: int) -> Number:
    value = on_curves(recipe, panels, evidence)
    if np.isnan(value) or not moves or not all("se" in panel for panel in panels):
        return Number(value)
    rng = np.random.default_rng(0)
    moved = [[_moved(panel, "value", "se", rng) for panel in panels] for _ in range(moves)]
    values = [on_curves(recipe, one, evidence) for one in moved]
    return Number(value, float(np.std(values, ddof=1)))


def _moved(rows: pd.DataFrame, what: str, by: str, rng: np.random.Generator) -> pd.DataFrame:
    """The rows with numbers moved by their errors, those of one judge together where they share."""
    error = np.nan_to_num(rows[by])
    shared = np.nan_to_num(rows["common"]) if "common" in rows else 0.0 * error
    judge = rows.groupby(["system", "dataset", "attribute"], dropna=False).ngroup().to_numpy()
    together = shared * rng.standard_normal(judge.max() + 1)[judge]
    own = np.sqrt(np.maximum(error**2 - shared**2, 0.0)) * rng.standard_normal(len(rows))
    return rows.assign(**{what: rows[what] + together + own})


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

    if not panels:
        return np.nan
    names = {"panels": panels, "table": table, "line": line, "texts": texts, "needed": needed}
    return run(recipe, **names, result=partial(_result, evidence=evidence))


def cells_of(targets: list[str], evidence: str) -> pd.DataFrame | None:
    """The cells of some tables, with ours in place of `number` unless the print is asked for.

    The column `printed` says where the paper has a number, `error` is what Number's is made of.
    None where there is nothing of a kind.
    """
    parts = [_cells(*target.split("/"), evidence=evidence) for target in targets]
    if any(part is None for part in parts):
        return None
    return pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)


def _cells(paper: str, table: str, *, evidence: str) -> pd.DataFrame | None:
    if evidence == "recorded":
        return _recorded(f"{paper}/{table}")
    cells = load(table, paper=paper)
    cells["printed"] = cells["number"].notna()
    cells["error"] = 10.0 ** -cells["decimals"] / np.sqrt(12.0)
    if evidence == "published":
        return cells
    if evidence == "measured":
        return _measured(cells, f"{paper}/{table}")
    ours = read(f"{PREFIXES[paper]}{table}")
    if ours is None or evidence not in set(ours["kind"]):
        return None
    ours = ours[ours["kind"] == evidence].dropna(subset="id")
    ours = ours.set_index("id").reindex(cells["id"])
    shared = ours["common"].to_numpy() if "common" in ours else 0.0
    columns = {"number": ours["value"].to_numpy(), "error": ours["se"].to_numpy(), "common": shared}
    return cells.assign(**columns)


def _shaped(target: str, evidence: str) -> tuple[pd.DataFrame, list[str]] | None:
    """A stored result in the shape of a table's cells, and the columns that it fills, or None."""
    shapes = [Shape(**one) for one in _file()["shape"] if target in one["tables"]]
    shape = next((one for one in shapes if one.result.startswith(evidence)), None)
    rows = _result(shape.result, evidence) if shape else None
    if shape is None or rows is None:
        return None
    if "k" in rows:
        rows["times"] = (rows["k"] / TEXTS["hanna"]).round().astype(int).astype(str)
    rows = rows.query(shape.rows)
    keys = ["k", "method", "selection", "metric"]
    if shape.names:
        keys = [shape.column]
        rows = rows[rows[shape.by].isin(shape.names)]
        rows = rows.assign(**{shape.column: rows[shape.by].map(shape.names)})
    rows = rows.assign(number=rows["value"] / shape.unit, error=rows["se"] / shape.unit)
    return rows.assign(common=rows["common"] / shape.unit) if "common" in rows else rows, keys


def _recorded(target: str) -> pd.DataFrame | None:
    """What recorded judges have to say about a table; None where nothing."""
    if (shaped := _shaped(target, "recorded")) is None:
        return None
    rows = shaped[0]
    attribute = rows["attribute"].astype(object).fillna("")
    table = rows["table"] if "table" in rows else target.partition("/")[2]
    dataset = rows["dataset"].replace(NAMES)
    return rows.assign(dataset=dataset, attribute=attribute, table=table, printed=True)


def _measured(cells: pd.DataFrame, target: str) -> pd.DataFrame | None:
    """What SmolLM2 says in the place of a table's judges: the cells of one of them, filled.

    None where a cell of a table was not measured.
    """
    if (shaped := _shaped(target, "measured")) is None:
        return None
    rows, keys = shaped[0], ["dataset", "attribute", *shaped[1]]
    labels = {name: label for known in ATTRIBUTES.values() for label, name in known.items()}
    labels["mean"] = "mean"
    rows = rows.assign(dataset=rows["dataset"].map(NAMES), attribute=rows["attribute"].map(labels))
    ours = rows[keys].astype(str).join(rows[["number", "error", "common"]]).dropna()
    one = cells[cells["system"] == cells["system"].iloc[0]].drop(columns=["number", "error"])
    one = one.merge(ours, "left", on=keys, validate="many_to_one")
    # Part of a table is no table: what a claim counts would be too few.
    return None if one["number"].isna().any() else one.assign(system=SMOLLM2.name, printed=True)


def panels_of(targets: list[str], evidence: str) -> list[pd.DataFrame]:
    """The panels of some figures; recorded: one for each of HANNA's judges and attributes."""
    if evidence == "recorded":
        stories = _result("recorded-hanna", evidence)
        return [] if stories is None else [p for _, p in stories.groupby(["system", "attribute"])]
    parts = [target.split("/") for target in targets]
    names = [one.name for paper, name in parts for one in find(f"{PREFIXES[paper]}{name}")]
    results = [_result(name, evidence) for name in dict.fromkeys(names)]
    return [panel for panel in results if panel is not None]


def _result(name: str, evidence: str) -> pd.DataFrame | None:
    """A stored result, None where there is none that is of one kind altogether."""
    table = read(name)
    return table if table is not None and set(table["kind"]) == {evidence} else None
