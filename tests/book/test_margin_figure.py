"""The picture and the table of margin and cancellation show what the result says."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from book.telling import margin_figure as parts
from reproduction import run, significance
from studies import margin


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return run.read("margin")


def test_every_point_is_drawn_and_every_line_named(rows):
    figure = parts.two_parts(rows)
    for ax, part in zip(figure.axes, parts.TITLES, strict=True):
        wanted = parts.main_lines(rows)
        wanted = wanted[wanted["quantity"] == part]
        lines = [line for line in ax.lines if line.get_marker() not in ("None", "", "_", "|")]
        drawn = np.sort(np.concatenate([line.get_ydata() for line in lines]))
        np.testing.assert_allclose(drawn, np.sort(wanted["value"]))
        low, high = ax.get_ylim()
        ends = wanted.loc[wanted["k"].isin([12, 30, 32, 240])]
        assert (ends["value"] - ends["se"]).min() > low
        assert (ends["value"] + ends["se"]).max() < high
        names = {text.get_text() for text in ax.texts} - {"measured"}
        assert names == {"SmolLM2, dialogues", "Qwen2.5, dialogues", "Qwen2.5, articles"}
    heights = [ax.get_position().height / np.ptp(ax.get_ylim()) for ax in figure.axes]
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == len(lines)
    assert heights[0] == pytest.approx(heights[1], rel=0.05)  # one scale


def test_words_stand_only_where_a_cell_is_counted(rows):
    table = parts.cells(rows)
    assert len(table) == len(rows.groupby(parts.PLACE))
    assert table.shape[1] > 5
    worded = table[
        table.filter(like="few").apply(lambda c: c.str.contains("clear|likely")).any(axis=1)
    ]
    names = worded.iloc[:, 0]
    assert not names.str.contains("paraphrase").any()
    assert not names.str.startswith("SmolLM2, articles").any()
    few = parts.few(rows)
    assert len(few) == 2 * len(margin.counted(rows))
    beyond = few[few["value"].abs() > 2.0 * few["se"]]
    assert set(few.loc[few["said"] != significance.CHANCE].index) == set(beyond.index)


def test_guesses_are_held_against_few_calls(rows):
    found = parts.guessed(rows)
    assert len(found) == len(margin.expected())
    assert set(found["inside"]) <= {True, False}
    one = found.query("system == 'SmolLM2-135M' and template == 'poe' and quantity == 'margin'")
    few = rows.query("system == 'SmolLM2-135M' and template == 'poe' and quantity == 'margin'")
    few = few[(few["method"] == margin.OF) & few["k"].isin([12, 32])]
    assert sorted(one["value"]) == sorted(few["value"])
