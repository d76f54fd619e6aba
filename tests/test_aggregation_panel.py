"""Judges as experts in one product: closed forms, recovery, what is not identified."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import spearmanr

import poe
from poe import panel as agg
from poe.errors import ComparisonError, NotConvergedError
from poe.panel import effects
from poe.panel.judges_together import together
from poe.panel.panel_solver import _energy, _gradient, _hessian, eta_of


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


# Closed forms ---------------------------------------------------------------------------


def test_two_items_in_both_orders_are_solved_by_hand():
    """Logit p_ij = a d + b and logit p_ji = -a d + b for each judge."""
    there, back = np.array([0.8, 0.9, 0.4]), np.array([0.3, 0.4, 0.7])
    judges = {
        k: poe.Comparisons(first=["x", "y"], second=["y", "x"], p=[there[k], back[k]])
        for k in range(3)
    }
    found = agg.fit_panel(judges, trusted=0)
    product = (logit(there) - logit(back)) / 2  # a_k d
    d = np.sqrt((product**2).mean())
    np.testing.assert_allclose(found.bias, (logit(there) + logit(back)) / 2, atol=1e-8)
    np.testing.assert_allclose(found.sharpness, product / d, atol=1e-8)
    np.testing.assert_allclose(found.scores, [d / 2, -d / 2], atol=1e-8)


def test_one_judge_is_poe_fit_with_a_fitted_bias():
    judges, _ = decisions([1.2], [0.6])
    found = agg.fit_panel(judges)
    alone = poe.fit(judges["judge 0"], bias="fit")
    np.testing.assert_allclose(found.scores, alone.scores, atol=1e-8)
    assert found.bias[0] == pytest.approx(-alone.bias, abs=1e-8)
    assert found.sharpness[0] == pytest.approx(1.0)
    np.testing.assert_allclose(found.standard_errors, alone.standard_errors(), rtol=1e-6)
    bias_se = found.skills()["bias_se"].iloc[0]
    assert bias_se == pytest.approx(alone.bias_se, rel=1e-6)


def test_the_derivatives_are_those_of_the_energy():
    judges, scores = decisions([1.0, 0.4, -0.7], [0.2, -0.5, 0.0], n=6)
    data = together(judges)
    rng = np.random.default_rng(3)
    x = np.concatenate([scores, rng.standard_normal(6)])

    def energy(v):
        s, a, b = v[:6], v[6:9], v[9:]
        return _energy(data, eta_of(data, s, a, b), s, 1.5)

    def gradient(v):
        return np.concatenate(_gradient(data, v[:6], v[6:9], v[9:], 1.5))

    for axis in np.eye(12):
        slope = (energy(x + 1e-5 * axis) - energy(x - 1e-5 * axis)) / 2e-5
        assert gradient(x) @ axis == pytest.approx(slope, abs=1e-5)
        bend = (gradient(x + 1e-5 * axis) - gradient(x - 1e-5 * axis)) / 2e-5
        np.testing.assert_allclose(
            _hessian(data, x[:6], x[6:9], x[9:], 1.5) @ axis, bend, atol=1e-5
        )


# Recovery ---------------------------------------------------------------------------------


def test_sharpness_bias_and_scores_are_recovered():
    a, b = np.array([1.6, 1.0, 0.4, -0.6]), np.array([0.0, 0.8, -0.5, 0.2])
    judges, scores = decisions(a, b, n=30, repeats=4)
    found = agg.fit_panel(judges)
    scale = np.sqrt((a**2).mean())
    np.testing.assert_allclose(found.sharpness, a / scale, atol=0.1)
    np.testing.assert_allclose(found.bias, b, atol=0.15)
    np.testing.assert_allclose(found.scores, scale * scores, atol=0.35)


def test_standard_errors_cover():
    a, b = np.array([1.5, 1.0, 0.5]), np.array([0.3, -0.3, 0.0])
    z = []
    for seed in range(40):
        judges, _ = decisions(a, b, n=20, repeats=3, seed=seed)
        found = agg.fit_panel(judges)
        skills = found.skills()
        scale = np.sqrt((a**2).mean())
        z.append(
            np.concatenate(
                [
                    (found.sharpness - a / scale) / skills["sharpness_se"],
                    (found.bias - b) / skills["bias_se"],
                ]
            )
        )
    assert 0.85 < np.std(z) < 1.15
    assert abs(np.mean(z)) < 0.25


def test_judges_need_not_see_the_same_items():
    judges, scores = decisions([1.3, 0.9, 0.7], [0.0, 0.4, -0.4], n=24, repeats=3)
    parts = {"judge 0": range(12), "judge 1": range(6, 18), "judge 2": range(12, 24)}
    some = {}
    for name, items in parts.items():
        c = judges[name]
        some[name] = c.take(np.isin(c.first, items) & np.isin(c.second, items))
        some[name] = poe.Comparisons(
            first=some[name].first, second=some[name].second, p=some[name].p
        )
    found = agg.fit_panel(some)
    by_name = dict(zip(found.items, found.scores, strict=True))
    assert spearmanr([by_name[i] for i in range(24)], scores).statistic > 0.9


def test_groups_without_a_link_share_their_judges():
    """Pairs of two items each: the differences are free, sharpness and bias are shared."""
    rng = np.random.default_rng(0)
    n, a, b = 800, np.array([1.4, 1.0, 0.5, 0.8]), np.array([0.5, -0.3, 0.0, 0.2])
    d = 1.5 * rng.standard_normal(n)
    judges = {}
    for k in range(4):
        p = np.concatenate([expit(a[k] * d + b[k]), expit(-a[k] * d + b[k])])
        p = expit(logit(p) + 0.2 * rng.standard_normal(2 * n))
        first = [(i, 1) for i in range(n)] + [(i, 2) for i in range(n)]
        second = [(i, 2) for i in range(n)] + [(i, 1) for i in range(n)]
        keep = np.arange(2 * n) % n < 100
        judges[k] = poe.Comparisons(
            first=[f for f, x in zip(first, keep, strict=True) if x],
            second=[s for s, x in zip(second, keep, strict=True) if x],
            p=p[keep],
        )
    found = agg.fit_panel(judges)
    np.testing.assert_allclose(found.sharpness, a / np.sqrt((a**2).mean()), atol=0.05)
    np.testing.assert_allclose(found.bias, b, atol=0.06)


# Identifiability ----------------------------------------------------------------------------


def test_scale_and_sign_are_conventions():
    judges, _ = decisions([1.2, 0.8, 0.5], [0.1, 0.2, -0.3])
    found = agg.fit_panel(judges)
    assert (found.sharpness**2).mean() == pytest.approx(1.0)
    assert found.scores.sum() == pytest.approx(0.0, abs=1e-9)
    data = found.data
    for c in (0.5, -1.0, 3.0):
        eta = eta_of(data, c * found.scores, found.sharpness / c, found.bias)
        assert _energy(data, eta, found.scores, None) == pytest.approx(found.energy)


def test_a_panel_of_adversaries_ranks_the_wrong_way_unless_one_is_trusted():
    judges, scores = decisions([-1.0, -1.0, 1.0], [0.0] * 3)
    wrong = agg.fit_panel(judges)
    right = agg.fit_panel(judges, trusted="judge 2")
    assert spearmanr(wrong.scores, scores).statistic < -0.9
    np.testing.assert_allclose(right.scores, -wrong.scores, atol=1e-8)
    assert right.energy == pytest.approx(wrong.energy)


def test_a_judge_and_its_opposite_have_no_sign():
    judges, _ = decisions([1.0], [0.0])
    one = judges["judge 0"]
    other = poe.Comparisons.from_pairs(one.pairs, 1 - one.p, items=one.items)
    with pytest.raises(agg.UnidentifiedPanelError, match=r"which end .* trusted="):
        agg.fit_panel({"a": one, "b": other})
    found = agg.fit_panel({"a": one, "b": other}, trusted="b")
    np.testing.assert_allclose(found.sharpness, [-1.0, 1.0], atol=1e-6)


def test_one_pair_in_one_order_tells_no_sharpness_from_bias():
    judges, _ = decisions([1.0, 1.0], [0.0, 0.0], n=6)
    judges["late"] = poe.Comparisons(first=[0, 0], second=[1, 1], p=[0.7, 0.8])
    with pytest.raises(agg.UnidentifiedPanelError, match="'late'"):
        agg.fit_panel(judges)


def test_judges_with_one_item_in_common_have_no_common_scale():
    judges, _ = decisions([1.0, 1.0], [0.0, 0.0], n=11, repeats=2)
    parts = {}
    for name, items in (("judge 0", range(6)), ("judge 1", range(5, 11))):
        c = judges[name]
        kept = c.take(np.isin(c.first, items) & np.isin(c.second, items))
        parts[name] = poe.Comparisons(first=kept.first, second=kept.second, p=kept.p)
    with pytest.raises(agg.UnidentifiedPanelError, match=r"judge 0.*judge 1"):
        agg.fit_panel(parts)


def test_separable_decisions_need_a_spread():
    pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [0, 2], [2, 0]])
    sure = poe.Comparisons.from_pairs(pairs, [1, 0, 1, 0, 1, 0], items=3)
    with pytest.raises((NotConvergedError, agg.UnidentifiedPanelError)):
        agg.fit_panel({"a": sure, "b": sure})
    found = agg.fit_panel({"a": sure, "b": sure}, spread=1.0)
    assert (np.diff(found.scores) < 0).all()


@pytest.mark.parametrize(
    ("judges", "options", "message"),
    [
        ({}, {}, "at least one judge"),
        ({"a": np.eye(2)}, {}, "judge 'a': expected Comparisons"),
        (decisions([1.0], [0.0], n=4)[0], {"trusted": "x"}, "trusted names 'x'"),
        (decisions([1.0], [0.0], n=4)[0], {"spread": -1.0}, "spread must be positive"),
    ],
)
def test_bad_panels_are_refused(judges, options, message):
    with pytest.raises(agg.AggregationError, match=message):
        agg.fit_panel(judges, **options)


def test_items_nobody_compared_are_named():
    c = poe.Comparisons.from_pairs(np.array([[0, 1], [1, 0]]), [0.6, 0.4], items=["a", "b", "c"])
    with pytest.raises(ComparisonError, match="'c'"):
        agg.fit_panel({"x": c})


# What judges do ------------------------------------------------------------------------------


def test_average_first_is_the_mean_of_probabilities():
    one = poe.Comparisons(first=["x", "y"], second=["y", "x"], p=[0.8, 0.3])
    other = poe.Comparisons(first=["x"], second=["y"], p=[0.4])
    mean = agg.average_first({"a": one, "b": other})
    np.testing.assert_allclose(mean.p, [0.6, 0.3])
    np.testing.assert_allclose(mean.weight, [2.0, 1.0])


def test_skill_weights_help_where_a_judge_is_bad_and_cost_little_where_none_is():
    rows = effects.summary(effects.effect(seeds=range(12))).set_index(["kind", "method"])["mean"]
    skill, average = "skill-weighted PoE", "average first"
    for kind in ("adversarial", "over-confident"):
        assert rows[kind, skill] > rows[kind, average] + 0.02
    assert abs(rows["none", skill] - rows["none", average]) < 0.01


def test_the_panel_names_its_bad_judges():
    adversary = effects.what_the_panel_says("adversarial", seeds=range(5))
    named = adversary.groupby("judge")["sharpness"].max()
    assert named["adversarial"] < 0 < named["good 1"]
    biased = effects.what_the_panel_says("biased", seeds=range(5)).groupby("judge")["bias"].mean()
    assert biased["biased"] > 1.0 > abs(biased["good 1"])
    copies = effects.what_the_panel_says("duplicate", seeds=range(5))
    alike = copies.groupby("judge")["error_correlation"].min()
    assert alike["copy 1"] > 0.99
    assert alike["good 1"] < 0.5


def test_copies_shrink_the_errors_of_scores_without_cause():
    """Four copies of one judge: the errors halve, though nothing was learned."""
    judges, _ = decisions([1.0], [0.2], n=10, repeats=2)
    one = judges["judge 0"]
    alone = agg.fit_panel({"a": one})
    copied = agg.fit_panel(dict.fromkeys(range(4), one))
    np.testing.assert_allclose(copied.scores, alone.scores, atol=1e-6)
    np.testing.assert_allclose(copied.standard_errors, alone.standard_errors / 2, rtol=1e-5)
    assert (agg.residual_correlation(copied)["correlation"] > 1 - 1e-9).all()


def test_an_expert_peaks_where_its_judge_puts_the_difference():
    p, a, b = np.array([0.2, 0.9]), 0.7, 0.4
    np.testing.assert_allclose(expit(a * effects.opinion(p, sharpness=a, bias=b) + b), p)


def test_unknown_kinds_are_refused():
    with pytest.raises(agg.AggregationError, match="kind must be one of"):
        effects.simulated_judges("strange", seed=0)
