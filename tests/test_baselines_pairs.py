"""PairS: exact without noise, its merges against brute force, its calls counted."""

from itertools import combinations
from math import ceil, log, log2

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

import poe
import poe.baselines as pb
from poe.baselines.pairs import _merge
from poe.errors import ComparisonError


class Recorder:
    """A judge that knows the answers and remembers the questions."""

    def __init__(self, p):
        self.p, self.asked = p, []

    def __call__(self, first, second):
        self.asked.append((first, second))
        return self.p[first, second]


def random_judge(n, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    return Recorder(expit(spread * rng.standard_normal((n, n))))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("seed", [0, 1, None])
def test_without_noise_the_ranking_is_exactly_right(beam, seed):
    """The reference code compares indices of sublists and returns the inverse permutation."""
    for n in range(1, 65):
        quality = np.random.default_rng(n).permutation(n).astype(float)
        judge = poe.judges.SimulatedJudge(quality, sharpness=8.0)
        found = pb.pairs_ranking(judge, beam=beam, seed=seed)
        assert found.order.tolist() == np.argsort(-quality).tolist()
        assert found.ranks.tolist() == (n - quality).astype(int).tolist()
        # Merge sort's own bound, and the rounder one the docstring states.
        assert found.calls <= n * ceil(log2(n)) - 2 ** ceil(log2(n)) + 1 <= n * log2(n)


def test_the_reference_codes_fault_would_be_seen():
    """Ranks read as an order are the inverse permutation, and correlate with nothing."""
    quality = np.random.default_rng(5).permutation(64).astype(float)
    found = pb.pairs_ranking(poe.judges.SimulatedJudge(quality, sharpness=8.0))
    assert spearmanr(found.scores, quality).statistic == pytest.approx(1.0)
    inverse = pb.Ranking(found.items, found.ranks - 1)
    assert abs(spearmanr(inverse.scores, quality).statistic) < 0.4


def test_hand_computed():
    """Merge (Ada, Ben) with (Cleo, Dan), each list sorted first."""
    p = {("Ada", "Ben"): 0.9, ("Cleo", "Dan"): 0.2, ("Ada", "Dan"): 0.7, ("Ben", "Dan"): 0.4}
    p |= {("Ben", "Cleo"): 0.6}
    judge = Recorder(p)
    found = pb.pairs_ranking(judge, ["Ada", "Ben", "Cleo", "Dan"], seed=None)
    assert found.ranking == ["Ada", "Dan", "Ben", "Cleo"]
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
    assert greedy.ranking == [2, 0, 3, 1]
    assert greedy.log_probability == pytest.approx(log(0.95**2 * 0.52 * 0.6 * 0.8))
    assert wide.ranking == [0, 2, 3, 1]
    assert wide.log_probability == pytest.approx(log(0.95**2 * 0.48 * 0.99 * 0.8))
    assert wide.calls > greedy.calls
    assert rank(beam=2, window=0.01).ranking == greedy.ranking  # 0.48 lies outside


def interleavings(a, b):
    """Every merge of two lists and which steps come from the left."""
    for chosen in combinations(range(len(a) + len(b)), len(a)):
        left, right = iter(a), iter(b)
        steps = [k in chosen for k in range(len(a) + len(b))]
        yield [next(left) if step else next(right) for step in steps], steps


def path_probability(steps, a, b, p):
    i, probability = 0, 1.0
    for done, step in enumerate(steps):
        j = done - i
        if i < len(a) and j < len(b):
            probability *= p[a[i], b[j]] if step else 1 - p[a[i], b[j]]
        i += step
    return probability


@pytest.mark.parametrize("sizes", [(1, 1), (1, 4), (3, 3), (4, 5)])
@pytest.mark.parametrize("seed", range(5))
def test_a_full_beam_finds_the_most_probable_merge(sizes, seed):
    p = random_judge(sum(sizes), seed, spread=1.5).p
    a, b = list(range(sizes[0])), list(range(sizes[0], sum(sizes)))
    every = {
        tuple(merged): path_probability(steps, a, b, p) for merged, steps in interleavings(a, b)
    }
    assert sum(every.values()) == pytest.approx(1.0)
    merged, log_p = _merge(a, b, lambda i, j: p[i, j], beam=99, window=0.5)
    assert tuple(merged) == max(every, key=every.get)
    assert log_p == pytest.approx(log(max(every.values())))
    greedy, log_greedy = _merge(a, b, lambda i, j: p[i, j], beam=1, window=0.5)
    assert log_greedy == pytest.approx(log(every[tuple(greedy)]))
    assert log_greedy <= log_p + 1e-12


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize("beam", [1, 3, 50])
def test_no_question_twice_and_calls_bounded(beam, both_orders):
    for seed in range(10):
        n = 3 + 2 * seed
        judge = random_judge(n, seed)
        found = pb.pairs_ranking(
            judge, range(n), beam=beam, window=0.5, both_orders=both_orders, seed=seed
        )
        assert len(set(judge.asked)) == len(judge.asked) == found.calls
        assert [tuple(pair) for pair in found.pairs.tolist()] == judge.asked
        np.testing.assert_array_equal(found.p, [judge.p[pair] for pair in judge.asked])
        assert sorted(found.order) == list(range(n))
        bound = n * log2(n) if beam == 1 else n * (n - 1) / 2
        assert found.calls <= bound * (1 + both_orders)
        if both_orders:
            assert {pair[::-1] for pair in judge.asked} == set(judge.asked)


def test_both_orders_cancel_a_position_bias():
    quality = np.random.default_rng(2).standard_normal(30)
    biased = poe.judges.SimulatedJudge(quality, sharpness=2.0, bias=2.5)
    truth = np.argsort(-quality).tolist()
    assert pb.pairs_ranking(biased, both_orders=True).order.tolist() == truth
    assert pb.pairs_ranking(biased).order.tolist() != truth  # what averaging is for


def test_an_undecided_judge_returns_the_shuffle_not_the_order_given():
    """Else items sorted by the truth are ranked perfectly by a judge that knows nothing."""
    undecided = pb.pairs_ranking(lambda a, b: 0.5, range(40), seed=3)
    assert abs(spearmanr(undecided.scores, np.arange(40)).statistic) < 0.5
    kept = pb.pairs_ranking(lambda a, b: 0.5, range(40), seed=None)
    assert kept.order.tolist() == list(range(40))


def test_relabelling_the_items_relabels_the_ranking():
    judge = random_judge(12, 4)
    names = [f"text-{i}" for i in range(12)]
    by_name = pb.pairs_ranking(lambda a, b: judge.p[names.index(a), names.index(b)], names, beam=3)
    by_position = pb.pairs_ranking(judge, range(12), beam=3)
    assert by_name.ranking == [names[i] for i in by_position.ranking]
    # Starting from another order and telling the sort so gives the same.
    turn = np.random.default_rng(0).permutation(12)
    start = pb.pairs_ranking(judge, turn.tolist(), seed=None)
    again = pb.pairs_ranking(lambda a, b: judge.p[turn[a], turn[b]], range(12), seed=None)
    assert start.ranking == [turn[i] for i in again.ranking]


def test_the_greedy_order_needs_decisions_only():
    judge = random_judge(20, 6)
    sharper = Recorder(expit(3 * np.log(judge.p / (1 - judge.p))))
    decided = Recorder((judge.p > 0.5).astype(float))
    orders = {tuple(pb.pairs_ranking(j, range(20)).ranking) for j in (judge, sharper, decided)}
    assert len(orders) == 1
    assert pb.pairs_ranking(decided, range(20)).log_probability == 0.0


def test_certain_answers_never_make_a_beam_impossible():
    found = pb.pairs_ranking(lambda a, b: float(a < b), range(20), beam=5, window=0.5)
    assert found.ranking == list(range(20))
    assert found.log_probability == 0.0


def test_the_answers_can_be_scored_by_another_method():
    quality = np.random.default_rng(8).standard_normal(16)
    found = pb.pairs_ranking(poe.judges.SimulatedJudge(quality))
    fit = poe.fit(found.comparisons(), expert="bradley-terry")
    # Probabilities without noise hold the differences exactly.
    np.testing.assert_allclose(fit.scores, quality - quality.mean(), atol=1e-6)


def test_one_item_needs_no_call():
    found = pb.pairs_ranking(lambda a, b: 0.5, ["only"])
    assert (found.ranking, found.calls, found.log_probability) == (["only"], 0, 0.0)


@pytest.mark.parametrize("answer", [1.2, -0.1, float("nan"), None, "A"])
def test_a_judge_that_gives_no_probability_is_named_with_its_question(answer):
    with pytest.raises(ComparisonError, match=r"'b' \(first\).*'a' \(second\).*\[0, 1\]"):
        pb.pairs_ranking(lambda a, b: answer, ["b", "a"], seed=None)


def test_bad_arguments():
    with pytest.raises(ComparisonError, match="no items to rank"):
        pb.pairs_ranking(lambda a, b: 0.5, [])
    with pytest.raises(ComparisonError, match="more than once in items: 'a'"):
        pb.pairs_ranking(lambda a, b: 0.5, ["a", "b", "a"])
    with pytest.raises(ValueError, match="give `items`"):
        pb.pairs_ranking(lambda a, b: 0.5)
    with pytest.raises(ValueError, match="beam is a number"):
        pb.pairs_ranking(lambda a, b: 0.5, [1, 2], beam=0)
    with pytest.raises(ValueError, match="window is a distance"):
        pb.pairs_ranking(lambda a, b: 0.5, [1, 2], window=0.7)
    judge = poe.judges.SimulatedJudge([0.0, 1.0, 2.0])
    with pytest.raises(ComparisonError, match="knows 3 items, not 2"):
        pb.pairs_ranking(judge, ["a", "b"])
    with pytest.raises(ValueError, match="knows several"):
        pb.pairs_ranking(poe.judges.SimulatedJudge(np.zeros((2, 3))))
