"""How sure a fit is when answers are probabilities: by their scatter, or as single decisions.

Bradley-Terry's curvature gives every answer the information of one decision. A judge that gives
a probability says more than that, and how much more shows in how well its answers agree with one
set of scores. So the covariance is taken from the answers' scatter, as quasi-likelihood does for
over- and underdispersed counts (McCullagh and Nelder, Generalized Linear Models, chapters 9, 10).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import expit

from poe.comparisons import Floats, Mask
from poe.experts import BradleyTerry
from poe.result import COVARIANCE_ITEMS, Fit
from poe.stack import differences
from poe.stopping import StopRule

Intervals = Literal["scatter", "decisions"]

_FEWEST = 3  # residual degrees of freedom from which a scatter is taken
_LEAST = 1e-3  # a judge that is a Bradley-Terry model to the last digit still rounds


@dataclass(frozen=True)
class Scatter:
    """How answers p scatter around fitted probabilities q: variance size^2 (q (1 - q))^power.

    power 1 : like decisions, of which size 1 is one and size 1/sqrt(n) the mean of n.
    power 2 : like noise in the logit of p, with standard deviation `size`.
    """

    power: int
    size: float

    @property
    def in_words(self) -> str:
        """For a report."""
        if self.power == 1:
            return f"{self.size:.2g} times as far as single decisions would"
        return f"by {self.size:.2g} logits"


@dataclass(frozen=True, eq=False)
class ScatteredFit(Fit):
    """A fit whose covariance was taken from the answers' scatter.

    joint : (N + 1, N + 1) covariance of the scores, mean zero, and the bias (zeros if it was not
        fitted).
    """

    joint: Floats = field(kw_only=True, repr=False)

    @property
    def bias_se(self) -> float | None:
        """Standard error of a fitted bias."""
        return float(np.sqrt(self.joint[-1, -1])) if self.bias_fitted else None

    @cached_property
    def _unscaled(self) -> Floats:
        return self.joint[:-1, :-1]

    @cached_property
    def _scale(self) -> float:
        return 1.0


def scatter(fit: Fit) -> Scatter | None:
    """How the answers of a Bradley-Terry fit scatter, in the power that describes them better.

    size^2 = sum (p - q)^2 / (q (1 - q))^power / (F - 2) over the answers (book eq. 14.8 for
    power 2), with F = K - N + 1 (one less with a fitted bias) residual degrees of freedom;
    F - 2 rather than F because the size is itself estimated (the variance of Student's t). The
    power with the higher extended quasi-likelihood is taken. Answers that came from a prior do
    not count. None for other experts, where F < 3, and where all answers are decisions, which
    scatter as decisions do.
    """
    real = _real(fit)
    freedom = int(real.sum()) - len(fit.items) + 1 - fit.bias_fitted
    if not isinstance(fit.expert, BradleyTerry) or freedom < _FEWEST:
        return None
    q, p = _fitted(fit)[real], fit.comparisons.p[real]
    if np.isin(p, (0.0, 0.5, 1.0)).all():
        return None
    squared, spread = (p - q) ** 2, np.maximum(q * (1.0 - q), 1e-12)
    made = []
    # An answer of exactly 0 or 1 is a decision, or a count of some, and has no logit.
    for power in (1,) if ((p == 0.0) | (p == 1.0)).any() else (1, 2):
        size = max(float((squared / spread**power).sum() / (freedom - 2)), _LEAST**2)
        surprise = len(q) * np.log(size) + power * np.log(spread).sum()
        made.append((float(surprise), Scatter(power, float(np.sqrt(size)))))
    return min(made, key=lambda pair: pair[0])[1]


def by_scatter(fit: Fit) -> Fit:
    """The same scores with the covariance H^-1 M H^-1 of the answers' scatter (book eq. 14.7).

    H : the curvature of the product along scores and bias. M : the covariance of its slope, from
    `scatter`. With power 1 it is size^2 H^-1. Other experts, and fits with too few answers to
    tell, come back as they are; Gaussian experts without a sigma take it from the residuals.
    """
    found, n = scatter(fit), len(fit.items)
    if found is None or n > COVARIANCE_ITEMS:
        return fit
    c, real, q = fit.comparisons, _real(fit), _fitted(fit)
    tilt = np.broadcast_to(fit.tilt, c.p.shape) * fit.bias_fitted
    spread = q * (1.0 - q)
    inverse = _inverted(_crossed(fit, c.weight * spread, tilt))
    slope = c.weight**2 * found.size**2 * spread**found.power * real
    joint = inverse @ _crossed(fit, slope, tilt) @ inverse
    known = {one.name: getattr(fit, one.name) for one in fields(Fit)}
    return ScatteredFit(**known, joint=0.5 * (joint + joint.T))


def rule_by_scatter(rule: StopRule) -> StopRule:
    """A stopping rule that looks at the fit with the covariance from the scatter."""
    return replace(rule, measure=lambda fit: rule.measure(by_scatter(fit)))


def _real(fit: Fit) -> Mask:
    """(K,) whether an answer is the judge's and not a prior's."""
    return np.broadcast_to(fit.tilt, fit.comparisons.p.shape) != 0


def _fitted(fit: Fit) -> Floats:
    c = fit.comparisons
    return expit(differences(c, fit.scores) - fit.bias * np.broadcast_to(fit.tilt, c.p.shape))


def _crossed(fit: Fit, weight: Floats, tilt: Floats) -> Floats:
    """(N + 1, N + 1) sum of weight x x', x = (+1 at first, -1 at second, -tilt at the bias)."""
    c, n = fit.comparisons, len(fit.items)
    made = np.zeros((n + 1, n + 1))
    columns = ((c.first, 1.0), (c.second, -1.0), (np.full(len(c), n), -tilt))
    for here, this in columns:
        for there, that in columns:
            np.add.at(made, (here, there), weight * this * that)
    return made


def _inverted(matrix: Floats) -> Floats:
    """Inverse on mean-zero scores; zeros for a bias that has no curvature because it is fixed."""
    n = len(matrix) - 1
    level = float(np.trace(matrix)) / n
    whole = matrix.copy()
    whole[:n, :n] += level / n  # the curvature is blind to a shift of all scores
    whole[n, n] += level * (matrix[n, n] == 0.0)
    made = np.linalg.inv(whole)
    made[:n, :n] -= 1.0 / (n * level)
    if matrix[n, n] == 0.0:
        made[n] = made[:, n] = 0.0
    return np.asarray(made)
