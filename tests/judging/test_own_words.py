"""Words of a user's own in the winner's column: for a tie, and for rows to leave out."""

import numpy as np
import pandas as pd
import pytest

from judging.practice.reading.forms import read
from judging.practice.trust import read_people
from poe.errors import ComparisonError

ROWS = ["both wrong", "a", "Both-Wrong ", "no opinion", "b", "平局"]
SAID = [{"first": "a", "second": "b", "winner": word} for word in ROWS]


def test_each_word_means_what_is_said():
    found = read(pd.DataFrame(SAID), tie_word=["both wrong", "平局"], skip_word="no opinion")
    np.testing.assert_array_equal(found.p, [0.5, 1.0, 0.5, 0.0, 0.5])
    assert read_people(SAID, tie_word=["both wrong", "平局"], skip_word=["no opinion"]).choices == (
        ("a", "b", 0.5),
        ("a", "b", 1.0),
        ("a", "b", 0.5),
        ("a", "b", 0.0),
        ("a", "b", 0.5),
    )


def test_a_known_word_can_mean_something_else():
    rows = [{"first": "x", "second": "y", "winner": w} for w in ("x", "tie", "unresolved")]
    np.testing.assert_array_equal(read(pd.DataFrame(rows)).p, [1.0, 0.5])
    np.testing.assert_array_equal(read(pd.DataFrame(rows), skip_word=["tie"]).p, [1.0])
    np.testing.assert_array_equal(
        read(pd.DataFrame(rows), tie_word=["unresolved"]).p, [1.0, 0.5, 0.5]
    )


def test_no_word_stands_for_another_that_has_no_letters_either():
    rows = [{"first": "x", "second": "y", "winner": w} for w in ("x", "平局", "未定")]
    with pytest.raises(ComparisonError, match="未定"):
        read(pd.DataFrame(rows), tie_word=["平局"])
