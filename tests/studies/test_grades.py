"""Grades and comparisons in one product."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from poe.stack import Stack
from studies.grades import GRID, chosen, fitted, product


def problems(seed, contexts=3, n=5, count=7, tau=0.8, strength=2.0, sigma=0.5):
    """Comparisons, their opinions and grades of scores s ~ N(tau m, sigma^2 / strength)."""
    rng = np.random.default_rng(seed)
    m = rng.standard_normal((contexts, n))
    m -= m.mean(axis=-1, keepdims=True)
    s = tau * m + sigma / np.sqrt(strength) * rng.standard_normal((contexts, n))
    pairs = np.array([[rng.permutation(n)[:2] for _ in range(count)] for _ in range(contexts)])
    rows = np.arange(contexts)[:, None]
    gap = s[rows, pairs[..., 0]] - s[rows, pairs[..., 1]]
    y = gap + sigma * rng.standard_normal(gap.shape)
    return Stack.of(n, pairs, np.full(gap.shape, 0.5)), y, m


def test_the_mode_minimises_the_sum_of_squares():
    stack, y, m = problems(0)
    found = product(stack, y, m, np.full(3, 0.7), np.full(3, 1.3))
    for first, second, each, marks, ours in zip(
        stack.first, stack.second, y, m, found, strict=True
    ):

        def squares(s, first=first, second=second, each=each, marks=marks):
            return ((each - s[first] + s[second]) ** 2).sum() + 0.7 * ((s - 1.3 * marks) ** 2).sum()

        np.testing.assert_allclose(ours, minimize(squares, np.zeros(5)).x, atol=1e-4)


def test_the_fit_has_the_largest_likelihood_of_the_grid():
    stack, y, m = problems(1)
    strength, tau = fitted(stack, y, m)

    def likelihood(strength, tau):
        total = 0.0
        covariances, gaps = [], []
        for first, second, each, marks in zip(stack.first, stack.second, y, m, strict=True):
            w = np.eye(5)[first] - np.eye(5)[second]
            covariances.append(np.eye(len(each)) + w @ w.T / strength)
            gaps.append(each - tau * w @ marks)
        size = sum(map(len, gaps))
        left = sum(g @ np.linalg.solve(c, g) for g, c in zip(gaps, covariances, strict=True)) / size
        for g, c in zip(gaps, covariances, strict=True):
            total += multivariate_normal(cov=left * c).logpdf(g)
        return total

    best = likelihood(strength, tau)
    assert all(best >= likelihood(x, tau * t) - 1e-9 for x in GRID for t in (0.8, 1.0, 1.2))


def test_of_many_contexts_it_finds_what_made_them():
    stack, y, m = problems(2, contexts=400, count=12)
    strength, tau = fitted(stack, y, m)
    assert strength == pytest.approx(2.0, rel=0.5)
    assert tau == pytest.approx(0.8, abs=0.05)


def test_labels_choose_the_way_that_is_best_and_are_not_scored():
    better = np.tile(np.linspace(0.1, 0.9, 9), (4, 1))
    found = {"grades": better - 0.3, "comparisons": better, "fixed": better - 0.1}
    made = chosen(found, 3, 0)
    assert (np.isnan(made).sum(axis=-1) == 3).all()
    kept = ~np.isnan(made)
    np.testing.assert_array_equal(made[kept], better[kept])
