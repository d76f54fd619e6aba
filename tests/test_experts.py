"""Experts: derivatives against finite differences, densities against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import poe
from poe.experts import get_expert

EXPERTS = {
    "gaussian": poe.Gaussian(alpha=2.0, sigma=0.7),
    "gaussian-general": poe.Gaussian(
        mean=lambda p: np.tan(p - 0.5), variance=lambda p: 0.2 + p * (1 - p)
    ),
    "bradley-terry": poe.BradleyTerry(),
}
P = np.array([0.03, 0.2, 0.5, 0.77, 0.99])


@pytest.mark.parametrize("expert", EXPERTS.values(), ids=EXPERTS)
class TestEveryExpert:
    def test_slope_and_curvature_are_the_derivatives(self, expert):
        d = np.linspace(-6, 6, 41)[:, None] + 0 * P
        p, h = P + 0 * d, 1e-4
        slope = (expert.energy(d + h, p) - expert.energy(d - h, p)) / (2 * h)
        curve = (expert.slope(d + h, p) - expert.slope(d - h, p)) / (2 * h)
        np.testing.assert_allclose(expert.slope(d, p), slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(expert.curvature(d, p), curve, rtol=1e-6, atol=1e-7)

    def test_density_integrates_to_one(self, expert):
        for p in P:
            mass, _ = quad(
                lambda d, p=p: np.exp(expert.log_density(np.array(d), np.array(p))),
                -np.inf,
                np.inf,
                limit=400,
            )
            assert mass == pytest.approx(1.0, abs=1e-7)

    def test_density_and_energy_differ_by_a_constant_in_d(self, expert):
        d = np.linspace(-5, 5, 11)[:, None] + 0 * P
        gap = expert.log_density(d, P + 0 * d) + expert.energy(d, P + 0 * d)
        np.testing.assert_allclose(gap - gap[0], 0, atol=1e-12)


def test_bradley_terry_normaliser_is_the_papers():
    """Z = pi / sin(pi p), paper 3.2."""
    at_zero = poe.BradleyTerry().log_density(np.zeros(5), P)
    np.testing.assert_allclose(at_zero, np.log(0.5) - np.log(np.pi / np.sin(np.pi * P)))


def test_bradley_terry_mean_is_the_papers():
    """f_mu(p) = -pi cot(pi p), paper 3.5."""
    expert = poe.BradleyTerry()
    for p in (0.2, 0.5, 0.9):
        mean, _ = quad(
            lambda d, p=p: d * np.exp(expert.log_density(np.array(d), np.array(p))),
            -np.inf,
            np.inf,
            limit=400,
        )
        assert mean == pytest.approx(-np.pi / np.tan(np.pi * p), abs=1e-6)


def test_bradley_terry_is_improper_for_certain_answers():
    assert np.isneginf(poe.BradleyTerry().log_density(np.zeros(2), np.array([0.0, 1.0]))).all()


def test_bradley_terry_survives_huge_differences():
    expert = poe.BradleyTerry()
    d, p = np.array([-1e4, 1e4]), np.array([0.3, 0.3])
    np.testing.assert_allclose(expert.energy(d, p), [0.3e4, 0.7e4])
    np.testing.assert_allclose(expert.slope(d, p), [-0.3, 0.7])


def test_gaussian_density_is_scipys():
    expert = EXPERTS["gaussian"]
    d = np.linspace(-2, 2, 5)
    expected = norm.logpdf(d, loc=2.0 * (0.8 - 0.5), scale=0.7)
    np.testing.assert_allclose(expert.log_density(d, np.full(5, 0.8)), expected)


def test_mean_bias_of_the_paper():
    assert poe.Gaussian(alpha=3.0).mean_bias(0.78) == pytest.approx(3.0 * (0.5 - 0.78))
    assert poe.BradleyTerry().mean_bias(0.78) == pytest.approx(-np.log(0.78 / 0.22))


def test_bad_experts_are_refused():
    with pytest.raises(ValueError, match="no expert is called 'gausian'; choose from gaussian"):
        get_expert("gausian")
    with pytest.raises(TypeError, match="an expert needs energy"):
        get_expert(object())
    with pytest.raises(ValueError, match="sigma must be positive"):
        poe.Gaussian(sigma=0.0)
