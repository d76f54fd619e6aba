"""Simulated comparisons for the benchmarks, the same in every process."""

from __future__ import annotations

import numpy as np

import poe


def random_pairs(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, 2) ordered pairs: a ring through all items, so that they are linked, and any others.

    Repeats are possible, as they are where nobody keeps a list of what was asked.
    """
    ring = rng.permutation(n)
    first = np.concatenate([ring, rng.integers(n, size=count - n)])
    step = rng.integers(1, n, size=count - n)
    second = np.concatenate([np.roll(ring, 1), (first[n:] + step) % n])
    return np.column_stack([first, second])


def probabilities(
    n: int, pairs: np.ndarray, rng: np.random.Generator, *, bias: float = 0.3
) -> np.ndarray:
    """What a judge with noise and a preference for the first position would answer."""
    quality = rng.standard_normal(n)
    logits = quality[pairs[:, 0]] - quality[pairs[:, 1]] + bias
    logits += 0.5 * rng.standard_normal(len(pairs))
    return 1.0 / (1.0 + np.exp(-logits))


def large(n: int, per_item: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs and probabilities of n items, `per_item` comparisons for every item."""
    rng = np.random.default_rng([seed, n, per_item])
    pairs = random_pairs(n, per_item * n, rng)
    return pairs, probabilities(n, pairs, rng)


def context(calls: int, *, n: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One context of n items, both orders of calls / 2 pairs."""
    rng = np.random.default_rng([seed, n, calls])
    pairs = poe.select(n, calls, rule="symmetric", seed=rng)
    return pairs, probabilities(n, pairs, rng)
