"""Intervals from the answers' scatter: formulas, known noise, coverage.

Every judge here is simulated, so what the intervals should hold is known: the scores this judge
would give if it were asked every comparison.
"""

import numpy as np
import pytest
from scipy.special import expit, logit

import poe

N = 14
QUALITY = np.random.default_rng(3).normal(size=N) * 1.4
EVERY = np.array([(i, j) for i in range(N) for j in range(N) if i != j])


def fitted(noise, *, count=90, seed=0, bias="fit", decide=False, prior=0.0):
    judge = poe.judges.SimulatedJudge(QUALITY, noise=noise, bias=0.4, seed=seed)
    c = judge.compare(poe.select(N, count, seed=seed))
    if decide:
        drawn = (np.random.default_rng(seed).random(len(c)) < c.p).astype(float)
        c = poe.Comparisons.from_pairs(c.pairs, drawn, items=N)
    return poe.fit(c, bias=bias, prior=prior), judge


@pytest.mark.parametrize("noise", [0.2, 0.6])
def test_noise_in_the_logit_is_recognised_and_measured(noise):
    found = fitted(noise, count=182)[0].scatter
    assert found.power == 2
    assert found.size == pytest.approx(noise, rel=0.15)


def test_means_of_decisions_are_recognised_and_measured():
    rng = np.random.default_rng(1)
    p = expit(QUALITY[EVERY[:, 0]] - QUALITY[EVERY[:, 1]])
    votes = np.clip(rng.binomial(25, p) / 25, 0.02, 0.98)
    found = poe.fit(poe.Comparisons.from_pairs(EVERY, votes, items=N)).scatter
    assert found.power == 1
    assert found.size == pytest.approx(1 / 5, rel=0.15)


def test_power_two_against_a_direct_computation():
    fit, _ = fitted(0.5)
    found, scaled = fit.scatter, fit.with_covariance("scatter")
    assert found.power == 2
    c = fit.comparisons
    x = np.hstack([c.matrix(), -np.ones((len(c), 1))])
    q = expit(x @ np.append(fit.scores, fit.bias))
    freedom = len(c) - N  # N - 1 scores and the bias
    tau2 = (((c.p - q) / (q * (1 - q))) ** 2).sum() / (freedom - 2)
    assert found.size**2 == pytest.approx(tau2)
    free = x[:, 1:]  # the first item as the anchor
    inverse = np.linalg.inv(free.T @ np.diag(q * (1 - q)) @ free)
    middle = free.T @ np.diag(tau2 * (q * (1 - q)) ** 2) @ free
    anchored = inverse @ middle @ inverse
    joint = scaled.covariance()
    for i, j in ((1, 2), (5, 9)):
        want = anchored[i - 1, i - 1] + anchored[j - 1, j - 1] - 2 * anchored[i - 1, j - 1]
        assert scaled.difference_se(i, j) ** 2 == pytest.approx(want)
        assert joint[i, i] + joint[j, j] - 2 * joint[i, j] == pytest.approx(want)
    assert scaled.bias_se**2 == pytest.approx(anchored[-1, -1])
    np.testing.assert_allclose(joint.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(scaled.scores, fit.scores)


def test_what_has_no_scatter_keeps_the_curvature():
    decisions, _ = fitted(0.0, count=180, decide=True, prior=0.05)
    few, _ = fitted(0.3, count=N + 1)
    other = poe.fit(fitted(0.3)[0].comparisons, "gaussian")
    for fit in (decisions, few, other):
        scaled = fit.with_covariance("scatter")
        assert scaled.scatter is None
        np.testing.assert_array_equal(scaled.covariance(), fit.covariance())


def test_a_prior_is_no_answer():
    """Its ties would otherwise count as answers that scatter little."""
    with_prior, _ = fitted(0.5, prior=1e-6)
    without, _ = fitted(0.5)
    assert with_prior.scatter.size == pytest.approx(without.scatter.size, rel=1e-3)


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_intervals_hold_the_scores_of_all_comparisons(noise):
    inside, cautious, width = [], [], []
    for seed in range(40):
        fit, judge = fitted(noise, count=60, seed=seed)
        whole = poe.fit(judge.compare(EVERY), bias="fit").scores
        scaled = fit.with_covariance("scatter")
        low, high = scaled.interval(0.9).T
        inside.append((low <= whole) & (whole <= high))
        low, high = fit.interval(0.9).T
        cautious.append((low <= whole) & (whole <= high))
        width.append((scaled.standard_errors() / fit.standard_errors()).mean())
    # At least as stated: part of the comparisons that are to come has been asked already.
    assert 0.87 <= np.mean(inside) <= 0.99
    assert np.mean(cautious) > 0.995, "as single decisions they hold everything"
    assert np.mean(width) < 0.75


def test_saturated_answers_do_not_make_ranks_unknown():
    """A judge that is sure says p = 0.9999, which as a single decision tells next to nothing."""
    quality = np.append(QUALITY[:5], -14.0)
    judge = poe.judges.SimulatedJudge(quality, noise=0.2, seed=1)
    pairs = np.array([(i, j) for i in range(6) for j in range(6) if i != j])
    fit = poe.fit(judge.compare(pairs), bias="fit")
    assert fit.rank_interval()[-1].tolist() != [6, 6]
    assert fit.with_covariance("scatter").rank_interval()[-1].tolist() == [6, 6]


def test_one_choice_serves_every_question():
    fit, _ = fitted(0.3)
    scaled = poe.fit(fit.comparisons, bias="fit", covariance="scatter")
    assert scaled.covariance_choice == "scatter"
    np.testing.assert_allclose(
        scaled.covariance(), fit.with_covariance("scatter").covariance(), atol=1e-12
    )
    assert poe.se_below(0.2).measure(scaled) == scaled.standard_errors().max()
    assert poe.se_below(0.2).measure(scaled) < poe.se_below(0.2).measure(fit)
    table = scaled.to_frame(0.9)
    assert table["item"].tolist() == scaled.ranking()
    order = np.argsort(-scaled.scores)
    np.testing.assert_array_equal(table[["low", "high"]], scaled.interval(0.9)[order])


def test_two_items_by_hand():
    """Six answers on one difference: the variance of their mean, in logits."""
    pairs = np.array([(0, 1), (0, 1), (0, 1), (1, 0), (1, 0), (1, 0)])
    p = expit(np.array([0.9, 1.0, 1.1, -0.9, -1.0, -1.1]))
    fit = poe.fit(poe.Comparisons.from_pairs(pairs, p, items=2))
    q = np.mean(np.where(pairs[:, 0] == 0, p, 1 - p))
    assert fit.scores[0] - fit.scores[1] == pytest.approx(logit(q))
    spread = np.where(pairs[:, 0] == 0, p - q, 1 - p - q) / (q * (1 - q))
    variance = (spread**2).sum() / 3 / 6  # F - 2 = 6 - 2 + 1 - 2
    assert fit.with_covariance("scatter").difference_se(0, 1) == pytest.approx(np.sqrt(variance))
