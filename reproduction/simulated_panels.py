"""Simulated panels with the accuracies of real judges, and errors that they share.

A simulated judge is not a language model. Sample n has truth y_n = 1 or -1 and an error u_n that
tempts all judges alike; judge k decides for class 1 where

    z_nk = mu_k y_n + delta_k + sqrt(rho) u_n + sqrt(1 - rho) e_nk > 0,    u, e ~ Normal(0, 1):

mu_k its skill, delta_k its lean to class 1 (for comparisons: to what is shown first), rho the
correlation of errors. Shown the other order it answers with -delta_k and a share `REPEAT` of the
variance of e_nk unchanged. It reports the probability sigma(2 z_nk).

Given u all judges are independent, so accuracies of single judges and of the majority are one
integral over u. `SimulatedPanel.calibrated` reads mu from given accuracies of single judges and rho
from that of their majority: those two are used up, and what other methods reach is a prediction.

`simulated_judges` is another simulation: judges that compare items, among them a weak, a biased,
a duplicate or an adversarial one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from judging.panel import Judgements, PanelError
from judging.simulated import simulated_answers
from poe.arrays import Floats
from poe.comparisons import Comparisons

GRID = np.linspace(-8.0, 8.0, 4001)  # of the integral over u, fine: near rho = 1 it has steps
FEATURES = 20  # of a drawn context
REPEAT = 0.5  # share of a judge's own noise that stays when the order is swapped; declared
KINDS = {  # of judges: sharpness, noise and position bias in logits
    "none": (),
    "weak": (0.1, 1.5, 0.0),
    "biased": (1.0, 1.5, 2.0),
    "duplicate": (1.0, 3.0, 0.0),
    "adversarial": (-1.0, 1.5, 0.0),
    "over-confident": (0.0, 6.0, 0.0),
}


@dataclass(frozen=True, eq=False)
class LabelledPanel:
    """Judgements with what is true, to see how well a method does; no method is shown the truth.

    judgements : of N samples by K judges. truth : (N,) class positions. context : N texts,
    (N, F) vectors, or None. name : for tables.
    """

    name: str
    judgements: Judgements
    truth: NDArray[np.integer[Any]]
    context: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.truth)

    def judge_accuracy(self) -> pd.DataFrame:
        """One row for each judge: share of its judgements that are right, its error, their number.

        The error is binomial.
        """
        seen = self.judgements.seen
        right = (self.judgements.decisions == self.truth[:, None]) & seen
        count = seen.sum(axis=0)
        share = right.sum(axis=0) / count
        se = np.sqrt(share * (1 - share) / count)
        return pd.DataFrame(
            {"judge": list(self.judgements.judges), "accuracy": share, "se": se, "n": count}
        )


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
            raise PanelError("accuracies must lie in (0, 1), the correlation in [0, 1)")
        skill = [
            brentq(lambda mu: _right(mu, d, prevalence) - a, -40.0, 40.0, xtol=1e-12)  # noqa: B023
            for a, d in zip(wanted, leans, strict=True)
        ]
        names = tuple(range(len(wanted))) if judges is None else tuple(judges)
        return cls(names, np.array(skill), leans, correlation, prevalence)

    @classmethod
    def calibrated(
        cls,
        accuracy: ArrayLike,
        majority: float,
        *,
        lean: ArrayLike = 0.0,
        prevalence: float = 0.5,
        judges: Sequence[Hashable] | None = None,
    ) -> SimulatedPanel:
        """The panel of these accuracies whose majority is right with probability `majority`.

        Fixes the correlation of errors (the more, the less a majority gains). Raises PanelError
        where no correlation in [0, 0.999] gives it.
        """
        alone = cls.of(accuracy, lean=lean, prevalence=prevalence, judges=judges)

        def gap(rho: float) -> float:
            return replace(alone, correlation=rho).majority_accuracy() - majority

        none, most = gap(0.0), gap(0.999)
        if none < 0 or most > 0:
            raise PanelError(
                f"no correlation of errors gives a majority of {majority:.3f}: it would be "
                f"{none + majority:.3f} with none and {most + majority:.3f} with 0.999"
            )
        return replace(alone, correlation=float(brentq(gap, 0.0, 0.999, xtol=1e-6)))

    def accuracies(self) -> Floats:
        """(K,) expected accuracies of the judges."""
        return np.asarray(_right(self.skill, self.lean, self.prevalence))

    def majority_accuracy(self) -> float:
        """Expected accuracy of Algorithm 2: more than half of the judges say class 1."""
        u = GRID
        w = np.exp(-(u**2) / 2.0) / np.sqrt(2.0 * np.pi) * (u[1] - u[0])
        k, total = len(self.skill), 0.0
        for y, share in ((1.0, self.prevalence), (-1.0, 1 - self.prevalence)):
            mean = y * self.skill + self.lean + np.sqrt(self.correlation) * u[:, None]
            yes = _successes(ndtr(mean / np.sqrt(1 - self.correlation)))
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
        swapped: bool = False,
    ) -> LabelledPanel:
        """N samples. With `swapped` the judges are asked in both orders and the answers averaged.

        context_accuracy : what the best reader of the context alone would reach; the context is
        then (N, 20) Gaussian vectors, one direction shifted by the truth and another by
        error_visible times u, the judges' common error.
        """
        rng = np.random.default_rng(seed)
        truth = (rng.random(n) < self.prevalence).astype(np.intp)
        y = 2.0 * truth - 1.0
        u, k = rng.standard_normal(n), len(self.skill)
        own = rng.standard_normal((n, k))
        base = self.skill * y[:, None] + np.sqrt(self.correlation) * u[:, None]
        scale = np.sqrt(1 - self.correlation)
        p = simulated_answers(base + self.lean + scale * own, sharpness=2.0)
        if swapped:
            again = np.sqrt(REPEAT) * own + np.sqrt(1 - REPEAT) * rng.standard_normal((n, k))
            p = p + simulated_answers(base - self.lean + scale * again, sharpness=2.0)
            p /= 2.0
        context = None
        if context_accuracy is not None:
            context = rng.standard_normal((n, FEATURES))
            context[:, 0] += ndtri(context_accuracy) * y
            context[:, 1] += error_visible * u
        judgements = Judgements.from_table(p, judges=self.judges)
        return LabelledPanel("simulated panel", judgements, truth, context)


def _right(skill: ArrayLike, lean: ArrayLike, prevalence: float) -> Floats:
    """How often judges of this skill and lean are right."""
    mu, delta = np.asarray(skill), np.asarray(lean)
    return prevalence * ndtr(mu + delta) + (1 - prevalence) * ndtr(mu - delta)


def _successes(p: Floats) -> Floats:
    """(M, K) chances of K independent events to (M, K + 1) chances of how many happen."""
    total = np.zeros((len(p), p.shape[1] + 1))
    total[:, 0] = 1.0
    for one in p.T[:, :, None]:
        total[:, 1:] = total[:, 1:] * (1 - one) + total[:, :-1] * one
        total[:, :1] *= 1 - one
    return total


def simulated_judges(
    kind: str, *, seed: int, n_items: int = 16
) -> tuple[dict[Hashable, Comparisons], Floats]:
    """Comparisons of three good judges and one of a kind, and the items' true scores.

    Every ordered pair is asked. A good judge answers sigma(s_i - s_j + 1.5 e), e a standard normal
    number for each. "none" adds no judge; "weak" one with a tenth of the sharpness; "biased" one
    that adds two logits to what is shown first; "duplicate" has four copies of the weakest voice
    there is, a judge with twice the noise, answers and errors alike; "adversarial" one that prefers
    the worse; "over-confident" a judge of pure noise with four times the noise, whose
    probabilities are all near 0 or 1.
    """
    if kind not in KINDS:
        raise PanelError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(n_items)
    scores -= scores.mean()
    pairs = np.argwhere(~np.eye(n_items, dtype=bool))
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]

    def judge(sharpness: float, noise: float, bias: float) -> Comparisons:
        p = simulated_answers(d, sharpness=sharpness, bias=bias, noise=noise, e=rng)
        return Comparisons.from_pairs(pairs, p, items=n_items)

    judges: dict[Hashable, Comparisons] = {f"good {k}": judge(1.0, 1.5, 0.0) for k in (1, 2, 3)}
    if kind == "duplicate":
        judges |= dict.fromkeys([f"copy {k}" for k in (1, 2, 3, 4)], judge(*KINDS[kind]))
    elif kind != "none":
        judges[kind] = judge(*KINDS[kind])
    return judges, scores
