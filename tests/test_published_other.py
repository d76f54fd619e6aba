"""The numbers of the other three papers: complete, faithful to the print, consistent or listed."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from poe._paths import data_dir
from reproduction import published

PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"
V1, CA, SA = "poe_v1", "comparative_assessment", "skill_aggregation"

# Rows times columns, counted in the papers: cells, those of them that can be read, sd.
COUNTS = {
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

# Cells of version 1 that version 2 prints otherwise, by table of version 1: value and sd.
CHANGED = {
    (1, "FlanT5-3B", 24, "PoE-BT"): ("42.7", "0.4", "42.6", "0.4"),
    (1, "FlanT5-3B", 120, "PoE-BT"): ("44.2", "0.0", "44.3", "0.0"),
    (1, "FlanT5-11B", 24, "PoE-BT"): ("38.4", "0.4", "38.5", "0.4"),
    (3, "FlanT5-11B", 24, "PoE-BT"): ("41.7", "0.4", "41.8", "0.5"),
    (3, "Llama2-7B", 24, "PoE-BT"): ("26.9", "0.4", "26.9", "0.5"),
    (3, "Llama2-13B", 24, "PoE-BT"): ("40.6", "0.4", "40.6", "0.3"),
    (4, "FlanT5-3B", 9, "PoE-BT"): ("45.5", "0.9", "45.4", "0.8"),
    (4, "FlanT5-11B", 9, "PoE-BT"): ("56.1", "0.8", "56.2", "0.8"),
    (4, "FlanT5-11B", 15, "PoE-g"): ("58.0", "0.0", "58.1", "0.0"),
    (4, "Llama2-7B", 9, "PoE-BT"): ("29.8", "1.0", "29.7", "0.9"),
    (4, "Llama2-13B", 9, "PoE-BT"): ("40.6", "0.7", "40.5", "0.8"),
    (5, "FlanT5-3B", 9, "PoE-BT"): ("48.1", "0.6", "48.0", "0.7"),
    (5, "FlanT5-11B", 9, "PoE-BT"): ("58.0", "0.7", "58.1", "0.6"),
    (5, "Llama2-13B", 9, "PoE-BT"): ("41.9", "0.5", "41.8", "0.5"),
}

# Typed while reading the papers, not copied from the files.
SPOT_CHECKS = """
poe_v1/table1/FlanT5-11B/K24/win-ratio 31.2
poe_v1/table2/Llama2-13B/K24/selected/PoE-g 38.0
poe_v1/table4/FlanT5-11B/K15/PoE-g 58.0
poe_v1/table5/Llama2-7B/K15/PoE-BT 30.7
comparative_assessment/table1/MQAG/SummEval-REL/baseline 16.6
comparative_assessment/table1/GPT3/SummEval-CON/GPTScore 47.5
comparative_assessment/table1/FlanT5-770M/SummEval-REL/prompt-scoring -0.0
comparative_assessment/table1/Llama2-13B/SummEval-COH/G-Eval 53.2
comparative_assessment/table2/Llama2-7B/Podcast/summary-level/prompt-scoring 2.6
comparative_assessment/table2/Llama2-13B/Podcast/system-level/comparative 97.1
comparative_assessment/table3/UniEval continual/TopicalChat-NAT/baseline 44.4
comparative_assessment/table3/FlanT5-220M/TopicalChat-ENG/comparative -10.5
comparative_assessment/table4/NLI/WebNLG-SEM/baseline 63.7
comparative_assessment/table4/Llama2-7B/WebNLG-SEM/comparative -5.3
comparative_assessment/table6/FlanT5-11B/TopicalChat-CNT/debiased 59.5
comparative_assessment/table8/FlanT5-3B/SummEval-COH/n6/gold 70.3
comparative_assessment/table9/Llama2-7B/WebNLG-SEM/prompt1 0.98
comparative_assessment/table9/Llama2-13B/Podcast/prompt2 0.40
comparative_assessment/table10/FlanT5-3B/WebNLG-SEM/debiased 51.3
comparative_assessment/table11/FlanT5-3B/SummEval-FLU/likelihood 31.5
skill_aggregation/table1/70B/TruthfulQA/SkillAggregation 84.45
skill_aggregation/table2/7B-8B/ChatbotArena/Crowdlayer 65.18
skill_aggregation/table3/dolphin-2.1-mistral-7b/TruthfulQA/single 40.47
skill_aggregation/table4/without-zephyr/TruthfulQA/SkillAggregation 67.68
skill_aggregation/table5/Llama-3+Starling+Beluga/ChatbotArena/SkillAggregation 68.52
"""


@pytest.fixture(scope="module")
def everything():
    parts = [published.all_tables(paper=paper).assign(paper=paper) for paper in (V1, CA, SA)]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(("paper", "number"), COUNTS)
def test_each_table_is_complete(paper, number):
    cells, readable, with_sd = COUNTS[paper, number]
    table = published.load(number, paper=paper)
    assert len(table) == cells
    assert (table["value"] != "").sum() == table["number"].notna().sum() == readable
    assert (table["sd"] != "").sum() == table["sd_number"].notna().sum() == with_sd
    assert set(table["table"]) == {f"table{number}"}


def test_every_table_is_counted(everything):
    counted = {(paper, f"table{number}") for paper, number in COUNTS}
    assert counted == set(zip(everything["paper"], everything["table"], strict=True))
    listed = {(paper, name) for paper in (V1, CA, SA) for name in published.PAPERS[paper]}
    assert counted == listed


def test_ids_are_unique_and_say_what_the_columns_say(everything):
    assert everything["id"].is_unique
    for row in everything.itertuples():
        parts = row.id.split("/")
        assert parts[:2] == [row.paper, row.table]
        if row.attribute and row.attribute != "mean":
            assert f"{row.dataset}-{row.attribute}" in parts
        if row.paper == V1:
            assert parts[2:4] == [row.system, f"K{row.k}"]
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
        if row.paper == SA:
            pattern = r"\d\d\.\d\d"
        elif row.metric == "first-position rate":
            pattern = r"0\.\d\d"
        else:
            pattern = r"-?\d{1,2}\.\d|100"
        assert re.fullmatch(pattern, row.value), row.id
        assert f"{abs(row.number):.{row.decimals}f}" == row.value.lstrip("-")
    bounded = printed["metric"].isin(["accuracy", "agreement with the final ranking"])
    assert printed[bounded]["number"].between(35, 100).all()
    assert everything["unit"].notna().all()


def test_spot_checks(everything):
    cells = everything.set_index("id")["value"]
    for line in SPOT_CHECKS.strip().splitlines():
        name, value = line.rsplit(" ", 1)
        assert cells[name] == value, name


def test_version_1_is_version_2_but_for_the_listed_cells():
    found = {}
    for number, other in ((1, 5), (3, 6), (4, 7), (5, 8)):
        old = published.load(number, paper=V1).query("value != ''")
        old = old.assign(k=(2 * old["k"].astype(int)).astype(str))  # pairs, then calls
        both = old.merge(published.load(other), on=["system", "k", "method"])
        assert len(both) == len(old)
        for row in both.itertuples():
            cells = (row.value_x, row.sd_x, row.value_y, row.sd_y)
            if cells[:2] != cells[2:]:
                found[number, row.system, int(row.k) // 2, row.method] = cells
    assert found == CHANGED


def test_version_1_has_no_chance_in_full_sets():
    cells = published.all_tables(paper=V1).query("value != ''")
    full = cells["selection"] == "full"
    assert set(cells[full]["k"]) == {"120", "15"}
    assert set(cells[full]["sd"]) == {"0.0"}
    assert (cells[~full]["sd_number"] > 0).all()


def test_table_6_prints_the_means_of_its_rows():
    six = published.load(6, paper=CA)
    rows = six[six["attribute"] != "mean"].groupby(["system", "method"])["number"]
    mean = six[six["attribute"] == "mean"].set_index(["system", "method"])["number"]
    assert (rows.count() == 10).all()
    # Ten cells known to 0.05 each and a mean rounded to one decimal.
    assert ((rows.mean() - mean).abs() <= 0.05 + 1e-9).all()


def test_table_10_repeats_table_7():
    both = published.load(7, paper=CA).merge(
        published.load(10, paper=CA), on=["system", "method", "dataset", "attribute"]
    )
    assert len(both) == 32
    assert (both["value_x"] == both["value_y"]).all()


def test_table_8_agrees_with_itself():
    eight = published.load(8, paper=CA).assign(k=lambda t: t["k"].astype(int))
    wide = eight.pivot(index="k", columns="method", values="number")
    assert list(wide.index) == [n * (n - 1) for n in (2, 3, 4, 6, 8, 12, 16)]
    assert wide["final"].is_monotonic_increasing
    assert wide["gold"].is_monotonic_increasing
    assert wide["final"].iloc[-1] == 100


def test_the_calibration_cells_are_cells_of_the_tables():
    used = pd.read_csv(data_dir() / "published" / f"{CA}_calibration.csv", dtype=str)
    printed = published.all_tables(paper=CA).set_index("id")
    assert len(used) == 64
    assert used["id"].is_unique
    for row in used.itertuples():
        cell = printed.loc[row.id]
        assert (cell["value"], cell["system"]) == (row.value, row.system)
        assert (cell["dataset"], cell["attribute"]) == (row.dataset, row.attribute)


def test_accuracies_of_skill_aggregation_agree_with_its_text():
    one = published.load(1, paper=SA).query("system == '7B-8B'")
    one = one.pivot(index="dataset", columns="method", values="number")
    gain = (one["SkillAggregation-X"] - one["majority-voting"]).round(1)
    assert gain.to_dict() == {"HaluEval": 4.9, "TruthfulQA": 1.3, "ChatbotArena": 0.5}


def test_judges_vote_no_worse_than_the_worst_of_them():
    single = published.load(3, paper=SA)
    small = single["system"].str.contains(r"(?<!x)7[bB]|8B")
    assert small.sum() == 30
    worst = single[small].groupby("dataset")["number"].min()
    votes = published.load(1, paper=SA).query("system == '7B-8B' and method == 'majority-voting'")
    assert (votes.set_index("dataset")["number"] - worst > 0).all()


def test_numbers_in_the_text():
    text = published.text().set_index("id")
    assert len(text) == 50
    assert text.index.is_unique
    for id_, row in text.iterrows():
        assert id_.startswith(f"poe_v2/text/{row['place']}/")
        assert row["value"]
        assert row["quantity"]

    def number(name):
        return float(text.loc[f"poe_v2/text/{name}", "value"].replace(",", ""))

    assert number("5.1/SummEval/full") == 16 * 15 == np.prod([number("4.1/SummEval/items"), 15])
    assert number("C.7/TopicalChat/comparisons") == number("4.1/TopicalChat/contexts") * 6 * 5
    assert number("5.4/Llama2-7B/mean-p") == 0.78
    assert number("5.4/Mistral-7B/mean-p") == 0.51
    assert number("B.2/FlanT5-11B/SummEval/hours") == 2.5


def test_unknown_papers_and_tables_are_refused_by_name():
    with pytest.raises(ValueError, match="no paper 'poe_v3'; there are poe_v2, poe_v1"):
        published.load(1, paper="poe_v3")
    with pytest.raises(ValueError, match=r"no table of numbers 12 in comparative_assessment"):
        published.load(12, paper=CA)


# What stands above the values of a table: the beginning of its header.
HEADERS = {
    (CA, 1): "Approach\t\u0421",  # a Cyrillic letter in the extraction
    (CA, 2): "Approach\tSystem-lvl",
    (CA, 3): "Approach\t\u0421",
    (CA, 4): "Approach\tFLU",
    (CA, 5): "System\tPrompt",
    (CA, 6): "System\tDebias COH",
    (CA, 7): "System\tDebias",
    (CA, 8): "\t2\t3\t4\t6\t8",
    (CA, 9): "System\tprompt",
    (CA, 10): "System\tdebias",
    (CA, 11): "win-loss\t",
    (SA, 1): "\tHaluE",
    (SA, 2): "\t7B/8B (%)",
    (SA, 3): "System\tHaluE",
    (SA, 4): "Subsets\tMajority",
    (SA, 5): "Subsets\tMajority",
}
RUN_TOGETHER = {(CA, 5), (CA, 6), (CA, 9)}  # columns: only the values can be compared


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not beside the repository")
@pytest.mark.parametrize(("paper", "number"), HEADERS)
def test_agrees_with_the_text_of_the_paper(paper, number):
    """A second reading by patterns alone, which knows nothing of the columns."""
    text = (PAPERS / f"{paper}.txt").read_text(encoding="utf-8")
    end = re.search(rf"^ ?Table {number}: ", text, re.M).start()
    block = text[text.rindex(HEADERS[paper, number], 0, end) : end]
    block = re.sub(r"GPTScore \S+|Llama2-chat-\S+|FlanT5-\S+|\(?§[\d.]+\)?", "", block)
    pattern = r"\d\d\.\d\d|(?<=± )\d\.\d\d|(?<=pm )\d\.\d\d"
    if paper == CA:
        pattern = r"(?<![\w.])-?\d+\.\d\d?(?!\w)|(?<!\S)100(?!\S)"
    if number == 6:
        pattern = r"\d\d\.\d"
    found = re.findall(pattern, block)
    table = published.load(number, paper=paper).query("value != ''")
    cells = table[["value", "sd"]].to_numpy().ravel()
    expected = [cell for cell in cells if cell]
    if (paper, number) in RUN_TOGETHER:
        found, expected = sorted(found), sorted(expected)
    assert found == expected


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not beside the repository")
@pytest.mark.parametrize("number", range(1, 6))
def test_agrees_with_the_text_of_version_1(number):
    """Each judge's values and deviations; the rows of a judge run together in the text."""
    text = (PAPERS / "poe_v1.txt").read_text(encoding="utf-8")
    end = re.search(rf"^Table {number}: ", text, re.M).start()
    block = text[text.rindex("system\t", 0, end) : end]
    lines = [line for line in block.splitlines() if re.match(r"Fl|Ll", line)]
    table = published.load(number, paper=V1).query("value != ''")
    judges = list(dict.fromkeys(table["system"]))
    assert len(lines) == len(judges)
    for line, judge in zip(lines, judges, strict=True):
        found = re.findall(r"(\d+\.\d)[{ ]*(?:±|(?:\\scriptstyle)?\\pm)[} ]*(\d\.\d)", line)
        mine = table[table["system"] == judge]
        assert sorted(found) == sorted(zip(mine["value"], mine["sd"], strict=True))
