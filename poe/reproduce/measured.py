"""Measured judges: the answers in a judgement store take the place of a twin.

A store holds a judge's answers to a dataset's questions (`poe judge`). Where it has both orders
of every pair in every context of a dataset and attribute, all targets can use it: draws are then
draws of comparisons alone, because the judge is what it is. `poe reproduce table1 --store FILE
--as Mistral-7B` says which of the papers' judges it stands for; known model names need no --as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poe import datasets
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import JudgeError
from poe.judges.store import Store
from poe.reproduce import facts
from poe.reproduce.twins import Twin

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
    """A judge whose answers were recorded: (C, N, N) probabilities, row shown first."""

    p: Any = None
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


def judges_of(
    path: Path, *, system: str | None = None, source: datasets.Source = "auto"
) -> Mapping[tuple[str, str, str], Twin]:
    """Judges by (dataset, system, attribute) for all that the store has in full.

    system : which judge of the papers it stands for; by default that of the model's name.

    Raises JudgeError where the file is absent, holds several judges, none of whose names is
    known, or nothing in full.
    """
    if not path.exists():
        raise JudgeError(f"there is no judgement store {path}")
    found: dict[tuple[str, str, str], Twin] = {}
    partly = []
    with Store(path, several=True) as store:
        name = system or _system(path, store)
        here = set(store.table()["prompt"]) if len(store) else set()
        for dataset in ("summeval", "topicalchat"):
            data = datasets.load(dataset, source=source)
            for attribute in facts.ATTRIBUTES[dataset].values():
                prompt = f"{dataset}/{attribute}"
                if prompt not in here:
                    continue
                p = _matrices(store.by_context(prompt=prompt), data)
                off = ~np.eye(p.shape[-1], dtype=bool)
                if np.isnan(p[:, off]).any():
                    share = 100.0 * (1.0 - np.isnan(p[:, off]).mean())
                    partly.append(f"{prompt} ({share:.0f} % of the calls)")
                    continue
                key = (dataset, name, attribute)
                found[key] = Measured(name, dataset, attribute, 1.0, 1.0, 0.0, 0.0, (), None, p)
    if not found:
        has = f"; in part: {', '.join(partly)}" if partly else ""
        raise JudgeError(
            f"{path} has no dataset and attribute in full, both orders of every pair{has}; "
            "run `poe judge` to the end first"
        )
    return found


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
        if name not in found:
            continue
        c = found[name]
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
