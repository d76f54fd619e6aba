"""poe_v1's Laplacian experts (its appendix B): on clean answers, and with a tenth of them turned.

The paper prints no numbers for them; it says that their longer tails could help against outliers.
K = 48 of SummEval, mean over attributes. "turned" replaces a tenth of the answers p, after both
orders were averaged, by 1 - p.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.stack import Stack
from reproduction import facts, sweep
from reproduction.curves import point
from reproduction.settings import Settings
from reproduction.sweep import ALL_METHODS, Setting, labels, per_context

SHOWN = ("avg-prob", "PoE-BT", "PoE-g", "PoE-l")
TURNED = 0.1
DRAWS = 10  # a Laplacian fit takes twenty times as long


def run(settings: Settings) -> pd.DataFrame:
    """One row a judge, method and kind of answers."""
    rows = []
    draws = max(min(settings.draws // 10, DRAWS), 2)
    data = labels("summeval", settings.source)
    for done, system in enumerate(facts.JUDGES):
        found: dict[tuple[str, str], list[np.ndarray]] = {}
        judges = settings.group("summeval", system, data.scores)
        for judge, gold in zip(judges, data.scores.values(), strict=True):
            setting = Setting("summeval", settings.source, 48, seed=settings.seed)
            stack = sweep.answers(judge, setting, gold, seed=[settings.seed, 11], draws=draws)
            stack = stack.flattened()
            rng = np.random.default_rng([settings.seed, done])
            wrong = rng.random(stack.p.shape) < TURNED
            turned = Stack(
                stack.n_items,
                stack.first,
                stack.second,
                np.where(wrong, 1.0 - stack.p, stack.p),
                stack.weight,
            )
            for how, answers in (("none", stack), ("turned", turned)):
                for method in SHOWN:
                    scores = ALL_METHODS[method](answers).reshape(draws, *gold.shape)
                    each = 100.0 * np.nanmean(per_context(scores, gold, "spearman"), axis=-1)
                    found.setdefault((how, method), []).append(each)
        of = (system, "summeval", "coherence")
        for (how, method), parts in found.items():
            values = np.mean(parts, axis=0)
            row = point(settings, "laplacian", of, 48, method, "random", values, how)
            rows.append({**row, "attribute": "mean", "kind": settings.kind(judges[0])})
        if settings.progress:
            settings.progress(done + 1, len(facts.JUDGES))
    return pd.DataFrame(rows)
