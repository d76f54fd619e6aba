"""What checks share: forms of answers, and a sentence for whatever has none of them."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from book.exercises import LISTS, NUMBER, TRUTH, asks, numbers_of, returns


@pytest.mark.parametrize(
    ("form", "fits", "others"),
    [
        (NUMBER, [3, 0.5, -1, Fraction(1, 3), np.float32(2), np.array(2)], [True, None, "3", 1j]),
        (NUMBER, [0], [float("nan"), float("inf"), [3], np.array([3]), ..., 10**400]),
        (TRUTH, [True, np.False_], [1, 0.0, None, "True", [True]]),
        (numbers_of(2), [(1, 2), [0.5, 1], np.ones(2), pd.Series([1, 2])], [(1,), "12", {1, 2}]),
        (numbers_of(2), [[Fraction(1), 2]], [[1, None], ["1", "2"], [1, [2]], [1, np.nan], 2]),
        (numbers_of("N", 3), [np.ones((4, 3)), np.ones((0, 3))], [np.ones((3, 4)), np.ones(3)]),
        (numbers_of(2, nan=True), [[np.nan, 0]], [[None, 0]]),
        (LISTS, [[], [[1], (2, 3)], np.ones((2, 2))], [[1], "ab", ["ab"], None]),
        (returns(NUMBER, TRUTH).form, [(1, True)], [(1, 1), 1, (1, True, 2), {1: True}]),
    ],
)
def test_forms(form, fits, others):
    assert [one for one in fits if not form.fits(one)] == []
    assert [one for one in others if form.fits(one)] == []


@asks(NUMBER, returns(numbers_of(2)))
def check(share, function):
    return "right" if function(share)[0] == 4 else "not right: four"


def broken(share):
    return {"one": 1}[share]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ((1, lambda x: (4, 0)), "right"),
        ((1, lambda x: (5, 0)), "not right: four"),
        ((..., None), "not yet"),
        ((1, lambda x: (..., ...)), "not yet"),
        ((1, lambda x: x * ...), "not yet"),
        ((None, lambda x: 4), "not right: your share is None; it should be a number"),
        ((1, lambda x: 4), "not right: your function returns 4; it should return two numbers"),
        (
            (1, lambda x: None),
            "not right: your function returns None; it should return two numbers",
        ),
        ((1, 4), "not right: your function is 4; give the function itself"),
        ((1, broken), "not right: your function stops with KeyError: 1"),
        ((1,), "not right: give two answers: share, function"),
    ],
)
def test_every_answer_is_met_with_a_sentence(answers, said):
    assert check(*answers) == said


def test_a_check_that_cannot_use_an_answer_says_so_itself():
    """What fails inside the check is no fault of the reader's function, nor is it raised."""
    strict = asks(NUMBER)(lambda answer: [][answer])
    assert strict(3).startswith("not right: your answer is 3, which this check cannot use (IndexE")
    of_function = asks(returns(NUMBER))(lambda function: [][function()])
    assert of_function(lambda: 3).startswith("not right: this check cannot use what your function")
