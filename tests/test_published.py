"""The published numbers: complete, unique, faithful to the print, consistent or listed."""

import re
from pathlib import Path

import pytest

from reproduction import published

PAPER = Path(__file__).resolve().parents[2] / "shared" / "papers" / "poe_v2.txt"
VALUES = {1: 50, 2: 40, 3: 96, 5: 60, 6: 60, 7: 60, 8: 60, 9: 42}
WITH_SD = (5, 6, 7, 8)
JUDGES = {"Llama2-7B", "Llama2-13B", "Mistral-7B", "FlanT5-3B", "FlanT5-11B"}
CELL = ["system", "k", "method"]

# Random rows of Table 2 that are not the K=48 cells of Table 5: Table 2, Table 5.
TABLE2_AGAINST_TABLE5 = {
    ("FlanT5-3B", "48", "PoE-BT"): ("42.7", "42.6"),
    ("FlanT5-11B", "48", "PoE-BT"): ("38.4", "38.5"),
}

# Full-set cells in which PoE-g-hard must equal the win-ratio and is printed otherwise.
HARD_AGAINST_WIN_RATIO = {
    ("table5", "Llama2-7B"): ("27.6", "27.8"),
    ("table5", "Llama2-13B"): ("39.2", "39.3"),
    ("table5", "Mistral-7B"): ("38.0", "38.1"),
    ("table5", "FlanT5-3B"): ("43.4", "43.6"),
    ("table5", "FlanT5-11B"): ("39.7", "40.0"),
    ("table6", "Llama2-13B"): ("39.9", "39.8"),
    ("table7", "Llama2-7B"): ("31.6", "31.5"),
    ("table7", "Llama2-13B"): ("41.8", "41.6"),
    ("table7", "Mistral-7B"): ("47.7", "47.4"),
    ("table7", "FlanT5-11B"): ("56.0", "57.0"),
    ("table8", "FlanT5-11B"): ("57.4", "57.5"),
}

# Full-set Spearman cells in which BT must rank as the win-ratio and is printed otherwise.
BT_AGAINST_WIN_RATIO = {
    ("table5", "Llama2-7B"): ("27.9", "27.8"),
    ("table7", "Llama2-7B"): ("31.6", "31.5"),
    ("table7", "Llama2-13B"): ("41.7", "41.6"),
    ("table7", "Mistral-7B"): ("47.2", "47.4"),
    ("table7", "FlanT5-3B"): ("44.8", "45.3"),
    ("table7", "FlanT5-11B"): ("56.6", "57.0"),
}

# Typed while reading the paper, not copied from the files: id after "poe_v2/", value, sd.
SPOT_CHECKS = """
table1/Llama2-7B/K48/win-ratio 21.6 -
table1/Llama2-13B/K48/PoE-g 37.3 -
table1/Mistral-7B/K240/avg-prob 37.7 -
table1/FlanT5-3B/K48/PoE-BT 42.6 -
table1/FlanT5-11B/K240/BT 40.0 -
table2/Llama2-7B/K48/selected/PoE-g 27.2 -
table2/Mistral-7B/K48/random/avg-prob 31.1 -
table2/FlanT5-3B/K48/selected/win-ratio 36.0 -
table2/FlanT5-11B/K48/selected/PoE-BT 39.2 -
table3/Llama2-7B/K5N/HANNA-CMP/PoE-BT 47.9 -
table3/Llama2-13B/K10N/CMCQRD-DIF/avg-prob 31.5 -
table3/Llama2-13B/K50N/HANNA-SUR/PoE-BT 37.6 -
table3/Mistral-7B/K20N/HANNA-COH/avg-prob 38.7 -
table3/Mistral-7B/K5N/CMCQRD-DIF/PoE-BT 40.7 -
table5/Llama2-7B/K48/PoE-g-hard 22.5 0.7
table5/Mistral-7B/K48/PoE-g-hard 30.5 0.6
table5/FlanT5-3B/K48/win-ratio 34.1 0.8
table5/FlanT5-11B/K240/PoE-g-hard 39.7 0.0
table6/Llama2-13B/K48/avg-prob 36.0 0.5
table6/Mistral-7B/K240/PoE-BT 41.3 0.0
table6/FlanT5-3B/K48/PoE-BT 48.3 0.3
table6/FlanT5-11B/K48/BT 34.2 0.7
table7/Llama2-7B/K18/avg-prob 27.7 1.4
table7/Mistral-7B/K18/PoE-g-hard 43.2 1.3
table7/FlanT5-11B/K18/PoE-BT 56.2 0.8
table7/FlanT5-3B/K30/BT 44.8 0.0
table8/Llama2-7B/K18/PoE-g 30.2 0.7
table8/Llama2-13B/K18/PoE-BT 41.8 0.5
table8/FlanT5-11B/K30/win-ratio 57.5 0.0
table8/FlanT5-3B/K18/avg-prob 45.7 1.0
table9/Llama2-7B/SummEval-FLU/G-Eval 7 -
table9/Llama2-7B/HANNA-CMP/PAIRS-beam 17 -
table9/Mistral-7B/SummEval-CON/G-Eval 39 -
table9/Mistral-7B/HANNA-SUR/PoE-BT 26 -
"""


@pytest.fixture(scope="module")
def everything():
    return published.all_tables()


@pytest.mark.parametrize("number", VALUES)
def test_each_table_is_complete(number):
    table = published.load(number)
    assert len(table) == VALUES[number]
    assert set(table["table"]) == {f"table{number}"}
    assert (table["sd"] != "").sum() == (VALUES[number] if number in WITH_SD else 0)
    assert table.equals(published.load(f"table{number}"))


def test_totals(everything):
    assert len(everything) == 468
    assert (everything["sd"] != "").sum() == 240
    assert everything["sd_number"].notna().sum() == 240


def test_ids_are_unique_and_say_what_the_columns_say(everything):
    assert everything["id"].is_unique
    for row in everything.itertuples():
        parts = row.id.split("/")
        assert parts[:3] == ["poe_v2", row.table, row.system]
        assert parts[-1] == row.method
        if row.k and row.table != "table9":
            assert parts[3] == f"K{row.k}"
        if row.attribute != "mean":
            assert f"{row.dataset}-{row.attribute}" in parts


def test_columns_hold_what_the_readme_lists(everything):
    assert set(everything["system"]) == JUDGES
    assert set(everything["metric"]) == {"spearman", "pearson"}
    assert set(everything["dataset"]) == {"SummEval", "TopicalChat", "HANNA", "CMCQRD"}
    assert set(everything["selection"]) == {"random", "greedy", "full", ""}
    assert set(everything["unit"]) == {"correlation x 100"}
    renamed = everything[everything["note"].str.contains("Llama2-13N")]
    assert set(renamed["id"]) == set(
        everything[(everything["table"] == "table3") & (everything["system"] == "Llama2-13B")]["id"]
    )


def test_values_are_strings_with_the_printed_decimals(everything):
    for row in everything.itertuples():
        decimals = 0 if row.table == "table9" else 1
        assert re.fullmatch(r"\d{1,2}" if decimals == 0 else r"\d{1,2}\.\d", row.value), row.id
        assert row.decimals == decimals
        assert f"{row.number:.{decimals}f}" == row.value
        if row.sd:
            assert re.fullmatch(r"\d\.\d", row.sd)
            assert f"{row.sd_number:.1f}" == row.sd


def test_table5_repeats_table1():
    both = published.load(1).merge(published.load(5), on=CELL, suffixes=("_1", "_5"))
    assert len(both) == 50
    assert (both["value_1"] == both["value_5"]).all()


def test_table2_random_rows_are_table5_with_two_exceptions():
    two = published.load(2)
    both = two[two["selection"] == "random"].merge(
        published.load(5), on=CELL, suffixes=("_2", "_5")
    )
    assert len(both) == 20
    differing = both[both["value_2"] != both["value_5"]]
    found = {(r.system, r.k, r.method): (r.value_2, r.value_5) for r in differing.itertuples()}
    assert found == TABLE2_AGAINST_TABLE5


def test_full_sets_leave_nothing_to_chance(everything):
    full = everything[everything["selection"] == "full"]
    assert set(full["k"]) == {"240", "30"}
    printed = full[full["sd"] != ""]
    assert len(printed) == 120
    assert set(printed["sd"]) == {"0.0"}
    drawn = everything[(everything["selection"] == "random") & (everything["sd"] != "")]
    assert len(drawn) == 120
    assert (drawn["sd_number"] > 0).all()


def full_set(everything):
    rows = everything[(everything["selection"] == "full") & (everything["table"] != "table1")]
    return rows.pivot(index=["table", "system"], columns="method", values="value")


def test_full_set_identities_hold_but_for_the_listed_cells(everything):
    """Algebra makes these equal (see the README of data/published)."""
    full = full_set(everything)
    assert len(full) == 20
    assert (full["avg-prob"] == full["PoE-g"]).all()
    spearman = full.loc[["table5", "table7"]]
    assert (spearman["PoE-BT"] == spearman["avg-prob"]).all()

    def differences(table, method):
        rows = table[table[method] != table["win-ratio"]]
        return {key: (row[method], row["win-ratio"]) for key, row in rows.iterrows()}

    assert differences(full, "PoE-g-hard") == HARD_AGAINST_WIN_RATIO
    assert differences(spearman, "BT") == BT_AGAINST_WIN_RATIO


def test_table9_agrees_with_the_spearman_tables():
    nine = published.load(9)
    ours = nine[nine["method"] == "PoE-BT"]
    assert set(ours["k"] + ours["dataset"]) == {"3NSummEval", "5NHANNA"}
    hanna = ours[ours["dataset"] == "HANNA"].merge(
        published.load(3), on=["system", "k", "method", "attribute"], suffixes=("_9", "_3")
    )
    assert len(hanna) == 6
    # Both are rounded: to a whole number and to one decimal.
    assert ((hanna["number_9"] - hanna["number_3"]).abs() <= 0.5 + 0.05).all()
    means = ours[ours["dataset"] == "SummEval"].groupby("system")["number"].mean()
    one = published.load(1).set_index(CELL)["number"]
    for system, mean in means.items():
        assert abs(mean - one[system, "48", "PoE-BT"]) <= 0.5 + 0.05


def test_spot_checks(everything):
    cells = everything.set_index("id")
    checks = [line.split() for line in SPOT_CHECKS.strip().splitlines()]
    assert len(checks) >= 25
    for name, value, sd in checks:
        cell = cells.loc[f"poe_v2/{name}"]
        assert (cell["value"], cell["sd"]) == (value, "" if sd == "-" else sd), name


@pytest.mark.parametrize("table", [4, "table10", "Table 1", 0])
def test_other_tables_are_refused_by_name(table):
    with pytest.raises(ValueError, match=r"no table of numbers .*table1, table2"):
        published.load(table)


# The rows of a table stand right above its caption, two to four a judge.
ROWS = {1: 10, 2: 10, 3: 12, 5: 10, 6: 10, 7: 10, 8: 10, 9: 6}
PLUS_MINUS = r"(\d+\.\d)±\S*±(\d+\.\d)"


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's text is not beside the repository")
@pytest.mark.parametrize("number", VALUES)
def test_agrees_with_the_text_of_the_paper(number):
    """A second reading by patterns alone, which knows nothing of the columns."""
    text = PAPER.read_text(encoding="utf-8")
    above = text[: text.index(f"\nTable {number}: ")].splitlines()
    block = "\n".join(above[-ROWS[number] :])
    table = published.load(number)
    if number in WITH_SD:
        found = re.findall(PLUS_MINUS, block)
    else:
        pattern = r"(?<!\S)\d+(?!\S)" if number == 9 else r"(?<!\S)\d+\.\d(?!\S)"
        found = [(value, "") for value in re.findall(pattern, block)]
    assert found == list(zip(table["value"], table["sd"], strict=True))

    judges = [name.replace("13N", "13B") for name in re.findall(r"^(?:Ll|Mi|Fl)\S+", block, re.M)]
    assert judges == list(dict.fromkeys(table["system"]))
    if number in (1, *WITH_SD):
        ks = re.findall(r"(?<!\S)(\d+)(?!\S)", block)
        assert ks == list(table["k"])[:: len(table) // ROWS[number]]
    if number == 3:
        ks = re.findall(r"(?<![^\s])(\d+N)\d+\S*?\d+N", block)
        assert ks == list(table["k"])[::8]
