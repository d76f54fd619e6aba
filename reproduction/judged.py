"""The answers in a judgement store as arrays, and as a judge that targets can ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poe import datasets
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import JudgeError
from poe.judges.store import Store
from poe.resistance import component_of
from reproduction.large import MOST_TIMES
from reproduction.twins import Twin


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


def missing(p: Floats) -> str:
    """What is not there of all pairs in both orders, in words; empty where nothing is missing."""
    off = ~np.eye(p.shape[-1], dtype=bool)
    there = ~np.isnan(p[:, off])
    if there.all():
        return ""
    return f"{there.sum():,} of {there.size:,} comparisons answered"


def pool_of(p: Floats) -> tuple[Indices | None, str]:
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


def answers(store: Store, prompt: str, data: datasets.Dataset) -> dict[str | None, Comparisons]:
    """The answers by context, all of them about the very texts that people scored."""
    found = store.by_context(prompt=prompt)
    if not data.has_texts:
        return found
    position = {name: k for k, name in enumerate(data.context_ids)}
    checked: dict[str | None, Comparisons] = {}
    for name in found:
        if name is not None and name not in position:
            continue
        texts = data.candidates(0 if name is None else position[name])
        try:
            checked[name] = store.comparisons(prompt=prompt, context=name, texts=texts)
        except JudgeError as error:
            raise JudgeError(
                f"{store.path}: the answers to {prompt}"
                f"{'' if name is None else f' in {name!r}'} are about other texts than the "
                f"{data.source} ones that people scored (asked with --texts stand-in, perhaps)"
            ) from error
    return checked


def matrices(found: Mapping[str | None, Comparisons], data: datasets.Dataset) -> Floats:
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
