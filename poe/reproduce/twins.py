"""Twins: simulated judges calibrated on a few published numbers of a paper's judge.

A twin perceives quality q = rho * z + sqrt(1 - rho^2) * e, where z is the human score
centred within its context and divided by the dataset's within-context standard deviation,
and e is standard normal, the judge's own taste. It answers as `SimulatedJudge` does. Its
parameters come from data/twins.toml, which says what each was calibrated on; everything
else it says is a prediction. A twin is not an LLM and has read no text.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

import numpy as np

from poe._paths import data_dir
from poe.comparisons import Floats, Indices
from poe.judges import SimulatedJudge
from poe.stack import Stack


@dataclass(frozen=True)
class Twin:
    """One simulated judge of one attribute.

    rho : correlation of perceived with human quality. sharpness : logits per unit of
    perceived quality. noise : standard deviation of a call's logit. bias : logits for the
    item shown first. calibrated_on : ids of the published numbers that fixed them.
    """

    judge: str
    dataset: str
    attribute: str
    rho: float
    sharpness: float
    noise: float
    bias: float
    calibrated_on: tuple[str, ...]

    def answer(self, gold: Floats, rng: np.random.Generator) -> SimulatedJudge:
        """A judge with a fresh taste for the human scores `gold` (..., C, N)."""
        quality = perceived(gold, self.rho, rng.standard_normal(gold.shape))
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
    """Rho * z + sqrt(1 - rho^2) * taste, with z from the human scores (..., C, N)."""
    return rho * standardised(gold) + np.sqrt(1.0 - rho**2) * taste


def standardised(gold: Floats) -> Floats:
    """Scores centred within contexts, over the pooled within-context standard deviation.

    Pooled, so that an article whose summaries are all good stays a hard one to judge.
    """
    centred = gold - gold.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean())


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
            sharpness=table["model"]["sharpness"],
            noise=row["noise"],
            bias=row["bias"],
            calibrated_on=tuple(row["calibrated_on"]),
        )
        for row in table["twin"]
        if row["dataset"] == dataset
    ]
    if not found:
        raise ValueError(f"data/twins.toml has no twins for {dataset!r}")
    return {(twin.judge, twin.attribute): twin for twin in found}


def calibration_cells(dataset: str = "summeval") -> frozenset[str]:
    """Ids of every published number used to calibrate some twin of the dataset."""
    return frozenset(cell for twin in twins(dataset).values() for cell in twin.calibrated_on)
