"""How often intervals of ranks hold, each by itself and all at once, and those of scores with ties.

Sixteen texts, 95 % intervals, judges whose truth is known: those of `studies.coverage`, and one
that decides with ties,

    P(win) : P(tie) : P(loss) = e^(d/2) : nu : e^(-d/2),    d = sharpness (q_i - q_j) + 0.4

(Davidson 1970), or by a threshold, P(win) = sigma(d - eta) and P(loss) = sigma(-d - eta) (Rao and
Kupper 1967). The true rank of a text is that of its quality. Quantities, in per cent:

    each          share of texts whose own interval of ranks holds (`Fit.rank_interval`)
    all, each     share of sets in which all of these hold at once
    all           share of sets in which all simultaneous intervals hold (simultaneous=True)
    differences   share of intervals of score differences that hold, as in `studies.coverage`

Declared before it was run: "each" and "all" hold in 93% or more with every judge and design, "all,
each" in less than 70%; with ties "differences" hold in 93 to 97% by the Davidson expert, whose nu
is fitted, and its nu is on average within a tenth of the judge's. Declared later, with the first in
view and before the judge with a threshold was run: with 96 decisions "each" and "differences"
hold in 90 to 97% by the Rao-Kupper expert, "all" in 95% or more, and eta is up to a fifth too large
(column nu has eta).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import poe
from poe.arrays import Floats
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.errors import ComparisonError, NotConvergedError
from poe.experts.ties import Tied
from poe.result import Fit
from reproduction.settings import Settings, spread
from studies.coverage import BIAS, DESIGNS, EVERY, LEVEL, TEXTS, Judge, inside

REPLICATES = 300  # at 100 draws
QUANTITIES = ("each", "all, each", "all", "differences")


@dataclass(frozen=True)
class Ties(Judge):
    """A judge that decides, with ties of this nu, or below this threshold."""

    nu: float = 1.0
    threshold: bool = False

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(R, N, N) answers of 1, 1/2 and 0, and the qualities (R, N) times the sharpness."""
        s = self.sharpness * rng.standard_normal((count, TEXTS))
        d = s[:, :, None] - s[:, None] + BIAS
        win, tie, loss = np.exp(0.5 * d), self.nu, np.exp(-0.5 * d)
        if self.threshold:
            win, loss = expit(d - self.nu), expit(-d - self.nu)
            tie = 1.0 - win - loss
        lot = rng.random(d.shape) * (win + tie + loss)
        return np.where(lot < win, 1.0, np.where(lot < win + tie, 0.5, 0.0)), s


JUDGES: tuple[tuple[Judge, str], ...] = (
    (Judge("noise 0.5", 1.0, 0.5), "bradley-terry"),
    (Judge("sharp, noise 2", 4.0, 2.0), "bradley-terry"),
    (Judge("ten tosses", tosses=10), "bradley-terry"),
    (Ties("ties", 1.0, nu=1.0), "davidson"),
    (Ties("many ties", 1.0, nu=3.0), "davidson"),
    (Ties("threshold", 1.0, nu=1.0, threshold=True), "rao-kupper"),
)
GRID = [(judge, expert, design) for judge, expert in JUDGES for design in DESIGNS]


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, design and quantity. nu : the judge's; found : the mean of those fitted."""
    replicates = REPLICATES * settings.draws // 100
    jobs = [(k, replicates, settings.seed) for k in range(len(GRID))]
    rows = [row for own in settings.map(lambda job: cell(*job), jobs).values() for row in own]
    return pd.DataFrame(rows).assign(**settings.how("simulated", "none"))


def cell(k: int, replicates: int, seed: int) -> list[dict[str, object]]:
    """All quantities for one judge and design."""
    judge, expert, design = GRID[k]
    rule, count = DESIGNS[design]
    rng = np.random.default_rng([seed, 38, k])
    answers, told = judge.draw(replicates, rng)
    held: list[tuple[float, ...]] = []
    found: list[float] = []
    for r in range(replicates):
        pairs = select(TEXTS, count, rule=rule, seed=rng)  # type: ignore[arg-type]
        try:
            fit = fitted(judge, expert, pairs, answers[r])
            truth = told[r] if isinstance(judge, Ties) else without_end(told[r])
            held.append(of(fit, truth, seed=r))
        except (ComparisonError, NotConvergedError):  # a text that won or lost everything
            continue
        if isinstance(fit.expert, Tied):
            found.append(getattr(fit.expert, fit.expert.symbol))
    about: dict[str, object] = {"judge": judge.name, "design": design, "expert": expert}
    about |= {"nu": getattr(judge, "nu", np.nan), "found": float(np.mean(found or [np.nan]))}
    about["left_out"] = replicates - len(held)
    rows = []
    for name, values in zip(QUANTITIES, 100.0 * np.array(held).T, strict=True):
        value, se = spread(values)
        rows.append({**about, "quantity": name, "value": value, "se": se})
    return rows


def fitted(judge: Judge, expert: str, pairs: Any, answers: Floats) -> Fit:
    """The fit of one set of answers, its bias and nu fitted."""
    weight = np.full(len(pairs), max(judge.tosses, 1.0))
    c = Comparisons.from_pairs(pairs, answers[tuple(pairs.T)], items=TEXTS, weight=weight)
    tied = isinstance(judge, Ties)
    return poe.fit(c, expert, bias="fit", covariance="curvature" if tied else "paired")


def without_end(expected: Floats) -> Floats:
    """Scores of the expected answers to all questions."""
    c = Comparisons.from_pairs(EVERY, expected[tuple(EVERY.T)], items=TEXTS)
    return poe.fit(c, bias="fit").scores


def of(fit: Fit, truth: Floats, *, seed: int) -> tuple[float, ...]:
    """Count what of a fit's intervals holds, in the order of `QUANTITIES`."""
    place = 1 + (-truth).argsort().argsort()
    low, high = fit.rank_interval(LEVEL, seed=seed).T
    each = (low <= place) & (place <= high)
    low, high = fit.rank_interval(LEVEL, simultaneous=True, seed=seed).T
    together = (low <= place) & (place <= high)
    return float(each.mean()), float(each.all()), float(together.all()), inside(fit, truth)
