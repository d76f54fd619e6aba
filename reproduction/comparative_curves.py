"""comparative_assessment: the win-ratio against the number of calls, its Figures 4 and 5."""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.selection import Rule, select_stack
from poe.stack import Stack
from reproduction import curves, sweep
from reproduction.comparative import judge_of, matrices
from reproduction.settings import Settings
from reproduction.sweep import labels, per_context

RULES: tuple[Rule, ...] = ("random", "no-repeat", "symmetric")
PANELS = {
    "figure4": ("FlanT5-3B", "summeval", "coherence"),
    "figure5a": ("FlanT5-11B", "summeval", "coherence"),
    "figure5b": ("Llama2-13B", "summeval", "consistency"),
    "figure5c": ("FlanT5-11B", "topicalchat", "engagingness"),
    "figure5d": ("Llama2-7B", "topicalchat", "naturalness"),
}
RUNS = 50  # of the paper's figures
CALLS = {
    "summeval": (16, 32, 48, 64, 80, 96, 112, 120, 160, 200, 240),
    "topicalchat": (6, 10, 14, 18, 22, 26, 30),
}


def figure(settings: Settings, name: str) -> pd.DataFrame:
    """Win-ratio against the number of calls, three ways to choose them, debiased or not."""
    system, dataset, attribute = of = PANELS[name]
    judge = judge_of(settings, dataset, system, attribute)
    gold = labels(dataset, settings.source).scores[attribute]
    contexts, n = gold.shape
    runs = min(settings.draws, RUNS)
    found: dict[tuple[str, int, str], list[float]] = {}
    for number, p in enumerate(matrices(judge, gold, settings.seed, runs)):
        middle = float(np.nanmedian(p))
        rng = np.random.default_rng([settings.seed, number, 6])
        rows = np.arange(contexts)[:, None]
        for rule in RULES:
            for count in CALLS[dataset]:
                if rule == "no-repeat" and count > n * (n - 1) // 2:
                    continue
                pairs = select_stack(
                    contexts,
                    n,
                    count,
                    rule=rule,
                    seed=rng,
                    connected=False,
                )
                answers = p[rows, pairs[..., 0], pairs[..., 1]]
                for bias, threshold in (("none", 0.5), ("reweighted", middle)):
                    hard = (np.sign(answers - threshold) + 1.0) / 2.0
                    scores = sweep.METHODS["avg-prob"](Stack.of(n, pairs, hard))
                    each = per_context(scores, gold, "spearman")
                    found.setdefault((rule, count, bias), []).append(float(np.nanmean(each)))
        if settings.progress:
            settings.progress(number + 1, runs)
    points = [
        curves.point(
            settings,
            f"comparative-{name}",
            of,
            count,
            "win-ratio",
            rule,
            100.0 * np.array(values),
            bias,
        )
        for (rule, count, bias), values in found.items()
    ]
    return pd.DataFrame(points)
