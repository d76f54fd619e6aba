"""Figures 3 to 11 of the several-judges paper as tidy tables, on simulated panels.

Figures 1 and 2 are drawings. Figures 7 and 8 are Figure 6 in other units and for HaluEval; Figures
9 and 10 are Figure 3 for the other tasks; Figure 11 is Figure 4 for Chatbot Arena. Figure 5
(RoBERTa and Gemma-2B in the place of GPT-2) needs the paper's texts and judgements: *not
attempted*; any of them can be put into `skill_aggregation(..., encoder=)`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from poe.panel import paper
from poe.panel.interface import aggregate
from poe.panel.reproduce import SEEDS, Tick, accuracies, nothing
from poe.panel.settings import Training

PCC = {"HaluEval": float("nan"), "TruthfulQA": 89.9, "ChatbotArena": 69.5}  # section 6.2, percent
SUBSET_METHODS = (
    "majority-voting",
    "DawidSkene",
    "SkillAggregation-unregularised",
    "SkillAggregation",
)
SIZE_METHODS = (
    "majority-voting",
    "DawidSkene",
    "Crowdlayer",
    "SkillAggregation-unregularised",
    "SkillAggregation",
)
FIGURE5 = pd.DataFrame(
    [
        (5, encoder, task, "not attempted", "needs the paper's texts and judgements")
        for encoder in ("RoBERTa", "Gemma-2B with LoRA")
        for task in ("TruthfulQA", "ChatbotArena")
    ],
    columns=["figure", "encoder", "dataset", "verdict", "note"],
)


def skills_and_accuracy(
    task: str = "HaluEval",
    *,
    pool: str = "7B-8B",
    methods: Sequence[str] = ("SkillAggregation", "DawidSkene"),
    seeds: Sequence[int] = SEEDS,
    most: int = 6000,
    error_visible: float = 0.25,
    regulariser: float = 0.05,
    epochs: int = 15,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """Figures 3, 9 and 10: each judge's slope (eq. 6) against its accuracy.

    One row a judge, method and seed; `correlation` is Pearson's over the judges of the seed, in
    percent like the paper's, `published` what it prints. SkillAggregation and Dawid-Skene.
    """
    parts = []
    for seed in seeds:
        n = min(paper.SAMPLES[task], most)
        panel = paper.draw(task, pool, n=n, seed=seed, error_visible=error_visible)
        accuracy = panel.judge_accuracy()
        training = Training(seeds=(seed,), regulariser=regulariser, epochs=epochs, batch=batch)
        for method in methods:
            if method == "DawidSkene":
                fit = aggregate(panel.judgements)
            else:
                fit = aggregate(panel.judgements, "skill", context=panel.context, training=training)
            r = float(np.corrcoef(fit.slope, accuracy["accuracy"])[0, 1])
            parts.append(
                accuracy[["judge", "accuracy"]].assign(
                    slope=fit.slope, method=method, seed=seed, correlation=100 * r, samples=n
                )
            )
        tick()
    return pd.concat(parts, ignore_index=True).assign(
        dataset=task, published=PCC[task], evidence="simulated", verdict="inputs differ"
    )


def subsets(
    task: str = "TruthfulQA",
    *,
    methods: Sequence[str] = SUBSET_METHODS,
    seeds: Sequence[int] = SEEDS,
    most: int = 5000,
    error_visible: float = 0.25,
    epochs: int = 10,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """Figures 4 and 11, Tables 4 and 5: majority, Dawid-Skene and SkillAggregation on subsets.

    One row a subset and method, means over seeds in percent, with the printed values where
    there are; `gain` is over the majority vote of the same draw. Correlation of errors and
    position bias are those of the whole pool.
    """
    table = {"TruthfulQA": 4, "ChatbotArena": 5}[task]
    cells = paper.printed(table).set_index(["system", "method"])
    printed, ids = cells["number"], cells["id"]
    figure = "skill_aggregation/" + {"TruthfulQA": "figure4", "ChatbotArena": "figure11"}[task]
    rows = []
    for name in dict.fromkeys(cells.index.get_level_values("system")):
        judges = paper.subset_judges(name, task)
        panel = paper.subset_panel(judges, task)
        runs = []
        for s in seeds:
            drawn = paper.draw(
                task, "7B-8B", n=most, seed=s, error_visible=error_visible, panel=panel
            )
            runs.append(accuracies(drawn, methods=methods, seed=s, epochs=epochs, batch=batch))
            tick()
        for method in methods:
            gains = [run[method] - run["majority-voting"] for run in runs]
            rows.append(
                {
                    "id": ids.get((name, method), f"{figure}/{name}/{method}"),
                    "dataset": task,
                    "subset": name,
                    "judges": len(judges),
                    "method": method,
                    **_mean([run[method] for run in runs]),
                    "gain": _mean(gains)["value"],
                    "gain_se": _mean(gains)["se"],
                    "samples": most,
                    "published": printed.get((name, method), float("nan")),
                    "evidence": "simulated",
                    "verdict": "inputs differ",
                }
            )
    return pd.DataFrame(rows)


def _mean(values: Sequence[float]) -> dict[str, float]:
    """Mean over seeds, their standard deviation, and the standard error of the mean."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return {"value": float(np.mean(values)), "sd": sd, "se": sd / np.sqrt(len(values))}


def sizes(
    tasks: Sequence[str] = paper.TASKS,
    *,
    samples: Sequence[int] = (1000, 2000, 3000, 4000, 5000),
    methods: Sequence[str] = SIZE_METHODS,
    seeds: Sequence[int] = SEEDS,
    error_visible: float = 0.25,
    epochs: int = 15,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """Figures 6 to 8: accuracy less the majority vote's against the number of samples.

    One row a task, size, seed and method (Dawid-Skene, Crowdlayer, both SkillAggregations); the
    development set has 250 samples of its own at every size, as the paper's.
    """
    rows = []
    for task in tasks:
        for n in samples:
            for seed in seeds:
                panel = paper.draw(task, "7B-8B", n=n + 250, seed=seed, error_visible=error_visible)
                run = accuracies(panel, methods=methods, seed=seed, epochs=epochs, batch=batch)
                base = run["majority-voting"]
                for method, value in run.items():
                    rows.append((task, n, seed, method, value, value - base, "simulated"))
                tick()
    return pd.DataFrame(
        rows, columns=["dataset", "n", "seed", "method", "value", "gain", "evidence"]
    )


def judges_or_orders(
    *,
    pool: str = "7B-8B",
    calls: Sequence[int] = (2, 4, 6, 8),
    seeds: Sequence[int] = tuple(range(20)),
    n: int = 4000,
) -> pd.DataFrame:
    """Table 2's trade in calls: m judges in one order, or half as many in both orders.

    Judges of Chatbot Arena's simulated panel with its position bias, drawn anew for each seed.
    One row a number of calls a sample, spending, method and seed; accuracy in percent.
    """
    panel = paper.biased_panel(pool)
    k = len(panel.judges)
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 3])
        order = rng.permutation(k)
        drawn = {
            swapped: panel.draw(n, seed=seed, swapped=swapped, repeat=paper.REPEAT)
            for swapped in (False, True)
        }
        for count in calls:
            for swapped, how in ((False, "one order"), (True, "both orders")):
                m = count // 2 if swapped else count
                if m > k or m < 1:
                    continue
                some = drawn[swapped].take(judges=order[:m])
                for method in ("average", "majority", "dawid-skene"):
                    if method == "dawid-skene" and m < 3:
                        continue
                    value = 100 * aggregate(some.judgements, method).accuracy(some.truth)
                    rows.append((count, how, m, method, seed, value))
    return pd.DataFrame(
        rows, columns=["calls", "spent on", "judges", "method", "seed", "value"]
    ).assign(evidence="simulated")
