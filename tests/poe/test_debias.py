"""Position bias: the formulas, the joint estimate, and when it cannot be had."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import judging
import poe
from poe import debias
from tests.poe.oracles import centred, design, logistic


def biased(seed, *, gamma=-1.0, count=80):
    """A judge that prefers the first position by -gamma logits."""
    rng = np.random.default_rng(seed)
    judge = judging.SimulatedJudge(rng.standard_normal(12), noise=0.5, bias=-gamma, seed=rng)
    return judge.compare(poe.select(12, count, seed=rng))


class TestJointFit:
    @pytest.mark.needs("scikit-learn")
    def test_against_logistic_regression_with_an_intercept(self):
        c = biased(0)
        scores, bias = logistic(c, bias=True)
        fit = poe.fit(c, bias="fit")
        assert fit.bias == pytest.approx(bias, abs=1e-5)
        np.testing.assert_allclose(fit.scores, scores, atol=1e-5)

    def test_gaussian_against_lstsq_with_an_intercept(self):
        c = biased(1)
        theirs = np.linalg.lstsq(design(c, bias=True), c.p - 0.5, rcond=None)[0]
        fit = poe.fit(c, "gaussian", bias="fit")
        assert fit.bias == pytest.approx(theirs[-1], abs=1e-12)
        np.testing.assert_allclose(fit.scores, centred(theirs[:-1]), atol=1e-12)

    def test_standard_error_against_the_inverse_hessian(self):
        c = biased(2)
        fit = poe.fit(c, bias="fit", covariance="curvature")
        w = design(c, bias=True)
        d = fit.scores[c.first] - fit.scores[c.second] - fit.bias
        inverse = np.linalg.inv(w.T @ (expit(d) * expit(-d) * w.T).T)
        assert fit.bias_se == pytest.approx(np.sqrt(inverse[-1, -1]), rel=1e-9)
        one, other = 3, 7  # columns 2 and 6 once item 0 is dropped
        variance = inverse[2, 2] + inverse[6, 6] - 2 * inverse[2, 6]
        assert fit.difference_se(one, other) == pytest.approx(np.sqrt(variance), rel=1e-9)

    def test_a_prior_says_nothing_about_the_bias(self):
        """Ties that were never shown must not be read as a judge without preference."""
        c = biased(6, gamma=-2.0, count=132)
        plain, strong = poe.fit(c, bias="fit"), poe.fit(c, bias="fit", prior=50.0)
        assert np.abs(strong.scores).max() < 0.1, "the prior is strong enough to flatten scores"
        assert strong.bias == pytest.approx(-logit(c.p.mean()), abs=0.02)
        assert abs(plain.bias) > 1.5


class TestUnidentified:
    def test_a_chain_shown_one_way(self):
        c = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.7, 0.8])
        for expert in ("gaussian", "bradley-terry"):
            for solver in ("dense", "sparse"):
                with pytest.raises(poe.UnidentifiedBiasError, match="show some of the pairs"):
                    poe.fit(c, expert, bias="fit", solver=solver)

    @pytest.mark.parametrize("solver", ["dense", "sparse"])
    def test_a_prior_tells_it_from_the_scores(self, solver):
        """Its ties hold the scores and were shown in no order: one optimum, found by scipy too."""
        c = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.7, 0.8])

        def energy(x):  # two ties of weight 0.2 a pair
            a, b, c, gamma = x
            d = np.array([a - b - gamma, b - c - gamma])
            ties = np.array([a - b, b - c, a - c])
            answers = np.logaddexp(0.0, d) - np.array([0.7, 0.8]) * d
            return (
                answers.sum() + 0.2 * (np.logaddexp(0.0, ties) - 0.5 * ties).sum() + sum(x[:3]) ** 2
            )

        expected = minimize(energy, np.zeros(4), tol=1e-12).x
        fit = poe.fit(c, bias="fit", prior=0.1, solver=solver)
        assert [*fit.scores, fit.bias] == pytest.approx(expected, abs=1e-5)

    def test_two_steps_against_one_identify_it(self):
        c = poe.Comparisons(first=["a", "b", "a"], second=["b", "c", "c"], p=[0.7, 0.8, 0.8])
        fit = poe.fit(c, bias="fit")
        expected = logit(0.8) - logit(0.7) - logit(0.8)  # one gamma against two
        assert fit.bias == pytest.approx(expected, abs=1e-8)

    def test_decisions_that_a_preference_explains_completely(self):
        c = poe.Comparisons.from_pairs(
            [[0, 1], [1, 0], [1, 2], [2, 1], [0, 2], [2, 0]], [1.0] * 6, items=3
        )
        assert poe.fit(c).scores == pytest.approx([0, 0, 0])
        with pytest.raises(poe.SeparableError, match="preference for the first position"):
            poe.fit(c, bias="fit")

    @pytest.mark.parametrize("solver", ["dense", "sparse"])
    @pytest.mark.parametrize(("p", "side"), [(1.0, "first"), (0.0, "second")])
    def test_a_prior_on_the_scores_does_not_hold_the_bias(self, solver, p, side):
        """Ties of a prior were shown in no order, so nothing pulls the bias back."""
        pairs = [[0, 1], [2, 0], [1, 2]]
        c = poe.Comparisons.from_pairs(pairs, [p] * 3, items=3)
        with pytest.raises(poe.SeparableError, match=f"to the {side} position.*bias as a number"):
            poe.fit(c, bias="fit", prior=0.5, solver=solver)
        # The controls: one answer to the other position, or one that is no decision.
        for other in (1.0 - p, 0.5, abs(p - 1e-3)):
            c = poe.Comparisons.from_pairs(pairs, [p, p, other], items=3)
            assert abs(poe.fit(c, bias="fit", prior=0.5, solver=solver).bias) < 10.0


class TestPlugIns:
    def test_mean_bias_of_the_paper(self):
        c = biased(8)
        assert debias.mean_bias(c) == pytest.approx(-logit(c.p.mean()))
        assert debias.mean_bias(c, "gaussian") == pytest.approx(0.5 - c.p.mean())


class TestReweight:
    @pytest.mark.parametrize("count", [80, 81])
    def test_both_positions_win_equally_often(self, count):
        c = biased(11, count=count)
        moved, tau = debias.reweight(c)
        hard = moved.hard().p
        assert abs(hard.sum() - count / 2) <= 0.5
        assert tau == pytest.approx(np.median(c.p), abs=0.02)

    def test_alpha_and_tau_are_one(self):
        """Multiplying P(first) by alpha and renormalising is a shift of the logit."""
        c = biased(12)
        moved, tau = debias.reweight(c)
        alpha = (1 - tau) / tau
        np.testing.assert_allclose(moved.p, alpha * c.p / (alpha * c.p + 1 - c.p))

    @pytest.mark.parametrize(
        ("p", "tau"), [([0, 0, 0.7, 0.8], 0.7), ([0, 0, 1, 1], 0.5), ([0.2, 0.3, 1, 1], 0.3)]
    )
    def test_half_certain_answers_have_a_threshold_beside_the_others(self, p, tau):
        c = poe.Comparisons.from_pairs([[0, 1], [1, 0], [1, 0], [0, 1]], p, items=2)
        moved, found = debias.reweight(c)
        assert moved.hard().p.sum() == 2.0
        mirrored = poe.Comparisons.from_pairs(c.pairs, 1.0 - c.p, items=2)
        assert debias.reweight(mirrored)[1] == pytest.approx(1.0 - found)
        assert abs(found - tau) < 0.4

    def test_mostly_certain_answers_are_refused(self):
        c = poe.Comparisons.from_pairs([[0, 1], [1, 2], [0, 2]], [1, 1, 0.4], items=3)
        with pytest.raises(ValueError, match="ask in both orders"):
            debias.reweight(c)


class TestRate:
    def test_by_hand(self):
        c = poe.Comparisons.from_pairs([[0, 1], [1, 2], [0, 2]], [0.9, 0.5, 0.2], items=3)
        assert debias.first_position_rate(c).rate == pytest.approx(0.5)

    def test_against_statsmodels_formula_of_wilson(self):
        c = poe.Comparisons.from_pairs([[0, 1]] * 50, [1.0] * 40 + [0.0] * 10, items=2)
        rate, low, high = debias.first_position_rate(c)
        # Wilson's limits solve (rate - x)^2 = z^2 x (1 - x) / n.
        for x in (low, high):
            assert (rate - x) ** 2 == pytest.approx(1.959964**2 * x * (1 - x) / 50, rel=1e-5)


def test_weights_are_repeats():
    pairs, p, times = np.array([[0, 1], [1, 2], [0, 2]]), np.array([0.6, 0.2, 0.9]), [1, 3, 5]
    weighted = poe.Comparisons.from_pairs(pairs, p, items=3, weight=times)
    repeated = poe.Comparisons.from_pairs(
        np.repeat(pairs, times, axis=0), np.repeat(p, times), items=3
    )
    assert debias.reweight(weighted)[1] == pytest.approx(debias.reweight(repeated)[1])
    assert debias.first_position_rate(weighted) == pytest.approx(
        debias.first_position_rate(repeated)
    )
