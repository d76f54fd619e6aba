"""The solver for large problems gives what the dense one gives, and works where that cannot."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

import poe
from tests.helpers import random_comparisons

EXPERTS = ["gaussian", "bradley-terry"]


def large(n, k, *, seed=0, bias=0.0):
    rng = np.random.default_rng(seed)
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])  # connected for certain
    first = rng.integers(n, size=k - n)
    other = (first + rng.integers(1, n, size=k - n)) % n
    pairs = np.concatenate([ring, np.column_stack([first, other])])
    quality = rng.standard_normal(n)
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] + bias
    p = 1 / (1 + np.exp(-d - 0.5 * rng.standard_normal(k)))
    return poe.Comparisons.from_pairs(pairs, p, items=n), quality


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("bias", [None, 0.4, "mean", "fit"])
def test_same_answer_as_the_dense_solver(expert, bias):
    for seed in range(5):
        c = random_comparisons(seed, n=15, count=60)
        dense = poe.fit(c, expert, bias=bias, solver="dense")
        sparse = poe.fit(c, expert, bias=bias, solver="sparse", tol=1e-11)
        np.testing.assert_allclose(sparse.scores, dense.scores, atol=1e-8)
        assert sparse.bias == pytest.approx(dense.bias, abs=1e-8)
        assert sparse.energy == pytest.approx(dense.energy, rel=1e-10)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("heavy", [1.0, 1e7])
def test_little_weight_next_to_much_is_as_exact(solver, heavy):
    """An item that hangs on one light comparison, of a hub or of one of two heavy groups."""
    leaf, n = 200, 201
    hub = [(0, i) for i in range(1, leaf)]
    groups = [
        (low + i, low + (i + s) % 100) for s in (1, 2, 7) for low in (0, 100) for i in range(100)
    ]
    for pairs, light, size in ((hub, (5, leaf), n), (groups, (0, 100), leaf)):
        p, weight = np.full(len(pairs) + 1, 0.5), np.full(len(pairs) + 1, heavy)
        p[-1], weight[-1] = 0.95, 1.0
        c = poe.Comparisons.from_pairs([*pairs, light], p, items=size, weight=weight)
        scores = poe.fit(c, solver=solver).scores
        assert scores[light[0]] - scores[light[1]] == pytest.approx(np.log(19.0), abs=1e-4)


def test_least_squares_at_size():
    c, _ = large(3000, 20_000)
    fit = poe.fit(c, "gaussian", tol=1e-11)
    sign = np.tile([1.0, -1.0], len(c))
    w = csr_array((sign, c.pairs.ravel(), 2 * np.arange(len(c) + 1)), shape=(len(c), 3000))
    theirs = lsqr(w, c.p - 0.5, atol=1e-13, btol=1e-13, iter_lim=2000)[0]
    np.testing.assert_allclose(fit.scores, theirs - theirs.mean(), atol=1e-8)
    assert fit.message.startswith("sparse Newton, 1 steps")


def test_stationary_at_size():
    c, quality = large(20_000, 200_000, bias=0.8)
    fit = poe.fit(c, bias="fit")
    d = fit.scores[c.first] - fit.scores[c.second] - fit.bias
    pull = poe.BradleyTerry().slope(d, c.p)
    force = np.bincount(c.first, pull, 20_000) - np.bincount(c.second, pull, 20_000)
    assert np.abs(force).max() < 1e-6
    assert abs(pull.sum()) < 1e-6
    assert np.corrcoef(fit.scores, quality)[0, 1] > 0.95


def test_single_differences_need_no_matrix():
    c, _ = large(400, 4000)
    for bias in (None, "fit"):
        fit = poe.fit(c, bias=bias, covariance="curvature")
        whole = fit.difference_se(3, 77)
        pairs = np.array([[3, 77]])
        lever = np.ones(len(c)) if bias else None
        single = poe.sparse.variances(c, fit.stiffness, pairs, lever=lever)
        assert np.sqrt(single[0]) == pytest.approx(whole, rel=1e-9)
    information = poe.sparse.bias_information(c, fit.stiffness, np.ones(len(c)))
    assert information**-0.5 == pytest.approx(fit.bias_se, rel=1e-9)


def test_a_covariance_too_large_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("poe.result.COVARIANCE_ITEMS", 100)
    c, _ = large(400, 4000)
    fit = poe.fit(c, bias="fit")
    with pytest.raises(ValueError, match=r"ask for difference_se or prob_better"):
        fit.covariance()
    assert 0 < fit.difference_se(0, 1) < 5
    assert 0 < fit.bias_se < 1
