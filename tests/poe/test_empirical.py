"""The prior that the evidence chooses: normal densities, Gaussian processes, both limits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import poe
from poe import priors
from poe.errors import ComparisonError, DisconnectedError
from poe.experts import Gaussian, log_odds
from poe.stack import Stack


def drawn(seed, *, n=8, count=20, tau=0.3, sigma=0.15, gamma=0.0, weights=(1.0, 2.0)):
    """Comparisons of which the model is true (where p stays within 0 and 1), and the scores."""
    rng = np.random.default_rng(seed)
    s = tau * rng.standard_normal(n)
    first = rng.integers(n, size=count)
    second = (first + rng.integers(1, n, size=count)) % n
    weight = rng.choice(weights, count)
    noise = sigma / np.sqrt(weight) * rng.standard_normal(count)
    p = np.clip(0.5 - gamma + s[first] - s[second] + noise, 0.0, 1.0)
    pairs = np.column_stack([first, second])
    return poe.Comparisons.from_pairs(pairs, p, items=n, weight=weight), s


def log_density(c, sigma, tau, gamma=0.0):
    """Of the opinions p - 1/2, a comparison of weight 2 written down twice."""
    twice = np.repeat(np.arange(len(c)), c.weight.astype(int))
    w, opinion = c.matrix()[twice], c.p[twice] - 0.5 + gamma
    spread = sigma**2 * np.eye(len(opinion)) + tau**2 * w @ w.T
    return multivariate_normal.logpdf(opinion, np.zeros(len(opinion)), spread)


class TestEvidence:
    @pytest.mark.parametrize("bias", [None, 0.1, "fit"])
    def test_is_the_density_of_the_answers_and_nothing_has_more(self, bias):
        c, _ = drawn(0, gamma=0.07)
        fit = poe.fit(c, "gaussian", prior="fit", bias=bias)
        found = fit.prior
        said = log_density(c, found.sigma, found.tau, fit.bias)
        assert found.evidence == pytest.approx(said, abs=1e-9)

        def lost(x):
            gamma = x[2] if bias == "fit" else fit.bias
            return -log_density(c, *np.exp(x[:2]), gamma)

        best = minimize(lost, [-1.0, -1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7})
        assert found.evidence == pytest.approx(-best.fun, abs=1e-7)
        assert np.log([found.sigma, found.tau]) == pytest.approx(best.x[:2], abs=1e-3)

    def test_contexts_multiply(self):
        problems = [drawn(seed, weights=(1.0,))[0] for seed in range(4)]
        parts = [np.stack([getattr(c, k) for c in problems]) for k in ("first", "second", "p")]
        stack = Stack(8, *parts, np.ones((4, 20)))
        both = priors.solve(stack, pool=2)
        for pool in range(2):
            sigma, tau = both.prior.sigma[pool], both.prior.tau[pool]
            each = [log_density(c, sigma, tau) for c in problems[2 * pool : 2 * pool + 2]]
            assert both.prior.evidence[pool] == pytest.approx(sum(each))
        alone = priors.solve(stack, pool=1, bias="fit")
        for k, c in enumerate(problems):
            fit = poe.fit(c, "gaussian", prior="fit", bias="fit")
            np.testing.assert_allclose(alone.scores[k], fit.scores, atol=1e-9)
            assert alone.bias[k] == pytest.approx(fit.bias)
        with pytest.raises(ValueError, match="4 problems cannot be pooled 3"):
            priors.solve(stack, pool=3)


class TestScores:
    def test_ridge_regression_and_a_gaussian_process(self):
        c, _ = drawn(2)
        fit = poe.fit(c, "logit-gaussian", prior="fit", bias=0.2)
        w, opinion, n = c.matrix(), log_odds(c.p) + 0.2, c.n_items
        found = fit.prior
        noise = found.sigma**2 * np.diag(1.0 / c.weight)
        gain = found.tau**2 * w.T @ np.linalg.inv(found.tau**2 * w @ w.T + noise)
        np.testing.assert_allclose(fit.scores, gain @ opinion, atol=1e-12)
        centre = np.eye(n) - 1.0 / n  # what the answers say nothing about is left out
        posterior = found.tau**2 * (np.eye(n) - gain @ w)
        np.testing.assert_allclose(fit.covariance(), centre @ posterior @ centre, atol=1e-12)
        assert found.parameters == pytest.approx(np.trace(gain @ w))

    def test_the_papers_prior_is_a_ridge_of_one_strength(self):
        c, _ = drawn(3)
        wins, n = 1.0 / 7, c.n_items
        laplacian = c.matrix().T @ (c.weight[:, None] * c.matrix())
        push = c.matrix().T @ (c.weight * (c.p - 0.5))
        ridge = np.linalg.solve(laplacian + 2 * wins * n * np.eye(n), push)
        np.testing.assert_allclose(poe.fit(c, "gaussian", prior=wins).scores, ridge, atol=1e-9)

    def test_answers_without_noise_are_the_papers_gaussian(self):
        c, s = drawn(4, sigma=0.0, tau=0.1)
        fit = poe.fit(c, "gaussian", prior="fit")
        assert fit.prior.limit == -1
        np.testing.assert_allclose(fit.scores, poe.fit(c, "gaussian").scores, atol=1e-7)
        np.testing.assert_allclose(fit.scores, s - s.mean(), atol=1e-7)

    def test_answers_that_tell_nothing_keep_the_order_of_their_sums(self):
        """A round robin in which everyone beats the next: each item wins as much as it loses."""
        i, j = np.triu_indices(7, 1)
        cyclic = np.where((j - i) <= 3, 0.9, 0.1)
        cyclic[0] += 0.01
        c = poe.Comparisons.from_pairs(np.column_stack([i, j]), cyclic, items=7)
        fit = poe.fit(c, "gaussian", prior="fit")
        assert fit.prior.limit == 1
        assert fit.ranking()[0] == 0
        assert fit.ranking()[-1] == 1
        assert np.ptp(fit.scores) < 1e-6
        assert 0.5 < fit.prob_better(0, 1) < 0.501

    @pytest.mark.parametrize("bias", [None, "fit"])
    def test_a_large_problem_against_eigenvalues(self, bias):
        c, _ = drawn(5, n=600, count=1200, gamma=0.05)
        dense, sparse = (
            poe.fit(c, "gaussian", prior="fit", bias=bias, solver=k) for k in ("dense", "sparse")
        )
        error = np.sqrt(2.0 / (600 * 16))  # relative, of a trace
        assert len(c.components()) > 1, "some of the 600 items have no comparison"
        assert sparse.prior.ratio == pytest.approx(dense.prior.ratio, rel=3 * error)
        assert sparse.prior.parameters == pytest.approx(dense.prior.parameters, rel=error)
        assert sparse.prior.evidence == pytest.approx(dense.prior.evidence, abs=600 * error)
        assert sparse.bias == pytest.approx(dense.bias, abs=1e-4)
        np.testing.assert_allclose(sparse.scores, dense.scores, atol=0.01 * dense.prior.tau)
        assert sparse.gradient < 1e-9

    def test_large_fits_say_how_sure_they_are(self, monkeypatch):
        c, _ = drawn(6, n=40, count=90)
        fit = poe.fit(c, "gaussian", prior="fit", bias="fit")
        small = fit.difference_se(0, 1), fit.bias_se
        monkeypatch.setattr("poe.intervals.COVARIANCE_ITEMS", 10)
        assert (fit.difference_se(0, 1), fit.bias_se) == pytest.approx(small, rel=1e-6)


class TestPosterior:
    def test_intervals_cover_where_the_model_is_true_and_half_of_them_do_not(self):
        inside = []
        for seed in range(40):
            c, s = drawn(seed, n=80, count=200, tau=0.1, sigma=0.1, weights=(1.0,))
            fit = poe.fit(c, "gaussian", prior="fit")
            i, j = np.triu_indices(80, 1)
            spread = fit.covariance()
            error = np.sqrt(spread[i, i] + spread[j, j] - 2 * spread[i, j])
            gap = (fit.scores - s)[i] - (fit.scores - s)[j]
            inside.append([(np.abs(gap) < width * error).mean() for width in (1.96, 0.98)])
        whole, half = np.transpose(inside)
        assert abs(whole.mean() - 0.95) < 3 * whole.std() / np.sqrt(40)
        assert half.mean() < 0.75

    def test_groups_without_a_link(self):
        c = poe.Comparisons(first=[*"abcade"], second=[*"bcabed"], p=[0.8, 0.6, 0.3, 0.7, 0.6, 0.5])
        with pytest.raises(DisconnectedError):
            poe.fit(c, "gaussian")
        fit = poe.fit(c, "gaussian", prior="fit", bias="mean")
        scores = dict(zip(fit.items, fit.scores, strict=True))
        for group in ("abc", "de"):
            assert sum(scores[name] for name in group) == pytest.approx(0.0)
        assert fit.difference_se("c", "d") > fit.difference_se("d", "e")
        assert fit.interval().shape == (5, 2)


@pytest.mark.parametrize(
    ("expert", "options", "message"),
    [
        ("bradley-terry", {}, "a fitted prior needs Gaussian experts"),
        (Gaussian(sigma=0.1), {}, "a fitted prior needs Gaussian experts"),
        ("gaussian", {"prior": "best"}, "a number of wins or 'fit'"),
    ],
)
def test_refusals(expert, options, message):
    c, _ = drawn(7)
    with pytest.raises(ValueError, match=message):
        poe.fit(c, expert, **{"prior": "fit", **options})


def test_answers_of_one_half_have_no_prior():
    c = poe.Comparisons(first=["a"], second=["b"], p=[0.5])
    with pytest.raises(ComparisonError, match="every answer is one half"):
        poe.fit(c, "gaussian", prior="fit")


def test_log_odds_are_kept_within_a_thousandth():
    assert log_odds(np.array([0.0, 0.5, 1.0])) == pytest.approx([-np.log(999), 0.0, np.log(999)])
    assert log_odds(np.array([0.2]))[0] == pytest.approx(np.log(0.25))
