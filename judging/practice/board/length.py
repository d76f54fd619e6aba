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
  delta_x  is left out: an instruction is taken to be as hard for one system as for the other,
           psi_m = psi_b.

Since phi is at most what the judge adds for length, an answer that is cut gets back what it lost
and no more, and one that is padded keeps what the shrinkage left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

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
    """

    name: Any
    win_rate: float
    se: float
    comparisons: int


def against(columns: Columns, reference: Any, kind: Errors) -> list[Against]:
    """Every system that met the reference, best first."""
    first, second = np.array(columns.first, dtype=object), np.array(columns.second, dtype=object)
    met = (first == reference) | (second == reference)
    some = columns.take(met)
    won = np.where(first[met] == reference, 1.0 - some.p, some.p)
    who = np.where(first[met] == reference, second[met], first[met])
    names = list(dict.fromkeys(who.tolist()))
    system = np.array([names.index(one) for one in who.tolist()], dtype=np.intp)
    weight = np.ones(len(won)) if some.weight is None else some.weight
    cluster = cluster_of(some, kind if kind == "prompt" else "vote")
    rows = []
    for s, name in enumerate(names):
        own = system == s
        rate, se = _mean(won[own], weight[own], cluster[own])
        rows.append(Against(name, rate, se, int(own.sum())))
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
