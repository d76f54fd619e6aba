"""A bias of each text: which intervals cover, and which pairs are drawn."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t as student

from studies.hierarchical import Posterior
from studies.text_bias import covers, drawn

N = 6


def posterior(*scales, weight=(1.0,), freedom=7.0):
    """Parts whose scores are independent, all of one scale; no item is ahead."""
    parts = len(scales)
    return Posterior(
        items=tuple(range(N)),
        weight=np.array(weight),
        ratio=np.ones(parts),
        freedom=freedom,
        centre=np.zeros((parts, N)),
        basis=np.eye(N)[None],
        which=np.zeros(parts, dtype=int),
        size=np.outer(scales, np.ones(N)),
        share=np.zeros(parts),
        biases=np.zeros(N),
        evidence=0.0,
    )


def off_by(distance):
    """Item 0 is so far off: in two of the six differences, of items two apart."""
    target = np.zeros(N)
    target[0] = distance
    return target


def test_an_interval_of_known_width_covers_what_is_inside():
    edge = student.ppf(0.975, 7.0) * 0.3 * np.sqrt(2.0)
    mixture = posterior(0.3)
    assert covers(mixture, off_by(0.999 * edge)) == 1.0
    assert covers(mixture, off_by(1.001 * edge)) == pytest.approx(4 / 6)
    assert covers(mixture, off_by(-1.001 * edge)) == pytest.approx(4 / 6)


def test_the_interval_of_a_mixture_is_of_its_own_distribution():
    weight, scales = (0.3, 0.7), (0.2, 1.0)

    def above(x):
        each = [student.cdf(x / (s * np.sqrt(2.0)), 7.0) for s in scales]
        return np.dot(weight, each) - 0.975

    edge = brentq(above, 0.0, 20.0)
    mixture = posterior(*scales, weight=weight)
    assert covers(mixture, off_by(0.999 * edge)) == 1.0
    assert covers(mixture, off_by(1.001 * edge)) == pytest.approx(4 / 6)


def test_targets_that_are_drawn_from_it_are_covered_as_often_as_it_says():
    rng, mixture = np.random.default_rng(0), posterior(0.5, freedom=5.0)
    scale = 0.5 * np.sqrt(5.0 / rng.chisquare(5.0, size=4000))
    found = [covers(mixture, s * rng.standard_normal(N)) for s in scale]
    assert np.mean(found) == pytest.approx(0.95, abs=0.01)


def test_pairs_are_drawn_once_or_half_of_the_calls_in_both_orders():
    rng = np.random.default_rng(1)
    for pairs in drawn(20, 6, 12, "one order", rng):
        assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs) == 12
    for pairs in drawn(20, 6, 12, "mixed", rng):
        rows = [tuple(pair) for pair in pairs.tolist()]
        assert len({*rows}) == 12
        assert sum((b, a) in rows for a, b in rows) == 6
