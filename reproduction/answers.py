"""What real language models answered: the tables of data/measured, as arrays.

`reproduction.ask_model` fills them; what is asked, and in what order, is in `reproduction.to_ask`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judging.machine import data_dir
from poe.arrays import Floats, Indices
from reproduction.llmbar_texts import load
from reproduction.twins import Twin

CONTEXT = ["attribute", "context"]
PLACES = [*CONTEXT, "first", "second"]
Place = tuple[str, int, int, int]  # one row of them
# HANNA: both orders of 2N pairs; N pairs spread evenly would be a ring, which tells little.
HANNA = 4 * 1056
WIDE_CALLS = 20 * 1056  # and of 10N, 1.9% of all comparisons, where a GPU answers
PARAPHRASES = range(1, 6)  # of the question, in data/prompts/topicalchat.toml
WORDINGS = ("comparative-1", "comparative-2", "numbers", "words")  # beside the papers' "poe"


@dataclass(frozen=True)
class Model:
    """A language model that was asked.

    name : in tables. judge : as `judging.open` takes it. folder : of data/measured, "" for itself.
    at_random : whether contexts come in a fixed random order, so that those that were asked so
    far are a fair sample of all; else in their own. processes : at once, one a core by default.
    """

    name: str
    judge: str
    folder: str = ""
    at_random: bool = False
    processes: int | None = None


MODELS = {
    "smollm2": Model("SmolLM2-135M", "smollm2"),
    # llama.cpp uses all cores itself, and keeps one cache of what prompts have in common.
    "qwen": Model("Qwen2.5-Coder-1.5B", "qwen", "qwen", at_random=True, processes=1),
}
SMOLLM2, QWEN = MODELS["smollm2"], MODELS["qwen"]
# What Qwen said on a processor of what it was asked again on a GPU: what predictions were about,
# and what tells the two apart.
PROCESSOR = Model(QWEN.name, QWEN.judge, "qwen/processor", at_random=True)
KNOWN = MODELS | {"processor": PROCESSOR}


def folder(model: Model = SMOLLM2) -> Path:
    """Find where a model's answers lie: data/measured, or a folder in it."""
    return data_dir() / "measured" / model.folder


def kept(name: str, model: Model = SMOLLM2) -> pd.DataFrame:
    """A table of data/measured, without rows where there is none.

    Columns: attribute, context, first, second (-1 where one text was scored alone), log_p_1, ...
    """
    path = folder(model) / f"{name}.csv.gz"
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=PLACES)


def digest(model: Model = SMOLLM2) -> str:
    """Checksum of all stored answers of a model, and of what they took."""
    checksum = hashlib.sha256()
    if (folder(model) / "measured.json").exists():
        checksum.update(json.dumps(about(model)["runs"], sort_keys=True).encode())
    for path in sorted(folder(model).glob("*.csv.gz")):
        checksum.update(path.name.encode() + gzip.decompress(path.read_bytes()))
    return checksum.hexdigest()[:16]


def about(model: Model = SMOLLM2) -> dict[str, Any]:
    """Read what lies beside the answers: the judge, versions, and what each run cost."""
    return dict(json.loads((folder(model) / "measured.json").read_text("utf-8")))


@cache
def answers(
    dataset: str, attribute: str, template: str = "poe", model: Model = SMOLLM2
) -> tuple[list[int], Floats]:
    """Contexts asked about, in full but for designs, and log-probabilities of the label words.

    (C, N, N, 2) of pairs, row shown first, NaN on the diagonal and where a design has no call;
    (C, N, labels) of single texts.
    Raises LookupError where nothing was asked.
    """
    table = kept(f"{dataset}-{template}", model)
    rows = table[table["attribute"] == attribute]
    if rows.empty:
        raise LookupError(
            f"{model.name} was not asked about {dataset} {attribute} with {template!r}"
        )
    contexts, place = np.unique(rows["context"], return_inverse=True)
    n = load(dataset).n_candidates
    log_p = rows.filter(like="log_p_").dropna(axis=1).to_numpy()
    single = bool((rows["second"] < 0).all())
    grid = np.full((len(contexts), *((n,) if single else (n, n)), log_p.shape[1]), np.nan)
    where = (place, rows["first"]) if single else (place, rows["first"], rows["second"])
    grid[where] = log_p
    return contexts.tolist(), grid


@dataclass(frozen=True, eq=False)
class Measured(Twin):
    """A judge whose answers were recorded: p (C, N, N), row shown first.

    It stands where a twin would. Neither taste nor noise is drawn: it is the same in every draw.
    One model has many, by prompt and contexts, so each is equal to itself alone.
    """

    rho: float = 1.0
    sharpness: float = 1.0
    noise: float = 0.0
    bias: float = 0.0
    p: Any = None
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def answer(self, gold: Floats, rng: np.random.Generator, *, draws: int | None = None) -> Any:
        """The recorded answers."""
        repeated = () if draws is None else (draws,)
        return _Recorded(np.broadcast_to(self.p, (*repeated, *self.p.shape)))


@dataclass(frozen=True)
class _Recorded:
    """(draws, C, N, N) recorded answers, asked as a `SimulatedJudge` is."""

    p: Floats

    def matrix(self) -> Floats:
        return self.p

    def answer(self, pairs: Indices) -> Floats:
        n = self.p.shape[-1]
        cell = pairs[..., 0] * n + pairs[..., 1]
        return np.take_along_axis(self.p.reshape(*self.p.shape[:-2], n * n), cell, -1)
