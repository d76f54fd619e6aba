"""What is done where a bias or scores have no finite value, and what is said of it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

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


def test_of_sharp_deciders_ranks_hold_and_differences_do_not():
    """Why the note on a prior says to trust ranks more: sharper than Bradley-Terry, they cover."""
    held = {"ranks": [], "differences": [], "of a judge as the model has it": []}
    i, j = np.triu_indices(16, 1)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        true, pairs = rng.standard_normal(16), poe.select(16, 32, seed=rng)
        d = true[pairs[:, 0]] - true[pairs[:, 1]]
        scale = 1.0 / 0.3  # noise of 0.3 before it decides: steeper than a logistic curve
        sharp = d + 0.3 * rng.standard_normal(32) > 0.0
        plain = rng.random(32) < expit(d)
        for won, truth in ((sharp, 1.7 * scale * true), (plain, true)):
            fit, notes = settled(
                poe.Comparisons.from_pairs(pairs, won.astype(float), items=16), bias=None
            )
            c, gap = fit.covariance(), fit.scores[i] - fit.scores[j] - truth[i] + truth[j]
            inside = np.abs(gap) < fit.quantile() * np.sqrt(c[i, i] + c[j, j] - 2.0 * c[i, j])
            if won is plain:
                held["of a judge as the model has it"].append(inside.mean())
                continue
            assert notes, "no finite scores without a prior"
            held["differences"].append(inside.mean())
            low, high = fit.rank_interval().T
            rank = 1 + (true[None] > true[:, None]).sum(axis=1)
            held["ranks"].append(((low <= rank) & (rank <= high)).mean())
    held = {name: float(np.mean(values)) for name, values in held.items()}
    assert held["ranks"] > 0.93
    assert held["differences"] < 0.8
    assert held["of a judge as the model has it"] > 0.93
