"""Probabilities that one score is above another are right as often as they say."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr, stdtr

import poe
from judging.fitting import settled

N, SETS = 16, 40


def fits(kind, spread, rule, count, sets=SETS):
    """Fits of simulated judges' answers, with what is true."""
    for seed in range(sets):
        rng = np.random.default_rng([seed, count])
        true = spread * rng.standard_normal(N)
        pairs = poe.select(N, count, rule=rule, seed=rng)
        d = true[pairs[:, 0]] - true[pairs[:, 1]] + 0.4
        if kind == "decisions":
            p = (rng.random(count) < expit(d)).astype(float)
        else:
            p = expit(d + rng.standard_normal(count))
        yield settled(poe.Comparisons.from_pairs(pairs, p, items=N))[0], true


def said_and_right(drawn):
    """Of the better one of every pair: said, said by a flat prior, and whether it is right."""
    i, j = np.triu_indices(N, 1)
    rows = []
    for fit, true in drawn:
        gap = fit.scores[i] - fit.scores[j]
        c = fit.covariance()
        plain = stdtr(fit.freedom, np.abs(gap) / np.sqrt(c[i, i] + c[j, j] - 2.0 * c[i, j]))
        p = fit.better(i, j)
        rows.append([np.maximum(p, 1.0 - p), plain, gap * (true[i] - true[j]) > 0.0])
    return 100.0 * np.concatenate(rows, axis=1)


@pytest.mark.parametrize("kind", ["decisions", "probabilities"])
def test_what_is_said_is_right_as_often(kind):
    """Close and far texts, one order and both; the control is what a flat prior says."""
    drawn = [
        one
        for spread in (0.3, 1.0)
        for rule, count in (("no-repeat", 64), ("symmetric", 96))
        for one in fits(kind, spread, rule, count)
    ]
    said, plain, right = said_and_right(drawn)
    assert abs(said.mean() - right.mean()) < 3.0
    each = np.minimum((said - 50.0) // 5.0, 9.0)
    classes = [each == k for k in range(10) if (each == k).sum() > 200]
    off = [said[one].mean() - right[one].mean() for one in classes]
    # The class near a half is right more often than it says: there r is 0, and 50% is said.
    assert max(off) < 7.0  # the sampling error of a class of so few judges is about two
    assert np.abs(off[1:]).max() < 8.0  # of 40 judges a cell
    assert plain.mean() - right.mean() > (4.0 if kind == "decisions" else 2.0)


def test_a_prior_does_not_shrink_twice():
    """Decisions with the prior of 1 / (N - 1): its ties pull the scores and tell nothing."""
    fit, _ = next(fits("decisions", 1.0, "no-repeat", 32))
    assert not fit.real.all()
    c, tilt = fit.comparisons, fit.tilts
    x = np.hstack([c.matrix(), -tilt[:, None] * fit.bias_fitted])
    every, told = (x.T @ ((fit.stiffness * some)[:, None] * x) for some in (tilt >= 0, fit.real))
    bread = np.linalg.pinv(every)
    noise = (bread @ told @ bread)[:N, :N]
    centred = np.eye(N) - 1.0 / N
    error = np.trace(centred @ noise @ centred) / (N - 1)
    r = max(1.0 - (N - 3) * error / (fit.scores @ fit.scores), 0.0)
    assert fit.james_stein == pytest.approx(r)
    se = np.sqrt(noise[2, 2] + noise[5, 5] - 2.0 * noise[2, 5])
    wanted = ndtr(np.sqrt(r) * (fit.scores[2] - fit.scores[5]) / se)
    assert fit.prob_better(2, 5) == pytest.approx(wanted)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("q", [0.01, 1.0, 4.0, 60.0])
def test_two_or_three_scores_by_integration(n, q):
    """1 - r is the mean of the share of error u, uniform before, given q."""
    weight = [
        quad(lambda u, k=k: u ** ((n - 1) / 2 + k) * np.exp(-u * q / 2), 0, 1)[0] for k in (0, 1)
    ]
    r = poe.scatter.james_stein(q, n)
    assert r == pytest.approx(1.0 - weight[1] / weight[0], rel=1e-6)


@pytest.mark.parametrize("n", [2, 3])
def test_of_two_or_three_it_is_right_on_average(n):
    """Over spreads from a third of an error to five; a flat prior's classes claim too much."""
    rng = np.random.default_rng(0)
    spread = rng.choice([0.3, 0.7, 1.0, 2.0, 5.0], 6000)[:, None]
    true = spread * rng.standard_normal((6000, n))
    seen = true + rng.standard_normal(true.shape)
    seen -= seen.mean(axis=1, keepdims=True)
    z = (seen[:, 0] - seen[:, 1]) / np.sqrt(2.0)
    r = np.array([poe.scatter.james_stein(float(one @ one), n) for one in seen])
    right = z * (true[:, 0] - true[:, 1]) > 0.0
    said, plain = ndtr(np.sqrt(r) * np.abs(z)), ndtr(np.abs(z))
    assert said.mean() == pytest.approx(right.mean(), abs=0.03)
    assert plain.mean() - right.mean() > 0.04


@pytest.mark.parametrize("expert", ["gaussian", "logit-gaussian"])
@pytest.mark.parametrize("prior", [0.0, "fit"])
@pytest.mark.parametrize("second", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("covariance", ["paired", "scatter", "curvature"])
def test_two_equal_answers_are_no_certainty(expert, prior, second, covariance):
    one, other = second
    p = [0.9, 0.9 if one == "a" else 0.1]
    c = poe.Comparisons(first=["a", one], second=["b", other], p=p)
    fit = poe.fit(c, expert, prior=prior, covariance=covariance)
    assert fit.difference_se("a", "b") > 0.01
    assert 0.8 < fit.prob_better("a", "b") < 0.99


@pytest.mark.parametrize("covariance", ["paired", "scatter"])
def test_nor_are_they_for_bradley_terry(covariance):
    c = poe.Comparisons(first=["a", "a"], second=["b", "b"], p=[0.9, 0.9])
    assert 0.7 < poe.fit(c, bias=None, covariance=covariance).prob_better("a", "b") < 0.99


def test_judging_and_poe_stop_by_the_same_rule():
    import judging

    assert judging.top_known is poe.top_known


def test_answers_that_nearly_separate_have_probabilities_though_errors_lose_their_digits():
    """Curvatures of 1e-11 beside 0.2: rounding may leave a variance below zero."""
    rng = np.random.default_rng(3)
    quality = np.array([-14.0, -2.0, 4.5, 10.5, 0.0, 1.0])
    pairs = np.array([(i, j) for i in range(6) for j in range(6) if i != j])
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] + 0.5 * rng.standard_normal(len(pairs))
    c = poe.Comparisons.from_pairs(pairs, expit(d), items=6)
    for covariance in ("curvature", "scatter", "paired"):
        fit = poe.fit(c, covariance=covariance)
        assert fit.ranking()[0] == 3
        assert fit.prob_top(1).sum() == pytest.approx(1.0)
        assert 0.5 <= fit.prob_better(3, 0) <= 1.0


def test_a_text_that_hardly_anything_holds_leaves_the_others_told_apart():
    """One that always won has next to no error in rank and a huge one in score."""
    rng = np.random.default_rng(4)
    quality = np.array([1.5, 0.5, -0.5, -1.5, 0.0, 1.0, 30.0])
    pairs = np.array([(i, j) for i in range(7) for j in range(7) if i != j])
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] + 0.3 * rng.standard_normal(len(pairs))
    with_it = poe.fit(poe.Comparisons.from_pairs(pairs, expit(d), items=7), covariance="scatter")
    least = (pairs < 6).all(axis=1)
    without = poe.fit(
        poe.Comparisons.from_pairs(pairs[least], expit(d[least]), items=6), covariance="scatter"
    )
    assert without.prob_better(0, 3) > 0.99
    assert with_it.prob_better(0, 3) > 0.99
