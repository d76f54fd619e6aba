"""One covariate of every comparison, d - bias x: by hand, by SciPy, and what scores can imitate."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import poe
from poe.experts import Gaussian, Laplacian
from tests.poe.oracles import centred, design


def answers(quality, effect, x, pairs, *, noise=0.3, seed=0):
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] + effect * x
    d = d + noise * np.random.default_rng(seed).standard_normal(len(pairs))
    return poe.Comparisons.from_pairs(pairs, expit(d), items=len(quality))


def drawn(seed=0, n=7, count=40):
    rng = np.random.default_rng(seed)
    pairs = poe.select(n, count, rule="random", seed=seed)
    return rng.standard_normal(n), rng.standard_normal(count), pairs


def test_a_triangle_by_hand():
    """Round the triangle scores cancel: -bias (2 + 0 + 0) = 0.3 + 0.2 - 0.1."""
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.8, 0.7, 0.4])
    fit = poe.fit(c, "gaussian", bias="fit", covariate=[2, 0, 0])
    assert fit.bias == pytest.approx(-0.2)
    np.testing.assert_allclose(fit.scores, [0.0, 0.1, -0.1], atol=1e-12)  # a - b = 0.3 - 0.4
    assert fit.real.all()


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_scores_effect_and_errors_are_those_of_a_general_minimiser(solver, scale):
    quality, x, pairs = drawn()
    c = answers(quality, 0.8, x, pairs)
    fit = poe.fit(
        c, bias="fit", covariate=scale * x, solver=solver, tol=1e-9, covariance="curvature"
    )
    rows = np.column_stack([design(c), -x])

    def energy(unknown):
        return float(poe.BradleyTerry().energy(rows @ unknown, c.p).sum())

    best = minimize(energy, np.zeros(7), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(fit.scores, centred(best[:-1]), atol=1e-6)
    assert fit.bias == pytest.approx(best[-1] / scale, abs=1e-6 / scale)
    q = expit(rows @ best)
    errors = np.sqrt(np.diag(np.linalg.inv(rows.T @ ((q * (1 - q))[:, None] * rows))))
    assert fit.bias_se == pytest.approx(errors[-1] / scale, rel=1e-5)
    assert fit.difference_se(0, 3) == pytest.approx(errors[2], rel=1e-5)


def test_the_position_bias_is_the_covariate_one():
    quality, x, pairs = drawn(1)
    c = answers(quality, 0.5, np.ones(len(x)), pairs)
    one, other = poe.fit(c, bias="fit"), poe.fit(c, bias="fit", covariate=np.ones(len(x)))
    assert one.scores.tolist() == other.scores.tolist()
    assert (one.bias, one.bias_se) == (other.bias, other.bias_se)


def test_a_number_for_its_weight_is_taken_off_opinions():
    quality, x, pairs = drawn(2)
    c = answers(quality, 0.5, x, pairs)
    moved = poe.Comparisons.from_pairs(pairs, expit(logit(c.p) - 0.5 * x), items=7)
    expert = Gaussian(mean=logit)
    given = poe.fit(c, expert, bias=-0.5, covariate=x)
    np.testing.assert_allclose(given.scores, poe.fit(moved, expert).scores, atol=1e-9)
    first = Laplacian(mean=logit)
    by_program = poe.fit(c, first, bias=-0.5, covariate=x)
    assert by_program.energy == pytest.approx(poe.fit(moved, first).energy, abs=1e-7)


def test_scores_imitate_a_difference_of_the_texts_own_numbers():
    quality, x, pairs = drawn(3)
    length = np.arange(7.0)
    of_texts = length[pairs[:, 0]] - length[pairs[:, 1]]
    c = answers(quality, 0.5, of_texts, pairs)
    with pytest.raises(poe.UnidentifiedBiasError, match="covariate"):
        poe.fit(c, bias="fit", covariate=of_texts)
    # The control: where the same text comes in several lengths it is told from the scores.
    fit = poe.fit(answers(quality, 0.5, of_texts + x, pairs), bias="fit", covariate=of_texts + x)
    assert abs(fit.bias + 0.5) < 4.0 * fit.bias_se


@pytest.mark.parametrize("length", [None, np.arange(8.0)])
def test_where_a_prior_alone_tells_the_bias_errors_are_those_of_scores_alone(length):
    """Half of the texts are always shown first, or length is each text's own."""
    pairs = np.array([(i, j) for i in range(4) for j in range(4, 8)] * 2)
    x = np.ones(len(pairs)) if length is None else length[pairs[:, 0]] - length[pairs[:, 1]]
    c = answers(np.random.default_rng(1).standard_normal(8), 0.4, x, pairs)
    fit = poe.fit(c, bias="fit", covariate=x, prior=1e-6)
    alone = poe.fit(c)
    assert fit.scatter.freedom == alone.scatter.freedom
    assert fit.scatter.size == pytest.approx(alone.scatter.size, rel=1e-3)
    assert fit.real.sum() == len(pairs)
    assert np.isfinite(fit.standard_errors()).all()


def test_decisions_that_go_with_it_have_no_finite_weight():
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[1.0, 0.0, 1.0])
    with pytest.raises(poe.SeparableError, match="one side of it"):
        poe.fit(c, bias="fit", covariate=[1, -2, 3], prior=0.1)
    for x in ([1, 2, 3], [1, -2, -3]):
        assert np.isfinite(poe.fit(c, bias="fit", covariate=x, prior=0.1).bias)
    ring = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[1.0, 1.0, 1.0])
    with pytest.raises(poe.SeparableError, match="weight of it"):
        poe.fit(ring, bias="fit", covariate=[1, 2, 3])


@pytest.mark.parametrize(
    ("covariate", "options", "error"),
    [
        ([1, 2], {"bias": "fit"}, poe.ComparisonError),
        ([1, np.nan, 2], {"bias": "fit"}, poe.ComparisonError),
        ([0, 0, 0], {"bias": "fit"}, poe.ComparisonError),
        ([1, 2, 0], {}, ValueError),
        ([1, 2, 0], {"bias": "mean"}, ValueError),
        ([1, 2, 0], {"bias": "fit", "prior": "fit", "expert": "gaussian"}, ValueError),
    ],
)
def test_what_is_no_covariate_is_refused(covariate, options, error):
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.8, 0.7, 0.4])
    with pytest.raises(error, match="covariate"):
        poe.fit(c, covariate=covariate, **options)
