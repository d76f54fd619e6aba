"""Tables about the larger real judge, from invented results."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit

import poe
from book.telling import outcomes, real_judge
from judging import metrics
from judging.judges.recorded import llmbar
from reproduction import ask_model
from reproduction import results as disk
from reproduction.measured_tables import Asked
from reproduction.settings import Settings
from studies import few_calls, predict_more, real_coverage, stories
from tests.reproduction.test_quarters import keep_of_hanna

CLAIMS = pd.DataFrame(
    [
        (
            "topicalchat",
            "mean",
            60,
            "v2-full-within-1",
            "Within a point",
            -2.0,
            0.25,
            "does not hold",
        ),
        ("topicalchat", "mean", 60, "v2-soft-beats-avg-prob", "Beats", 1.5, 0.5, "holds"),
        (
            "summeval",
            "coherence",
            13,
            "v2-full-within-1",
            "Within a point",
            1.0,
            3.0,
            "no information",
        ),
    ],
    columns=["dataset", "attribute", "contexts", "claim", "words", "value", "se", "verdict"],
).assign(at_least=[-1.0, 0.1, -1.0], at_most=[1.0, np.inf, 1.0])


@pytest.fixture
def results(monkeypatch):
    known = {real_judge.CLAIMS: CLAIMS}
    monkeypatch.setattr(disk, "read", known.get)
    said = [("v2-full-within-1", "published", "holds"), ("v2-full-within-1", "simulated", "holds")]
    frame = pd.DataFrame(said, columns=["id", "evidence", "verdict"])
    monkeypatch.setattr(real_judge, "accepted", lambda: frame)


def test_claims_stand_beside_print_and_twins(results):
    found = real_judge.headlines()
    assert list(found.columns) == [
        "claim",
        "limit, points",
        "published",
        "twins",
        "TopicalChat, mean of attributes (60), 12 of 30 calls",
        "SummEval, coherence (13), 48 of 240 calls",
    ]
    assert found.iloc[0].to_list() == [
        "Within a point",
        "within 1",
        "holds",
        "holds",
        "does not hold: -2.0 ± 0.2",
        "no information",
    ]
    assert found.iloc[1].to_list() == ["Beats", "at least 0.1", "", "", "holds: +1.5 ± 0.5", ""]
    # The other claim was asked on dialogues alone, so it does not count.
    assert real_judge.counts() == {"does not hold": 1, "no information": 1}


def test_claims_asked_on_a_part_of_the_texts_do_not_count(results, monkeypatch):
    everywhere = CLAIMS.iloc[[1]].assign(dataset="summeval", attribute="coherence", contexts=4)
    rows = pd.concat([CLAIMS, everywhere], ignore_index=True)
    monkeypatch.setattr(disk, "read", {real_judge.CLAIMS: rows}.get)
    assert real_judge.counts() == {"does not hold": 1, "no information": 1}
    assert "not counted: +1.5 ± 0.5 (4 only)" in real_judge.headlines().iloc[1].to_list()
    rows.loc[3, "contexts"] = 13
    assert real_judge.counts() == {"does not hold": 1, "no information": 1, "holds": 2}


def test_what_came_of_predictions_is_absent_before(monkeypatch):
    monkeypatch.setattr(predict_more, "outcomes", pd.DataFrame)
    assert outcomes.came_of().empty
    one = {
        "predicted": "LLMBar, the 100 pairs",
        "quantity": "both orders - one, accuracy",
        "attribute": "all",
        "median": 66.0,
    }
    one |= {"low": 57.5, "high": 74.0, "measured": 44.0, "inside": False}
    monkeypatch.setattr(predict_more, "outcomes", lambda: pd.DataFrame([one]))
    assert outcomes.came_of().iloc[0].to_list() == [
        "LLMBar, all: both orders minus one, accuracy",
        "66.0 (57.5 to 74.0)",
        "44.0",
        "no",
    ]


# In the chapters ---------------------------------------------------------------------------------


def test_one_number_in_words(monkeypatch):
    table = pd.DataFrame({"k": [12, 18], "value": [4.44, -1.0], "se": [0.96, 0.25]})
    monkeypatch.setattr(disk, "read", {"a table": table}.get)
    assert real_judge.value_with_error("a table", k=12) == "4.4 ± 1.0"
    assert real_judge.value_with_error("a table", k=18, sign="+") == "\u22121.0 ± 0.2"
    with pytest.raises(ValueError, match="unpack"):
        real_judge.value_with_error("a table", k=14)


def test_a_thousand_calls_by_hand(monkeypatch):
    runs = [{"answers": 50, "tokens": 5000, "computed": 500, "seconds": 100}] * 2
    monkeypatch.setattr(real_judge, "asked_about", lambda _: {"runs": {"x-poe": runs}})
    expected = {"tokens": 100_000.0, "computed": 10_000.0, "seconds": 2000.0}
    assert real_judge.cost_of_a_thousand("x-poe") == expected
    runs.append({"answers": 100, "tokens": 10_000, "computed": 1000, "seconds": 50})
    assert real_judge.cost_of_a_thousand("x-poe")["seconds"] == 1250.0
    assert real_judge.cost_of_a_thousand("x-poe", quiet=True)["seconds"] == 500.0


def test_the_seventh_judge_is_absent_until_it_was_asked(monkeypatch):
    def nothing(*_, **__):
        raise LookupError

    monkeypatch.setattr(ask_model, "answers", nothing)
    monkeypatch.setattr(
        "reproduction.answers.kept", lambda *_: pd.DataFrame(columns=ask_model.PLACES)
    )
    assert outcomes.llmbar() == ""
    monkeypatch.setattr(outcomes.run, "read", lambda name: None)
    assert outcomes.stories() == ""


def test_the_seventh_judge_stands_beside_the_six_on_the_same_pairs(monkeypatch):
    """Right in every call about some pairs; the others as they were recorded."""
    data, model = ask_model.load("llmbar"), ask_model.QWEN
    contexts = sorted(ask_model.in_order(ask_model.Run("llmbar", "poe", (), 60), model))
    gold = data.scores["instruction"][contexts]
    gap = gold[:, :, None] - gold[:, None, :]
    log_p = log_expit(np.stack([3.0 * gap, -3.0 * gap], axis=-1))
    monkeypatch.setattr(ask_model, "answers", lambda *a, **k: (contexts, log_p))
    shown = re.sub(r"<[^>]+>", " ", outcomes.llmbar())
    assert (
        len(
            re.findall(
                r"Qwen2.5-Coder-1.5B\s+(?:natural|adversarial) \(\d+\)\s+100\s+100\s+50", shown
            )
        )
        == 2
    )
    table = llmbar()
    table = table[(table["strategy"] == "Vanilla") & (table["judge"] == "GPT-4")]
    chosen = {tuple(data.context_ids[c].rsplit("/", 1)) for c in contexts}
    here = [
        (s, str(i)) in chosen and s == "Natural"
        for s, i in zip(table["set"], table["item"], strict=True)
    ]
    right = np.where(table["first"] == table["label"], table["p"], 1 - table["p"])[here].mean()
    (cell,) = re.findall(r"GPT-4\s+natural \(\d+\)\s+(\d+)", shown)
    rows = re.findall(r"(\S+)\s+(?:natural|adversarial) \(\d+\)[\d\s]+(measured|recorded)", shown)
    assert len(rows) == 14
    assert all((kind == "measured") == (judge == model.name) for judge, kind in rows)
    assert int(cell) == round(100 * right)


def test_stories_are_those_whose_calls_were_all_answered(monkeypatch):
    """A judge that knows people's scores of one attribute, and turns those of the other."""
    design = few_calls.wide_calls()
    shown = np.random.default_rng(0).permutation(1056)[:300]  # first, in full
    calls = design[np.isin(design[:, 0], shown)]
    calls = np.concatenate(
        [calls, design[design[:, 0] == next(iter(set(range(1056)) - set(shown)))][:3]]
    )
    tables = []
    for attribute, sign in (("coherence", 3.0), ("complexity", -3.0)):
        gold = ask_model.load("hanna").scores[attribute][0]
        gap = sign * (gold[calls[:, 0]] - gold[calls[:, 1]])
        about = {"attribute": attribute, "context": 0, "first": calls[:, 0], "second": calls[:, 1]}
        tables.append(
            pd.DataFrame({**about, "log_p_1": log_expit(gap), "log_p_2": log_expit(-gap)})
        )
    keep_of_hanna(monkeypatch, pd.concat(tables))
    one = stories.answered("coherence", ask_model.QWEN)
    assert set(one.stories) == set(shown)
    inside = np.isin(design[0::2], shown).all(axis=1).sum()
    assert len(one.pairs) == inside
    gold = ask_model.load("hanna").scores["coherence"][0][one.stories]
    assert ((one.p > 0.5) == (gold[one.pairs[:, 0]] > gold[one.pairs[:, 1]])).mean() > 0.9
    best = stories.scores(one, np.arange(len(one.pairs)))["PoE-BT"]
    assert metrics.spearman(best, gold) > 0.9
    turned = stories.answered("complexity", ask_model.QWEN)
    gold = ask_model.load("hanna").scores["complexity"][0][turned.stories]
    assert (
        metrics.spearman(stories.scores(turned, np.arange(len(turned.pairs)))["PoE-BT"], gold)
        < -0.9
    )


def test_the_table_of_stories_shows_every_method_and_number_of_calls():
    text = re.sub(r"<[^>]+>", " ", outcomes.stories())
    rows = disk.read("measured-qwen-stories")
    assert len(re.findall(r"surprise, PoE-BT", text)) == 1
    for calls in rows["calls"].unique():
        assert f"{calls / rows['stories'].iloc[0]:.0f} calls a story" in text


def test_intervals_hold_by_hand():
    """Two texts, one difference of which the interval holds what lies within it."""
    c = poe.Comparisons(first=["a", "b", "a"], second=["b", "a", "b"], p=[0.7, 0.4, 0.6])
    fit = poe.fit(c, expert="bradley-terry")
    low, high = (fit.difference_se("a", "b") * x for x in (1.9, 2.1))
    scores = fit.scores
    assert real_coverage.inside(fit, scores + np.array([low, 0.0])) == 1.0
    assert real_coverage.inside(fit, scores + np.array([high, 0.0])) == 0.0


def test_few_calls_of_a_judge_without_noise_hold_all_of_them(monkeypatch):
    gold = np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (4, 1)), axis=1)
    logits = 0.5 * (gold[:, :, None] - gold[:, None, :])
    log_p = log_expit(np.stack([logits, -logits], axis=-1))
    one = Asked("topicalchat", "coherency", "poe", tuple(range(4)), log_p, gold)
    found = real_coverage.held(one, Settings(draws=4))
    assert all((share == 1.0).all() for share in found.values())
    assert {k for k, _ in found} == {12, 18}
