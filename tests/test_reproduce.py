"""Tables of contexts and of large sets, verdicts, and results on disk."""

import numpy as np
import pandas as pd
import pytest

import poe
from poe.metrics import summary_level
from reproduction import contexts, large, published, sweep, table1, table3, verdicts
from reproduction.contexts import Cell
from reproduction.large import Large
from reproduction.settings import Settings
from reproduction.sweep import Setting
from reproduction.twins import Twin, symmetric_stack, twins
from tests.helpers import real_labels

STAND_IN = Settings(draws=25, source="stand-in")


@pytest.fixture(scope="module")
def stand_in():
    return table1.run(draws=25, source="stand-in", workers=2)


class TestTable1:
    def test_has_every_cell_of_the_paper_once(self, stand_in):
        assert sorted(stand_in["id"]) == sorted(published.load("table1")["id"])

    def test_the_seed_decides_and_workers_do_not(self, monkeypatch):
        monkeypatch.setattr(sweep, "BLOCK", 2)
        one = table1.run(draws=2, source="stand-in", workers=1)
        sweep._block.cache_clear()
        three = table1.run(draws=2, source="stand-in", workers=3)
        pd.testing.assert_frame_equal(one, three)
        other = table1.run(draws=2, source="stand-in", seed=1)
        assert (other["value"] != one["value"]).all()

    def test_roles(self, stand_in):
        counts = stand_in["role"].value_counts().to_dict()
        assert counts == {"predicted": 34, "implied": 10, "calibrated": 6}

    def test_on_the_full_set_soft_methods_rank_alike(self, stand_in):
        """Paper A.3 and its consequence for Bradley-Terry; decisions likewise."""
        full = stand_in[stand_in["k"] == 240].pivot(
            index="system", columns="method", values="value"
        )
        np.testing.assert_allclose(full["PoE-g"], full["avg-prob"], atol=1e-9)
        np.testing.assert_allclose(full["PoE-BT"], full["avg-prob"], atol=1e-9)
        np.testing.assert_allclose(full["BT"], full["win-ratio"], atol=1e-9)

    def test_experts_beat_counting_with_few_calls(self, stand_in):
        few = stand_in[stand_in["k"] == 48].pivot(index="system", columns="method", values="value")
        assert (few["PoE-BT"] > few["avg-prob"]).all()
        assert (few["avg-prob"] > few["win-ratio"]).all()

    @real_labels
    def test_agrees_with_the_committed_result(self, monkeypatch):
        """A quarter of the draws: each cell within five standard errors of the whole."""
        quarter = table1.run(draws=25, source="real")
        whole = verdicts.read("table1")
        assert quarter["id"].tolist() == whole["id"].tolist()
        assert (np.abs(quarter["value"] - whole["value"]) / quarter["se"]).max() < 5
        assert set(quarter["labels"]) == set(whole["labels"]) == {"real"}


class TestContexts:
    def test_cells_printed_in_several_tables_are_one_number(self):
        """Tables 1, 5 and poe_v1's Table 1 print the same experiments, K in calls or pairs."""
        ones = contexts.cells("table1").set_index("cell")["id"]
        fives = contexts.cells("table5").set_index("cell")["id"]
        firsts = contexts.cells("table1", "poe_v1").set_index("cell")["id"]
        assert set(ones.index) <= set(fives.index)
        assert set(firsts.index) <= set(fives.index)

    def test_roles_by_hand(self):
        def role(*, calls=48, rule="symmetric", method="PoE-BT", metric="spearman", **rest):
            place = {"dataset": "SummEval", "system": "FlanT5-3B", "attribute": "mean", **rest}
            return contexts.role(
                Cell(**place, calls=calls, rule=rule, method=method, metric=metric)
            )

        assert role() == "predicted"
        assert role(calls=240, method="avg-prob") == "calibrated"
        assert role(calls=240) == "implied"
        assert role(calls=240, metric="pearson") == "calibrated"
        assert role(calls=240, metric="pearson", method="PoE-g") == "implied"
        assert role(calls=240, metric="pearson", method="win-ratio") == "consulted"
        assert role(rule="greedy") == "held out"
        talk = {"dataset": "TopicalChat", "calls": 18}
        assert role(**talk, metric="pearson") == "held out"
        assert role(**talk) == "predicted"

    def test_a_cell_by_hand(self, monkeypatch):
        """One draw recomputed from the definitions, without the module's plumbing."""
        monkeypatch.setattr(sweep, "BLOCK", 2)
        settings = Settings(draws=2, source="stand-in", seed=5)
        ours = contexts.run(settings, "table7").set_index("id")["value"]
        data = poe.datasets.load("topicalchat", source="stand-in")
        values = []
        for attribute, gold in data.scores.items():
            twin = twins("topicalchat")["FlanT5-3B", attribute]
            setting = Setting("topicalchat", "stand-in", 18, seed=5)
            stack = sweep.answers(twin, setting, gold, seed=[5, 0], draws=2)
            scores = np.empty((2, *gold.shape))
            for draw, context in np.ndindex(2, len(gold)):
                part = poe.Comparisons(
                    first=stack.first[draw, context],
                    second=stack.second[draw, context],
                    p=stack.p[draw, context],
                    items=range(6),
                )
                scores[draw, context] = poe.fit(part, expert="bradley-terry").scores
            values.append(100 * summary_level(scores, gold).value.mean())
        assert ours["poe_v2/table7/FlanT5-3B/K18/PoE-BT"] == pytest.approx(
            np.mean(values), abs=0.01
        )

    def test_bootstrap_is_that_of_resampled_contexts(self):
        rng = np.random.default_rng(0)
        each = rng.standard_normal((3, 50)) + rng.standard_normal(50)
        each[:, 7] = np.nan
        known = np.delete(each, 7, axis=1).mean(axis=0)
        again = [rng.choice(known, len(known)).mean() for _ in range(4000)]
        assert sweep.bootstrap_se(each) == pytest.approx(np.std(again), rel=0.06)


class TestSweep:
    twin = Twin("x", "topicalchat", "coherency", 0.6, 1.0, 0.5, 0.0, ())

    def test_a_block_does_not_depend_on_what_else_is_computed(self):
        setting = Setting("topicalchat", "stand-in", 18)
        alone = sweep.run_blocks([(self.twin, setting)], draws=25, workers=1)
        sweep._block.cache_clear()
        more = [(self.twin, Setting("topicalchat", "stand-in", k)) for k in (12, 18, 30)]
        among = sweep.run_blocks(more, draws=50, workers=3)
        for cell, each in alone[self.twin, setting].items():
            np.testing.assert_array_equal(each, among[self.twin, setting][cell][:25])

    @pytest.mark.parametrize("rule", ["symmetric", "greedy"])
    def test_both_orders_are_averaged(self, rule):
        gold = poe.datasets.load("topicalchat", source="stand-in").scores["coherency"]
        setting = Setting("topicalchat", "stand-in", 18, rule)
        stack = sweep.answers(self.twin, setting, gold, seed=[0, 0], draws=2)
        assert stack.p.shape == (2, 60, 9)

    def test_greedy_sets_are_linked_and_even(self):
        pairs = sweep.calls("greedy", 48, 20, 16, np.random.default_rng(0))
        assert pairs.shape == (20, 48, 2)
        for one in pairs:
            assert len({tuple(sorted(pair)) for pair in one.tolist()}) == 24
            degree = np.bincount(one.ravel(), minlength=16)
            assert degree.max() - degree.min() <= 4  # a pair more or less, in both orders

    def test_contexts_without_an_order_are_left_out(self):
        gold = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 3.0, 2.0]])
        told_nothing = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
        np.testing.assert_array_equal(
            sweep.per_context(told_nothing, gold, "spearman"), [1.0, np.nan, 0.0]
        )


class TestLarge:
    twin = Twin("x", "cmcqrd", "difficulty", 0.7, 1.0, 0.5, 0.8, ())

    def test_table3_has_every_cell(self, monkeypatch):
        monkeypatch.setattr(large, "POOL", 20_000)
        large.pool.cache_clear()
        ours = table3.run(Settings(draws=10, source="stand-in"))
        large.pool.cache_clear()
        assert sorted(ours["id"]) == sorted(published.load("table3")["id"])
        assert set(ours["labels"]) == {"stand-in"}
        assert ours["role"].value_counts().to_dict() == {"predicted": 72, "calibrated": 24}

    def test_symmetric_calls_cancel_the_bias_and_single_ones_do_not(self):
        rng = np.random.default_rng(0)
        gold = poe.datasets.load("cmcqrd", source="stand-in").scores["difficulty"][0]
        answer = large.twin_answers(self.twin, gold, rng)
        both = large.compared(658, Large("cmcqrd", "stand-in", 20_000), answer, rng)
        one = large.compared(658, Large("cmcqrd", "stand-in", 10_000, "no-repeat"), answer, rng)
        assert len(both) == len(one) == 10_000
        assert both.p.mean() == pytest.approx(0.5, abs=0.01)
        assert one.p.mean() > 0.6

    def test_scores_are_those_of_the_front_doors(self):
        rng = np.random.default_rng(1)
        gold = np.arange(40.0)
        answer = large.twin_answers(self.twin, gold, rng)
        pairs = large.linked_pairs(40, 200, rng)
        c = poe.Comparisons.from_pairs(pairs, answer(pairs), items=40)
        ours = large.scores(
            c, Large("cmcqrd", "stand-in", 200, bias="plug-in", methods=large.METHODS)
        )
        np.testing.assert_allclose(ours["win-ratio"], poe.win_ratio(c))
        np.testing.assert_allclose(ours["avg-prob"], poe.average_probability(c))
        for method, expert in (("PoE-BT", "bradley-terry"), ("PoE-g", "gaussian")):
            fit = poe.fit(c, expert=expert, bias="mean")
            np.testing.assert_allclose(ours[method], fit.scores, atol=1e-5)


def test_symmetric_stack_by_hand():
    pairs = np.array([[[0, 1], [1, 0]]])
    stack = symmetric_stack(2, pairs, np.array([[0.9, 0.3]]))
    np.testing.assert_allclose(stack.p, [[0.8]])


def test_methods_of_ones_own_score_the_same_draws():
    data = poe.datasets.load("topicalchat", source="stand-in")
    twin = twins("topicalchat")["FlanT5-3B", "coherency"]
    own = {"mine": poe.win_ratio}
    ours = sweep.agreements(twin, data, calls=[18], draws=3, seed=[1], methods=own)
    named = sweep.agreements(twin, data, calls=[18], draws=3, seed=[1], methods=["win-ratio"])
    np.testing.assert_array_equal(ours[18, "mine"].value, named[18, "win-ratio"].value)
