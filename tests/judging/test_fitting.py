"""What is done where a bias or scores have no finite value, and what is said of it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import judging
import poe
from judging.fitting import MOST_PRIOR, settled
from poe.errors import SeparableError


def test_notes_do_not_depend_on_how_a_message_is_worded():
    """Names may contain what the sentence was once cut at."""
    c = poe.Comparisons(first=["a, so b", "a, so b", "b"], second=["b", "c", "c"], p=[1, 1, 1])
    _, notes = settled(c, bias=None)
    assert notes[0].startswith("item 'a, so b' never lost to the rest: every item was given")


def test_the_prior_is_one_win_and_one_loss_over_the_others():
    c = poe.Comparisons(first=["a", "a", "b"], second=["b", "c", "c"], p=[1, 1, 0.5])
    fit, notes = settled(c, bias=None)
    np.testing.assert_array_equal(fit.scores, poe.fit(c, prior=0.5).scores)
    assert "a prior of 0.5 wins on every pair" in notes[0]


def test_scores_that_are_finite_are_left_alone():
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
    fit, notes = settled(c, bias=None)
    np.testing.assert_array_equal(fit.scores, poe.fit(c).scores)
    assert notes == []


@pytest.mark.parametrize("prior", [0.0, None])
def test_where_no_prior_may_be_added_the_error_says_how_to_give_one(prior):
    n = 3 if prior == 0.0 else MOST_PRIOR + 1
    c = poe.Comparisons.from_pairs([(k, k + 1) for k in range(n - 1)], np.ones(n - 1), items=n)
    with pytest.raises(SeparableError, match=r"--set prior=0\.1 on the command line") as error:
        settled(c, bias=None, prior=prior)
    assert error.value.items


def test_a_bias_that_cannot_be_told_or_explains_everything_is_left_out():
    chain = poe.Comparisons(first=["a", "b"], second=["b", "c"], p=[0.6, 0.6])
    fit, notes = settled(chain)
    assert not fit.bias_fitted
    assert notes == [
        "too few comparisons to tell a position bias from the scores: none was assumed"
    ]
    # A prior makes the optimum one, of which next to nothing is told by the answers.
    assert (settled(chain, prior=0.1)[0].bias, settled(chain.hard())[0].bias) == (0.0, 0.0)
    always = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[1, 1, 1])
    fit, notes = settled(always)
    assert not fit.bias_fitted
    assert notes[-1] == "a preference for one position explains every decision: none was assumed"


GREETING = """
import os
class Highs:
    greeted = False
    def __init__(self):
        if not Highs.greeted:
            os.write(1, b"Running HiGHS 1.16.0")
        Highs.greeted = True
"""
USE = """
import sys
from judging.fitting import silence_highs
if len(sys.argv) > 1:
    silence_highs()
import highspy
highspy.Highs()
print("{}")
"""


@pytest.mark.parametrize("silent", [True, False])
def test_a_greeting_of_the_solver_does_not_stand_before_json(silent, tmp_path):
    """HiGHS 1.16 prints one when it is first made, whatever its options say."""
    (tmp_path / "highspy.py").write_text(GREETING)
    root = str(Path(judging.__file__).parents[1])
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {root!r}]\n{USE}"
    command = [sys.executable, "-c", code, *(["silent"] if silent else [])]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["{}"] if silent else said.startswith("Running HiGHS"), "control"
