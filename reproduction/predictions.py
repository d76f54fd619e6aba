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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_expit

from judging.machine import data_dir, write
from poe.arrays import Floats, Mask
from reproduction import ask_model
from reproduction.measured_tables import Asked, group, wordings_of
from reproduction.settings import Calls
from reproduction.small import METHODS, answers, correlations
from reproduction.stored_judge import Measured
from reproduction.twins import Twin, labels, quality_scores

DRAWS = 200  # of twins; the ends of an interval are its 5th smallest and largest
SETS = 3  # of calls in each
INTERVAL = (2.5, 50.0, 97.5)
# What is predicted of every attribute, by the name of its number here.
FEW, ALL = 48, 240  # calls about a SummEval article: a fifth, and all
FILE = "predictions.toml"


@dataclass(frozen=True)
class Calibrated:
    """A twin's parameters from all answers of a judge about one attribute.

    rho : correlation of perceived with human quality. sharpness, bias, noise : logits.
    shared : correlation of the errors that the two orders of a pair make about their difference.
    """

    rho: float
    sharpness: float
    bias: float
    noise: float
    shared: float

    def twin(self, judge: str, dataset: str, attribute: str) -> Twin:
        """The twin on some attribute."""
        return Twin(
            judge,
            dataset,
            attribute,
            rho=self.rho,
            sharpness=self.sharpness,
            noise=self.noise,
            bias=self.bias,
            shared=self.shared,
        )


def calibrated(logits: Floats, z: Floats) -> Calibrated:
    """A twin's parameters by moments, from logits (C, N, N) of all calls and qualities z (C, N).

    Half the difference of a pair's two orders is a (q_i - q_j) and an error of variance
    tau^2 (1 + shared) / 2; half their sum is b and one of tau^2 (1 - shared) / 2. Of the first,
    item effects by least squares have variance a^2 plus their share of the error, and a
    covariance with z of a rho (z has variance 1 within contexts, pooled).
    """
    contexts, n = z.shape
    turned = np.swapaxes(logits, -1, -2)
    difference, place = (logits - turned) / 2.0, (logits + turned) / 2.0
    off, free = ~np.eye(n, dtype=bool), contexts * (n - 1)
    effect = np.where(off, difference, 0.0).sum(axis=-1) / n  # least squares over all pairs
    left = (difference - (effect[:, :, None] - effect[:, None, :]))[:, off]
    # Each pair stands there twice, with both signs; of its numbers N - 1 were fitted.
    of_items = float((left**2).sum() / 2.0 / (free * (n - 2) / 2.0))
    bias = float(place[:, off].mean())
    of_place = float(((place[:, off] - bias) ** 2).mean())
    spread, z_spread = (effect**2).sum() / free - of_items / n, (z**2).sum() / free
    along = float((effect * z).sum() / free / z_spread)  # a rho
    # q has variance rho^2 times that of z, plus 1 - rho^2.
    sharpness = float(np.sqrt(max(spread - along**2 * (z_spread - 1.0), along**2, 1e-12)))
    return Calibrated(
        rho=along / sharpness,
        sharpness=sharpness,
        bias=bias,
        noise=float(np.sqrt(of_items + of_place)),
        shared=(of_items - of_place) / (of_items + of_place),
    )


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


def numbers(every: Sequence[Asked], *, draws: int, seed: Sequence[int]) -> dict[str, Floats]:
    """What is predicted, of answers that exist: (A,) values, one an attribute.

    Correlations with people's scores x 100, and shares x 100. The same code reads a twin's answers
    and the judge's own.
    """
    found: dict[str, list[float]] = {}

    def add(name: str, value: Any) -> None:
        found.setdefault(name, []).append(100.0 * float(np.nanmean(value)))

    for one in every:
        judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
        at: dict[int, dict[str, float]] = {}
        for k in (FEW, ALL):
            calls, times = Calls(one.dataset, k, "symmetric"), 1 if k == ALL else draws
            stack = answers(judge, calls, one.gold, seed=[*seed, 24], draws=times)
            by = correlations(stack, one.gold, METHODS)
            at[k] = {name: float(np.nanmean(by[name, "spearman"])) for name in METHODS}
        for name in METHODS:
            add(f"{name}, a fifth", at[FEW][name])
            add(f"{name}, all calls", at[ALL][name])
        add("avg-prob, all calls - PoE-BT, a fifth", at[ALL]["avg-prob"] - at[FEW]["PoE-BT"])
        add(
            "win-ratio, all calls - win-ratio, a fifth", at[ALL]["win-ratio"] - at[FEW]["win-ratio"]
        )
        for better, other in (
            ("avg-prob", "win-ratio"),
            ("PoE-BT", "avg-prob"),
            ("PoE-BT", "win-ratio"),
            ("PoE-BT", "BT"),
        ):
            add(f"{better} - {other}, a fifth", at[FEW][better] - at[FEW][other])
        add("|PoE-BT - PoE-g|, a fifth", abs(at[FEW]["PoE-BT"] - at[FEW]["PoE-g"]))
        add("|avg-prob - win-ratio|, all calls", abs(at[ALL]["avg-prob"] - at[ALL]["win-ratio"]))
        words = wordings_of(one)
        add("first place preferred", words["first-position",])
        add("accuracy of one order", words["accuracy",])
        add("both orders - one, accuracy", words["averaged",] - words["accuracy",])
    return {name: np.array(values) for name, values in found.items()}


def sources(which: str = "qwen", dataset: str = "topicalchat") -> list[tuple[Floats, Floats]]:
    """Logits (C, N, N) and qualities (C, N) of every attribute that a judge answered in full."""
    return [
        (
            one.log_p[..., 0] - one.log_p[..., 1],
            quality_of(dataset, one.attribute, one.contexts),
        )
        for one in group(dataset, which=which)
    ]


def quality_of(dataset: str, attribute: str, contexts: Sequence[int]) -> Floats:
    """People's scores of some contexts on the scale of quality of the whole dataset."""
    return quality_scores(labels(dataset).scores[attribute])[list(contexts)]


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
        found = twin.answer(gold, rng).logits[list(contexts)]
        log_p = np.stack([log_expit(found), log_expit(-found)], axis=-1)
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
    found: dict[str, list[Floats]] = {}
    for draw in range(draws):
        rng = np.random.default_rng([seed, 25, draw])
        every = list(drawn(known, runs, rng, which=which))
        for name, value in numbers(every, draws=SETS, seed=[seed, draw]).items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}


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
    found: Mapping[str, Floats], attributes: Sequence[str], about: Mapping[str, str]
) -> str:
    """data/predictions.toml: what was predicted, by whom it was computed, and when."""
    lines = [
        "# Predictions, written before the judge was asked: see "
        "reproduction/predictions.py. Points",
        "# are correlations x 100, shares are in per cent; low and high hold 95% of the draws.",
        "",
        *(f'{key} = "{value}"' for key, value in about.items()),
        *rows(found, attributes, CLAIMS, "prediction"),
    ]
    return "\n".join(lines) + "\n"


def rows(
    found: Mapping[str, Floats],
    attributes: Sequence[str],
    claims_by_name: Mapping[str, tuple[str, str]],
    table: str,
) -> list[str]:
    """Lines of TOML: a table for every quantity, of the mean and of each attribute.

    claims_by_name : of each claim, its quantity and when it holds.
    """
    lines: list[str] = []
    claims = {quantity: (claim, rule) for claim, (quantity, rule) in claims_by_name.items()}
    for name, draws in found.items():
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
    every = group("summeval", which=which)
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
    found = predicted(sources(), runs)
    about = {
        "judge": ask_model.QWEN.name,
        "predicted": "SummEval",
        "calibrated_on": "TopicalChat, data/measured/qwen/topicalchat-poe.csv.gz",
        "answers": ask_model.digest(ask_model.QWEN),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": "python -m reproduction.predictions",
    }
    write(data_dir() / FILE, as_toml(found, list(runs), about))


if __name__ == "__main__":
    main()
