"""Twins: simulated judges calibrated on a few published numbers of a paper's judge.

A twin perceives quality q = rho * z + sqrt(1 - rho^2) * e, where z is the human score on a
scale of quality (`quality_scores`) and e is standard normal, the judge's own taste. It answers as
`SimulatedJudge` does. Its parameters come from data/twins.toml, which says what each was
calibrated on, and which of the other printed numbers had been seen (`ROLES`). A twin is not an LLM
and has read no text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm, rankdata

from judging import datasets
from judging.machine import data_dir
from judging.simulated import SimulatedJudge, correlated, simulated_answers
from poe.arrays import Floats, Indices
from poe.stack import Stack
from reproduction.published import NAMES

# Share of the scores as they are in what twins perceive. Found, once for all judges, from the
# win-ratio of all calls on SummEval: its Pearson less its Spearman correlation (poe_v2 Tables 5
# and 6, judges with printed accuracies: 0.45 on average).
INTERVAL = 0.325

# What a published cell is to us; data/twins.toml has the lists, and a word on each.
ROLES = {
    "calibrated": "used to calibrate a twin",
    "implied": "bound to follow from cells that were used: with all calls both products of experts "
    "on probabilities rank as the average probability does, and in Table 6 a judge's sharpness is "
    "what makes PoE-BT differ from the average probability as printed",
    "seen": "not used, but known to those who chose the form of the twins, or not known not to be",
    "blind": "held out from the start: compared with nothing of ours before the first twins were "
    "fixed, and no form or parameter was chosen by it then or since. It has been compared with the "
    "first twins, and an experiment on them had shown what errors that both orders share would do",
}

JUDGES = ("Llama2-7B", "Llama2-13B", "Mistral-7B", "FlanT5-3B", "FlanT5-11B")
LARGE_JUDGES = JUDGES[:3]  # of HANNA and CMCQRD
ATTRIBUTES = {  # by their printed labels
    "summeval": {"COH": "coherence", "CON": "consistency", "FLU": "fluency", "REL": "relevance"},
    "topicalchat": {
        "COH": "coherency",
        "CNT": "continuity",
        "ENG": "engagingness",
        "NAT": "naturalness",
    },
    "hanna": {"COH": "coherence", "CMP": "complexity", "SUR": "surprise"},
    "cmcqrd": {"DIF": "difficulty"},
}

PARAMETERS = ("judge", "dataset", "attribute", "rho", "sharpness", "noise", "bias")

Asker = Callable[[Indices], Floats]


@dataclass(frozen=True)
class Twin:
    """One simulated judge of one attribute.

    rho : correlation of perceived with human quality. sharpness : logits per unit of
    perceived quality. noise : standard deviation of a call's logit. bias : logits for the
    item shown first, in poe_v2's prompts. shared : correlation of the errors of a pair's two
    orders, one number for all twins (`judging.simulated`). at_bound : parameters for which the
    printed numbers ask for more than a bound allows. earlier : rho and bias under the prompts of
    comparative_assessment.
    """

    judge: str
    dataset: str
    attribute: str
    rho: float
    sharpness: float
    noise: float
    bias: float
    shared: float = 0.0
    at_bound: tuple[str, ...] = ()
    earlier: tuple[float, float] | None = None

    def of_earlier_paper(self) -> Twin:
        """The same judge under the prompts of comparative_assessment."""
        if self.earlier is None:
            raise ValueError(f"comparative_assessment has no judge {self.judge} on {self.dataset}")
        return replace(self, rho=self.earlier[0], bias=self.earlier[1], earlier=None)

    def answer(self, gold: Floats, rng: np.random.Generator, *, draws: int | None = None) -> Any:
        """A judge with a fresh taste for the human scores `gold` (C, N), or `draws` of them.

        Its qualities have the shape (C, N), with `draws` (draws, C, N).
        """
        shape = gold.shape if draws is None else (draws, *gold.shape)
        quality = perceived(gold, self.rho, rng.standard_normal(shape))
        return SimulatedJudge(
            quality,
            sharpness=self.sharpness,
            noise=self.noise,
            bias=self.bias,
            shared=self.shared,
            seed=rng,
        )

    def asker(self, gold: Floats, rng: np.random.Generator) -> Asker:
        """Answer calls (K, 2) about a large set (N,): a fresh twin that repeats itself."""
        quality = perceived(gold[None], self.rho, rng.standard_normal((1, len(gold))))[0]
        seed = int(rng.integers(2**63))

        def answer(pairs: Indices) -> Floats:
            return simulated_answers(
                quality[pairs[:, 0]] - quality[pairs[:, 1]],
                sharpness=self.sharpness,
                bias=self.bias,
                noise=self.noise,
                e=call_errors(pairs, shared=self.shared, seed=seed),
            )

        return answer


def call_errors(pairs: Indices, *, shared: float = 0.0, seed: int = 0) -> Floats:
    """Standard normal errors e of calls about (..., 2) positions (first, second), one a call.

    Each is a function of the seed and of the two positions alone: asked again, or in another batch,
    a call errs alike, and no matrix of all pairs is kept. shared : as in `judging.simulated`.
    """
    first, second = np.moveaxis(np.asarray(pairs), -1, 0)
    key = np.random.default_rng(seed).integers(2**63, dtype=np.uint64)
    e = _scattered(first, second, key)
    return correlated(e, _scattered(second, first, key), shared) if shared else e


def _scattered(first: Indices, second: Indices, key: np.uint64) -> Floats:
    """A standard normal number for each ordered pair: SplitMix64 (Steele and others 2014)."""
    x = (first.astype(np.uint64) << np.uint64(32)) + second.astype(np.uint64) + np.uint64(1)
    x = x * np.uint64(0x9E3779B97F4A7C15) + key
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.asarray(ndtri(((x >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53))


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


def quality_scores(gold: Floats) -> Floats:
    """Human scores (C, N) as z, the quality that twins perceive: between ordinal and interval.

    A rating scale ends at its best mark, so its steps are not all the same amount of quality,
    nor does it tell their order alone. z mixes the normal quantiles of the ranks in the dataset
    (ties share a rank) with the scores as they are, `INTERVAL` of the latter, each centred
    within contexts and divided by its pooled within-context standard deviation: pooled, so that
    an article whose summaries are all good stays a hard one to judge.
    """
    gold = np.ascontiguousarray(gold, dtype=float)
    return _quality(gold.tobytes(), gold.shape)


@lru_cache(maxsize=64)  # a draw asks for few scores, and thousands of draws for the same
def _quality(gold: bytes, shape: tuple[int, ...]) -> Floats:
    scores = np.frombuffer(gold).reshape(shape)
    normal = norm.ppf(rankdata(scores.ravel()) / (scores.size + 1.0)).reshape(shape)
    mixed = (1.0 - INTERVAL) * _standardised(normal) + INTERVAL * _standardised(scores)
    quality = _standardised(mixed)
    quality.setflags(write=False)
    return quality


def _standardised(values: Floats) -> Floats:
    # Ties that centring would break by rounding stay ties.
    centred = np.round(values - values.mean(axis=-1, keepdims=True), 12)
    return np.asarray(centred / np.sqrt((centred**2).mean()))


def stream(judge: Twin) -> int:
    """Seed of one judge of one attribute, the same on every machine and in every target."""
    return crc32(f"{judge.judge}/{judge.attribute}".encode())


@cache
def _file() -> dict[str, Any]:
    with (data_dir() / "twins.toml").open("rb") as file:
        return tomllib.load(file)


def shared() -> dict[str, Any]:
    """Read what both orders of a pair share, one number for all twins: value, se, calibrated_on."""
    return dict(_file()["shared"])


@cache
def twins(dataset: str = "summeval") -> dict[tuple[str, str], Twin]:
    """All twins of a dataset by (judge, attribute), from data/twins.toml."""
    every = [
        Twin(
            **{name: row[name] for name in PARAMETERS},
            shared=shared()["value"],
            at_bound=tuple(row.get("at_bound", ())),
            earlier=(row["earlier"]["rho"], row["earlier"]["bias"]) if "earlier" in row else None,
        )
        for row in _file()["twin"]
        if row["dataset"] == dataset
    ]
    return {(twin.judge, twin.attribute): twin for twin in every}


def twin_of(row: Any) -> Twin:
    """The twin of the judge of a printed cell about one attribute."""
    dataset = key_of(row["dataset"])
    (attribute,) = attributes(dataset, row["attribute"])
    return twins(dataset)[row["system"], attribute]


@cache
def calibration_cells() -> frozenset[str]:
    """Ids of every published number used to calibrate some twin, or `shared`."""
    own = (cell for row in _file()["twin"] for cell in row["calibrated_on"])
    return frozenset((*own, *shared()["calibrated_on"]))


def listed(role: str) -> dict[str, dict[str, Any]]:
    """Entries for "seen" or "blind" of data/twins.toml, by the beginning of the ids they are about.

    why : the reason; only : "selected" where an entry is about rows of selected calls alone.
    """
    return {start: entry for entry in _file()[role] for start in entry["cells"]}


@cache
def labels(dataset: str) -> datasets.Dataset:
    """People's scores, loaded once. CMCQRD's are not public: drawn ones of their shape."""
    return datasets.load(dataset)


def key_of(name: str) -> str:
    """The dataset's name here from that in the papers."""
    return {printed: key for key, printed in NAMES.items()}[name]


def attributes(dataset: str, label: str) -> list[str]:
    """Attributes that a printed label stands for; all of the dataset's for "mean"."""
    known = ATTRIBUTES[dataset]
    return list(known.values()) if label == "mean" else [known[label]]
