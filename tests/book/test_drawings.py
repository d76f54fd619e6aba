"""The papers' figures: what is drawn is what the result says, and it can be told apart."""

import re

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from book.telling import drawings
from reproduction import verdicts


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def curve(*rows, dataset="summeval", labels="real", kind="simulated"):
    """Rows of (k, method, selection, bias, value)."""
    table = pd.DataFrame(rows, columns=["k", "method", "selection", "bias", "value"])
    return table.assign(
        panel="p", system="Judge", dataset=dataset, attribute="coherence",
        low=table["value"] - 1.0, high=table["value"] + 1.0, kind=kind, labels=labels,
    )  # fmt: skip


def shown(figure, what):
    """Data of all lines, without the markers beside the names."""
    lines = [
        line for ax in figure.axes for line in ax.lines if line.get_transform() == ax.transData
    ]
    return np.sort(np.concatenate([getattr(line, f"get_{what}data")() for line in lines]))


def drawn(table):
    """All panels of a result below each other."""
    panels = drawings.panels(table)
    figure, axes = plt.subplots(len(panels), squeeze=False)
    for ax, (draw, rows) in zip(axes[:, 0], panels, strict=True):
        draw(ax, rows)
    return figure


def test_a_stored_figure_of_every_form_shows_each_of_its_points():
    for name in ("figure1a", "figure1c", "figure2", "figure4", "figure7b", "figure9", "figure10"):
        table = verdicts.read(name)
        figure = drawn(table)
        if "k" in table:
            np.testing.assert_allclose(shown(figure, "x"), np.sort(table["k"]), err_msg=name)
            np.testing.assert_allclose(shown(figure, "y"), np.sort(table["value"]), err_msg=name)
        elif "variance" in table:
            wanted = np.sort(table[["value", "variance"]].to_numpy().ravel())
            np.testing.assert_allclose(shown(figure, "y"), wanted)
        else:
            shades = [np.asarray(ax.collections[0].get_array()).sum() for ax in figure.axes]
            wanted = np.sqrt(table["count"]).groupby(table["panel"], sort=False).sum()
            np.testing.assert_allclose(shades, wanted)
        plt.close(figure)


def test_every_small_picture_says_what_it_shows_to_those_who_cannot_see_it():
    rows = [(k, "PoE-BT", "random", "none", 1.0 * k) for k in (9, 18)]
    html = str(drawings.gallery([curve(*rows, labels="drawn"), curve(*rows)]))
    said = re.findall(r'alt="([^"]*)"', html)
    assert [one.partition(":")[0] for one in said] == [
        "Judge, SummEval coherence (labels drawn at random)",
        "Judge, SummEval coherence",
    ]
