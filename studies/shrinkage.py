"""How often intervals of shrunk scores hold: their strength fitted, or averaged over (`beyond`).

Sixteen texts and 12 to 48 answers. One method shrinks as strongly as the evidence likes best
(`poe.fit` with `prior="fit"`), the other averages over the strength
(`studies.hierarchical.posterior`). Counted are the 95 % intervals of all differences that hold
those of the scores which the same judge's answers to every question give, log odds by least
squares. Where both orders are asked the errors of a pair may be shared, and
`studies.hierarchical.posterior` takes the pair for one answer.

Declared before it was run: `studies.hierarchical.posterior` fails if it holds less than
`MIN_COVERAGE` per cent with 0.75 calls a text or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr

from judging import metrics
from judging.simulated import correlated
from poe.arrays import Floats, Indices
from poe.choose.designs import in_orders_shown, regular
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.fitting import fit
from reproduction.measured_tables import group
from reproduction.settings import Settings, spread
from studies.coverage import BIAS, LEVEL, TEXTS
from studies.hierarchical import posterior

REPLICATES = 200  # at 100 draws
ONE, BOTH = (12, 16, 24, 48), (24, 32, 48)  # calls
MIN_COVERAGE = 92.0  # per cent
METHODS = ("fitted", "averaged")
TAILS = 2.0  # degrees of freedom of Student's t


@dataclass(frozen=True)
class Judge:
    """Log odds q_i - q_j + 0.4 + noise e with q standard normal.

    shared : correlation of e in one order with -e in the other. tails : e follows Student's t.
    uneven : half of the texts have errors three times as large.
    """

    name: str
    shared: float = 0.0
    tails: bool = False
    uneven: bool = False
    noise: float = 0.5

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(R, N, N) log odds and (R, N) scores."""
        q = rng.standard_normal((count, TEXTS))
        e: Floats = rng.standard_normal((count, TEXTS, TEXTS))
        e = correlated(e, np.swapaxes(e, 1, 2), self.shared)
        if self.tails:
            e = rng.standard_t(TAILS, e.shape)
        if self.uneven:
            size = np.where(np.arange(TEXTS) % 2, 1.0, 3.0)
            e = e * np.sqrt(size[:, None] * size)
        return q[:, :, None] - q[:, None] + BIAS + self.noise * e, q


JUDGES = (
    Judge("noise 0.5"),
    Judge("noise 1.5", noise=1.5),
    Judge("shared 0.4", 0.4),
    Judge("shared 1", 1.0),
    Judge("shared -0.9", -0.9),
    Judge("heavy tails", tails=True),
    Judge("uneven", uneven=True),
)


@dataclass(frozen=True, eq=False)
class Case:
    """(R, N, N) log odds of judges of one kind, and (R, N) the scores of all their answers."""

    name: str
    kind: str
    logits: Floats
    truth: Floats


def cases(settings: Settings) -> Iterator[Case]:
    """Judges whose truth is known, and what two models said about SummEval's articles."""
    replicates = max(REPLICATES * settings.draws // 100, 2)
    for k, judge in enumerate(JUDGES):
        drawn = judge.draw(replicates, np.random.default_rng([settings.seed, 55, k]))
        yield Case(judge.name, "simulated", *drawn)
    for which in ("qwen", "smollm2"):
        sets = [one for one in group("summeval", which=which) if one.attribute == "coherence"]
        for one in sets:
            logits = np.nan_to_num(one.log_p[..., 0] - one.log_p[..., 1])
            logits = logits[np.resize(np.arange(len(logits)), replicates)]
            whole = (logits - np.swapaxes(logits, 1, 2)).sum(axis=-1) / (2.0 * TEXTS)
            yield Case(one.system, "measured", logits, whole)


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, design and method.

    value, se : share of intervals that hold, in per cent, over replicates. agreement : Spearman
    x 100 with the scores of all answers. left_out : replicates of which nothing can be said.
    """
    every = list(cases(settings))
    jobs = [(c, False, k) for c in range(len(every)) for k in ONE]
    jobs += [(c, True, k) for c in range(len(every)) for k in BOTH]
    by_job = settings.map(lambda job: _rows(every[job[0]], job[1], job[2], settings.seed), jobs)
    results = pd.DataFrame([row for rows in by_job.values() for row in rows])
    labels = np.where(results["kind"] == "measured", "real", "none")
    return results.assign(labels=labels, draws=settings.draws, seed=settings.seed)


def _rows(case: Case, both: bool, calls: int, seed: int) -> list[dict[str, Any]]:
    if not both and case.name.startswith("shared"):
        return []  # in one order no two answers are about one pair
    rng = np.random.default_rng([seed, 56, crc32(case.name.encode()), calls, int(both)])
    held: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for logits, truth in zip(case.logits, case.truth, strict=True):
        pairs = in_orders_shown(
            regular(TEXTS, calls // (1 + both), seed=rng), both_orders=both, rng=rng
        )
        c = Comparisons.from_pairs(pairs, expit(logits[tuple(pairs.T)]), items=TEXTS)
        for name in METHODS:
            try:
                held[name].append(_held(c, name, truth))
            except ComparisonError:
                continue
    rows = []
    for name, each in held.items():
        inside, agreement = np.array(each).T
        value, se = spread(inside)
        rows.append(
            {
                "judge": case.name,
                "kind": case.kind,
                "orders": "both" if both else "one",
                "k": calls,
                "method": name,
                "value": value,
                "se": se,
                "agreement": agreement.mean(),
                "agreement_se": spread(agreement)[1],
                "left_out": len(case.logits) - len(each),
            }
        )
    return rows


def _held(c: Comparisons, method: str, truth: Floats) -> tuple[float, float]:
    """Share of differences whose central interval holds the true one, and agreement; in per cent.

    An interval holds a number where the chance to be below it is neither too small nor too large.
    """
    i, j = np.triu_indices(len(truth), 1)
    gap = truth[i] - truth[j]
    below, scores = (_fitted if method == "fitted" else _averaged)(c, i, j, gap)
    tail = (1.0 - LEVEL) / 2.0
    inside = (below >= tail) & (below <= 1.0 - tail)
    return 100.0 * float(inside.mean()), 100.0 * float(metrics.spearman(scores, truth))


def _fitted(c: Comparisons, i: Indices, j: Indices, gap: Floats) -> tuple[Floats, Floats]:
    solution = fit(c, "logit-gaussian", prior="fit", bias="fit")
    cover = solution.covariance()
    se = np.sqrt(np.maximum(cover[i, i] + cover[j, j] - 2.0 * cover[i, j], 1e-300))
    return stdtr(
        solution.freedom, (gap - solution.scores[i] + solution.scores[j]) / se
    ), solution.scores


def _averaged(c: Comparisons, i: Indices, j: Indices, gap: Floats) -> tuple[Floats, Floats]:
    mixture = posterior(c)
    scale = mixture.difference_scales(i, j)
    middle = mixture.centre[:, i] - mixture.centre[:, j]
    return mixture.weight @ stdtr(mixture.freedom, (gap - middle) / scale), mixture.scores


__all__ = ["METHODS", "MIN_COVERAGE", "Case", "Judge", "cases", "table"]
