"""The published numbers: complete, unique, faithful to the print, consistent or listed."""

import hashlib
import re

import pandas as pd
import pytest

from poe._paths import data_dir
from reproduction import published

V2, V1, CA, SA = published.PAPERS
CELL = ["system", "k", "method"]

# Rows times columns, counted in the papers: cells, those of them that can be read, sd.
COUNTS = {
    (V2, 1): (5 * 2 * 5, 50, 0),
    (V2, 2): (5 * 2 * 4, 40, 0),
    (V2, 3): (12 * 8, 96, 0),
    (V2, 5): (5 * 2 * 6, 60, 60),
    (V2, 6): (5 * 2 * 6, 60, 60),
    (V2, 7): (5 * 2 * 6, 60, 60),
    (V2, 8): (5 * 2 * 6, 60, 60),
    (V2, 9): (6 * 7, 42, 0),
    (V1, 1): (4 * 2 * 6, 36, 36),
    (V1, 2): (4 * 2 * 4, 32, 32),
    (V1, 3): (4 * 2 * 6, 36, 36),
    (V1, 4): (4 * 2 * 6, 44, 44),
    (V1, 5): (4 * 2 * 6, 40, 40),
    (CA, 1): (27 * 4, 108, 0),
    (CA, 2): (9 * 2, 18, 0),
    (CA, 3): (16 * 4 - 2, 62, 0),  # two cells of UniEval hold a dash
    (CA, 4): (16 * 3 - 3, 45, 0),  # so do one of UniEval and two of the NLI model
    (CA, 5): (8 * 4, 32, 0),
    (CA, 6): (8 * 11, 88, 0),
    (CA, 7): (8 * 4, 32, 0),
    (CA, 8): (2 * 7, 14, 0),
    (CA, 9): (8 * 12 - 4, 91, 0),  # no podcasts for FlanT5
    (CA, 10): (8 * 12 - 4, 90, 0),
    (CA, 11): (2 * 4, 8, 0),
    (SA, 1): (8 * 6, 48, 5 * 6),
    (SA, 2): (5 * 2, 10, 2 * 2),
    (SA, 3): (16 * 3, 48, 0),
    (SA, 4): (21 * 2, 42, 0),
    (SA, 5): (18 * 2, 36, 0),
}


@pytest.fixture(scope="module")
def everything():
    parts = [published.all_tables(paper=paper).assign(paper=paper) for paper in published.PAPERS]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def v2(everything):
    return everything[everything["paper"] == V2]


def test_each_table_is_complete(everything):
    listed = [(p, int(t.removeprefix("table"))) for p, ts in published.PAPERS.items() for t in ts]
    assert sorted(listed) == sorted(COUNTS)
    for (paper, number), counts in COUNTS.items():
        table = published.load(number, paper=paper)
        assert table.equals(published.load(f"table{number}", paper=paper))
        assert set(table["table"]) == {f"table{number}"}
        readable, with_sd = (table["value"] != "").sum(), (table["sd"] != "").sum()
        assert (len(table), readable, with_sd) == counts, (paper, number)
        assert table["number"].notna().sum() == readable
        assert table["sd_number"].notna().sum() == with_sd


def test_no_digit_has_changed(everything):
    """These digits were read twice in the papers' texts; one that changes has to be read again."""
    text = everything[["id", "value", "sd"]].to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "be9570be43bc28e3"


def test_ids_are_unique_and_say_what_the_columns_say(everything):
    assert everything["id"].is_unique
    for row in everything.itertuples():
        parts = row.id.split("/")
        assert parts[:2] == [row.paper, row.table]
        if row.attribute and row.attribute != "mean":
            assert f"{row.dataset}-{row.attribute}" in parts
        if row.paper in (V1, V2):
            assert parts[2] == row.system
            assert f"K{row.k}" == parts[3] or row.table == "table9"
        if row.table not in ("table5", "table9") or row.paper != CA:
            assert parts[-1] == row.method


def test_an_empty_cell_says_why(everything):
    empty = everything["value"] == ""
    says = everything["note"].str.contains("not readable in the text|nothing stands here")
    assert (empty == says).all()
    assert (everything[empty]["sd"] == "").all()


def test_values_are_strings_with_the_printed_decimals(everything):
    printed = everything[everything["value"] != ""]
    for row in printed.itertuples():
        pattern = r"-?\d{1,2}\.\d|100"
        if row.paper == SA:
            pattern = r"\d\d\.\d\d"
        elif row.metric == "first-position rate":
            pattern = r"0\.\d\d"
        elif (row.paper, row.table) == (V2, "table9"):
            pattern = r"\d{1,2}"
        assert re.fullmatch(pattern, row.value), row.id
        assert f"{abs(row.number):.{row.decimals}f}" == row.value.lstrip("-")
    bounded = printed["metric"].isin(["accuracy", "agreement with the final ranking"])
    assert printed[bounded]["number"].between(35, 100).all()


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

    def test_full_set_identities(self, v2):
        """Algebra makes these equal (see the README of data/published)."""
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

    def test_the_calibration_cells_are_cells_of_the_tables(self):
        used = pd.read_csv(data_dir() / "published" / f"{CA}_calibration.csv", dtype=str)
        printed = published.all_tables(paper=CA).set_index("id")
        assert len(used) == 64
        assert used["id"].is_unique
        same = ["value", "system", "dataset", "attribute"]
        assert (printed.loc[used["id"], same].to_numpy() == used[same].to_numpy()).all()

    def test_accuracies_of_skill_aggregation(self):
        one = published.load(1, paper=SA).query("system == '7B-8B'")
        one = one.pivot(index="dataset", columns="method", values="number")
        gain = (one["SkillAggregation-X"] - one["majority-voting"]).round(1)
        said = {"HaluEval": 4.9, "TruthfulQA": 1.3, "ChatbotArena": 0.5}
        assert gain.to_dict() == said, "as the paper's text has them"
        single = published.load(3, paper=SA)
        small = single["system"].str.contains(r"(?<!x)7[bB]|8B")
        assert small.sum() == 30
        worst = single[small].groupby("dataset")["number"].min()
        assert (one["majority-voting"] - worst > 0).all()

    def test_numbers_in_the_text(self):
        text = published.text().set_index("id")
        assert len(text) == 50
        assert text.index.is_unique
        assert (text[["value", "quantity"]] != "").all(axis=None)
        assert all(id_.startswith(f"poe_v2/text/{at}/") for id_, at in text["place"].items())

        def number(name):
            return float(text.loc[f"poe_v2/text/{name}", "value"].replace(",", ""))

        assert number("5.1/SummEval/full") == 16 * 15 == number("4.1/SummEval/items") * 15
        assert number("C.7/TopicalChat/comparisons") == number("4.1/TopicalChat/contexts") * 6 * 5
        assert number("5.4/Llama2-7B/mean-p") == 0.78
        assert number("5.4/Mistral-7B/mean-p") == 0.51
        assert number("B.2/FlanT5-11B/SummEval/hours") == 2.5


def test_other_papers_and_tables_are_refused_by_name():
    for table, paper in ((1, "poe_v3"), (4, V2), ("table10", V2), ("Table 1", V1)):
        with pytest.raises(ValueError, match=r"no table of numbers .*; there are poe_v2: table1"):
            published.load(table, paper=paper)
