"""The several-judges paper on simulated panels: calibration, predictions, table shapes, claims."""

import numpy as np
import pytest

from poe.panel import figures, paper, recorded_results, reproduce
from poe.panel.errors import AggregationError
from poe.panel.panels import llmbar
from poe.panel.simulated import SimulatedPanel

NO_CONTEXT = ("average-probability", "majority-voting", "DawidSkene")
SMALL = {"seeds": (0, 1), "most": 400, "epochs": 1}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.mark.parametrize("task", paper.TASKS)
@pytest.mark.parametrize("pool", ["7B-8B", "70B"])
def test_panels_have_the_printed_accuracies_and_majority(task, pool):
    made = paper.paper_panel(task, pool)
    np.testing.assert_allclose(made.accuracies(), paper.single_accuracies(task, pool), atol=1e-9)
    printed = paper.cell(1, system=pool, dataset=task, method="majority-voting")
    assert made.majority_accuracy() == pytest.approx(printed, abs=1e-5)
    # Judges share most of their errors: independent ones would do far better.
    assert made.correlation > 0.5
    assert paper.independent_majority(task, pool) > printed + 0.1


def test_the_pools_are_those_of_the_paper():
    sizes = [len(paper.single_accuracies(task, "7B-8B")) for task in paper.TASKS]
    assert sizes == [10, 8, 9]  # 5.2; Table 4 leaves 7 of 8 and Table 5 leaves 8 of 9
    assert all(len(paper.single_accuracies(task, "70B")) == 5 for task in paper.TASKS)
    assert len(paper.subset_judges("without Llama-3", "TruthfulQA")) == 7
    assert len(paper.subset_judges("without Beluga", "ChatbotArena")) == 8


def test_a_judge_that_always_says_yes_scores_the_share_of_yes():
    """StableBeluga's printed TruthfulQA accuracy is the share of truthful answers to the digit."""
    alone = paper.single_accuracies("TruthfulQA", "7B-8B", removed=True)
    assert alone["StableBeluga-7B"] == pytest.approx(paper.PREVALENCE["TruthfulQA"], abs=5e-5)


def test_table_4_is_predicted_and_table_5_is_not():
    """Subsets' majorities follow from the whole pool on TruthfulQA; Table 5's are out of reach."""
    four = paper.subset_majority("TruthfulQA")
    assert len(four) == 21
    assert np.corrcoef(four["published"], four["value"])[0, 1] > 0.9
    assert four["difference"].abs().mean() < 1.0
    five = paper.subset_majority("ChatbotArena")
    assert (five["difference"] < -1.5).all()  # although ties of eight judges correct the bias
    # Leaving any single judge out lifts the printed majority by more than three points.
    whole = 100 * paper.cell(1, system="7B-8B", dataset="ChatbotArena", method="majority-voting")
    one_less = five[five["subset"].str.startswith("without")]["published"]
    assert len(one_less) == 9
    assert (one_less > whole + 3).all()


def test_bias_is_where_both_orders_give_table_2s_majority():
    made = paper.biased_panel("7B-8B", n=20_000)
    wanted = paper.cell(2, system="7B-8B", dataset="ChatbotArena", method="majority-voting")
    drawn = made.draw(40_000, seed=9, swapped=True, repeat=paper.REPEAT)
    run = reproduce.accuracies(drawn, methods=("majority-voting",), seed=0)
    assert run["majority-voting"] == pytest.approx(100 * wanted, abs=1.5)
    assert (made.lean > 0).all()
    np.testing.assert_allclose(
        made.accuracies(), paper.single_accuracies("ChatbotArena", "7B-8B"), atol=1e-9
    )


def test_table_rows_carry_the_printed_cells():
    table = reproduce.table1(tasks=("TruthfulQA",), **SMALL)
    assert len(table) == 16
    assert set(table["method"]) == set(reproduce.METHODS)
    printed = paper.printed(1).set_index("id")["value"]
    assert (table["published"] == printed[table["id"]].to_numpy()).all()
    assert (table["evidence"] == "simulated").all()
    assert (table["verdict"] == "inputs differ").all()
    used = table.loc[table["calibrated"], "method"]
    assert set(used) == {"majority-voting", "train-on-majority-voting"}
    assert table["value"].between(40, 100).all()
    assert table["sd"].notna().all()


def test_table_2_has_both_orders_of_the_same_samples():
    table = reproduce.table2(pools=("7B-8B",), methods=NO_CONTEXT, **SMALL | {"most": 3000})
    wide = table.pivot(index="method", columns="table", values="value")
    voted = wide.loc[["average-probability", "majority-voting"]]
    assert (voted["table2"] > voted["table1"] + 0.5).all()
    # Dawid and Skene find the bias by themselves: p_0 and p_1 differ, so both orders add less.
    gain = wide["table2"] - wide["table1"]
    assert gain["DawidSkene"] < gain["majority-voting"]
    assert list(table["table"].unique()) == ["table1", "table2"]


def test_tables_1_and_2_share_chatbot_arenas_samples():
    """One order of Table 2 is Table 1: the same judges with their bias, draw by draw."""
    one = reproduce.table1(tasks=("ChatbotArena",), methods=NO_CONTEXT, **SMALL)
    two = reproduce.table2(methods=NO_CONTEXT, **SMALL)
    first = two[two["table"] == "table1"].set_index("id")["value"]
    assert first.to_dict() == one.set_index("id")["value"].to_dict()


def test_table_3_says_what_was_not_attempted():
    table = reproduce.table3(seeds=(0,), most=2000)
    assert len(table) == 45
    left_out = table[table["verdict"] == "not attempted"]
    assert sorted(left_out["system"].unique()) == ["StableBeluga-7B", "dolphin-2.1-mistral-7b"]
    assert left_out["value"].isna().all()
    there = table[table["value"].notna()]
    assert (there["difference"].abs() < 4 * 100 * np.sqrt(0.25 / 2000)).all()


def test_samples_of_the_development_set_are_not_scored():
    panel = SimulatedPanel.of(np.full(3, 0.7)).draw(300, seed=0)
    order = np.random.default_rng([0, 7]).permutation(300)
    panel.truth[order[:250]] = 1 - panel.truth[order[:250]]  # spoil them
    spoilt = reproduce.accuracies(panel, methods=NO_CONTEXT, seed=0)
    panel.truth[order[:250]] = 1 - panel.truth[order[:250]]
    assert spoilt == reproduce.accuracies(panel, methods=NO_CONTEXT, seed=0)


def test_the_regulariser_helps_only_where_the_context_hides_the_common_error():
    rows = reproduce.regulariser_and_context(
        visible=(0.0, 1.5),
        methods=("SkillAggregation-unregularised", "SkillAggregation"),
        seeds=(0, 1),
        most=1500,
        epochs=6,
    )
    wide = rows.pivot_table(index=["error_visible", "seed"], columns="method", values="value")
    gain = (
        (wide["SkillAggregation"] - wide["SkillAggregation-unregularised"]).groupby(level=0).mean()
    )
    assert gain[0.0] > 1.0
    assert gain[1.5] < gain[0.0] - 1.0


def test_figures_are_tidy():
    slopes = figures.skills_and_accuracy("TruthfulQA", seeds=(0,), most=1500, epochs=4)
    assert len(slopes) == 2 * 8
    assert slopes["correlation"].between(-100, 100).all()
    assert (slopes.groupby("method")["correlation"].first() > 50).all()
    some = figures.sizes(("TruthfulQA",), samples=(300,), seeds=(0,), epochs=1)
    assert list(some["method"]) == [
        "majority-voting", "DawidSkene", "Crowdlayer",
        "SkillAggregation-unregularised", "SkillAggregation",
    ]  # fmt: skip
    np.testing.assert_allclose(some["gain"], some["value"] - some["value"].iloc[0])
    parts = figures.subsets("TruthfulQA", seeds=(0,), most=400, epochs=1)
    assert len(parts) == 21 * 4
    majority = parts[parts["method"] == "majority-voting"]
    assert (majority["gain"] == 0).all()
    assert majority["published"].notna().all()
    assert (figures.FIGURE5["verdict"] == "not attempted").all()


def test_subsets_share_the_pools_bias_and_correlation():
    whole = paper.panel_of("ChatbotArena", "7B-8B")
    some = paper.subset_panel(
        paper.subset_judges("without Llama-3", "ChatbotArena"), "ChatbotArena"
    )
    assert (some.lean == whole.lean[0]).all()
    assert some.lean[0] > 0
    assert some.correlation == whole.correlation
    alone = paper.single_accuracies("ChatbotArena", "7B-8B")
    np.testing.assert_allclose(some.accuracies(), alone[list(some.judges)], atol=1e-9)
    assert (paper.panel_of("TruthfulQA", "7B-8B").lean == 0).all()  # no order to be biased to


def test_judges_or_orders_counts_calls():
    rows = figures.judges_or_orders(calls=(2, 6), seeds=(0, 1), n=500)
    spent = rows["judges"] * np.where(rows["spent on"] == "both orders", 2, 1)
    assert (spent == rows["calls"]).all()


def test_the_recorded_table_runs_on_a_stand_in_and_says_simulated():
    options = {"strategies": {"Vanilla": "Vanilla"}, "orders": ("both",), "source": "stand-in"}
    judge = llmbar(strategies="Vanilla", source="stand-in").judgements.judges[0]
    table = recorded_results.recorded_table(methods=NO_CONTEXT, trusted=judge, **options)
    assert (table["evidence"] == "simulated").all()
    assert "DawidSkene, trusted" in set(table["method"])
    assert set(table["quantity"]) == {"accuracy", "correlation of slopes"}
    with_networks = recorded_results.recorded_table(trusted=judge, **options)
    assert set(with_networks["method"]) == set(table["method"])  # a stand-in has no texts


def test_cells_that_are_not_there_are_refused():
    with pytest.raises(AggregationError, match="Table 1 has 0 cells"):
        paper.cell(1, system="9000B")
