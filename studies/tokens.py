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
    n_items: int, count: int, firsts: int, *, seed: int | np.random.Generator = 0
) -> Indices:
    """Pairs whose first is one of `firsts` items, drawn by lot; (count, 2), no pair twice.

    Prompts with the same first item have a longer beginning in common, so these cost fewer tokens.
    Firsts are shown equally often, before whoever is not linked
    to them yet and was compared least; all are linked from N - 1 pairs on. One first makes a star.
    ValueError where there are not so many such pairs.
    """
    most = firsts * (n_items - 1) - firsts * (firsts - 1) // 2
    if not (1 <= firsts <= n_items and 0 <= count <= most):
        raise ValueError(f"{firsts} of {n_items} items shown first make {most} pairs, not {count}")
    rng, pairs = np.random.default_rng(seed), []
    hubs, every = rng.permutation(n_items)[:firsts].tolist(), range(n_items)
    unmet = [[b for b in every if b != a] for a in every]
    group, shown, degree = list(every), [0] * n_items, [0] * n_items
    for _ in range(count):  # few numbers at a time, for which lists are faster than arrays
        lots = rng.random(len(hubs)).tolist()  # below one, so that they part equal numbers
        turn = [shown[a] + lot for a, lot in zip(hubs, lots, strict=True)]
        a = hubs[turn.index(min(turn))]
        new, own, last = unmet[a], group[a], 2 * n_items
        lots = rng.random(len(new)).tolist()
        rank = [
            degree[b] + lot + (last if group[b] == own else 0)
            for b, lot in zip(new, lots, strict=True)
        ]
        b = new[rank.index(min(rank))]
        pairs.append((a, b))
        unmet[a].remove(b)
        unmet[b].remove(a)
        if not (unmet[a] and unmet[b]):
            hubs = [hub for hub in hubs if unmet[hub]]
        if (other := group[b]) != own:
            group = [own if g == other else g for g in group]
        shown[a] += 1
        degree[a] += 1
        degree[b] += 1
    return np.array(pairs, dtype=np.intp).reshape(count, 2)


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
