"""Why cells deviate: data/causes.toml held against the diagnoses, cell by cell.

An entry with a `variant` is a cause of a deviation only where the change that the diagnosis found
for that very experiment takes away at least half of the difference; with `error = true`, where the
difference lies within the tolerance once the diagnosis' standard deviation is added; with `chance =
true`, where no more cells of the table deviate than errors of the declared size would bring about.
"""

from __future__ import annotations

import tomllib
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import erfc

from poe._paths import data_dir
from reproduction import contexts
from reproduction.contexts import Cell
from reproduction.published import PAPERS
from reproduction.results import NOISE_FACTOR, read

UNKNOWN = "cause unknown"
UNCOMPARED = ("not attempted", "not readable")  # nothing of ours, or nothing to hold it against
BY_CHANCE = float(erfc(NOISE_FACTOR / np.sqrt(2.0)))  # share of normal errors beyond the tolerance
EXPLAINED = 0.5  # of the difference that a cause must take away
TABLES = {
    "poe_v2": ("table1", "table2", "table5", "table6", "table7", "table8"),
    "poe_v1": PAPERS["poe_v1"],
}
GROUPS = {  # of predicted cells, for the table of suspicions
    "Table 5, few calls": ("table5", ("48",), "symmetric"),
    "Table 2, selected": ("table2", ("48",), "greedy"),
    "Table 6": ("table6", ("48", "240"), "symmetric"),
    "Table 7, few calls": ("table7", ("18",), "symmetric"),
    "Table 8": ("table8", ("18", "30"), "symmetric"),
}


@cache
def known(what: str) -> tuple[dict[str, str], ...]:
    """What data/causes.toml has to say: the entries "cause", "refuted" or "reason", in order."""
    with (data_dir() / "causes.toml").open("rb") as file:
        return tuple(tomllib.load(file)[what])


def explain(card: pd.DataFrame) -> pd.DataFrame:
    """The card with columns cause (of a deviation), left and reason (why not attempted).

    left : what the cause leaves of the difference, where a diagnosis says so; NaN elsewhere.
    """
    cause = pd.Series(UNKNOWN, index=card.index)
    left = pd.Series(np.nan, index=card.index)
    for entry in reversed(known("cause")):  # the first that fits counts
        fits = _named(card, entry)
        rest = pd.Series(np.nan, index=card.index)
        if "variant" in entry:
            rest = card["difference"] + changes(card, entry["diagnosis"], entry["variant"])
            fits &= rest.abs() <= (1.0 - EXPLAINED) * card["difference"].abs()
        elif entry.get("error"):
            sd = _found(card, entry["diagnosis"], "sd")
            fits &= card["difference"].abs() <= np.hypot(card["tolerance"], NOISE_FACTOR * sd)
        elif entry.get("chance"):
            fits &= card["table"].map(_no_more_than_chance(card))
        cause, left = cause.mask(fits, entry["text"]), left.mask(fits, rest)
    reason = pd.Series("no twin of this judge", index=card.index)
    for entry in reversed(known("reason")):
        reason = reason.mask(_named(card, entry), entry["text"])
    deviates, missing = card["verdict"] == "deviates", card["verdict"] == "not attempted"
    return card.assign(
        cause=cause.where(deviates, ""), left=left.where(deviates), reason=reason.where(missing, "")
    )


def _named(card: pd.DataFrame, entry: dict[str, str]) -> pd.Series:
    start = card["id"].str.startswith(entry["cells"])
    return start & card["id"].str.contains(entry.get("pattern", ""), regex=True)


def changes(card: pd.DataFrame, diagnosis: str, variant: str) -> pd.Series:
    """What a variant of the twins does to each cell, NaN where the diagnosis has nothing."""
    return _found(card, diagnosis, "change", variant)


def _found(card: pd.DataFrame, diagnosis: str, column: str, variant: str = "") -> pd.Series:
    table = read(diagnosis)
    if table is None:
        return pd.Series(np.nan, index=card.index)
    if variant:
        table = table[table["variant"] == variant]
    of = experiments()  # elsewhere a cell is its own experiment
    by_cell = {of.get(i, i): x for i, x in zip(table["id"], table[column], strict=True)}
    return card["id"].map(lambda i: by_cell.get(of.get(i, i), np.nan)).astype(float)


@cache
def experiments() -> dict[str, Cell]:
    """The experiment that each cell of the tables of contexts prints, by id."""
    parts = [contexts.cells(name, paper) for paper, names in TABLES.items() for name in names]
    cells = pd.concat(parts)
    return dict(zip(cells["id"], cells["cell"], strict=True))


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


def _no_more_than_chance(card: pd.DataFrame) -> dict[str, bool]:
    found = chance(card).set_index("table")
    return dict(found["observed"] <= found["expected"])


def effects(card: pd.DataFrame) -> pd.DataFrame:
    """One row a cause: cause, target, cells, before and after (mean absolute difference)."""
    targets = {e["text"]: e.get("diagnosis", e.get("declared", "")) for e in known("cause")}
    rows = []
    for text, cells in card[card["cause"] != ""].groupby("cause"):
        before, after = cells["difference"].abs().mean(), cells["left"].abs().mean()
        rows.append((text, targets.get(str(text), ""), len(cells), before, after))
    table = pd.DataFrame(rows, columns=["cause", "target", "cells", "before", "after"])
    return table.sort_values("cells", ascending=False, ignore_index=True)


def refuted(card: pd.DataFrame) -> pd.DataFrame:
    """One row a suspicion that did not stand: suspicion, target, cells, before and after.

    Cells are those it is about that deviate, before and after mean absolute differences.
    """
    rows = []
    for entry in known("refuted"):
        cells = card[_named(card, entry) & (card["verdict"] == "deviates")]
        left = cells["difference"] + changes(cells, entry["diagnosis"], entry["variant"])
        means = (float(part.abs().mean()) for part in (cells["difference"], left))
        rows.append((entry["text"], entry["diagnosis"], len(cells), *means))
    return pd.DataFrame(rows, columns=["suspicion", "target", "cells", "before", "after"])


def suspicions(card: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute difference of the predictions of poe_v2, by variant and group of cells.

    One row a variant, the twins as calibrated first; columns of `GROUPS`. Cells that a variant was
    calibrated on are left out of its row.
    """
    rows = {"as calibrated": {name: _left(card, name, None) for name in GROUPS}}
    for diagnosis in ("diagnosis-errors", "diagnosis-shape"):
        table = read(diagnosis)
        for variant in [] if table is None else table["variant"].unique():
            of = table[table["variant"] == variant]  # type: ignore[index]
            left = {name: _left(card, name, (diagnosis, str(variant), of)) for name in GROUPS}
            rows[str(variant)] = left
    return pd.DataFrame.from_dict(rows, orient="index")


def _left(card: pd.DataFrame, group: str, changed: tuple[str, str, pd.DataFrame] | None) -> float:
    table, calls, rule = GROUPS[group]
    of = experiments()
    rows = card[card["id"].str.startswith(f"poe_v2/{table}/")]
    rows = rows[rows["role"].isin(["predicted", "held out"]) & (rows["labels"] == "real")]
    rows = rows[rows["k"].astype(str).isin(calls)]
    rows = rows[rows["id"].map(lambda id_: of[id_].rule == rule).astype(bool)]
    if changed is None:
        return float(rows["difference"].abs().mean())
    diagnosis, variant, found = changed
    used = {of[id_] for id_ in found.loc[found["role"] == "calibrated", "id"]}
    rows = rows[rows["id"].map(lambda id_: of[id_] not in used).astype(bool)]
    return float((rows["difference"] + changes(rows, diagnosis, variant)).abs().mean())
