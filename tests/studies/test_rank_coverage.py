"""Coverage of ranks: the judge with ties, and what counts as holding."""

import numpy as np
import pytest

import poe
from studies.rank_coverage import GRID, QUANTITIES, Ties, cell, of


def test_the_judge_ties_as_often_as_davidson_says():
    judge = Ties("ties", sharpness=0.0, nu=2.0)  # equals, a bias of 0.4 alone
    answers, s = judge.draw(400, np.random.default_rng(0))
    assert not s.any()
    off = ~np.eye(answers.shape[1], dtype=bool)
    weight = np.array([np.exp(0.2), 2.0, np.exp(-0.2)])
    for value, expected in zip((1.0, 0.5, 0.0), weight / weight.sum(), strict=True):
        assert (answers[:, off] == value).mean() == pytest.approx(expected, abs=0.005)
    judge = Ties("threshold", sharpness=0.0, nu=1.0, threshold=True)
    answers, _ = judge.draw(400, np.random.default_rng(0))
    for value, expected in ((1.0, 1 / (1 + np.exp(0.6))), (0.0, 1 / (1 + np.exp(1.4)))):
        assert (answers[:, off] == value).mean() == pytest.approx(expected, abs=0.005)


def test_what_holds_is_counted_by_hand():
    """Three texts far apart: their ranks hold, and turned round the middle one."""
    c = poe.Comparisons.from_pairs(
        np.repeat([[0, 1], [1, 2]], 400, axis=0), np.tile([0.9, 0.88, 0.92, 0.9], 200), items=3
    )
    fit = poe.fit(c, bias=None)
    assert of(fit, fit.scores, seed=0) == (1.0, 1.0, 1.0, 1.0)
    each, every, together, differences = of(fit, -fit.scores, seed=0)
    assert (each, every, together, differences) == (pytest.approx(1 / 3), 0.0, 0.0, 0.0)


def test_a_cell_has_every_quantity():
    ties = next(k for k, (judge, *_) in enumerate(GRID) if judge.name == "ties")
    rows = cell(ties, 6, 0)
    assert [row["quantity"] for row in rows] == list(QUANTITIES)
    assert 0.2 < rows[0]["found"] < 5.0
