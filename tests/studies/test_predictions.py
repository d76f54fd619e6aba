"""What was predicted of a judge, and what is read off its answers since."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit

from judging.machine import data_dir
from reproduction import ask_model
from reproduction.measured_tables import Asked
from reproduction.twins import labels
from studies import predict_more, predictions
from studies.predictions import FILE


def test_numbers_of_a_judge_that_knows_and_of_its_opposite():
    """Its own ranking is people's, with every call as with a fifth, whatever it makes of places."""
    gold = labels("topicalchat").scores["coherency"]
    gold = gold + 0.01 * np.random.default_rng(0).random(gold.shape)  # no ties
    for sign in (1.0, -1.0):
        logits = sign * (gold[:, :, None] - gold[:, None, :]) + 0.2
        log_p = log_expit(np.stack([logits, -logits], axis=-1))
        one = Asked("topicalchat", "coherency", "poe", tuple(range(len(gold))), log_p, gold)
        found = {q: x.item() for q, x in predictions.numbers([one], draws=3, seed=[0]).items()}
        assert found["PoE-BT, a fifth"] == pytest.approx(100.0 * sign, abs=0.5)
        assert found["avg-prob, all calls"] == pytest.approx(100.0 * sign)
        gain = found["avg-prob, all calls"] - found["PoE-BT, a fifth"]
        assert found["avg-prob, all calls - PoE-BT, a fifth"] == pytest.approx(gain)
        assert (found["accuracy of one order"] > 50.0) == (sign > 0)
        assert found["first place preferred"] > 50.0


@pytest.fixture
def drawn_once(monkeypatch):
    """Numbers from one draw of calls, of articles too: which there are does not depend on it."""
    once = predictions.numbers
    for module in (predictions, predict_more):
        monkeypatch.setattr(module, "numbers", lambda every, **_: once(every, draws=1, seed=[0]))


@pytest.mark.usefixtures("drawn_once")
def test_every_prediction_has_a_number_to_be_held_against():
    """Of the sets that are scored the quantities are those that are read off; and each is once."""
    sets = {one["predicted"]: one["prediction"] for one in predict_more.written()}
    assert list(sets) == list(predict_more.SETS)
    found = predict_more.outcomes()
    for predicted, rows in found.groupby("predicted"):
        place = [(row["quantity"], row["attribute"]) for row in sets[predicted]]
        assert len(set(place)) == len(place)
        assert sorted(zip(rows["quantity"], rows["attribute"], strict=True)) == sorted(place)
    first = predictions.outcomes()
    assert first["measured"].notna().all()
    assert set(first["quantity"]) == set(
        predictions.numbers(predictions.group("summeval", which="processor"))
    )


def test_claims_come_true_by_their_limits():
    rows = [("at most 2.0", 2.0), ("at most 2.0", 2.1), ("above 0.0", 0.0), ("above 0.0", np.nan)]
    table = pd.DataFrame(rows, columns=["holds_if", "measured"]).assign(chance=0.9)
    table.loc[4] = [np.nan, 3.0, np.nan]  # no claim
    assert predictions.stated(table)["came"].tolist() == [1.0, 0.0, 0.0]


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


@pytest.mark.usefixtures("drawn_once")
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
