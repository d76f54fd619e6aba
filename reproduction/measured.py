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

import numpy as np

from poe import datasets
from poe.errors import JudgeError
from poe.judges.store import Store
from reproduction import facts
from reproduction.judged import Measured, answers, matrices, missing, pool_of
from reproduction.large import POOL
from reproduction.settings import Key
from reproduction.sweep import labels

LARGE = ("hanna", "cmcqrd")
MODELS = {
    "meta-llama/Llama-2-7b-chat-hf": "Llama2-7B",
    "meta-llama/Llama-2-13b-chat-hf": "Llama2-13B",
    "mistralai/Mistral-7B-Instruct-v0.2": "Mistral-7B",
    "google/flan-t5-xl": "FlanT5-3B",
    "google/flan-t5-xxl": "FlanT5-11B",
}


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
        found = hashlib.sha256()
        for key, judge in sorted(self.judges.items()):
            found.update("/".join(key).encode() + np.ascontiguousarray(judge.p).tobytes())
        return found.hexdigest()

    def lacking(self, asked: Iterable[tuple[Key, bool]]) -> list[str]:
        """What a target looked for that is missing, a line each with the command that asks it.

        asked : as `Settings.asked` has it, with whether every pair was needed.
        """
        lines = []
        for key, every in sorted(asked):
            if key[1] != self.system or self.has(key, every=every):
                continue
            there = self.partly.get(key, "no answers")
            if key in self.judges:
                there = "a pool of pairs, and sorting (PairS) may ask about any"
            lines.append(f"{key[0]} {key[2]}: {there}; {command(key, self.path, every=every)}")
        return lines

    def has(self, key: Key, *, every: bool = False) -> bool:
        """Whether that judge is there, for any pair if `every`."""
        judge = self.judges.get(key)
        return judge is not None and not (every and judge.pool is not None)


def command(key: Key, path: Path, *, every: bool = False) -> str:
    """What asks a judge for all that the targets need of a dataset and attribute."""
    pool = key[0] in LARGE and not every
    extent = f"--calls {POOL} --orders both" if pool else "--full"
    return f"poe judge {key[0]} {key[2]} {extent} --judge JUDGE --store {path}"


def stored(path: Path, *, system: str | None = None, source: datasets.Source = "auto") -> Stored:
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
        _require_model(path, store)
        here = set(store.table()["prompt"]) if len(store) else set()
        for dataset, attributes in facts.ATTRIBUTES.items():
            for attribute in attributes.values():
                prompt = f"{dataset}/{attribute}"
                if prompt not in here:
                    continue
                key = (dataset, name, attribute)
                data = labels(dataset, source)
                p = matrices(answers(store, prompt, data), data)
                pool, gap = pool_of(p) if dataset in LARGE else (None, missing(p))
                if gap:
                    partly[key] = gap
                else:
                    rest = (1.0, 1.0, 0.0, 0.0, (), None)
                    judges[key] = Measured(name, dataset, attribute, *rest, p, pool)
    return Stored(path, name, judges, partly)


def judges_of(
    path: Path, *, system: str | None = None, source: datasets.Source = "auto"
) -> Mapping[Key, Measured]:
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
