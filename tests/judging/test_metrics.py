"""Correlations against scipy, at every level, with ties and constants."""

import numpy as np
import pytest
from scipy import stats

from judging import metrics


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    gold = np.round(rng.normal(size=(12, 8)), 0)  # heavily tied
    gold[3] = 1.0  # a context nobody can rank
    return gold + rng.normal(size=(5, 12, 8)), gold


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(metrics.spearman, stats.spearmanr), (metrics.pearson, stats.pearsonr)],
)
def test_against_scipy(ours, theirs, scores):
    predicted, gold = scores
    for context in (0, 1, 2, 4):
        for draw in range(5):
            expected = theirs(predicted[draw, context], gold[context]).statistic
            assert ours(predicted[draw, context], gold[context]) == pytest.approx(expected)


def test_rounding_does_not_rank():
    """0.1 + 0.2 and 0.3 are one score; without the tolerance they would be two."""
    x = np.array([0.1 + 0.2, 0.3, 0.4])
    assert metrics.ranks(x).tolist() == [1.5, 1.5, 3.0]
    assert stats.rankdata(x).tolist() == [2.0, 1.0, 3.0]


def test_scale_and_shift_change_nothing():
    x = np.random.default_rng(2).normal(size=50)
    for scale, shift in ((1e-12, 0), (1e9, 0), (1e-3, 1e3)):
        np.testing.assert_array_equal(metrics.ranks(scale * x + shift), metrics.ranks(x))


def test_constant_rows_are_ties_however_large():
    assert metrics.ranks(np.full(4, 1 / 3)).tolist() == [2.5] * 4
    assert np.isnan(metrics.pearson(np.full(4, 1e9 / 3), [1, 2, 3, 4]))


class TestSummaryLevel:
    @pytest.mark.parametrize("kind", ["spearman", "pearson"])
    def test_is_the_mean_over_contexts_that_vary(self, scores, kind):
        predicted, gold = scores
        one = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[kind]
        use = [c for c in range(12) if c != 3]
        expected = [np.mean([one(p[c], gold[c]).statistic for c in use]) for p in predicted]
        found = metrics.summary_level(predicted, gold, kind=kind)
        np.testing.assert_allclose(found.value, expected)
        assert (found.used, found.gold_constant) == (11, 1)
        assert found.constant.tolist() == [0] * 5

    def test_a_constant_prediction_is_zero_or_skipped_and_counted(self, scores):
        predicted, gold = scores
        predicted = predicted.copy()
        whole = metrics.summary_level(predicted[:, 1:], gold[1:])
        predicted[0, 0] = 0.25
        zero = metrics.summary_level(predicted, gold)
        skip = metrics.summary_level(predicted, gold, constant="skip")
        assert zero.constant.tolist() == skip.constant.tolist() == [1, 0, 0, 0, 0]
        assert zero.value[0] == pytest.approx(whole.value[0] * 10 / 11)
        assert skip.value[0] == pytest.approx(whole.value[0])


def test_dataset_level_pools(scores):
    predicted, gold = scores
    found = metrics.dataset_level(predicted, gold)
    expected = [stats.spearmanr(p.ravel(), gold.ravel()).statistic for p in predicted]
    np.testing.assert_allclose(found.value, expected)


def test_system_level_correlates_means(scores):
    predicted, gold = scores
    found = metrics.system_level(predicted, gold, kind="pearson")
    expected = [stats.pearsonr(p.mean(axis=0), gold.mean(axis=0)).statistic for p in predicted]
    np.testing.assert_allclose(found.value, expected)


def test_levels_differ():
    """A judge that only knows which context is good: perfect pooled, worthless within."""
    gold = np.array([[1.0, 2, 3], [11, 12, 13]])
    predicted = np.array([[3.0, 2, 1], [13, 12, 11]])
    assert metrics.summary_level(predicted, gold).value == pytest.approx(-1)
    assert metrics.dataset_level(predicted, gold).value > 0.5
