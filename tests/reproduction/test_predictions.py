"""Predictions before asking: the twin is found again, intervals hold it, and not another judge."""

import tomllib

import numpy as np
import pytest
from scipy.special import log_expit

from reproduction import ask_model, predictions
from reproduction.measured_tables import Asked
from reproduction.twins import Twin, labels, quality_scores

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
