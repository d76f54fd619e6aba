"""Plans against simulation: what is predicted is what comes out."""

import numpy as np
import pytest
from scipy.special import expit

import poe
from poe.choose import planning
from poe.choose.planning import plan
from poe.experts import Gaussian
from poe.resistance import effective_resistance

RULES = ["random", "no-repeat", "symmetric", "regular", "greedy"]


def errors(n, count, rule, fitted, *, spread, draws, seed=0):
    """Root mean square error of all differences, and its standard error, over simulated runs."""
    found, rng = [], np.random.default_rng(seed)
    for _ in range(draws):
        scores = spread * rng.standard_normal(n)
        pairs = poe.select(n, count, rule=rule, seed=rng)
        wrong = fitted(pairs, scores[pairs[:, 0]] - scores[pairs[:, 1]], rng) - scores
        found.append(2 * wrong.var(ddof=1))  # the mean of (e_i - e_j)^2 over pairs
    mean = np.mean(found)
    return np.sqrt(mean), np.std(found) / np.sqrt(draws) / (2 * np.sqrt(mean))


def votes(pairs, d, rng, sigma=0.8, alpha=60.0):
    p = 0.5 + (d + sigma * rng.standard_normal(len(d))) / alpha
    c = poe.Comparisons.from_pairs(pairs, p, items=int(pairs.max()) + 1)
    return poe.fit(c, Gaussian(alpha=alpha)).scores


@pytest.mark.parametrize("rule", RULES)
def test_predicted_errors_of_gaussian_votes_come_true(rule):
    p = plan(20, standard_error=0.5, sigma=0.8, rule=rule)
    actual, error = errors(20, p.comparisons, rule, votes, spread=1.0, draws=50)
    assert p.standard_error <= 0.5
    assert abs(actual - p.standard_error) < 4 * error + 0.01 * p.standard_error
    # Negative control: three tenths fewer comparisons would have shown.
    fewer, error = errors(20, int(0.7 * p.comparisons) // 2 * 2, rule, votes, spread=1, draws=50)
    assert fewer > 0.5 + 4 * error


def test_predicted_errors_of_decisions_come_true():
    """Bradley-Terry: right for many answers, so a few percent are allowed for the prior."""

    def decisions(pairs, d, rng):
        won = (rng.random(len(d)) < expit(d)).astype(float)
        c = poe.Comparisons.from_pairs(pairs, won, items=int(pairs.max()) + 1)
        return poe.fit(c, prior=0.01).scores

    p = plan(24, standard_error=0.6, expert="bradley-terry", spread=1.0, rule="symmetric")
    flat = plan(24, standard_error=0.6, sigma=2.0, rule="symmetric")
    assert p.comparisons > flat.comparisons, "items far apart tell less"
    actual, error = errors(24, p.comparisons, "symmetric", decisions, spread=1.0, draws=50)
    assert abs(actual - p.standard_error) < 4 * error + 0.06 * p.standard_error


def test_large_sets_are_planned_on_smaller_ones():
    """The average resistance of the real thing, 800 items, against the prediction."""
    p = plan(800, standard_error=0.4, sigma=1.0, rule="no-repeat")
    pairs = poe.select(800, p.comparisons, rule="no-repeat", seed=5)
    actual = np.sqrt(effective_resistance(800, pairs).sum() / (800 * 799))
    assert actual == pytest.approx(p.standard_error, rel=0.01)


def test_the_seed_decides_and_the_numbers_stay():
    """The random graphs behind a plan are the same for the same seed, in every version."""
    p = plan(16, standard_error=0.7, sigma=1.0, seed=3)
    assert (p.comparisons, round(p.standard_error, 9)) == (44, 0.697218518)
    assert plan(16, standard_error=0.7, sigma=1.0, seed=4).standard_error != p.standard_error


def test_a_plan_costs_what_its_tokens_cost(monkeypatch):
    monkeypatch.setattr(planning, "_DRAWN", 1)  # one graph will do
    aim = {"n_items": 60, "standard_error": 0.9, "sigma": 1.0, "price_input": 0.5}
    for number in (int, float, np.int64):
        p = plan(tokens=number(600), price_output=2.0, rule="regular", **aim)
        assert p.cost == pytest.approx(p.comparisons * (600 * 0.5 + 2.0) / 1e6)
    shared = plan(tokens=lambda first, calls: 10 * first + calls, rule="regular", **aim)
    assert shared.cost == pytest.approx((10 * 60 + p.comparisons) * 0.5 / 1e6)
    assert plan(rule="regular", **aim).cost is None


def test_out_of_reach_says_what_is_in_reach():
    with pytest.raises(ValueError, match=r"all 90 comparisons of 10 items give 0\.316"):
        plan(10, standard_error=0.316, sigma=1.0)
    assert plan(10, standard_error=0.32, sigma=1.0).comparisons <= 90


def test_what_cannot_be_is_refused():
    for message, options in [
        ("give one aim", {"sigma": 1.0}),
        ("give one judge", {"standard_error": 1.0}),
        ("positive standard error", {"standard_error": -1.0, "sigma": 1.0}),
    ]:
        with pytest.raises(ValueError, match=message):
            plan(**{"n_items": 10} | options)
