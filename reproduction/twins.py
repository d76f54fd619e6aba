"""Twins: simulated judges calibrated on a few published numbers of a paper's judge.

A twin perceives quality q = rho * z + sqrt(1 - rho^2) * e, where z is the human score on a
scale of quality (`quality_scores`) and e is standard normal, the judge's own taste. It answers as
`SimulatedJudge` does. Its parameters come from data/twins.toml, which says what each was
calibrated on; everything else it says is a prediction. A twin is not an LLM and has read no text.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from zlib import crc32

import numpy as np
from scipy.stats import norm, rankdata

from poe._paths import data_dir
from poe.comparisons import Floats, Indices
from poe.judges import SimulatedJudge
from poe.stack import Stack

# Share of the scores as they are in what twins perceive. Found, once for all judges, from the
# win-ratio of all calls on SummEval: its Pearson less its Spearman correlation (poe_v2 Tables 5
# and 6, judges with printed accuracies: 0.45 on average).
INTERVAL = 0.325


@dataclass(frozen=True)
class Twin:
    """One simulated judge of one attribute.

    rho : correlation of perceived with human quality. sharpness : logits per unit of
    perceived quality. noise : standard deviation of a call's logit. bias : logits for the
    item shown first, in poe_v2's prompts. calibrated_on : ids of the published numbers that
    fixed them. earlier : rho and bias under the prompts of comparative_assessment.
    """

    judge: str
    dataset: str
    attribute: str
    rho: float
    sharpness: float
    noise: float
    bias: float
    calibrated_on: tuple[str, ...]
    earlier: tuple[float, float] | None = None

    def of_earlier_paper(self) -> Twin:
        """The same judge under the prompts of comparative_assessment."""
        if self.earlier is None:
            raise ValueError(f"comparative_assessment has no judge {self.judge} on {self.dataset}")
        return replace(self, rho=self.earlier[0], bias=self.earlier[1], earlier=None)

    def answer(
        self, gold: Floats, rng: np.random.Generator, *, draws: int | None = None
    ) -> SimulatedJudge:
        """A judge with a fresh taste for the human scores `gold` (C, N), or `draws` of them.

        Its qualities have the shape (C, N), with `draws` (draws, C, N).
        """
        shape = gold.shape if draws is None else (draws, *gold.shape)
        quality = perceived(gold, self.rho, rng.standard_normal(shape))
        return SimulatedJudge(
            quality, sharpness=self.sharpness, noise=self.noise, bias=self.bias, seed=rng
        )


def symmetric_stack(n_items: int, pairs: Indices, p: Floats) -> Stack:
    """Calls in both orders as one comparison a pair, p averaged (paper 3.5).

    pairs (..., K, 2) as `select_stack` returns for rule "symmetric", each pair followed by its
    reverse; p (..., K). Decisions taken from the result are decisions on the average.
    """
    return Stack.of(n_items, pairs[..., 0::2, :], (p[..., 0::2] + 1.0 - p[..., 1::2]) / 2.0)


def perceived(gold: Floats, rho: float, taste: Floats) -> Floats:
    """Rho * z + sqrt(1 - rho^2) * taste, with z from the human scores (C, N).

    taste (..., C, N).
    """
    return rho * quality_scores(gold) + np.sqrt(1.0 - rho**2) * taste


def quality_scores(gold: Floats, *, interval: float = INTERVAL) -> Floats:
    """Human scores (C, N) as z, the quality that twins perceive: between ordinal and interval.

    A rating scale ends at its best mark, so its steps are not all the same amount of quality,
    nor does it tell their order alone. z mixes the normal quantiles of the ranks in the dataset
    (ties share a rank) with the scores as they are, `interval` of the latter, each centred
    within contexts and divided by its pooled within-context standard deviation: pooled, so that
    an article whose summaries are all good stays a hard one to judge.
    """
    gold = np.asarray(gold, dtype=float)
    normal = norm.ppf(rankdata(gold.ravel()) / (gold.size + 1.0)).reshape(gold.shape)
    return _standardised((1.0 - interval) * _standardised(normal) + interval * _standardised(gold))


def _standardised(values: Floats) -> Floats:
    # Ties that centring would break by rounding stay ties.
    centred = np.round(values - values.mean(axis=-1, keepdims=True), 12)
    return np.asarray(centred / np.sqrt((centred**2).mean()))


def stream(judge: Twin) -> int:
    """Seed of one judge of one attribute, the same on every machine and in every target."""
    return crc32(f"{judge.judge}/{judge.attribute}".encode())


@cache
def standard_errors(dataset: str) -> dict[tuple[str, str], dict[str, float]]:
    """Of rho, noise (in units of quality) and sharpness by (judge, attribute), where there are."""
    with (data_dir() / "twins.toml").open("rb") as file:
        rows = [row for row in tomllib.load(file)["twin"] if row["dataset"] == dataset]
    return {(row["judge"], row["attribute"]): row["se"] for row in rows}


@cache
def twins(dataset: str = "summeval") -> dict[tuple[str, str], Twin]:
    """All twins of a dataset by (judge, attribute), from data/twins.toml."""
    with (data_dir() / "twins.toml").open("rb") as file:
        table = tomllib.load(file)
    found = [
        Twin(
            judge=row["judge"],
            dataset=row["dataset"],
            attribute=row["attribute"],
            rho=row["rho"],
            sharpness=row["sharpness"],
            noise=row["noise"],
            bias=row["bias"],
            calibrated_on=tuple(row["calibrated_on"]),
            earlier=(row["earlier"]["rho"], row["earlier"]["bias"]) if "earlier" in row else None,
        )
        for row in table["twin"]
        if row["dataset"] == dataset
    ]
    if not found:
        raise ValueError(f"data/twins.toml has no twins for {dataset!r}")
    return {(twin.judge, twin.attribute): twin for twin in found}


def calibration_cells(*datasets: str) -> frozenset[str]:
    """Ids of every published number used to calibrate some twin of the datasets."""
    return frozenset(
        cell
        for name in datasets or ("summeval",)
        for t in twins(name).values()
        for cell in t.calibrated_on
    )
