"""The same questions put to what real language models answered in others' experiments.

HANNA's five judges scored every story alone. Read as judges of pairs, sigma(s_i - s_j), they are
more transitive than answers to pairs: all follow from N numbers, both orders of a pair add up to
one, there is no position bias. So they test scoring at N = 1056, not noise. LLMBar's six judges
answered about pairs in both orders: they test position bias, debiasing and accuracy.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from poe.judges import recorded
from poe.metrics import spearman
from reproduction import large
from reproduction.settings import Settings, point
from reproduction.twins import Asker, labels

ATTRIBUTES = ("coherence", "complexity", "surprise")
TIMES = (2, 3, 5, 10, 20, 40, 100)  # calls an item
DRAWS = 3  # of pairs: the judge is what it is


def hanna(settings: Settings) -> pd.DataFrame:
    """Efficiency curves of HANNA's judges: every method, hard and soft, random pairs."""
    rows = []
    jobs = list(product(recorded.HANNA_JUDGES, ATTRIBUTES))
    for done, (name, attribute) in enumerate(jobs):
        judge = recorded.hanna(name, 1, attribute)
        present = judge.present
        gold, n = labels("hanna").scores[attribute][0][present], len(present)
        answer: Asker = lambda pairs: judge.answer(present[pairs])  # noqa: B023, E731
        for times in settings.target.options.get("times", TIMES):
            found: dict[str, list[float]] = {method: [] for method in large.METHODS}
            for draw in range(min(settings.large_draws, DRAWS)):
                rng = np.random.default_rng([settings.seed, draw, times])
                c = large.compared(n, times * n, answer, rng, seed=settings.seed)
                for method, score in large.scores(c, large.METHODS).items():
                    found[method].append(100.0 * float(spearman(score, gold)))
            panel = (judge.judge, "hanna", attribute)
            rows += [
                point(settings, panel, times * n, m, "random", np.array(values), kind=judge.kind)
                for m, values in found.items()
            ]
        settings.step(done + 1, len(jobs))
    return pd.DataFrame(rows)


def llmbar(settings: Settings) -> pd.DataFrame:
    """Position bias and accuracy by judge and set, plain prompt; decisions debiased in two ways.

    value: "first-position" rate; "accuracy" of single verdicts, "both-orders" (a pair's verdicts
    must agree, else half), "consistent" (share of pairs whose verdicts agree), in per cent.
    """
    table = recorded.llmbar()
    plain = table[(table["strategy"] == "Vanilla") & table["p"].notna()]
    rows = []
    for (name, judge), group in plain.groupby(["set", "judge"], sort=True):
        right = np.where(group["first"] == group["label"], group["p"], 1.0 - group["p"])
        by_item = group.assign(right=right).groupby("item")["right"].agg(["mean", "size"])
        both = by_item.loc[by_item["size"] == 2, "mean"].to_numpy()
        shares = {
            "first-position": group["p"].to_numpy(),
            "accuracy": right,
            "both-orders": (np.sign(both - 0.5) + 1.0) / 2.0,
            "consistent": (both != 0.5).astype(float),
        }
        for method, values in shares.items():
            rows.append(
                {
                    "panel": settings.target.name,
                    "system": judge,
                    "dataset": "llmbar",
                    "attribute": name,
                    "k": len(values),
                    "method": method,
                    "selection": "full",
                    "bias": "none",
                    "value": 100.0 * values.mean(),
                    "se": 100.0 * values.std(ddof=1) / np.sqrt(len(values)),
                    "kind": table.attrs["kind"],
                    "labels": "real",
                    "draws": 1,
                    "seed": settings.seed,
                }
            )
    return pd.DataFrame(rows)
