"""What single decisions come to, in closed form: the equations that calibration solves.

For perceived qualities with correlation rho and a noise of tau units of quality, a call decides a
pair whose human scores differ by g (on the scale of quality) correctly with probability
Phi(rho g / s), s^2 = 2 (1 - rho^2) + tau^2.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from poe.comparisons import Floats
from reproduction.twins import quality_scores


def accuracy(decided: Floats, rho: float, noise: float) -> float:
    """Share of unbiased decisions on pairs with gaps > 0 that are right."""
    return float(norm.cdf(rho * decided / spread(rho, noise)).mean())


def first_position(gaps: Floats, rho: float, noise: float, bias: float) -> float:
    """Share of decisions for the item shown first, each pair in both orders."""
    both = np.concatenate([gaps, -gaps])
    return float(norm.cdf((rho * both + bias) / spread(rho, noise)).mean())


def spread(rho: float, noise: float) -> float:
    """Standard deviation of a decision's quality difference beyond what z explains."""
    return float(np.sqrt(2.0 * (1.0 - rho**2) + noise**2))


def pair_gaps(gold: Floats) -> Floats:
    """Absolute differences on the scale of quality over all unordered pairs of all contexts."""
    z = quality_scores(gold)
    left, right = np.triu_indices(z.shape[-1], 1)
    return np.abs(z[..., left] - z[..., right]).ravel()


def bias_for(gaps: Floats, rho: float, noise: float, rate: float) -> float:
    """The bias, in units of quality, of a judge with that first-position rate."""
    return float(brentq(lambda b: first_position(gaps, rho, noise, b) - rate, -20.0, 20.0))
