"""Predictions about a judge before it is asked: data/predictions.toml, and what came of them.

A judge that answered every call about one dataset is calibrated from those answers (`calibrated`),
and its twin then judges another dataset: what every method should reach there with a fifth of the
calls and with all of them, how much one method should gain over another, how often single
decisions should be right. The numbers are written down with their date before the judge is asked
about a single text of that dataset, so nothing in them can have been chosen to fit.

The twin is the papers' twins' (`reproduction.twins`): perceived quality
q = rho z + sqrt(1 - rho^2) t, and logit p = a (q_i - q_j) + b + tau e. What it assumes beyond its
parameters is what can fail: that a judge reads the other dataset's attributes as well as these,
that its errors have one size, and that position matters for every text alike.

What is not known is drawn: for every attribute that is predicted, which of the calibrated
attributes it resembles, and which contexts those answers were about (a bootstrap); then tastes,
errors and calls. An interval holds 95% of such draws, for as many contexts as will be asked about.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from scipy.special import log_expit

from judging.machine import data_dir, write
from poe.arrays import Floats, Mask
from reproduction import ask_model
from reproduction.measured_tables import Asked, group
from reproduction.twins import labels
from studies.twin_of_judge import Calibrated, calibrated, numbers, quality_of, sources

__all__ = ["Calibrated", "calibrated", "numbers", "quality_of", "sources"]
DRAWS = 200  # of twins; the ends of an interval are its 5th smallest and largest
SETS = 3  # of calls in each
INTERVAL = (2.5, 50.0, 97.5)
FILE = "predictions.toml"


# What is predicted -----------------------------------------------------------------------------

# Headline claims of the papers as numbers of one judge, and when they hold (points, or shares).
CLAIMS = {
    "v2-fifth-within-2": ("avg-prob, all calls - PoE-BT, a fifth", "at most 2.0"),
    "v2-win-ratio-loses-10": ("win-ratio, all calls - win-ratio, a fifth", "at most 10.0"),
    "v2-avg-prob-beats-win-ratio": ("avg-prob - win-ratio, a fifth", "above 0.0"),
    "v2-soft-beats-avg-prob": ("PoE-BT - avg-prob, a fifth", "above 0.0"),
    "v2-gaussian-bt-alike-soft": ("|PoE-BT - PoE-g|, a fifth", "at most 1.0"),
    "v2-full-within-1": ("|avg-prob - win-ratio|, all calls", "at most 1.0"),
    "PoE-BT beats Bradley-Terry on decisions": ("PoE-BT - BT, a fifth", "above 0.0"),
    "averaging both orders makes decisions better": ("both orders - one, accuracy", "above 0.0"),
}


def holds(value: Floats, criterion: str) -> Mask:
    """Whether values meet a criterion, "at most 2.0" or "above 0.0"."""
    kind, limit = criterion.rsplit(" ", 1)
    return value > float(limit) if kind == "above" else value <= float(limit)


def drawn(
    known: Sequence[tuple[Floats, Floats]],
    runs: Mapping[str, Sequence[int]],
    rng: np.random.Generator,
    *,
    which: str,
    dataset: str = "summeval",
) -> Iterator[Asked]:
    """One draw of what a twin answers: for each attribute of `runs` about its contexts."""
    name = ask_model.MODELS[which].name
    for attribute, contexts in runs.items():
        logits, z = known[int(rng.integers(len(known)))]
        again = rng.integers(len(z), size=len(z))
        twin = calibrated(logits[again], z[again]).twin(name, dataset, attribute)
        gold = labels(dataset).scores[attribute]
        twin_logits = twin.answer(gold, rng).logits[list(contexts)]
        log_p = np.stack([log_expit(twin_logits), log_expit(-twin_logits)], axis=-1)
        yield Asked(dataset, attribute, "poe", tuple(contexts), log_p, gold[list(contexts)], which)


def predicted(
    known: Sequence[tuple[Floats, Floats]],
    runs: Mapping[str, Sequence[int]],
    *,
    which: str = "qwen",
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Floats]:
    """Draws (draws, A) of every number about the attributes of `runs`."""
    quantities: dict[str, list[Floats]] = {}
    for draw in range(draws):
        rng = np.random.default_rng([seed, 25, draw])
        every = list(drawn(known, runs, rng, which=which))
        for name, value in numbers(every, draws=SETS, seed=[seed, draw]).items():
            quantities.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in quantities.items()}


def planned(which: str = "qwen", dataset: str = "summeval") -> dict[str, list[int]]:
    """Contexts that will be asked about, by attribute."""
    model = ask_model.MODELS[which]
    return {
        attribute: ask_model.in_order(run, model)
        for run in ask_model.ASKED[which]
        if run.dataset == dataset and run.template == "poe"
        for attribute in run.attributes
    }


# Writing it down, and what came of it ---------------------------------------------------------


def as_toml(
    quantities: Mapping[str, Floats], attributes: Sequence[str], about: Mapping[str, str]
) -> str:
    """data/predictions.toml: what was predicted, by whom it was computed, and when."""
    lines = [
        "# Predictions, written before the judge was asked: see studies/predictions.py. Points",
        "# are correlations x 100, shares are in per cent; low and high hold 95% of the draws.",
        "",
        *(f'{key} = "{value}"' for key, value in about.items()),
        *rows(quantities, attributes, CLAIMS, "prediction"),
    ]
    return "\n".join(lines) + "\n"


def rows(
    quantities: Mapping[str, Floats],
    attributes: Sequence[str],
    claims_by_name: Mapping[str, tuple[str, str]],
    table: str,
) -> list[str]:
    """Lines of TOML: a table for every quantity, of the mean and of each attribute.

    claims_by_name : of each claim, its quantity and when it holds.
    """
    lines: list[str] = []
    claims = {quantity: (claim, rule) for claim, (quantity, rule) in claims_by_name.items()}
    for name, draws in quantities.items():
        each = [*zip(attributes, draws.T, strict=True)]
        for attribute, values in (("mean", draws.mean(axis=1)), *each) if each[1:] else each:
            low, middle, high = np.percentile(values, INTERVAL)
            lines += [
                "",
                f"[[{table}]]",
                f'quantity = "{name}"',
                f'attribute = "{attribute}"',
                f"low = {low:.2f}",
                f"median = {middle:.2f}",
                f"high = {high:.2f}",
            ]
            if name in claims:
                claim, rule = claims[name]
                share = float(np.mean(holds(values, rule)))
                lines += [f'claim = "{claim}"', f'holds_if = "{rule}"', f"chance = {share:.2f}"]
    return lines


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


def main() -> None:
    """Predict, and write data/predictions.toml; refuses once the judge has been asked."""
    if group("summeval", which="qwen"):
        raise SystemExit("the judge has been asked about SummEval; it is too late to predict")
    runs = planned()
    quantities = predicted(sources(), runs)
    about = {
        "judge": ask_model.QWEN.name,
        "predicted": "SummEval",
        "calibrated_on": "TopicalChat, data/measured/qwen/topicalchat-poe.csv.gz",
        "answers": ask_model.digest(ask_model.QWEN),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": "python -m studies.predictions",
    }
    write(data_dir() / FILE, as_toml(quantities, list(runs), about))


if __name__ == "__main__":
    main()
