"""Diagnoses of deviations: each variant changes what it says and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction import deviations, facts, sweep, uncertainty, variant_runs, variants
from reproduction.settings import Settings
from reproduction.twins import symmetric_stack, twins
from reproduction.variants import PLAIN, Variant

SMALL = Settings(draws=2, source="stand-in", workers=1)
REST = {"draws": 3, "seed": 0}


@pytest.fixture(scope="module")
def judge():
    return twins("topicalchat")["FlanT5-3B", "coherency"]


@pytest.fixture(scope="module")
def gold():
    return sweep.labels("topicalchat", "stand-in").scores["coherency"]


def averaged(judge, variant, gold, count=30):
    pairs, p = variants.answers(judge, variant, gold, count, "symmetric", **REST)
    return symmetric_stack(gold.shape[-1], pairs, p)


class TestVariants:
    def test_without_noise_both_orders_agree(self, judge, gold):
        _, p = variants.answers(replace(judge, noise=0.0), PLAIN, gold, 30, "symmetric", **REST)
        np.testing.assert_allclose(p[..., 0::2] + p[..., 1::2], 1.0, atol=1e-12)

    def test_common_errors_cancel_in_the_average(self, judge, gold):
        """sigma(d + u) + 1 - sigma(u - d) is above one exactly where d is above zero."""
        loud = replace(judge, noise=3.0)
        silent = averaged(replace(judge, noise=0.0), PLAIN, gold).p > 0.5
        shared = averaged(loud, Variant("", common=1.0), gold).p > 0.5
        assert (shared == silent).all()
        apart = averaged(loud, PLAIN, gold).p > 0.5
        assert (apart != silent).mean() > 0.1, "independent errors do not cancel"

    def test_uneven_confidence_changes_no_decision_on_equal_terms(self, judge, gold):
        quiet = replace(judge, noise=0.0)
        plain, uneven = (averaged(quiet, v, gold).p for v in (PLAIN, Variant("", uneven=1.0)))
        assert ((plain > 0.5) == (uneven > 0.5)).all()
        assert np.abs(plain - uneven).mean() > 0.05

    def test_the_same_draws_for_all(self, judge, gold):
        one, two = (
            variants.answers(judge, v, gold, 18, "symmetric", **REST)
            for v in (PLAIN, Variant("", uneven=1e-12))
        )
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_allclose(one[1], two[1], atol=1e-9)

    def test_balanced_sets(self, judge, gold):
        n = gold.shape[-1]
        pairs, _ = variants.answers(
            judge, Variant("", balanced=True), gold, 18, "symmetric", **REST
        )
        half = np.sort(pairs[..., 0::2, :], axis=-1).reshape(-1, 9, 2)
        for one in half[:50]:
            used = np.bincount(one.ravel(), minlength=n)
            assert used.max() - used.min() <= 1
            assert len({tuple(pair) for pair in one}) == 9
        np.testing.assert_array_equal(pairs[..., 0::2, :], pairs[..., 1::2, ::-1])

    def test_tails_keep_the_order_and_the_variance(self):
        normal = np.random.default_rng(0).standard_normal(4000)
        heavy = variants.tasted(normal, 1.0)
        assert (np.argsort(heavy) == np.argsort(normal)).all()
        assert heavy.std() == pytest.approx(1.0)
        assert np.abs(heavy).max() > 1.5 * np.abs(normal).max()

    def test_decisions_in_each_call_concern_hard_methods_alone(self, judge):
        found = [
            variants.scored([judge], v, 18, "symmetric", source="stand-in", **REST)
            for v in (PLAIN, Variant("", each_call=True))
        ]
        for (method, kind), values in found[0].items():
            same = np.array_equal(values, found[1][method, kind])
            assert same == (method not in variants.HARD), method

    def test_the_level_is_as_wanted(self, judge):
        (moved,) = variants.levelled(
            [judge], Variant("", uneven=1.0), 40.0, source="stand-in", steps=4, **REST
        )
        found = variants.scored(
            [moved], Variant("", uneven=1.0), 30, "symmetric", source="stand-in", **REST
        )
        assert found["avg-prob", "spearman"].mean() == pytest.approx(40.0, abs=0.5)

    def test_published_numbers_calibrate_on_real_labels_alone(self, judge):
        assert variants.recalibrated([judge], 0.4, source="stand-in") == [judge]

    def test_a_judge_without_accuracies_is_not_calibrated_anew(self):
        mistral = twins("topicalchat")["Mistral-7B", "coherency"]
        assert variants.recalibrated([mistral], 0.4, source="stand-in") == [mistral]


@pytest.fixture
def one_group(monkeypatch):
    """FlanT5-3B on TopicalChat alone."""
    group = [
        twins("topicalchat")["FlanT5-3B", name] for name in facts.ATTRIBUTES["topicalchat"].values()
    ]
    monkeypatch.setattr(variant_runs, "groups", lambda: [group])
    return group


class TestTargets:
    def test_every_printed_experiment_has_a_row_a_variant(self, one_group, monkeypatch):
        monkeypatch.setattr(deviations, "ERRORS", deviations.ERRORS[-2:])
        table = deviations.errors(SMALL)
        cells = variant_runs.experiments(one_group)
        assert len(cells) == 24, "Tables 7 and 8: two numbers of calls, six methods"
        assert table.groupby("variant")["id"].nunique().eq(24).all()
        assert set(table["labels"]) == {"stand-in"}
        full = table[(table["variant"] == "balanced sets") & (table["k"] == 30)]
        assert full["change"].abs().max() < 0.5, "all calls are all calls; only the level is set"

    def test_a_shape_is_found_again(self, one_group, monkeypatch):
        """Printed numbers that the twins with tails 0.5 would have left give tails 0.5."""
        settings = replace(SMALL, draws=4)
        plain = variant_runs.every(one_group, PLAIN, settings)
        variant = Variant("", tails=0.5)
        changed = variant_runs.levelled(one_group, variant, plain, settings)
        seen = variant_runs.every(changed, variant, settings)["all"]
        known = {"table7": "spearman", "table8": "pearson"}
        monkeypatch.setattr(
            facts,
            "number",
            lambda id_: float(seen["avg-prob", known[id_.split("/")[1]]].mean()),
        )
        found = deviations._fitted(one_group, "tails", (0.0, 0.5, 1.0), plain, settings)
        assert found == pytest.approx(0.5, abs=0.02)

    def test_calibration_adds_up(self, one_group):
        table = uncertainty.run(SMALL)
        parts = table[["sharpness_sd", "noise_sd", "level_sd"]].to_numpy()
        np.testing.assert_allclose(table["sd"], np.linalg.norm(parts, axis=1))
        assert (table["sd"] > 0).all()
