"""Recorded judges: scores read as judges of pairs, and tables of verdicts."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import judging
import poe
from judging import datasets, metrics
from judging.errors import JudgeError
from judging.judges import recorded
from reproduction import large
from reproduction.recorded_answers import ManyPrompts, under_all_prompts


def scored(scores, **options):
    names = tuple(f"t{k}" for k in range(len(scores)))
    return recorded.RecordedScores("judge", 1, "coherence", names, np.array(scores), **options)


def test_probabilities_by_hand():
    judge = scored([2.0, 3.0, 3.0])
    p = judge.answer([[[0, 1], [1, 0]], [[1, 2], [1, 0]]])  # leading axes are kept
    np.testing.assert_allclose(p, [[1 / (1 + np.e), np.e / (1 + np.e)], [0.5, np.e / (1 + np.e)]])
    softer = scored([2.0, 3.0, 3.0], scale=2.0).answer([[1, 0]])
    np.testing.assert_allclose(softer, [1 / (1 + np.exp(-0.5))])


def test_a_missing_score_is_named():
    judge = scored([2.0, np.nan, 3.0])
    assert judge.missing.tolist() == [False, True, False]
    assert judge.present.tolist() == [0, 2]
    with pytest.raises(JudgeError, match=r"no coherence score of 't1'; draw pairs among"):
        judge.answer([[0, 2], [1, 0]])
    assert judge.answer(judge.present[poe.select(2, 2, seed=0)]).shape == (2,)


def test_a_recorded_judge_drives_a_ranking():
    judge = recorded.hanna("ChatGPT", 1, "complexity")
    use = judge.present[:30]
    found = judging.rank(len(use), lambda pairs: judge.answer(use[np.asarray(pairs)]), budget=600)
    assert spearmanr(found.fit.scores, judge.scores[use])[0] > 0.98


def test_scores_below_the_scale_are_missing():
    judge = recorded.hanna("Mistral-7B", 1, "coherence")
    assert judge.missing.sum() == 28
    assert judge.scores[judge.present].min() == 1.0
    assert judge.items[96] == "story-0096"
    assert judge.kind == "recorded"
    with pytest.raises(ValueError, match="read-only"):
        judge.scores[0] = 1.0


def test_tables_of_verdicts():
    table = recorded.llmbar(["Natural", "MT-Bench"])
    assert set(table["set"]) == {"Natural", "MT-Bench"}
    with pytest.raises(JudgeError, match="no recorded set 'Normal'; there are 'Adversarial-GPT"):
        recorded.llmbar("Normal")
    for rows, licence in ((table, "MIT"), (recorded.pandalm(), "Apache-2.0")):
        assert (rows.attrs["kind"], rows.attrs["licence"]) == ("recorded", licence)
        assert rows.attrs["citation"]


def test_texts_of_pairs_are_not_part_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    with pytest.raises(datasets.DataNotFoundError, match=r"clone https://github\.com/princeton"):
        recorded.llmbar_pairs()


# HANNA's judges under many prompts ---------------------------------------------------------


def test_a_judge_without_noise_has_a_flat_curve():
    """One prompt's scores determine all answers, so every number of calls recovers its ranking.

    Two thirds of the stories are tied: a solver that stops early would decide their ranks.
    """
    scores, have = under_all_prompts("ChatGPT", "coherence")
    people = datasets.load("hanna").scores["coherence"][0][have]
    one = scores[:1]
    assert len(np.unique(one)) < 20
    found = []
    for times in (2, 5, 20):
        rng = np.random.default_rng(times)
        answer = ManyPrompts(one, rng)
        c = large.compared(len(have), times * len(have), answer, rng)
        found += [metrics.spearman(s, people) for s in large.scores(c, ("PoE-BT",)).values()]
    np.testing.assert_allclose(found, metrics.spearman(one[0], people), rtol=1e-12)
    rough = one[0] + 1e-6 * np.random.default_rng(0).normal(size=len(have))
    assert abs(metrics.spearman(rough, people) - found[0]) > 0.01  # so the test can fail


def test_a_prompt_is_drawn_for_either_story_of_every_call():
    scores = np.array([[0.0, 2.0], [1.0, 4.0]])
    pairs = np.tile([[1, 0]], (20_000, 1))
    p = ManyPrompts(scores, np.random.default_rng(0))(pairs)
    logit = np.round(np.log(p / (1.0 - p)), 9)
    assert set(logit) == {1.0, 2.0, 3.0, 4.0}
    assert logit.mean() == pytest.approx(2.5, abs=0.03)  # the means' difference
