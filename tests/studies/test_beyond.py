"""Beyond the papers: rows by hand, and each trial against what it must reduce to."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import poe
from judging.simulated import SimulatedJudge
from poe import priors
from poe.choose.selection import select_stack
from poe.scores import average_probability
from poe.stack import Stack
from reproduction.settings import Settings
from reproduction.twins import labels, twins
from studies import beyond, trials


def stack(seed=0, *, bias=0.4, noise=0.8, rule="symmetric", n=6, count=18):
    rng = np.random.default_rng(seed)
    judge = SimulatedJudge(rng.standard_normal((5, n)), noise=noise, bias=bias, seed=rng)
    pairs = select_stack(5, n, count, rule=rule, seed=rng)
    return Stack.of(n, pairs, judge.answer(pairs))


def test_rows_by_hand():
    """Two judge-attributes, two draws: differences are paired, errors over what is said."""
    found = {
        ("methods", 48, "PoE-g"): np.array([[0.1, 0.2], [0.3, 0.3]]),
        ("methods", 48, "EB-g"): np.array([[0.2, 0.2], [0.2, 0.3]]),
    }
    for over, error in (("draws", 0.0), ("judge-attributes", 5.0)):
        rows = beyond.rows("summeval", found, Settings(), over=over, kind="simulated")
        made = {(r["method"], r["against"]): r for r in rows}
        assert set(made) == {("PoE-g", ""), ("EB-g", ""), ("EB-g", "PoE-g")}
        row = made["EB-g", "PoE-g"]
        assert row["value"] == pytest.approx(0.0)
        assert (row["wins"], row["of"], row["calls_per_text"]) == (1, 2, 3.0)
        assert row["se"] == pytest.approx(error, abs=1e-9)
        assert made["PoE-g", ""]["value"] == pytest.approx(22.5)


def test_confidence_by_hand():
    """Two items one apart, errors of one: a difference of z = 1 / sqrt(2)."""
    posterior = (np.array([[1.0, 0.0], [0.0, 1.0]]), np.stack([np.eye(2)] * 2))
    sure, right = beyond.confidence(posterior, np.array([[3.0, 2.0], [3.0, 2.0]]))
    assert sure == pytest.approx([0.7602, 0.7602], abs=1e-4)
    assert right.tolist() == [1.0, 0.0]


def test_methods_of_one_twin(monkeypatch):
    """Their scores are those of the functions named, on pairs asked in both orders."""
    monkeypatch.setattr(beyond, "CALLS", {"topicalchat": (18, 30)})
    twin = twins("topicalchat")["FlanT5-3B", "coherency"]
    gold = labels("topicalchat").scores["coherency"][:7]
    found = beyond.small(twin, gold, 3, 2, 1)
    asked = beyond.ask(twin, gold, 18, "symmetric", seed=3, draws=2)
    assert asked.stack().p.shape == (14, 9)
    again = asked.agreement(priors.solve(asked.stack(), pool=7).scores)
    np.testing.assert_array_equal(found["methods", 18, "EB-g"], again)
    by_average = asked.agreement(average_probability(asked.stack()))
    np.testing.assert_array_equal(found["methods", 18, "avg-prob"], by_average)
    full = [found["methods", 30, name] for name in ("avg-prob", "PoE-g", "EB-g")]
    np.testing.assert_allclose(full[1:], [full[0]] * 2, atol=1e-12)
    assert {key[0] for key in found} == {"methods", "trials", "confidence"}


def test_an_effect_of_no_share_is_the_expert_itself(monkeypatch):
    once = stack(rule="no-repeat", count=12)
    effect = np.stack([np.eye(12)] * 5)
    monkeypatch.setattr(trials, "SHARES", (0.0,))
    plain = priors.solve(once, "logit-gaussian", pool=5, bias="fit").scores
    np.testing.assert_allclose(trials.with_effect(once, effect, pool=5)[0], plain, atol=1e-9)


def test_effects_that_are_there_are_found():
    rng = np.random.default_rng(0)
    s, h = rng.standard_normal((2, 40, 8))
    pairs = select_stack(40, 8, 28, rule="no-repeat", seed=rng)
    i, j = pairs[..., 0], pairs[..., 1]
    texts = np.arange(40)[:, None]
    noise = 0.3 * rng.standard_normal(i.shape)
    shown = np.eye(8)[i] + np.eye(8)[j]
    for size, wanted in ((0.0, {0.0}), (1.0, {0.3, 1.0, 3.0})):
        logit = s[texts, i] - s[texts, j] + size * (h[texts, i] + h[texts, j]) + noise
        made = Stack.of(8, pairs, expit(logit))
        _, share = trials.with_effect(made, shown @ np.swapaxes(shown, 1, 2), pool=40)
        assert set(share) <= wanted


def test_a_pair_error_averages_both_orders(monkeypatch):
    """Where it is all the error there is, one answer a pair counts, and that is the mean."""
    monkeypatch.setattr(trials, "SHARES", (1e6,))
    calls = stack(3, bias=0.0)
    mean = (trials.log_odds(calls.p[:, ::2]) - trials.log_odds(calls.p[:, 1::2])) / 2.0
    half = Stack(6, calls.first[:, ::2], calls.second[:, ::2], expit(mean), calls.weight[:, ::2])
    found = trials.pair_error(calls, 5)
    wanted = average_probability(half)
    far = [np.corrcoef(a, b)[0, 1] for a, b in zip(found, wanted, strict=True)]
    assert min(far) > 0.9


def test_bradley_terry_is_the_penalised_mode(monkeypatch):
    monkeypatch.setattr(trials, "SPREADS", (0.5,))
    made = stack(1)

    def energy(s, k):
        d = s[made.first[k]] - s[made.second[k]]
        return (np.logaddexp(0, d) - made.p[k] * d).sum() + s @ s

    for k, scores in enumerate(trials.bt(made, 5)):
        best = minimize(energy, np.zeros(6), args=(k,), tol=1e-10)
        np.testing.assert_allclose(scores, best.x, atol=1e-4)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_the_temperature_is_that_of_the_answers(beta):
    """Opinions with constant noise on the scale of one temperature; that one is chosen."""
    rng = np.random.default_rng(1)
    s = 0.5 * rng.standard_normal((60, 8))
    pairs = select_stack(60, 8, 28, rule="no-repeat", seed=rng)
    rows = np.arange(60)[:, None]
    d = s[rows, pairs[..., 0]] - s[rows, pairs[..., 1]]
    opinion = d + 0.3 * rng.standard_normal(d.shape)
    p = expit(opinion) if not beta else np.clip(0.5 + opinion / 4.0, 0.01, 0.99)
    made = Stack.of(8, pairs, p)
    wanted = priors.solve(made, trials.warmed(beta)[0], pool=60).scores
    np.testing.assert_array_equal(trials.temperature(made, 60), wanted)


def test_a_ridge_on_a_large_set_is_a_penalised_logistic_regression():
    """Comparisons in no order: against dense Newton steps on the same penalised likelihood."""
    rng = np.random.default_rng(5)
    n, k, ridge = 40, 300, 0.3
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(k)])
    c = poe.Comparisons.from_pairs(
        pairs, rng.uniform(0.05, 0.95, k), items=n, weight=rng.integers(1, 4, k).astype(float)
    )
    W, s = c.matrix(), np.zeros(n)
    for _ in range(30):
        q = expit(W @ s)
        bend = c.weight * q * (1 - q)
        pull = W.T @ (c.weight * (c.p - q)) - ridge * s
        s = s + np.linalg.solve((W.T * bend) @ W + ridge * np.eye(n), pull)
    scores, curvature = trials.ridge_bt(c, ridge)
    assert np.allclose(scores, s - s.mean(), atol=1e-8)
    assert np.allclose(curvature, bend, atol=1e-8)
