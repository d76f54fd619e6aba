"""Predictions about a judge before it was asked: data/predictions.toml, and what came of them.

A judge that had answered every call about one dataset was calibrated from those answers, and its
twin then judged another dataset: what every method should reach there with a fifth of the calls and
with all of them, how much one method should gain over another, how often single decisions should be
right. The numbers were written down with their date before the judge was asked about a single text
of that dataset, so nothing in them can have been chosen to fit.

The twin is the papers' twins' (`reproduction.twins`): perceived quality
q = rho z + sqrt(1 - rho^2) t, and logit p = a (q_i - q_j) + b + tau e. What it assumes beyond its
parameters is what can fail: that a judge reads the other dataset's attributes as well as these,
that its errors have one size, and that position matters for every text alike.

What is not known was drawn: for every attribute, which of the calibrated attributes it resembles,
and which contexts those answers were about (a bootstrap); then tastes, errors and calls. An
interval holds 95% of such draws, for as many contexts as were to be asked about.

Predictions are made by code and answers that were there before, and no draw of theirs is left to
chance. That code is kept where it was run, in the history: the file's head has the commands with
which anyone makes them again. Here is what reads the answers since.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judging.machine import data_dir
from poe.arrays import Floats
from reproduction import ask_model
from reproduction.answers import Measured
from reproduction.measured_tables import Asked, group, wordings_of
from reproduction.settings import Calls
from reproduction.small import METHODS, answers, correlations, few_and_all

__all__ = ["FILE", "numbers", "outcomes", "planned", "stated"]
FILE = "predictions.toml"
GAINS = (
    ("avg-prob", "win-ratio"),
    ("PoE-BT", "avg-prob"),
    ("PoE-BT", "win-ratio"),
    ("PoE-BT", "BT"),
)


def planned(which: str = "qwen", dataset: str = "summeval") -> dict[str, list[int]]:
    """Contexts that will be asked about, by attribute."""
    model = ask_model.MODELS[which]
    return {
        attribute: ask_model.in_order(run, model)
        for run in ask_model.ASKED[which]
        if run.dataset == dataset and run.template == "poe"
        for attribute in run.attributes
    }


def numbers(every: Sequence[Asked], *, draws: int, seed: Sequence[int]) -> dict[str, Floats]:
    """Compute what was predicted, of answers that exist: (A,) values, one an attribute.

    Correlations with people's scores x 100, and shares x 100.
    """
    quantities: dict[str, list[float]] = {}

    def add(name: str, value: Any) -> None:
        quantities.setdefault(name, []).append(100.0 * float(np.nanmean(value)))

    for one in every:
        judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
        counts, at = few_and_all(one.dataset), list[dict[str, float]]()
        for k in counts:
            calls, times = Calls(one.dataset, k, "symmetric"), 1 if k == counts[-1] else draws
            stack = answers(judge, calls, one.gold, seed=[*seed, 24], draws=times)
            by = correlations(stack, one.gold, METHODS)
            at.append({name: float(np.nanmean(by[name, "spearman"])) for name in METHODS})
        few, every_call = at
        for name in METHODS:
            add(f"{name}, a fifth", few[name])
            add(f"{name}, all calls", every_call[name])
        for whole, part in (("avg-prob", "PoE-BT"), ("win-ratio", "win-ratio")):
            add(f"{whole}, all calls - {part}, a fifth", every_call[whole] - few[part])
        for better, other in GAINS:
            add(f"{better} - {other}, a fifth", few[better] - few[other])
        add("|PoE-BT - PoE-g|, a fifth", abs(few["PoE-BT"] - few["PoE-g"]))
        add(
            "|avg-prob - win-ratio|, all calls",
            abs(every_call["avg-prob"] - every_call["win-ratio"]),
        )
        words = wordings_of(one)
        add("first place preferred", words["first-position",])
        add("accuracy of one order", words["accuracy",])
        add("both orders - one, accuracy", words["averaged",] - words["accuracy",])
    return {name: np.array(values) for name, values in quantities.items()}


def outcomes(which: str = "qwen", *, draws: int = 100) -> pd.DataFrame:
    """Every prediction beside what was measured, where the judge has been asked by now.

    Columns: quantity, attribute, low, median, high, measured (NaN before), inside.
    """
    rows = pd.DataFrame(tomllib.loads((data_dir() / FILE).read_text("utf-8"))["prediction"])
    # These were about few articles, asked on a processor; more were asked of a GPU since.
    every = group("summeval", which="processor" if which == "qwen" else which)
    value: dict[tuple[str, str], float] = {}
    if every:
        for name, each in numbers(every, draws=draws, seed=[0]).items():
            value |= {(name, one.attribute): x for one, x in zip(every, each, strict=True)}
            if len(every) == len(planned(which)):
                value[name, "mean"] = float(each.mean())
    places = zip(rows["quantity"], rows["attribute"], strict=True)
    rows["measured"] = [value.get(place, np.nan) for place in places]
    inside = (rows["low"] <= rows["measured"]) & (rows["measured"] <= rows["high"])
    return rows.assign(inside=inside.where(rows["measured"].notna()))


def stated(rows: pd.DataFrame) -> pd.DataFrame:
    """Outcomes that were measured and have a claim: its chance, and came, 1 where it holds."""
    rows = rows.dropna(subset=["chance", "measured"])
    rule = rows["holds_if"].str.rsplit(" ", n=1, expand=True)  # "at most 2.0" or "above 0.0"
    limit = rule[1].astype(float)
    came = np.where(rule[0] == "above", rows["measured"] > limit, rows["measured"] <= limit)
    return pd.DataFrame({"chance": rows["chance"], "came": came.astype(float)})
