"""Experts: derivatives against finite differences, densities against quadrature."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import poe
from poe.experts import Davidson, Huber, Laplacian, RaoKupper, Thurstone, get_expert

EXPERTS = {
    "gaussian": poe.Gaussian(alpha=2.0, sigma=0.7),
    "gaussian-general": poe.Gaussian(
        mean=lambda p: np.tan(p - 0.5), variance=lambda p: 0.2 + p * (1 - p)
    ),
    "bradley-terry": poe.BradleyTerry(),
    "davidson": Davidson(nu=0.7),
    "rao-kupper": RaoKupper(eta=0.7),
    "laplacian": Laplacian(alpha=2.0, scale=0.6),
    "laplacian-general": Laplacian(mean=lambda p: p**3, spread=lambda p: 0.5 + p),
    "thurstone": Thurstone(),
    "huber": Huber(alpha=1.5, sigma=0.8, delta=0.9),
    "huber-general": Huber(mean=lambda p: np.sin(p), sigma=0.5),
}
P = np.array([0.03, 0.2, 0.5, 0.77, 0.99])
H = 1e-4


def kinks(expert, p):
    """Where the slope or its derivative jumps, so that differences across say nothing."""
    if isinstance(expert, Laplacian):
        return [expert.f_mu(p)]
    if isinstance(expert, Huber):
        return [expert.f_mu(p) + sign * expert.delta * expert.sigma for sign in (-1, 1)]
    return []


@pytest.mark.parametrize("expert", EXPERTS.values(), ids=EXPERTS)
class TestEveryExpert:
    def test_slope_and_curvature_are_the_derivatives(self, expert):
        d = np.linspace(-6, 6, 41)[:, None] + 0 * P
        p = P + 0 * d
        smooth = np.all([np.abs(d - kink) > 2 * H for kink in kinks(expert, p)] or [d == d], axis=0)
        assert smooth.mean() > 0.95
        second = getattr(expert, "second_derivative", expert.curvature)
        slope = (expert.energy(d + H, p) - expert.energy(d - H, p)) / (2 * H)
        curve = (expert.slope(d + H, p) - expert.slope(d - H, p)) / (2 * H)
        np.testing.assert_allclose(expert.slope(d, p)[smooth], slope[smooth], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(second(d, p)[smooth], curve[smooth], rtol=1e-6, atol=1e-7)

    def test_density_integrates_to_one(self, expert):
        for p in P:
            at, q = float(expert.opinion(np.array(p))), np.array(p)
            # The test below proves the constant to be one.
            constant = expert.log_density(np.array(at), q) + expert.energy(np.array(at), q)

            def density(d, constant=constant, q=q):
                return np.exp(constant - expert.energy(np.array(d), q))

            # An integrator needs to be told where the kinks are.
            near = sorted({at, *(float(kink) for kink in kinks(expert, np.array(p)))})
            parts = [-np.inf, *near, np.inf]
            mass = sum(
                quad(density, low, high, epsabs=1e-11, epsrel=1e-11, limit=400)[0]
                for low, high in itertools.pairwise(parts)
            )
            assert mass == pytest.approx(1.0, abs=1e-8)

    def test_density_and_energy_differ_by_a_constant_in_d(self, expert):
        d = np.linspace(-5, 5, 11)[:, None] + 0 * P
        gap = expert.log_density(d, P + 0 * d) + expert.energy(d, P + 0 * d)
        np.testing.assert_allclose(gap - gap[0], 0, atol=1e-12)

    def test_the_opinion_is_the_mode_of_the_density(self, expert):
        at = expert.opinion(P)
        np.testing.assert_allclose(expert.slope(at, P), 0, atol=1e-12)
        for away in (-0.3, 0.02, 2.0):
            assert (expert.log_density(at + away, P) < expert.log_density(at, P)).all()

    def test_mean_bias_is_minus_the_opinion(self, expert):
        for p in P:
            expected = -float(expert.opinion(np.array([p]))[0])
            assert expert.mean_bias(p) == pytest.approx(expected, abs=1e-12)


class TestBradleyTerry:
    def test_normaliser_is_the_papers(self):
        """Z = pi / sin(pi p), paper 3.2."""
        at_zero = poe.BradleyTerry().log_density(np.zeros(5), P)
        np.testing.assert_allclose(at_zero, np.log(0.5) - np.log(np.pi / np.sin(np.pi * P)))

    def test_mean_is_the_papers(self):
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

    def test_survives_huge_differences(self):
        expert = poe.BradleyTerry()
        d, p = np.array([-1e4, 1e4]), np.array([0.3, 0.3])
        np.testing.assert_allclose(expert.energy(d, p), [0.3e4, 0.7e4])
        np.testing.assert_allclose(expert.slope(d, p), [-0.3, 0.7])


class TestThurstone:
    def test_safe_in_the_tails(self):
        d = np.array([-1e5, -40.0, 40.0, 1e5])
        win = np.ones(4)
        # log Phi(-40) = -804.608442... and Phi(40) is one.
        energy = Thurstone().energy(d, win)
        np.testing.assert_allclose(energy[1:3], [-norm.logcdf(-40.0), 0.0], atol=1e-12)
        assert energy[0] == pytest.approx(0.5e10, rel=1e-8)
        slope = Thurstone().slope(d, win)
        # phi / Phi is about |d| + 1/|d| far to the left.
        np.testing.assert_allclose(slope[:2], [-1e5, -(40 + 1 / 40 - 2 / 40**3)], rtol=1e-6)
        np.testing.assert_allclose(slope[2:], 0.0, atol=1e-300)
        curve = Thurstone().curvature(np.array([-1e7, -1000.1, -999.9, -40.0, 40.0]), np.ones(5))
        np.testing.assert_allclose(
            curve, [1, 1 - 1e-6, 1 - 1e-6, 1 - 1 / 1600 + 6 / 1600**2, 0], atol=1e-7
        )


class TestRobust:
    def test_huber_by_hand(self):
        """With sigma 1 and delta 1: half a square up to 1, then u - 1/2."""
        expert = Huber(sigma=1.0, delta=1.0)
        d, p = np.array([0.5, 1.0, 3.0, -3.0]), np.full(4, 0.5)
        np.testing.assert_allclose(expert.energy(d, p), [0.125, 0.5, 2.5, 2.5])
        np.testing.assert_allclose(expert.slope(d, p), [0.5, 1.0, 1.0, -1.0])


def test_laplacian_information_is_the_mean_square_of_the_slope():
    expert = EXPERTS["laplacian"]
    for p in (0.1, 0.8):

        def integrand(d, p=p):
            d, p = np.array(d), np.array(p)
            return expert.slope(d, p) ** 2 * np.exp(expert.log_density(d, p))

        at = float(expert.f_mu(np.array(p)))
        mean = quad(integrand, -np.inf, at)[0] + quad(integrand, at, np.inf)[0]
        assert expert.information(np.array([0.0]), np.array([p]))[0] == pytest.approx(mean)


def test_bad_experts_are_refused():
    with pytest.raises(ValueError, match="is called 'gausian'; choose from bradley-terry"):
        get_expert("gausian")
    with pytest.raises(TypeError, match=r"an expert needs energy.*poe\.experts\.custom"):
        get_expert(object())
    with pytest.raises(ValueError, match="sigma must be positive"):
        poe.Gaussian(sigma=0.0)


def test_whole_probabilities_do_not_cut_off_spreads():
    d, p = np.array([0.2]), np.array([1])
    for expert in (poe.Laplacian(scale=0.5), poe.Gaussian(sigma=0.5)):
        for number in (expert.energy, expert.log_density):
            assert number(d, p) == number(d, p.astype(float))
