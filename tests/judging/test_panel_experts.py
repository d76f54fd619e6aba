"""Judges as experts in one product: closed forms, recovery, errors."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import spearmanr

import poe
from judging import panel
from judging.panel.products import Pool, _starts
from poe.errors import NotConvergedError
from reproduction.simulated_panels import simulated_judges


def decisions(sharpness, bias, *, n=24, seed=0, repeats=1):
    """All ordered pairs of n items, decided by judges of these parameters; and the scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(n)
    scores -= scores.mean()
    pairs = np.repeat(np.argwhere(~np.eye(n, dtype=bool)), repeats, axis=0)
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    judges = {}
    for k, (a, b) in enumerate(zip(sharpness, bias, strict=True)):
        p = (rng.random(len(d)) < expit(a * d + b)).astype(float)
        judges[f"judge {k}"] = poe.Comparisons.from_pairs(pairs, p, items=n)
    return judges, scores


def among(c, items):
    """The comparisons among some items, which alone are known then."""
    kept = c.take(np.isin(c.first, items) & np.isin(c.second, items))
    return poe.Comparisons(first=kept.first, second=kept.second, p=kept.p)


def test_starts_are_ridge_regressions_without_a_matrix_of_all_comparisons(monkeypatch):
    """By least squares on a design matrix with the ridge as rows of its own."""
    rng = np.random.default_rng(2)
    judges, _ = decisions([1.0, 0.5], [0.3, -0.2], n=9)
    judges = {
        name: poe.Comparisons.from_pairs(
            c.pairs, rng.uniform(0.1, 0.9, len(c)), items=9, weight=rng.uniform(0.5, 3.0, len(c))
        )
        for name, c in judges.items()
    }
    own = []
    for c in judges.values():
        root = np.sqrt(c.weight)
        lean = 4 * (c.p - np.average(c.p, weights=c.weight))
        design = np.vstack([root[:, None] * c.matrix(), np.sqrt(0.1 * c.weight.mean()) * np.eye(9)])
        target = np.append(root * lean, np.zeros(9))
        own.append(np.linalg.lstsq(design, target, rcond=None)[0])

    def never(self):
        raise AssertionError("all comparisons times all items")

    monkeypatch.setattr(poe.Comparisons, "matrix", never)
    principal, average = _starts(Pool.of(judges))
    np.testing.assert_allclose(average[0], np.mean(own, axis=0), atol=1e-12)
    left, size, right = np.linalg.svd(own, full_matrices=False)
    np.testing.assert_allclose(
        np.outer(principal[1], principal[0]), size[0] * np.outer(left[:, 0], right[0]), atol=1e-12
    )


# Closed forms ---------------------------------------------------------------------------


def test_two_items_in_both_orders_are_solved_by_hand():
    """Logit p_ij = a d + b and logit p_ji = -a d + b for each judge."""
    there, back = np.array([0.8, 0.9, 0.4]), np.array([0.3, 0.4, 0.7])
    judges = {
        k: poe.Comparisons(first=["x", "y"], second=["y", "x"], p=[there[k], back[k]])
        for k in range(3)
    }
    found = panel.fit_panel(judges, trusted=0)
    product = (logit(there) - logit(back)) / 2  # a_k d
    d = np.sqrt((product**2).mean())
    np.testing.assert_allclose(found.bias, (logit(there) + logit(back)) / 2, atol=1e-8)
    np.testing.assert_allclose(found.sharpness, product / d, atol=1e-8)
    np.testing.assert_allclose(found.scores, [d / 2, -d / 2], atol=1e-8)


def test_one_judge_is_poe_fit_with_a_fitted_bias():
    judges, _ = decisions([1.2], [0.6])
    found = panel.fit_panel(judges)
    alone = poe.fit(judges["judge 0"], bias="fit", covariance="curvature")
    np.testing.assert_allclose(found.scores, alone.scores, atol=1e-8)
    assert found.bias[0] == pytest.approx(-alone.bias, abs=1e-8)
    assert found.sharpness[0] == pytest.approx(1.0)
    np.testing.assert_allclose(found.standard_errors, alone.standard_errors(), rtol=1e-6)
    assert found.skills()["bias_se"].iloc[0] == pytest.approx(alone.bias_se, rel=1e-6)


# Recovery ---------------------------------------------------------------------------------


def test_sharpness_bias_and_scores_are_recovered():
    a, b = np.array([1.6, 1.0, 0.4, -0.6]), np.array([0.0, 0.8, -0.5, 0.2])
    judges, scores = decisions(a, b, n=30, repeats=4)
    found = panel.fit_panel(judges)
    scale = np.sqrt((a**2).mean())
    np.testing.assert_allclose(found.sharpness, a / scale, atol=0.1)
    np.testing.assert_allclose(found.bias, b, atol=0.15)
    np.testing.assert_allclose(found.scores, scale * scores, atol=0.35)


def test_standard_errors_cover():
    a, b = np.array([1.5, 1.0, 0.5]), np.array([0.3, -0.3, 0.0])
    scale, z = np.sqrt((a**2).mean()), []
    for seed in range(30):
        judges, _ = decisions(a, b, n=10, repeats=8, seed=seed)
        found = panel.fit_panel(judges)
        skills = found.skills()
        z.append((found.sharpness - a / scale) / skills["sharpness_se"])
        z.append((found.bias - b) / skills["bias_se"])
    assert 0.85 < np.std(z) < 1.15
    assert abs(np.mean(z)) < 0.25


def test_judges_need_not_see_the_same_items():
    judges, scores = decisions([1.3, 0.9, 0.7], [0.0, 0.4, -0.4], n=24, repeats=3)
    parts = {"judge 0": range(12), "judge 1": range(6, 18), "judge 2": range(12, 24)}
    found = panel.fit_panel({name: among(judges[name], items) for name, items in parts.items()})
    by_name = dict(zip(found.items, found.scores, strict=True))
    assert spearmanr([by_name[i] for i in range(24)], scores).statistic > 0.9


# Identifiability ----------------------------------------------------------------------------


def test_a_panel_of_adversaries_ranks_the_wrong_way_unless_one_is_trusted():
    judges, scores = decisions([-1.0, -1.0, 1.0], [0.0] * 3)
    wrong = panel.fit_panel(judges)
    right = panel.fit_panel(judges, trusted="judge 2")
    assert spearmanr(wrong.scores, scores).statistic < -0.9
    np.testing.assert_allclose(right.scores, -wrong.scores, atol=1e-8)
    assert right.energy == pytest.approx(wrong.energy)


def test_what_is_not_identified_is_refused_by_name():
    judges, _ = decisions([1.0, 1.0], [0.0, 0.0], n=11, repeats=2)
    one = judges["judge 0"]
    opposite = poe.Comparisons.from_pairs(one.pairs, 1 - one.p, items=one.items)
    with pytest.raises(panel.UnidentifiedPanelError, match=r"which end .* trusted="):
        panel.fit_panel({"a": one, "b": opposite})
    found = panel.fit_panel({"a": one, "b": opposite}, trusted="b")
    np.testing.assert_allclose(found.sharpness, [-1.0, 1.0], atol=1e-6)

    late = poe.Comparisons(first=[0, 0], second=[1, 1], p=[0.7, 0.8])  # one pair in one order
    with pytest.raises(panel.UnidentifiedPanelError, match="'late'"):
        panel.fit_panel({**judges, "late": late})

    shared = {"judge 0": range(6), "judge 1": range(5, 11)}  # one item in common
    with pytest.raises(panel.UnidentifiedPanelError, match=r"judge 0.*judge 1"):
        panel.fit_panel({name: among(judges[name], items) for name, items in shared.items()})


def test_separable_decisions_need_a_spread():
    pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [0, 2], [2, 0]])
    sure = poe.Comparisons.from_pairs(pairs, [1, 0, 1, 0, 1, 0], items=3)
    with pytest.raises((NotConvergedError, panel.UnidentifiedPanelError)):
        panel.fit_panel({"a": sure, "b": sure})
    found = panel.fit_panel({"a": sure, "b": sure}, spread=1.0)
    assert (np.diff(found.scores) < 0).all()


# What judges do ------------------------------------------------------------------------------


def test_average_first_is_the_mean_of_probabilities():
    one = poe.Comparisons(first=["x", "y"], second=["y", "x"], p=[0.8, 0.3])
    other = poe.Comparisons(first=["x"], second=["y"], p=[0.4])
    mean = panel.average_first({"a": one, "b": other})
    np.testing.assert_allclose(mean.p, [0.6, 0.3])
    np.testing.assert_allclose(mean.weight, [2.0, 1.0])


def test_the_panel_names_its_bad_judges_and_gains_by_it():
    gain = []
    for seed in range(5):
        judges, scores = simulated_judges("adversarial", seed=seed)
        found = panel.fit_panel(judges)
        assert found.sharpness[3] < 0 < found.sharpness[:3].min()
        averaged = poe.fit(panel.average_first(judges)).scores
        gain.append(spearmanr(found.scores, scores)[0] - spearmanr(averaged, scores)[0])
        biased = panel.fit_panel(simulated_judges("biased", seed=seed)[0])
        assert biased.bias[3] > 1.0 > np.abs(biased.bias[:3]).max()
    assert np.mean(gain) > 0.02


def test_copies_show_in_the_residuals_and_shrink_errors_without_cause():
    """Four copies of one judge: the errors halve, though nothing was learned."""
    judges, _ = decisions([1.0], [0.2], n=10, repeats=2)
    one = judges["judge 0"]
    alone = panel.fit_panel({"a": one})
    copied = panel.fit_panel(dict.fromkeys(range(4), one))
    np.testing.assert_allclose(copied.scores, alone.scores, atol=1e-6)
    np.testing.assert_allclose(copied.standard_errors, alone.standard_errors / 2, rtol=1e-5)
    assert (panel.residual_correlation(copied)["correlation"] > 1 - 1e-9).all()
    found = panel.residual_correlation(panel.fit_panel(simulated_judges("duplicate", seed=0)[0]))
    copies = found["judge"].str.startswith("copy") & found["other"].str.startswith("copy")
    assert found[copies]["correlation"].min() > 0.99
    assert found[~copies]["correlation"].max() < 0.5
