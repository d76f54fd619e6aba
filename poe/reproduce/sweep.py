"""Draws of twins and calls, scored by every method: what all targets are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from zlib import crc32

import numpy as np
import pandas as pd

from poe import datasets
from poe.comparisons import Floats, Indices
from poe.experts import BradleyTerry, Gaussian
from poe.metrics import Correlation, summary_level
from poe.reproduce.twins import Twin, symmetric_stack, twins
from poe.scores import average_probability, bradley_terry, win_ratio
from poe.selection import select_stack
from poe.solvers import dense
from poe.stack import Stack

Method = Callable[[Stack], Floats]


def _poe(expert: Gaussian | BradleyTerry) -> Method:
    return lambda stack: dense.solve(stack, expert, tol=1e-8).scores


METHODS: dict[str, Method] = {
    "win-ratio": win_ratio,
    # The prior of the paper, on every pair as in its code.
    "BT": lambda stack: bradley_terry(stack, prior=1.0 / (stack.n_items - 1), tol=1e-8),
    "avg-prob": average_probability,
    "PoE-BT": _poe(BradleyTerry()),
    "PoE-g": _poe(Gaussian()),
}


def agreements(
    twin: Twin,
    data: datasets.Dataset,
    *,
    calls: Iterable[int],
    draws: int,
    seed: Sequence[int],
    methods: Mapping[str, Method] = METHODS,
) -> dict[tuple[int, str], Correlation]:
    """Summary-level Spearman of one twin by (number of calls, method), one value a draw.

    Each draw makes a fresh twin and, in every context, a fresh symmetric set of calls in
    which every item is linked to every other. All methods score the same draws.
    """
    gold = data.scores[twin.attribute]
    contexts, n = gold.shape
    name = crc32(f"{twin.judge}/{twin.attribute}".encode())  # the same on every machine
    rng = np.random.default_rng([*seed, name])
    judge = twin.answer(np.broadcast_to(gold, (draws, contexts, n)), rng)
    found = {}
    for k in calls:
        pairs = _calls(k, draws * contexts, n, rng).reshape(draws, contexts, k, 2)
        stack = symmetric_stack(n, pairs, judge.answer(pairs)).flattened()
        for method, score in methods.items():
            found[k, method] = summary_level(score(stack).reshape(draws, contexts, n), gold)
    return found


def _calls(k: int, sets: int, n: int, rng: np.random.Generator) -> Indices:
    # The full set is one set only; drawing it again would waste time, not change it.
    drawn = 1 if k == n * (n - 1) else sets
    pairs = select_stack(drawn, n, k, rule="symmetric", seed=rng)
    return np.broadcast_to(pairs, (sets, k, 2))


def efficiency(
    judge: str,
    data: datasets.Dataset,
    *,
    calls: Sequence[int],
    draws: int = 10,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
) -> pd.DataFrame:
    """Agreement against the number of calls, mean over the dataset's attributes, times 100.

    One row a number of calls and method: k, method, value, se (Monte Carlo).
    """
    chosen = {name: METHODS[name] for name in methods}
    parts = [
        agreements(twin, data, calls=calls, draws=draws, seed=[seed], methods=chosen)
        for (name, _), twin in twins(data.name).items()
        if name == judge
    ]
    if not parts:
        raise ValueError(f"there is no twin of {judge!r} on {data.name}")
    rows = []
    for k in calls:
        for method in methods:
            value = 100.0 * np.mean([part[k, method].value for part in parts], axis=0)
            se = value.std(ddof=1) / np.sqrt(draws)
            rows.append({"k": k, "method": method, "value": value.mean(), "se": se})
    return pd.DataFrame(rows)
