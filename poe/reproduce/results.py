"""Results on disk, and the verdict on each cell; tolerances are declared here.

A result file is data/results/NAME.csv (one row a cell or point) with NAME.json beside it: command,
kind, labels, draws, seed, code version and the checksums of everything it was made from. Only
runs on real labels are committed; a run on the stand-in goes to data/results/stand-in/, which is
not. Where the labels are not public at all (CMCQRD) the rows say so.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import scipy

import poe
from poe import datasets
from poe._paths import data_dir
from poe.reproduce.published import load

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
PRIVATE = ("cmcqrd",)  # datasets whose labels are not public: always a stand-in

WANTED = ["id", "value", "se", "boot_se", "run_sd", "role", "kind", "labels"]


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


def folder(labels: str, out: Path | None = None) -> Path:
    """Where results on these labels belong: data/results of a clone, else ./poe-results."""
    if out is None:
        data = data_dir()
        out = data / "results" if data.name == "data" else Path("poe-results")
    return out if labels == "real" else out / "stand-in"


def write(
    name: str,
    table: pd.DataFrame,
    *,
    command: str,
    out: Path | None = None,
    reads: tuple[str, ...] = ("summeval",),
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Write NAME.csv (four decimals) and NAME.json; returns the path of the CSV file.

    reads : datasets whose labels the table was made from. settings : what `is_fresh` compares.
    """
    labels = labels_of(table, reads)
    target = folder(labels, out)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.csv"
    about = {
        "command": command,
        "kind": "/".join(sorted(map(str, table["kind"].unique()))),
        "labels": labels,
        "draws": int(table["draws"].max()),
        "seed": int(table["seed"].iloc[0]),
        "settings": dict(settings or {}),
        "code": {"version": poe.__version__, "fingerprint": fingerprint()},
        "inputs": inputs(reads, labels),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }
    # The description last: a run that is interrupted between the two is not fresh.
    path.with_suffix(".json").unlink(missing_ok=True)
    table.to_csv(path, index=False, float_format="%.4f", lineterminator="\n")
    path.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    return path


def labels_of(table: pd.DataFrame, reads: tuple[str, ...]) -> str:
    """Real if all labels are that could be; datasets that are not public do not count."""
    public = [name for name in reads if name not in PRIVATE]
    if not public:
        return "real" if all(datasets.available(n) for n in ("summeval", "hanna")) else "stand-in"
    rows: pd.DataFrame = table
    if "dataset" in table and len(public) < len(reads):
        rows = table[~table["dataset"].str.lower().isin(PRIVATE)]
    return "real" if set(rows["labels"]) == {"real"} else "stand-in"


def is_fresh(
    name: str,
    *,
    labels: str,
    reads: tuple[str, ...],
    settings: Mapping[str, object],
    out: Path | None = None,
) -> bool:
    """Whether the file on disk was made by this code from these inputs with these settings."""
    path = folder(labels, out) / f"{name}.json"
    if not (path.exists() and path.with_suffix(".csv").exists()):
        return False
    about = json.loads(path.read_text())
    same = about.get("code", {}).get("fingerprint") == fingerprint()
    return (
        same
        and about.get("inputs") == inputs(reads, labels)
        and about.get("settings") == json.loads(json.dumps(dict(settings)))
    )


def inputs(reads: tuple[str, ...], labels: str) -> dict[str, object]:
    """Checksums of what a result is made from."""
    found: dict[str, object] = {}
    for name in reads:
        real = labels == "real" and name not in PRIVATE
        found[name] = _dataset_sha(name) if real else "stand-in"
    found["twins.toml"] = _sha256(data_dir() / "twins.toml")
    return found


def _dataset_sha(name: str) -> object:
    entry = datasets.info(name)
    return {file.role: file.sha256 for file in entry.files}


@cache
def fingerprint() -> str:
    """Digest of the code that makes numbers: the package without judges, pages and commands."""
    package = Path(poe.__file__).parent
    seen = ("pages", "claims", "curve_claims", "scorecard", "measured", "errata")
    apart = ("plots.py", "cli.py", *(f"reproduce/{name}" for name in seen))
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).as_posix()
        core = "/" not in place or place.startswith(
            ("experts", "solvers", "reproduce", "baselines")
        )
        if core and not place.startswith(apart):
            digest.update(place.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def read(name: str) -> pd.DataFrame | None:
    """The committed result of that name (real labels), or None where there is none."""
    path = data_dir() / "results" / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else None


@cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
