"""Baselines: PairS against brute force, likelihood against all orders, expectations by hand."""

from math import ceil, log, log2

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

import judging
import reproduction.baselines.papers as pb
from poe.errors import ComparisonError


class Recorder:
    """A judge that knows the answers and remembers the questions."""

    def __init__(self, p):
        self.p, self.asked = p, []

    def __call__(self, first, second):
        self.asked.append((first, second))
        return self.p[first, second]


def sure_judge(quality, **options):
    return Recorder(judging.SimulatedJudge(quality, **options).matrix())


# PairS -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 4])
def test_without_noise_the_order_is_exactly_right(beam):
    """The reference code compares indices of sublists and returns the inverse permutation."""
    for n in range(1, 65):
        quality = np.random.default_rng(n).permutation(n).astype(float)
        found = pb.pairs_ranking(sure_judge(quality, sharpness=8.0), range(n), beam=beam, seed=n)
        assert found.order == np.argsort(-quality).tolist()
        assert found.ranks.tolist() == (n - quality).astype(int).tolist()
        # Merge sort's own bound, and the rounder one the docstring states.
        assert found.calls <= n * ceil(log2(n)) - 2 ** ceil(log2(n)) + 1 <= n * log2(n)
    assert spearmanr(found.scores, quality).statistic == pytest.approx(1.0)
    inverse = pb.OrderOfItems(found.items, found.ranks - 1)  # the fault would be seen
    assert abs(spearmanr(inverse.scores, quality).statistic) < 0.4


def test_hand_computed():
    """Merge (Ada, Ben) with (Cleo, Dan), each list sorted first."""
    p = {("Ada", "Ben"): 0.9, ("Cleo", "Dan"): 0.2, ("Ada", "Dan"): 0.7, ("Ben", "Dan"): 0.4}
    p |= {("Ben", "Cleo"): 0.6}
    judge = Recorder(p)
    found = pb.pairs_ranking(judge, ["Ada", "Ben", "Cleo", "Dan"], seed=None)
    assert found.order == ["Ada", "Dan", "Ben", "Cleo"]
    assert found.ranks.tolist() == [1, 3, 4, 2]
    assert found.scores.tolist() == [1.5, -0.5, -1.5, 0.5]
    assert found.log_probability == pytest.approx(log(0.9 * 0.8 * 0.7 * 0.6 * 0.6))
    assert found.calls == 5 == len(judge.asked)
    assert found.comparisons().to_table()[["first", "second"]].to_numpy().tolist() == [
        list(pair) for pair in judge.asked
    ]
    np.testing.assert_array_equal(found.p, [0.9, 0.2, 0.7, 0.4, 0.6])


def test_a_beam_takes_back_a_decision_that_was_nearly_a_toss_up():
    """Merging (0, 1) with (2, 3): 2 goes before 0 by a hair, but after 0 all is clearer."""
    p = {(0, 1): 0.95, (2, 3): 0.95, (0, 2): 0.48, (0, 3): 0.6, (1, 2): 0.01, (1, 3): 0.2}

    def rank(**options):
        return pb.pairs_ranking(lambda i, j: p[i, j], range(4), seed=None, **options)

    greedy, wide = rank(), rank(beam=2, window=0.1)
    assert greedy.order == [2, 0, 3, 1]
    assert wide.order == [0, 2, 3, 1]
    assert wide.calls > greedy.calls
    assert rank(beam=2, window=0.01).order == greedy.order  # 0.48 lies outside


def test_no_question_is_asked_twice_and_calls_are_bounded():
    for n, beam, both in [(16, 1, False), (16, 5, False), (9, 50, True), (16, 1, True)]:
        judge = Recorder(expit(np.random.default_rng(n + beam).standard_normal((n, n))))
        found = pb.pairs_ranking(judge, range(n), beam=beam, window=0.5, both_orders=both)
        assert len(set(judge.asked)) == len(judge.asked) == found.calls
        assert found.pairs.tolist() == [list(pair) for pair in judge.asked]
        most = n * log2(n) if beam == 1 else n * (n - 1) / 2
        assert found.calls <= most * (1 + both)


def test_both_orders_cancel_a_position_bias():
    quality = np.random.default_rng(1).permutation(32).astype(float)
    biased = sure_judge(quality, bias=3.0)
    truth = np.argsort(-quality).tolist()
    assert pb.pairs_ranking(biased, range(32)).order != truth
    assert pb.pairs_ranking(biased, range(32), both_orders=True).order == truth


def test_bad_questions_and_answers_are_named():
    for answer in (1.2, -0.1, float("nan"), None, "A"):
        with pytest.raises(ComparisonError, match=r"'b' \(first\).*'a' \(second\).*\[0, 1\]"):
            pb.pairs_ranking(lambda a, b: answer, ["b", "a"], seed=None)  # noqa: B023


# Expected scores ---------------------------------------------------------------------------------

SCALE = [1, 2, 3, 4, 5]


def test_expectation_by_hand():
    """(1 * 0.1 + 4 * 0.3 + 5 * 0.4) / 0.8, and a fifth of the mass elsewhere."""
    found = pb.expected_score([0.1, 0.0, 0.0, 0.3, 0.4], SCALE)
    assert found.scores == pytest.approx(3.3 / 0.8)
    assert found.mass == pytest.approx(0.8)
    # Why G-Eval is used: both texts get a 4, yet one is closer to a 5.
    p = np.array([[0.0, 0.0, 0.3, 0.6, 0.1], [0.0, 0.0, 0.1, 0.6, 0.3]])
    np.testing.assert_allclose(pb.expected_score(p, SCALE).scores, [3.8, 4.2])
