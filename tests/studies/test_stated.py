"""Probabilities of an order, held against how often they are right."""

import numpy as np
import pandas as pd

from reproduction.settings import Settings
from studies import stated

NAMES = [(judge.name, design) for judge, design in stated.GRID]
CLOSE = NAMES.index(("decisions, close", "96 in one order"))


def test_rows_are_counts_of_the_pairs_that_were_drawn():
    rows = pd.DataFrame(stated._rows(CLOSE, 4, 0)).set_index("class")
    judge, design = stated.GRID[CLOSE]
    said, flat, right = np.concatenate(
        [
            stated.said_and_right(judge, design, np.random.default_rng([0, 61, CLOSE, one]))
            for one in range(4)
        ],
        axis=1,
    )
    assert rows.loc["all", "pairs"] == len(said) == 4 * 120
    assert rows.loc["all", "stated"] == said.mean()
    assert rows.loc["all", "value"] == right.mean()
    assert rows.loc["all", "flat"] == flat.mean()
    classes = rows.drop(index="all")
    assert classes["pairs"].sum() == len(said)
    inside = (said >= 60.0) & (said < 65.0)
    assert rows.loc["60-65", "value"] == right[inside].mean()


def test_a_judge_that_never_errs_is_right_and_a_blind_one_is_not():
    """Control: texts all alike make every order right in half of the pairs, whatever is said."""
    rng = np.random.default_rng(0)
    sharp = stated.Judge("sharp", apart=3.0, noise=0.01)
    said, _, right = stated.said_and_right(sharp, "96 in both orders", rng)
    assert right.mean() > 99.0
    assert said.mean() > 98.0
    alike = stated.Judge("alike", apart=1e-9, noise=1.5)
    each = [stated.said_and_right(alike, "96 in one order", rng) for _ in range(20)]
    said, flat, right = np.concatenate(each, axis=1)
    assert abs(right.mean() - 50.0) < 5.0
    assert flat.mean() > 70.0  # what is said where no luck is allowed for
    assert said.mean() < flat.mean() - 5.0


def test_the_table_does_not_depend_on_the_number_of_workers(monkeypatch):
    monkeypatch.setattr(stated, "GRID", stated.GRID[:2])
    one, two = (stated.table(Settings(draws=2, workers=n)) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert set(one["kind"]) == {"simulated"}


def test_the_declared_rule_by_hand():
    """The mean within 3 points, large classes within 5, two errors aside."""
    columns = ["judge", "design", "class", "stated", "value", "se", "pairs"]
    rows = [
        ("a", "d", "all", 70.0, 67.2, 0.0, 900),
        ("a", "d", "70-75", 72.0, 60.0, 0.0, 200),
        ("b", "d", "all", 70.0, 66.9, 0.0, 900),
        ("c", "d", "all", 70.0, 66.9, 0.1, 900),
        ("c", "d", "70-75", 72.0, 66.5, 0.2, 201),
    ]
    said = stated.holds(pd.DataFrame(rows, columns=columns))
    assert said.to_dict() == {("a", "d"): True, ("b", "d"): False, ("c", "d"): False}
