"""The ladder of planted errors: what is planted is there, and what a judge sees is found again."""

import importlib.util
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit

from judging import datasets
from studies import ladder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "data" / "examples"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_ladder", EXAMPLES / "ladder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers_of(errors, costs, *, bias=0.0, noise=0.0, seed=0):
    """Log-probabilities (C, N, N, 2) of a judge to whom each kind of error costs so much."""
    quality = -errors @ np.asarray(costs)
    logits = quality[:, :, None] - quality[:, None, :] + bias
    logits = logits + noise * np.random.default_rng(seed).standard_normal(logits.shape)
    return np.stack([log_expit(logits), log_expit(-logits)], axis=-1)


def test_the_table_is_what_the_generator_makes(made, tmp_path):
    made.ladder(EXAMPLES / "ladder.toml").to_csv(
        tmp_path / "again.csv", index=False, lineterminator="\n"
    )
    assert (tmp_path / "again.csv").read_bytes() == (EXAMPLES / "ladder.csv").read_bytes()


def test_what_the_judge_said_of_two_writers_is_what_is_stored():
    """All 24 answers to the clean text and that with five errors, of every topic, both orders."""
    said = pd.read_csv(EXAMPLES / "judged.csv")
    stored = pd.read_csv(ROOT / "data" / "measured" / "qwen" / "ladder-poe.csv.gz")
    stored = stored[stored["attribute"] == "explanation"].set_index(["context", "first", "second"])
    topics = pd.read_csv(EXAMPLES / "ladder.csv")["context"].unique().tolist()
    rungs = said[["first", "second"]].replace({"careful": 0, "careless": 5}).to_numpy()
    at = [(topics.index(topic), *pair) for topic, pair in zip(said["prompt"], rungs, strict=True)]
    assert set(at) == {(t, *pair) for t in range(12) for pair in ((0, 5), (5, 0))}
    log_p = stored.loc[at, ["log_p_1", "log_p_2"]].to_numpy()
    assert np.exp(log_p[:, 0] - np.logaddexp(*log_p.T)) == pytest.approx(said["p"], abs=6e-5)


def test_each_rung_adds_one_error_and_every_kind_comes_twice_at_each_rung():
    table = pd.read_csv(EXAMPLES / "ladder.csv", keep_default_na=False)
    kinds = table["planted"].str.split()
    assert (kinds.str.len() == table["rung"]).all()
    for _, rows in table.groupby("context"):
        below = [rows["planted"].iloc[rung].split() for rung in range(6)]
        assert all(more[:-1] == less for less, more in pairwise(below))
        assert len(set(rows["text"])) == 6
    newest = kinds[table["rung"] > 0].str[-1]
    counts = newest.groupby([table["rung"], newest]).size()
    assert len(counts) == 5 * 6
    assert (counts == 2).all()


def test_each_error_is_where_it_says(made):
    """By hand, of the first explanation: each kind alone changes what it should and no more."""
    rows = pd.read_csv(EXAMPLES / "ladder.csv")
    clean = rows["text"][0].replace(".5 days", "!5 days").split(". ")
    one = tomllib.loads((EXAMPLES / "ladder.toml").read_text("utf-8"))["explanation"][0]

    def sentences(*kinds):
        return made.text(one, list(kinds)).replace(".5 days", "!5 days").split(". ")

    assert sentences() == clean
    assert sentences("step") == clean[:4] + clean[5:]
    assert sentences("order") == [*clean[:2], clean[3], clean[2], *clean[4:]]
    changed = [a == b for a, b in zip(clean, sentences("number"), strict=True)]
    assert changed == [True, False, True, True, True, True]
    changed = [a == b for a, b in zip(clean, sentences("grammar"), strict=True)]
    assert changed == [True, True, True, True, True, False]
    assert len(sentences("padding")) == len(sentences("contradiction")) == 7
    with pytest.raises(ValueError, match="not in its second sentence"):
        made.text(one | {"number": ["30 days", "9 days"]}, ["number"])


def test_the_truth_is_the_number_of_errors_and_the_control_has_none():
    data = datasets.load("ladder", texts=True)
    assert (data.n_contexts, data.n_candidates) == (12, 6)
    np.testing.assert_array_equal(data.scores["explanation"], -ladder.planted().sum(axis=-1))
    np.testing.assert_array_equal(data.scores["cheerfulness"], 0.0)


def test_costs_are_found_again_whatever_the_place_bias():
    errors, costs = ladder.planted(), np.array([0.1, -0.2, 0.3, 0.0, 1.0, -0.4])
    said = ladder.quantities(answers_of(errors, costs, bias=2.0), errors)
    np.testing.assert_allclose([said[kind] for kind in ladder.KINDS], costs, atol=1e-12)
    assert said["first place preferred"] > 90.0


def test_a_judge_that_counts_errors_is_right_always_and_one_that_sees_nothing_half_of_the_time():
    errors = ladder.planted()
    sees = ladder.quantities(answers_of(errors, np.ones(6)), errors)
    assert sees["Spearman with the planted order"] == pytest.approx(100.0)
    assert sees["right, one order"] == sees["right, both orders averaged"] == 100.0
    blind = ladder.quantities(answers_of(errors, np.zeros(6), noise=1.0), errors)
    assert abs(blind["right, one order"] - 50.0) < 3 * 50.0 / np.sqrt(360)
    assert abs(blind["Spearman with the planted order"]) < 3 * 100.0 / np.sqrt(12 * 5)


def test_the_standard_error_is_the_scatter_over_topics():
    """Of a mean of topics, leaving one out gives the textbook's s / sqrt(n)."""
    values = np.random.default_rng(0).standard_normal(12)
    said = ladder.jackknife(lambda topics: {"mean": values[topics].mean()}, 12)
    assert said["mean"] == pytest.approx(values.std(ddof=1) / np.sqrt(12))


def test_marks_are_read_in_the_planted_order():
    labels = np.full((12, 6, 5), 0.05)
    labels[:, [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]] = 0.8
    labels[:, 5, 0] = 0.8  # the two last texts share the lowest mark
    said = ladder.marks(np.log(labels / labels.sum(axis=-1, keepdims=True)), np.ones(12))
    tied = np.corrcoef([6, 5, 4, 3, 1.5, 1.5], [6, 5, 4, 3, 2, 1])[0, 1]
    assert said["Spearman of marks"] == pytest.approx(100.0 * tied)
    assert said["comparing - marks"] == pytest.approx(100.0 * (1.0 - tied))


def test_what_was_expected_is_about_what_is_measured():
    rows = ladder.expected()
    assert (rows["low"] < rows["median"]).all()
    assert (rows["median"] < rows["high"]).all()
    assert rows["chance"].dropna().between(0.0, 1.0).all()
    assert set(rows["attribute"]) <= {ladder.ASKED, ladder.CONTROL}
    errors = ladder.planted()
    known = set(ladder.quantities(answers_of(errors, np.ones(6)), errors))
    known |= set(ladder.marks(np.log(np.full((12, 6, 5), 0.2)), np.ones(12)))
    assert set(rows["quantity"]) <= known
