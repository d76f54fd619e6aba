"""The next comparison: against the formula written out, and its promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

import judging
import poe
from poe.choose.adaptive import RELIABLE, curvature_of, next_comparisons, reliability
from poe.experts import Huber, Laplacian, Thurstone
from tests.helpers import random_comparisons
from tests.poe.oracles import anchored, spread

RULES = ["adaptive", "laplace", "reordering", "determinant", "random"]


def asked(c):
    return {tuple(sorted(pair)) for pair in c.pairs.tolist()}


def weighted(seed, *, n=8, count=14):
    """Comparisons with random weights, so that no two gains tie."""
    c = random_comparisons(seed, n=n, count=count)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(c))
    return poe.Comparisons.from_pairs(c.pairs, c.p, items=n, weight=weight)


def information(scores, either, variance):
    """What the paper's rule maximises (A.6)."""
    return either * variance


def reordering(scores, either, variance):
    """P(the order of a pair is wrong), normal errors (Fathullah and Gales 2025)."""
    return norm.sf(np.abs(scores[:, None] - scores) / np.sqrt(np.maximum(variance, 1e-300)))


def picks_by_inverting(c, scores, bias, count, *, calls=1, worth=information):
    """Paper A.6 with its anchor, a new inverse for every pick, and no shortcut."""
    n = len(scores)
    slope = expit(scores[:, None] - scores - bias)
    either = (slope * (1 - slope) + (slope * (1 - slope)).T) / 2
    d = scores[c.first] - scores[c.second] - bias
    matrix = anchored(n, c.pairs, c.weight * expit(d) * expit(-d))
    open_ = np.triu(np.ones((n, n), dtype=bool), 1)
    for i, j in asked(c):
        open_[i, j] = False
    picks = []
    for _ in range(count // calls):
        gain = worth(scores, either, spread(matrix))
        i, j = np.unravel_index(np.where(open_, gain, -1).argmax(), gain.shape)
        open_[i, j] = False
        picks.append((i, j))
        row = np.eye(n)[i] - np.eye(n)[j]
        matrix = matrix + calls * either[i, j] * np.outer(row, row)
    return picks


@given(seed=st.integers(0, 200), bias=st.sampled_from([None, 0.7]), both=st.booleans())
@pytest.mark.parametrize(("rule", "worth"), [("laplace", information), ("reordering", reordering)])
@settings(max_examples=40, deadline=None)
def test_rules_by_the_answers_are_their_papers_formulas(rule, worth, seed, bias, both):
    c = weighted(seed)
    fit = poe.fit(c, "bradley-terry", bias=bias)
    count, calls = 8, 2 if both else 1
    found = next_comparisons(fit, count, rule=rule, both_orders=both)
    expected = picks_by_inverting(c, fit.scores, fit.bias, count, calls=calls, worth=worth)
    unordered = [tuple(sorted(pair)) for pair in found.tolist()]
    assert unordered[:: 2 if both else 1] == expected
    if both:
        np.testing.assert_array_equal(found[1::2], found[::2, ::-1])


def test_ignoring_the_answers_would_pick_otherwise():
    """The negative control of the test above: R alone, without sigma sigma."""
    different = 0
    for seed in range(10):
        c = weighted(seed)
        fit = poe.fit(c)
        plain = [tuple(sorted(p)) for p in next_comparisons(fit, 3, rule="determinant").tolist()]
        different += plain != picks_by_inverting(c, fit.scores, fit.bias, 3)
    assert different >= 8


def test_adaptive_looks_at_the_answers_once_they_say_enough():
    """By hand, 1 - mean SE^2 / var s; one rule below 0.9 and the other from there on."""
    seen = set()
    quality = np.linspace(-2.0, 2.0, 9)
    for seed in range(12):
        judge = judging.SimulatedJudge(quality, noise=[0.2, 3.0][seed % 2], seed=seed)
        fit = poe.fit(judge.compare(poe.select(9, 20, rule="no-repeat", seed=seed)))
        share = 1 - (fit.standard_errors() ** 2).mean() / (fit.scores**2).mean()
        assert reliability(fit) == pytest.approx(share)
        rule = "laplace" if share >= RELIABLE else "determinant"
        seen.add(rule)
        np.testing.assert_array_equal(
            next_comparisons(fit, 6, seed=seed), next_comparisons(fit, 6, rule=rule, seed=seed)
        )
    assert seen == {"laplace", "determinant"}
    even = poe.Comparisons.from_pairs([(0, 1), (1, 2), (2, 0), (1, 0)], [0.5] * 4, items=3)
    assert reliability(poe.fit(even)) == 0.0
    chain = poe.Comparisons.from_pairs([(0, 1), (1, 2)], [0.6, 0.7], items=3)
    assert reliability(poe.fit(chain, "gaussian")) == 0.0, "no residuals"


# Curvatures of pairs that were not asked -------------------------------------------------


def test_other_experts_are_asked_about_the_answer_that_agrees():
    d = np.array([-0.3, 0.0, 0.2])
    np.testing.assert_allclose(curvature_of(Huber())(d), 1 / 0.2**2)  # no misfit
    p = np.array([0.05, 0.3, 0.5, 0.8])
    at = Thurstone().opinion(p)
    np.testing.assert_allclose(
        curvature_of(Thurstone())(at), Thurstone().curvature(at, p), rtol=1e-4
    )
    # A Laplacian's curvature is all in its kink; its information is not.
    np.testing.assert_allclose(curvature_of(Laplacian(scale=0.5))(d), 4.0)


# Promises --------------------------------------------------------------------------------


@given(
    rule=st.sampled_from(RULES),
    seed=st.integers(0, 50),
    both=st.booleans(),
    prior=st.sampled_from([0.0, 0.2]),
    count=st.integers(1, 30),
)
@settings(max_examples=80, deadline=None)
def test_new_pairs_come_before_repeats(rule, seed, both, prior, count):
    n, calls = 7, 2 if both else 1
    c = random_comparisons(seed, n=n, count=9)
    fit = poe.fit(c, prior=prior)
    found = next_comparisons(fit, calls * count, rule=rule, both_orders=both, seed=seed)
    assert found.shape == (calls * count, 2)
    assert (found[:, 0] != found[:, 1]).all()
    before = asked(c)
    new = [tuple(sorted(pair)) for pair in found[::calls].tolist()]
    fresh = min(count, n * (n - 1) // 2 - len(before))
    assert not before & set(new[:fresh])
    assert len(set(new[:fresh])) == fresh
    if both:
        np.testing.assert_array_equal(found[1::2], found[::2, ::-1])


@pytest.mark.parametrize("rule", RULES)
def test_then_the_order_that_was_not_shown(rule):
    """All six pairs of four items, asked in one order: the next six are the other orders."""
    pairs = np.column_stack(np.triu_indices(4, 1))
    fit = poe.fit(poe.Comparisons.from_pairs(pairs, np.linspace(0.2, 0.8, 6), items=4))
    found = next_comparisons(fit, 6, rule=rule)
    assert sorted(map(tuple, found.tolist())) == sorted((j, i) for i, j in pairs.tolist())
    twice = next_comparisons(fit, 12, rule=rule)
    assert len({tuple(sorted(pair)) for pair in twice[6:].tolist()}) == 6


def test_comparisons_from_a_prior_were_not_asked():
    c = poe.Comparisons.from_pairs([[0, 1], [2, 3]], [1.0, 0.0], items=4)
    fit = poe.fit(c, prior=0.3)
    for rule in RULES:
        found = next_comparisons(fit, 4, rule=rule)
        assert {tuple(sorted(p)) for p in found.tolist()} == {(0, 2), (0, 3), (1, 2), (1, 3)}
    linking = next_comparisons(fit, 1, rule="determinant")
    joined = poe.Comparisons.from_pairs(np.vstack([c.pairs, linking]), [0.5] * 3, items=4)
    assert len(joined.components()) == 1


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_what_is_to_be_avoided_comes_last(rule, both_orders, seed):
    """A pair that has no answer is as one that was asked, though it tells the scores nothing."""
    c = random_comparisons(seed, n=8, count=12)
    fit, rng = poe.fit(c, prior=0.1), np.random.default_rng(seed)
    new = [(i, j) for i in range(8) for j in range(i) if (j, i) not in asked(c)]
    avoid = rng.permutation(np.array(new))[: len(new) // 2]
    left = {(j, i) for i, j in new} - {(j, i) for i, j in avoid.tolist()}
    count = len(left) * (2 if both_orders else 1)
    both = [*avoid.tolist(), *avoid[:, ::-1].tolist()]
    picks = next_comparisons(fit, count, rule=rule, both_orders=both_orders, avoid=both, seed=seed)
    assert {tuple(sorted(pair)) for pair in picks.tolist()} == left
    free = next_comparisons(fit, 1 + both_orders, rule=rule, both_orders=both_orders, seed=seed)
    again = next_comparisons(
        fit, 1 + both_orders, rule=rule, both_orders=both_orders, avoid=(), seed=seed
    )
    np.testing.assert_array_equal(free, again)
