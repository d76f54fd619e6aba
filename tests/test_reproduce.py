"""Table 1, verdicts and the scorecard."""

import json

import numpy as np
import pandas as pd
import pytest

from poe.reproduce import published, results, scorecard, table1
from tests.helpers import real_labels


@pytest.fixture(scope="module")
def stand_in():
    return table1.run(draws=25, source="stand-in", workers=2)


class TestTable1:
    def test_has_every_cell_of_the_paper_once(self, stand_in):
        assert sorted(stand_in["id"]) == sorted(published.load("table1")["id"])

    def test_the_seed_decides_and_workers_do_not(self, monkeypatch):
        monkeypatch.setattr(table1, "BLOCK", 1)
        one = table1.run(draws=2, source="stand-in", workers=1)
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
        whole = results.read("table1")
        assert quarter["id"].tolist() == whole["id"].tolist()
        assert (np.abs(quarter["value"] - whole["value"]) / quarter["se"]).max() < 5
        assert set(quarter["labels"]) == set(whole["labels"]) == {"real"}


def row(**changes):
    plain = {
        "published": "42.6",
        "number": 42.6,
        "decimals": 1,
        "sd_number": 0.4,
        "ours": 42.0,
        "difference": -0.6,
        "se": 0.1,
        "run_sd": 0.0,
        "tolerance": 0.3,
        "labels": "real",
    }
    return pd.Series({**plain, **changes})


class TestVerdicts:
    def test_by_hand(self):
        assert results.verdict(row(ours=42.6499, difference=0.0499)) == "same digits"
        assert results.verdict(row(ours=42.66, difference=0.06)) == "within noise"
        assert results.verdict(row(ours=42.31, difference=-0.29)) == "within noise"
        assert results.verdict(row()) == "deviates"
        assert results.verdict(row(ours=42.6, labels="stand-in")) == "inputs differ"
        assert results.verdict(row(ours=np.nan)) == "not attempted"

    def test_tolerance_by_hand(self):
        """2 sqrt(0.3^2 + 0.4^2 + (0.4 / 10)^2 + (0.1 / sqrt 12)^2)."""
        expected = 2 * np.sqrt(0.09 + 0.16 + 0.0016 + 0.01 / 12)
        assert results.tolerance(row(se=0.3, run_sd=0.4)) == pytest.approx(expected)
        assert results.tolerance(row(se=0.3, run_sd=0.4, sd_number=np.nan)) < expected

    def test_stand_in_results_are_never_compared(self, stand_in):
        compared = results.compare("table1", stand_in)
        assert set(compared["verdict"]) == {"inputs differ"}

    def test_nothing_of_ours(self):
        compared = results.compare("table7", None)
        assert set(compared["verdict"]) == {"not attempted"}
        assert len(compared) == 60


class TestFiles:
    def test_results_say_what_they_are(self, stand_in, tmp_path):
        path = results.write("table1", stand_in, command="poe reproduce table1", out=tmp_path)
        assert path == tmp_path / "stand-in" / "table1.csv", "kept apart from real labels"
        again = pd.read_csv(path)
        np.testing.assert_allclose(again["value"], stand_in["value"], atol=5e-5)
        about = json.loads(path.with_suffix(".json").read_text())
        assert (about["kind"], about["labels"], about["seed"]) == ("simulated", "stand-in", 0)
        assert about["command"] == "poe reproduce table1"

    def test_committed_results_are_on_real_labels(self):
        assert set(results.read("table1")["labels"]) == {"real"}
        assert results.read("no-such-table") is None


@pytest.fixture(scope="module")
def card():
    return scorecard.scorecard()


class TestScorecard:
    def test_every_published_cell_has_a_row(self, card):
        assert card["id"].tolist() == published.all_tables()["id"].tolist()
        assert len(card) == 468

    def test_totals_add_up(self, card):
        totals = scorecard.totals(card)
        assert totals.loc["all", "cells"] == 468
        assert (totals.drop(columns="cells").sum(axis=1) == totals["cells"]).all()

    def test_every_deviation_has_a_cause_or_says_that_it_has_none(self, card):
        assert (card.loc[card["verdict"] == "deviates", "cause"] != "").all()
        assert (card.loc[card["verdict"] != "deviates", "cause"] == "").all()

    def test_no_verdict_got_worse(self, card):
        baseline = pd.read_csv(scorecard.baseline_path())
        assert scorecard.worsened(card, baseline).empty
        assert len(baseline) == 468

    def test_a_worse_verdict_or_a_missing_cell_is_caught(self, card):
        baseline = card[["id", "verdict"]]
        worse = card.copy()
        worse.loc[0, "verdict"] = "not attempted"
        caught = scorecard.worsened(worse.drop(index=1), baseline)
        assert caught["id"].tolist() == card["id"].tolist()[:2]
        assert caught["now"].tolist() == ["not attempted", "missing"]
