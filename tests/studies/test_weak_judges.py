"""Weak judges: wins and marks of systems by hand, and recorded verdicts counted by hand."""

import numpy as np
import pandas as pd
import pytest

from studies.weak_judges import Systems, of_answers, right, systems


def test_systems_are_ranked_by_means_over_the_drawn_contexts():
    wins = np.array([[2.0, 0.0, -2.0], [-2.0, 0.0, 2.0]])
    gold = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    marks = np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]])
    ours = Systems((4, 7), np.stack([wins, marks, -wins, 0 * marks]), gold)
    found = ours.agreement(np.array([[0, 0], [1, 1]]))
    # Of the first context wins agree fully, and marks, in ranks 1, 3, 2, by -1/2.
    np.testing.assert_allclose(found[:3], [[100.0, -100.0], [-50.0, -100.0], [150.0, 0.0]])
    np.testing.assert_allclose(found[3:], [[-100.0, 100.0], [0.0, 0.0], [-100.0, 100.0]])
    np.testing.assert_allclose(ours.at([7]).agreement(np.array([[0]])), found[:, 1:])


def test_wins_are_counted_in_both_places():
    one = systems("topicalchat", "coherency", "qwen")
    assert one is not None
    wins, marks, soft, expected = one.said
    for all_calls in (wins, soft):
        np.testing.assert_allclose(all_calls.sum(axis=1), 0.0, atol=1e-9)
        assert np.abs(all_calls).max() <= 2 * (wins.shape[1] - 1)
    assert set(np.unique(marks)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert np.abs(marks - expected).max() < 2.0


def test_a_verdict_is_right_in_each_order():
    """GPT-4 by Rating on Natural, counted in the file itself; a tie is half."""
    from judging.judges.recorded import table

    wide = table("llmbar.csv.gz")
    wide = wide[(wide["set"] == "Natural") & (wide["GPT-4/Rating"] != "")]
    both = zip(wide["GPT-4/Rating"], wide["label"].astype(str), strict=True)
    given = [said.count(label) / 2 for said, label in both]
    ours = right("GPT-4", "Rating", "Natural")
    assert ours.dropna().mean() == pytest.approx(np.mean(given), abs=0.005)


def test_differences_are_of_the_same_pairs():
    rows = pd.DataFrame(of_answers("Natural")).set_index(["system", "way"])
    for judge in ("ChatGPT", "GPT-4"):
        value = rows.loc[judge, "value"]
        assert value["gain"] == pytest.approx(value["comparisons"] - value["marks"])
    assert len(set(rows["contexts"])) == 1
