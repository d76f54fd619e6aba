"""The verdict on each printed cell, the causes of deviations, and the scorecard's counts.

The tolerances are declared here; data/causes.toml says why cells deviate and which stored
diagnosis shows it. `poe scorecard` prints it all and holds later runs to
data/results/verdicts.csv.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import erfc

from poe._paths import data_dir
from reproduction.published import PAPERS, load
from reproduction.run import read
from reproduction.twins import ROLES

# From best to worst; a check fails when a cell moves down. "not readable" says nothing of ours: the
# printed value is missing from the text at hand, so there is nothing to hold a result against. It
# is last so that a cell which becomes readable may get any verdict.
VERDICTS = (
    "same digits",
    "within noise",
    "deviates",
    "inputs differ",
    "not attempted",
    "not readable",
)
UNCOMPARED = ("not attempted", "not readable")  # nothing of ours, or nothing to hold it against
NOISE_FACTOR = 2.0  # tolerance in standard deviations of all known noise
PAPER_DRAWS = 100  # draws behind a printed mean on SummEval and TopicalChat
BY_CHANCE = float(erfc(NOISE_FACTOR / np.sqrt(2.0)))  # share of normal errors beyond the tolerance
EXPLAINED = 0.5  # of the difference that a cause must take away
UNKNOWN = "cause unknown"

# A paper's tables are stored as data/results/PREFIXtableN.csv.
PREFIXES = {
    "poe_v2": "",
    "poe_v1": "v1-",
    "comparative_assessment": "comparative-",
    "skill_aggregation": "skill-",
}
OURS = ["id", "value", "se", "boot_se", "run_sd", "role", "kind", "labels"]
SHOWN = [
    *("id", "table", "system", "k", "method", "published", "number", "ours", "se", "boot_se"),
    *("difference", "tolerance", "role", "kind", "labels", "verdict"),
    *("selection", "dataset", "attribute", "metric", "decimals"),
]


def compare(table: str, ours: pd.DataFrame | None = None, *, paper: str = "poe_v2") -> pd.DataFrame:
    """Every printed cell of a table beside ours, in print order.

    ours : a result, one row a cell; by default the stored one, where there is one.

    Columns: id, table, system, k, method, published (as printed), number, ours, se, boot_se,
    difference, tolerance, role, kind, labels, verdict, and where the cell stands (selection,
    dataset, attribute, metric, decimals). Table 1's standard deviations are looked up in Table 5,
    which repeats its cells.
    """
    printed = load(table, paper=paper).rename(columns={"value": "published"})
    if (paper, table) == ("poe_v2", "table1"):
        five = load("table5").set_index("id")["sd_number"]
        printed["sd_number"] = printed["id"].str.replace("table1", "table5").map(five)
    if ours is None:
        ours = read(f"{PREFIXES[paper]}{table}")
    ours = (pd.DataFrame() if ours is None else ours).reindex(columns=OURS)
    cells = printed.merge(ours.rename(columns={"value": "ours"}), on="id", how="left")
    numbers = ["ours", "se", "boot_se", "run_sd"]
    cells[numbers] = cells[numbers].astype(float)
    cells["difference"] = cells["ours"] - cells["number"]
    cells["tolerance"] = tolerance(cells).where(cells["ours"].notna())
    cells["verdict"] = verdict(cells)
    return cells[SHOWN]


def tolerance(cells: pd.DataFrame) -> pd.Series:
    """How far apart a faithful run may be: two standard deviations of what is random.

    Our Monte Carlo error; the scatter of one run of one judge around its twin (`run_sd`);
    the paper's own Monte Carlo error where it printed a standard deviation; its rounding.
    The errors of a twin's own parameters are left out (result diagnosis-calibration has them).
    """
    paper = cells["sd_number"].fillna(0.0) / np.sqrt(PAPER_DRAWS)
    rounding = 10.0 ** -cells["decimals"] / np.sqrt(12.0)
    return NOISE_FACTOR * np.sqrt(cells["se"] ** 2 + cells["run_sd"] ** 2 + paper**2 + rounding**2)


def verdict(cells: pd.DataFrame) -> pd.Series:
    """One of `VERDICTS` for each compared cell (columns of `compare`)."""
    same = [
        f"{row.ours:.{row.decimals}f}" == row.published
        for row in cells[["ours", "decimals", "published"]].itertuples()
    ]
    conditions = {
        "not readable": cells["number"].isna(),
        "not attempted": cells["ours"].isna(),
        "inputs differ": cells["labels"] != "real",
        "same digits": np.array(same, dtype=bool),
        "within noise": cells["difference"].abs() <= cells["tolerance"],
    }
    found = np.select(list(conditions.values()), list(conditions), "deviates")
    return pd.Series(found, index=cells.index)


def scorecard(*papers: str) -> pd.DataFrame:
    """One row for each printed cell of these papers, by default of all.

    Columns of `compare` and paper, command, and what `explain` adds: cause (of a deviation), left
    and reason (why a cell was not attempted), empty where they do not apply.
    """
    parts = []
    for paper in papers or PAPERS:
        for table in PAPERS[paper]:
            name = f"{PREFIXES[paper]}{table}"
            command = f"poe reproduce {name}" if read(name) is not None else ""
            parts.append(compare(table, paper=paper).assign(paper=paper, command=command))
    return explain(pd.concat(parts, ignore_index=True))


FREE = ("seen", "blind")  # roles of cells that no twin was calibrated on, nor follow from such


def of_role(card: pd.DataFrame, *roles: str) -> pd.DataFrame:
    """Cells of these roles (`twins.ROLES`), by default all, that are compared on real labels."""
    role = card["role"].isin(roles or list(ROLES))
    return card[role & (card["labels"] == "real") & ~card["verdict"].isin(UNCOMPARED)]


def unique(card: pd.DataFrame) -> pd.DataFrame:
    """The card with each experiment once, where it is printed first.

    For headlines: tables repeat each other's cells, and a number that is printed in four places
    is no fourfold success.
    """
    return card[~card["id"].map(experiment).duplicated()]


def totals(card: pd.DataFrame) -> pd.DataFrame:
    """Numbers of cells by table and verdict, with a last row for all."""
    counts = pd.crosstab(card["table"], card["verdict"]).reindex(card["table"].unique())
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    counts.loc["all"] = counts.sum()
    counts.insert(0, "cells", counts.sum(axis=1))
    return counts


def errors(card: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute difference of the compared cells: table, role, cells, error."""
    rows = of_role(card)
    grouped = rows["difference"].abs().groupby([rows["table"], rows["role"]], sort=False)
    return grouped.agg(cells="size", error="mean").reset_index()


def summary(card: pd.DataFrame) -> dict[str, float]:
    """Counts of cells and of those attempted; by role the experiments and their mean error.

    The errors are mean absolute differences in points, each experiment once: "blind" and
    "blind_error", and so on. A cell that cannot be read was not attempted: a comparison with
    nothing is none.
    """
    attempted = int((~card["verdict"].isin(UNCOMPARED)).sum())
    found: dict[str, float] = {"cells": len(card), "attempted": attempted}
    for role in ROLES:
        error = of_role(unique(card), role)["difference"].abs()
        found |= {role: len(error), f"{role}_error": float(error.mean())}
    return found


def chance(card: pd.DataFrame, *, by: str = "table") -> pd.DataFrame:
    """Deviations expected by chance and observed: one row a table (or paper), and one for all.

    Columns: `by`, cells (compared), expected, observed. Expected is the share of normal errors
    beyond the tolerance times the cells. Cells that share a judge deviate together, so the number
    scatters more widely than if they were independent; the expectation is the same.
    """
    rows = card[(card["labels"] == "real") & ~card["verdict"].isin(UNCOMPARED)]
    grouped = (rows["verdict"] == "deviates").groupby(rows[by], sort=False)
    counts = pd.DataFrame({"cells": grouped.size(), "observed": grouped.sum().astype(int)})
    counts.loc["all"] = counts.sum()
    found = counts.rename_axis(by).reset_index()
    return found.assign(expected=BY_CHANCE * found["cells"])[[by, "cells", "expected", "observed"]]


def effects(card: pd.DataFrame) -> pd.DataFrame:
    """One row a cause: cause, target (what shows it), cells, and mean absolute differences.

    before : as they are; after : what the cause leaves of them, where its diagnosis says so.
    """
    shown = {e["text"]: e.get("diagnosis", e.get("declared", "")) for e in known("cause")}
    cells = card[card["cause"] != ""]
    sizes = cells[["difference", "left"]].abs().groupby(cells["cause"])
    found = sizes.mean().set_axis(["before", "after"], axis=1).reset_index()
    found.insert(1, "target", found["cause"].map(shown).fillna(""))
    found.insert(2, "cells", sizes.size().to_numpy())
    return found.sort_values("cells", ascending=False, ignore_index=True)


@cache
def known(what: str) -> tuple[dict[str, Any], ...]:
    """The entries "cause" or "reason" of data/causes.toml, in order."""
    return tuple(tomllib.loads((data_dir() / "causes.toml").read_text())[what])


def explain(card: pd.DataFrame) -> pd.DataFrame:
    """The card with columns cause (of a deviation), left and reason (why not attempted).

    An entry of data/causes.toml with a `variant` is a cause only where the change that the
    diagnosis found for that very experiment takes away at least half of the difference; with
    `error = true`, where the difference lies within the tolerance once the diagnosis' standard
    deviation is added; with `chance = true`, where no more cells of the table deviate than errors
    of the declared size would bring about. left : what the cause leaves of the difference.
    """
    cause, left = pd.Series(UNKNOWN, index=card.index), pd.Series(np.nan, index=card.index)
    for entry in reversed(known("cause")):  # the first that fits counts
        fits, rest = _named(card, entry), pd.Series(np.nan, index=card.index)
        if "variant" in entry:
            rest = card["difference"] + diagnosed(card, entry["diagnosis"], entry["variant"])
            fits &= rest.abs() <= (1.0 - EXPLAINED) * card["difference"].abs()
        elif entry.get("error"):
            sd = diagnosed(card, entry["diagnosis"])
            fits &= card["difference"].abs() <= np.hypot(card["tolerance"], NOISE_FACTOR * sd)
        elif entry.get("chance"):
            found = chance(card[fits]).iloc[-1]
            fits &= found["observed"] <= found["expected"]
        cause, left = cause.mask(fits, entry["text"]), left.mask(fits, rest)
    reason = pd.Series("no twin of this judge", index=card.index)
    for entry in reversed(known("reason")):
        reason = reason.mask(_named(card, entry), entry["text"])
    deviates, missing = card["verdict"] == "deviates", card["verdict"] == "not attempted"
    return card.assign(
        cause=cause.where(deviates, ""), left=left.where(deviates), reason=reason.where(missing, "")
    )


def _named(card: pd.DataFrame, entry: dict[str, Any]) -> pd.Series:
    start = card["id"].str.startswith(entry["cells"])
    return start & card["id"].str.contains(entry.get("pattern", ""), regex=True)


def diagnosed(card: pd.DataFrame, diagnosis: str, variant: str = "") -> pd.Series:
    """What a stored diagnosis found for each cell's experiment, NaN where it has nothing.

    The change that a variant of the twins makes; without one, the standard deviation in column sd.
    """
    table = read(diagnosis)
    if table is None:
        return pd.Series(np.nan, index=card.index)
    if variant:
        table = table[table["variant"] == variant]
    values = dict(
        zip(table["id"].map(experiment), table["change" if variant else "sd"], strict=True)
    )
    return card["id"].map(experiment).map(values).astype(float)


def experiment(cell: str) -> str:
    """One id for all cells that print the same experiment: the one that poe_v2 has for it.

    Version 1 counts pairs where version 2 counts calls, and its Tables 1, 3, 4 and 5 are version
    2's 5, 6, 7 and 8. Table 1 and the random rows of Table 2 repeat Table 5.
    """
    paper, table, *place = cell.split("/")
    if paper == "poe_v1":
        paper, place[1] = "poe_v2", f"K{2 * int(place[1][1:])}"
        table = {
            "table1": "table5",
            "table3": "table6",
            "table4": "table7",
            "table5": "table8",
        }.get(table, table)
    if (paper, table) == ("poe_v2", "table1") or "random" in place:
        table, place = "table5", [part for part in place if part != "random"]
    return "/".join([paper, table, *place])


def accept(card: pd.DataFrame, folder: Path | None = None) -> Path:
    """Hold later runs to these verdicts; returns the file that has them."""
    path = (folder or data_dir() / "results") / "verdicts.csv"
    card[["id", "verdict"]].to_csv(path, index=False, lineterminator="\n")
    return path


def worsened(card: pd.DataFrame, baseline: pd.DataFrame | None = None) -> pd.DataFrame:
    """Cells whose verdict is worse than the accepted one, or that have disappeared."""
    accepted = read("verdicts") if baseline is None else baseline
    assert accepted is not None, "data/results/verdicts.csv is missing"
    rank = {name: place for place, name in enumerate(VERDICTS)} | {"missing": len(VERDICTS)}
    now = accepted["id"].map(card.set_index("id")["verdict"]).fillna("missing")
    return accepted.assign(now=now)[now.map(rank) > accepted["verdict"].map(rank)]
