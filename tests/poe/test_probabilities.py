"""Probabilities that one score is above another are right as often as they say."""

import numpy as np
import pytest
from scipy.special import expit, ndtr, stdtr

import poe
from judging.fitting import settled
from poe.luck import Luck, luck

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
    assert np.abs(off).max() < 6.0  # the sampling error of a class of so few judges is about two
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
    q = fit.scores @ fit.scores * (N - 1) / np.trace(centred @ noise @ centred)
    se = np.sqrt(noise[2, 2] + noise[5, 5] - 2.0 * noise[2, 5])
    lead = (fit.scores[2] - fit.scores[5]) / se
    assert fit.prob_better(2, 5) == pytest.approx(by_integration(q, N, np.inf, lead), abs=1e-8)


def by_integration(q, n, freedom, z):
    """P(the lead is real), over u on a fine grid; over the error too, where it is estimated."""
    if np.isinf(freedom):
        x = (np.arange(200_000) + 0.5) / 200_000  # the root of u
        log_w = (n - 1) * np.log(x) - q * x**2 / 2
        w = np.exp(log_w - log_w.max())
        return w @ ndtr(np.sqrt(1.0 - x**2) * z) / w.sum()
    x, variance = (np.arange(4000)[:, None] + 0.5) / 4000, np.exp(np.linspace(-8.0, 20.0, 601))
    u = x**2
    log_w = (n - 1) / 2 * np.log(u / variance) - q * u / variance / 2  # the spread of the scores
    log_w += -freedom / 2 * (np.log(variance) + 1.0 / variance)  # and of the estimate, in log e^2
    w = np.exp(log_w - log_w.max())
    return (w * ndtr(np.sqrt((1.0 - u) / variance) * z)).sum() / w.sum()


@pytest.mark.parametrize("freedom", [1.0, 2.0, 8.0, np.inf])
@pytest.mark.parametrize("n", [2, 3, 16, 400])
@pytest.mark.parametrize("of_luck", [0.2, 1.0, 3.0])  # times what errors alone would spread
def test_a_lead_by_integration(freedom, n, of_luck):
    q, z = of_luck * (n - 1), np.array([0.3, 1.5, 4.0])
    wanted = [by_integration(q, n, freedom, lead) for lead in z]
    assert luck(q, n, freedom).better(z) == pytest.approx(wanted, abs=2e-4)


@pytest.mark.parametrize("freedom", [3, 30])
@pytest.mark.parametrize("n", [2, 3, 16])
def test_it_is_right_as_often_as_it_says(n, freedom):
    """Where the root of u is uniform, as it takes for granted; the control takes whole leads."""
    rng = np.random.default_rng(0)
    r = 1.0 - rng.random(5000)[:, None] ** 2
    true = np.sqrt(r / (1.0 - r)) * rng.standard_normal((len(r), n))
    seen = true + rng.standard_normal(true.shape)
    variance = rng.chisquare(freedom, len(r)) / freedom
    q = seen.var(axis=1) * n / variance
    z = (seen[:, 0] - seen[:, 1]) / np.sqrt(2.0 * variance)
    said = np.array([luck(*one, n, freedom).better(lead) for *one, lead in zip(q, z, strict=True)])
    leads = np.where(z > 0, said, 1.0 - said)
    right, plain = z * (true[:, 0] - true[:, 1]) > 0.0, stdtr(freedom, np.abs(z))
    for k in range(5):
        some = (leads * 10.0).astype(int).clip(5, 9) == 5 + k
        off = leads[some].mean() - right[some].mean()
        assert abs(off) < 1.5 / np.sqrt(some.sum())  # three standard errors at the most
    assert plain.mean() - right.mean() > 0.02


def test_of_many_scores_it_is_one_number():
    """The scale separation reliability, for then nothing is left to average over."""
    for n, q in ((10_000, 14_000.0), (1_000_000, 1e9)):
        known = luck(q, n)
        assert known.mean == pytest.approx(1.0 - n / q, abs=5e-4)
        assert known.weight @ (known.share - known.mean) ** 2 < 3.0 / n


def test_draws_follow_what_is_known():
    known = luck(12.0, 6, 5.0)
    share, scale = known.draw(40_000, np.random.default_rng(0))
    assert share.mean() == pytest.approx(known.mean, abs=1e-3)
    error = scale * np.random.default_rng(1).standard_normal(len(share))
    for z in (0.5, 2.0):
        assert (error < np.sqrt(share) * z).mean() == pytest.approx(known.better(z), abs=0.01)


def test_without_error_or_spread():
    assert luck(np.inf, 5).mean == 1.0
    assert luck(0.0, 5).mean == pytest.approx(1.0 - 5.0 / 7.0)  # of u^1.5 on [0, 1]
    assert Luck.none(4.0).better(1.0) == pytest.approx(stdtr(4.0, 1.0))


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
