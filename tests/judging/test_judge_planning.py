"""A dataset's questions, what they cost, and positions put to a judge as texts."""

import math

import numpy as np
import pandas as pd
import pytest

import poe
from judging import datasets, prompts
from judging.cost import cost, throughput
from judging.datasets.questions import pairs_of, questions_of, shard_of
from judging.errors import JudgeError
from judging.judges import Answer, Store, TextJudge
from judging.judges.asking import decided
from judging.question import Question, by_bytes
from tests.asking import HashJudge, texts

DATASET = datasets.load("topicalchat")  # 60 contexts, 6 candidates
PROMPT = prompts.load("topicalchat", prompts.attributes("topicalchat")[0])

pytestmark = pytest.mark.usefixtures("placeholder_texts")


def test_all_comparisons_in_an_order_whose_beginnings_are_good():
    for n in (2, 3, 6, 11, 16):
        for both in (False, True):
            every = pairs_of(n, None, both_orders=both, seed=(0, 1))
            assert len({tuple(pair) for pair in every.tolist()}) == len(every) == n * (n - 1)
            assert (every[:, 0] != every[:, 1]).all()
            step = 2 if both else 1
            for count in range(2 * step, len(every), 2 * step):
                beginning = pairs_of(n, count, both_orders=both, seed=(0, 1))
                np.testing.assert_array_equal(beginning, every[:count])
                pairs = len(np.unique(np.sort(beginning, axis=1), axis=0))
                assert pairs == (count // 2 if both else min(count, n * (n - 1) // 2))
                if count >= 2 * step * (n - 1) and n > 2:
                    c = poe.Comparisons.from_pairs(beginning, np.full(count, 0.5), items=n)
                    assert len(c.components()) == 1
    some = [pairs_of(10, 20, both_orders=False, seed=(seed, 0)) for seed in range(60)]
    shown_first = np.bincount(np.ravel([pairs[:, 0] for pairs in some]))
    assert abs(shown_first / 1200 - 0.1).max() < 0.02
    for count, both, message in ((31, False, "have 30"), (5, True, "in twos: 6, not 5")):
        with pytest.raises(JudgeError, match=message):
            pairs_of(6, count, both_orders=both, seed=(0,))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("count", [0, 1, 5, 20, 63])
def test_shards_are_all_questions_once_in_their_order_and_alike_in_size(count, n):
    """Also where n does not divide them: no remainder is left to nobody."""
    every = list(range(count))
    parts = [shard_of(every, f"{i}/{n}") for i in range(1, n + 1)]
    assert [one for part in parts for one in part] == every
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_questions_go_context_by_context():
    made = questions_of(DATASET, PROMPT, contexts=range(2, 4), calls=7)
    assert len(made) == 14
    for k, question in enumerate(made):
        c = 2 + k // 7
        assert question.context == DATASET.context(c)
        assert {question.first, question.second} <= set(DATASET.candidates(c))
    scoring = prompts.load("topicalchat", PROMPT.name.split("/")[1], "g-eval")
    made = questions_of(DATASET, scoring, contexts=range(3), calls=5)
    assert [q.first for q in made] == [t for c in range(3) for t in DATASET.candidates(c)]
    assert all(q.second is None for q in made)


def test_cost_from_words_and_from_what_was_done():
    def times(seconds):
        return pd.to_datetime(pd.Series(seconds, dtype=float), unit="s", utc=True)

    # Two gaps of half a second each; the pause does not count.
    assert throughput(times([0, 0.5, 1, 1000, 1000.5])) == pytest.approx(2.0)
    assert throughput(times([0, 1000])) is None
    questions = questions_of(DATASET, PROMPT, contexts=range(4), calls=10)
    at = pd.DataFrame(
        {"at": times(np.arange(11) / 5), "tokens": 7, "computed": 0, "prompt_digest": PROMPT.digest}
    )
    least, mostly, most = np.mean([by_bytes(q.text) for q in questions], axis=0)
    found = cost(questions, HashJudge(), at[:0])
    assert (found.tokens, found.seconds) == (pytest.approx(40 * mostly), None)
    assert (found.tokens_low, found.tokens_high) == pytest.approx((40 * least, 40 * most))
    assert cost(questions, HashJudge(), at).seconds == pytest.approx(40 / 5)


# Texts as positions -------------------------------------------------------------------------

BETTER = prompts.for_attribute("better")


def test_a_text_judge_answers_positions_and_knows_what_was_new():
    items, pairs = texts(4), np.array([[0, 1], [3, 2]])
    with Store(":memory:") as store:
        judged = TextJudge(HashJudge(), BETTER, items, store=store)
        p = judged.answer(pairs)
        again = judged.answer(pairs[:1])
        assert (judged.new, judged.ties) == (2, 0)
        assert p.tolist() == [a.p for a in judged.answers[:2]]
        assert again[0] == p[0]
        np.testing.assert_array_equal(judged.pairs, [[0, 1], [3, 2], [0, 1]])
        assert [q.ids for q in judged.questions(pairs)] == [
            ("text-0", "text-1"),
            ("text-3", "text-2"),
        ]
        judged.forget()
        assert (len(judged.pairs), judged.answers, len(store)) == (0, [], 2)
        with pytest.raises(JudgeError, match="shows one text"):
            TextJudge(HashJudge(), prompts.load("hanna", "surprise", "g-eval"), items, store=store)


def test_an_answer_that_names_neither_label_stops_or_is_a_tie():
    mute = HashJudge(instead={0: Answer((-math.inf, -math.inf))})
    with Store(":memory:") as store:
        stops = TextJudge(mute, BETTER, texts(3), store=store, unanswered="stop")
        with pytest.raises(JudgeError, match=r"to 1 of 1 .*text-2 before text-0.*unanswered=skip"):
            stops.answer(np.array([[2, 0]]))
        assert len(store) == 1
        ties = TextJudge(mute, BETTER, texts(3), store=store, unanswered="tie")
        assert ties.answer(np.array([[2, 0]])).tolist() == [0.5]
        assert (ties.new, ties.ties) == (0, 1)


def test_a_few_answers_that_name_neither_label_are_left_out_and_many_are_not():
    silent, said = Answer((-math.inf, -math.inf)), Answer((-0.1, -3.0))
    items = texts(8)
    questions = [Question(BETTER, items[0], items[k % 7 + 1]) for k in range(40)]
    p, ties, out = decided(questions, [silent] * 3 + [said] * 37, "skip")
    assert (ties, out.sum(), np.isnan(p).sum()) == (0, 3, 3)
    with pytest.raises(JudgeError, match="to 5 of 40 comparisons"):
        decided(questions, [silent] * 5 + [said] * 35, "skip")
    with pytest.raises(JudgeError, match=r"to 4 of 39 comparisons .*more than one in ten"):
        decided(questions[:12], [silent] * 2 + [said] * 10, "skip", before=(2, 27))
    p, ties, out = decided(questions, [silent] * 5 + [said] * 35, "tie")
    assert (ties, out.any(), p[0]) == (5, False, 0.5)


@pytest.mark.parametrize(("log_p", "p"), [((-0.1, -0.1), 0.5), ((0.0, -math.inf), 1.0)])
def test_two_labels_by_hand(log_p, p):
    assert Answer(log_p).p == p


def test_an_answer_that_showed_both_labels_is_never_a_decision():
    sure, turned = Answer((0.0, -40.0)).p, Answer((-40.0, 0.0)).p
    assert 0.0 < turned < 1e-11
    assert 1.0 - 1e-11 < sure < 1.0
    assert Answer((-800.0, -801.0)).p == pytest.approx(1.0 / (1.0 + np.exp(-1.0)))
    assert np.isnan(Answer((-math.inf, -math.inf)).p)


def test_what_was_sent_for_an_answer_is_its_prompt_or_those_of_its_samples():
    """Of answers that share a prefix one bears its computing, which sends nothing more."""
    assert Answer((-1.0, -1.0), tokens=80, computed=95.5).read == 80
    assert Answer((-1.0, -1.0), tokens=80, computed=12.0).read == 80
    assert Answer((-1.0, -1.0), tokens=80, computed=400.0, draws=5).read == 400
