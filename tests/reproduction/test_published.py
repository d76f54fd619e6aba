"""The published numbers: complete, unique, faithful to the print, consistent or listed."""

import hashlib

import pandas as pd
import pytest

from reproduction import published

V2, V1, CA, SA = published.PAPERS
CELL = ["system", "k", "method"]


@pytest.fixture(scope="module")
def everything():
    parts = [published.all_tables(paper=paper).assign(paper=paper) for paper in published.PAPERS]
    return pd.concat(parts, ignore_index=True)


def test_no_digit_has_changed(everything):
    """These digits were read twice in the papers' texts; one that changes has to be read again."""
    text = everything[["id", "value", "sd"]].to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "be9570be43bc28e3"


def test_a_number_by_its_id():
    assert published.number("poe_v2/table5/FlanT5-3B/K48/win-ratio") == 34.1
    assert (
        published.number("comparative_assessment/table6/FlanT5-11B/TopicalChat-CNT/debiased")
        == 59.5
    )
    with pytest.raises(KeyError, match="no published number has the id 'x'"):
        published.number("x")


class TestConsistency:
    def test_tables_of_version_2_repeat_each_other(self):
        """The exceptions are errata, which book/errata.md lists and proves."""
        five = published.load(5)
        one = published.load(1).merge(five, on=CELL)
        assert len(one) == 50
        assert (one["value_x"] == one["value_y"]).all()
        two = published.load(2).query("selection == 'random'").merge(five, on=CELL)
        assert len(two) == 20
        assert (two["value_x"] != two["value_y"]).sum() == 2

    def test_full_sets_leave_nothing_to_chance(self, everything):
        cells = everything[everything["paper"].isin([V1, V2]) & (everything["sd"] != "")]
        full = cells["selection"] == "full"
        assert set(cells[full]["k"]) == {"240", "30", "120", "15"}
        assert set(cells[full]["sd"]) == {"0.0"}
        assert (cells[~full]["sd_number"] > 0).all()
        assert (full & (cells["paper"] == V2)).sum() == 120

    def test_full_set_identities(self, everything):
        """Algebra makes these equal (see the README of data/published)."""
        v2 = everything[everything["paper"] == V2]
        rows = v2[(v2["selection"] == "full") & (v2["table"] != "table1")]
        full = rows.pivot(index=["table", "system"], columns="method", values="value")
        assert len(full) == 20
        assert (full["avg-prob"] == full["PoE-g"]).all()
        assert (full["PoE-BT"] == full["avg-prob"])[["table5", "table7"]].all()

    def test_table9_agrees_with_the_spearman_tables(self):
        nine = published.load(9).query("method == 'PoE-BT'")
        assert set(nine["k"] + nine["dataset"]) == {"3NSummEval", "5NHANNA"}
        hanna = nine.query("dataset == 'HANNA'").merge(published.load(3), on=[*CELL, "attribute"])
        assert len(hanna) == 6
        # Both are rounded: to a whole number and to one decimal.
        assert ((hanna["number_x"] - hanna["number_y"]).abs() <= 0.5 + 0.05).all()
        means = nine.query("dataset == 'SummEval'").groupby("system")["number"].mean()
        one = published.load(1).query("k == '48' and method == 'PoE-BT'").set_index("system")
        assert ((means - one["number"]).dropna().abs() <= 0.5 + 0.05).all()

    def test_version_1_is_version_2_but_for_what_was_solved_anew(self):
        other = []
        for number, later in ((1, 5), (3, 6), (4, 7), (5, 8)):
            old = published.load(number, paper=V1).query("value != ''")
            old = old.assign(k=(2 * old["k"].astype(int)).astype(str))  # pairs, then calls
            both = old.merge(published.load(later), on=CELL)
            assert len(both) == len(old)
            same = (both["value_x"] == both["value_y"]) & (both["sd_x"] == both["sd_y"])
            other.append(both[~same])
        other = pd.concat(other)
        assert len(other) == 14
        assert (other["number_x"] - other["number_y"]).abs().max() < 0.11
        assert set(other["method"]) == {"PoE-BT", "PoE-g"}

    def test_comparative_assessment_agrees_with_itself(self):
        six = published.load(6, paper=CA)
        rows = six[six["attribute"] != "mean"].groupby(["system", "method"])["number"]
        mean = six[six["attribute"] == "mean"].set_index(["system", "method"])["number"]
        assert (rows.count() == 10).all()
        # Ten cells known to 0.05 each and a mean rounded to one decimal.
        assert ((rows.mean() - mean).abs() <= 0.05 + 1e-9).all()
        both = published.load(7, paper=CA).merge(
            published.load(10, paper=CA), on=["system", "method", "dataset", "attribute"]
        )
        assert len(both) == 32
        assert (both["value_x"] == both["value_y"]).all()
        eight = published.load(8, paper=CA).assign(k=lambda t: t["k"].astype(int))
        wide = eight.pivot(index="k", columns="method", values="number")
        assert list(wide.index) == [n * (n - 1) for n in (2, 3, 4, 6, 8, 12, 16)]
        assert all(wide[name].is_monotonic_increasing for name in ("final", "gold"))
        assert wide["final"].iloc[-1] == 100
