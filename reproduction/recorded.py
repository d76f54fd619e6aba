"""The same questions put to what real language models answered in others' experiments.

HANNA's five judges scored every story alone, under four prompts that ask for the same thing in
other words. Read as a judge of pairs, sigma(s_i - s_j), one prompt's scores would be free of noise:
all answers follow from N numbers. With a prompt drawn for every call they have a real judge's
noise, what the wording does to it. There is no position bias. LLMBar's six judges answered about
pairs in both orders: they test position bias, debiasing and accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from poe.comparisons import Floats, Indices
from poe.judges import recorded
from poe.judges.simulated import simulated_answers
from poe.metrics import spearman
from reproduction import large
from reproduction.settings import Settings, point
from reproduction.twins import labels

ATTRIBUTES = ("coherence", "complexity", "surprise")
TIMES = (2, 3, 5, 10, 20, 40, 100)  # calls an item


@dataclass(frozen=True, eq=False)
class ManyPrompts:
    """One of HANNA's judges, asked with a prompt drawn anew for every call.

    scores : (4, N) under the authors' four prompts, of the stories that have all four. each :
    whether either story of a call has a prompt of its own, or both the same.
    """

    scores: Floats
    each: bool
    rng: np.random.Generator

    def __call__(self, pairs: Indices) -> Floats:
        """P(first is better) for (K, 2) positions."""
        first, second = self.rng.integers(len(self.scores), size=(2, len(pairs)))
        second = second if self.each else first
        difference = self.scores[first, pairs[:, 0]] - self.scores[second, pairs[:, 1]]
        return simulated_answers(difference)


def under_all_prompts(judge: str, attribute: str) -> tuple[Floats, Indices]:
    """(4, N) scores under HANNA's four prompts, and the positions of the N stories with all four.

    Scores are means of three; where their digits differ by rounding alone they are made equal.
    """
    every = [recorded.hanna(judge, prompt, attribute).scores for prompt in recorded.HANNA_PROMPTS]
    scores = np.round(np.stack(every), 6)
    present = np.flatnonzero(~np.isnan(scores).any(axis=0))
    return scores[:, present], present


def hanna(settings: Settings) -> pd.DataFrame:
    """Efficiency curves of HANNA's judges: every method, hard and soft, random pairs.

    The target's `prompts`: "each", a prompt for either story of a call, or "call", one for both.
    """
    rows = []
    jobs = list(product(recorded.HANNA_JUDGES, ATTRIBUTES))
    own = settings.target.options.get("prompts", "each") == "each"
    for done, (name, attribute) in enumerate(jobs):
        scores, present = under_all_prompts(name, attribute)
        gold, n = labels("hanna").scores[attribute][0][present], len(present)
        for times in settings.target.options.get("times", TIMES):
            found: dict[str, list[float]] = {method: [] for method in large.METHODS}
            for draw in range(settings.large_draws):
                rng = np.random.default_rng([settings.seed, draw, times])
                answer = ManyPrompts(scores, own, rng)
                c = large.compared(n, times * n, answer, rng, seed=settings.seed)
                for method, score in large.scores(c, large.METHODS).items():
                    found[method].append(100.0 * float(spearman(score, gold)))
            panel = (name, "hanna", attribute)
            rows += [
                point(settings, panel, times * n, m, "random", np.array(values), kind="recorded")
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
