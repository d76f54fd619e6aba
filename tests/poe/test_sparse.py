"""The solver for large problems gives what the dense one gives, and works where that cannot."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

import poe
from poe import newton
from poe.experts import BradleyTerry
from poe.graph import component_labels
from poe.scores import add_prior
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
    two = poe.Comparisons(first=["a", "b"], second=["b", "a"], p=[0.6, 0.7])
    for c in (two, *(random_comparisons(seed, n=15, count=60) for seed in range(5))):
        dense = poe.fit(c, expert, bias=bias, solver="dense")
        sparse = poe.fit(c, expert, bias=bias, solver="sparse", tol=1e-11)
        np.testing.assert_allclose(sparse.scores, dense.scores, atol=1e-8)
        assert sparse.bias == pytest.approx(dense.bias, abs=1e-8)
        assert sparse.energy == pytest.approx(dense.energy, rel=1e-10)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("heavy", [1.0, 1e4, 1e8])
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
        assert scores[light[0]] - scores[light[1]] == pytest.approx(np.log(19.0), abs=2e-6)


@pytest.mark.parametrize("heavy", [1.0, 1e3, 1e5, 1e8, 1e12])
def test_groups_that_two_light_links_tie_together(heavy):
    """No single link is a bridge here, so nothing but weight tells the groups."""
    steps = [(s, low) for s in (1, 2, 7) for low in (0, 100)]
    turns = [(low + i, low + (i + s) % 100) for s, low in steps for i in range(100)]
    p = np.random.default_rng(0).uniform(0.3, 0.7, 602)
    p[-2:], weight = (0.95, 0.8), np.append(np.full(600, heavy), [1.0, 1.0])
    c = poe.Comparisons.from_pairs([*turns, (0, 100), (5, 109)], p, items=200, weight=weight)
    if heavy == 1e12:  # more than the digits of a number can tell apart
        with pytest.raises(poe.NotConvergedError, match="largest gradient entry"):
            poe.fit(c, solver="sparse")
        return
    dense = poe.fit(c, solver="dense").scores
    np.testing.assert_allclose(poe.fit(c, solver="sparse").scores, dense, atol=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_weights_over_eight_decades(seed):
    c, _ = large(150, 600, seed=seed)
    weight = 10.0 ** np.random.default_rng(seed).uniform(0, 8, 600)
    c = poe.Comparisons.from_pairs(c.pairs, c.p, items=150, weight=weight)
    dense = poe.fit(c, solver="dense").scores
    np.testing.assert_allclose(poe.fit(c, solver="sparse").scores, dense, atol=2e-6)


# Graphs that are no expanders ---------------------------------------------------------------------


def tree(kind, n, rng):
    """(N - 1, 2) links, parent first, parents before children, and names for the items."""
    child = np.arange(1, n)
    parent = {
        "chain": child - 1,
        "star": 0 * child,
        "caterpillar": np.where(child < n // 2, child - 1, child - n // 2),
        "random": (rng.random(n - 1) * child).astype(int),
    }[kind]
    return np.column_stack([parent, child]), rng.permutation(n)


def added_along(links, names, steps):
    """Scores of a tree: nothing contradicts anything, so every link gets its own difference."""
    scores = np.zeros(len(names))
    for (parent, child), step in zip(links.tolist(), steps.tolist(), strict=True):
        scores[names[child]] = scores[names[parent]] - step
    return scores - scores.mean()


@pytest.mark.parametrize("kind", ["chain", "star", "caterpillar", "random"])
def test_on_a_tree_differences_add_along_paths(kind):
    rng = np.random.default_rng(0)
    links, names = tree(kind, 3000, rng)
    p = rng.uniform(0.1, 0.9, len(links))
    logits = np.log(p / (1.0 - p))
    c = poe.Comparisons.from_pairs(names[links], p, items=3000)
    assert poe.large.LargeGraph(c).direct
    for expert, steps in (("gaussian", p - 0.5), ("huber", p - 0.5), ("bradley-terry", logits)):
        expected = added_along(links, names, steps)
        np.testing.assert_allclose(poe.fit(c, expert).scores, expected, atol=1e-8)
    with pytest.raises(poe.UnidentifiedBiasError):
        poe.fit(c, bias="fit")
    both = np.concatenate([names[links], names[links[:, ::-1]]])
    q = 1.0 / (1.0 + np.exp(0.4 - np.append(logits, -logits)))
    fit = poe.fit(poe.Comparisons.from_pairs(both, q, items=3000), bias="fit")
    np.testing.assert_allclose(fit.scores, added_along(links, names, logits), atol=1e-8)
    assert fit.bias == pytest.approx(0.4, abs=1e-10)


@pytest.mark.parametrize("shape", ["ring", "band", "tree and more"])
@pytest.mark.parametrize("bias", [None, "fit"])
def test_a_factorisation_gives_what_conjugate_gradients_give(shape, bias, monkeypatch):
    rng, at = np.random.default_rng(1), np.arange(400)
    links = {
        "ring": np.column_stack([at, (at + 1) % 400]),
        "band": np.concatenate([np.column_stack([at[:-s], at[s:]]) for s in (1, 2, 3)]),
        "tree and more": np.append(tree("random", 400, rng)[0], at[-20:].reshape(10, 2), axis=0),
    }[shape]
    pairs = rng.permutation(400)[np.concatenate([links, links[:1, ::-1]])]
    c = poe.Comparisons.from_pairs(pairs, rng.uniform(0.1, 0.9, len(pairs)), items=400)
    assert poe.large.LargeGraph(c).direct
    found = poe.fit(c, bias=bias)
    monkeypatch.setattr(poe.large.LargeGraph, "direct", False)
    other = poe.fit(c, bias=bias, tol=1e-12)
    np.testing.assert_allclose(found.scores, other.scores, atol=1e-7)
    assert found.bias == pytest.approx(other.bias, abs=1e-7)


def test_decisions_about_a_sparse_set_are_as_exact_as_dense_steps(monkeypatch):
    n, rng = 600, np.random.default_rng(5)
    q, at = rng.standard_normal(n), np.arange(1, n)
    first = rng.integers(n, size=n // 2)
    other = (first + rng.integers(1, n, size=n // 2)) % n
    above = (rng.random(n - 1) * at).astype(int)
    pairs = np.concatenate([np.column_stack([at, above]), np.column_stack([first, other])])
    won = q[pairs[:, 0]] - q[pairs[:, 1]] + rng.standard_normal(len(pairs)) > 0
    hard = poe.Comparisons.from_pairs(pairs, won.astype(float), items=n)
    c = add_prior(hard, 1.0 / (n - 1), on="compared")
    dense = newton.solve(c, BradleyTerry(), tol=1e-12).scores

    def found():
        made = poe.large.solve(c, BradleyTerry(), tol=1e-12, max_steps=16)
        return made.converged.all(), np.abs(made.scores - dense).max()

    converged, error = found()
    assert converged
    assert error < 1e-8
    # The control: conjugate gradients have some score far off, and do not say that they converged.
    monkeypatch.setattr(poe.large.LargeGraph, "direct", False)
    converged, error = found()
    assert not converged
    assert error > 1e-3


def two_expanders(n, length):
    """Two groups of n items and a path of so many links from one to the other."""
    left, _ = large(n, 5 * n)
    path = np.r_[0, 2 * n : 2 * n + length - 1, n]
    pairs = np.concatenate([left.pairs, n + left.pairs, np.column_stack([path[:-1], path[1:]])])
    p = np.random.default_rng(2).uniform(0.1, 0.9, len(pairs))
    p[: 5 * n] = left.p
    return left, poe.Comparisons.from_pairs(pairs, p, items=2 * n + length - 1)


@pytest.mark.parametrize("length", [1, 60])
def test_two_expanders_joined_by_a_path(length, monkeypatch):
    left, c = two_expanders(2000, length)
    alone = poe.fit(left, tol=1e-11).scores
    expected = np.log(c.p / (1.0 - c.p))[-length:].sum()

    def errors():
        scores = poe.fit(c).scores
        inside = scores[:2000] - scores[:2000].mean() - alone
        return abs(scores[0] - scores[2000] - expected), np.abs(inside).max()

    assert not poe.large.LargeGraph(c).direct
    assert max(errors()) < 2e-7
    # The control: where no group is looked at, and each item is solved in units of its own weight,
    # it is at rest and the two groups are not.
    monkeypatch.setattr(poe.large.LargeGraph, "groups", [])
    monkeypatch.setattr(poe.newton, "STILL", np.inf)
    monkeypatch.setattr(poe.newton, "ROUNDING", 1.0)
    across, inside = errors()
    assert inside < 2e-6
    assert across > 1e-5 or length > 1


def test_bridges_are_the_links_without_which_the_graph_falls_apart():
    rng = np.random.default_rng(3)
    for _ in range(30):
        n = int(rng.integers(2, 40))
        links = tree("random", n, rng)[0]
        more = rng.integers(n, size=(rng.integers(0, n), 2))
        pairs = np.concatenate([links, more[more[:, 0] != more[:, 1]]])
        c = poe.Comparisons.from_pairs(pairs, np.full(len(pairs), 0.5), items=n)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        same = (low[:, None] == low) & (high[:, None] == high)  # a pair asked twice is one link
        labels = [component_labels(*pairs[~row].T, n) for row in same]
        kept = np.array([not label.any() for label in labels])
        expected = component_labels(*pairs[kept].T, n)
        blocks = poe.large.LargeGraph(c)._blocks
        np.testing.assert_array_equal(blocks[:, None] == blocks, expected[:, None] == expected)


def test_least_squares_at_size():
    c, _ = large(3000, 20_000)
    fit = poe.fit(c, "gaussian", tol=1e-11)
    sign = np.tile([1.0, -1.0], len(c))
    w = csr_array((sign, c.pairs.ravel(), 2 * np.arange(len(c) + 1)), shape=(len(c), 3000))
    theirs = lsqr(w, c.p - 0.5, atol=1e-13, btol=1e-13, iter_lim=2000)[0]
    np.testing.assert_allclose(fit.scores, theirs - theirs.mean(), atol=1e-8)
    assert (fit.method, fit.steps) == ("sparse Newton", 1)


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
        tilt = np.ones(len(c)) if bias else None
        single = poe.large.variance(c, fit.stiffness, 3, 77, tilt=tilt)
        assert np.sqrt(single) == pytest.approx(whole, rel=1e-9)
    assert fit.bias_information**-0.5 == pytest.approx(fit.bias_se, rel=1e-9)


def test_a_covariance_too_large_is_refused_with_a_way_out(monkeypatch):
    c, _ = large(400, 4000)
    settings = {"bias": "fit", "covariance": "curvature"}
    small = poe.fit(c, "gaussian", **settings)  # whose sigma is estimated
    known = small.difference_se(0, 1), small.bias_se
    monkeypatch.setattr("poe.intervals.COVARIANCE_ITEMS", 100)
    fit = poe.fit(c, "gaussian", **settings)
    with pytest.raises(ValueError, match=r"ask for difference_se or prob_better"):
        fit.covariance()
    assert (fit.difference_se(0, 1), fit.bias_se) == pytest.approx(known, rel=1e-9)
