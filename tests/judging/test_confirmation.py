"""A last round of fresh answers: which questions, what they say alone, and that it is honest."""

import json
import math

import numpy as np
import pytest
from scipy.special import expit, stdtr

import judging
import poe
from judging.judges.demo import DemoJudge
from judging.practice.cli import main
from judging.practice.ranking import confirmation
from judging.practice.ranking.settings import Asking, Fitting
from judging.store import Store

N = 30


class Tosses:
    """Decides anew every time it is asked, by a coin with sigmoid(q_i - q_j). No language model."""

    def __init__(self, seed, spread=0.7):
        self.rng = np.random.default_rng(seed)
        self.quality, self.asked = spread * self.rng.standard_normal(N), []

    def __call__(self, pairs):
        self.asked += map(tuple, pairs.tolist())
        d = self.quality[pairs[:, 0]] - self.quality[pairs[:, 1]]
        return (self.rng.random(len(d)) < expit(d)).astype(float)


def ranked(judge, budget=140, **options):
    asking = Asking(confirm=True, orders="one", **options)
    return judging.rank(N, judge, budget=budget, asking=asking)


class TestWhichQuestions:
    def test_pairs_of_finalists_asked_in_neither_order_in_both(self):
        """Scores 5 to 0: two on top, 0 and 1, against 2 and 3; (0, 2) is known, (3, 1) turned."""
        c = poe.Comparisons.from_pairs([(i, i + 1) for i in range(5)], [0.9] * 5, items=6)
        fit = poe.fit(c)
        assert fit.ranking() == list(range(6))
        asked = {(0, 2)}
        pairs = confirmation.questions(fit, 2, asked, 8)
        assert {*map(tuple, pairs.tolist())} == {(0, 3), (3, 0), (1, 2), (2, 1), (1, 3), (3, 1)}
        linked = confirmation.questions(fit, 2, {(0, 2), (3, 1)}, 8)  # 0-3 and 1-2 are two pieces
        assert {*map(frozenset, linked.tolist())} == {*map(frozenset, [(0, 3), (1, 2), (0, 1)])}
        fewer = confirmation.questions(fit, 2, asked, 6)
        assert len(fewer) == 6, "no more than there are calls for, and all linked"
        assert not len(confirmation.questions(fit, 2, asked, 4)), "three links take six calls"
        known = {(0, 2), (3, 1), (1, 0), (2, 3)}
        assert not len(confirmation.questions(fit, 2, known, 8)), "nothing fresh joins them"
        assert confirmation.reserve(6, 2) == 8
        assert confirmation.reserve(16, 3) == 18
        assert confirmation.reserve(4, 3) == 6, "one text is left to be below"

    def test_the_last_round_is_new_and_within_the_budget(self):
        judge = Tosses(1)
        ranking = ranked(judge)
        found = ranking.confirmation
        assert len(judge.asked) == 140 == len(ranking.comparisons)
        assert 0 < found.calls <= 18
        last, before = (
            judge.asked[-found.calls :],
            {frozenset(p) for p in judge.asked[: -found.calls]},
        )
        assert not before & {frozenset(pair) for pair in last}
        assert all((set(pair) & {*found.best}) and (set(pair) & {*found.rivals}) for pair in last)
        assert ranking.stopped_because == "the budget of 140 comparisons is spent"
        (note,) = [n for n in map(str, ranking.notes) if "onfirmed by" in n]
        assert f"by {found.calls} fresh answers" in note
        assert ", ".join(map(str, found.best[:2])) in note


def test_fresh_answers_alone_decide_by_hand():
    """One on top, one below, p = 0.9 in one order and 0.2 in the other: a fit of two answers."""
    fit = poe.fit(poe.Comparisons.from_pairs([(0, 1), (1, 0)], [0.6, 0.4], items=["a", "b"]))
    pairs, fitting = np.array([[0, 1], [1, 0]]), Fitting(covariance="curvature", bias=None)
    found = confirmation.of_answers(fit, 1, pairs, np.array([0.9, 0.2]), fitting)
    d = poe.fit(poe.Comparisons.from_pairs(pairs, [0.9, 0.2], items=2), bias=None)
    expected = float(stdtr(d.freedom, np.ptp(d.scores) / d.difference_se(0, 1)))
    assert found.p == pytest.approx(expected, abs=0.03)
    assert (found.best, found.rivals, found.calls) == (("a",), ("b",), 2)
    against = confirmation.of_answers(fit, 1, pairs, np.array([0.1, 0.8]), fitting)
    assert against.p == pytest.approx(1 - expected, abs=0.03)
    assert against.before == found.before > 0.5


def test_what_fresh_answers_claim_is_no_more_than_the_truth():
    """50 judges that toss. Before, the claim is too sure; alone, fresh answers are not."""
    before, after, true = [], [], []
    for seed in range(50):
        judge = Tosses(seed)
        found = ranked(judge).confirmation
        q = judge.quality
        before.append(found.before)
        after.append(found.p if found.calls else math.nan)
        true.append(q[list(found.best)].min() > q[list(found.rivals)].max())
    asked = np.isfinite(after)
    assert asked.mean() > 0.8, "there is something fresh to ask as a rule"
    share = np.mean(true)
    assert np.mean(before) > share + 0.05, "the control: what chose the pairs claims too much"
    assert np.mean(np.array(after)[asked]) < np.mean(np.array(true)[asked]) + 0.05


def test_where_nothing_fresh_is_left_the_calls_go_to_other_pairs():
    ranking = ranked(Tosses(3), budget="all")
    assert ranking.confirmation.calls == 0
    assert len(ranking.comparisons) == N * (N - 1)
    assert any("Not confirmed: nothing fresh" in str(note) for note in ranking.notes)


def test_a_rule_that_stops_early_is_confirmed_too():
    judge = judging.SimulatedJudge(np.linspace(-3, 3, N), noise=0.3, seed=0)
    ranking = judging.rank(
        N,
        judge.answer,
        budget=500,
        until=poe.top_known(1, 0.9),
        asking=Asking(confirm=True, orders="one"),
        fitting=Fitting(top=1),
    )
    assert ranking.stop.kind == "rule"
    assert len(ranking.comparisons) < 300
    found = ranking.confirmation
    assert (found.best, found.rivals) == ((N - 1,), (N - 2,))
    assert found.calls in (0, 2)


def test_a_budget_without_room_is_refused_in_words():
    with pytest.raises(ValueError, match=r"takes 18 calls.* 22, cannot link 30 items"):
        ranked(Tosses(0), budget=40)


TEXTS = {f"t{k}": "word " * (k + 3) + "sesquipedalian " * (k * k % 7) for k in range(40)}


class TestFromAStore:
    def run(self, store, judge=None, budget=130, **options):
        return judging.rank(
            TEXTS,
            judge or DemoJudge(),
            attribute="easier to read",
            budget=budget,
            store=store,
            asking=Asking(confirm=True, **options),
        )

    def test_the_same_run_again_asks_nothing_and_says_the_same(self):
        store = Store(":memory:")
        first, again = self.run(store), self.run(store)
        assert first.confirmation.calls > 0
        assert first.confirmation == again.confirmation
        assert len(first.comparisons) == len(again.comparisons) == 130
        assert first.fit.ranking() == again.fit.ranking()
        offline = self.run(store, offline=True)
        assert (offline.confirmation, offline.partial) == (first.confirmation, False)

    def test_after_a_limit_in_the_middle_the_same_command_ends_the_same(self):
        whole = self.run(Store(":memory:"))
        for limit in (60, 100, 118, 127):
            store = Store(":memory:")
            part = self.run(store, limit_calls=limit)
            assert part.partial
            assert part.confirmation is None
            then = self.run(store)
            assert not then.partial
            assert then.confirmation == whole.confirmation

    def test_the_command_says_it(self, tmp_path, capsys):
        path = tmp_path / "texts.csv"
        path.write_text("id,text\n" + "".join(f"{k},{v}\n" for k, v in TEXTS.items()))
        command = ["rank", str(path), "--judge", "demo", "--attribute", "easier to read", "--quiet"]
        command += ["--store", str(tmp_path / "s"), "--budget", "130", "--confirm", "--top", "2"]
        assert main(command) == 0
        assert "fresh" in (said := capsys.readouterr().out)
        assert "onfirmed by " in said
        assert main([*command, "--json"]) == 0
        (one,) = json.loads(capsys.readouterr().out)["rankings"]
        assert len(one["confirmation"]["best"]) == 2
        assert 0 <= one["confirmation"]["p"] <= 1
