"""Scores at equal lengths, by the published model of alpaca_eval's length-controlled win rates.

Dubois, Galambosi, Liang and Hashimoto (Length-Controlled AlpacaEval, arXiv 2404.04475) describe the
probability that system m is preferred to the baseline b on instruction x as

    logit P = theta_m - theta_b + phi_m tanh(Delta / sd(Delta)) + (psi_m - psi_b) delta_x,

Delta the difference of the two answers' lengths and delta_x the difficulty of the instruction, and
predict for Delta = 0. Theirs is fitted with an L1 penalty chosen by cross-validation, with
difficulties that are known from elsewhere, and with answers of a baseline that was told to be long
or short, of a weight of 0.2, which hold phi_m where a system has few answers as long as the
baseline's. Here those two inputs are not at hand, and what stands for them is said:

  phi      is one coefficient for all systems. What a system alone would show of it is mixed up with
           its quality where its answers are always shorter; others then say what length is worth.
  shrunk   phi has the prior N(0, tau^2), tau^2 = max(estimate^2 - se^2, 0): an effect that the
           answers do not show is none, and a system is never moved by more than they show.
  delta_x  is estimated from the other systems' answers to x, with a ridge; psi_m has the prior
           N(1, 1). Only against a reference, where there is such a thing as a hard
           instruction, and only with three systems and more.

Since phi is at most what the judge adds for length, an answer that is cut gets back what it lost
and no more, and one that is padded keeps what the shrinkage left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from judging.practice.board.clusters import Clustered, Effect, clustered
from judging.practice.board.errors import cluster_of
from judging.practice.ranking.settings import Errors
from judging.practice.reading.forms import Columns
from poe.arrays import Floats, Indices
from poe.result import Fit

__all__ = ["METHOD", "Against", "against", "controlled", "few_near", "relative"]

METHOD = (
    "length control by the generalised linear model of alpaca_eval (Dubois and others 2024): tanh "
    "of the difference in length over its standard deviation"
)
FIRST = 1.0  # the prior's sd of phi before its size is known, in logits: it keeps phi finite
NEAR = 0.1  # lengths that differ by at most so much of their sum are near equal
FEW = 10  # comparisons at near equal lengths below which a score there is an extrapolation
FEW_SYSTEMS = 3  # with fewer, an instruction's difficulty is one answer's luck
RIDGE = 1.0  # the prior precision of a difficulty and of a system's share in it
# That of a system's own level: next to none, but one that won everything stays finite.
FREE, FREE_ALONE = 1e-6, 1e-3
# A curvature of less (an answer 99.9% sure) would make a step too long to come back from; the
# optimum does not depend on it, since the slope there is zero all the same.
STIFF = 1e-3
STEPS = 200  # of at most one logit each, from which any score that an answer can mean is reached


def relative(lengths: Floats) -> Floats:
    """(K,) tanh of the difference first minus second over its root mean square; 0 where equal."""
    apart = lengths[:, 0] - lengths[:, 1]
    spread = float(np.sqrt((apart**2).mean()))
    return np.tanh(apart / spread) if spread > 0.0 else apart


def controlled(fitted: Fit, columns: Columns, kind: Errors) -> Clustered | None:
    """The scores at equal lengths; None where no length is known or all are equal.

    Its `covariate` is phi with its standard error; 0 where the answers do not show any effect, and
    the scores are then those without lengths.
    """
    if columns.lengths is None or not (x := relative(columns.lengths)).any():
        return None
    cluster = cluster_of(columns, kind)
    first = clustered(fitted, cluster, x, ridge=FIRST**-2)
    assert first.covariate is not None
    size, se = first.covariate
    if (size / se) ** 2 <= 1.0:
        without = clustered(fitted, cluster)
        return replace(without, covariate=Effect(0.0, se))
    return clustered(fitted, cluster, x, ridge=1.0 / (size**2 - se**2))


def few_near(columns: Columns, items: tuple[Any, ...]) -> dict[Any, int]:
    """Systems with few answers near the other's length: how many they have."""
    if columns.lengths is None:
        return {}
    total = columns.lengths.sum(axis=1)
    near = np.abs(columns.lengths[:, 0] - columns.lengths[:, 1]) <= NEAR * total
    count = dict.fromkeys(items, 0)
    for one, other in zip(
        (columns.first[k] for k in np.flatnonzero(near)),
        (columns.second[k] for k in np.flatnonzero(near)),
        strict=True,
    ):
        count[one] += 1
        count[other] += 1
    return {name: times for name, times in count.items() if times < FEW}


# Against a reference --------------------------------------------------------------------------


class Against(NamedTuple):
    """One system against the reference: the mean of its wins over their answers, ties half.

    se : standard deviation over the root of the number, clustered where answers share a prompt.
    lc_win_rate, lc_se : what it would be at equal lengths, None without control.
    """

    name: Any
    win_rate: float
    se: float
    comparisons: int
    lc_win_rate: float | None = None
    lc_se: float | None = None


def against(
    columns: Columns, reference: Any, kind: Errors, phi: Effect | None = None
) -> list[Against]:
    """Every system that met the reference, best first; phi : the effect of length, or None."""
    first, second = np.array(columns.first, dtype=object), np.array(columns.second, dtype=object)
    met = (first == reference) | (second == reference)
    some = columns.take(met)
    won = np.where(first[met] == reference, 1.0 - some.p, some.p)
    who = np.where(first[met] == reference, second[met], first[met])
    names = list(dict.fromkeys(who.tolist()))
    system = np.array([names.index(one) for one in who.tolist()], dtype=np.intp)
    weight = np.ones(len(won)) if some.weight is None else some.weight
    cluster = cluster_of(some, kind if kind == "prompt" else "vote")
    tilt = None
    if phi is not None and some.lengths is not None and columns.lengths is not None:
        sign = np.where(first[met] == reference, -1.0, 1.0)
        spread = np.sqrt(((columns.lengths[:, 0] - columns.lengths[:, 1]) ** 2).mean())
        tilt = phi.size * np.tanh(sign * (some.lengths[:, 0] - some.lengths[:, 1]) / spread)
    rows = []
    for s, name in enumerate(names):
        own = system == s
        rate, se = _mean(won[own], weight[own], cluster[own])
        row = Against(name, rate, se, int(own.sum()))
        if tilt is not None:
            hard = _difficulty(won, weight, system, cluster, tilt, s)
            lc, lc_se = _at_equal(won[own], weight[own], tilt[own], hard[own], cluster[own])
            row = row._replace(lc_win_rate=lc, lc_se=lc_se)
        rows.append(row)
    return sorted(rows, key=lambda row: -row.win_rate)


def _mean(values: Floats, weight: Floats, cluster: Indices) -> tuple[float, float]:
    """A weighted mean and its standard error over clusters."""
    mean = float(np.average(values, weights=weight))
    return mean, _root(weight * (values - mean) / weight.sum(), cluster)


def _root(influence: Floats, cluster: Indices) -> float:
    """Standard error of a sum of influences that err together within a cluster."""
    _, group = np.unique(cluster, return_inverse=True)
    sums = np.bincount(group, influence)
    if len(sums) < 2:
        return float("nan")
    return float(np.sqrt(len(sums) / (len(sums) - 1.0) * (sums**2).sum()))


def _difficulty(
    won: Floats, weight: Floats, system: Indices, cluster: Indices, tilt: Floats, without: int
) -> Floats:
    """(K,) delta_x of each answer's prompt: logit P = theta_m + tilt + delta_x, with a ridge.

    By the answers of all systems but one, for which it then is news from elsewhere: its own answers
    would explain themselves, and 2 points of what length is worth would stay with a system that
    pads. By turns: with the difficulties fixed each theta is one Newton step, and the other way
    round; the energy is convex, so the turns end at its optimum. 0 for fewer systems than can tell.
    """
    _, prompt = np.unique(cluster, return_inverse=True)
    theta, delta = np.zeros(system.max() + 1), np.zeros(prompt.max() + 1)
    if len(theta) < FEW_SYSTEMS or len(delta) == len(won):
        return np.zeros(len(won))
    weight = np.where(system == without, 0.0, weight)
    for _ in range(STEPS):
        before = np.append(theta, delta)
        for at, which, ridge in ((theta, system, FREE), (delta, prompt, RIDGE)):
            q = expit(theta[system] + tilt + delta[prompt])
            pull = np.bincount(which, weight * (won - q), len(at)) - ridge * at
            stiff = np.bincount(which, weight * np.maximum(q * (1.0 - q), STIFF), len(at)) + ridge
            at += np.clip(pull / stiff, -1.0, 1.0)
        if np.abs(np.append(theta, delta) - before).max() < 1e-8:
            break
    return np.asarray(delta[prompt])


def _at_equal(
    won: Floats, weight: Floats, tilt: Floats, hard: Floats, cluster: Indices
) -> tuple[float, float]:
    """Mean over prompts of sigma(theta + psi delta), and its error by the influence of prompts."""
    x = np.column_stack([np.ones(len(won)), hard])
    at, prior = np.array([0.0, 1.0]), np.array([FREE_ALONE, RIDGE])
    for _ in range(STEPS):
        q = expit(x @ at + tilt)
        pull = x.T @ (weight * (won - q)) - prior * (at - np.array([0.0, 1.0]))
        a = (x * (weight * q * (1.0 - q))[:, None]).T @ x + np.diag(prior)
        step = np.linalg.solve(a, pull)
        at = at + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    equal, share = expit(x @ at), weight / weight.sum()
    mean = float(share @ equal)
    slope = (share * equal * (1.0 - equal)) @ x
    bent = (x * (weight * (won - expit(x @ at + tilt)))[:, None]) @ np.linalg.solve(a, slope)
    return mean, _root(bent + share * (equal - mean), cluster)
