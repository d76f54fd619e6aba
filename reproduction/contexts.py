"""The tables of SummEval and TopicalChat: poe_v2's 1, 2 and 5 to 8, and poe_v1's 1 to 5.

They print the same experiments: sets of calls drawn at random, chosen greedily, or complete, scored
by six methods, judged by Spearman's or Pearson's correlation within contexts. A cell is the mean
over contexts, attributes and draws, times 100. All methods score the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from poe.comparisons import Floats
from reproduction import facts, sweep
from reproduction.published import load
from reproduction.settings import Settings, identity, spread
from reproduction.sweep import Found, Setting
from reproduction.twins import Twin, calibration_cells

FULL = {"SummEval": 240, "TopicalChat": 30}
SDS = {  # tables without standard deviations, and where their cells are printed with them
    ("poe_v2", "table1"): "table5",
    ("poe_v2", "table2"): "table5",
}


@dataclass(frozen=True)
class Cell:
    """The experiment that a printed cell reports, whatever table it is printed in."""

    dataset: str
    system: str
    attribute: str
    calls: int
    rule: str
    method: str
    metric: str


def cells(table: str, paper: str = "poe_v2") -> pd.DataFrame:
    """The printed cells with the experiment of each in the column `cell`."""
    printed = load(table, paper=paper)
    return printed.assign(cell=[_cell(row, paper) for _, row in printed.iterrows()])


def _cell(row: pd.Series, paper: str) -> Cell:
    # The first version of the paper counts pairs, the second calls.
    count = int(row["k"]) * (2 if paper == "poe_v1" else 1)
    rule = "greedy" if row["selection"] == "greedy" else "symmetric"
    rest = (rule, row["method"], row["metric"])
    return Cell(row["dataset"], row["system"], row["attribute"], count, *rest)


def run(settings: Settings, table: str, paper: str = "poe_v2") -> pd.DataFrame:
    """Recompute one table; one row a printed cell, under its id.

    Columns: id, system, k, method, selection; value, the mean over draws; se, its Monte Carlo
    standard error; boot_se, its bootstrap standard error over contexts; run_sd, how far one run
    of one judge would scatter around it, given its full-set correlation; flat, contexts in which
    the method told nothing apart (per draw); role, see `role`; kind, labels, draws, seed.
    """
    printed = cells(table, paper)
    with_sd = _printed_sd(printed, paper, table)
    found = _found(settings, printed["cell"])
    rows = []
    for (_, row), sd in zip(printed.iterrows(), with_sd, strict=True):
        cell: Cell = row["cell"]
        each = _per_draw(settings, found, cell)
        full = _everything(cell)
        value, se = spread(_means(each))
        # A run of the judge is one twin, averaged over many draws: take out what the full set
        # already says about this twin, and the scatter of draws that the paper averaged away.
        beyond = (_means(each) - _means(_per_draw(settings, found, full))).var(ddof=1)
        judge = _judges(settings, cell)[0]
        rows.append(
            {
                **identity(row),
                "k": int(row["k"]),
                "value": value,
                "se": se,
                "boot_se": 100.0 * sweep.bootstrap_se(each),
                "run_sd": np.sqrt(max(beyond - np.nan_to_num(sd) ** 2, 0.0)),
                "flat": float((each == 0.0).sum(axis=-1).mean()),
                "role": role(cell),
                "kind": settings.kind(judge),
            }
        )
    data = sweep.labels(facts_key(printed["dataset"].iloc[0]), settings.source)
    draws = sweep.blocks(settings.draws) * sweep.BLOCK
    return pd.DataFrame(rows).assign(labels=data.source, draws=draws, seed=settings.seed)


def role(cell: Cell) -> str:
    """What the published cell is to us.

    "calibrated", used for some twin; "consulted", looked at when the form of the twins was
    chosen; "implied" by a calibrated one (all calls: products of experts on probabilities rank
    as the average probability does, book chapter 6, and the Gaussian's scores are its own);
    "held out", a prediction that was compared with nothing before the twins were fixed; else
    "predicted".
    """
    used, seen = _signatures()
    if cell in used:
        return "calibrated"
    if cell in seen:
        return "consulted"
    full = cell.calls == FULL[cell.dataset]
    same = cell.method == "PoE-g" or (cell.method == "PoE-BT" and cell.metric == "spearman")
    average = replace(cell, method="avg-prob")
    if full and same and average in used:
        return "implied"
    late = cell.rule == "greedy" or (cell.dataset == "TopicalChat" and cell.metric == "pearson")
    return "held out" if late else "predicted"


def _everything(cell: Cell) -> Cell:
    """What the average probability of all calls says of the same judge: Spearman."""
    return replace(
        cell,
        calls=FULL[cell.dataset],
        rule="symmetric",
        method="avg-prob",
        metric="spearman",
    )


@cache
def _signatures() -> tuple[frozenset[Cell], frozenset[Cell]]:
    used = calibration_cells("summeval", "topicalchat")
    tables = [cells(name) for name in ("table5", "table6", "table7", "table8")]
    known = dict(zip(pd.concat(tables)["id"], pd.concat(tables)["cell"], strict=True))
    return (
        frozenset(cell for id_, cell in known.items() if id_ in used),
        frozenset(cell for id_, cell in known.items() if id_ in facts.CONSULTED),
    )


def facts_key(name: str) -> str:
    """The dataset's name here from that in the paper."""
    return {label: key for key, label in facts.NAMES.items()}[name]


def attributes(dataset: str, attribute: str) -> list[str]:
    """Attributes that a printed label stands for."""
    known = facts.ATTRIBUTES[facts_key(dataset)]
    return list(known.values()) if attribute == "mean" else [known[attribute]]


def _judges(settings: Settings, cell: Cell) -> list[Twin]:
    names = attributes(cell.dataset, cell.attribute)
    return settings.group(facts_key(cell.dataset), cell.system, names)


def _setting(settings: Settings, cell: Cell) -> Setting:
    key = facts_key(cell.dataset)
    return Setting(key, settings.source, cell.calls, cell.rule, settings.seed)


def _found(settings: Settings, wanted: pd.Series) -> dict[tuple[Twin, Setting], Found]:
    jobs = []
    for cell in wanted:
        full = _everything(cell)
        for one in (cell, full):
            jobs += [(judge, _setting(settings, one)) for judge in _judges(settings, one)]
    return sweep.run_blocks(
        jobs, draws=settings.draws, workers=settings.workers, progress=settings.progress
    )


def _per_draw(settings: Settings, found: dict[tuple[Twin, Setting], Found], cell: Cell) -> Floats:
    """Correlations (attributes, draws, contexts), NaN where there is none."""
    setting = _setting(settings, cell)
    parts = [found[j, setting][cell.method, cell.metric] for j in _judges(settings, cell)]
    return np.stack(parts)


def _means(each: Floats) -> Floats:
    """Mean over contexts, then attributes, times 100: (draws,)."""
    return np.asarray(100.0 * np.nanmean(each, axis=-1).mean(axis=0))


def _printed_sd(printed: pd.DataFrame, paper: str, table: str) -> pd.Series:
    elsewhere = SDS.get((paper, table))
    if elsewhere is None:
        return printed["sd_number"]
    other = cells(elsewhere, paper)
    known = dict(zip(other["cell"], other["sd_number"], strict=True))
    return pd.Series([known.get(cell, np.nan) for cell in printed["cell"]])
