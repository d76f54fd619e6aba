"""What a budget of computed tokens buys: one order or both, and how many texts shown first.

Judges that read what prompts have in common once compute K calls with

    a + F b + K c

tokens (book, chapter 11): a of what all prompts begin with, b of a text shown first, of which there
are F, and c of the second text and the rest. So calls that show few texts first are cheaper, by at
most a factor of (b + c) / c. They know less: the texts shown first are known better than they need
be, and a position bias of a text that always has the same place never averages out. With many calls
of a regular graph they pay below 2 b / c calls a text, and not above.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poe.arrays import Floats, Indices, Mask

__all__ = ["Spending", "Tokens", "bias_told", "few_first", "spread"]

SINGULAR = 1e-9  # an eigenvalue below this share of the largest is none


class Tokens(NamedTuple):
    """Tokens of a prompt: what all begin with, the text shown first, the second and the rest."""

    shared: float
    first: float
    second: float

    def computed(self, firsts: float, calls: float) -> float:
        """Tokens computed in `calls` calls with `firsts` first texts, each beginning read once."""
        return self.shared + firsts * self.first + calls * self.second


class Spending(NamedTuple):
    """One way to spend tokens: so many items shown first, in so many calls.

    orders : "one" of each pair, or "both".
    """

    orders: Literal["one", "both"]
    firsts: int
    calls: int
    tokens: float


def few_first(
    sets: int, n_items: int, count: int, firsts: int, *, seed: int | np.random.Generator = 0
) -> Indices:
    """Pairs whose first is one of `firsts` items, drawn by lot; (sets, count, 2), no pair twice.

    Prompts with the same first item have a longer beginning in common, so these cost fewer tokens.
    Firsts are shown equally often, before whoever is not linked
    to them yet and was compared least; all are linked from N - 1 pairs on. One first makes a star.
    ValueError where there are not so many such pairs.
    """
    most = firsts * (n_items - 1) - firsts * (firsts - 1) // 2
    if not (1 <= firsts <= n_items and 0 <= count <= most):
        raise ValueError(f"{firsts} of {n_items} items shown first make {most} pairs, not {count}")
    rng, rows, every = np.random.default_rng(seed), np.arange(sets), np.arange(n_items)
    group = np.tile(every, (sets, 1))
    hubs = rng.permuted(group, axis=1)[:, :firsts]
    shown, degree = np.zeros(hubs.shape), np.zeros(group.shape)
    met = np.tile(np.eye(n_items, dtype=bool), (sets, 1, 1))
    pairs = np.empty((sets, count, 2), dtype=np.intp)
    for k in range(count):  # lots are below one, so that they part equal numbers
        over = degree[rows[:, None], hubs] == n_items - 1
        turn = (shown + rng.random(shown.shape) + np.where(over, np.inf, 0.0)).argmin(axis=1)
        a = hubs[rows, turn]
        own = group[rows, a]
        last = np.where(group == own[:, None], 2.0 * n_items, 0.0)
        b = np.where(met[rows, a], np.inf, degree + rng.random(degree.shape) + last).argmin(axis=1)
        pairs[:, k, 0], pairs[:, k, 1] = a, b
        met[rows, a, b] = met[rows, b, a] = True
        group = np.where(group == group[rows, b][:, None], own[:, None], group)
        shown[rows, turn] += 1.0
        degree[rows, a] += 1.0
        degree[rows, b] += 1.0
    return pairs


def spread(n_items: int, pairs: Indices, *, lean: float = 0.0, bias_known: bool = False) -> float:
    """Mean variance of a difference of least-squares scores, per variance of an answer; (K, 2).

    Opinions s_i - s_j + t_i + t_j plus noise, lean : of their variance, that of t_i + t_j. Infinite
    where the pairs do not link all items, or do not tell a bias that is fitted.
    """
    apart = _apart(n_items, pairs)
    together = np.abs(apart)
    design = apart if bias_known else apart - apart.mean(axis=0)
    value, vector = np.linalg.eigh(design.T @ design)
    if value[1] < SINGULAR * value[-1]:
        return np.inf
    inverse = vector[:, 1:] / value[1:] @ (vector[:, 1:].T @ design.T)
    total = (1.0 - lean) * (inverse**2).sum() + 0.5 * lean * ((inverse @ together) ** 2).sum()
    return float(2.0 * total / (n_items - 1))


def bias_told(n_items: int, pairs: Indices) -> Mask:
    """Whether each of C designs (C, K, 2) links all items and tells a bias that is fitted, (C,)."""
    apart = _apart(n_items, pairs)
    design = apart - apart.mean(axis=1, keepdims=True)
    value = np.linalg.eigvalsh(np.swapaxes(design, 1, 2) @ design)
    return np.asarray(value[:, 1] >= SINGULAR * value[:, -1])


def _apart(n_items: int, pairs: Indices) -> Floats:
    """(..., K, N) 1 at the first item of each pair and -1 at the second."""
    one = np.eye(n_items)
    return np.asarray(one[pairs[..., 0]] - one[pairs[..., 1]])
