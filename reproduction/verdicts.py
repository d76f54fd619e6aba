"""The verdict on each printed cell, the causes of differences, and the scorecard's counts.

The tolerance is declared here; data/causes.toml says why cells differ and which stored diagnosis
shows it. `judging scorecard` prints it all and holds later runs to data/results/verdicts.csv. What
the verdicts of a table are worth is told by `reproduction.power`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import erfc

from judging.machine import data_dir
from reproduction.published import PAPERS, load
from reproduction.results import read, stored
from reproduction.twins import ROLES

# From best to worst; a check fails when a cell moves down. What was not tested may get any verdict.
VERDICTS = ("agrees", "differs", "not tested")
# Cells whose printed value a twin was made from: it is no news that they agree.
USED = ("calibrated", "implied")
NOISE_FACTOR = 2.0  # tolerance in standard deviations of all known noise
BY_CHANCE = float(erfc(NOISE_FACTOR / np.sqrt(2.0)))  # share of normal errors beyond the tolerance
EXPLAINED = 0.5  # of the difference that a cause must take away
UNKNOWN = "cause unknown"
UNREADABLE = "the printed value is missing from the text at hand"
OTHER_INPUTS = "ours was computed from other inputs than the paper's: drawn ones of their shape"

# What the targets of a paper's tables are called: PREFIXtableN.
PREFIXES = {
    "poe_v2": "",
    "poe_v1": "v1-",
    "comparative_assessment": "comparative-",
    "skill_aggregation": "skill-",
}
OURS = ["id", "value", "se", "boot_se", "run_sd", "role", "kind", "labels"]
SHOWN = [
    *("id", "table", "system", "k", "method", "published", "number", "unit", "ours", "se"),
    *("boot_se", "difference", "tolerance", "role", "kind", "labels", "verdict"),
    *("selection", "dataset", "attribute", "metric", "prompt", "level", "decimals"),
]


def compare(table: str, ours: pd.DataFrame | None = None, *, paper: str = "poe_v2") -> pd.DataFrame:
    """Every printed cell of a table beside ours, in print order.

    ours : a result, one row a cell; by default the stored one, where there is one.

    Columns: id, table, system, k, method, published (as printed), number, unit, ours, se, boot_se,
    difference, tolerance, role, kind, labels, verdict, and where the cell stands (selection,
    dataset, attribute, metric, prompt, level, decimals).
    """
    printed = load(table, paper=paper).rename(columns={"value": "published"})
    for name in {"prompt", "level"} - set(printed):  # of comparative_assessment alone
        printed[name] = ""
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
    """Compute how far apart a faithful run may be: two standard deviations of its randomness.

    The rule, for every cell, declared before any run: 2 sqrt(se^2 + run_sd^2 + rounding^2). se is
    our Monte Carlo error. run_sd is how far one run of one real judge, a mean over the paper's
    draws of calls, would scatter around its twin, given what the twin was calibrated on: a nested
    simulation (`settings.run_variance`), hence a smooth function of the twin. rounding is
    10^-decimals / sqrt 12 of the printed value. The errors of a twin's own parameters are left out
    (result diagnosis-calibration has them).
    """
    rounding = 10.0 ** -cells["decimals"] / np.sqrt(12.0)
    return NOISE_FACTOR * np.sqrt(cells["se"] ** 2 + cells["run_sd"] ** 2 + rounding**2)


def in_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Differences, tolerances and what causes leave in points: of shares, a hundredfold."""
    sizes = [name for name in ("difference", "tolerance", "left") if name in cells]
    return cells.assign(**cells[sizes].mul(to_points(cells), axis=0))


def to_points(cells: pd.DataFrame) -> pd.Series:
    """Return what makes points of each cell's printed unit (`published.UNITS`)."""
    return (cells["unit"] == "share").map({True: 100.0, False: 1.0})


def verdict(cells: pd.DataFrame) -> pd.Series:
    """One of `VERDICTS` for each compared cell (columns of `compare`).

    "agrees" within the tolerance (until the first edition: same digits, within noise), "differs"
    beyond it (deviates), and "not tested" where nothing of ours was computed, from other inputs, or
    nothing of the print can be read (not attempted, inputs differ, not readable): see `explain`.
    """
    tested = cells["number"].notna() & cells["ours"].notna() & (cells["labels"] == "real")
    within = cells["difference"].abs() <= cells["tolerance"]
    words = np.select([~tested, within], ["not tested", "agrees"], "differs")
    return pd.Series(words, index=cells.index)


def scorecard(*papers: str) -> pd.DataFrame:
    """One row for each printed cell of these papers, by default of all.

    Columns of `compare` and paper, command, and what `explain` adds: cause (of a difference), left
    and reason (why a cell was not tested), empty where they do not apply.
    """
    parts = []
    for paper in papers or PAPERS:
        for table in PAPERS[paper]:
            name = f"{PREFIXES[paper]}{table}"
            command = f"judging reproduce {name}" if read(name) is not None else ""
            parts.append(compare(table, paper=paper).assign(paper=paper, command=command))
    return explain(pd.concat(parts, ignore_index=True))


def of_role(card: pd.DataFrame, *roles: str) -> pd.DataFrame:
    """Cells of these roles (`twins.ROLES`), by default all, that were tested."""
    return card[card["role"].isin(roles or list(ROLES)) & (card["verdict"] != "not tested")]


def predictions(card: pd.DataFrame) -> pd.DataFrame:
    """Tested cells that no twin was calibrated on, nor are implied by one that was."""
    return card[(card["verdict"] != "not tested") & ~card["role"].isin(USED)]


def unique(card: pd.DataFrame) -> pd.DataFrame:
    """The card with each experiment once, where it is printed first.

    For headlines: tables repeat each other's cells, and a number that is printed in four places
    is no fourfold success.
    """
    return card[~card["id"].map(experiment).duplicated()]


def summary(card: pd.DataFrame) -> dict[str, float]:
    """Counts of cells and of those tested; how many predictions agree; by role how far off.

    Cells and tested count every printed cell; the rest counts each experiment once. Predicted and
    agree are of the predictions. The errors are mean absolute differences in points: "blind" and
    "blind_error", and so on.
    """
    rows = predictions(unique(card))
    tally: dict[str, float] = {
        "cells": len(card),
        "tested": int((card["verdict"] != "not tested").sum()),
        "predicted": len(rows),
        "agree": int((rows["verdict"] == "agrees").sum()),
    }
    for role in ROLES:
        error = in_points(of_role(unique(card), role))["difference"].abs()
        tally |= {role: len(error), f"{role}_error": float(error.mean())}
    return tally


def chance(card: pd.DataFrame, *, by: str = "table") -> pd.DataFrame:
    """Differences expected by chance and observed: one row a table (or paper), and one for all.

    Columns: `by`, cells (tested), expected, observed. Expected is the share of normal errors
    beyond the tolerance times the cells. Cells that share a judge differ together, so the number
    scatters more widely than if they were independent; the expectation is the same.
    """
    rows = card[card["verdict"] != "not tested"]
    grouped = (rows["verdict"] == "differs").groupby(rows[by], sort=False)
    counts = pd.DataFrame({"cells": grouped.size(), "observed": grouped.sum().astype(int)})
    counts.loc["all"] = counts.sum()
    table = counts.rename_axis(by).reset_index()
    return table.assign(expected=BY_CHANCE * table["cells"])[[by, "cells", "expected", "observed"]]


def effects(card: pd.DataFrame) -> pd.DataFrame:
    """One row a cause: cause, target (what shows it), cells, and mean absolute differences, points.

    before : as they are; after : what the cause leaves of them, where its diagnosis says so.
    """
    shown = {e["text"]: e.get("diagnosis", e.get("declared", "")) for e in explanations("cause")}
    cells = in_points(card[card["cause"] != ""])
    sizes = cells[["difference", "left"]].abs().groupby(cells["cause"])
    table = sizes.mean().set_axis(["before", "after"], axis=1).reset_index()
    table.insert(1, "target", table["cause"].map(shown).fillna(""))
    table.insert(2, "cells", sizes.size().to_numpy())
    return table.sort_values("cells", ascending=False, ignore_index=True)


@cache
def explanations(what: str) -> tuple[dict[str, Any], ...]:
    """The entries "cause" or "reason" of data/causes.toml, in order."""
    return tuple(tomllib.loads((data_dir() / "causes.toml").read_text())[what])


def explain(card: pd.DataFrame) -> pd.DataFrame:
    """The card with columns cause (of a difference), left and reason (why not tested).

    An entry of data/causes.toml with a `variant` is a cause only where the change that the
    diagnosis found for that very experiment takes away at least half of the difference; with
    `error = true`, where the difference lies within the tolerance once the diagnosis' standard
    deviation is added. left : what the cause leaves of the difference.
    """
    cause, left = pd.Series(UNKNOWN, index=card.index), pd.Series(np.nan, index=card.index)
    for entry in reversed(explanations("cause")):  # the first that fits counts
        fits, rest = _named(card, entry), pd.Series(np.nan, index=card.index)
        if "variant" in entry:
            rest = card["difference"] + diagnosed(card, entry["diagnosis"], entry["variant"])
            fits &= rest.abs() <= (1.0 - EXPLAINED) * card["difference"].abs()
        elif entry.get("error"):
            sd = diagnosed(card, entry["diagnosis"])
            fits &= card["difference"].abs() <= np.hypot(card["tolerance"], NOISE_FACTOR * sd)
        cause, left = cause.mask(fits, entry["text"]), left.mask(fits, rest)
    reason = pd.Series("no twin of this judge", index=card.index)
    for entry in reversed(explanations("reason")):
        reason = reason.mask(_named(card, entry), entry["text"])
    reason = reason.mask(card["labels"].notna() & (card["labels"] != "real"), OTHER_INPUTS)
    reason = reason.mask(card["number"].isna(), UNREADABLE)
    differs, missing = card["verdict"] == "differs", card["verdict"] == "not tested"
    return card.assign(
        cause=cause.where(differs, ""), left=left.where(differs), reason=reason.where(missing, "")
    )


def _named(card: pd.DataFrame, entry: dict[str, Any]) -> pd.Series:
    start = card["id"].str.startswith(entry["cells"])
    return start & card["id"].str.contains(entry.get("pattern", ""), regex=True)


def diagnosed(card: pd.DataFrame, diagnosis: str, variant: str = "") -> pd.Series:
    """Look up what a stored diagnosis found for each cell's experiment, NaN where nothing.

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
    2's 5, 6, 7 and 8. Table 1 and the random rows of Table 2 repeat Table 5. Of
    comparative_assessment Table 7 repeats rows of 10, 5 of 9, and 1 and 3 rows of 6.
    """
    paper, table, *place = cell.split("/")
    if paper == "poe_v1":
        paper, place[1] = "poe_v2", f"K{2 * int(place[1][1:])}"
        table = f"table{ {'1': 5, '3': 6, '4': 7, '5': 8}.get(table[-1], table[-1]) }"
    if (paper, table) == ("poe_v2", "table1") or "random" in place:
        table, place = "table5", [part for part in place if part != "random"]
    if paper == "comparative_assessment":
        table = {"table7": "table10", "table5": "table9"}.get(table, table)
        if place[-1] == "comparative":
            table, place = "table6", [*place[:-1], "standard"]
    return "/".join([paper, table, *place])


def accept(card: pd.DataFrame, folder: Path | None = None) -> Path:
    """Hold later runs to these verdicts; returns the file that has them."""
    path = (folder or data_dir() / "results") / "verdicts.csv"
    card[["id", "verdict"]].to_csv(path, index=False, lineterminator="\n")
    return path


def worsened(card: pd.DataFrame, baseline: pd.DataFrame | None = None) -> pd.DataFrame:
    """Cells whose verdict is worse than the accepted one, or that have disappeared."""
    accepted = stored("verdicts") if baseline is None else baseline
    rank = {name: place for place, name in enumerate(VERDICTS)} | {"missing": len(VERDICTS)}
    now = accepted["id"].map(card.set_index("id")["verdict"]).fillna("missing")
    return accepted.assign(now=now)[now.map(rank) > accepted["verdict"].map(rank)]
