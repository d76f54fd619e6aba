"""Targets by name, and each kind of run, made small."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import poe
from judging.metrics import summary_level
from reproduction import decided, large, published, recorded_answers, small
from reproduction.run import table
from reproduction.settings import (
    Calls,
    Settings,
    bootstrap_se,
    by_context,
    run_variance,
    shared_errors,
)
from reproduction.small import Cell
from reproduction.targets import ALIASES, TARGETS, find
from reproduction.twins import Twin, labels, symmetric_stack, twins
from tests.helpers import short


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(small, "BLOCK", 2)
    monkeypatch.setattr(small, "_KNOWN", {})  # such blocks are nothing for other tests
    monkeypatch.setattr(small, "TASTES", {"summeval": 1, "topicalchat": 1})
    monkeypatch.setattr(small, "_LEVELS", {})


class TestTargets:
    def test_every_table_and_figure_has_its_target(self):
        for paper, numbers in (
            ("poe_v2", (1, 2, 3, 5, 6, 7, 8, 9)),
            ("poe_v1", range(1, 6)),
            ("comparative_assessment", (1, 3, 5, 6, 7, 8, 9, 10, 11)),
            ("skill_aggregation", range(1, 6)),
        ):
            filled = {t.table for t in TARGETS.values() if t.paper == paper}
            assert filled - {""} == {f"table{k}" for k in numbers}, paper
        assert all(callable(target.function) for target in TARGETS.values())

    def test_names(self):
        assert len(find("figure6")) == 6
        assert find("all") == list(TARGETS.values())
        assert all(find(alias) for alias in ALIASES), "every other name leads somewhere"
        with pytest.raises(ValueError, match="no target 'table4'"):
            find("table4")


@pytest.mark.long
class TestTables:
    def test_a_cell_by_hand(self):
        """Two draws (`times` of the target) from the definitions, without the module's plumbing.

        The level comes from the same two judges here, so that the control variate cancels.
        """
        ours = table("table7", draws=1, seed=5).set_index("id")["value"]
        values = []
        for attribute, gold in labels("topicalchat").scores.items():
            twin = twins("topicalchat")["FlanT5-3B", attribute]
            calls = Calls("topicalchat", 18, seed=5)
            stack = small.answers(twin, calls, gold, seed=[5, 0], draws=2)
            scores = np.empty((2, *gold.shape))
            for draw, context in np.ndindex(2, len(gold)):
                one = poe.Comparisons(
                    first=stack.first[draw, context],
                    second=stack.second[draw, context],
                    p=stack.p[draw, context],
                    items=range(6),
                )
                scores[draw, context] = poe.fit(one, expert="bradley-terry").scores
            values.append(100 * summary_level(scores, gold).value.mean())
        cell = "poe_v2/table7/FlanT5-3B/K18/PoE-BT"
        assert ours[cell] == pytest.approx(np.mean(values), abs=0.01)

    def test_a_control_variate_shifts_all_cells_of_a_judge_alike(self, monkeypatch):
        """By what more judges say of the full set: the same for every method and count of calls."""
        ours = table("table7", draws=2, seed=6).set_index("id")
        monkeypatch.setattr(small, "TASTES", {"topicalchat": 9})
        monkeypatch.setattr(small, "_LEVELS", {})
        more = table("table7", draws=2, seed=6).set_index("id")
        shift = (more["value"] - ours["value"]).groupby(ours["system"])
        assert (shift.std() < 1e-9).all()
        assert (shift.mean().abs() > 0.01).all()
        full = "poe_v2/table7/FlanT5-3B/K30/avg-prob"
        assert more.loc[full, "se"] < ours.loc[full, "se"]
        np.testing.assert_array_equal(more["run_sd"], ours["run_sd"])

    def test_on_the_full_set_soft_methods_rank_alike(self):
        """Paper A.3 and its consequence for Bradley-Terry; decisions likewise. Roles by count."""
        ours = table("table1", draws=1)
        assert sorted(ours["id"]) == sorted(published.load("table1")["id"])
        roles = ours["role"].value_counts().to_dict()
        assert roles == {"seen": 30, "implied": 10, "calibrated": 10}
        wide = {k: of.pivot(index="system", columns="method", values="value")
                for k, of in ours.groupby("k")}  # fmt: skip
        full, first = wide[240], wide[48]
        for one, other in (("PoE-g", "avg-prob"), ("PoE-BT", "avg-prob"), ("BT", "win-ratio")):
            np.testing.assert_allclose(full[one], full[other], atol=1e-9)
        assert (first["PoE-BT"] > first["avg-prob"]).all()
        assert (first["avg-prob"] > first["win-ratio"]).all()

    def test_roles_by_hand(self):
        def role(*, calls=48, rule="symmetric", method="PoE-BT", metric="spearman", **rest):
            place = {"dataset": "SummEval", "system": "FlanT5-3B", "attribute": "mean", **rest}
            return small.role(Cell(**place, calls=calls, rule=rule, method=method, metric=metric))

        assert role() == "seen"
        assert role(method="avg-prob") == "calibrated", "by what both orders share"
        assert role(method="avg-prob", system="Mistral-7B") == "seen"
        assert role(calls=240, method="avg-prob") == "calibrated"
        assert role(calls=240) == "implied"
        for method in ("PoE-g", "avg-prob", "win-ratio"):
            assert role(calls=240, metric="pearson", method=method) == "seen"
        assert role(calls=240, metric="pearson") == "implied", (
            "its difference from avg-prob was used"
        )
        assert role(metric="pearson") == "seen", "of all calls alone"
        assert role(rule="greedy") == "blind"
        talk = {"dataset": "TopicalChat", "calls": 18}
        assert role(**talk, metric="pearson") == "blind"
        assert role(**talk) == "seen"

    def test_bootstrap_is_that_of_resampled_contexts(self):
        rng = np.random.default_rng(0)
        each = rng.standard_normal((3, 50)) + rng.standard_normal(50)
        each[:, 7] = np.nan
        known = np.delete(each, 7, axis=1).mean(axis=0)
        again = [rng.choice(known, len(known)).mean() for _ in range(4000)]
        assert bootstrap_se(each) == pytest.approx(np.std(again), rel=0.06)


class TestDraws:
    twin = Twin("x", "topicalchat", "coherency", 0.6, 1.0, 0.5, 0.0)

    def test_a_block_does_not_depend_on_what_else_is_computed_or_on_workers(self):
        jobs = [(self.twin, Calls("topicalchat", k)) for k in (12, 18, 30)]
        alone = small.run_blocks(jobs[1:2], Settings(draws=2, workers=1))
        small._KNOWN.clear()
        among = small.run_blocks(jobs, Settings(draws=4, workers=3))
        for cell, each in alone[jobs[1]].items():
            np.testing.assert_array_equal(each, among[jobs[1]][cell][:2])
        small._KNOWN.clear()
        other = small.run_blocks([(self.twin, Calls("topicalchat", 18, seed=1))], Settings(draws=2))
        (found,) = other.values()
        key = ("PoE-BT", "spearman")
        assert (np.nan_to_num(found[key]) != np.nan_to_num(alone[jobs[1]][key])).any()

    def test_both_orders_are_averaged(self):
        stack = symmetric_stack(2, np.array([[[0, 1], [1, 0]]]), np.array([[0.9, 0.3]]))
        np.testing.assert_allclose(stack.p, [[0.8]])

    def test_contexts_without_an_order_are_left_out(self):
        gold = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 3.0, 2.0]])
        told_nothing = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
        np.testing.assert_array_equal(small.per_context(told_nothing, gold), [1.0, np.nan, 0.0])


class TestSharedErrors:
    def test_pairing_makes_a_difference_as_sure_as_it_is(self):
        """Methods that rise and fall with the contexts, and one that does not."""
        rng = np.random.default_rng(0)
        luck, own = rng.standard_normal(400), 0.1 * rng.standard_normal((5, 400))
        means = np.vstack([luck + own[:4], own[4:]])
        shared = shared_errors(means)
        se = np.array([bootstrap_se(each[None]) for each in means])
        assert (np.abs(shared) <= se + 1e-12).all()
        assert abs(shared[4]) < 0.2 * se[4]

        def difference(a, b):
            alone = np.sqrt(np.maximum(se**2 - shared**2, 0.0))
            return np.sqrt((shared[a] - shared[b]) ** 2 + alone[a] ** 2 + alone[b] ** 2)

        for a, b in ((0, 1), (2, 3), (0, 4)):
            paired = bootstrap_se((means[a] - means[b])[None])
            assert difference(a, b) == pytest.approx(paired, rel=0.15)
        assert np.hypot(se[0], se[1]) > 5.0 * difference(0, 1), "what independence would say"

    def test_nothing_is_shared_where_nothing_can_be_told(self):
        assert not shared_errors(np.ones((3, 50))).any()
        assert not shared_errors(np.full((3, 50), np.nan)).any()

    def test_means_of_contexts_leave_out_what_is_not_known(self):
        each = np.array([[[1.0, np.nan, np.nan], [3.0, 4.0, np.nan]]])
        np.testing.assert_array_equal(by_context(each), [2.0, 4.0, np.nan])


@pytest.mark.long
class TestRunVariance:
    def test_components_are_found_and_what_is_known_is_taken_out(self):
        """Judges of variance 4 + 1, of which the 4 is known; draws of calls of variance 9."""
        rng = np.random.default_rng(0)
        given, own = 2.0 * rng.standard_normal(40_000), rng.standard_normal(40_000)
        draws = given + own + 3.0 * rng.standard_normal((2, 40_000))
        assert run_variance(draws, given, averaged=100) == pytest.approx(1.09, abs=0.15)
        assert run_variance(draws, 0.0, averaged=100) == pytest.approx(5.09, abs=0.2)
        assert run_variance(draws, given, averaged=1) == pytest.approx(10.0, abs=0.3)
        # Negative control: judges of their own in each draw share nothing.
        apart = run_variance(rng.permuted(draws, axis=1), 0.0, averaged=100)
        assert apart == pytest.approx(0.14, abs=0.2)

    def test_more_draws_tell_the_same_more_surely(self):
        """Twenty judges of variance 1, draws of variance 9, as few as Table 3 has."""
        rng = np.random.default_rng(1)
        judges = rng.standard_normal((20, 2000))
        draws = judges + 3.0 * rng.standard_normal((11, 20, 2000))
        few, many = (run_variance(draws[:m], 0.0, averaged=20) for m in (2, 11))
        for found in (few, many):
            assert found.mean() == pytest.approx(1.0 + 9.0 / 20.0, abs=0.1)
        assert many.std() < few.std() / 2.0

    def test_two_seeds_agree_and_would_not_without_the_contexts(self, monkeypatch):
        """A cell of Table 7: the mean over four attributes, a hundred judges asked twice."""
        few, whole = ("PoE-BT", "spearman"), ("avg-prob", "spearman")
        chosen = {name: small.METHODS[name] for name, _ in (few, whole)}
        monkeypatch.setattr(small, "METHODS", chosen)
        monkeypatch.setattr(small, "BLOCK", 100)
        by_context, pooled = [], []
        for seed in (0, 1):
            parts = []
            for attribute in labels("topicalchat").scores:
                twin = twins("topicalchat")["FlanT5-3B", attribute]
                job = (twin, Calls("topicalchat", 18, seed=seed))
                every = (twin, Calls("topicalchat", 30, seed=seed))
                assert small._again(every) == every, "of all calls there is one set"
                found = [small.block(each, 0) for each in (job, small._again(job), every)]
                parts.append([each[of] for each, of in zip(found, (few, few, whole), strict=True)])
            by_context.append(sum(small._run_variance(*part) for part in parts) / 16)
            means = np.mean([[np.nanmean(x, axis=-1) for x in part] for part in parts], axis=0)
            pooled.append(float(run_variance(means[:2], means[2], averaged=100)))
        apart, before = (abs(np.sqrt(x[1] / x[0]) - 1.0) for x in (by_context, pooled))
        assert apart < 0.1
        assert apart < before, "as one mean a draw the same judges tell less"

    def test_contexts_are_independent(self, monkeypatch):
        """Which `_run_variance` rests on: 600 judges' means scatter as single contexts say."""
        monkeypatch.setattr(small, "METHODS", {"avg-prob": small.METHODS["avg-prob"]})
        monkeypatch.setattr(small, "BLOCK", 600)
        twin = twins("topicalchat")["FlanT5-3B", "coherency"]
        one = small.block((twin, Calls("topicalchat", 18)), 0)["avg-prob", "spearman"]
        means = np.nanmean(one, axis=-1).var(ddof=1)
        assert small._run_variance(one, one, 0.0 * one) == pytest.approx(means, rel=0.2)

    def test_another_draw_of_calls_is_put_to_the_same_judges(self):
        calls = Calls("topicalchat", 18)
        gold = labels("topicalchat").scores["coherency"]
        twin = twins("topicalchat")["FlanT5-3B", "coherency"]
        one, other = (
            small.answers(twin, each, gold, seed=[0, 0], draws=1)
            for each in (calls, replace(calls, again=1))
        )
        told = [
            dict(zip(zip(s.first[0, 0], s.second[0, 0], strict=True), s.p[0, 0], strict=True))
            for s in (one, other)
        ]
        shared = set(told[0]) & set(told[1])
        assert shared
        assert set(told[0]) != set(told[1])
        assert all(told[0][pair] == told[1][pair] for pair in shared)

    def test_the_level_of_a_twin_is_that_of_its_draws(self, monkeypatch):
        monkeypatch.setattr(small, "TASTES", {"topicalchat": 2})
        twin = twins("topicalchat")["FlanT5-3B", "coherency"]
        job = (twin, Calls("topicalchat", 30))
        found = small.run_blocks([job], Settings(draws=4, workers=1))[job]
        np.testing.assert_allclose(
            small.level(twin, 0), np.nanmean(found["avg-prob", "spearman"], axis=-1)
        )


class TestCurves:
    def test_a_curve_shares_its_draws_with_the_tables(self):
        """Same twin, same K, same seed: figure and table must report the same number."""
        settings = Settings(short("figure5d", counts=(18,)), draws=2, workers=1)
        curve = small.curve(settings).set_index("method")["value"]
        job = (twins("topicalchat")["FlanT5-11B", "coherency"], Calls("topicalchat", 18))
        found = small.run_blocks([job], Settings(draws=2))[job]
        mean = 100 * np.nanmean(found["PoE-BT", "spearman"])
        assert curve["PoE-BT"] == pytest.approx(mean)


@pytest.mark.long
class TestLarge:
    twin = Twin("x", "cmcqrd", "difficulty", 0.7, 1.0, 0.5, 0.8)

    def test_symmetric_calls_cancel_the_bias_and_single_ones_do_not(self):
        rng = np.random.default_rng(0)
        answer = self.twin.asker(labels("cmcqrd").scores["difficulty"][0], rng)
        both = large.compared(658, 20_000, answer, rng)
        one = large.compared(658, 10_000, answer, rng, rule="no-repeat")
        assert len(both) == len(one) == 10_000
        assert both.p.mean() == pytest.approx(0.5, abs=0.01)
        assert one.p.mean() > 0.6

    def test_the_control_variate_is_of_the_very_judges_that_are_drawn(self):
        """With hardly any noise and every pair of a pool asked, scores tell what is perceived."""
        twin = replace(self.twin, noise=1e-9, sharpness=0.1)
        own, (mean, error) = large.perception(twin, 3, 0)
        job = large.symmetric(twin, 100, ("PoE-BT",), 0)
        found = [large.draw(job, number)["PoE-BT"] for number in range(3)]
        np.testing.assert_allclose(found, own, atol=0.2)
        assert own.std() > 0.5, "negative control: judges differ by more than that"
        assert mean == pytest.approx(own.mean(), abs=6.0)
        assert error < 0.2

    def test_scores_are_those_of_the_front_doors(self):
        rng = np.random.default_rng(1)
        answer = self.twin.asker(np.arange(40.0), rng)
        pairs = large.linked_pairs(40, 200, rng)
        c = poe.Comparisons.from_pairs(pairs, answer(pairs), items=40)
        ours = large.scores(c, large.METHODS, bias="plug-in")
        np.testing.assert_allclose(ours["win-ratio"], poe.win_ratio(c))
        np.testing.assert_allclose(ours["avg-prob"], poe.average_probability(c))
        for method, expert in (("PoE-BT", "bradley-terry"), ("PoE-g", "gaussian")):
            fit = poe.fit(c, expert=expert, bias="mean")
            np.testing.assert_allclose(ours[method], fit.scores, atol=1e-5)


class TestDecided:
    def test_decisions_by_hand(self):
        """A judge without noise whose bias is larger than any difference always says first."""
        judge = Twin("y", "topicalchat", "coherency", 0.9999, 1.0, 0.0, 12.0)
        found = decided.decided(judge, 0, 1)
        assert found["first-position rate", "standard"] == pytest.approx([1.0])
        assert found["accuracy", "standard"] == pytest.approx([0.5])
        assert found["accuracy", "debiased"][0] > 0.95


class TestRecorded:
    def test_llmbar_by_hand(self, monkeypatch):
        """Item a: right in both orders; item b: first both times, so right once."""
        verdicts = pd.DataFrame({
            "set": "S", "item": ["a", "a", "b", "b"], "judge": "j", "strategy": "Vanilla",
            "first": [1, 2, 1, 2], "p": [1.0, 0.0, 1.0, 1.0], "label": [1, 1, 1, 1],
        })  # fmt: skip
        verdicts.attrs["kind"] = "recorded"
        monkeypatch.setattr(recorded_answers.recorded, "llmbar", lambda: verdicts)
        found = table("recorded-llmbar").set_index("method")["value"]
        shares = {"first-position": 75.0, "accuracy": 75.0, "both-orders": 75.0, "consistent": 50.0}
        assert found.to_dict() == shares
