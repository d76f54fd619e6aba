"""The papers' figures: what is drawn is what the result says, and it can be told apart."""

import itertools
import sys

import matplotlib

matplotlib.use("Agg")


import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from poe import plots
from poe.cli import main
from reproduction import drawings, verdicts
from reproduction.targets import TARGETS

FIGURES = [
    name
    for name, target in TARGETS.items()
    if "figure" in name and target.paper != "skill_aggregation" and verdicts.read(name) is not None
]


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


def drawn(ax):
    """(x, y) of each line in data coordinates, without the markers beside the names."""
    return [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]


@pytest.mark.parametrize("name", FIGURES)
def test_every_stored_figure_shows_each_of_its_points(name):
    table = verdicts.read(name)
    figure = drawings.page([table])
    if "k" in table:
        shown = np.concatenate([line for ax in figure.axes for line in drawn(ax)])
        wanted = table[["k", "value"]].to_numpy(dtype=float)
        assert sorted(map(tuple, shown.round(6))) == sorted(map(tuple, wanted.round(6)))
    elif "variance" in table:
        shown = np.concatenate([line[:, 1] for ax in figure.axes for line in drawn(ax)])
        wanted = np.concatenate([table["value"], table["variance"]])
        np.testing.assert_allclose(np.sort(shown), np.sort(wanted))
    else:
        shades = [np.asarray(ax.collections[0].get_array()).sum() for ax in figure.axes]
        wanted = np.sqrt(table["count"]).groupby(table["panel"], sort=False).sum()
        np.testing.assert_allclose(shades, wanted)


def test_a_method_has_the_books_colour_and_its_name_beside_its_line():
    figure = drawings.page(
        [curve(*[(k, m, "random", "none", k / 9 + len(m)) for m in plots.METHODS for k in (9, 18)])]
    )
    (ax,) = figure.axes
    names = [text.get_text() for text in ax.texts]
    assert set(plots.METHODS) <= set(names)
    colours = [to_rgb(line.get_color()) for line in ax.lines][: len(plots.METHODS)]
    assert colours == [to_rgb(look.colour) for look in plots.METHODS.values()]


def test_names_do_not_overlap_even_where_all_lines_end_together():
    figure = drawings.page(
        [curve(*[(k, m, "random", "none", k / 2) for m in plots.METHODS for k in (9, 18)])]
    )
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [t.get_window_extent() for t in ax.texts if t.get_text() in plots.METHODS]
    assert len(boxes) == len(plots.METHODS)
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))


def test_designs_get_a_panel_a_method_and_lines_that_differ_without_colour():
    rows = [
        (k, m, s, b, k / 1056)
        for m in ("PoE-BT", "PoE-g")
        for s, b in (("symmetric", "none"), ("no-repeat", "plug-in"))
        for k in (2112, 5280)
    ]
    figure = drawings.page([curve(*rows, dataset="hanna")])
    assert len(figure.axes) == 2
    for ax in figure.axes:
        one, other = (line for line in ax.lines if line.get_transform() == ax.transData)
        assert one.get_linestyle() != other.get_linestyle()
        assert [t.get_text() for t in ax.get_xticklabels()] == ["2N", "5N"]
        assert ax.get_xlabel() == "calls (N = 1056 texts)"


def test_kind_and_stand_in_are_written_on_the_figure():
    rows = [(k, "PoE-BT", "random", "none", 1.0 * k) for k in (9, 18)]
    (ax,) = drawings.page([curve(*rows, labels="stand-in", kind="measured")]).axes
    words = [text.get_text() for text in ax.texts]
    assert "measured" in words
    assert "stand-in labels" in words
    assert "simulated" not in words
    (real,) = drawings.page([curve(*rows)]).axes
    assert "stand-in labels" not in [text.get_text() for text in real.texts]


def test_files_for_print_and_web_are_the_same_bytes_every_time(tmp_path):
    table = curve(*[(k, "PoE-BT", "random", "none", 1.0 * k) for k in (9, 18)])
    first = drawings.save("figure1a", table, tmp_path / "a")
    second = drawings.save("figure1a", table, tmp_path / "b")
    assert [p.name for p in first] == ["figure1a.svg", "figure1a.pdf"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    other = drawings.save("figure1a", table.assign(value=table["value"] + 1), tmp_path / "c")
    assert other[0].read_bytes() != first[0].read_bytes()


def test_a_table_is_no_figure(tmp_path):
    table = pd.DataFrame({"id": ["a"], "value": [1.0]})
    with pytest.raises(ValueError, match="table1 is a table of numbers"):
        drawings.save("table1", table, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_draws_what_it_has_made(tmp_path, capsys):
    """A figure is drawn, a table is not, and the group that holds both says how many."""
    at = ["--draws", "1", "--quiet", "--labels", "stand-in", "--out", str(tmp_path / "out")]
    draw = ["--draw", str(tmp_path / "figures")]
    assert main(["reproduce", "figure1a", *at, *draw]) == 0
    assert "figure1a.svg and " in capsys.readouterr().out
    drawn = (tmp_path / "figures" / "figure1a.svg").read_text()
    assert drawn.startswith("<?xml")
    assert main(["reproduce", "table7", *at, *draw]) == 0
    assert "nothing to draw: table7 has no figure" in capsys.readouterr().out
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"figure1a"}


def test_without_matplotlib_the_command_says_so_before_it_computes(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "out"
    code = main(["reproduce", "figure1a", "--quiet", "--out", str(out), "--draw", str(tmp_path)])
    assert code != 0
    assert "pip install 'judging-by-comparison[chapters]'" in capsys.readouterr().err
    assert not out.exists()
