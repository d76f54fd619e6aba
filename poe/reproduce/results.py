"""Results on disk, and the verdict on each cell; tolerances are declared here.

A result file is data/results/NAME.csv (one row a cell) with NAME.json beside it (seed,
versions, checksums of the inputs). Only runs on real labels are committed; a run on the
stand-in goes to data/results/stand-in/, which is not.
"""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import scipy

from poe import datasets
from poe._paths import data_dir
from poe.reproduce.published import load

Verdict = Literal["same digits", "within noise", "deviates", "inputs differ", "not attempted"]

# From best to worst; a check fails when a cell moves down.
VERDICTS: tuple[Verdict, ...] = (
    "same digits",
    "within noise",
    "deviates",
    "inputs differ",
    "not attempted",
)
NOISE_FACTOR = 2.0  # tolerance in standard deviations of all known noise
PAPER_DRAWS = 100  # draws behind a printed mean on SummEval and TopicalChat


def tolerance(row: pd.Series) -> float:
    """How far apart a faithful run may be: two standard deviations of what is random.

    Our Monte Carlo error; the scatter of one run of one judge around its twin (`run_sd`);
    the paper's own Monte Carlo error where it printed a standard deviation; its rounding.
    """
    paper = 0.0 if np.isnan(row["sd_number"]) else row["sd_number"] / np.sqrt(PAPER_DRAWS)
    rounding = 10.0 ** -row["decimals"] / np.sqrt(12.0)
    return float(NOISE_FACTOR * np.linalg.norm([row["se"], row["run_sd"], paper, rounding]))


def verdict(row: pd.Series) -> Verdict:
    """Verdict on one compared cell (columns of `compare`)."""
    if np.isnan(row["ours"]):
        return "not attempted"
    if row["labels"] != "real":
        return "inputs differ"
    if f"{row['ours']:.{row['decimals']}f}" == row["published"]:
        return "same digits"
    return "within noise" if abs(row["difference"]) <= row["tolerance"] else "deviates"


def compare(table: str, ours: pd.DataFrame | None) -> pd.DataFrame:
    """Every printed cell of a table beside ours, in print order.

    Columns: id, system, k, method, published (as printed), number, ours, se, difference,
    tolerance, role, kind, labels, verdict. Cells without a result of ours are "not
    attempted". Table 1's standard deviations are looked up in Table 5, which repeats its cells.
    """
    printed = load(table).rename(columns={"value": "published"})
    if table == "table1":
        with_sd = load("table5").assign(id=lambda t: t["id"].str.replace("table5", "table1"))
        printed["sd_number"] = printed["id"].map(with_sd.set_index("id")["sd_number"])
    wanted = ["id", "value", "se", "run_sd", "role", "kind", "labels"]
    if ours is None:
        ours = pd.DataFrame(columns=wanted)
    joined = printed.merge(ours[wanted].rename(columns={"value": "ours"}), on="id", how="left")
    joined["ours"] = joined["ours"].astype(float)
    joined["difference"] = joined["ours"] - joined["number"]
    joined["tolerance"] = [
        tolerance(row) if not np.isnan(row["ours"]) else np.nan for _, row in joined.iterrows()
    ]
    joined["verdict"] = [verdict(row) for _, row in joined.iterrows()]
    first = ["id", "system", "k", "method", "published", "number", "ours", "se", "difference"]
    return joined[[*first, "tolerance", "role", "kind", "labels", "verdict"]]


def folder(labels: str, out: Path | None = None) -> Path:
    """Where results on these labels belong: data/results of a clone, else ./poe-results."""
    if out is None:
        data = data_dir()
        out = data / "results" if data.name == "data" else Path("poe-results")
    return out if labels == "real" else out / "stand-in"


def write(name: str, table: pd.DataFrame, *, command: str, out: Path | None = None) -> Path:
    """Write NAME.csv (four decimals) and NAME.json; returns the path of the CSV file."""
    labels = str(table["labels"].iloc[0])
    target = folder(labels, out)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.csv"
    table.to_csv(path, index=False, float_format="%.4f", lineterminator="\n")
    about = {
        "command": command,
        "kind": str(table["kind"].iloc[0]),
        "labels": labels,
        "draws": int(table["draws"].iloc[0]),
        "seed": int(table["seed"].iloc[0]),
        "inputs": {
            "summeval": datasets.info("summeval").sha256 if labels == "real" else "stand-in",
            "twins.toml": _sha256(data_dir() / "twins.toml"),
        },
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }
    path.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    return path


def read(name: str) -> pd.DataFrame | None:
    """The committed result of that name (real labels), or None where there is none."""
    path = data_dir() / "results" / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
