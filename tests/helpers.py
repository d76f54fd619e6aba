"""Random problems shared by the tests."""

import numpy as np

import poe


def random_comparisons(seed, *, n=9, count=40, hard=False, names=None, spread=1.0):
    """A connected set of comparisons with probabilities from a noisy simulated judge."""
    rng = np.random.default_rng(seed)
    quality = spread * rng.standard_normal(n)
    judge = poe.judges.SimulatedJudge(quality, noise=0.8, bias=0.3, seed=rng)
    pairs = poe.select(n, count, seed=rng)
    c = judge.compare(pairs, items=names)
    return c.hard() if hard else c
