"""Marks against comparisons: three texts by hand, and a judge that agrees with itself."""

import numpy as np
import pytest
from scipy.special import expit

from studies.contradictions import WAYS, shares


def test_three_texts_by_hand():
    """Likeliest marks 2, 2, 1 and expected 1.6, 1.7, 1.0 (from 0); the place decides 0 against 1.

    p: 0 before 1 .9, 1 before 0 .6 (averaged 1 loses); 0 before 2 .8, 2 before 0 .3; 1 before 2
    .4, 2 before 1 .7 (averaged 2 wins).
    """
    marks = np.array([[[0.1, 0.2, 0.7], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]]])
    p = np.array([[[np.nan, 0.9, 0.8], [0.6, np.nan, 0.4], [0.3, 0.7, np.nan]]])
    found = {key: x.item() for key, x in shares(p, marks).items()}
    # Calls 01, 02, 10, 12, 20, 21. Equal marks: 01 and 10 are wrong; of the rest 12 and 21.
    assert found[WAYS[0], "all"] == pytest.approx(4 / 6)
    assert found[WAYS[0], "apart"] == pytest.approx(2 / 4)
    # Expected marks put 1 before 0 before 2: wrong are 01, 12, 21.
    assert found[WAYS[1], "all"] == pytest.approx(3 / 6)
    # Averaged: 0 before 1 (both calls wrong), 0 before 2, 2 before 1 (both wrong).
    assert found[WAYS[2], "all"] == pytest.approx(4 / 6)
    assert found[f"{WAYS[2]} - {WAYS[0]}", "apart"] == pytest.approx(2 / 4 - 2 / 4)


def test_a_judge_that_agrees_with_itself_contradicts_nothing():
    q = np.random.default_rng(0).standard_normal((5, 8))
    marks = np.stack([np.exp(-((q - k) ** 2)) for k in range(-2, 3)], axis=-1)
    mean = marks @ np.arange(5.0) / marks.sum(axis=-1)
    found = shares(expit(mean[:, :, None] - mean[:, None]), marks)
    assert all(found[way, "all"].max() == 0.0 for way in WAYS[1:])
    turned = shares(expit(mean[:, None] - mean[:, :, None]), marks)
    assert turned[WAYS[2], "all"].min() == 1.0
