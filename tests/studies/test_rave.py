"""CJ RAVE: verdicts about the same pair, counted by hand."""

import pytest

import poe
from studies.rave import among, between, verdicts


def test_verdicts_about_the_same_pair_are_counted_whichever_stood_first():
    pairs = [[0, 1], [1, 0], [0, 1], [1, 2], [2, 1], [0, 2]]
    people = poe.Comparisons.from_pairs(pairs, [1, 0, 0, 1, 1, 1], items=3)
    assert list(verdicts(people)["won"]) == [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    # Of the three about the first pair one of three couples agrees, of the second none of one.
    assert among(people)[0] == pytest.approx(100 / 6)
    model = poe.Comparisons.from_pairs([[0, 1], [1, 2]], [1, 0], items=3)
    # 0 over 1 agrees with two of three, and 2 over 1 with one of two.
    assert between(model, people)[0] == pytest.approx(60.0)
