"""Asking one pair at a time, in many sets of texts at once, by any rule of choice.

`poe.next_comparisons` chooses for one set; here thousands are chosen for together, both orders of a
pair always asked and taken as one answer.
"""

from __future__ import annotations

import numpy as np

from poe import newton
from poe.arrays import Floats
from poe.choose.greedy import best_pair
from poe.experts import BradleyTerry
from poe.resistance import difference_variances
from poe.stack import Stack, differences, laplacian, pseudo_inverse

RULES = ("random", "determinant", "laplace", "reordering")
NONE = 1e-12  # a squared difference below it is none


def scores_after(p: Floats, rule: str, rng: np.random.Generator, *, most: int) -> dict[int, Floats]:
    """Scores (S, N) of S sets of texts after so many calls, from the chain to `most` calls.

    p : (S, N, N), both orders as one.
    """
    sets, n, _ = p.shape
    rows = np.arange(sets)
    order = rng.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
    pairs = np.stack([order[:, :-1], order[:, 1:]], axis=-1)
    asked = np.tile(np.eye(n, dtype=bool), (sets, 1, 1))
    asked[rows[:, None], order[:, :-1], order[:, 1:]] = True
    asked |= np.swapaxes(asked, -1, -2)
    by_calls: dict[int, Floats] = {}
    scores: Floats = np.zeros((sets, n))
    while True:
        stack = Stack.of(n, pairs, p[rows[:, None], pairs[..., 0], pairs[..., 1]])
        # From the scores before, which one pair more hardly moves.
        scores = newton.solve(stack, BradleyTerry(), tol=1e-8, start=scores).scores
        by_calls[2 * pairs.shape[1]] = scores
        if 2 * pairs.shape[1] >= most:
            return by_calls
        i, j = best_pair(_gain(rule, stack, scores), ~asked, rng)
        asked[rows, i, j] = asked[rows, j, i] = True
        pairs = np.concatenate([pairs, np.stack([i, j], axis=-1)[:, None]], axis=1)


def _gain(rule: str, stack: Stack, scores: Floats) -> Floats:
    """(S, N, N) what a rule makes as large as it can."""
    gap = scores[:, :, None] - scores[:, None, :]
    if rule == "random":
        return np.ones_like(gap)  # ties are broken by lot
    weight = stack.weight
    if rule != "determinant":
        weight = weight * BradleyTerry().curvature(differences(stack, scores), stack.p)
    resistance = difference_variances(pseudo_inverse(laplacian(stack, weight)))
    if rule == "laplace":
        return resistance / (2.0 + 2.0 * np.cosh(gap))  # sigma(gap) sigma(-gap)
    return resistance / np.maximum(gap**2, NONE) if rule == "reordering" else resistance
