"""Measured judges: the answers in a judgement store take the place of a twin.

A store holds a judge's answers to a dataset's questions (`judging ask`). Where it has both orders
of every pair in every context of a dataset and attribute, all targets can use it: draws are then
draws of comparisons alone, because the judge is what it is. Of a large set (HANNA, CMCQRD) it need
not have every pair: the pairs it has in both orders are the pool that calls are drawn from, in the
place of the paper's 100,000, once they are as many as the largest set any target draws.
`judging reproduce table1 --store FILE --as Mistral-7B` says which of the papers' judges it stands
for; known model names need no --as.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from judging import datasets, kinds
from judging.errors import JudgeError
from judging.store import Store
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.resistance import component_of
from reproduction.twins import (
    ATTRIBUTES,
    JUDGES,
    Asker,
    Twin,
    labels,
)

Key = tuple[str, str, str]  # dataset, system, attribute
POOL = 200_000  # calls
MOST_TIMES = 100  # calls an item in the largest set any target draws
LARGE = ("hanna", "cmcqrd")
MODELS = {
    "meta-llama/Llama-2-7b-chat-hf": "Llama2-7B",
    "meta-llama/Llama-2-13b-chat-hf": "Llama2-13B",
    "mistralai/Mistral-7B-Instruct-v0.2": "Mistral-7B",
    "google/flan-t5-xl": "FlanT5-3B",
    "google/flan-t5-xxl": "FlanT5-11B",
}

# The judge ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measured(Twin):
    """A judge whose answers were recorded: p (C, N, N), row shown first.

    Neither taste nor noise is drawn: it is the same in every draw. Two stores may know the same
    judge by name and answer differently, so each is equal to itself alone.
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

    def asker(self, gold: Floats, rng: np.random.Generator) -> Asker:
        """The recorded answers about the one context of a large set."""
        return lambda pairs: np.asarray(self.p[0][pairs[:, 0], pairs[:, 1]])

    def of_earlier_paper(self) -> Twin:
        """Itself: a store's prompts are its own."""
        return self


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


# The store ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """What a store offers a target.

    judges : those it has enough answers of. partly : what it has of others, in words.
    """

    path: Path
    system: str
    judges: Mapping[Key, Measured]
    partly: Mapping[Key, str]

    @cached_property
    def digest(self) -> str:
        """Of all answers that count: the same whatever else is in the file."""
        checksum = hashlib.sha256()
        for key, judge in sorted(self.judges.items()):
            checksum.update("/".join(key).encode() + np.ascontiguousarray(judge.p).tobytes())
        return checksum.hexdigest()

    def lacking(self, asked: Iterable[tuple[Key, bool]]) -> list[str]:
        """What a target looked for that is missing, a line each with the command that asks it.

        asked : as `Settings.asked` has it, with whether every pair was needed.
        """
        lines = []
        for key, every in sorted(asked):
            judge = self.judges.get(key)
            if key[1] != self.system or (judge and not (every and judge.pool is not None)):
                continue
            there = self.partly.get(key, "no answers")
            if judge is not None:
                there = "a pool of pairs, and sorting (PairS) may ask about any"
            pool = key[0] in LARGE and not every
            extent = f" --calls {POOL} --orders both" if pool else ""  # all, if nothing is said
            command = f"judging ask {key[0]} {key[2]}{extent} --judge JUDGE --store {self.path}"
            lines.append(f"{key[0]} {key[2]}: {there}; {command}")
        return lines


def stored(path: Path, *, system: str | None = None) -> Stored:
    """All that a store has of the papers' datasets and attributes.

    system : which judge of the papers it stands for; by default that of the model's name.

    Raises JudgeError where the file is absent, holds several judges or none whose name is known,
    or answers of no language model.
    """
    if not path.exists():
        raise JudgeError(f"there is no judgement store {path}")
    judges: dict[Key, Measured] = {}
    partly: dict[Key, str] = {}
    with Store(path, several=True) as store:
        name = system or _system(path, store)
        if any(map(kinds.simulated, store.specifications().values())):
            raise JudgeError(
                f"{path} holds answers of the demo judge, a readability formula and no language "
                "model: no number from it is a measured one"
            )
        here = set(store.table()["prompt"]) if len(store) else set()
        for dataset, attributes in ATTRIBUTES.items():
            for attribute in attributes.values():
                prompt = f"{dataset}/{attribute}"
                if prompt not in here:
                    continue
                key, data = (dataset, name, attribute), labels(dataset)
                p = matrices(_checked(store, prompt, data), data)
                pool, gap = pool_of(p) if dataset in LARGE else (None, missing(p))
                if gap:
                    partly[key] = gap
                else:
                    judges[key] = Measured(name, dataset, attribute, pool=pool, p=p)
    return Stored(path, name, judges, partly)


def _system(path: Path, store: Store) -> str:
    names = {str(s.get("model", "")) for s in store.specifications().values()}
    known = sorted({MODELS[name] for name in names if name in MODELS})
    if len(known) == 1:
        return known[0]
    raise JudgeError(
        f"{path} holds answers of {', '.join(sorted(names)) or 'no judge'}; say which judge of "
        f"the papers they stand for with --as, one of {', '.join(JUDGES)}"
    )


# Answers as arrays --------------------------------------------------------------------------


def missing(p: Floats) -> str:
    """What is not there of all pairs in both orders, in words; empty where nothing is missing."""
    there = ~np.isnan(p[:, ~np.eye(p.shape[-1], dtype=bool)])
    return "" if there.all() else f"{there.sum():,} of {there.size:,} comparisons answered"


def pool_of(p: Floats) -> tuple[Indices | None, str]:
    """The pairs answered in both orders, or what is missing for there to be enough."""
    n = p.shape[-1]
    pairs = np.argwhere(np.triu(~np.isnan(p[0]) & ~np.isnan(p[0].T), 1))
    every = n * (n - 1) // 2
    wanted = min(MOST_TIMES * n // 2, every)
    if len(pairs) < wanted:
        return None, f"{len(pairs):,} pairs answered in both orders, {wanted:,} needed"
    if component_of(n, pairs).any():
        return None, f"the {len(pairs):,} pairs answered in both orders do not link all texts"
    return (None if len(pairs) == every else pairs), ""


def _checked(store: Store, prompt: str, data: datasets.Dataset) -> dict[str | None, Comparisons]:
    """The answers by context, all of them about the very texts that people scored."""
    by_context = store.by_context(prompt=prompt)
    if not data.has_texts:
        return by_context
    position = {name: k for k, name in enumerate(data.context_ids)}
    checked: dict[str | None, Comparisons] = {}
    for name in by_context:
        if name is not None and name not in position:
            continue
        texts = data.candidates(0 if name is None else position[name])
        try:
            checked[name] = store.comparisons(prompt=prompt, context=name, texts=texts)
        except JudgeError as error:
            raise JudgeError(
                f"{store.path}: the answers to {prompt}"
                f"{'' if name is None else f' in {name!r}'} are about other texts than "
                "those that people scored"
            ) from error
    return checked


def matrices(by_context: Mapping[str | None, Comparisons], data: datasets.Dataset) -> Floats:
    """(C, N, N) answers, NaN where there is none."""
    place = {name: k for k, name in enumerate(data.candidate_ids)}
    p = np.full((data.n_contexts, data.n_candidates, data.n_candidates), np.nan)
    for context, name in enumerate(data.context_ids):
        # Texts that answer to nothing in common were asked about without a context.
        c = by_context.get(name, by_context.get(None) if data.n_contexts == 1 else None)
        if c is not None:
            items = np.array([_place(place, item, name) for item in c.items])
            p[context, items[c.first], items[c.second]] = c.p
    return p


def _place(place: Mapping[str, int], item: Any, context: str) -> int:
    """Position of a candidate whose name may carry its context's."""
    text = str(item)
    for candidate in (text, text.removeprefix(f"{context}/"), text.rsplit("/", 1)[-1]):
        if candidate in place:
            return place[candidate]
    raise JudgeError(f"the store's text {text!r} is no candidate of context {context!r}")
