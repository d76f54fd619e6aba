"""The simulated judge does what its four parameters say, and a wrong one is caught."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import kstest, norm, pearsonr

from poe.judges import SimulatedJudge

QUALITY = np.random.default_rng(0).normal(size=60)
OFF = ~np.eye(60, dtype=bool)


def noise_of(judge, *, sharpness, bias):
    gaps = sharpness * (QUALITY[:, None] - QUALITY)[OFF] + bias
    return logit(judge.matrix()[OFF]) - gaps


def test_noiseless_answers_are_the_formula():
    p = SimulatedJudge([1.0, 0.5, -2.0], sharpness=2.0, bias=0.3).matrix()
    assert p[0, 2] == pytest.approx(expit(2.0 * 3.0 + 0.3))
    assert p[2, 0] == pytest.approx(expit(-2.0 * 3.0 + 0.3))
    assert np.isnan(np.diag(p)).all()


def test_the_noise_is_normal_with_its_stated_spread():
    judge = SimulatedJudge(QUALITY, sharpness=1.5, noise=0.7, bias=-0.4, seed=1)
    gaps = (QUALITY[:, None] - QUALITY)[OFF]

    def believable(*, sharpness=1.5, bias=-0.4, noise=0.7):
        rest = noise_of(judge, sharpness=sharpness, bias=bias) / noise
        spread = abs(rest.std() - 1) * np.sqrt(2 * len(rest))  # in standard errors
        normal, level = kstest(rest, "norm").pvalue, pearsonr(rest, gaps).pvalue
        return spread < 4 and normal > 1e-4 and level > 1e-4

    assert believable()
    # Negative controls: each parameter misstated by a little must be found out.
    assert not believable(noise=0.75)
    assert not believable(bias=-0.3)
    assert not believable(sharpness=1.45)


def test_the_two_orders_err_independently():
    judge = SimulatedJudge(QUALITY, noise=1.0, seed=2)
    forth = judge.logits - (QUALITY[:, None] - QUALITY)
    upper = np.triu_indices(60, 1)
    r = np.corrcoef(forth[upper], forth.T[upper])[0, 1]
    assert abs(r) < 4 / np.sqrt(len(upper[0]))


def test_bias_is_the_first_position_rate_between_equals():
    judge = SimulatedJudge(np.zeros(60), bias=1.2, noise=0.0)
    assert judge.matrix()[OFF] == pytest.approx(expit(1.2))
    noisy = SimulatedJudge(np.zeros(60), bias=1.2, noise=1.0, seed=3).matrix()[OFF]
    first = (noisy > 0.5).mean()
    assert abs(first - norm.cdf(1.2)) < 4 * np.sqrt(0.25 / OFF.sum())


def test_asking_twice_gives_the_same_answer():
    judge = SimulatedJudge(QUALITY[:5], noise=1.0, seed=4)
    pairs = np.array([[0, 1], [1, 0], [0, 1]])
    p = judge.answer(pairs)
    assert p[0] == p[2]
    assert p[0] != 1 - p[1]
    assert judge.compare(pairs, items=list("abcde")).items == tuple("abcde")


def test_seeds_decide():
    a, b, c = (SimulatedJudge(QUALITY, noise=1, seed=s).matrix()[OFF] for s in (5, 5, 6))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_many_contexts_at_once():
    quality = np.random.default_rng(1).normal(size=(3, 4, 6))
    judge = SimulatedJudge(quality)
    pairs = np.tile([[0, 5], [2, 1]], (3, 4, 1, 1))
    expected = expit(quality[..., [0, 2]] - quality[..., [5, 1]])
    np.testing.assert_allclose(judge.answer(pairs), expected)


def test_leading_axes_broadcast():
    judge = SimulatedJudge([0.0, 1.0, 3.0])
    pairs = np.array([[[0, 1]], [[2, 0]], [[1, 2]]])
    np.testing.assert_allclose(judge.answer(pairs)[:, 0], expit([-1.0, 3.0, -2.0]))
    many = SimulatedJudge(np.array([[0.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_allclose(many.answer(np.array([[0, 1]]))[:, 0], expit([-1.0, -2.0]))


def test_refusals():
    with pytest.raises(ValueError, match="standard deviation"):
        SimulatedJudge(QUALITY, noise=-1)
    with pytest.raises(ValueError, match="finite"):
        SimulatedJudge([0.0, np.nan])
    with pytest.raises(ValueError, match="one context"):
        SimulatedJudge(np.zeros((2, 3))).compare(np.array([[0, 1]]))
