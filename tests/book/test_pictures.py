"""The pictures of first screens: what they draw is what is stored."""

import numpy as np
import pandas as pd
import pytest

from book.telling import answer, paper_pictures, pictures, sentences
from reproduction import power, run


@pytest.fixture(scope="module")
def lead():
    return pictures.leads()


def test_the_lead_is_the_stored_paired_gain(lead):
    """Two stored results: mean correlations of each method, and gains paired over contexts."""
    gains = answer.measured("gains").query(
        "attribute == 'mean' and versus == 'people' and method == 'PoE-BT - win-ratio'"
    )
    both = lead.merge(gains, on=["system", "dataset", "k"], suffixes=("", "_paired"))
    assert len(both) == lead["se"].notna().sum() == 8
    np.testing.assert_allclose(both["lead"], both["value"], atol=5e-3)
    assert set(zip(lead["system"], lead["dataset"], strict=True)) == set(
        answer.gains()[["system", "dataset"]].itertuples(index=False, name=None)
    )


def test_a_line_crosses_zero_where_it_does():
    share, height = [20, 40, 60, 100], [3.0, 1.0, -1.0, -5.0]
    line = pd.DataFrame({"system": "a", "dataset": "b", "share": share, "lead": height})
    assert pictures.zero_crossings(line) == {("a", "b"): 50.0}
    height = [3.0, 2.0, 1.0, -3.0]
    assert pictures.zero_crossings(line.assign(lead=height)) == {("a", "b"): 70.0}


def test_a_line_that_stays_ahead_crosses_nowhere():
    line = pd.DataFrame({"system": "a", "dataset": "b", "share": [20, 100], "lead": [3.0, 1.0]})
    assert pictures.zero_crossings(line) == {}


def test_every_lead_is_smaller_when_all_is_asked(lead):
    for _, part in lead.groupby(["system", "dataset"]):
        assert part["lead"].iloc[0] > max(part["lead"].iloc[-1], 0)
        assert part["lead"].iloc[-1] < 2 * part["se"].iloc[-1]


def test_the_headline_says_what_the_lines_do(lead):
    words = pictures.headline()
    low, high = map(float, words["ahead"].split(" to "))
    few = lead.loc[lead["share"] <= 40, "lead"]
    assert (low, high) == (round(few.min()), round(few.max()))
    saved = run.read("orders").query(
        "quantity == 'scores' and dataset == 'summeval' and k == 48 and kind == 'measured'"
    )
    assert words["saved"] == f"{saved['regret_one'].min():.0f}"


def test_comparing_is_held_against_marks_in_every_attribute():
    rows = pictures.marks_or_comparisons()
    assert (rows.groupby("label")["attribute"].nunique() == 5).all()
    whole = rows["attribute"] == "mean"
    assert rows.loc[whole, ["low", "high"]].notna().all(axis=None)
    assert rows.loc[~whole, ["low", "high"]].isna().all(axis=None)
    stored = answer.measured("absolute").pivot_table(
        index=["system", "dataset", "attribute"], columns="method", values="value", sort=False
    )
    found = (stored["avg-prob"] - stored["expected"]).dropna()
    np.testing.assert_allclose(np.sort(rows["value"]), np.sort(found), atol=5e-3)
    ax = pictures.grading(rows).axes[0]
    (each,) = (line for line in ax.lines if len(line.get_xdata()) > 2)
    assert set(each.get_xdata()) == set(rows.loc[~whole, "value"])


def test_every_prediction_has_its_square(card):
    blocks = paper_pictures.squares(card).set_index("group")
    shares = power.shares(card).set_index("group")
    counts = blocks[list(paper_pictures.VERDICT)]
    assert list(counts.sum(axis=1)) == list(shares.loc[blocks.index, "predictions"])
    agree = 100 * counts["agrees"] / counts.sum(axis=1)
    np.testing.assert_allclose(agree, shares.loc[blocks.index, "agree"])
    figure = paper_pictures.waffle(blocks.reset_index())
    drawn = sum(len(ax.patches) for ax in figure.axes)
    assert drawn == counts.to_numpy().sum()
    lead = shares["lead"]
    np.testing.assert_allclose(lead, shares["beside"] - shares["guess"])
    assert (shares["lead_low"] <= lead).all()
    assert (lead <= shares["lead_high"]).all()


def test_an_interval_over_judges_is_that_of_their_means():
    """Two judges, each always right or always wrong: a half, a quarter or all of them drawn."""
    values = np.r_[np.ones(3), np.zeros(3)]
    systems = pd.Series(["a"] * 3 + ["b"] * 3)
    assert power._over_judges(values, systems) == (0.0, 100.0)
    assert power._over_judges(np.ones(6), systems) == (100.0, 100.0)


def test_more_calls_bring_the_break_even_nearer_to_zero():
    few, more, most = (pictures.break_even(k) for k in (48, 96, 112))
    assert few < more < most < 0


def test_one_height_a_label_and_one_mark_an_effect():
    panels = pictures.new_effects()
    figure = pictures.stacked(panels, (0.0, 0.0, 95.0))
    for ax, rows in zip(figure.axes, panels.values(), strict=True):
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert names == list(dict.fromkeys(rows["label"]))
        marks = [line for line in ax.lines if len(line.get_xdata()) == 1]
        assert sorted(line.get_xdata()[0] for line in marks) == pytest.approx(sorted(rows["value"]))


def test_what_lies_outside_is_hollow():
    rows = pd.DataFrame(
        {
            "quantity": ["a", "b"], "low": [0.0, 1.0], "high": [2.0, 3.0],
            "measured": [1.0, 9.0], "inside": [True, False],
        }
    )  # fmt: skip
    filled, hollow = pictures.foretold(rows).axes[0].lines
    assert list(filled.get_xdata()) == [0.0]  # the middle of its interval
    assert list(hollow.get_ydata()) == [1]
    assert hollow.get_markerfacecolor() == "white"


def test_every_sentence_that_failed_is_listed_once():
    held = sentences.overview()
    rows = sentences.failed(held)
    fails = held[[f"{kind} verdict" for kind in sentences.KINDS]].eq("does not hold")
    assert len(rows) == fails.to_numpy().sum()
    html = str(sentences.failures(rows))
    assert html.count("<li>") == fails.any(axis=1).sum() == rows["claim"].nunique()
