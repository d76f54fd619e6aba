"""Ranks under the posterior: hand cases, brute-force integration at N = 3, coverage."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import studentized_range

import poe
from poe.ranks import held_together
from tests.helpers import random_comparisons


def test_draws_have_the_stated_covariance():
    fit = poe.fit(random_comparisons(0), covariance="curvature")
    drawn = fit.sample(40_000, seed=1)
    np.testing.assert_allclose(drawn.mean(axis=1), 0, atol=1e-9)
    error = 5 * np.outer(fit.standard_errors(), fit.standard_errors()) / np.sqrt(20_000)
    assert (np.abs(np.cov(drawn.T) - fit.covariance()) < error).all()
    assert np.array_equal(fit.sample(5, seed=1), fit.sample(5, seed=1))


def test_ranks_by_hand(monkeypatch):
    """Four draws, whose ranks are 1 3 2, 3 2 1, 1 2 3 and 3 1 2."""
    drawn = np.array([[3.0, 1, 2], [1, 2, 3], [9, 8, 7], [0, 5, 1]])
    c = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.7, 0.8])
    fit = poe.fit(c)
    monkeypatch.setattr(poe.Fit, "sample", lambda *_, **__: drawn)
    monkeypatch.setattr(poe.Fit, "_truths", lambda *_: drawn)
    assert fit.ranking() == ["a", "b", "c"]
    assert fit.prob_top(1).tolist() == [0.5, 0.25, 0.25]
    assert [fit.prob_top_set(k) for k in (1, 2, 3)] == [0.5, 0.25, 1.0]
    assert fit.rank_interval(0.5).tolist() == [[1, 3], [1, 2], [1, 2]]


GRID = np.linspace(-6, 6, 601)
AB, BC = np.meshgrid(GRID, GRID, indexing="ij")  # a - b and b - c


@pytest.mark.parametrize(
    ("expert", "weight", "p", "wrong", "spread"),
    [
        (poe.Gaussian(sigma=0.8), 6.0, (0.7, 0.6, 0.75), 2e-4, 2e-4),  # exact, but for the grid
        (poe.BradleyTerry(), 6.0, (0.7, 0.6, 0.75), 0.03, 0.1),
        (poe.BradleyTerry(), 60.0, (0.55, 0.53, 0.57), 0.003, 0.01),  # better with evidence
    ],
)
def test_the_posterior_by_integration(expert, weight, p, wrong, spread):
    pairs = [[0, 1], [1, 2], [0, 2]]
    c = poe.Comparisons.from_pairs(pairs, p, items=list("abc"), weight=[weight] * 3)
    gaps = {("a", "b"): AB, ("b", "c"): BC, ("a", "c"): AB + BC}
    log = -sum(
        weight * expert.energy(d, np.full_like(d, q)) for d, q in zip(gaps.values(), p, strict=True)
    )
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    fit = poe.fit(c, expert, covariance="curvature")
    for (one, other), d in gaps.items():
        exact = mass[d > 1e-9].sum() + 0.5 * mass[np.abs(d) < 1e-9].sum()
        i, j = (fit.items.index(name) for name in (one, other))
        claim = ndtr((fit.scores[i] - fit.scores[j]) / fit.difference_se(one, other))
        assert claim == pytest.approx(exact, abs=wrong)
        assert 0.5 < fit.prob_better(one, other) < claim, "luck is allowed for"
        sd = np.sqrt((mass * d**2).sum() - (mass * d).sum() ** 2)
        assert fit.difference_se(one, other) == pytest.approx(sd, rel=spread)


def test_rank_statements_hold_at_their_rate():
    """Bernoulli decisions of a Bradley-Terry judge whose true scores come from the prior."""
    rng, told, true, inside = np.random.default_rng(2), [], [], []
    for _ in range(100):
        quality = rng.normal(0, 1.0, 10)
        pairs = np.repeat(poe.select(10, 90, rule="symmetric", seed=rng), 2, axis=0)
        won = rng.random(len(pairs)) < expit(quality[pairs[:, 0]] - quality[pairs[:, 1]])
        c = poe.Comparisons.from_pairs(pairs, won.astype(float), items=10)
        fit = poe.fit(c, prior=0.05)
        told.append(fit.prob_top(3, draws=500))
        place = np.argsort(np.argsort(-quality)) + 1
        true.append(place <= 3)
        low, high = fit.rank_interval(0.9, draws=500).T
        inside.append(((low <= place) & (place <= high)).mean())
    told, true = np.concatenate(told), np.concatenate(true)
    for low, high in ((0.05, 0.35), (0.35, 0.65), (0.65, 0.95)):
        chosen = (told > low) & (told <= high)
        error = np.sqrt(0.25 / chosen.sum())
        assert abs(told[chosen].mean() - true[chosen].mean()) < 4 * error
    # Central intervals of a discrete rank hold at least their level.
    assert np.mean(inside) > 0.9 - 4 * np.std(inside) / np.sqrt(len(inside))
    # Negative control: the same statements about shuffled items must be found out.
    chosen = told > 0.65
    shuffled = rng.permutation(true)[chosen].mean()
    assert abs(told[chosen].mean() - shuffled) > 4 * np.sqrt(0.25 / chosen.sum())


def round_robin(p, n, **options):
    pairs = np.argwhere(~np.eye(n, dtype=bool))
    return poe.fit(poe.Comparisons.from_pairs(pairs, p, items=n), poe.Gaussian(), **options)


@pytest.mark.parametrize(("n", "level"), [(3, 0.9), (6, 0.95)])
def test_ranks_that_hold_together_are_tukeys(n, level):
    """All errors are alike in a round robin, so the largest is the studentised range (SciPy's)."""
    rng = np.random.default_rng(n)
    fit = round_robin(rng.uniform(0.1, 0.9, n * (n - 1)), n, covariance="scatter")
    wide = studentized_range.ppf(level, n, fit.freedom) / np.sqrt(2.0) * fit.difference_se(0, 1)
    gap = 1.04 * wide  # the error of 40,000 draws is one per cent
    for apart, ranks in ((gap, [[1, 1], *[[2, n]] * (n - 1)]), (0.92 * gap, [[1, n]] * n)):
        scores = np.append(apart, np.zeros(n - 1))
        there = replace(fit, scores=scores - scores.mean())
        drawn = there._drawn(fit.covariance(), 40_000, 1)
        assert held_together(scores, fit.covariance(), drawn, level).tolist() == ranks


def test_ranks_that_hold_together_by_hand():
    """Standard errors 1, 2 and sqrt(5); ten draws, the largest of whose errors are 0.5 to 5."""
    covariance, noise = np.diag([0.0, 1.0, 4.0]), np.zeros((10, 3))
    noise[:5, 1] = [0.5, -1.0, 1.5, -2.0, 2.5]  # errors of the second alone
    noise[5:, 2] = [6.0, -7.0, 8.0, -9.0, 10.0]  # and of the third
    for scores, ranks in (  # the median is 2.75: to be known, gaps exceed 2.75, 5.5 and 6.149
        ([3.0, 0.0, -6.2], [[1, 1], [2, 2], [3, 3]]),
        ([2.7, 0.0, -6.1], [[1, 2], [1, 3], [2, 3]]),
        ([2.7, 0.0, -2.7], [[1, 3], [1, 3], [1, 3]]),
    ):
        assert held_together(np.array(scores), covariance, noise, 0.5).tolist() == ranks


@pytest.mark.parametrize("alike", [True, False])
def test_all_ranks_hold_at_once_at_their_rate(alike):
    """Texts that are alike have every rank from 1 to N; marginal intervals promise less.

    Opinions are drawn for one design: with Gaussian experts of known sigma the errors are exact.
    """
    rng, n, level, runs = np.random.default_rng(7), 10, 0.9, 200
    pairs = poe.select(n, 40, rule="no-repeat", seed=1)
    together, singly, each = [], [], []
    for _ in range(runs):
        quality = np.zeros(n) if alike else rng.normal(0.0, 0.3, n)
        opinion = quality[pairs[:, 0]] - quality[pairs[:, 1]] + 0.4 * rng.standard_normal(40)
        c = poe.Comparisons.from_pairs(pairs, 0.5 + opinion / 20.0, items=n)
        fit = poe.fit(c, poe.Gaussian(alpha=20.0, sigma=0.4))
        best = 1 + (quality > quality[:, None] + 1e-9).sum(axis=1)
        worst = n - (quality < quality[:, None] - 1e-9).sum(axis=1)
        for simultaneous, found in ((True, together), (False, singly)):
            low, high = fit.rank_interval(level, simultaneous=simultaneous, draws=500).T
            holds = (low <= best) & (worst <= high)
            found.append(holds.all())
        each.append(holds.mean())
    error = np.sqrt(level * (1.0 - level) / runs)
    assert np.mean(together) > level - 3.0 * error
    if alike:  # where it is exact: no two texts are told apart
        assert np.mean(together) < level + 3.0 * error
    else:  # the control: each holds as it says, and all of them seldom
        assert np.mean(each) > level - 3.0 * error
    assert np.mean(singly) < level - 7.0 * error
