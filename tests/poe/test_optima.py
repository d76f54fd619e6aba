"""No fit that says it converged lies above an optimum found by scipy; refusals are ours."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logit

import poe
from poe import newton
from poe.graph import soon_all_linked
from tests.poe import attack_optima
from tests.poe.oracles import LogCosh


@pytest.mark.parametrize("name", attack_optima.EXPERTS)
def test_what_converged_is_the_optimum(name):
    """`make attack` runs thousands of these."""
    counts, faults = attack_optima.attack(name, 16)
    assert not faults
    assert counts["fitted"] >= 9


@pytest.mark.parametrize("name", ["bradley-terry", "laplacian", "cauchy"])
def test_scores_a_little_off_would_be_noticed(monkeypatch, name):
    fit = poe.fit

    def off(*given, **how):
        made = fit(*given, **how)
        return replace(made, scores=1.001 * made.scores)

    monkeypatch.setattr(poe, "fit", off)
    counts, _ = attack_optima.attack(name, 16)
    assert counts["FAULT"] >= 7


def test_curvature_that_underflows_is_not_divided_by(monkeypatch):
    """On the way to these optima log cosh is straight to the last digit."""

    def verdicts():
        return {attack_optima.verdict("log cosh, both", seed) for seed in (129, 154, 241, 312)}

    assert verdicts() == {"fitted"}
    monkeypatch.setattr(poe.newton, "STIFFEST", 0.0)  # the control
    assert verdicts() == {"NotConvergedError"}


def test_an_energy_alone_finds_what_its_slope_finds():
    """Far out, differences of a small step vanish: scores of 1e18 were called an optimum."""
    c = poe.Comparisons(first=[0, 2, 0, 0], second=[1, 1, 1, 1], p=[0.0001, 0.9999, 0.9999, 0.9999])
    energy, slope = LogCosh().energy, LogCosh().slope
    alone = poe.fit(c, poe.experts.custom(energy))
    # One opinion at -9.21 pulls with its whole force of 1, two at 9.21 with half of it.
    apart = logit(0.9999) - np.arctanh(0.5)
    assert alone.scores[0] - alone.scores[1] == pytest.approx(apart, abs=1e-5)
    assert alone.scores == pytest.approx(poe.fit(c, poe.experts.custom(energy, slope)).scores)


def test_what_does_not_converge_says_what_helps():
    c = poe.Comparisons.from_pairs([[0, 1], [1, 0]], [1.0 - 1e-15, 0.5], items=2)
    with pytest.raises(poe.NotConvergedError, match="answers away from 0 and 1, give a prior"):
        poe.fit(c, max_steps=3)


def test_huber_says_where_nothing_tells_the_bias():
    """Along the bias every expert is straight: its error was the root of rounding, or NaN."""
    fitted = accepted = refused = 0
    rng = np.random.default_rng(0)
    for _ in range(80):
        n = int(rng.integers(2, 6))
        first = rng.integers(n, size=n + 3)
        pairs = np.column_stack([first, (first + rng.integers(1, n, size=n + 3)) % n])
        p = rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], size=n + 3)
        try:
            fit = poe.fit(poe.Comparisons.from_pairs(pairs, p, items=n), "huber", bias="fit")
        except poe.ComparisonError:
            continue
        fitted += 1
        assert np.isfinite([*fit.scores, fit.bias]).all()
        try:
            error = fit.bias_se
        except ValueError as why:  # of which NumPy's own are a kind
            refused += "how sure that is" in str(why) and fit.unique is False
        else:
            assert error > 0.0
            accepted += 1
    assert (accepted + refused, refused > 3) == (fitted, True)


def test_few_rounds_prove_what_a_search_finds():
    """All lead to all wherever it is said so; a long ring shows that silence proves nothing."""
    said = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 14))
        edges = rng.integers(n, size=(int(rng.integers(1, 5 * n)), 2))
        soon = soon_all_linked(*edges.T, n)
        assert soon == (connected(n, edges) == 1)
        said += soon
    assert 40 < said < 160
    ring = np.arange(50)
    assert not soon_all_linked(ring, np.roll(ring, 1), 50)
    c = poe.Comparisons.from_pairs(np.column_stack([ring, np.roll(ring, 1)]), np.ones(50), items=50)
    np.testing.assert_allclose(poe.fit(c).scores, 0.0, atol=1e-9)


def connected(n, edges):
    """How many strongly connected components there are, by scipy."""
    links = coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
    return connected_components(links, directed=True, connection="strong")[0]


def test_a_mild_newton_step_falls_without_a_look():
    """Whatever the differences before it, a Bradley-Terry step up to MILD keeps Armijo's share."""
    rng, expert, kept = np.random.default_rng(0), poe.BradleyTerry(), []
    while len(kept) < 2000:
        k = int(rng.integers(1, 12))
        x, weight, p = rng.normal(size=(k, 3)), rng.exponential(size=k) ** 3, rng.random(k).round()
        d = rng.normal(0.0, 3.0, k)
        slope, bend = weight * expert.slope(d, p), weight * expert.curvature(d, p)
        rise = -np.linalg.lstsq((x.T * bend) @ x, x.T @ slope)[0]
        along = x @ rise
        if not np.abs(along).max() < newton.MILD:
            continue
        fall = weight @ (expert.energy(d, p) - expert.energy(d + along, p))
        kept.append(fall / -(slope @ along))
    m = newton.MILD
    assert min(kept) > 1.0 - (np.exp(m) - 1.0 - m) / m**2 - 1e-6 > newton.KEPT
