"""Predictions before asking: the twin is found again, intervals hold it, and not another judge."""

import tomllib

import numpy as np
import pytest
from scipy.special import log_expit

from judging.machine import data_dir
from reproduction import ask_model
from reproduction.measured_tables import Asked
from reproduction.twins import Twin, labels, quality_scores
from studies import predict_more, predictions
from studies.predictions import FILE

TRUTH = {"rho": 0.6, "sharpness": 1.4, "noise": 0.8, "bias": 0.4, "shared": -0.5}
RUNS = {"coherence": range(20), "fluency": range(20)}


def answered(dataset, attribute, seed, **parameters):
    """Logits and qualities of a twin that answered every call about a dataset."""
    gold = labels(dataset).scores[attribute]
    twin = Twin("a judge", dataset, attribute, **(TRUTH | parameters))
    return twin.answer(gold, np.random.default_rng(seed)).logits, quality_scores(gold)


def test_a_twins_parameters_are_found_again():
    """Averages over independent judges, whose standard errors are stated by their scatter."""
    found = [
        vars(predictions.calibrated(*answered("topicalchat", "coherency", seed)))
        for seed in range(40)
    ]
    for name, true in TRUTH.items():
        values = np.array([one[name] for one in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - true) < max(3.5 * error, 0.01), name


def test_position_alone_is_all_place_and_no_item():
    """Without an error about items the orders' errors anticorrelate perfectly."""
    logits, z = answered("topicalchat", "coherency", 0, shared=-1.0)
    assert predictions.calibrated(logits, z).shared == pytest.approx(-1.0, abs=1e-6)


@pytest.fixture(scope="module")
def predicted():
    known = [answered("topicalchat", name, 7 + k) for k, name in enumerate(ask_model.DIALOGUE)]
    return predictions.predicted(known, RUNS, draws=40)


def asked_about(**parameters):
    """The numbers of a judge on the predicted attributes."""
    every = []
    for k, (attribute, contexts) in enumerate(RUNS.items()):
        logits, _ = answered("summeval", attribute, 90 + k, **parameters)
        log_p = log_expit(np.stack([logits, -logits], axis=-1))[list(contexts)]
        gold = labels("summeval").scores[attribute][list(contexts)]
        every.append(Asked("summeval", attribute, "poe", tuple(contexts), log_p, gold))
    return predictions.numbers(every, draws=3, seed=[0])


def inside(predicted, measured):
    """Share of all numbers, means over attributes, that lie in their intervals."""
    found = []
    for name, values in measured.items():
        low, high = np.percentile(predicted[name].mean(axis=1), [2.5, 97.5])
        found.append(low <= values.mean() <= high)
    return float(np.mean(found))


def test_intervals_hold_a_judge_of_the_same_kind_and_not_another(predicted):
    assert inside(predicted, asked_about()) > 0.8
    assert inside(predicted, asked_about(rho=0.1, bias=2.5)) < 0.4  # the control


def test_the_file_says_when_from_what_and_with_which_chance(predicted):
    about = {"judge": "a judge", "date": "2026-01-01"}
    read = tomllib.loads(predictions.as_toml(predicted, list(RUNS), about))
    assert read["judge"] == "a judge"
    rows = read["prediction"]
    assert len(rows) == len(predicted) * (1 + len(RUNS))
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    claims = {row["claim"]: row["chance"] for row in rows if "claim" in row}
    assert set(claims) == set(predictions.CLAIMS)
    assert all(0.0 <= chance <= 1.0 for chance in claims.values())
    assert predictions.holds(np.array([0.0, 0.1]), "above 0.0").tolist() == [False, True]
    assert predictions.holds(np.array([2.0, 2.1]), "at most 2.0").tolist() == [True, False]


def test_it_is_refused_once_the_judge_has_been_asked(monkeypatch):
    monkeypatch.setattr(predictions, "group", lambda *a, **k: ["answers"])
    with pytest.raises(SystemExit, match="too late"):
        predictions.main()


# LLMBar, HANNA and scores -----------------------------------------------------------------------


def test_pairs_by_hand():
    """Four pairs; the first text is better in the first two. Logits of the text shown first."""
    logits = np.array([[2.0, -1.0], [1.0, 3.0], [1.0, 3.0], [-2.0, -3.0]])
    better = np.array([1.0, 1.0, -1.0, -1.0])
    # Right in the given order: yes, yes, no, yes; in the other, where the second text is shown
    # first: yes, no, yes, no. Both averaged prefer the first text in pairs 1 and 4.
    found = predict_more.of_pairs(logits, better)
    assert found["accuracy of one order"] == pytest.approx(62.5)
    assert found["accuracy of both orders"] == pytest.approx(50.0)
    assert found["both orders - one, accuracy"] == pytest.approx(-12.5)
    assert found["first place preferred"] == pytest.approx(62.5)
    # Right or not, x = (1, 0, 1; 1 1 0 1): mean 5/8, variance 15/64; mean product 1/4 - 25/64.
    assert found["c, of being right"] == pytest.approx(100 * (0.25 - 25 / 64) / (15 / 64))


def test_a_judge_that_knows_ranks_a_large_set_and_the_turned_one_does_not():
    gold = np.random.default_rng(0).permutation(50.0 + np.arange(30.0))
    pairs = np.repeat(np.argwhere(np.triu(np.ones((30, 30)), 1)), 2, axis=0)
    pairs[1::2] = pairs[1::2, ::-1]
    gap = gold[pairs[:, 0]] - gold[pairs[:, 1]]
    for sign in (1.0, -1.0):
        found = predict_more.of_set(pairs, sign * 0.1 * gap, gold)
        assert found["PoE-BT"] == pytest.approx(sign * 100.0, abs=0.5)
        assert found["accuracy of one order"] == (100.0 if sign > 0 else 0.0)
    assert found["PoE-BT - avg-prob"] == pytest.approx(found["PoE-BT"] - found["avg-prob"])


def test_a_score_is_one_reading_so_comparing_gains_where_calls_are_noisy():
    loud = [
        answered("topicalchat", name, 3 + k, noise=3.0, shared=0.5)
        for k, name in enumerate(ask_model.DIALOGUE)
    ]
    calm = [
        answered("topicalchat", name, 3 + k, noise=0.05, shared=0.5)
        for k, name in enumerate(ask_model.DIALOGUE)
    ]

    def gain(known):
        def one(known, rng):
            return predict_more.scoring(known, rng, "topicalchat", ask_model.DIALOGUE, 60)

        return predict_more.draws_of(one, known, draws=10)["avg-prob - expected"].mean()

    assert gain(loud) > 5.0
    assert abs(gain(calm)) < 1.0


def test_the_sets_that_were_written_are_those_that_are_computed():
    """Each set's numbers, by a few draws, against the intervals in the file."""
    written = {one["predicted"]: one for one in predict_more.written()}
    assert list(written) == list(predict_more.SETS)
    for predicted, (_, attributes, one) in predict_more.SETS.items():
        known = predictions.sources(predict_more.model_of(predicted))
        found = predict_more.draws_of(one, known, draws=6, seed=1)
        rows = written[predicted]["prediction"]
        assert {row["quantity"] for row in rows} == set(found)
        for row in rows:
            if row["attribute"] != "mean":
                value = np.median(found[row["quantity"]][:, attributes.index(row["attribute"])])
                assert row["low"] <= value <= row["high"], row


def test_more_is_not_predicted_once_the_judge_has_been_asked(monkeypatch):
    monkeypatch.setattr(predict_more, "written", list)
    monkeypatch.setattr(ask_model, "kept", lambda *a: ["an answer"])
    monkeypatch.setattr(predict_more, "sources", list)
    with pytest.raises(SystemExit, match="too late"):
        predict_more.main()


def test_hannas_predictions_are_the_same_each_time_and_say_all_that_is_needed():
    new = [one for one, (name, *_) in predict_more.SETS.items() if name == "hanna-poe"][1:]
    for predicted in new:
        _, attributes, one = predict_more.SETS[predicted]
        known = predictions.sources(predict_more.model_of(predicted))
        draws = [predict_more.draws_of(one, known, draws=1) for _ in range(2)]
        assert all((draws[0][q] == draws[1][q]).all() for q in draws[0])
        (read,) = tomllib.loads(predict_more.as_toml(predicted, attributes, draws[0]))["set"]
        assert len(read["date"]) == len("2026-11-27T02:00:00Z")
        rows = read["prediction"]
        means = {"mean"} if len(attributes) > 1 else set()
        assert {row["attribute"] for row in rows} == {*attributes, *means}
        assert {row["quantity"] for row in rows} == set(draws[0])
        assert ("qwen/" in read["calibrated_on"]) == ("SmolLM2" not in predicted)
        claims = predict_more.CLAIMS_OF_FEW if attributes == predict_more.STORIES else {}
        assert {row.get("claim") for row in rows} >= set(claims)


def test_hanna_is_not_predicted_once_a_quarter_is_kept(monkeypatch):
    others = [one for one in predict_more.written() if one["predicted"] != predict_more.WIDE]
    monkeypatch.setattr(predict_more, "written", lambda: others)
    monkeypatch.setattr(ask_model, "kept", lambda name, *_: ["answers"] * (name == "hanna-poe"))
    monkeypatch.setattr(predict_more, "sources", list)
    with pytest.raises(SystemExit, match=r"hanna-poe.*too late"):
        predict_more.main()


@pytest.fixture
def answers_of_pairs(monkeypatch):
    """Invented answers to LLMBar's first pairs: right in every call about them, and no others."""
    contexts = sorted(predict_more.planned_pairs()[:40])
    gold = ask_model.load("llmbar").scores["instruction"][contexts]
    gap = gold[:, :, None] - gold[:, None, :]
    log_p = log_expit(np.stack([2.0 * gap, -2.0 * gap], axis=-1))
    monkeypatch.setattr(ask_model, "answers", lambda *a, **k: (contexts, log_p))
    monkeypatch.setattr(predict_more, "asked", lambda *a: None)  # scores
    monkeypatch.setattr(predict_more, "group", lambda *a, **k: [])
    return contexts


def test_outcomes_of_pairs_appear_with_the_answers(answers_of_pairs):
    rows = predict_more.outcomes().set_index(["quantity", "attribute"])
    rows = rows[rows["predicted"].str.startswith("LLMBar")]
    assert len(rows) == 15
    assert (rows.loc["accuracy of one order", "measured"] == 100.0).all()
    assert not rows.loc["accuracy of one order", "inside"].any()
    assert rows.loc["first place preferred"]["measured"].tolist() == [50.0] * 3


def test_outcomes_are_absent_before(monkeypatch):
    def nothing(*_, **__):
        raise LookupError

    monkeypatch.setattr(ask_model, "answers", nothing)
    nothing_kept = ask_model.pd.DataFrame(columns=ask_model.PLACES)
    monkeypatch.setattr("reproduction.answers.kept", lambda *a: nothing_kept)
    monkeypatch.setattr(predict_more, "asked", lambda *a: None)
    monkeypatch.setattr(predict_more, "group", lambda *a, **k: [])
    assert predict_more.outcomes().empty


def test_what_was_written_and_not_asked_is_counted():
    """From the file's text: later predictions, of which HANNA's wait for its answers."""
    text = (data_dir() / FILE).read_text("utf-8")
    found = predict_more.standing()
    assert found["written"].sum() == text.count("[[set.prediction]]")
    assert (found["scored"] + found["open"] == found["written"]).all()
    hanna = found.index.str.startswith("HANNA")
    if not any(len(ask_model.kept("hanna-poe", one)) for one in ask_model.MODELS.values()):
        sets = [part for part in text.split("[[set]]") if 'predicted = "HANNA' in part]
        about = sum(part.count("[[set.prediction]]") for part in sets)
        assert found.loc[hanna, "open"].sum() == about > 11
    assert found.loc[[predict_more.FEW, predict_more.WIDE], "scored"].sum() == 0  # not in full
    assert found.loc[~hanna, "open"].sum() == 0
    assert (found["inside"] <= found["scored"]).all()
