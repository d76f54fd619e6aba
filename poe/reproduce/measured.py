"""Measured judges: the answers in a judgement store take the place of a twin.

A store holds a judge's answers to a dataset's questions (`poe judge`). Where it has both orders
of every pair in every context of a dataset and attribute, all targets can use it: draws are then
draws of comparisons alone, because the judge is what it is. Of a large set (HANNA, CMCQRD) it need
not have every pair: the pairs it has in both orders are the pool that calls are drawn from, in the
place of the paper's 100,000, once they are as many as the largest set any target draws.
`poe reproduce table1 --store FILE --as Mistral-7B` says which of the papers' judges it stands for;
known model names need no --as.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from poe import datasets
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import JudgeError
from poe.judges.store import Store
from poe.reproduce import facts
from poe.reproduce.large import MOST_TIMES, POOL
from poe.reproduce.settings import Key
from poe.reproduce.sweep import labels
from poe.reproduce.twins import Twin
from poe.resistance import component_of

LARGE = ("hanna", "cmcqrd")
MODELS = {
    "meta-llama/Llama-2-7b-chat-hf": "Llama2-7B",
    "meta-llama/Llama-2-13b-chat-hf": "Llama2-13B",
    "mistralai/Mistral-7B-Instruct-v0.2": "Mistral-7B",
    "google/flan-t5-xl": "FlanT5-3B",
    "google/flan-t5-xxl": "FlanT5-11B",
}


class Answers:
    """Recorded answers in the place of a simulated judge: the same in every draw."""

    def __init__(self, p: Floats, draws: int | None) -> None:
        self.p = p if draws is None else np.broadcast_to(p, (draws, *p.shape))

    def matrix(self) -> Floats:
        """(draws, C, N, N), the diagonal NaN."""
        return self.p

    def answer(self, pairs: Indices) -> Floats:
        """(draws, C, K, 2) positions to (draws, C, K) probabilities."""
        n = self.p.shape[-1]
        flat = self.p.reshape(*self.p.shape[:-2], n * n)
        cell = np.asarray(pairs)[..., 0] * n + np.asarray(pairs)[..., 1]
        return np.take_along_axis(flat, cell, -1)


@dataclass(frozen=True, eq=False)
class Measured(Twin):
    """A judge whose answers were recorded: (C, N, N) probabilities, row shown first.

    pool : of a large set, (M, 2) the pairs answered in both orders; None where all are.
    """

    p: Any = None
    pool: Any = None
    # Two stores may know the same judge by name and answer differently.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def answer(self, gold: Floats, rng: np.random.Generator, *, draws: int | None = None) -> Any:
        """The recorded answers; neither taste nor noise is drawn."""
        return Answers(self.p, draws)

    def of_earlier_paper(self) -> Twin:
        """Itself: a store's prompts are its own."""
        return self

    def ask(self, pairs: Indices) -> Floats:
        """Answers in the one context of a large set."""
        return np.asarray(self.p[0][pairs[:, 0], pairs[:, 1]])


@dataclass(frozen=True)
class Stored:
    """What a store offers a target.

    judges : those it has enough answers of. partly : what it has of others, in words.
    """

    path: Path
    system: str
    judges: Mapping[Key, Twin]
    partly: Mapping[Key, str]

    @cached_property
    def digest(self) -> str:
        """Of all answers that count: the same whatever else is in the file."""
        found = hashlib.sha256()
        for key, judge in sorted(self.judges.items()):
            found.update("/".join(key).encode() + np.ascontiguousarray(judge.p).tobytes())  # type: ignore[attr-defined]
        return found.hexdigest()

    def lacking(self, asked: Iterable[Key]) -> list[str]:
        """What a target looked for that is missing, a line each with the command that asks it."""
        wanted = [key for key in sorted(asked) if key[1] == self.system and key not in self.judges]
        return [
            f"{key[0]} {key[2]}: {self.partly.get(key, 'no answers')}; {command(key, self.path)}"
            for key in wanted
        ]


def command(key: Key, path: Path) -> str:
    """What asks a judge for all that the targets need of a dataset and attribute."""
    large = key[0] in LARGE
    extent = f"--calls {POOL} --orders both" if large else "--full"
    return f"poe judge {key[0]} {key[2]} {extent} --judge JUDGE --store {path}"


def stored(path: Path, *, system: str | None = None, source: datasets.Source = "auto") -> Stored:
    """All that a store has of the papers' datasets and attributes.

    system : which judge of the papers it stands for; by default that of the model's name.

    Raises JudgeError where the file is absent, holds several judges or none whose name is known,
    or answers of no language model.
    """
    if not path.exists():
        raise JudgeError(f"there is no judgement store {path}")
    judges: dict[Key, Twin] = {}
    partly: dict[Key, str] = {}
    with Store(path, several=True) as store:
        name = system or _system(path, store)
        _require_model(path, store)
        here = set(store.table()["prompt"]) if len(store) else set()
        for dataset, attributes in facts.ATTRIBUTES.items():
            for attribute in attributes.values():
                prompt = f"{dataset}/{attribute}"
                if prompt not in here:
                    continue
                key = (dataset, name, attribute)
                p = _matrices(store.by_context(prompt=prompt), labels(dataset, source))
                pool, missing = _pool(p) if dataset in LARGE else (None, _missing(p))
                if missing:
                    partly[key] = missing
                else:
                    rest = (1.0, 1.0, 0.0, 0.0, (), None)
                    judges[key] = Measured(name, dataset, attribute, *rest, p, pool)
    return Stored(path, name, judges, partly)


def judges_of(
    path: Path, *, system: str | None = None, source: datasets.Source = "auto"
) -> Mapping[Key, Twin]:
    """Judges by (dataset, system, attribute) for all that the store has enough answers of.

    Raises JudgeError as `stored` does, and where there is none.
    """
    found = stored(path, system=system, source=source)
    if not found.judges:
        has = "; ".join(f"{key[0]} {key[2]}: {what}" for key, what in found.partly.items())
        raise JudgeError(
            f"{path} has no dataset and attribute in full, both orders of every pair"
            f"{'; in part: ' + has if has else ''}; run `poe judge` to the end first"
        )
    return found.judges


def _missing(p: Floats) -> str:
    """What is not there of all pairs in both orders, in words; empty where nothing is missing."""
    off = ~np.eye(p.shape[-1], dtype=bool)
    there = ~np.isnan(p[:, off])
    if there.all():
        return ""
    return f"{there.sum():,} of {there.size:,} comparisons answered"


def _pool(p: Floats) -> tuple[Indices | None, str]:
    """The pairs answered in both orders, or what is missing for there to be enough."""
    n = p.shape[-1]
    both = np.triu(~np.isnan(p[0]) & ~np.isnan(p[0].T), 1)
    pairs = np.argwhere(both)
    every = n * (n - 1) // 2
    wanted = min(MOST_TIMES * n // 2, every)
    if len(pairs) < wanted:
        return None, f"{len(pairs):,} pairs answered in both orders, {wanted:,} needed"
    if component_of(n, pairs).any():
        return None, f"the {len(pairs):,} pairs answered in both orders do not link all texts"
    return (None if len(pairs) == every else pairs), ""


def _require_model(path: Path, store: Store) -> None:
    if any(s.get("kind") == "demo" for s in store.specifications().values()):
        raise JudgeError(
            f"{path} holds answers of the demo judge, a readability formula and no language model: "
            "no number from it is a measured one"
        )


def _system(path: Path, store: Store) -> str:
    specifications = list(store.specifications().values())
    names = {str(s.get("model", "")) for s in specifications}
    known = sorted({MODELS[name] for name in names if name in MODELS})
    if len(known) == 1:
        return known[0]
    raise JudgeError(
        f"{path} holds answers of {', '.join(sorted(names)) or 'no judge'}; say which judge of "
        f"the papers they stand for with --as, one of {', '.join(facts.JUDGES)}"
    )


def _matrices(found: Mapping[str | None, Comparisons], data: datasets.Dataset) -> Floats:
    """(C, N, N) answers, NaN where there is none."""
    place = {name: k for k, name in enumerate(data.candidate_ids)}
    p = np.full((data.n_contexts, data.n_candidates, data.n_candidates), np.nan)
    for context, name in enumerate(data.context_ids):
        # Texts that answer to nothing in common were asked about without a context.
        c = found.get(name, found.get(None) if data.n_contexts == 1 else None)
        if c is None:
            continue
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
