"""How often intervals hold what they promise: judges whose truth is known (book chapter 14).

Sixteen texts, 95 % intervals of their 120 differences. What an interval is to hold is the score
that the same judge would give if it were asked without end: the scores fitted to its expected
answers to all pairs in both orders, by the same expert, with the bias fitted as it is here.

The grid was declared before it was run, but for the judges whose orders err against each other
(shared -0.9), as those that were measured do: these came later. Trials of it with 60 replicates and
other draws led to the rule that answers without an exact 0 or 1 have noise in the logit
(`poe.Fit.scatter`), and to residuals after least squares (`poe.scatter`); nothing else was chosen
by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from judging.judges import recorded
from judging.simulated import correlated
from poe import newton
from poe.arrays import Floats, Indices
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.resistance import difference_variances
from poe.result import Covariance, Fit
from poe.stack import Stack
from reproduction.recorded_answers import ATTRIBUTES, under_all_prompts
from reproduction.settings import Settings, spread

TEXTS, LEVEL, BIAS, TOP = 16, 0.95, 0.4, 3
REPLICATES = 1000  # at 100 draws
EXPERTS: dict[str, Expert] = {"bradley-terry": BradleyTerry(), "gaussian": Gaussian()}
# Without a sigma the curvature of Gaussian experts is that of the scatter.
COVARIANCES: dict[str, tuple[Covariance, ...]] = {
    "bradley-terry": ("curvature", "scatter", "paired"),
    "gaussian": ("scatter", "paired"),
}
DESIGNS = {
    "48 in both orders": ("symmetric", 48),
    "96 in both orders": ("symmetric", 96),
    "96 in one order": ("no-repeat", 96),
}
EVERY = np.argwhere(~np.eye(TEXTS, dtype=bool))
NODES, SHARES = np.polynomial.hermite_e.hermegauss(41)


@dataclass(frozen=True)
class Judge:
    """p = sigma(sharpness (q_i - q_j) + 0.4 + noise e) with q standard normal.

    shared : correlation of e in one order of a pair with -e in the other. tosses : answers are
    shares of so many tosses with that probability, and have that weight.
    """

    name: str
    sharpness: float = 1.0
    noise: float = 0.0
    shared: float = 0.0
    tosses: int = 0

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(R, N, N) answers to all questions and what is expected of them, R judges."""
        q = rng.standard_normal((count, TEXTS))
        logits = self.sharpness * (q[:, :, None] - q[:, None]) + BIAS
        expected = expit(logits)
        if self.tosses:
            return rng.binomial(self.tosses, expected) / self.tosses, expected
        e: Floats = rng.standard_normal(logits.shape)
        e = correlated(e, np.swapaxes(e, 1, 2), self.shared)
        expected = sum(
            share * expit(logits + self.noise * node)
            for node, share in zip(NODES, SHARES / SHARES.sum(), strict=True)
        )
        return expit(logits + self.noise * e), expected


class Hanna(Judge):
    """One of HANNA's judges, its attribute and stories drawn, a prompt drawn for either story."""

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """As `Judge.draw`."""
        prompts = len(recorded.HANNA_PROMPTS)
        s = np.empty((count, prompts, TEXTS))
        for one in s:
            name, about = rng.choice(recorded.HANNA_JUDGES), rng.choice(ATTRIBUTES)
            scores, _ = under_all_prompts(str(name), str(about))
            one[:] = scores[:, rng.choice(scores.shape[1], TEXTS, replace=False)]
        first, second = rng.integers(prompts, size=(2, count, TEXTS, TEXTS))
        r, i, j = np.indices(first.shape)
        answers = expit(s[r, first, i] - s[r, second, j])
        expected = expit(s[:, :, None, :, None] - s[:, None, :, None, :]).mean(axis=(1, 2))
        return answers, expected


JUDGES = (
    Judge("ten tosses", tosses=10),
    *(Judge("noise 0.5", 1.0, 0.5, shared) for shared in (-0.9, 0.0, 0.4, 1.0)),
    *(Judge("sharp, noise 2", 4.0, 2.0, shared) for shared in (-0.9, 0.0, 0.4, 1.0)),
    *(Judge("sharp, noise 0.1", 4.0, 0.1, shared) for shared in (0.0, 1.0)),
    Hanna("HANNA's prompts"),
)
# In one order no two answers are about one pair, so nothing can be shared.
GRID = [(j, d) for j in JUDGES for d in DESIGNS if j.shared == 0.0 or "both" in d]


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, design, expert and covariance: share of intervals that hold, in per cent.

    se : over replicates. top_stated, top_true : of the three texts on top, the mean probability
    of being among the best three, and the share that are. left_out : replicates without finite
    scores.
    """
    replicates = REPLICATES * settings.draws // 100
    jobs = [(k, replicates, settings.seed) for k in range(len(GRID))]
    rows = [row for own in settings.map(lambda job: cell(*job), jobs).values() for row in own]
    return pd.DataFrame(rows).assign(labels="none", draws=settings.draws, seed=settings.seed)


def cell(k: int, replicates: int, seed: int) -> list[dict[str, object]]:
    """All experts and covariances for one judge and design, on the same answers."""
    judge, design = GRID[k]
    rule, count = DESIGNS[design]
    rng = np.random.default_rng([seed, 15, k])
    answers, expected = judge.draw(replicates, rng)
    pairs = np.stack(
        [select(TEXTS, count, rule=rule, seed=rng) for _ in range(replicates)]  # type: ignore[arg-type]
    )
    p = _at(answers, pairs)
    every = np.broadcast_to(EVERY, (replicates, *EVERY.shape))
    rows: list[dict[str, object]] = []
    for name, expert in EXPERTS.items():
        options: dict[str, Any] = {"fit_bias": True, "tol": 1e-8}
        truth = newton.solve(Stack.of(TEXTS, every, _at(expected, every)), expert, **options)
        solution = newton.solve(Stack.of(TEXTS, pairs, p), expert, **options)
        use = np.flatnonzero(solution.converged & (np.abs(solution.scores).max(axis=1) < 20.0))
        held: dict[Covariance, list[tuple[float, ...]]] = {c: [] for c in COVARIANCES[name]}
        for r in use:
            c = Comparisons.from_pairs(
                pairs[r], p[r], items=TEXTS, weight=np.full(count, max(judge.tosses, 1.0))
            )
            fit = Fit(
                items=c.items,
                scores=solution.scores[r],
                expert=expert,
                bias=float(solution.bias[r]),
                energy=float(solution.energy[r]),
                steps=int(solution.steps[r]),
                gradient=float(solution.gradient[r]),
                converged=True,
                method="stacked Newton",
                comparisons=c,
                bias_fitted=True,
            )
            for choice in reversed(COVARIANCES[name]):  # the fit's own first: the rest is shared
                held[choice].append(_held(fit.with_covariance(choice), truth.scores[r]))
        for choice, each in held.items():
            inside, stated, true = 100.0 * np.array(each).T
            value, se = spread(inside)
            rows.append(
                {
                    "judge": judge.name,
                    "shared": judge.shared,
                    "design": design,
                    "expert": name,
                    "covariance": choice,
                    "value": value,
                    "se": se,
                    "top_stated": stated.mean(),
                    "top_true": true.mean(),
                    "left_out": replicates - len(use),
                    "kind": "recorded" if isinstance(judge, Hanna) else "simulated",
                }
            )
    return rows


def _at(matrices: Floats, pairs: Indices) -> Floats:
    return matrices[np.arange(len(matrices))[:, None], pairs[..., 0], pairs[..., 1]]


def inside(fit: Fit, truth: Floats) -> float:
    """Share of all differences whose interval holds the difference of `truth`."""
    i, j = np.triu_indices(len(truth), 1)
    se = np.sqrt(difference_variances(fit.covariance())[i, j])
    off = (fit.scores[i] - fit.scores[j]) - (truth[i] - truth[j])
    return float((np.abs(off) <= fit.quantile(LEVEL) * se + 1e-9).mean())


def _held(fit: Fit, truth: Floats) -> tuple[float, float, float]:
    """Share of differences that intervals hold; of the top three, stated and true to be so."""
    top = np.argsort(-fit.scores)[:TOP]
    best = np.argsort(-truth)[:TOP]
    return (
        inside(fit, truth),
        float(fit.prob_top(TOP, draws=100)[top].mean()),
        float(np.isin(top, best).mean()),
    )
