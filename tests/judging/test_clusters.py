"""Fits whose errors come from differences between clusters."""

import numpy as np
import pytest

import poe
from judging.practice.board import clusters
from tests.poe.test_one_of_each import decisions


class TestClusteredFits:
    def test_another_covariance_is_that_of_the_plain_fit(self):
        """It once answered to the name of the curvature with its own, clustered errors."""
        c = decisions()
        plain = poe.fit(c, bias="fit")
        held = clusters.clustered(plain, np.arange(len(c)) // 6)
        assert held.covariance_choice == "clustered"
        assert held.with_covariance("clustered") is held
        for choice in ("curvature", "scatter", "paired"):
            other = held.with_covariance(choice)
            expected = plain.with_covariance(choice)
            assert other.covariance_choice == choice
            np.testing.assert_allclose(other.covariance(), expected.covariance(), rtol=1e-12)
            assert np.abs(other.covariance() - held.covariance()).max() > 1e-3
        with pytest.raises(ValueError, match="covariance must be"):
            held.with_covariance("jackknife")
        with pytest.raises(ValueError, match="covariance must be"):
            plain.with_covariance("clustered")

    def test_a_covariate_has_clustered_errors_only(self):
        c = decisions()
        x = np.random.default_rng(2).standard_normal(len(c))
        held = clusters.clustered(poe.fit(c), np.arange(len(c)) // 6, x)
        with pytest.raises(ValueError, match="clustered errors only"):
            held.with_covariance("curvature")

    def test_the_optimum_with_a_covariate_is_one(self):
        """Where the gradient in every unknown vanishes, by differences of the energy."""
        c = decisions()
        x = np.random.default_rng(2).standard_normal(len(c))
        fit = clusters.clustered(poe.fit(c, bias="fit"), np.arange(len(c)) // 6, x)

        def energy(at):
            d = at[c.first] - at[c.second] - at[5] + at[6] * x
            return float(c.weight @ fit.expert.energy(d, c.p))

        at = np.array([*fit.scores, fit.bias, fit.covariate.size])
        assert energy(at) == pytest.approx(fit.energy, rel=1e-12)
        for step in 1e-4 * np.eye(7):
            assert abs(energy(at + step) - energy(at - step)) / 2e-4 < 1e-5 * len(c)
            assert min(energy(at + 100 * step), energy(at - 100 * step)) >= fit.energy
