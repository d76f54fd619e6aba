"""f_mu and f_sigma fitted from labelled comparisons, where the truth is known."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import poe

GRID = np.linspace(0.0, 1.0, 201)
MIDDLE = np.linspace(0.05, 0.95, 91)


def labelled(mean, sd, count, seed):
    """Probabilities and differences with a known conditional mean and deviation (simulated)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 0.8, count)
    return p, mean(p) + sd(p) * rng.standard_normal(count)


class TestTruthIsRecovered:
    @pytest.mark.parametrize(
        ("mean", "sd"),
        [
            (lambda p: 3.0 * (p - 0.5), lambda p: 0.5 + 0 * p),
            (lambda p: np.tanh(4 * (p - 0.4)), lambda p: 0.3 + 0.6 * p),
            (lambda p: p**3, lambda p: 0.5 - 0.9 * p * (1 - p)),
        ],
        ids=["linear", "saturating", "cubic"],
    )
    def test_mean_and_variance(self, mean, sd):
        p, d = labelled(mean, sd, 40_000, seed=5)
        expert = poe.Gaussian.from_labels(p, d)
        # 20 bins of 2000: four standard errors of a bin's mean and of its relative variance,
        # and a little for what a curve through 20 knots cannot follow.
        np.testing.assert_allclose(
            expert.f_mu(MIDDLE), mean(MIDDLE), atol=4 * sd(MIDDLE).max() / np.sqrt(2000) + 0.01
        )
        ratio = expert.f_sigma(MIDDLE) / sd(MIDDLE) ** 2
        np.testing.assert_allclose(ratio, 1.0, atol=4 * np.sqrt(2 / 2000) + 0.08)

    def test_errors_shrink_with_the_labels(self):
        def error(count):
            found = []
            for seed in range(6):
                p, d = labelled(lambda p: 2 * p, lambda p: 0.4 + 0 * p, count, seed)
                curve = poe.Gaussian.from_labels(p, d, bins=8)
                found.append(np.abs(curve.f_mu(MIDDLE) - 2 * MIDDLE).mean())
            return np.mean(found)

        few, many = error(400), error(40_000)
        # A hundred times the labels should give a tenth of the error.
        assert 5 < few / many < 20

    def test_from_qualities_and_a_judge(self):
        """Two normal variables: the mean and variance of one given the other are known.

        Differences x of standard deviation 1, the judge sees x + noise = z and answers
        p = Phi(z / sqrt 2), which is uniform; then E[x | p] = z / 2 and V[x | p] = 1/2.
        """
        rng = np.random.default_rng(8)
        x = rng.standard_normal(60_000)
        z = x + rng.standard_normal(60_000)
        p = ndtr(z / np.sqrt(2.0))
        expert = poe.Gaussian.from_labels(p, x, bins=40, symmetric=True)
        z_of = np.sqrt(2.0) * ndtri(MIDDLE)
        np.testing.assert_allclose(expert.f_mu(MIDDLE), z_of / 2.0, atol=0.05)
        np.testing.assert_allclose(expert.f_sigma(MIDDLE), 0.5, atol=0.06)

    def test_decisions_give_the_two_means(self):
        p = np.repeat([0.0, 1.0], 100)
        d = np.concatenate([np.tile([-1.0, -3.0], 50), np.tile([0.5, 1.5], 50)])
        expert = poe.Gaussian.from_labels(p, d)
        np.testing.assert_allclose(expert.f_mu(np.array([0.0, 1.0])), [-2.0, 1.0])
        # 200 comparisons less two fitted means.
        correction = 200 / 198
        np.testing.assert_allclose(
            expert.f_sigma(np.array([0.0, 1.0])), np.array([1.0, 0.25]) * correction
        )

    def test_weights_count_as_repetitions(self):
        p, d = labelled(lambda p: p, lambda p: 0.3 + 0 * p, 300, seed=1)
        w = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
        repeats = np.repeat(np.arange(300), w.astype(int))
        weighted = poe.Gaussian.from_labels(p, d, weight=w, bins=6)
        repeated = poe.Gaussian.from_labels(p[repeats], d[repeats], bins=6)
        np.testing.assert_allclose(weighted.f_mu(GRID), repeated.f_mu(GRID), atol=1e-12)
        # The degrees of freedom count comparisons, 300 against 400, not weights.
        factor = (300 / 294) / (400 / 394)
        np.testing.assert_allclose(weighted.f_sigma(GRID), factor * repeated.f_sigma(GRID))


class TestShape:
    @pytest.mark.parametrize("seed", range(5))
    def test_mean_rises_and_variance_is_positive_whatever_the_noise(self, seed):
        p, d = labelled(lambda p: 0.1 * p, lambda p: 2.0 + 0 * p, 150, seed)
        expert = poe.Gaussian.from_labels(p, d)
        assert (np.diff(expert.f_mu(GRID)) >= -1e-12).all()
        assert (expert.f_sigma(GRID) > 0).all()
        assert np.isfinite(expert.f_mu(GRID)).all()
        # Negative control: the bins' raw means do not rise.
        order = np.argsort(p)
        raw = [d[part].mean() for part in np.array_split(order, 6)]
        assert (np.diff(raw) < 0).any()

    def test_symmetric_curves_are_symmetric_exactly(self):
        p, d = labelled(lambda p: p - 0.3, lambda p: 0.3 + p, 500, seed=2)
        expert = poe.Gaussian.from_labels(p, d, symmetric=True)
        np.testing.assert_allclose(expert.f_mu(GRID), -expert.f_mu(1 - GRID), atol=1e-12)
        np.testing.assert_allclose(expert.f_sigma(GRID), expert.f_sigma(1 - GRID), rtol=1e-12)
        assert (np.diff(expert.f_mu(GRID)) >= -1e-12).all()

    def test_constant_variance(self):
        p, d = labelled(lambda p: p, lambda p: 0.3 + 0 * p, 5000, seed=3)
        expert = poe.Gaussian.from_labels(p, d, constant_variance=True)
        assert np.ptp(expert.f_sigma(GRID)) == 0.0
        assert expert.f_sigma(GRID)[0] == pytest.approx(0.09, rel=4 * np.sqrt(2 / 5000))

    def test_a_bin_without_spread_stays_finite(self):
        p, d = labelled(lambda p: p, lambda p: np.where(p < 0.5, 1e-12, 1.0), 500, seed=4)
        weight = 1.0 / poe.Gaussian.from_labels(p, d).f_sigma(GRID)
        assert weight.max() / weight.min() < 1e4


class TestUse:
    def test_scores_come_in_the_unit_of_the_labels(self):
        """A judge calibrated on one half of the labels scores the items of the other half."""
        rng = np.random.default_rng(12)
        quality = 10.0 + 4.0 * rng.standard_normal(24)
        judge = poe.judges.SimulatedJudge(quality, sharpness=0.4, noise=0.3, seed=rng)
        pairs = poe.select(24, 500, seed=3)
        c = judge.compare(pairs)
        labels = quality[pairs[:, 0]] - quality[pairs[:, 1]]
        expert = poe.Gaussian.from_labels(c.p[:250], labels[:250])
        fit = poe.fit(c.take(np.arange(250, 500)), expert)
        target = quality - quality.mean()
        linear = poe.fit(c.take(np.arange(250, 500)), "gaussian")
        error = np.abs(fit.scores - target).mean()
        assert error < 1.5
        assert error < np.abs(linear.scores - target).mean() / 2
        assert fit.standard_errors().max() < 4.0


class TestRefusals:
    def test_bad_columns(self):
        good = np.linspace(0, 1, 100)
        with pytest.raises(ValueError, match=r"their shapes are \(100,\), \(99,\) and \(100,\)"):
            poe.Gaussian.from_labels(good, good[:-1])
        with pytest.raises(ValueError, match=r"p of labelled comparison 67 is 1\.01515"):
            poe.Gaussian.from_labels(1.5 * good, good)
        with pytest.raises(ValueError, match="differences of labelled comparison 3 is nan"):
            poe.Gaussian.from_labels(good, np.where(np.arange(100) == 3, np.nan, 1.0))
        with pytest.raises(ValueError, match="weight of labelled comparison 0 is 0"):
            poe.Gaussian.from_labels(good, good, weight=np.arange(100))

    def test_too_few_or_too_uniform(self):
        with pytest.raises(ValueError, match="30 labelled comparisons make 1 bins of 25"):
            poe.Gaussian.from_labels(np.linspace(0, 1, 30), np.arange(30.0))
        with pytest.raises(ValueError, match="nearly the same p"):
            poe.Gaussian.from_labels(np.full(100, 0.6), np.arange(100.0))
        with pytest.raises(ValueError, match="explains every difference exactly"):
            poe.Gaussian.from_labels(np.repeat([0.2, 0.8], 50), np.repeat([-1.0, 1.0], 50))
