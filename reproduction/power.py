"""What the verdicts of a table are worth: power, joint bias, and trivial baselines to beat.

A verdict that a wrong judge or a wrong method would have got as well says little. So every table is
held against answers that are wrong on purpose, its cells are tested together for a common bias, and
its mean error stands beside that of a baseline without any simulation. Nothing is simulated here:
all of it is computed from the printed numbers and the stored results, on the cells that are
predictions (`verdicts.predictions`). `overview` puts it into one row a table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student

from reproduction.published import TITLES, all_tables
from reproduction.twins import ROLES
from reproduction.verdicts import NOISE_FACTOR, in_points, predictions, to_points, unique

# Methods that a table prints side by side and that its verdicts should tell apart.
PAIRS = (
    ("avg-prob", "PoE-BT"),
    ("PoE-BT", "PoE-g"),
    ("win-ratio", "BT"),
    ("standard", "debiased"),
    ("win-loss", "likelihood"),
)
METHODS, JUDGES, ATTRIBUTES = "methods", "judges", "attributes"
WEAK = 0.5  # a swap that agrees more than this share as often as the right cell is not told apart
LEVEL = 0.05  # of the tests of a joint bias: one table in twenty shows one by chance
FIRST = ["paper", "table", "predicted", "agree", "error", "baseline", "twins", "power", "test"]
LEGEND = (
    "agree: per cent of the predictions, cells neither calibrated nor implied. error: their mean "
    "absolute difference, in points. baseline, twins: that of a trivial baseline and of ours where "
    "there is one. wrong: per cent of wrong methods, judges and attributes that would have agreed. "
    "bias: mean signed difference, each judge one observation; a joint bias has p < 0.05."
)

# Power -----------------------------------------------------------------------------------------


def power(card: pd.DataFrame) -> pd.DataFrame:
    """Count how often a wrong cell would have agreed: one row a paper, table and swap.

    Columns: paper, table, swap, kind, cells, right (share of the cells that agree), wrong (share
    that would, had the twin's value been that of the other method, judge or attribute in the same
    place: against the same printed number and within the same tolerance). With several others, the
    mean over them, which is what random permutations give.
    """
    rows = []
    for (paper, table), part in card.groupby(["paper", "table"], sort=False):
        swaps = [
            (METHODS, f"{one} / {other}", "method", part[part["method"].isin([one, other])])
            for one, other in PAIRS
        ]
        swaps += [(JUDGES, "judges permuted", "system", part)]
        swaps += [(ATTRIBUTES, "attributes permuted", "attribute", part)]
        for kind, swap, column, cells in swaps:
            if cells[column].nunique() < 2:
                continue
            cells = cells.assign(place=_places(cells, column))
            pairs = predictions(cells).merge(
                cells[["place", "dataset", column, "ours"]].dropna(subset="ours"),
                on=["place", "dataset"],
                suffixes=("", " of the other"),
            )
            pairs = pairs[pairs[column] != pairs[f"{column} of the other"]]
            if pairs.empty:
                continue
            passed = (pairs["ours of the other"] - pairs["number"]).abs() <= pairs["tolerance"]
            rates = {
                "cells": pairs["id"].nunique(),
                "right": float((pairs["verdict"] == "agrees").mean()),
                "wrong": float(passed.mean()),
            }
            rows.append({"paper": paper, "table": table, "swap": swap, "kind": kind, **rates})
    names = ["paper", "table", "swap", "kind", "cells", "right", "wrong"]
    return pd.DataFrame(rows, columns=names)


def _places(cells: pd.DataFrame, column: str = "system") -> list[str]:
    """The ids of cells without their judges, methods or attributes: the same for all of them."""
    names = cells[column]
    if column == "attribute":
        names = cells["dataset"] + "-" + names
    both = zip(cells["id"], names, strict=True)
    return [f"{cell}/".replace(f"/{name}/", "/") for cell, name in both]


def weak(swaps: pd.DataFrame) -> str:
    """Say "weak test" where a table's rows of `power` cannot tell methods apart, else "".

    Over all its swaps of methods, weighted by their cells, the wrong cells agree more than half
    (`WEAK`) as often as the right ones. A table without two such methods is judged by its judges,
    then by its attributes; "no test" where there is nothing to swap either.
    """
    for kind in (METHODS, JUDGES, ATTRIBUTES):
        rows = swaps[swaps["kind"] == kind]
        if len(rows):
            return "weak test" if _mean(rows, "wrong") > WEAK * _mean(rows, "right") else ""
    return "no test"


def _mean(rows: pd.DataFrame, name: str) -> float:
    return float(np.average(rows[name], weights=rows["cells"])) if len(rows) else np.nan


# Joint bias ------------------------------------------------------------------------------------


def bias(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Mean signed difference, points, its standard error and the p-value of a two-sided t test.

    Cells of one judge share its luck, so each judge counts as one observation, the mean over its
    cells: with J judges the test has J - 1 degrees of freedom. Error and p are NaN with one judge.
    """
    means = in_points(rows)["difference"].groupby(rows["system"]).mean()
    count = len(means)
    if count < 2:
        return float(means.mean()), np.nan, np.nan
    error = float(means.std(ddof=1) / np.sqrt(count))
    ratio = abs(float(means.mean())) / error if error else np.inf
    return float(means.mean()), error, float(2.0 * student.sf(ratio, count - 1))


def judge_biases(card: pd.DataFrame) -> pd.DataFrame:
    """Each judge's mean signed difference by table: paper, table, system, cells, bias, error.

    error : of one run of the judge as if all its cells shared all of their luck, the most there can
    be: the mean of their standard deviations. shown : whether the bias is beyond twice that.
    """
    rows = in_points(predictions(card))
    grouped = rows.assign(sd=rows["tolerance"] / NOISE_FACTOR).groupby(
        ["paper", "table", "system"], sort=False
    )
    biases = grouped.agg(cells=("id", "size"), bias=("difference", "mean"), error=("sd", "mean"))
    return biases.assign(shown=biases["bias"].abs() > NOISE_FACTOR * biases["error"]).reset_index()


# Baselines -------------------------------------------------------------------------------------


def baseline(card: pd.DataFrame) -> pd.Series:
    """Compute what a trivial baseline says of each cell of one paper, NaN where nothing.

    Scaling: the mean of the other judges' printed numbers in the same place, times one parameter of
    the judge. That is the judge's printed number over the others' for the average probability of
    all calls (Spearman, same dataset), which is what the level of its twin is calibrated on. No row
    of the judge but that one is used.

    Table 3 of poe_v2 instead interpolates its calibrated cells: the average probability along a
    straight line in 1/K from 5N to 50N, and PoE-BT at every K as the average probability at 50N.

    comparative_assessment: the judge's own printed number for debiased decisions, of the same
    dataset, attribute and measure, which its twin is calibrated on: as if nothing changed it.
    """
    (paper,) = card["paper"].unique()
    if paper == "comparative_assessment":
        return _own(card)
    printed = all_tables(paper=paper)
    full = (printed["selection"] == "full") & printed["number"].notna()
    level = (printed["method"] == "avg-prob") & (printed["metric"] == "spearman")
    anchors = printed[full & level]
    by_judge = card.assign(place=_places(card)).pivot(
        index="place", columns="system", values="number"
    )
    guesses = pd.Series(np.nan, index=card.index)
    for (dataset, system), rows in card.groupby(["dataset", "system"]):
        known = anchors[anchors["dataset"] == dataset]
        others = by_judge[sorted(set(known["system"]) - {system})].mean(axis=1)
        own = known[known["system"] == system]
        rest = others[_places(own)].to_numpy()
        shared = np.isfinite(rest)
        if shared.any():
            rest, its = rest[shared], own["number"].to_numpy()[shared]
            guesses[rows.index] = rest @ its / (rest @ rest) * others[_places(rows)].to_numpy()
    values = dict(zip(card["id"], card["number"], strict=True))
    for at, row in card[card["id"].str.startswith("poe_v2/table3/")].iterrows():
        head = f"poe_v2/table3/{row['system']}/K{{}}N/{row['dataset']}-{row['attribute']}/avg-prob"
        few, many = values[head.format(5)], values[head.format(50)]
        share = (1 / 5 - 1 / float(row["k"].removesuffix("N"))) / (1 / 5 - 1 / 50)
        guesses[at] = many if row["method"] == "PoE-BT" else few + share * (many - few)
    return guesses


def _own(card: pd.DataFrame) -> pd.Series:
    """Each cell's judge's calibrated number of the same dataset, attribute and measure, or NaN."""
    place = ["dataset", "system", "attribute", "metric", "unit"]
    known = card[(card["role"] == "calibrated") & (card["method"] == "debiased")]
    own = known.groupby(place)["number"].mean().rename("guess")
    return card[place].join(own, on=place)["guess"]


# Together --------------------------------------------------------------------------------------


def overview(card: pd.DataFrame) -> pd.DataFrame:
    """One row a table with something tested, and one a paper that counts each experiment once.

    Columns: paper, table; cells, tested, and how many have which role; predicted; agree (share of
    the predictions, in per cent); error (mean absolute difference, points) and blind error; on the
    cells where there is a baseline theirs (baseline) and ours (twins); wrong methods, wrong judges
    and wrong attributes (share in per cent of wrong cells that would agree; `power`); power
    (`weak`); bias and bias error (`bias`), and test: whether the table has a joint bias at `LEVEL`.
    What the table comes to stands first (`FIRST`), what that is made of behind it.
    """
    known = pd.concat([baseline(part) for _, part in card.groupby("paper", sort=False)])
    card = card.assign(baseline=known)
    powers = power(card)
    rows = []
    for paper, whole in card.groupby("paper", sort=False):
        for table, part in whole.groupby("table", sort=False):
            if (part["verdict"] != "not tested").any():
                swaps = powers[(powers["paper"] == paper) & (powers["table"] == table)]
                wrong = {
                    f"wrong {kind}": 100.0 * _mean(swaps[swaps["kind"] == kind], "wrong")
                    for kind in (METHODS, JUDGES, ATTRIBUTES)
                }
                mean, error, p = bias(predictions(part))
                said = "joint bias" if p < LEVEL else ""
                joint = {"bias": mean, "bias error": error, "test": said}
                row = {"paper": paper, "table": table, **_counts(part, predictions(part))}
                rows.append(row | wrong | {"power": weak(swaps)} | joint)
        if (whole["verdict"] != "not tested").any():
            row = {"paper": paper, "table": "each experiment once"}
            rows.append(row | _counts(whole, predictions(unique(whole))))
    results = pd.DataFrame(rows).assign(paper=lambda t: t["paper"].map(TITLES))
    return results[[*FIRST, *(name for name in results if name not in FIRST)]]


def shares(card: pd.DataFrame) -> pd.DataFrame:
    """Count predictions that agree, and those of a guess that simulates nothing: a row a group.

    Each experiment once. Groups: the predictions of poe_v2 that were seen before the form of the
    twins was chosen, those that were blind, comparative_assessment's, and all. Columns:
    predictions; agree, low and high, per cent with 95% of a bootstrap over judges, since cells of
    one judge share its luck; median and mean, absolute differences in points; on, for how many the
    guess (`baseline`) has anything, guess, the share of these that it would have got within the
    same tolerances, and beside, that of the twins; lead, lead_low and lead_high, what the twins are
    ahead by, with 95% of the same bootstrap; error and guess_error, mean absolute differences
    there, in points.
    """
    known = pd.concat([baseline(part) for _, part in card.groupby("paper", sort=False)])
    rows = predictions(unique(card.assign(baseline=known)))
    ours, blind = rows["paper"] == "poe_v2", rows["role"] == "blind"
    groups = {
        "PoE v2, seen": ours & ~blind,
        "PoE v2, blind": ours & blind,
        "comparative assessment": rows["paper"] == "comparative_assessment",
        "all": rows["id"].notna(),
    }
    return pd.DataFrame([{"group": name, **_share(rows[at])} for name, at in groups.items()])


def _share(rows: pd.DataFrame) -> dict[str, float]:
    agrees = (rows["verdict"] == "agrees").to_numpy()
    size = in_points(rows)["difference"].abs()
    guessed = rows.dropna(subset="baseline")
    off = (guessed["baseline"] - guessed["number"]).abs()
    right = (off <= guessed["tolerance"]).to_numpy()
    beside = (guessed["verdict"] == "agrees").to_numpy()
    low, high = _over_judges(agrees, rows["system"])
    lead_low, lead_high = _over_judges(beside * 1.0 - right, guessed["system"])
    return {
        "predictions": len(rows),
        "agree": 100.0 * float(agrees.mean()),
        "low": low,
        "high": high,
        "median": float(size.median()),
        "mean": float(size.mean()),
        "guess": 100.0 * float(right.mean()),
        "beside": 100.0 * float(beside.mean()),
        "on": len(guessed),
        "lead": 100.0 * float(beside.mean() - right.mean()),
        "lead_low": lead_low,
        "lead_high": lead_high,
        "error": float(size[guessed.index].mean()),
        "guess_error": float((off * to_points(guessed)).mean()),
    }


def _over_judges(values: ArrayLike, systems: pd.Series) -> tuple[float, float]:
    """Bound the mean, per cent, by 95% of a bootstrap in which judges are drawn whole."""
    judges = [np.asarray(values)[systems == name] for name in systems.unique()]
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(judges), size=(2000, len(judges)))
    again = [np.concatenate([judges[k] for k in chosen]).mean() for chosen in drawn]
    low, high = 100.0 * np.percentile(again, [2.5, 97.5])
    return float(low), float(high)


def _counts(cells: pd.DataFrame, rows: pd.DataFrame) -> dict[str, object]:
    tested, rows = cells[cells["verdict"] != "not tested"], in_points(rows)
    compared = rows.dropna(subset="baseline")
    guess = (compared["baseline"] - compared["number"]) * to_points(compared)
    return {
        "cells": len(cells),
        "tested": len(tested),
        **{role: int((tested["role"] == role).sum()) for role in ROLES},
        "predicted": len(rows),
        "agree": 100.0 * float((rows["verdict"] == "agrees").mean()),
        "error": float(rows["difference"].abs().mean()),
        "blind error": float(rows.loc[rows["role"] == "blind", "difference"].abs().mean()),
        "baseline": float(guess.abs().mean()),
        "twins": float(compared["difference"].abs().mean()),
    }
