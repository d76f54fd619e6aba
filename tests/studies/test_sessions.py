"""The sessions of people: the fit of largest evidence, and what a table of reliabilities holds."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit

import poe
from judging import metrics
from poe.stack import differences
from reproduction import run
from studies import sessions
from studies.sessions import shrunken, stepped_up


def decided(seed, n=12, count=60, spread=1.5):
    """Scores of a normal spread, and decisions about random pairs: the winner stands first."""
    rng = np.random.default_rng(seed)
    quality = spread * rng.standard_normal(n)
    pairs = np.array([rng.permutation(n)[:2] for _ in range(count)])
    won = rng.random(count) < expit(quality[pairs[:, 0]] - quality[pairs[:, 1]])
    pairs[~won] = pairs[~won, ::-1]
    return quality, poe.Comparisons.from_pairs(pairs, np.ones(count), items=n)


def test_the_mode_is_that_of_another_optimiser():
    _, c = decided(0)

    def energy(s):
        return 0.35 * s @ s - log_expit(differences(c, s)).sum()

    found = minimize(energy, np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    ours = shrunken(c, 0.7)
    np.testing.assert_allclose(ours.scores, found.x, atol=1e-5)
    assert abs(ours.scores.sum()) < 1e-9


def test_the_evidence_is_the_integral_where_there_is_one_difference():
    """Two texts, d ~ N(0, 2 / ridge); of 400 decisions Laplace's error is a thousandth."""
    c = poe.Comparisons(first=["a", "b"], second=["b", "a"], p=[1.0, 1.0], weight=[260.0, 140.0])
    for ridge in (0.5, 1.0, 3.0):

        def joint(d, ridge=ridge):
            inside = 260 * log_expit(d) + 140 * log_expit(-d) - ridge * d * d / 4
            return np.exp(inside + 260.0) * np.sqrt(ridge / (4 * np.pi))

        whole = np.log(quad(joint, -4, 4)[0]) - 260.0
        assert shrunken(c, ridge).evidence == pytest.approx(whole, abs=0.002)


def test_the_ridge_is_the_one_of_largest_evidence_and_finds_the_spread():
    spreads = []
    for seed in range(20):
        _, c = decided(seed, n=60, count=1500, spread=1.5)
        best = shrunken(c)
        assert best.evidence >= max(shrunken(c, best.ridge * x).evidence for x in (0.9, 1.1))
        spreads.append(best.ridge**-0.5)
    assert np.mean(spreads) == pytest.approx(1.5, abs=0.1)


def test_its_reliability_is_the_squared_correlation_with_the_truth():
    said, true = [], []
    for seed in range(40):
        quality, c = decided(seed, n=80, count=500, spread=1.0)
        best = shrunken(c)
        said.append(best.reliability)
        true.append(float(metrics.pearson(best.scores, quality)) ** 2)
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.03)


def test_reliabilities_by_hand():
    assert metrics.scale_separation_reliability([-1.0, 0.0, 1.0], [0.5, 0.5, 0.5]) == 0.75
    assert stepped_up(0.5) == pytest.approx(2 / 3)


def test_what_is_stored():
    rows = run.read("sessions").set_index(["session", "quantity"])["value"]
    assert set(rows.index.get_level_values(0)) == set(sessions.names())
    first, second = rows[sessions.ADAPTIVE], rows[sessions.FIXED]
    r = first["correlation with the second session"]
    assert first["implied by the second session"] == pytest.approx(
        r**2 / second["by evidence"], abs=2e-4
    )
    assert first["SSR, printed"] > 0.95 > first["implied by the second session"]


@pytest.mark.needs("sessions")
@pytest.mark.parametrize("name", [sessions.ADAPTIVE, sessions.FIXED])
def test_a_session_is_the_one_that_was_described(name):
    session = sessions.Session.load(name)
    assert session.decisions.n_items == 150
    one, other = session.halves(0)
    assert len(one) + len(other) == len(session.decisions)
