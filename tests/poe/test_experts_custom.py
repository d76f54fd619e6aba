"""Experts of one's own: built, checked, refused with a message that helps."""

import doctest
import importlib

import numpy as np
import pytest
from scipy.special import logit

import poe
from poe.experts import ExpertError, check_expert, custom, get_expert
from poe.experts.normaliser import log_normaliser
from tests.poe.oracles import LogCosh

D = np.linspace(-4, 4, 33)
HALF = np.full_like(D, 0.5)


COSH = LogCosh()


def test_the_worked_example_runs():
    found = doctest.testmod(
        importlib.import_module("poe.experts.custom"), optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 6
    assert found.failed == 0


class TestCustom:
    def test_whatever_is_left_out_is_computed(self):
        full = custom(COSH.energy, COSH.slope, COSH.curvature)
        p = np.linspace(0.05, 0.95, 33)
        for part in (custom(COSH.energy), custom(COSH.energy, COSH.slope)):
            np.testing.assert_allclose(part.slope(D, p), full.slope(D, p), atol=1e-10)
            np.testing.assert_allclose(part.curvature(D, p), full.curvature(D, p), atol=1e-7)

    def test_density_opinion_and_bias_are_found(self):
        expert = custom(COSH.energy)
        p = np.array([0.02, 0.5, 0.9])
        np.testing.assert_allclose(expert.opinion(p), logit(p), atol=1e-9)
        assert expert.mean_bias(0.8) == pytest.approx(-logit(0.8))
        # 1 / (pi cosh z) is the density.
        expected = -np.log(np.pi * np.cosh(0.3 - logit(p)))
        np.testing.assert_allclose(expert.log_density(np.full(3, 0.3), p), expected, atol=1e-9)

    def test_energies_that_are_not_convex_say_so(self):
        def cauchy(d, p):
            return np.log1p((d - p + 0.5) ** 2)

        with pytest.raises(ExpertError, match=r"curvature is -.*not convex there.*convex=False"):
            custom(cauchy)
        with pytest.raises(ExpertError, match=r"with convex=False give a curvature"):
            custom(cauchy, convex=False)
        made = custom(
            cauchy, curvature=lambda d, p: 2 / (1 + (d - p + 0.5) ** 2), convex=False, name="cauchy"
        )
        assert not made.convex
        assert custom(COSH.energy).convex
        assert repr(made) == "custom expert 'cauchy'"
        # 1 / (pi (1 + z^2)) is the density, with tails that fall as slowly as any.
        np.testing.assert_allclose(
            made.log_density(D, HALF), -np.log(np.pi * (1 + D**2)), atol=1e-8
        )


class TestCheck:
    def test_every_smooth_expert_passes(self):
        for name in ("gaussian", "bradley-terry", "thurstone", "huber"):
            check_expert(get_expert(name))
        for expert in (
            COSH,
            poe.Gaussian(sigma=0.05),
            poe.Gaussian(alpha=20.0, sigma=5.0),
            poe.Gaussian(mean=np.sqrt, variance=lambda p: 0.1 + p),
        ):
            check_expert(expert, p=[0.11, 0.7])

    def test_a_wrong_derivative_is_refused(self):
        """Negative control: it would make a solver converge to the wrong place."""

        class Wrong(LogCosh):
            def slope(self, d, p):
                return -super().slope(d, p)

        with pytest.raises(ExpertError, match=r"at d = -0\.0117, p = .*slope does not match"):
            check_expert(Wrong())

    def test_a_kink_in_the_energy_is_no_mistake_but_no_use_either(self):
        with pytest.raises(ExpertError, match=r"zero everywhere.*Huber or Laplacian"):
            check_expert(poe.experts.Laplacian())


class TestQuadrature:
    def test_skew_narrow_and_wide_densities(self):
        """Two half-bells of widths 1e-4 and 1e4 have the area sqrt(pi / 2) times their sum."""

        def energy(d, p):
            return 0.5 * np.where(d > p, (d - p) * 1e4, (d - p) * 1e-4) ** 2

        p = np.array([[0.2, 0.7], [0.2, 0.9]])
        found = log_normaliser(energy, p, p)
        assert found.shape == (2, 2)
        np.testing.assert_allclose(found, np.log(np.sqrt(np.pi / 2) * (1e4 + 1e-4)), atol=1e-9)
