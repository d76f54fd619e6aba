"""The papers' figures: what is drawn is what the result says, and it can be told apart."""

import re
from base64 import b64decode

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


def test_panels_have_letters_and_say_whose_panel_they_are_also_to_those_who_cannot_see():
    rows = [(k, "PoE-BT", "random", "none", 1.0 * k) for k in (9, 18)]
    one, other = (curve(*rows).assign(panel=name) for name in ("figure3", "v1-figure3b"))
    html = str(drawings.gallery({"figure3": one.assign(labels="drawn"), "v1-figure3b": other}))
    assert re.findall(r"<figcaption><b>(.*?)</b> (.*?)</figcaption>", html) == [
        ("(a)", "Figure 3: Judge, SummEval coherence (labels drawn at random)."),
        ("(b)", "Figure 3b: Judge, SummEval coherence (our choice, the paper names none)."),
    ]
    said = re.findall(r'alt="([^"]*)"', html)
    assert said == 2 * ["Judge, SummEval coherence: Spearman × 100 against calls per context, K"]


def test_letters_of_panels_are_large_enough_on_a_phone():
    """A panel is 358 pixels wide there, measured in the built page at 390."""
    names = ("figure1a", "figure1c", "figure4", "figure9", "figure10", "comparative-figure5a")
    for svg in pictures_of(drawings.gallery({name: verdicts.read(name) for name in names})):
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+)px", svg)]
        assert sizes
        assert min(sizes) * 358 / width >= 11


def pictures_of(html):
    return [b64decode(code).decode() for code in re.findall(r"base64,([^\"]+)", str(html))]
