"""The same questions put to what real language models answered in others' experiments.

HANNA's five judges scored every story alone, under four prompts that ask for the same thing in
other words. Read as a judge of pairs, sigma(s_i - s_j), one prompt's scores would be free of noise:
all answers follow from N numbers. With a prompt drawn for every call they have a real judge's
noise, what the wording does to it. There is no position bias. LLMBar's six judges answered about
pairs in both orders: they test position bias, debiasing and accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from judging.judges import recorded
from judging.metrics import spearman
from judging.simulated import simulated_answers
from poe.arrays import Floats, Indices
from reproduction import large
from reproduction.settings import Settings, point
from reproduction.twins import labels

ATTRIBUTES = ("coherence", "complexity", "surprise")
TIMES = (2, 3, 5, 10, 20, 40, 100)  # calls an item
DRAWS = 5  # of calls and prompts, more where calls are few; the judge is what it is


@dataclass(frozen=True, eq=False)
class ManyPrompts:
    """One of HANNA's judges, asked with a prompt drawn anew for every call.

    Either story of a call has a prompt of its own. scores : (4, N) under the authors' four
    prompts, of the stories that have all four.
    """

    scores: Floats
    rng: np.random.Generator

    def __call__(self, pairs: Indices) -> Floats:
        """P(first is better) for (K, 2) positions."""
        first, second = self.rng.integers(len(self.scores), size=(2, len(pairs)))
        difference = self.scores[first, pairs[:, 0]] - self.scores[second, pairs[:, 1]]
        return simulated_answers(difference)


@cache
def under_all_prompts(judge: str, attribute: str) -> tuple[Floats, Indices]:
    """(4, N) scores under HANNA's four prompts, and the positions of the N stories with all four.

    Scores are means of three; where their digits differ by rounding alone they are made equal.
    """
    every = [recorded.hanna(judge, prompt, attribute).scores for prompt in recorded.HANNA_PROMPTS]
    scores = np.round(np.stack(every), 6)
    present = np.flatnonzero(~np.isnan(scores).any(axis=0))
    return scores[:, present], present


def hanna(settings: Settings) -> pd.DataFrame:
    """Efficiency curves of HANNA's judges: every method, hard and soft, random pairs."""
    times = settings.target.options.get("times", TIMES)

    def work(panel: tuple[str, str, int]) -> pd.DataFrame:
        """Spearman times 100 by method, a row a draw of calls and prompts."""
        name, attribute, each = panel
        scores, present = under_all_prompts(name, attribute)
        gold, n = labels("hanna").scores[attribute][0][present], len(present)
        correlations = []
        for draw in range(min(settings.large_draws, max(DRAWS, 40 // each))):
            rng = np.random.default_rng([settings.seed, draw, each])
            known = large.pool(n, settings.seed, draw)
            c = large.compared(n, each * n, ManyPrompts(scores, rng), rng, known=known)
            made = large.scores(c, large.METHODS).items()
            correlations.append({method: 100.0 * float(spearman(x, gold)) for method, x in made})
        return pd.DataFrame(correlations)

    rows = []
    done = settings.map(work, product(recorded.HANNA_JUDGES, ATTRIBUTES, times))
    for (name, attribute, each), by_method in done.items():
        panel, count = (name, "hanna", attribute), each * len(under_all_prompts(name, attribute)[1])
        for method, values in by_method.items():
            about = (panel, count, str(method), "random", values.to_numpy())
            rows.append(point(settings, *about, kind="recorded"))
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
        head = {"panel": settings.target.name, "system": judge, "dataset": "llmbar"}
        for method, values in shares.items():
            about = {"attribute": name, "k": len(values), "method": method}
            value, error = 100.0 * values.mean(), 100.0 * values.std(ddof=1) / np.sqrt(len(values))
            numbers = {"selection": "full", "bias": "none", "value": value, "se": error}
            rows.append(head | about | numbers)
    end = {"kind": table.attrs["kind"], "labels": "real", "draws": 1, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)
