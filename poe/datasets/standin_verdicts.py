"""Stand-ins of recorded verdicts: simulated judges on invented pairs, of the real shape.

They let everything that reads recorded verdicts run on any machine. The judges are called
stand-ins, the kind of the numbers is *simulated*, and nothing of a real answer is in them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from poe.datasets.verdicts import LLMBAR

PANDALM = ("item", "judge", "first", "second", "p", "people")

SEED = 2402
SIZES = {
    "Natural": 100,
    "Adversarial-Neighbor": 134,
    "Adversarial-GPTInst": 92,
    "Adversarial-GPTOut": 47,
    "Adversarial-Manual": 46,
    "FairEval": 66,
    "LLMEval^2": 200,
    "MT-Bench": 200,
}
JUDGES = tuple(f"stand-in-judge-{k}" for k in range(1, 7))
STRATEGIES = ("Vanilla", "CoT", "Swap")
MODELS = tuple(f"stand-in-model-{k}" for k in range(1, 6))


def llmbar(seed: int = SEED) -> pd.DataFrame:
    """Verdicts sigma(skill * margin + bias) of six judges, three strategies, both orders.

    A pair has one margin for all judges, so that they err together as real ones do, and in
    the adversarial sets it is more often on the wrong side for weak judges.
    """
    rng = np.random.default_rng(seed)
    rows: list[tuple[object, ...]] = []
    for name, size in SIZES.items():
        labels = rng.integers(1, 3, size)
        margin = rng.normal(0.6 if name.startswith("Adversarial") else 1.4, 1.0, size)
        for k, judge in enumerate(JUDGES):
            skill, bias = 1.8 - 0.25 * k, 0.15 * k
            for strategy in STRATEGIES:
                for first in (1, 2):
                    sign = np.where(labels == first, 1.0, -1.0)
                    logit = skill * sign * margin + bias + rng.normal(0.0, 0.7, size)
                    p = _missing(rng, (logit > 0).astype(float), share=0.005)
                    rows += [
                        (
                            name,
                            item,
                            judge,
                            strategy,
                            first,
                            p[item],
                            int(labels[item]),
                            strategy != "Swap",
                        )
                        for item in range(size)
                    ]
    return pd.DataFrame(rows, columns=list(LLMBAR))


def pandalm(seed: int = SEED, *, pairs: int = 999) -> pd.DataFrame:
    """Verdicts with ties of two judges and a majority of people on pairs of five models."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(-0.6, 0.6, len(MODELS))
    duels = [(a, b) for a in range(len(MODELS)) for b in range(a + 1, len(MODELS))]
    chosen = np.array(duels)[rng.integers(0, len(duels), pairs)]
    margin = quality[chosen[:, 0]] - quality[chosen[:, 1]] + rng.normal(0.0, 1.0, pairs)
    people = _with_ties(margin, width=0.25)
    rows: list[tuple[object, ...]] = []
    for judge, noise in zip(JUDGES[:2], (0.6, 0.8), strict=True):
        seen = margin + rng.normal(0.0, noise, pairs)
        p = _missing(rng, _with_ties(seen, width=0.15), share=0.01)
        rows += [
            (item, judge, MODELS[a], MODELS[b], p[item], people[item])
            for item, (a, b) in enumerate(chosen.tolist())
        ]
    return pd.DataFrame(rows, columns=list(PANDALM))


def _with_ties(margin: NDArray[np.float64], *, width: float) -> NDArray[np.float64]:
    return np.where(np.abs(margin) < width, 0.5, (margin > 0).astype(float))


def _missing(
    rng: np.random.Generator, p: NDArray[np.float64], *, share: float
) -> NDArray[np.float64]:
    return np.where(rng.random(p.shape) < share, np.nan, p)
