"""Results on disk: what was made, from what, by which code, when, and whether it is up to date.

A result file is data/results/NAME.csv (one row a cell or point) with NAME.json beside it: command,
kind, labels, draws, seed, date and cost of the run, a digest of the code and the checksums of
everything it was made from. The CSV file does not depend on date and cost. Only runs on real labels
are committed; a run on the stand-in goes to data/results/stand-in/, which is not. Where the labels
are not public at all (CMCQRD) the rows say so.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import scipy

import poe
from poe import datasets
from poe._paths import data_dir
from reproduction.runs import Run

PRIVATE = ("cmcqrd",)  # datasets whose labels are not public: always a stand-in


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
    what: str = "",
    code: str,
    made_from: Mapping[str, object],
    labels: str,
    out: Path | None = None,
    settings: Mapping[str, object] | None = None,
    run: Run | None = None,
) -> Path:
    """Write NAME.csv (four decimals) and NAME.json; returns the path of the CSV file.

    what : the table or figure in words. code : digest of the code, see `reproduction.sources`.
    made_from : checksums of what was read, see `inputs`. labels : "real" or "stand-in", see
    `labels_of`. settings : what else `is_fresh` compares. run : when it was made and what it cost.
    """
    target = folder(labels, out)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.csv"
    about = {
        "command": command,
        "what": what,
        "kind": "/".join(sorted(map(str, table["kind"].unique()))),
        "labels": labels,
        "draws": int(table["draws"].max()),
        "seed": int(table["seed"].iloc[0]),
        "settings": dict(settings or {}),
        "run": asdict(run) if run else None,
        "code": {"version": poe.__version__, "fingerprint": code},
        "inputs": dict(made_from),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            **table.attrs.get("versions", {}),
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
    code: str,
    made_from: Mapping[str, object],
    settings: Mapping[str, object],
    out: Path | None = None,
) -> bool:
    """Whether the file on disk was made by this code from these inputs with these settings."""
    path = folder(labels, out) / f"{name}.json"
    if not (path.exists() and path.with_suffix(".csv").exists()):
        return False
    about = json.loads(path.read_text())
    return not outdated(about, code, made_from) and about.get("settings") == _plain(settings)


def outdated(about: Mapping[str, object], code: str, made_from: Mapping[str, object]) -> list[str]:
    """What a result, from its description, was made with that is another today.

    "code" and the names of inputs; empty where everything is the same.
    """
    made_with = about.get("code")
    by = made_with.get("fingerprint") if isinstance(made_with, dict) else None
    then, today = about.get("inputs"), _plain(made_from)
    then = then if isinstance(then, dict) else {}
    names = [name for name in {**today, **then} if then.get(name) != today.get(name)]
    return (["code"] if by != code else []) + names


def inputs(
    reads: tuple[str, ...],
    labels: str,
    *,
    papers: tuple[str, ...] = (),
    simulated: bool = True,
) -> dict[str, object]:
    """Checksums of what a result is made from.

    reads : datasets whose labels, real or not, it needs. papers : those whose printed numbers say
    which cells there are and how far a run scatters. simulated : whether twins have a part; where
    they have none, others' recorded answers do, whose pins are in datasets.toml.
    """
    found: dict[str, object] = {}
    for name in reads:
        real = labels == "real" and name not in PRIVATE
        found[name] = _dataset_sha(name) if real else "stand-in"
    for paper in papers:
        found[f"published/{paper}"] = _published_sha(paper)
    file = "twins.toml" if simulated else "datasets.toml"
    found[file] = _sha256(data_dir() / file)
    return found


def read(name: str) -> pd.DataFrame | None:
    """The committed result of that name (real labels), or None where there is none."""
    path = data_dir() / "results" / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else None


def describe(name: str) -> dict[str, object] | None:
    """What lies beside the committed result of that name, or None where there is none."""
    path = data_dir() / "results" / f"{name}.json"
    return dict(json.loads(path.read_text())) if path.exists() else None


def _plain(settings: Mapping[str, object]) -> dict[str, object]:
    """As it comes back from a file."""
    return dict(json.loads(json.dumps(dict(settings))))


def _dataset_sha(name: str) -> object:
    entry = datasets.info(name)
    return {file.role: file.sha256 for file in entry.files}


def _published_sha(paper: str) -> str:
    digest = hashlib.sha256()
    for path in sorted((data_dir() / "published").glob(f"{paper}_*.csv")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
