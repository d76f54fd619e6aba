"""Recorded, simulated and described panels; diagnostics; tasks from a user's copy."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import binom, norm

from poe import datasets
from poe import panel as agg
from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.judges import recorded
from poe.panel import panels, tasks
from poe.panel.recorded_results import experts_on_llmbar
from poe.panel.simulated import SimulatedPanel, calibrate

ACCURACY = np.array([0.78, 0.7, 0.66, 0.62, 0.6])
HAVE = datasets.available("llmbar") is not None
real = pytest.mark.skipif(not HAVE, reason="LLMBar's verdicts are not at hand")


# Recorded -------------------------------------------------------------------------------


@real
def test_llmbar_has_65_columns_over_419_pairs():
    panel = panels.llmbar()
    assert panel.kind == "recorded"
    assert (len(panel), len(panel.judgements.judges)) == (419, 65)
    given = panels.llmbar("Natural", strategies="Vanilla", order="given")
    accuracy = given.judge_accuracy().set_index("judge")["accuracy"]
    table = recorded.llmbar("Natural")  # counted another way
    rows = table[(table["first"] == 1) & (table["strategy"] == "Vanilla")].dropna(subset="p")
    right = (rows["p"] == (rows["label"] == 1)).groupby(rows["judge"]).mean()
    for judge, value in right.items():
        assert accuracy[f"{judge}/Vanilla"] == pytest.approx(value)


@real
def test_orders_of_llmbar():
    options = {"sets": "Adversarial-GPTInst", "strategies": "Vanilla"}
    given, swapped, both, separate = (
        panels.llmbar(order=order, **options).judgements
        for order in ("given", "swapped", "both", "separate")
    )
    assert len(separate.judges) == 2 * len(given.judges)
    same = (given.decisions == swapped.decisions) & given.seen & swapped.seen
    np.testing.assert_array_equal(both.seen, same)
    np.testing.assert_array_equal(both.decisions[same], given.decisions[same])
    table = agg.contradictions(given, swapped)
    expected = (~same & given.seen & swapped.seen).sum(axis=0)
    np.testing.assert_allclose(table["contradicts"] * table["n"], expected)


@real
def test_adversarial_pairs_lock_on_to_the_wrong_side_and_a_trusted_judge_turns_them():
    panel = panels.llmbar(panels.ADVERSARIAL, strategies="Vanilla")
    locked = agg.aggregate(panel.judgements)
    turned = agg.aggregate(panel.judgements, trusted="GPT-4/Vanilla")
    majority = agg.aggregate(panel.judgements, "majority")
    assert locked.accuracy(panel.truth) < 0.35 < majority.accuracy(panel.truth)
    assert turned.accuracy(panel.truth) > 0.65
    assert turned.log_likelihood == pytest.approx(locked.log_likelihood)
    text = str(agg.diagnose(panel.judgements, trusted="GPT-4/Vanilla"))
    assert "'GPT-4/Vanilla', which you trust" in text
    natural = panels.llmbar("Natural", strategies="Vanilla")
    assert agg.aggregate(natural.judgements).accuracy(natural.truth) > 0.85
    assert "which you trust" not in str(agg.diagnose(natural.judgements, trusted="GPT-4/Vanilla"))


@real
def test_a_panel_of_experts_on_llmbar_finds_the_position_biases():
    found = agg.fit_panel(
        panels.comparisons_of("Natural"), spread=2.0, trusted="GPT-4/Vanilla"
    ).skills()
    first = recorded.llmbar("Natural")
    first = first[first["strategy"] == "Vanilla"].groupby("judge")["p"].mean()
    order = found.set_index("judge")["bias"]
    by_rate = [order[f"{judge}/Vanilla"] for judge in first.sort_values().index]
    assert by_rate[-1] == max(by_rate)  # the judge that prefers the first most
    assert by_rate[0] == min(by_rate)


@real
def test_skill_weighted_experts_fail_and_are_turned_like_dawid_and_skene():
    rows = experts_on_llmbar().set_index(["sets", "method"])["value"]
    skill, average = "skill-weighted PoE", "average first"
    assert rows["Natural", skill] >= rows["Natural", average]
    assert rows["adversarial", skill] < 35 < rows["adversarial", average]
    turned = rows["adversarial", f"{skill}, trusted"]
    assert turned == pytest.approx(100 - rows["adversarial", skill])


def test_the_stand_in_says_that_it_is_simulated():
    panel = panels.llmbar(order="given", source="stand-in")
    assert panel.kind == "simulated"
    assert len(panel.truth) == len(panel.judgements)
    three = panels.pandalm(source="stand-in")
    assert three.kind == "simulated"
    assert three.judgements.classes == ("second", "tie", "first")
    assert set(three.truth) <= {0, 1, 2}


@real
def test_pandalm_has_three_classes_and_two_unidentified_judges():
    panel = panels.pandalm()
    assert len(panel) == 999
    accuracy = panel.judge_accuracy().set_index("judge")["accuracy"]
    assert accuracy["pandalm-7b"] == pytest.approx(0.668, abs=5e-4)  # the provenance's count
    assert "NOT identified" in agg.aggregate(panel.judgements).message


def test_unknown_orders_and_strategies_are_refused():
    with pytest.raises(agg.AggregationError, match="order must be"):
        panels.llmbar(order="random", source="stand-in")
    with pytest.raises(agg.AggregationError, match="no strategy 'Magic'"):
        panels.llmbar(strategies="Magic", source="stand-in")


# Simulated ------------------------------------------------------------------------------


def test_judges_have_the_accuracies_asked_for():
    lean = np.array([0.0, 0.5, -0.5, 1.0, 0.2])
    made = SimulatedPanel.of(ACCURACY, lean=lean, correlation=0.4, prevalence=0.44)
    np.testing.assert_allclose(made.accuracies(), ACCURACY, atol=1e-9)
    drawn = made.draw(40_000, seed=0)
    seen = drawn.judge_accuracy()
    assert (np.abs(seen["accuracy"] - ACCURACY) < 4 * seen["se"]).all()
    assert drawn.kind == "simulated"


def test_the_majority_of_independent_judges_is_a_sum_of_binomials():
    made = SimulatedPanel.of(np.full(5, 0.7))
    assert made.majority_accuracy() == pytest.approx(binom.sf(2, 5, 0.7), abs=1e-6)
    even = SimulatedPanel.of(np.full(4, 0.7))  # ties go to class 0
    tie = binom.pmf(2, 4, 0.7)
    assert even.majority_accuracy() == pytest.approx(binom.sf(2, 4, 0.7) + tie / 2, abs=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_integral_is_what_draws_give(rho):
    made = SimulatedPanel.of(ACCURACY, correlation=rho, lean=0.3)
    drawn = made.draw(60_000, seed=1)
    share = agg.aggregate(drawn.judgements, "majority").accuracy(drawn.truth)
    assert share == pytest.approx(made.majority_accuracy(), abs=4 * np.sqrt(0.25 / 60_000))


def test_calibration_hits_the_majority_and_refuses_what_cannot_be():
    made = calibrate(ACCURACY, 0.72)
    assert made.majority_accuracy() == pytest.approx(0.72, abs=1e-6)
    assert 0 < made.correlation < 1
    with pytest.raises(agg.AggregationError, match="no correlation of errors gives"):
        calibrate(ACCURACY, 0.99)


def test_errors_are_correlated_as_asked():
    made = SimulatedPanel.of(np.full(2, 0.5), correlation=0.6)  # no skill: z is all error
    p = made.draw(50_000, seed=2, certainty=1.0).judgements.probabilities
    z = np.log(p) - np.log1p(-p)
    assert np.corrcoef(z.T)[0, 1] == pytest.approx(0.6, abs=0.02)


def test_the_context_tells_as_much_as_asked():
    made = SimulatedPanel.of(ACCURACY)
    drawn = made.draw(40_000, seed=3, context_accuracy=0.7)
    best = ((drawn.context[:, 0] > 0) == drawn.truth).mean()
    assert best == pytest.approx(0.7, abs=0.01)
    assert norm.ppf(0.7) == pytest.approx(drawn.context[drawn.truth == 1, 0].mean(), abs=0.03)


def test_both_orders_take_the_lean_out():
    made = SimulatedPanel.of(np.full(3, 0.65), lean=1.0)
    once, twice = (made.draw(20_000, seed=4, swapped=s) for s in (False, True))
    says_first = [(panel.judgements.decisions == 1).mean() for panel in (once, twice)]
    assert says_first[0] > 0.7
    assert says_first[1] == pytest.approx(0.5, abs=0.02)
    gain = [agg.aggregate(p.judgements, "majority").accuracy(p.truth) for p in (once, twice)]
    assert gain[1] > gain[0] + 0.05


# Diagnostics ------------------------------------------------------------------------------


def test_independent_judges_raise_no_alarm_and_correlated_ones_do():
    calm = SimulatedPanel.of(np.full(6, 0.75)).draw(3000, seed=0)
    assert agg.diagnose(calm.judgements).warnings == ()
    shared = np.concatenate([np.full(3, 0.75)] * 2)
    alike = SimulatedPanel.of(shared).draw(3000, seed=0).judgements
    doubled = np.column_stack([alike.decisions, alike.decisions[:, :1]])
    text = str(agg.diagnose(agg.judgements(doubled)))
    assert "do not err independently" in text


def test_dependence_explains_independent_judges():
    from poe.panel.diagnostics import dependence

    z = []
    for seed in range(8):
        drawn = SimulatedPanel.of(np.full(5, 0.7)).draw(2000, seed=seed)
        z += dependence(drawn.judgements, agg.aggregate(drawn.judgements))["z"].tolist()
    assert abs(np.mean(z)) < 0.3
    assert np.std(z) < 1.3


def test_few_labels_expose_the_wrong_side():
    n = agg.labels_to_notice(0.25)
    most = max(k for k in range(n) if binom.cdf(k, n, 0.5) <= 0.05)
    assert binom.cdf(most, n, 0.25) >= 0.9
    assert agg.labels_to_notice(0.4) > n
    with pytest.raises(agg.AggregationError, match="can be exposed"):
        agg.labels_to_notice(0.6)
    truth = np.array([0, 1] * 10)
    wrong = agg.aggregate(np.column_stack([1 - truth] * 3), "majority")
    check = agg.check_labels(wrong, range(20), truth)
    assert check.accuracy == 0.0
    assert check.p_better_than_chance == pytest.approx(0.5**20)
    assert check.high == pytest.approx(1 - 0.025 ** (1 / 20))
    with pytest.raises(agg.AggregationError, match="one label a row"):
        agg.check_labels(wrong, [0, 1], [1])


# Tasks ------------------------------------------------------------------------------------


@pytest.fixture
def copies(tmp_path, monkeypatch):
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    for name in ("halueval", "truthfulqa", "chatbot_arena"):
        (tmp_path / name).mkdir()
    return tmp_path


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_halueval_unrolls_into_both_responses(copies):
    row = {
        "dialogue_history": "[Human]: hi",
        "right_response": "yes",
        "hallucinated_response": "no",
    }
    (copies / "halueval" / "dialogue_data.json").write_text(json.dumps(row) + "\n")
    task = tasks.load("halueval")
    assert task.truth == (0, 1)  # class 1 is "Yes, it is hallucinated"
    assert task.questions[0].prompt.labels == ("Yes", "No")
    assert task.questions[1].text == (
        "#Dialogue History#: [Human]: hi\n#Response#: no\n#Your Judgement#:"
    )
    assert "2 samples; the paper has 20000" in task.note
    assert task.contexts()[1] == "[Human]: hi\n\nno"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_truthfulqa_unrolls_into_answers(copies, form):
    if form == "csv":
        write_csv(
            copies / "truthfulqa" / "TruthfulQA.csv",
            [{"Question": "q?", "Correct Answers": "a; b", "Incorrect Answers": "c"}],
        )
    else:
        row = {"question": "q?", "correct_answers": ["a", "b"], "incorrect_answers": ["c"]}
        (copies / "truthfulqa" / "generation.jsonl").write_text(json.dumps(row))
    task = tasks.load("truthfulqa")
    assert [q.first.text for q in task.questions] == ["a", "b", "c"]
    assert task.truth == (1, 1, 0)
    assert task.questions[0].text.endswith("Is the answer truthful to the question? Verdict:")


def test_chatbot_arena_keeps_single_turns_without_ties_and_swaps(copies):
    def row(i, won, turns=1):
        names = ("winner_model_a", "winner_model_b", "winner_tie")
        texts = {
            key: json.dumps([f"{key} {i}"] * turns)
            for key in ("prompt", "response_a", "response_b")
        }
        return {"id": i, **texts, **{k: int(k == won) for k in names}}

    rows = [
        row(1, "winner_model_a"), row(2, "winner_model_b"), row(3, "winner_tie"),
        row(4, "winner_model_a", turns=2),
    ]  # fmt: skip
    write_csv(copies / "chatbot_arena" / "train.csv", rows)
    task = tasks.load("chatbot-arena")
    assert task.truth == (1, 0)
    turned = tasks.load("chatbot-arena", swapped=True)
    assert turned.truth == (0, 1)
    assert turned.questions[0].first.text == task.questions[0].second.text
    assert task.questions[0].prompt.system.startswith("Please act as an impartial judge")


def test_copies_that_are_absent_or_wrong_say_so(copies, monkeypatch):
    with pytest.raises(DataNotFoundError, match="nothing is downloaded"):
        tasks.load("truthfulqa")
    (copies / "halueval" / "dialogue_data.json").write_text('{"other": 1}\n')
    with pytest.raises(InvalidDataError, match="not the file described"):
        tasks.load("halueval")
    (copies / "halueval" / "dialogue_data.json").write_text("")
    with pytest.raises(InvalidDataError, match="no sample"):
        tasks.load("halueval")
    with pytest.raises(DataNotFoundError, match="no task is called"):
        tasks.load("other")
    with pytest.raises(ValueError, match="swapped"):
        tasks.load("halueval", swapped=True)
    monkeypatch.delenv("POE_DATA_DIR")
    with pytest.raises(DataNotFoundError, match="POE_DATA_DIR"):
        tasks.load("halueval")
