"""Whether a probability that one score is above another is right as often as it says.

Sixteen texts of a judge whose truth is known. Of the better-ranked text of every pair,
`poe.Fit.better` says with which probability it is the better one; counted is how often that is so,
in ten classes of what was said, and in the mean. Beside it stands what the same fit says under a
flat prior, Phi(gap / error), which takes the whole lead for quality (book chapter 14).

Declared before it was run: what is said holds for a judge and design where the mean lies within
`MEAN` points of the share that is right, and every class with more than `FEWEST` pairs within
`CLASS` points, two standard errors aside. A trial with 40 replicates came before. It showed that
James and Stein's share, which the package takes, is nearer in the mean than the share under a
uniform prior on the part that is error (2.4 points off against 2.9), and nothing was changed by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr

from judging.fitting import settled
from poe.arrays import Floats, Indices
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.resistance import difference_variances
from reproduction.settings import Settings
from studies.coverage import BIAS, TEXTS

REPLICATES = 200  # at 100 draws
MEAN, CLASS, FEWEST = 3.0, 5.0, 200  # points, points, pairs
DESIGNS = {
    "24 in one order": ("no-repeat", 24),
    "48 in one order": ("no-repeat", 48),
    "96 in one order": ("no-repeat", 96),
    "48 in both orders": ("symmetric", 48),
    "96 in both orders": ("symmetric", 96),
}
CLASSES = np.linspace(50.0, 100.0, 11)  # what is said, in per cent


def holds(table: pd.DataFrame) -> pd.Series:
    """Tell whether what is said holds by the declared rule, by judge and design."""
    told = table[(table["class"] == "all") | (table["pairs"] > FEWEST)]
    limit = np.where(told["class"] == "all", MEAN, CLASS)
    near = (told["stated"] - told["value"]).abs() <= limit + 2.0 * told["se"]
    return near.groupby([told["judge"], told["design"]]).all()


@dataclass(frozen=True)
class Judge:
    """Log odds q_i - q_j + 0.4 + noise e; q and e normal, q with standard deviation `apart`.

    decides : says only which of the two it takes, drawn with its probability.
    """

    name: str
    apart: float
    noise: float = 0.0
    decides: bool = False

    def answer(self, q: Floats, pairs: Indices, rng: np.random.Generator) -> Floats:
        """(K,) answers about pairs (K, 2) of texts with qualities q (N,)."""
        logits = q[pairs[:, 0]] - q[pairs[:, 1]] + BIAS
        p: Floats = expit(logits + self.noise * rng.standard_normal(len(pairs)))
        return (rng.random(len(p)) < p).astype(float) if self.decides else p


JUDGES = tuple(
    Judge(f"{name}, {how}", apart, **more)
    for name, more in (
        ("decisions", {"decides": True}),
        ("noise 0.5", {"noise": 0.5}),
        ("noise 1.5", {"noise": 1.5}),
    )
    for how, apart in (("close", 0.3), ("apart", 1.0), ("far apart", 2.0))
)
GRID = [(judge, design) for judge in JUDGES for design in DESIGNS]


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, design and class of what was said, and one for all of them ("all").

    stated, value : said and right, in per cent, in the mean over pairs. se : of value - stated,
    over replicates. flat : what a flat prior says of the same pairs. pairs : how many. left_out :
    replicates of which nothing can be said.
    """
    replicates = max(REPLICATES * settings.draws // 100, 4)
    jobs = range(len(GRID))
    by_job = settings.map(lambda k: _rows(k, replicates, settings.seed), jobs)
    results = pd.DataFrame([row for rows in by_job.values() for row in rows])
    return results.assign(**settings.how("simulated", "none"))


def said_and_right(judge: Judge, design: str, rng: np.random.Generator) -> Floats:
    """(3, P) of all P pairs: said of the leader, said by a flat prior, and right, in per cent."""
    rule, count = DESIGNS[design]
    q = judge.apart * rng.standard_normal(TEXTS)
    pairs = select(TEXTS, count, rule=rule, seed=rng)  # type: ignore[arg-type]
    c = Comparisons.from_pairs(pairs, judge.answer(q, pairs, rng), items=TEXTS)
    fit = settled(c)[0]
    i, j = np.triu_indices(TEXTS, 1)
    gap = fit.scores[i] - fit.scores[j]
    error = np.sqrt(np.maximum(difference_variances(fit.covariance())[i, j], 1e-300))
    stated = fit.better(i, j)
    flat = stdtr(fit.freedom, np.abs(gap) / error)
    right = 0.5 + 0.5 * np.sign(gap) * np.sign(q[i] - q[j])
    return 100.0 * np.stack([np.maximum(stated, 1.0 - stated), flat, right])


def _rows(k: int, replicates: int, seed: int) -> list[dict[str, Any]]:
    judge, design = GRID[k]
    drawn, left_out = [], 0
    for one in range(replicates):
        try:
            drawn.append(said_and_right(judge, design, np.random.default_rng([seed, 61, k, one])))
        except ComparisonError:
            left_out += 1
    stated, flat, right = np.stack(drawn, axis=1)  # (R, P) each
    place = np.clip(np.digitize(stated, CLASSES) - 1, 0, 9)
    rows = []
    for which in (-1, *range(10)):
        inside = np.ones(stated.shape, dtype=bool) if which < 0 else place == which
        if not (count := int(inside.sum())):
            continue
        off = np.where(inside, right - stated, 0.0).sum(axis=1)
        each, about = inside.sum(axis=1), off.sum() / count
        # The error of a ratio of sums over replicates, whose pairs are not independent.
        se = np.sqrt(((off - about * each) ** 2).sum()) / count
        rows.append(
            {
                "judge": judge.name,
                "design": design,
                "class": "all" if which < 0 else f"{CLASSES[which]:.0f}-{CLASSES[which + 1]:.0f}",
                "stated": stated[inside].mean(),
                "value": right[inside].mean(),
                "se": se,
                "flat": flat[inside].mean(),
                "pairs": count,
                "left_out": left_out,
            }
        )
    return rows
