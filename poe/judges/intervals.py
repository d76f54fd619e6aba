"""How sure a fit is when answers are probabilities: by their scatter, or as single decisions.

Bradley-Terry's curvature gives every answer the information of one decision. A judge that gives
a probability says more than that, and how much more shows in how well its answers agree with one
set of scores. Scaling the curvature by the answers' scatter is what quasi-likelihood does for
over- and underdispersed counts (McCullagh and Nelder, Generalized Linear Models, chapter 9).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.special import expit

from poe.comparisons import Comparisons
from poe.experts import BradleyTerry
from poe.result import Fit
from poe.stack import differences
from poe.stopping import StopRule

Intervals = Literal["scatter", "decisions"]

_FEWEST = 3  # residual degrees of freedom from which a scatter is taken
_LEAST = 1e-3  # a judge that is a Bradley-Terry model to the last digit still rounds


def scatter(fit: Fit) -> float | None:
    """How far answers lie from the scores: 1 for decisions drawn with the fitted chances.

    The square root of sum (p - q)^2 / (q (1 - q)) / (F - 2), q the fitted probability of each
    answer and F = K - N + 1 (one less with a fitted bias) the residual degrees of freedom; F - 2
    rather than F because the scatter itself is estimated (the variance of Student's t). Answers
    that came from a prior do not count. None for other experts and where F < 3.
    """
    c = fit.comparisons
    tilt = np.broadcast_to(fit.tilt, c.p.shape)
    real = tilt != 0
    freedom = int(real.sum()) - len(fit.items) + 1 - fit.bias_fitted
    if not isinstance(fit.expert, BradleyTerry) or freedom < _FEWEST:
        return None
    q = expit(differences(c, fit.scores) - fit.bias * tilt)
    residual = c.weight * (c.p - q) ** 2 / np.maximum(q * (1.0 - q), 1e-12)
    return max(float(np.sqrt(residual[real].sum() / (freedom - 2))), _LEAST)


def by_scatter(fit: Fit) -> Fit:
    """The same scores with a covariance scaled by the answers' scatter.

    Other experts, and fits with too few answers to tell, come back as they are: Gaussian experts
    without a sigma take it from the residuals themselves.
    """
    times = scatter(fit)
    if times is None:
        return fit
    c = fit.comparisons
    weight = c.weight / times**2
    return replace(
        fit, comparisons=Comparisons.from_pairs(c.pairs, c.p, items=c.items, weight=weight)
    )


def rule_by_scatter(rule: StopRule) -> StopRule:
    """A stopping rule that looks at the fit with the scaled covariance."""
    return replace(rule, measure=lambda fit: rule.measure(by_scatter(fit)))
