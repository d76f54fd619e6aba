"""Every smooth expert and both solvers against scipy, on problems that are hard to solve."""

import numpy as np
import pytest
from scipy.optimize import minimize

import poe
from poe.experts import get_expert
from tests.helpers import random_comparisons
from tests.poe.oracles import centred, design


def badly_scaled():
    """Weights over nine orders of magnitude."""
    c = random_comparisons(2, n=10, count=60)
    weight = 10.0 ** np.random.default_rng(2).uniform(-4, 5, 60)
    return poe.Comparisons.from_pairs(c.pairs, c.p, items=10, weight=weight)


def reference(c, expert):
    """Scipy's trust-region Newton on s_2..s_N with s_1 = 0, and its energy."""
    w = design(c)

    def energy(x):
        return float(c.weight @ expert.energy(w @ x, c.p))

    def gradient(x):
        return w.T @ (c.weight * expert.slope(w @ x, c.p))

    def hessian(x):
        return (w.T * (c.weight * expert.curvature(w @ x, c.p))) @ w

    found = minimize(
        energy,
        np.zeros(w.shape[1]),
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-11, "maxiter": 5000},
    )
    return centred(found.x), found.fun


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["gaussian", "bradley-terry", "thurstone", "huber"])
def test_no_worse_than_scipy(name, solver):
    """To eleven digits; `attack_optima` looks at many more problems to eight."""
    for c, loose in ((random_comparisons(0, n=12, count=70), 1e-7), (badly_scaled(), 1e-3)):
        theirs, energy = reference(c, get_expert(name))
        fit = poe.fit(c, name, solver=solver, tol=1e-11, max_steps=500)
        assert fit.energy <= energy + 1e-11 * (1 + abs(energy))
        np.testing.assert_allclose(fit.scores, theirs, atol=loose)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("decades", [3, 6, 9])
def test_light_links_of_a_chain_are_their_answers(solver, decades):
    """Nothing contradicts anything: each difference is the log odds, whatever weighs how much."""
    rng, k = np.random.default_rng(0), np.arange(60)
    p = rng.uniform(0.2, 0.8, 60)
    pairs, weight = np.column_stack([k, k + 1]), 10.0 ** rng.uniform(0, decades, 60)
    c = poe.Comparisons.from_pairs(pairs, p, items=61, weight=weight)
    found = -np.diff(poe.fit(c, solver=solver).scores)
    np.testing.assert_allclose(found, np.log(p / (1.0 - p)), atol=1e-5)


def two_groups_and_a_link(size, p, links=1):
    """Two well linked groups, few answers of p between them: of one, the gap is its log odds."""
    rng = np.random.default_rng(4)
    inside = [rng.permuted(np.arange(size)) for _ in range(6)]
    pairs = np.concatenate([np.column_stack([one, np.roll(one, 1)]) for one in inside])
    between = np.column_stack([np.arange(links), size + np.arange(links)])
    pairs = np.concatenate([pairs, pairs + size, between])
    answers = np.append(rng.uniform(0.3, 0.7, len(pairs) - links), [p] * links)
    return poe.Comparisons.from_pairs(pairs, answers, items=2 * size)


@pytest.mark.parametrize(("size", "p"), [(10, 1e-12), (200, 1e-8)])
def test_scores_far_out_are_not_cut_off(size, p, monkeypatch):
    """Where experts hardly pull any more the gradient is small long before the scores are there."""
    c, gap = two_groups_and_a_link(size, p), np.log(p / (1.0 - p))

    def reached():
        scores = poe.fit(c).scores
        return scores[0] - scores[size]

    assert reached() == pytest.approx(gap, abs=0.02)
    monkeypatch.setattr(poe.newton, "STILL", np.inf)  # the control
    assert reached() > gap + 0.1


@pytest.mark.parametrize(("links", "p"), [(2, 1e-6), (2, 1e-8), (20, 1e-8), (1, 1e-12)])
def test_groups_that_confident_answers_link_are_as_far_apart_by_both_solvers(links, p, monkeypatch):
    """Far out in their tails such links hardly hold, and yet they decide the gap."""
    c = two_groups_and_a_link(200, p, links)
    dense = poe.fit(c, solver="dense").scores
    np.testing.assert_allclose(poe.fit(c, solver="sparse").scores, dense, atol=1e-3)
    monkeypatch.setattr(poe.large.LargeGraph, "_soft", lambda *_: [])  # the control
    without = poe.fit(c, solver="sparse").scores
    assert np.abs(without - dense).max() > 0.01


@pytest.mark.parametrize("p", [1e-14, 1e-20])
def test_what_100_steps_do_not_reach_is_refused(p):
    """Nearer to certain than the solver can follow: no scores rather than others."""
    with pytest.raises(poe.NotConvergedError, match="no optimum after 100 steps"):
        poe.fit(poe.Comparisons(first=["a"], second=["b"], p=[p]))
    c = poe.Comparisons(first=["a"], second=["b"], p=[1e-12])
    assert np.diff(poe.fit(c).scores)[0] == pytest.approx(-np.log(1e-12), abs=1e-6)
