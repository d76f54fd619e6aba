"""How much of the spread of scores is luck, and what that leaves of a lead (book chapter 14).

Errors make fitted scores spread more widely than the true ones, so whoever leads does so partly by
luck. Let n true scores be normal with variance tau^2 and the fitted ones have an error of variance
e^2 each; r = tau^2 / (e^2 + tau^2) is the share of the spread that is no error. From the spread q =
sum (s - mean s)^2 / e^2, where e^2 is an estimate with nu degrees of freedom, u = 1 - r has the
density

    w(u) ~ u^((n - 2) / 2) (nu + u q)^(-(n - 1 + nu) / 2),    0 < u < 1,

if beforehand log e is flat and e, as a share of the standard deviation of the fitted scores, is as
likely to be anywhere between 0 and 1 (that share is the root of u). Given u, the true scores lie
round r s with r times the covariance of the errors, the latter (nu + u q) / (nu + n - 1) times as
large as estimated: Student's law, with nu + n - 1 degrees of freedom. One value of u, such as James
and Stein's (n - 3) / q, would say that every order is as likely as not where it comes out at 1, and
be too sure where it comes out low by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import stdtr

from poe.arrays import Floats

__all__ = ["Luck", "luck", "spread"]

NODES = 48  # of Gauss and Legendre; twice as many move no probability by 1e-9
FAINT = 30.0  # where log w lies so far below its largest, nothing is left
OFFSETS = np.geomspace(1e-5, 300.0, 400)  # from where w is largest, in log u
LOOSE = 10.0  # of the median variance: a score that hardly anything holds


@dataclass(frozen=True, eq=False)
class Luck:
    """What is known of the share r, as a mixture of R values.

    share : (R,) the values, in [0, 1]. weight : (R,) their probabilities, sum 1. scale : (R,) what
    standard errors are to be multiplied by. freedom : degrees of freedom of Student's law.
    """

    share: Floats
    weight: Floats
    scale: Floats
    freedom: float

    @classmethod
    def none(cls, freedom: float) -> Luck:
        """Scores that are shrunk already, or have no error: r is 1."""
        one = np.ones(1)
        return cls(one, one, one, freedom)

    @property
    def mean(self) -> float:
        """Mean of r: the scale separation reliability of comparative judgement."""
        return float(self.weight @ self.share)

    def better(self, z: Floats | float) -> Floats:
        """Probability that the lead is real, of leads z (...) in estimated standard errors."""
        leads = np.asarray(z)[..., None] * (np.sqrt(self.share) / self.scale)
        return np.asarray(0.5 + (stdtr(self.freedom, leads) - 0.5) @ self.weight)  # no lead: 1/2

    def draw(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(draws,) values of r, in order, and what normal errors are to be multiplied by."""
        part = np.searchsorted(np.cumsum(self.weight)[:-1], (np.arange(draws) + 0.5) / draws)
        scale = self.scale[part]
        if np.isfinite(self.freedom):
            scale = scale / np.sqrt(rng.chisquare(self.freedom, draws) / self.freedom)
        return self.share[part], scale


def luck(q: float, n: int, freedom: float = np.inf) -> Luck:
    """Tell what n scores of a spread q know of the share r (`poe.luck`, the module, has the law).

    q : sum (s - mean s)^2 over the mean squared error of a score, see `spread`. freedom : with
    which that error was estimated, infinite where it is known.
    """
    if not np.isfinite(q):
        return Luck.none(freedom)
    known = not np.isfinite(freedom)

    def log_w(v: Floats) -> Floats:  # of v = log u, concave
        uq = q * np.exp(v)
        tail = uq if known else (n - 1.0 + freedom) * np.log1p(uq / freedom)
        return 0.5 * (n * v - tail)

    # Where the slope is zero, or u = 1.
    at = n * (1.0 if known else freedom / max(freedom - 1.0, 1e-12)) / max(q, 1e-300)
    mode = min(np.log(at), 0.0)
    top = log_w(np.array([mode]))
    down, up = (
        OFFSETS[np.argmax(np.append((top - log_w(mode + sign * OFFSETS) > FAINT)[:-1], True))]
        for sign in (-1.0, 1.0)
    )
    # In u = sin^2 t, r = cos^2 t all is smooth up to both ends.
    low, high = np.arcsin(np.exp(0.5 * np.array([mode - down, min(mode + up, 0.0)])))
    nodes, weight = _gauss()
    t = low + 0.5 * (nodes + 1.0) * (high - low)
    u = np.sin(t) ** 2
    weight = weight * np.exp(log_w(np.log(u)) - top) / np.tan(t)
    scale = np.ones_like(u) if known else np.sqrt((freedom + u * q) / (freedom + n - 1.0))
    return Luck(1.0 - u, weight / weight.sum(), scale, freedom + n - 1.0)


@cache
def _gauss() -> tuple[Floats, Floats]:
    nodes, weight = np.polynomial.legendre.leggauss(NODES)
    return nodes, weight


def spread(scores: Floats, covariance: Floats) -> tuple[float, int]:
    """Spread q of scores (N,) over their mean squared error, and of how many it is.

    covariance : (N, N). Left out are scores that hardly anything holds, as of a text that won all
    but for certain: their errors would be taken for everybody's.
    """
    held = np.arange(len(scores))
    while True:
        some = covariance[np.ix_(held, held)]
        mean = some.mean(axis=0)
        variance = np.diag(some) - 2.0 * mean + mean.mean()  # about the mean of these
        loose = variance > LOOSE * np.median(variance)
        if len(held) - loose.sum() < 2 or not loose.any():
            break
        held = held[~loose]
    error, centred = float(variance.sum()) / (len(held) - 1), scores[held] - scores[held].mean()
    return (float(centred @ centred) / error if error > 0.0 else np.inf), len(held)
