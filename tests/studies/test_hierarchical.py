"""Shrinkage averaged over its strength: against the model written out, and by its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import poe
from poe.choose.designs import in_orders_shown, regular
from poe.errors import ComparisonError
from studies.hierarchical import GRID, posterior


def ring(n=5, *, seed=0, more=2):
    """A connected set of comparisons of n items, each pair once, in random orders."""
    rng = np.random.default_rng(seed)
    pairs = [(k, (k + 1) % n) for k in range(n)] + [(0, 2), (1, 3)][:more]
    shown = np.array([(i, j) if rng.random() < 0.5 else (j, i) for i, j in pairs])
    return poe.Comparisons.from_pairs(shown, rng.uniform(0.1, 0.9, len(shown)), items=n)


def written_out(c, *, bias):
    """Weights and centres from the covariance of the opinions themselves.

    y | lambda, sigma ~ N(0, sigma^2 V), V = I + W W' / lambda + g 1 1' with a very wide bias; over
    Jeffreys' sigma the density is |V|^-1/2 (y' V^-1 y)^-(K/2). A flat bias takes a degree of
    freedom with it: the factor sqrt(g) is the same for all lambda.
    """
    y, n = logit(c.p), c.n_items
    w = np.zeros((len(y), n))
    w[np.arange(len(y)), c.first], w[np.arange(len(y)), c.second] = 1.0, -1.0
    u = (np.arange(GRID) + 0.5) / GRID
    ratio = 2.0 * len(y) / n * u / (1.0 - u)
    height, centre = [], []
    for one in ratio:
        v = np.eye(len(y)) + w @ w.T / one
        inverse = np.linalg.inv(v)
        volume = np.linalg.slogdet(v)[1]
        freedom = len(y)
        if bias:
            ones = np.ones(len(y))
            known = ones @ inverse @ ones
            volume += np.log(known)
            inverse = inverse - np.outer(inverse @ ones, inverse @ ones) / known
            freedom -= 1
        height.append(-0.5 * (volume + freedom * np.log(y @ inverse @ y)))
        centre.append(w.T @ inverse @ y / one)
    weight = np.exp(np.array(height) - max(height))
    return weight / weight.sum(), np.array(centre)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_weights_and_centres_are_those_of_the_model_written_out(bias, seed):
    c = ring(seed=seed)
    weight, centre = written_out(c, bias=bias)
    found = posterior(c, bias="fit" if bias else 0.0)
    np.testing.assert_allclose(found.weight, weight, atol=1e-12)
    np.testing.assert_allclose(
        found.centre, centre - centre.mean(axis=1, keepdims=True), atol=1e-10
    )
    assert found.freedom == len(c) - bias


def test_the_scale_is_that_of_conjugate_regression():
    """Given lambda, (L + lambda I)^-1 times the mean square left, without the mean of all."""
    c = ring(seed=3)
    found = posterior(c, bias=0.0)
    w = np.zeros((len(c), 5))
    w[np.arange(len(c)), c.first], w[np.arange(len(c)), c.second] = 1.0, -1.0
    y = logit(c.p)
    for k in (0, 20, 40):
        inverse = np.linalg.inv(w.T @ w + found.ratio[k] * np.eye(5))
        left = y @ y - (w.T @ y) @ inverse @ (w.T @ y)
        flat = np.eye(5) - 0.2
        scale = flat @ inverse @ flat * left / len(c)
        np.testing.assert_allclose(found.root[k] @ found.root[k].T, scale, atol=1e-12)


def sample(found, draws, rng):
    """(draws, N) of a mixture of multivariate t, as it is defined."""
    part = rng.choice(len(found.weight), draws, p=found.weight)
    noise = rng.standard_normal((draws, found.root.shape[-1]))
    noise /= np.sqrt(rng.chisquare(found.freedom, (draws, 1)) / found.freedom)
    return found.centre[part] + np.einsum("dij,dj->di", found.root[part], noise)


def test_intervals_are_those_of_many_draws():
    found = posterior(ring(seed=1))
    drawn = sample(found, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(
        found.interval(0.9), np.quantile(drawn, [0.05, 0.95], axis=0).T, atol=0.06
    )
    gap = drawn[:, 0] - drawn[:, 3]
    np.testing.assert_allclose(
        found.difference_intervals([(0, 3)], 0.9)[0], np.quantile(gap, [0.05, 0.95]), atol=0.06
    )
    assert found.prob_better(0, 3) == pytest.approx((gap > 0).mean(), abs=0.005)


def test_names_and_orders_do_not_count():
    c = ring(seed=2)
    found = posterior(c)
    turned = poe.Comparisons.from_pairs(c.pairs[:, ::-1], 1.0 - c.p, items=5)
    mirrored = posterior(turned)  # the bias is the other way round, and was integrated out
    np.testing.assert_allclose(mirrored.scores, found.scores, atol=1e-10)
    np.testing.assert_allclose(mirrored.interval(), found.interval(), atol=1e-8)
    order = np.array([3, 1, 4, 0, 2])
    moved = posterior(poe.Comparisons.from_pairs(order[c.pairs], c.p, items=5))
    np.testing.assert_allclose(moved.scores[order], found.scores, atol=1e-10)
    assert found.prob_better(0, 1) + found.prob_better(1, 0) == pytest.approx(1.0)
    assert found.prob_better(2, 2) == 0.5


def test_answers_about_one_pair_are_one_opinion():
    """Asked twice they do not make an interval narrower by sqrt(2), whatever their order."""
    c = ring(seed=4)
    twice = poe.Comparisons.from_pairs(np.vstack([c.pairs] * 2), np.tile(c.p, 2), items=5)
    np.testing.assert_allclose(posterior(twice).interval(), posterior(c).interval())
    both = poe.Comparisons.from_pairs(
        np.vstack([c.pairs, c.pairs[:, ::-1]]), np.append(c.p, 1.0 - c.p), items=5
    )
    once = posterior(both.symmetrised(), bias=0.0)
    np.testing.assert_allclose(posterior(both).interval(), once.interval())
    assert posterior(both).freedom == posterior(c).freedom + 1  # no bias is left to explain


def test_two_answers_that_agree_leave_room():
    """The fitted prior finds no noise here, and falls back on plain Gaussian experts' errors."""
    c = poe.Comparisons(first=["a"] * 2, second=["b"] * 2, p=[0.9, 0.9])
    fitted = poe.fit(c, "logit-gaussian", prior="fit", bias=0.0)
    assert 0.9 < fitted.prob_better("a", "b") < 0.99
    found = posterior(c, bias=0.0)
    assert 0.6 < found.prob_better("a", "b") < 0.95
    assert np.ptp(found.interval(), axis=1).min() > 1.0
    path = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "d"], p=[0.9, 0.8, 0.7])
    assert np.ptp(posterior(path, bias=0.0).interval(), axis=1).min() > 0.5


def test_what_tells_nothing_is_refused():
    one = poe.Comparisons(first=["a"], second=["b"], p=[0.9])
    with pytest.raises(ComparisonError, match="nothing is known of the noise"):
        posterior(one)
    even = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.5, 0.5])
    with pytest.raises(ComparisonError, match="the items are equal"):
        posterior(even)
    with pytest.raises(ValueError, match="Gaussian"):
        posterior(ring(), "bradley-terry")


def judged(rng, *, calls, shared=0.0, n=16, noise=0.5):
    """True scores, and comparisons whose errors about one pair may be shared."""
    scores = rng.normal(size=n)
    both = shared > 0.0
    pairs = regular(n, calls // (2 if both else 1), seed=rng)
    shown = np.array(in_orders_shown(pairs, both_orders=both, rng=rng))
    of_pair = np.zeros((n, n))
    upper = np.triu_indices(n, 1)
    of_pair[upper] = rng.normal(size=len(upper[0]))
    of_pair -= of_pair.T
    i, j = shown.T
    error = np.sqrt(shared) * of_pair[i, j] + np.sqrt(1.0 - shared) * rng.normal(size=len(i))
    p = expit(scores[i] - scores[j] + 0.3 + noise * error)
    return scores, poe.Comparisons.from_pairs(shown, p, items=n)


@pytest.mark.long
@pytest.mark.parametrize(
    ("calls", "shared", "least_before"), [(16, 0.0, 0.94), (24, 0.0, 1.0), (32, 1.0, 0.9)]
)
def test_intervals_cover_what_they_say(calls, shared, least_before):
    """150 sets of 16 texts; the fitted prior, the control, covers less where calls are few."""
    rng = np.random.default_rng(5)
    hits, before = [], []
    for _ in range(150):
        scores, c = judged(rng, calls=calls, shared=shared)
        found, fitted = posterior(c), poe.fit(c, "logit-gaussian", prior="fit", bias="fit")
        pairs = [(0, 1), (2, 7), (3, 12), (5, 9)]
        ends = found.difference_intervals(pairs)
        for (i, j), (low, high) in zip(pairs, ends, strict=True):
            hits.append(low <= scores[i] - scores[j] <= high)
            gap = fitted.scores[i] - fitted.scores[j] - (scores[i] - scores[j])
            before.append(abs(gap) <= 1.96 * fitted.difference_se(i, j))
    assert 0.92 <= np.mean(hits) <= 0.985
    assert np.mean(before) < least_before


def test_a_bias_is_a_finite_number_or_none():
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    none, zero = posterior(c, bias=None), posterior(c, bias=0.0)
    np.testing.assert_array_equal(none.scores, zero.scores)
    for wrong in (np.nan, np.inf, [0.1]):
        with pytest.raises(ValueError, match="bias must be a number"):
            posterior(c, bias=wrong)
    with pytest.raises(KeyError, match="no item is called 'z'"):
        none.prob_better("a", "z")
