"""Simulated panels with the accuracies of real judges, and errors that they share.

A simulated judge is not a language model. Sample n has truth y_n = 1 or -1 and an error u_n that
tempts all judges alike; judge k decides for class 1 where

    z_nk = mu_k y_n + delta_k + sqrt(rho) u_n + sqrt(1 - rho) e_nk > 0,    u, e ~ Normal(0, 1):

mu_k its skill, delta_k its lean to class 1 (for comparisons: to what is shown first), rho the
correlation of errors. Shown the other order it answers with -delta_k and a share `repeat` of the
variance of e_nk unchanged. It reports the probability sigma(certainty z_nk).

Given u all judges are independent, so accuracies of single judges and of the majority are one
integral over u. `calibrate` reads mu from the printed accuracies of single judges (the paper's
Table 3) and rho from the printed accuracy of their majority (Table 1): those two are used up, and
what other methods reach is a prediction.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from poe.comparisons import Floats
from poe.panel.errors import AggregationError
from poe.panel.judgements import judgements
from poe.panel.panels import LabelledPanel

GRID = np.linspace(-8.0, 8.0, 4001)  # of the integral over u, fine: near rho = 1 it has steps


@dataclass(frozen=True, eq=False)
class SimulatedPanel:
    """What a simulated panel is made of; arrays are (K,). See the module."""

    judges: tuple[Hashable, ...]
    skill: Floats
    lean: Floats
    correlation: float
    prevalence: float = 0.5

    @classmethod
    def of(
        cls,
        accuracy: ArrayLike,
        *,
        lean: ArrayLike = 0.0,
        correlation: float = 0.0,
        prevalence: float = 0.5,
        judges: Sequence[Hashable] | None = None,
    ) -> SimulatedPanel:
        """The skills that give these accuracies.

        A judge is right with pi Phi(mu + delta) + (1 - pi) Phi(mu - delta), pi the prevalence.
        """
        wanted = np.atleast_1d(np.asarray(accuracy, dtype=float))
        leans = np.broadcast_to(np.asarray(lean, dtype=float), wanted.shape).copy()
        if ((wanted <= 0) | (wanted >= 1)).any() or not 0 <= correlation < 1:
            raise AggregationError("accuracies must lie in (0, 1), the correlation in [0, 1)")
        skill = np.array([_skill(a, d, prevalence) for a, d in zip(wanted, leans, strict=True)])
        names = tuple(range(len(wanted))) if judges is None else tuple(judges)
        return cls(names, skill, leans, correlation, prevalence)

    def accuracies(self) -> Floats:
        """(K,) expected accuracies of the judges."""
        right = norm.cdf(self.skill + self.lean), norm.cdf(self.skill - self.lean)
        return self.prevalence * right[0] + (1 - self.prevalence) * right[1]

    def majority_accuracy(self) -> float:
        """Expected accuracy of Algorithm 2: more than half of the judges say class 1."""
        u, w = GRID, norm.pdf(GRID) * (GRID[1] - GRID[0])
        k, total = len(self.skill), 0.0
        for y, share in ((1.0, self.prevalence), (-1.0, 1 - self.prevalence)):
            mean = y * self.skill + self.lean + np.sqrt(self.correlation) * u[:, None]
            yes = _successes(norm.cdf(mean / np.sqrt(1 - self.correlation)))
            above = yes[:, np.arange(k + 1) > k / 2].sum(axis=1)
            total += share * float(w @ (above if y > 0 else 1 - above))
        return total

    def draw(
        self,
        n: int,
        *,
        seed: int,
        context_accuracy: float | None = None,
        error_visible: float = 0.0,
        features: int = 20,
        certainty: float = 2.0,
        swapped: bool = False,
        repeat: float = 0.5,
    ) -> LabelledPanel:
        """N samples. With `swapped` the judges are asked in both orders and the answers averaged.

        context_accuracy : what the best reader of the context alone would reach; the context is
        then (N, features) Gaussian vectors, one direction shifted by the truth and another
        by error_visible times u, the judges' common error. certainty : of the reported
        probabilities; large is over-confident.
        """
        rng = np.random.default_rng(seed)
        truth = (rng.random(n) < self.prevalence).astype(np.intp)
        y = 2.0 * truth - 1.0
        u, k = rng.standard_normal(n), len(self.skill)
        own = rng.standard_normal((n, k))
        base = self.skill * y[:, None] + np.sqrt(self.correlation) * u[:, None]
        scale = np.sqrt(1 - self.correlation)
        p = expit(certainty * (base + self.lean + scale * own))
        if swapped:
            again = np.sqrt(repeat) * own + np.sqrt(1 - repeat) * rng.standard_normal((n, k))
            p = (p + expit(certainty * (base - self.lean + scale * again))) / 2.0
        context = None
        if context_accuracy is not None:
            if not 0.5 <= context_accuracy < 1.0 or features < 2:
                raise AggregationError("context_accuracy must lie in [1/2, 1), features above 1")
            context = rng.standard_normal((n, features))
            context[:, 0] += norm.ppf(context_accuracy) * y
            context[:, 1] += error_visible * u
        return LabelledPanel(
            "simulated panel",
            "simulated",
            judgements(p, judges=self.judges),
            truth,
            np.full(n, "simulated"),
            context,
            f"correlation of errors {self.correlation:.2f}, seed {seed}",
        )


def calibrate(
    accuracy: ArrayLike,
    majority: float,
    *,
    lean: ArrayLike = 0.0,
    prevalence: float = 0.5,
    judges: Sequence[Hashable] | None = None,
) -> SimulatedPanel:
    """The panel of these accuracies whose majority is right with probability `majority`.

    Fixes the correlation of errors (the more, the less a majority gains). Raises AggregationError
    where no correlation in [0, 0.999] gives it.
    """

    def made(rho: float) -> SimulatedPanel:
        return SimulatedPanel.of(
            accuracy, lean=lean, correlation=rho, prevalence=prevalence, judges=judges
        )

    def gap(rho: float) -> float:
        return made(rho).majority_accuracy() - majority

    if gap(0.0) < 0 or gap(0.999) > 0:
        raise AggregationError(
            f"no correlation of errors gives a majority of {majority:.3f}: it would be "
            f"{gap(0.0) + majority:.3f} with none and {gap(0.999) + majority:.3f} with 0.999"
        )
    return made(float(brentq(gap, 0.0, 0.999, xtol=1e-6)))


def _skill(accuracy: float, lean: float, prevalence: float) -> float:
    def gap(mu: float) -> float:
        right = prevalence * norm.cdf(mu + lean) + (1 - prevalence) * norm.cdf(mu - lean)
        return float(right) - accuracy

    return float(brentq(gap, -40.0, 40.0, xtol=1e-12))


def _successes(p: Floats) -> Floats:
    """(M, K) chances of K independent events to (M, K + 1) chances of how many happen."""
    total = np.zeros((len(p), p.shape[1] + 1))
    total[:, 0] = 1.0
    for k in range(p.shape[1]):
        one: Any = p[:, k : k + 1]
        total[:, 1:] = total[:, 1:] * (1 - one) + total[:, :-1] * one
        total[:, :1] *= 1 - one
    return total
