"""Why Mistral-7B's PoE-BT deviates: the iteration, not the data, may have stopped.

The paper solves Bradley-Terry by Zermelo's fixed-point iteration and stops when the strengths
hardly move. Where probabilities are close to 0 and 1 and comparisons few, strengths creep for
thousands of steps, so a stopped iteration is far from the optimum: it has read little of what
tells p = 0.99 from p = 0.9999. This runs the iteration on the twins of all judges, K = 48 of
SummEval, for a few steps and for many, and with the prior of BT added to the probabilities, which
is the other suspect.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from poe.comparisons import Floats
from poe.scores import add_prior
from poe.stack import Stack, by_item
from reproduction import facts, sweep
from reproduction.curves import point
from reproduction.settings import Settings
from reproduction.sweep import METHODS, Setting, labels, per_context

STEPS = (3, 10, 30, 100)
DRAWS = 5


def run(settings: Settings) -> pd.DataFrame:
    """One row a judge and way to solve soft Bradley-Terry."""
    rows = []
    draws = min(settings.draws, DRAWS)
    data = labels("summeval", settings.source)
    solved: dict[str, Callable[[Stack], Floats]] = {
        "optimum": METHODS["PoE-BT"],
        **{f"{steps} steps": _stopped(steps) for steps in STEPS},
        "prior": lambda stack: METHODS["PoE-BT"](add_prior(stack, 1.0 / (stack.n_items - 1))),
    }
    for done, system in enumerate(facts.JUDGES):
        found: dict[str, list[Floats]] = {}
        judges = settings.group("summeval", system, data.scores)
        for judge, gold in zip(judges, data.scores.values(), strict=True):
            setting = Setting("summeval", settings.source, 48, seed=settings.seed)
            stack = sweep.answers(judge, setting, gold, seed=[settings.seed, 0], draws=draws)
            for how, solve in solved.items():
                scores = solve(stack.flattened()).reshape(draws, *gold.shape)
                each = 100.0 * np.nanmean(per_context(scores, gold, "spearman"), axis=-1)
                found.setdefault(how, []).append(each)
        for how, parts in found.items():
            of = (system, "summeval", "coherence")
            values = np.asarray(np.mean(parts, axis=0))
            row = point(settings, "diagnosis-zermelo", of, 48, "PoE-BT", "random", values, how)
            rows.append({**row, "attribute": "mean", "kind": settings.kind(judges[0])})
        if settings.progress:
            settings.progress(done + 1, len(facts.JUDGES))
    return pd.DataFrame(rows)


def _stopped(steps: int) -> Callable[[Stack], Floats]:
    """Zermelo's iteration on probabilities, stopped after so many steps."""

    def score(stack: Stack) -> Floats:
        won = by_item(stack, stack.weight * stack.p, stack.weight * (1.0 - stack.p))
        strength = np.ones_like(won)
        for _ in range(steps):
            both = np.take_along_axis(strength, stack.first, -1)
            both = both + np.take_along_axis(strength, stack.second, -1)
            share = stack.weight / both
            strength = np.maximum(won / by_item(stack, share, share), 1e-300)
            strength /= np.exp(np.log(strength).mean(axis=1, keepdims=True))
        return np.asarray(np.log(strength))

    return score
