"""The scorecard: a verdict for every printed cell, causes, what they are worth, and the command."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from book.telling import pages, sentences
from judging.machine import data_dir
from judging.practice.cli import main
from reproduction import cli, power, published, results, verdicts
from reproduction.claims import all_claims
from reproduction.targets import TARGETS


@pytest.fixture(scope="module")
def overview(card):
    return power.overview(card)


@pytest.fixture(scope="module")
def v2(card):
    return card[card["paper"] == "poe_v2"]


def row(**changes):
    plain = {
        "published": "42.6", "number": 42.6, "unit": "percent", "decimals": 1, "ours": 42.0,
        "se": 0.1, "run_sd": 0.0, "tolerance": 0.3, "labels": "real",
    }  # fmt: skip
    cells = pd.DataFrame([{**plain, **changes}])
    return cells.assign(difference=cells["ours"] - cells["number"])


class TestVerdicts:
    def test_by_hand(self):
        cases = [
            ("agrees", {"ours": 42.31}),
            ("agrees", {"ours": 42.89}),
            ("differs", {"ours": 42.29}),
            ("differs", {"ours": 42.91}),
            ("not tested", {"ours": 42.6, "labels": "drawn"}),
            ("not tested", {"ours": np.nan}),
            ("not tested", {"published": "", "number": np.nan}),
        ]
        for expected, how in cases:
            assert verdicts.verdict(row(**how)).item() == expected, how

    def test_tolerance_by_hand(self):
        """2 sqrt(0.3^2 + 0.4^2 + (0.1 / sqrt 12)^2)."""
        expected = 2 * np.sqrt(0.09 + 0.16 + 0.01 / 12)
        assert verdicts.tolerance(row(se=0.3, run_sd=0.4)).item() == pytest.approx(expected)

    def test_shares_are_told_in_points(self, card):
        """A rate of 0.40 for a printed 0.37 is three points off; its cell shows both as rates."""
        cell = row(number=0.37, ours=0.4, unit="share", tolerance=0.006)
        found = verdicts.in_points(cell).iloc[0]
        assert (found["difference"], found["tolerance"]) == pytest.approx((3.0, 0.6))
        assert (found["number"], found["ours"]) == (0.37, 0.4)
        assert verdicts.in_points(row()).equals(row())
        of_shares = card[card["unit"] == "share"].groupby(["paper", "table"]).size()
        assert of_shares.index.get_level_values("table").tolist() == ["table5", "table9"]
        rates = card[(card["paper"] == "comparative_assessment") & (card["table"] == "table5")]
        html = str(pages.heat(rates, "table5"))
        assert "0.40 for 0.37" in html
        assert "<b>+3.0</b>" in html

    def test_a_heat_map_leaves_no_cell_out(self, card):
        for (paper, name), cells in card.groupby(["paper", "table"], sort=False):
            html = str(pages.heat(cells, name))
            shown = html.count("data-sort=")
            assert shown == len(cells), (paper, name)

    def test_experiments_that_are_printed_twice(self):
        ids = {
            "poe_v2/table5/X/K48/BT": ["poe_v2/table1/X/K48/BT", "poe_v1/table1/X/K24/BT"],
            "poe_v2/table2/X/K48/greedy/BT": ["poe_v1/table2/X/K24/greedy/BT"],
            "comparative_assessment/table10/X/SummEval-COH/standard": [
                "comparative_assessment/table7/X/SummEval-COH/standard"
            ],
            "comparative_assessment/table6/X/SummEval-COH/standard": [
                "comparative_assessment/table1/X/SummEval-COH/comparative"
            ],
        }
        for one, same in ids.items():
            assert {verdicts.experiment(cell) for cell in (one, *same)} == {one}


class TestScorecard:
    def test_every_published_cell_has_a_row(self, card):
        ids = [published.all_tables(paper=paper)["id"] for paper in published.PAPERS]
        assert card["id"].tolist() == pd.concat(ids).tolist()
        assert card["id"].is_unique

    def test_it_is_the_accepted_one(self, card):
        """The golden gate: every verdict; `judging scorecard --accept` where a change is meant."""
        accepted = verdicts.read("verdicts")
        assert verdicts.worsened(card).empty
        assert dict(zip(card["id"], card["verdict"], strict=True)) == dict(accepted.to_numpy())

    def test_a_worse_verdict_or_a_missing_cell_is_caught(self, card):
        worse = card[["id", "verdict"]].copy()
        worse.loc[0, "verdict"] = "not tested"
        caught = verdicts.worsened(worse.drop(index=1), card[["id", "verdict"]])
        assert caught["id"].tolist() == card["id"].tolist()[:2]
        assert caught["now"].tolist() == ["not tested", "missing"]

    def test_a_printed_cell_without_a_number_is_no_comparison(self, card):
        empty = card["number"].isna()
        assert (card["ours"].notna() & empty).any()
        assert set(card.loc[empty, "verdict"]) == {"not tested"}
        assert set(card.loc[empty, "reason"]) == {verdicts.UNREADABLE}
        assert verdicts.UNREADABLE not in set(card.loc[~empty, "reason"])

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
        for what, verdict in (("cause", "differs"), ("reason", "not tested")):
            assert ((card[what] != "") == (card["verdict"] == verdict)).all()
            texts = {entry["text"] for entry in verdicts.explanations(what)}
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
        ],
    )
    def test_by_hand(self, monkeypatch, how, columns, expected):
        ids = ["poe_v2/table5/FlanT5-3B/K48/BT", "poe_v2/table5/FlanT5-3B/K48/PoE-BT"]
        cells = pd.DataFrame({"id": ids, "table": "table5", "difference": [-1.0, 2.0]})
        cells = cells.assign(tolerance=0.5, labels="real", verdict="differs", number=1.0)
        entry = {"cells": "poe_v2", "text": "t", "diagnosis": "d", **how}
        monkeypatch.setattr(
            verdicts, "explanations", lambda what: (entry,) if what == "cause" else ()
        )
        stored = pd.DataFrame({"id": ids, "variant": "v", **columns})
        monkeypatch.setattr(verdicts, "read", lambda name: stored)
        found = verdicts.explain(cells)["cause"].replace(verdicts.UNKNOWN, "")
        assert found.tolist() == expected


def hand_card(*, gap, tolerance):
    """Three judges at 30, 40 and 50, PoE-BT `gap` above the average; ours 0.1 above the print."""
    rows = [
        {"paper": "poe_v2", "table": "tableX", "id": f"poe_v2/tableX/{judge}/K48/{method}",
         "system": judge, "method": method, "dataset": "SummEval", "attribute": "mean",
         "number": level + more, "ours": level + more + 0.1}
        for judge, level in (("A", 30.0), ("B", 40.0), ("C", 50.0))
        for method, more in (("avg-prob", 0.0), ("PoE-BT", gap))
    ]  # fmt: skip
    cells = pd.DataFrame(rows).assign(
        tolerance=tolerance, role="blind", verdict="agrees", unit="percent"
    )
    return cells.assign(difference=cells["ours"] - cells["number"])


class TestPower:
    def test_a_swap_that_passes_and_one_that_fails(self):
        """Ours is 0.1 off; swapped it is gap + 0.1 and gap - 0.1 off."""
        for gap, wrong, said in ((0.2, 1.0, "weak test"), (1.0, 0.5, ""), (3.0, 0.0, "")):
            found = power.power(hand_card(gap=gap, tolerance=1.0))
            methods = found[found["kind"] == "methods"]
            assert methods["swap"].tolist() == ["avg-prob / PoE-BT"]
            assert methods[["cells", "right", "wrong"]].to_numpy().tolist() == [[6, 1.0, wrong]]
            judges = found[found["kind"] == "judges"]
            assert judges[["cells", "right", "wrong"]].to_numpy().tolist() == [[6, 1.0, 0.0]]
            assert power.weak(found) == said
        assert power.weak(found.iloc[:0]) == "no test"

    def test_calibrated_cells_have_no_part(self):
        card = hand_card(gap=0.2, tolerance=1.0)
        card["role"] = ["calibrated", "blind"] * 3
        found = power.power(card).set_index("kind")
        assert found.loc["methods", "cells"] == 3, "as right cells; their values may be wrong ones"
        assert power.power(card.assign(role="implied")).empty

    def test_swaps_of_the_papers_find_their_cells(self, card):
        found = power.power(card).set_index(["paper", "table", "swap"])["cells"]
        assert found["poe_v2", "table5", "avg-prob / PoE-BT"] == 6, "of ten, four are calibrated"
        assert found["comparative_assessment", "table10", "standard / debiased"] == 32
        assert found["poe_v2", "table3", "attributes permuted"] == 54
        assert found["poe_v2", "table3", "judges permuted"] == 54

    def test_joint_bias_is_a_t_test_over_judges(self):
        cells = pd.DataFrame({"system": list("AABCCC"), "unit": "percent"})
        cells["difference"] = [0.5, 1.5, 2.0, 2.9, 3.0, 3.1]
        mean, error, p = power.bias(cells)
        oracle = ttest_1samp([1.0, 2.0, 3.0], 0.0)
        assert (mean, error) == pytest.approx((2.0, 1 / np.sqrt(3.0)))
        assert p == pytest.approx(oracle.pvalue)
        # Negative control: a hundred more cells of the same luck are no more evidence.
        many = pd.concat([cells] * 100)
        assert power.bias(many)[2] == pytest.approx(p)
        assert ttest_1samp(many["difference"], 0.0).pvalue < 1e-6
        assert np.isnan(power.bias(cells[:2])[2])

    def test_a_judge_is_biased_beyond_one_run(self):
        card = hand_card(gap=1.0, tolerance=1.0)
        card.loc[card["system"] == "B", "difference"] = -1.2  # twice the error is 1.0
        found = power.judge_biases(card).set_index("system")
        assert found["shown"].to_dict() == {"A": False, "B": True, "C": False}


class TestBaselines:
    def test_scaling_by_hand(self, v2):
        """Table 8's Pearson cell from the others', by the printed Spearman of all calls."""
        judges = ["Llama2-7B", "Llama2-13B", "Mistral-7B", "FlanT5-11B"]
        number, own = published.number, "FlanT5-3B"
        full = [number(f"poe_v2/table7/{judge}/K30/avg-prob") for judge in judges]
        there = [number(f"poe_v2/table8/{judge}/K18/BT") for judge in judges]
        scale = number(f"poe_v2/table7/{own}/K30/avg-prob") / np.mean(full)
        cell = v2[v2["id"] == f"poe_v2/table8/{own}/K18/BT"]
        found = power.baseline(v2)[cell.index].item()
        assert found == pytest.approx(scale * np.mean(there))
        # Leave one judge out: its own cell has no say, another's has.
        changed = v2.assign(number=v2["number"].where(v2["id"] != cell["id"].item(), 0.0))
        assert power.baseline(changed)[cell.index].item() == found
        other = v2["id"] == "poe_v2/table8/Mistral-7B/K18/BT"
        assert power.baseline(v2.assign(number=v2["number"].mask(other, 0.0)))[
            cell.index
        ].item() == pytest.approx(scale * (np.sum(there) - there[2]) / 4)

    def test_an_earlier_cell_is_guessed_by_the_judges_own_debiased_number(self):
        """Standard decisions are said to be the debiased ones; 36.6 stays 36.6 in another table."""
        card = verdicts.scorecard("comparative_assessment")
        found = power.baseline(card).set_axis(card["id"])
        head = "comparative_assessment/table{}/Llama2-7B/TopicalChat-ENG/{}"
        for table, method, own in ((10, "standard", 10), (3, "comparative", 6)):
            cell = head.format(table, method)
            assert found[cell] == published.number(head.format(own, "debiased"))
            assert found[cell] != published.number(cell)
        # No number of the cell itself or of another judge has a say.
        other = (card["system"] != "Llama2-7B") | card["method"].isin(["standard", "comparative"])
        again = power.baseline(card.assign(number=card["number"].mask(other, 0.0)))
        assert (
            again.set_axis(card["id"])[head.format(10, "standard")]
            == found[head.format(10, "standard")]
        )
        # Rates of the first place and of the final ranking have no such number.
        assert (
            found[[x for x in found.index if "/table9/" in x or x.endswith("/final")]].isna().all()
        )

    def test_interpolation_by_hand(self, v2):
        head = "poe_v2/table3/Mistral-7B/K{}N/HANNA-SUR/{}"
        few, many = (published.number(head.format(k, "avg-prob")) for k in (5, 50))
        found = power.baseline(v2).set_axis(v2["id"])
        # 1/10 lies at 5/9 of the way from 1/5 to 1/50.
        assert found[head.format(10, "avg-prob")] == pytest.approx(few + 5 / 9 * (many - few))
        assert found[head.format(10, "PoE-BT")] == many

    def test_the_overview_has_each_table_and_each_experiment_once(self, card, overview):
        rows = overview.set_index(["paper", "table"])
        two = rows.loc["PoE, version 2"]
        assert (
            two.loc["each experiment once", "predicted"]
            < two.drop("each experiment once")["predicted"].sum()
        )
        assert two.loc["table5", "baseline"] == pytest.approx(0.63, abs=0.03)
        assert two.loc["table3", "baseline"] == pytest.approx(0.18, abs=0.01)


def test_a_table_with_a_cell_that_cannot_be_read_is_reported(card):
    """Its kind and its labels are missing, not a word to be sorted among words."""
    name = "comparative-table10"
    there = card[card["id"].str.startswith("comparative_assessment/table10/")]
    assert (there["number"].isna() & there["ours"].isna()).any()
    text = cli.report(TARGETS[name], verdicts.read(name))
    assert "is simulated on real labels" in text
    assert "Verdicts: agrees" in text


def test_the_command(card, overview, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts, "scorecard", lambda: card)
    monkeypatch.setattr(power, "overview", lambda _: overview)
    assert main(["scorecard", "--check", "--causes", "--cells", "table1"]) == 0
    out = capsys.readouterr().out
    assert "no verdict got worse" in out
    assert "poe_v2/table1/FlanT5-3B/K48/PoE-BT" in out
    assert "each experiment once" in out
    assert "weak test" in out
    assert f"{verdicts.UNKNOWN} [no diagnosis]" in out
    accepted = verdicts.accept(card, tmp_path)
    assert accepted.read_bytes() == (data_dir() / "results" / "verdicts.csv").read_bytes()
    strict = pd.read_csv(accepted).assign(verdict="agrees")
    monkeypatch.setattr(results, "read", lambda name: strict)
    assert main(["scorecard", "--check"]) == 1
    assert "verdicts got worse" in capsys.readouterr().err


def test_what_a_table_comes_to_puts_a_difference_before_a_weak_test():
    def word(agree, test="", predicted=10):
        return pages._word({"agree": agree, "predicted": predicted}, test)

    assert [word(95.0), word(70.0), word(60.0)] == ["agrees", "mostly agrees", "differs"]
    assert word(95.0, "weak test") == word(95.0, "no test") == "cannot tell"
    assert word(60.0, "weak test") == "differs", "a weak test can refute"
    assert word(float("nan"), "no test", predicted=0) == "not tested"
    assert set(sentences.HEADLINES) <= set(all_claims())
    assert len(sentences.HEADLINES) == len(set(sentences.HEADLINES)) == 10
