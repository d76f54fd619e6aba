"""Whether a fitted bias is finite: lengths of ways against the linear program."""

import numpy as np

from poe import existence
from poe.comparisons import Comparisons
from poe.errors import ComparisonError, SeparableError


def finite(c, x):
    try:
        existence.require_finite(c, c.p < 1, c.p > 0, x=x)
    except SeparableError as error:
        return "with a fitted bias" not in str(error)
    return True


def test_ways_say_of_a_bias_what_the_linear_program_says(monkeypatch):
    rng, seen = np.random.default_rng(1), []
    for _ in range(300):
        n = int(rng.integers(3, 9))
        k = int(rng.integers(n, 4 * n))
        i = rng.integers(n, size=k)
        j = (i + 1 + rng.integers(n - 1, size=k)) % n
        s = rng.standard_normal(n) * rng.choice([0.3, 1.0, 4.0])
        p = (rng.random(k) < 1 / (1 + np.exp(s[j] - s[i] - rng.choice([0.0, 3.0])))).astype(float)
        p[rng.random(k) < rng.choice([0.0, 0.1])] = 0.5
        c = Comparisons.from_pairs(np.stack([i, j], axis=1), p, items=n)
        x = np.ones(k) if rng.random() < 0.7 else rng.standard_normal(k)
        try:
            c.require_connected()
        except ComparisonError:
            continue
        by_ways = finite(c, x)
        with monkeypatch.context() as patch:
            patch.setattr(existence, "FEW", 0)
            assert finite(c, x) == by_ways
        seen.append(by_ways)
    assert 20 < sum(seen) < 280, "both happen"
