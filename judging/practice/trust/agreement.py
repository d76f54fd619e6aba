"""How often people order two texts as a judge does, and what its probabilities are worth to them.

Row r is a pair of texts i, j about which people said something: h_r in [0, 1] for i. Where people
scored the texts, every two of different score are a row. The judge has scores s, and from them a
probability q_r = P(i is better) without its preference for a place.

    agreement   A = mean_r [ h_r where s_i > s_j, 1 - h_r where s_i < s_j ]
    sharpness   P(people choose i) = sigma(b logit q_r),  b by maximum likelihood

b = 1 is a judge whose 90% are 90% among people, b < 1 one that is surer than people bear out.

Rows share texts, so they are not independent. With g_r a row's part in an estimate, the variance of
the sum of g is taken over all pairs of rows that share a text (Aronow, Samii and Assenova 2015),

    V = c sum_i (sum_{r with i} g_r)^2 - sum_{pairs of texts} (sum_{r of that pair} g_r)^2,

with the jackknife's c = m(m-1) / (m-2)^2 for m texts, or, where there are many contexts, over all
rows of a context. An interval of A is Wilson's, with as many rows as independent ones would have
this variance; no fewer than pairs without a text in common (Hoeffding 1963: they alone estimate A
no better), and Student's quantile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

from poe.arrays import Floats, Indices

__all__ = ["Agreement", "Rows", "Sharpness", "agreement", "sharpness"]

MIN_CLUSTER_CONTEXTS = 10  # contexts from which errors are clustered on them
CLIP = 1e-6  # of probabilities, whose logits are to be finite


@dataclass(frozen=True, eq=False)
class Rows:
    """What people said of pairs of texts.

    first, second : numbers of texts, no two of different contexts the same. gap : the judge's score
    of the first minus that of the second. q : its probability of the first. human : h. context :
    number of the context.
    """

    first: Indices
    second: Indices
    gap: Floats
    q: Floats
    human: Floats
    context: Indices

    def __len__(self) -> int:
        return len(self.human)

    @classmethod
    def together(cls, parts: Sequence[Rows]) -> Rows:
        """Those of several contexts."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))

    def take(self, kept: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))

    @property
    def texts(self) -> int:
        """How many texts there are."""
        return len(np.unique(np.concatenate([self.first, self.second])))

    @property
    def clusters(self) -> int:
        """How many independent pieces: contexts where there are many, else texts."""
        contexts = len(np.unique(self.context))
        return contexts if contexts >= MIN_CLUSTER_CONTEXTS else self.texts


class Agreement(NamedTuple):
    """How often people order two texts as a judge does.

    Attributes
    ----------
    rate
        Their share of the pairs, between 0 and 1; a tie of the judge is half of one.
    low, high
        Its interval.
    rows
        Pairs of texts that it rests on.
    worth
        How many independent pairs would tell as much.

    Examples
    --------
    >>> from judging.practice.trust import Agreement
    >>> Agreement(rate=0.75, low=0.6, high=0.86, rows=190, worth=40.0).rate
    0.75
    """

    rate: float
    low: float
    high: float
    rows: int
    worth: float


class Sharpness(NamedTuple):
    """What a judge's probabilities are worth to people, P(people choose i) = sigma(b logit q).

    Attributes
    ----------
    b
        What a logit of the judge is worth to them: 1 where its 90% are theirs, less where it is
        surer than they bear out.
    low, high
        Its interval.

    Examples
    --------
    >>> from judging.practice.trust import Sharpness
    >>> [round(p, 2) for p in Sharpness(b=0.5, low=0.25, high=0.75).worth(0.9)]
    [0.75, 0.63, 0.84]
    """

    b: float
    low: float
    high: float

    def worth(self, p: float) -> tuple[float, float, float]:
        """Compute what people bear out of a probability that the judge gave, and its interval."""
        at = float(logit(p))
        return tuple(float(expit(b * at)) for b in (self.b, self.low, self.high))  # type: ignore[return-value]


def agreement(rows: Rows, level: float) -> Agreement:
    """A of the module with its interval; needs two rows or more."""
    side = np.sign(rows.gap)
    hit = 0.5 + side * (rows.human - 0.5)
    n, rate = len(hit), float(hit.mean())
    alone = _disjoint(rows)
    spread = shared(rows, hit - rate) / n**2
    worth = rate * (1.0 - rate) / spread if spread > 0 else 0.0
    worth = float(np.clip(worth, alone, n))
    z = float(student.ppf(0.5 + level / 2.0, max(rows.clusters - 1, 1)))
    return Agreement(rate, *_wilson(rate, worth, z), n, worth)


def sharpness(rows: Rows, level: float) -> Sharpness | None:
    """B of the module with its interval; None where people and judge never differ, or always do."""
    x = logit(np.clip(rows.q, CLIP, 1.0 - CLIP))
    if np.abs(x).max(initial=0.0) < 1e-9:
        return None
    surely = np.isin(rows.human, (0.0, 1.0)) & (x != 0)
    if surely.all() and len(np.unique(np.sign(x) * (rows.human - 0.5))) == 1:
        return None  # no wrong answer bounds it
    b = 0.0
    for _ in range(100):
        p = expit(b * x)
        step = float((x @ (rows.human - p)) / max(float((x * x) @ (p * (1.0 - p))), 1e-12))
        b += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-10:
            break
        if abs(b) > 50.0:
            return None
    p = expit(b * x)
    bread = float((x * x) @ (p * (1.0 - p)))
    g = x * (rows.human - p)
    m = rows.clusters
    variance = max(shared(rows, g), float(g @ g)) / bread**2
    half = float(student.ppf(0.5 + level / 2.0, max(m - 1, 1)) * np.sqrt(variance))
    return Sharpness(b, b - half, b + half)


def shared(rows: Rows, g: Floats) -> float:
    """V of the module: the variance of the sum of g."""
    if len(np.unique(rows.context)) >= MIN_CLUSTER_CONTEXTS:
        _, at = np.unique(rows.context, return_inverse=True)
        return float((np.bincount(at, g) ** 2).sum())
    texts, at = np.unique(np.concatenate([rows.first, rows.second]), return_inverse=True)
    i, j = at[: len(g)], at[len(g) :]
    each = np.bincount(i, g, len(texts)) + np.bincount(j, g, len(texts))
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, pair = np.unique(low * len(texts) + high, return_inverse=True)
    m = max(len(texts), 3)
    few = m * (m - 1) / (m - 2) ** 2
    return float(few * (each**2).sum() - (np.bincount(pair, g) ** 2).sum())


def _disjoint(rows: Rows) -> int:
    """Rows no two of which share a text (or a context, where there are many), at least one."""
    if len(np.unique(rows.context)) >= MIN_CLUSTER_CONTEXTS:
        return len(np.unique(rows.context))
    seen: set[int] = set()
    count = 0
    for i, j in zip(rows.first.tolist(), rows.second.tolist(), strict=True):
        if i not in seen and j not in seen:
            seen |= {i, j}
            count += 1
    return max(count, 1)


def _wilson(rate: float, n: float, z: float) -> tuple[float, float]:
    middle = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z / (1.0 + z * z / n) * np.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n))
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)
