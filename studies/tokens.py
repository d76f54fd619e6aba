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

from poe.arrays import Indices
from poe.choose.designs import regular

__all__ = ["Spending", "Tokens", "by_tokens", "few_first", "spread"]

LARGEST = 100  # items that stand for more, at as many calls each
DRAWN = 500  # items in all the designs averaged over


class Tokens(NamedTuple):
    """Of a prompt: what all prompts begin with, the text shown first, the second and the rest."""

    shared: float
    first: float
    second: float

    def computed(self, firsts: float, calls: float) -> float:
        """Of so many calls with so many different texts first, each beginning read once."""
        return self.shared + firsts * self.first + calls * self.second


class Spending(NamedTuple):
    """One way to spend tokens: so many items shown first, in so many calls.

    orders : "one" of each pair, or "both". variance : predicted, of a difference of scores, mean
    over all, per variance of an answer.
    """

    orders: Literal["one", "both"]
    firsts: int
    calls: int
    tokens: float
    variance: float


def by_tokens(
    n_items: int,
    budget: float,
    tokens: Tokens,
    *,
    c: float = 0.0,
    lean: float = 0.0,
    bias_known: bool = False,
    seed: int = 0,
) -> list[Spending]:
    """What a budget of computed tokens buys, the least variance first.

    Candidates: a regular graph, in one order or in both, and one order with few items shown first
    (`few_first`), of which one alone makes a star.
    c : correlation of the errors of a pair's two orders (`poe.choose.orders.correlation`). lean :
        the share of an answer's variance that is its two texts' own position bias, which goes in
        both orders. bias_known : the bias of all pairs, from other contexts; else it is fitted, and
        a star cannot tell it from its centre.

    Scores by least squares. Variances are means over random designs, of a hundred items at most.
    Raises ValueError where the budget does not link all items in any of these ways.
    """
    n, rng, spendings = min(n_items, LARGEST), np.random.default_rng(seed), list[Spending]()
    scale = n / n_items
    part = tokens._replace(shared=tokens.shared * scale)
    ladder = {min(n, round(1.5**k)) for k in range(13)} | {n // 2, n}
    ways: list[tuple[Literal["one", "both"], int]] = [("one", h) for h in sorted(ladder)]
    for orders, firsts in [*ways, ("both", n)]:
        each = 1 + (orders == "both")
        most = firsts * (n - 1) - firsts * (firsts - 1) // 2
        left = budget * scale - part.computed(firsts, 0)
        pairs = int(min(left // (each * part.second), most))
        if pairs < n - 1:
            continue
        variance = []
        for _ in range(max(DRAWN // n, 4)):
            design = (
                regular(n, pairs, seed=rng)
                if firsts == n
                else few_first(n, pairs, firsts, seed=rng)
            )
            variance.append(
                spread(n, design, lean=lean, bias_known=bias_known)
                if orders == "one"
                else 0.5 * (1.0 + c) * spread(n, design, bias_known=True)
            )
        finite = np.array(variance)[np.isfinite(variance)]
        if 2 * len(finite) > len(variance):
            calls = each * pairs
            spendings.append(
                Spending(
                    orders,
                    round(firsts / scale),
                    round(calls / scale),
                    part.computed(firsts, calls) / scale,
                    float(finite.mean()),
                )
            )
    if not spendings:
        raise ValueError(f"{budget:g} tokens do not link {n_items} items in any order")
    return sorted(spendings, key=lambda one: one.variance)


def few_first(
    n_items: int, count: int, firsts: int, *, seed: int | np.random.Generator = 0
) -> Indices:
    """Pairs whose first is one of `firsts` items, drawn by lot; (count, 2), no pair twice.

    Prompts with the same first item have a longer beginning in common, so these cost fewer tokens
    (`by_tokens`). Firsts are shown equally often, before whoever is not linked
    to them yet and was compared least; all are linked from N - 1 pairs on. One first makes a star.
    ValueError where there are not so many such pairs.
    """
    most = firsts * (n_items - 1) - firsts * (firsts - 1) // 2
    if not (1 <= firsts <= n_items and 0 <= count <= most):
        raise ValueError(f"{firsts} of {n_items} items shown first make {most} pairs, not {count}")
    rng, pairs = np.random.default_rng(seed), []
    hubs, every = rng.permutation(n_items)[:firsts].tolist(), range(n_items)
    met, group = [{k} for k in every], list(every)
    shown, degree = [0] * n_items, [0] * n_items
    for _ in range(count):  # few numbers at a time, for which lists are faster than arrays
        left = [a for a in hubs if len(met[a]) < n_items]
        lots = rng.random(len(left)).tolist()
        *_, a = min(zip([shown[a] for a in left], lots, left, strict=True))
        new = [b for b in every if b not in met[a]]
        lots = rng.random(len(new)).tolist()
        rank = [(group[b] == group[a], degree[b]) for b in new]
        *_, b = min(zip(rank, lots, new, strict=True))
        pairs.append((a, b))
        met[a].add(b)
        met[b].add(a)
        if (one := group[a]) != (other := group[b]):
            group = [one if g == other else g for g in group]
        shown[a] += 1
        degree[a] += 1
        degree[b] += 1
    return np.array(pairs, dtype=np.intp).reshape(count, 2)


def spread(n_items: int, pairs: Indices, *, lean: float = 0.0, bias_known: bool = False) -> float:
    """Mean variance of a difference of least-squares scores, per variance of an answer; (K, 2).

    Opinions s_i - s_j + t_i + t_j plus noise, lean : of their variance, that of t_i + t_j. Infinite
    where the pairs do not link all items, or do not tell a bias that is fitted.
    """
    rows, k = np.arange(len(pairs)), len(pairs)
    apart = np.zeros((k, n_items))
    apart[rows, pairs[:, 0]], apart[rows, pairs[:, 1]] = 1.0, -1.0
    together = np.abs(apart)
    design = apart if bias_known else apart - apart.mean(axis=0)
    value, vector = np.linalg.eigh(design.T @ design)
    if value[1] < 1e-9 * value[-1]:
        return np.inf
    inverse = vector[:, 1:] / value[1:] @ (vector[:, 1:].T @ design.T)
    total = (1.0 - lean) * (inverse**2).sum() + 0.5 * lean * ((inverse @ together) ** 2).sum()
    return float(2.0 * total / (n_items - 1))
