"""The pictures of the pages that go through the papers: what they draw is what is stored."""

import numpy as np
import pandas as pd
import pytest

from book.telling import answer, paper_pictures
from book.telling.pictures import KINDS
from reproduction import claims, verdicts
from reproduction.published import load

FIGURES = ["poe_v2/figure1c", "poe_v2/figure9", "comparative_assessment/figure4"]


def test_printed_gains_are_those_of_the_printed_table():
    rows = paper_pictures.gains_of_confidence()
    cells = load("table1").set_index(["system", "k", "method"])["number"]
    printed = rows[rows["kind"] == "published"].set_index("judge")["value"]
    for judge, gain in printed.items():
        assert gain == pytest.approx(cells[judge, "48", "PoE-BT"] - cells[judge, "48", "BT"])
    assert len(printed) == rows.loc[rows["label"] == paper_pictures.APART, "judge"].nunique() == 5
    asked = rows[rows["kind"] == "measured"]
    np.testing.assert_allclose(sorted(asked["value"]), sorted(answer.real("BT")["value"]))
    assert (asked["low"] < asked["value"]).all()
    assert (asked["value"] < asked["high"]).all()
    (axes,) = paper_pictures.gains(rows).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == list(rows["label"].unique())


def test_a_dumbbell_has_the_printed_and_the_simulated_end():
    card = verdicts.compare("table1")
    (axes,) = paper_pictures.dumbbells(card, ("BT", "PoE-BT")).axes
    few = card[(card["k"] == "48") & card["method"].isin(["BT", "PoE-BT"])]
    for kind, column in (("published", "number"), ("simulated", "ours")):
        marks = [line for line in axes.lines if line.get_color() == KINDS[kind][0]]
        drawn = sorted(line.get_xdata()[0] for line in marks)
        np.testing.assert_allclose(drawn, sorted(few[column].astype(float)))


def test_a_margin_and_its_verdict_are_one_rule():
    """Within one unit of a limit: borderline. Else its sign decides."""
    rows = paper_pictures.margins(FIGURES)
    margin = rows["margin"]
    said = np.select([margin.abs() <= 1, margin > 0], ["borderline", "holds"], "does not hold")
    assert list(rows["verdict"]) == list(said)
    (axes,) = paper_pictures.sentences(rows).axes
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert len(marks) == len(rows)
    assert max(abs(line.get_xdata()[0]) for line in marks) <= paper_pictures.EDGE


@pytest.mark.parametrize(
    ("value", "error", "margin", "verdict"),
    [
        (0.8, 0.0, 2.0, "holds"),  # 0.2 inside of 1, a digit is 0.1
        (0.9, 0.3, 1 / 6, "borderline"),  # two errors are more than a digit
        (1.3, 0.0, -3.0, "does not hold"),
        (0.8, np.nan, 2.0, "holds"),
    ],
)
def test_a_margin_by_hand(value, error, margin, verdict):
    words = dict.fromkeys(("id", "paper", "place", "claim", "measure", "recipe"), "")
    claim = claims.Claim(**words, targets=[], evidence=[], at_most=1.0)
    number = claims.Number(value, error)
    assert claim.margin(number) == pytest.approx(margin)
    assert claim.verdict(number) == verdict
    bare = claims.Claim(**words, targets=[], evidence=[], at_most=1.0, unit="ratio")
    assert bare.margin(claims.Number(value)) == (np.inf if value <= 1 else -np.inf)


def test_means_stand_before_their_cells():
    rows = pd.DataFrame(
        [
            {"kind": "measured", "system": "Ada-1B", "texts": 16, "rule": rule, "ratio": ratio}
            for rule in paper_pictures.RULES
            for ratio in (0.7, 0.9)
        ]
    )
    (axes,) = paper_pictures.saved(rows, half=0.6).axes
    means = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert [line.get_xdata()[0] for line in means] == pytest.approx([0.8, 0.8, 0.8])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Ada 1B, 16 texts"]


def test_what_was_tried_is_written_as_a_change():
    distances = pd.DataFrame({"Table 5, few": [1.0, 0.5], "Table 6": [2.0, np.nan]})
    (axes,) = paper_pictures.tried(distances).axes
    assert [text.get_text() for text in axes.texts] == ["\N{MINUS SIGN}0.50"]


def test_cells_that_must_be_equal_are_nearly_so():
    """Printed with one decimal, and never further apart than a point."""
    rows = paper_pictures.equal_cells()
    assert len(rows) == 20  # five judges, two data sets, two methods
    assert rows["value"].abs().max() <= 1.0 + 1e-9
    assert (rows["value"] != 0).any()
    (axes,) = paper_pictures.unequal(rows).axes
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert sorted(line.get_xdata()[0] for line in marks) == pytest.approx(sorted(rows["value"]))
