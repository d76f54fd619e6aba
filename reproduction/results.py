"""The verdict on each printed cell; tolerances are declared here.

What lies on disk, and whether it is up to date, is in `reproduction.files`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from reproduction.files import read
from reproduction.published import load

__all__ = ["VERDICTS", "Verdict", "compare", "read", "tolerance", "verdict"]

Verdict = Literal[
    "same digits", "within noise", "deviates", "inputs differ", "not attempted", "not readable"
]

# From best to worst; a check fails when a cell moves down. "not readable" says nothing of ours: the
# printed value is missing from the text at hand, so there is nothing to hold a result against. It
# is last so that a cell which becomes readable may get any verdict.
VERDICTS: tuple[Verdict, ...] = (
    "same digits",
    "within noise",
    "deviates",
    "inputs differ",
    "not attempted",
    "not readable",
)
NOISE_FACTOR = 2.0  # tolerance in standard deviations of all known noise
PAPER_DRAWS = 100  # draws behind a printed mean on SummEval and TopicalChat

WANTED = ["id", "value", "se", "boot_se", "run_sd", "role", "kind", "labels"]


def tolerance(row: pd.Series) -> float:
    """How far apart a faithful run may be: two standard deviations of what is random.

    Our Monte Carlo error; the scatter of one run of one judge around its twin (`run_sd`);
    the paper's own Monte Carlo error where it printed a standard deviation; its rounding.
    The errors of a twin's own parameters are left out (target diagnosis-calibration has them).
    """
    paper = 0.0 if np.isnan(row["sd_number"]) else row["sd_number"] / np.sqrt(PAPER_DRAWS)
    rounding = 10.0 ** -row["decimals"] / np.sqrt(12.0)
    return float(NOISE_FACTOR * np.linalg.norm([row["se"], row["run_sd"], paper, rounding]))


def verdict(row: pd.Series) -> Verdict:
    """Verdict on one compared cell (columns of `compare`)."""
    if np.isnan(row["number"]):
        return "not readable"
    if np.isnan(row["ours"]):
        return "not attempted"
    if row["labels"] != "real":
        return "inputs differ"
    if f"{row['ours']:.{row['decimals']}f}" == row["published"]:
        return "same digits"
    return "within noise" if abs(row["difference"]) <= row["tolerance"] else "deviates"


def compare(table: str, ours: pd.DataFrame | None, *, paper: str = "poe_v2") -> pd.DataFrame:
    """Every printed cell of a table beside ours, in print order.

    Columns: id, system, k, method, published (as printed), number, ours, se, boot_se, difference,
    tolerance, role, kind, labels, verdict, and where the cell stands (selection, dataset,
    attribute, metric, decimals). Cells without a result of ours are "not attempted"; cells without
    a readable value are "not readable", whatever there is of ours. Table 1's standard deviations
    are looked up in Table 5, which repeats its cells.
    """
    printed = load(table, paper=paper).rename(columns={"value": "published"})
    if table == "table1" and paper == "poe_v2":
        with_sd = load("table5").assign(id=lambda t: t["id"].str.replace("table5", "table1"))
        printed["sd_number"] = printed["id"].map(with_sd.set_index("id")["sd_number"])
    if ours is None:
        ours = pd.DataFrame(columns=WANTED)
    ours = ours.reindex(columns=WANTED)
    joined = printed.merge(ours.rename(columns={"value": "ours"}), on="id", how="left")
    for column in ("ours", "se", "boot_se", "run_sd"):
        joined[column] = joined[column].astype(float)
    joined["difference"] = joined["ours"] - joined["number"]
    joined["tolerance"] = [
        tolerance(row) if not np.isnan(row["ours"]) else np.nan for _, row in joined.iterrows()
    ]
    joined["verdict"] = [verdict(row) for _, row in joined.iterrows()]
    first = ["id", "system", "k", "method", "published", "number", "ours", "se", "boot_se"]
    rest = ["difference", "tolerance", "role", "kind", "labels", "verdict"]
    return joined[[*first, *rest, "selection", "dataset", "attribute", "metric", "decimals"]]
