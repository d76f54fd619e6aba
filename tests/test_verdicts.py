"""The scorecard: a verdict for every printed cell, causes, and the pages made from them."""

import numpy as np
import pandas as pd
import pytest

from poe._paths import data_dir
from poe.cli import main
from reproduction import published, verdicts


@pytest.fixture(scope="module")
def card():
    return verdicts.scorecard()


@pytest.fixture(scope="module")
def v2(card):
    return card[card["paper"] == "poe_v2"]


def row(**changes):
    plain = {
        "published": "42.6", "number": 42.6, "decimals": 1, "sd_number": 0.4, "ours": 42.0,
        "se": 0.1, "run_sd": 0.0, "tolerance": 0.3, "labels": "real",
    }  # fmt: skip
    cells = pd.DataFrame([{**plain, **changes}])
    return cells.assign(difference=cells["ours"] - cells["number"])


class TestVerdicts:
    def test_by_hand(self):
        expected = {
            "same digits": {"ours": 42.6499},
            "within noise": {"ours": 42.31},
            "deviates": {"ours": 42.0},
            "inputs differ": {"ours": 42.6, "labels": "drawn"},
            "not attempted": {"ours": np.nan},
            "not readable": {"published": "", "number": np.nan},
        }
        found = {name: verdicts.verdict(row(**how)).item() for name, how in expected.items()}
        assert found == {name: name for name in verdicts.VERDICTS}
        assert verdicts.verdict(row(ours=42.66)).item() == "within noise"

    def test_tolerance_by_hand(self):
        """2 sqrt(0.3^2 + 0.4^2 + (0.4 / 10)^2 + (0.1 / sqrt 12)^2)."""
        expected = 2 * np.sqrt(0.09 + 0.16 + 0.0016 + 0.01 / 12)
        assert verdicts.tolerance(row(se=0.3, run_sd=0.4)).item() == pytest.approx(expected)
        assert verdicts.tolerance(row(se=0.3, run_sd=0.4, sd_number=np.nan)).item() < expected


class TestScorecard:
    def test_every_published_cell_has_a_row(self, card):
        ids = [published.all_tables(paper=paper)["id"] for paper in published.PAPERS]
        assert card["id"].tolist() == pd.concat(ids).tolist()
        assert card["id"].is_unique

    def test_it_is_the_accepted_one(self, card):
        """The golden gate: every verdict; `poe scorecard --accept` where a change is meant."""
        accepted = verdicts.read("verdicts")
        assert verdicts.worsened(card).empty
        assert dict(zip(card["id"], card["verdict"], strict=True)) == dict(accepted.to_numpy())

    def test_a_worse_verdict_or_a_missing_cell_is_caught(self, card):
        worse = card[["id", "verdict"]].copy()
        worse.loc[0, "verdict"] = "not attempted"
        caught = verdicts.worsened(worse.drop(index=1), card[["id", "verdict"]])
        assert caught["id"].tolist() == card["id"].tolist()[:2]
        assert caught["now"].tolist() == ["not attempted", "missing"]

    def test_a_printed_cell_without_a_number_is_no_comparison(self, card):
        empty = card["number"].isna()
        assert (card["ours"].notna() & empty).any()
        assert set(card.loc[empty, "verdict"]) == {"not readable"}
        assert "not readable" not in set(card.loc[~empty, "verdict"])

    def test_the_goal_of_the_twins(self, v2):
        """Below a Spearman point for the rows of few calls, where no twin was calibrated."""
        few = v2["table"].isin(["table5", "table7"]) & v2["k"].isin(["48", "18"])
        assert verdicts.summary(v2[few])["seen_error"] < 1.0

    def test_an_experiment_counts_once(self, card, v2):
        """Its number stands in four tables here, and in none of them twice."""
        k = ["poe_v2/table1/FlanT5-3B/K48/BT", "poe_v2/table5/FlanT5-3B/K48/BT",
             "poe_v1/table1/FlanT5-3B/K24/BT", "poe_v2/table5/FlanT5-3B/K48/PoE-g"]  # fmt: skip
        cells = card.set_index("id").loc[k].reset_index()
        assert verdicts.unique(cells)["id"].tolist() == [k[0], k[3]]
        whole = verdicts.summary(v2)
        assert whole["cells"] == len(v2)
        counted = sum(whole[role] for role in verdicts.ROLES)
        assert counted == len(verdicts.of_role(verdicts.unique(v2))) < len(verdicts.of_role(v2))


class TestCauses:
    def test_every_deviation_has_one_or_says_that_it_has_none(self, card):
        for what, verdict in (("cause", "deviates"), ("reason", "not attempted")):
            assert ((card[what] != "") == (card["verdict"] == verdict)).all()
            texts = {entry["text"] for entry in verdicts.known(what)}
            assert texts <= set(card[what]), "every entry is needed"

    def test_every_difference_that_a_cause_explains_is_at_least_halved(self, card):
        rows = card.dropna(subset="left")
        assert len(rows)
        assert (rows["left"].abs() <= 0.5 * rows["difference"].abs()).all()

    @pytest.mark.parametrize(
        ("how", "columns", "expected"),
        [
            ({"variant": "v"}, {"change": [0.5, -0.9]}, ["t", ""]),  # half taken away, or less
            ({"variant": "v"}, {"change": [1.6, -1.0]}, ["", "t"]),  # too much is no cause either
            ({"error": True}, {"sd": [0.5, 0.5]}, ["t", ""]),  # hypot(0.5, 2 sd) is 1.1
            ({"chance": True}, {}, ["", ""]),  # two of two
        ],
    )
    def test_by_hand(self, monkeypatch, how, columns, expected):
        ids = ["poe_v2/table5/FlanT5-3B/K48/BT", "poe_v2/table5/FlanT5-3B/K48/PoE-BT"]
        cells = pd.DataFrame({"id": ids, "table": "table5", "difference": [-1.0, 2.0]})
        cells = cells.assign(tolerance=0.5, labels="real", verdict="deviates")
        entry = {"cells": "poe_v2", "text": "t", "diagnosis": "d", **how}
        monkeypatch.setattr(verdicts, "known", lambda what: (entry,) if what == "cause" else ())
        stored = pd.DataFrame({"id": ids, "variant": "v", **columns})
        monkeypatch.setattr(verdicts, "read", lambda name: stored)
        found = verdicts.explain(cells)["cause"].replace(verdicts.UNKNOWN, "")
        assert found.tolist() == expected


def test_the_command(card, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts, "scorecard", lambda: card)
    assert main(["scorecard", "--check", "--causes", "--cells", "table1"]) == 0
    out = capsys.readouterr().out
    assert "no verdict got worse" in out
    assert "poe_v2/table1/FlanT5-3B/K48/PoE-BT" in out
    assert f"{verdicts.UNKNOWN} [no diagnosis]" in out
    accepted = verdicts.accept(card, tmp_path)
    assert accepted.read_bytes() == (data_dir() / "results" / "verdicts.csv").read_bytes()
    strict = pd.read_csv(accepted).assign(verdict="same digits")
    monkeypatch.setattr(verdicts, "read", lambda name: strict)
    assert main(["scorecard", "--check"]) == 1
    assert "verdicts got worse" in capsys.readouterr().err
