"""The simulated judge does what its four parameters say, and a wrong one is caught."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import kstest, pearsonr

from judging.simulated import SimulatedJudge, simulated_answers

QUALITY = np.random.default_rng(0).normal(size=60)
GAPS = QUALITY[:, None] - QUALITY
OFF = ~np.eye(60, dtype=bool)


def test_noiseless_answers_are_the_formula():
    p = SimulatedJudge([1.0, 0.5, -2.0], sharpness=2.0, bias=0.3).matrix()
    assert p[0, 2] == pytest.approx(expit(2.0 * 3.0 + 0.3))
    assert p[2, 0] == pytest.approx(expit(-2.0 * 3.0 + 0.3))
    assert np.isnan(np.diag(p)).all()
    assert simulated_answers(3.0, sharpness=2.0, bias=0.3) == p[0, 2]
    assert simulated_answers([3.0, 0.0], noise=0.5, e=[2.0, -1.0]) == pytest.approx(
        expit([4.0, -0.5])
    )


def test_the_noise_is_normal_with_its_stated_deviation():
    judge = SimulatedJudge(QUALITY, sharpness=1.5, noise=0.7, bias=-0.4, seed=1)

    def believable(*, sharpness=1.5, bias=-0.4, noise=0.7):
        rest = (logit(judge.matrix()[OFF]) - sharpness * GAPS[OFF] - bias) / noise
        deviation = abs(rest.std() - 1) * np.sqrt(2 * len(rest))  # in standard errors
        normal, level = kstest(rest, "norm").pvalue, pearsonr(rest, GAPS[OFF]).pvalue
        other = (judge.logits - GAPS * sharpness - bias).T[OFF] / noise  # the order turned round
        orders = pearsonr(rest, other).pvalue
        return deviation < 4 and min(normal, level, orders) > 1e-4

    assert believable()
    # Negative controls: each parameter misstated by a little must be found out.
    assert not believable(noise=0.75)
    assert not believable(bias=-0.3)
    assert not believable(sharpness=1.45)


def require_shared(e, pairs, n, shared):
    """Of calls (K, 2) about n items: normal errors, corr(e_ij, e_ji) = -shared, and no others."""
    bound = 4.0 / np.sqrt(n * (n - 1) / 2)
    square = np.full((n, n), np.nan)
    square[pairs[:, 0], pairs[:, 1]] = e
    one, other = square[np.triu_indices(n, 1)], square.T[np.triu_indices(n, 1)]

    def believable(stated):
        # The mean of the two orders' statements about the difference: variance (1 + s) / 2.
        left = np.mean((one - other) ** 2) / 4.0
        return abs(np.mean(one * other) + stated) < bound and abs(left - (1 + stated) / 2) < bound

    assert kstest(one, "norm").pvalue > 1e-4
    assert kstest(other, "norm").pvalue > 1e-4
    assert believable(shared)
    assert not believable(shared - 0.1 if shared > 0 else shared + 0.1), "negative control"
    rows = square[:, 1:-1]  # neighbours, by the one position and by the other
    for a, b in ((rows[:-1], rows[1:]), (rows[:, :-1], rows[:, 1:])):
        known = ~np.isnan(a + b)
        assert abs(np.mean(a[known] * b[known])) < bound


@pytest.mark.parametrize("shared", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_both_orders_share_what_is_stated(shared):
    pairs = np.argwhere(~np.eye(400, dtype=bool))
    matrix = SimulatedJudge(np.zeros(400), noise=1.0, shared=shared, seed=1).logits
    require_shared(matrix[pairs[:, 0], pairs[:, 1]], pairs, 400, shared)


def test_an_error_about_the_items_survives_both_orders_and_one_about_the_place_does_not():
    about = {s: SimulatedJudge(QUALITY, noise=2.0, shared=s, seed=2).matrix() for s in (-1, 1)}
    np.testing.assert_allclose((about[1] + about[1].T)[OFF], 1.0)
    logits = logit(about[-1])
    np.testing.assert_allclose(((logits - logits.T) / 2.0)[OFF], GAPS[OFF], atol=1e-9)
    with pytest.raises(ValueError, match="shared is a correlation"):
        SimulatedJudge(QUALITY, noise=1.0, shared=1.2)


def test_asking_twice_gives_the_same_answer():
    judge = SimulatedJudge(QUALITY[:5], noise=1.0, seed=4)
    pairs = np.array([[0, 1], [1, 0], [0, 1]])
    p = judge.answer(pairs)
    assert p[0] == p[2]
    assert p[0] != 1 - p[1]
    assert judge.compare(pairs, items=list("abcde")).items == tuple("abcde")


def test_the_draws_are_those_of_every_earlier_version():
    """Results on record depend on the number and order of random draws."""
    rng = np.random.default_rng(5)
    judge = SimulatedJudge([1.0, 0.5, -2.0], sharpness=2.0, bias=0.3, noise=0.7, seed=rng)
    recorded = [0.5921713, 0.99781978, 0.39994643, 0.99539865, 0.0022674, 0.00522352]
    assert judge.matrix()[~np.eye(3, dtype=bool)] == pytest.approx(recorded, abs=1e-8)
    again = np.random.default_rng(5)
    e = again.standard_normal((3, 3))
    assert rng.random() == again.random()
    d = judge.quality[:, None] - judge.quality
    same = simulated_answers(d, sharpness=2.0, bias=0.3, noise=0.7, e=np.random.default_rng(5))
    np.testing.assert_array_equal(
        same, simulated_answers(d, sharpness=2.0, bias=0.3, noise=0.7, e=e)
    )
    np.testing.assert_array_equal(same[0, 1:], judge.matrix()[0, 1:])


def test_many_contexts_at_once_and_leading_axes_broadcast():
    quality = np.random.default_rng(1).normal(size=(3, 4, 6))
    pairs = np.tile([[0, 5], [2, 1]], (3, 4, 1, 1))
    expected = expit(quality[..., [0, 2]] - quality[..., [5, 1]])
    np.testing.assert_allclose(SimulatedJudge(quality).answer(pairs), expected)
    one = SimulatedJudge([0.0, 1.0, 3.0])
    sets = np.array([[[0, 1]], [[2, 0]], [[1, 2]]])
    np.testing.assert_allclose(one.answer(sets)[:, 0], expit([-1.0, 3.0, -2.0]))
    many = SimulatedJudge(np.array([[0.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_allclose(many.answer(np.array([[0, 1]]))[:, 0], expit([-1.0, -2.0]))


def test_positions_that_there_are_not():
    judge = SimulatedJudge(np.zeros(2))
    for pairs in ([(0, 2)], [(-1, 0)]):
        with pytest.raises(IndexError, match=r"lie in 0\.\.1"):
            judge.answer(pairs)
