"""poe.fit: optimality against independent solvers, invariances, uncertainty, refusals."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import poe
from tests.helpers import random_comparisons
from tests.poe.oracles import logistic

SEEDS = st.integers(0, 10_000)
EXPERTS = ["gaussian", "bradley-terry"]


def anchored(c, beta=0.5):
    """The paper's eq. 11, written out with W-tilde and an explicit inverse."""
    w = c.matrix(anchor=True)
    mu = np.concatenate([[0.0], c.p - beta])
    return np.linalg.inv(w.T @ w) @ w.T @ mu


class TestGaussian:
    def test_against_the_papers_anchored_formula(self):
        c = random_comparisons(1)
        paper = anchored(c)
        assert paper[0] == pytest.approx(0, abs=1e-12), "the anchor pins item 1 at zero"
        np.testing.assert_allclose(poe.fit(c, "gaussian").scores, paper - paper.mean(), atol=1e-12)

    def test_general_mean_and_variance_against_weighted_lstsq(self):
        c = random_comparisons(2)
        expert = poe.Gaussian(mean=lambda p: (p - 0.5) ** 3, variance=lambda p: 0.1 + p)
        root = np.sqrt(0.1 + c.p)
        theirs = np.linalg.lstsq(c.matrix() / root[:, None], (c.p - 0.5) ** 3 / root, rcond=None)[0]
        np.testing.assert_allclose(poe.fit(c, expert).scores, theirs, atol=1e-12)

    def test_four_items_by_hand(self):
        """A chain a-b-c-d has no conflict, so every expert gets its way: steps .4, .1, -.2."""
        c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "d"], p=[0.9, 0.6, 0.3])
        np.testing.assert_allclose(
            poe.fit(c, "gaussian").scores, [0.3, -0.1, -0.2, 0.0], atol=1e-15
        )

    def test_full_set_is_the_average_probability(self):
        """Paper A.3: with all comparisons the scores are its deviations, times alpha (N-1)/N."""
        n, pairs = 7, poe.select(7, 42, seed=0)
        c = poe.Comparisons.from_pairs(pairs, np.random.default_rng(0).random(42), items=n)
        mean = poe.average_probability(c)
        expected = 2.0 * (n - 1) / n * (mean - mean.mean())
        np.testing.assert_allclose(poe.fit(c, poe.Gaussian(alpha=2.0)).scores, expected, atol=1e-12)

    def test_alpha_is_a_unit_and_sigma_is_silent(self):
        c = random_comparisons(4)
        plain = poe.fit(c, "gaussian").scores
        np.testing.assert_allclose(poe.fit(c, poe.Gaussian(alpha=3)).scores, 3 * plain, atol=1e-12)
        np.testing.assert_allclose(poe.fit(c, poe.Gaussian(sigma=9)).scores, plain, atol=1e-12)


class TestBradleyTerry:
    @pytest.mark.needs("scikit-learn")
    def test_against_logistic_regression(self):
        c = random_comparisons(5)
        np.testing.assert_allclose(poe.fit(c).scores, logistic(c), atol=2e-6)


@pytest.mark.parametrize("expert", EXPERTS)
class TestProperties:
    @given(seed=SEEDS)
    @settings(max_examples=25, deadline=None)
    def test_names_orders_and_signs(self, expert, seed):
        """Scores follow their items, whoever is shown first, and turn round with the answers."""
        c, order = random_comparisons(seed), np.random.default_rng(seed).permutation(9)
        scores = poe.fit(c, expert).scores
        assert abs(scores.mean()) < 1e-10
        renamed = poe.Comparisons(first=c.first, second=c.second, p=c.p, items=order.tolist())
        swapped = poe.Comparisons.from_pairs(c.pairs[:, ::-1], 1 - c.p, items=9)
        opposite = poe.Comparisons.from_pairs(c.pairs, 1 - c.p, items=9)
        for other, expected in ((renamed, scores[order]), (swapped, scores), (opposite, -scores)):
            np.testing.assert_allclose(poe.fit(other, expert).scores, expected, atol=1e-8)


class TestBias:
    def test_gaussian_bias_is_the_papers_beta(self):
        """D - gamma around (p - 1/2) is d around (p - beta) with beta = mean p (eqs. 11, 12)."""
        c = random_comparisons(10, count=30)
        paper = anchored(c, beta=c.p.mean())
        ours = poe.fit(c, "gaussian", bias="mean").scores
        np.testing.assert_allclose(ours, paper - paper.mean(), atol=1e-12)

    def test_bradley_terry_bias_is_an_offset_of_the_logit(self):
        c = random_comparisons(11, count=30)
        gamma = -np.log(c.p.mean() / (1 - c.p.mean()))
        s = poe.fit(c, bias="mean").scores
        residual = expit(s[c.first] - s[c.second] - gamma) - c.p
        np.testing.assert_allclose(c.matrix().T @ residual, 0, atol=1e-8)


class TestUncertainty:
    def test_covariance_against_the_papers_inverse(self):
        """Differences have the same variance whichever item is pinned (paper eq. 8)."""
        c = random_comparisons(12)
        ours = poe.fit(c, poe.Gaussian(sigma=0.3)).covariance()
        w = c.matrix(anchor=True)
        paper = 0.09 * np.linalg.inv(w.T @ w)
        np.testing.assert_allclose(
            c.matrix() @ ours @ c.matrix().T, c.matrix() @ paper @ c.matrix().T, atol=1e-12
        )
        np.testing.assert_allclose(ours.sum(axis=0), 0, atol=1e-12)

    def test_sigma_is_the_scatter_of_the_residuals(self):
        """The sum of squares over K - (N - 1)."""
        c = random_comparisons(13)
        fit = poe.fit(c, "gaussian", covariance="curvature")
        unit = poe.fit(c, poe.Gaussian(sigma=1.0))
        residual = fit.scores[c.first] - fit.scores[c.second] - (c.p - 0.5)
        variance = (fit.difference_se(0, 1) / unit.difference_se(0, 1)) ** 2
        assert variance == pytest.approx(residual @ residual / (len(c) - 8))

    def test_intervals_of_a_known_variance_are_the_normal_quantiles(self):
        fit = poe.fit(random_comparisons(13), covariance="curvature")
        for level, quantile in ((0.95, 1.959964), (0.5, 0.674490)):
            half = quantile * fit.standard_errors()
            expected = np.column_stack([fit.scores - half, fit.scores + half])
            np.testing.assert_allclose(fit.interval(level), expected, atol=1e-5)

    def test_prob_better(self):
        c = random_comparisons(14, names=list("abcdefghi"))
        fit = poe.fit(c)
        best, worst = fit.ranking()[0], fit.ranking()[-1]
        assert fit.prob_better(best, worst) > 0.9
        assert fit.prob_better("b", "e") + fit.prob_better("e", "b") == pytest.approx(1)
        assert fit.prob_better("b", "b") == 0.5
        with pytest.raises(KeyError, match="no item is called 'z'"):
            fit.prob_better("z", "a")


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"bias": "median"}, ValueError, "bias must be None, 'mean', 'fit' or a number"),
            ({"expert": "laplacian", "bias": "fit"}, ValueError, "give the bias as a number"),
            ({"max_steps": 1}, poe.NotConvergedError, "no optimum after 1 steps"),
        ],
    )
    def test_what_cannot_be_asked(self, options, error, message):
        with pytest.raises(error, match=message):
            poe.fit(**{"comparisons": random_comparisons(0)} | options)

    def test_what_a_fit_cannot_say(self):
        tree = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.6, 0.7])
        with pytest.raises(ValueError, match="leave no residuals to estimate sigma"):
            poe.fit(tree, "gaussian").interval()

    def test_certain_answers_have_no_finite_soft_scores(self):
        c = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[1.0, 0.6])
        with pytest.raises(poe.SeparableError, match=r"item 'a' never lost to the rest.*prior"):
            poe.fit(c, "bradley-terry")
        assert poe.fit(c, "gaussian").converged, "Gaussian experts need no such condition"
        assert poe.fit(c, "bradley-terry", prior=0.5).converged


class TestLaplacian:
    def test_the_objective_of_the_linear_program(self):
        c = random_comparisons(20, count=50)
        fit = poe.fit(c, "laplacian", bias=0.1)
        program = poe.lp.laplacian_program(c, poe.Laplacian(), bias=0.1)
        program.problem.solve()
        assert fit.energy == pytest.approx(program.problem.value, rel=1e-7)
        assert fit.method == "linear program"
        assert fit.converged


def test_energies_that_are_not_convex_start_where_they_can_see_the_best_mode():
    """Student's t with three degrees of freedom: zero scores are a poor place to start."""
    nu, sigma = 3.0, 0.1

    def squared(d, p):
        return ((d - p + 0.5) / sigma) ** 2

    def weight(d, p):
        return (nu + 1.0) / (nu + squared(d, p)) / sigma**2

    expert = poe.experts.custom(
        lambda d, p: 0.5 * (nu + 1.0) * np.log1p(squared(d, p) / nu),
        lambda d, p: (d - p + 0.5) * weight(d, p),
        weight,
        convex=False,
    )
    c = random_comparisons(22, n=10, count=60)
    fit = poe.fit(c, expert, max_steps=1000)
    squares = poe.fit(c, "gaussian")
    d = squares.scores[c.first] - squares.scores[c.second]
    assert fit.energy <= expert.energy(d, c.p).sum()
    assert fit.unique is None


def test_answers_that_tell_nothing_leave_two_items_even():
    c = poe.Comparisons.from_pairs([(0, 1), (1, 2), (2, 0), (1, 0)], [0.5] * 4, items=3)
    assert poe.fit(c, "gaussian").prob_better(0, 1) == 0.5
    ring = [(i, (i + 1) % 999) for i in range(999)]
    many = poe.Comparisons.from_pairs(ring, [0.5] * 999, items=999)
    assert len(repr(poe.fit(many))) < 200


def test_no_curvature_is_no_certainty():
    """Every answer lies beyond delta, where Huber's expert is a constant pull."""
    circle = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[1, 1, 1])
    fit = poe.fit(circle, "huber")
    with pytest.raises(ValueError, match="no expert that links 'b', 'c' with the rest has any"):
        fit.rank_interval()


@pytest.mark.parametrize("bias", [None, "fit"])
def test_of_many_optima_it_is_said_that_there_are_many(bias):
    """Huber's experts are straight far out: the scores can move with the same energy, or not."""
    said = {True: 0, False: 0}
    for seed in range(50):
        rng = np.random.default_rng(seed)
        pairs = poe.select(5, 8, rule="random", seed=rng)
        c = poe.Comparisons.from_pairs(pairs, rng.random(8), items=5)
        fit = poe.fit(c, poe.experts.Huber(sigma=0.05), bias=bias)
        bends = fit.expert.second_derivative(fit.fitted_differences, c.p) > 0
        rows = np.column_stack([c.matrix(), np.ones(len(c))])[:, : 5 + (bias == "fit")]
        shift = np.arange(rows.shape[1]) < 5
        null = scipy.linalg.null_space(np.vstack([rows[bends], shift]))
        many = null.shape[1] > 0
        said[many] += 1
        assert fit.unique == (not many)
        if many:  # a little along it nothing changes
            d = fit.fitted_differences + 1e-5 * rows @ null[:, 0]
            assert fit.expert.energy(d, c.p).sum() == pytest.approx(fit.energy, rel=1e-6)
    assert min(said.values()) > 3
