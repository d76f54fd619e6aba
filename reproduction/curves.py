"""Efficiency curves in contexts of a few items: poe_v2's Figures 1 and 5, poe_v1's 3 to 5.

A curve's point is the mean over contexts and draws of the correlation, times 100, with the 95 %
band of the mean over draws. K counts calls. Nothing is printed on a figure, so nothing is compared:
the claims read these points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from poe import newton
from poe.comparisons import Floats, Indices
from poe.experts import BradleyTerry
from poe.newton import pseudo_inverse
from poe.stack import Stack, differences, laplacian
from reproduction import sweep
from reproduction.settings import Settings, spread
from reproduction.sweep import METHODS, Setting, labels, per_context
from reproduction.twins import Twin

CALLS = {
    "summeval": (32, 40, 48, 64, 80, 96, 120, 144, 168, 180, 192, 216, 240),
    "topicalchat": (12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
}
Panel = tuple[str, str, str]  # system, dataset, attribute


def run(
    settings: Settings,
    panels: dict[str, Panel],
    *,
    rules: Sequence[str] = ("symmetric",),
    methods: Iterable[str] = METHODS,
    kind: str = "spearman",
) -> pd.DataFrame:
    """One row a panel, K, method and rule: value, se, low and high (the 95 % band)."""
    jobs = {}
    for name, (system, dataset, attribute) in panels.items():
        judge = settings.judge(dataset, system, attribute)
        for count in CALLS[dataset]:
            for rule in rules:
                setting = Setting(dataset, settings.source, count, rule, settings.seed)
                jobs[name, count, rule] = (judge, setting)
    found = sweep.run_blocks(
        jobs.values(), draws=settings.draws, workers=settings.workers, progress=settings.progress
    )
    rows = []
    for (name, count, rule), job in jobs.items():
        selection = {"symmetric": "random"}.get(rule, rule)
        for method in methods:
            values = 100.0 * np.nanmean(found[job][method, kind], axis=-1)
            rows.append(point(settings, name, panels[name], count, method, selection, values))
    return pd.DataFrame(rows)


def one(settings: Settings, name: str, of: Panel) -> pd.DataFrame:
    """A single panel, all methods."""
    return run(settings, {name: of})


def point(
    settings: Settings,
    panel: str,
    of: Panel,
    count: int,
    method: str,
    selection: str,
    values: Floats,
    bias: str = "none",
) -> dict[str, object]:
    """One point of a curve from its draws."""
    value, se = spread(values)
    system, dataset, attribute = of
    return {
        "panel": panel,
        "system": system,
        "dataset": dataset,
        "attribute": attribute,
        "k": count,
        "method": method,
        "selection": selection,
        "bias": bias,
        "value": value,
        "se": se,
        "low": value - 1.96 * se,
        "high": value + 1.96 * se,
        "kind": settings.kind(settings.judge(dataset, system, attribute)),
        "labels": labels(dataset, settings.source).source,
        "draws": len(values),
        "seed": settings.seed,
    }


def selected(settings: Settings, panel: str, of: Panel) -> pd.DataFrame:
    """Figure 1c: random, greedy, and greedy by the Laplace approximation of PoE-BT."""
    system, dataset, attribute = of
    methods = ("avg-prob", "PoE-BT", "PoE-g", "win-ratio")
    table = run(settings, {panel: of}, rules=("symmetric", "greedy"), methods=methods)
    judge = settings.judge(dataset, system, attribute)
    few = min(settings.draws, sweep.BLOCK)  # each step needs a fit in every context
    found = laplace(judge, dataset, settings, draws=few)
    rows = [
        point(settings, panel, of, count, "PoE-BT", "laplace", 100.0 * np.nanmean(each, axis=-1))
        for count, each in found.items()
    ]
    return pd.concat([table, pd.DataFrame(rows)], ignore_index=True)


def laplace(judge: Twin, dataset: str, settings: Settings, *, draws: int) -> dict[int, Floats]:
    """PoE-BT when each next pair has the largest c_ab R_ab at the present scores (paper A.6).

    From the paper's chain, its items in a random order; both orders of each pair. (draws, C) by
    number of calls.
    """
    gold = labels(dataset, settings.source).scores[judge.attribute]
    contexts, n = gold.shape
    answer = judge.answer(gold, np.random.default_rng([settings.seed, 3]), draws=draws)
    p = answer.matrix()
    p = ((p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0).reshape(-1, n, n)
    rng = np.random.default_rng([settings.seed, 4])
    sets, rows = len(p), np.arange(len(p))
    order = rng.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
    pairs = np.stack([order[:, :-1], order[:, 1:]], axis=-1)
    asked = np.zeros((sets, n, n), dtype=bool)
    asked[:, np.arange(n), np.arange(n)] = True
    asked[rows[:, None], order[:, :-1], order[:, 1:]] = True
    asked |= np.swapaxes(asked, -1, -2)
    wanted = [count for count in CALLS[dataset] if count <= n * (n - 1) // 2]
    found = {}
    while True:
        stack = Stack.of(n, pairs, p[rows[:, None], pairs[..., 0], pairs[..., 1]])
        scores = newton.solve(stack, BradleyTerry(), tol=1e-8).scores
        if 2 * pairs.shape[1] in wanted:
            found[2 * pairs.shape[1]] = per_context(
                scores.reshape(draws, contexts, n), gold, "spearman"
            )
        if 2 * pairs.shape[1] >= wanted[-1]:
            return found
        i, j = _best(stack, scores, asked, rng)
        asked[rows, i, j] = asked[rows, j, i] = True
        pairs = np.concatenate([pairs, np.stack([i, j], axis=-1)[:, None]], axis=1)


def _best(
    stack: Stack, scores: Floats, asked: Floats, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    n = stack.n_items
    slope = BradleyTerry().curvature(differences(stack, scores), stack.p)
    a = pseudo_inverse(laplacian(stack, stack.weight * slope))
    own = np.diagonal(a, axis1=-2, axis2=-1)
    resistance = own[:, :, None] + own[:, None, :] - 2.0 * a
    gap = scores[:, :, None] - scores[:, None, :]
    gain = resistance / (2.0 + 2.0 * np.cosh(gap))  # sigma(gap) sigma(-gap)
    gain = np.where(asked, -np.inf, gain * (1.0 + 1e-9 * rng.random(gain.shape)))
    best = gain.reshape(len(gain), -1).argmax(axis=1)
    return best // n, best % n
