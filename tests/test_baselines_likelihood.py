"""Likelihood rankings against every permutation, and the ordering problem beneath them."""

from itertools import permutations

import numpy as np
import pytest

import poe
import poe.baselines as pb
from poe.errors import ComparisonError, DisconnectedError
from tests.helpers import random_comparisons


def log_likelihood(c, order, *, right=None, false_alarm=None):
    """Appendix B, one comparison at a time: eq. 12 as derived, or eq. 13 for decisions."""
    place = {item: k for k, item in enumerate(order)}
    total = 0.0
    for i, j, p, w in zip(c.first, c.second, c.p, c.weight, strict=True):
        z = place[i] < place[j]
        if right is None:
            total += w * np.log(p if z else 1 - p)
        else:
            says_yes = right if z else false_alarm
            y = (1 + np.sign(p - 0.5)) / 2
            total += w * (y * np.log(says_yes) + (1 - y) * np.log(1 - says_yes))
    return total


def best_of_all(c, **given):
    value = {order: log_likelihood(c, order, **given) for order in permutations(range(c.n_items))}
    top = max(value.values())
    return top, [order for order, v in value.items() if v > top - 1e-9]


@pytest.mark.parametrize("n", [2, 3, 5, 6, 7])
@pytest.mark.parametrize("seed", range(4))
def test_likelihood_against_every_permutation(n, seed):
    c = random_comparisons(seed, n=n, count=min(2 * n, n * (n - 1)), spread=0.3)
    top, best = best_of_all(c)
    found = pb.likelihood_ranking(c)
    assert tuple(found.order) in best
    assert found.log_likelihood == pytest.approx(top)
    assert found.optimal
    assert found.unique == (len(best) == 1)


@pytest.mark.parametrize("first_rate", [0.5, 0.35, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_approximate_likelihood_against_every_permutation(first_rate, seed):
    c = random_comparisons(seed, n=6, count=14, spread=0.3)
    found = pb.approximate_likelihood_ranking(c, accuracy=0.7, first_rate=first_rate)
    top, best = best_of_all(c, right=0.7 + first_rate - 0.5, false_alarm=first_rate - 0.7 + 0.5)
    assert tuple(found.order) in best
    assert found.log_likelihood == pytest.approx(top)
    assert found.optimal
    assert found.unique == (len(best) == 1)


def test_hand_computed():
    """A cycle A > B > C > A: the weakest of the three opinions gives way."""
    c = poe.Comparisons(first=["A", "B", "C"], second=["B", "C", "A"], p=[0.9, 0.8, 0.6])
    found = pb.likelihood_ranking(c)
    assert found.ranking == ["A", "B", "C"]
    assert found.log_likelihood == pytest.approx(np.log(0.9 * 0.8 * 0.4))
    assert found.agreement == pytest.approx(2 / 3)
    assert found.unique
    hard = pb.approximate_likelihood_ranking(c)
    assert not hard.unique  # as decisions all three opinions are alike
    assert hard.accuracy == pytest.approx(2 / 3)
    assert hard.log_likelihood == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3))


def test_the_papers_equation_12_as_printed_chooses_another_ranking():
    """With a sum, each factor is 1 + p or 2 - p: not a probability, and another maximum."""
    cycle = {"first": ["A", "B", "C"], "second": ["B", "C", "A"]}
    c = poe.Comparisons(**cycle, p=[0.999, 0.9, 0.9], weight=[1, 1.9, 1.9])

    def printed(order):
        place = {item: k for k, item in enumerate(order)}
        z = np.array([place[i] < place[j] for i, j in c.pairs.tolist()])
        return (c.weight * np.log(np.where(z, c.p + 1.0, 1.0 + (1.0 - c.p)))).sum()

    right = pb.likelihood_ranking(c)
    as_printed = max(permutations(range(3)), key=printed)
    assert printed(as_printed) > 0  # the logarithm of a "probability"
    assert tuple(right.order) != as_printed
    assert log_likelihood(c, right.order) > log_likelihood(c, as_printed)


@pytest.mark.parametrize("seed", range(5))
def test_kemeny_whatever_the_accuracy(seed):
    """Without a position bias the fewest decisions are contradicted, and accuracy is moot."""
    c = random_comparisons(seed, n=6, count=15, hard=True, spread=0.2)
    first, second, win = c.first, c.second, c.p > 0.5

    def satisfied(order):
        place = np.argsort(order)
        return ((place[first] < place[second]) == win).mean()

    most = max(satisfied(order) for order in permutations(range(6)))
    for accuracy in (None, 0.55, 0.9):
        found = pb.approximate_likelihood_ranking(c, accuracy=accuracy)
        assert found.agreement == pytest.approx(most)
        assert satisfied(found.order) == pytest.approx(most)
    # And the agreement is the accuracy of largest likelihood.
    given = [
        pb.approximate_likelihood_ranking(c, accuracy=a).log_likelihood
        for a in np.linspace(0.51, 0.99, 49)
    ]
    best = pb.approximate_likelihood_ranking(c)
    assert best.accuracy == most
    assert best.log_likelihood >= max(given) - 1e-12
    assert best.log_likelihood == pytest.approx(max(given), abs=0.05)


@pytest.mark.parametrize(("first_rate", "winner"), [(0.7, "B"), (0.3, "A")])
def test_a_decision_against_the_favoured_position_weighs_more(first_rate, winner):
    """A, always shown first, won once and lost once."""
    c = poe.Comparisons(first=["A", "A"], second=["B", "B"], p=[1, 0])
    assert not pb.approximate_likelihood_ranking(c).unique
    found = pb.approximate_likelihood_ranking(c, accuracy=0.7, first_rate=first_rate)
    assert found.ranking[0] == winner
    assert found.unique


@pytest.mark.parametrize("seed", range(5))
def test_relabelling(seed):
    c = random_comparisons(seed, n=10, count=40, spread=0.3)
    turn = np.random.default_rng(seed).permutation(10)
    turned = poe.Comparisons.from_pairs(turn[c.pairs], c.p, items=10)
    for rank in (pb.likelihood_ranking, pb.approximate_likelihood_ranking):
        found, again = rank(c), rank(turned)
        assert again.log_likelihood == pytest.approx(found.log_likelihood)
        if found.unique:
            assert again.order.tolist() == turn[found.order].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_monotone_transformations(seed):
    c = random_comparisons(seed, n=9, count=40, spread=0.5)
    logit = np.log(c.p / (1 - c.p))

    def moved(z):
        return poe.Comparisons.from_pairs(c.pairs, 1 / (1 + np.exp(-z)), items=c.items)

    plain = pb.likelihood_ranking(c)
    assert pb.likelihood_ranking(moved(2.5 * logit)).order.tolist() == plain.order.tolist()
    assert pb.likelihood_ranking(moved(-logit)).order.tolist() == plain.order[::-1].tolist()
    # Decisions do not see any transformation that keeps 1/2.
    decided = pb.approximate_likelihood_ranking(c)
    cubed = pb.approximate_likelihood_ranking(moved(logit**3))
    assert cubed.order.tolist() == decided.order.tolist()


def test_consistent_comparisons_give_the_truth_at_any_size():
    """Components of one item each: proven optimal at N = 300 without any search."""
    quality = np.random.default_rng(0).standard_normal(300)
    judge = poe.judges.SimulatedJudge(quality, bias=0.0)
    c = judge.compare(np.argwhere(~np.eye(300, dtype=bool)))
    for found in (pb.likelihood_ranking(c), pb.approximate_likelihood_ranking(c)):
        assert found.order.tolist() == np.argsort(-quality).tolist()
        assert found.optimal
        assert found.unique
        assert found.agreement == 1.0


def test_ties_and_weights():
    tie = poe.Comparisons(first=["A", "B"], second=["B", "C"], p=[0.5, 0.9])
    found = pb.approximate_likelihood_ranking(tie)
    assert found.agreement == 0.75
    assert not found.unique
    both = poe.Comparisons(first=["A", "A"], second=["B", "B"], p=[0.9, 0.3])
    heavy = poe.Comparisons.from_pairs(both.pairs, both.p, items=both.items, weight=[1, 3])
    assert pb.likelihood_ranking(both).ranking == ["A", "B"]
    assert pb.likelihood_ranking(heavy).ranking == ["B", "A"]
    thrice = poe.Comparisons.from_pairs(
        heavy.pairs[[0, 1, 1, 1]], heavy.p[[0, 1, 1, 1]], items=heavy.items
    )
    assert pb.likelihood_ranking(thrice).log_likelihood == pytest.approx(
        pb.likelihood_ranking(heavy).log_likelihood
    )


class TestLinearOrdering:
    def value(self, gain, order):
        return np.triu(gain[np.ix_(order, order)], 1).sum()

    def strong(self, n, seed):
        """Gains whose majority graph is one strong component."""
        return np.random.default_rng(seed).standard_normal((n, n))

    @pytest.mark.parametrize("seed", range(5))
    def test_every_permutation(self, seed):
        gain = self.strong(7, seed)
        found = pb.linear_ordering(gain)
        top = max(self.value(gain, list(order)) for order in permutations(range(7)))
        assert found.value == pytest.approx(top) == pytest.approx(self.value(gain, found.order))
        assert found.optimal

    @pytest.mark.parametrize("seed", range(8))
    def test_local_search_reaches_the_optimum_of_small_problems(self, seed):
        gain = self.strong(14, seed)
        exact = pb.linear_ordering(gain)
        found = pb.linear_ordering(gain, exact_up_to=1)
        assert not found.optimal
        assert not found.unique
        assert found.value == pytest.approx(exact.value)

    def test_local_search_leaves_no_item_and_no_short_block_to_move(self):
        gain = self.strong(40, 0)
        found = pb.linear_ordering(gain, restarts=0)
        assert not found.optimal
        order = found.order.tolist()
        for length in range(1, 9):
            for a in range(40 - length + 1):
                block, rest = order[a : a + length], order[:a] + order[a + length :]
                for target in range(len(rest) + 1):
                    moved = rest[:target] + block + rest[target:]
                    assert self.value(gain, moved) <= found.value + 1e-9

    def test_more_restarts_are_never_worse_and_seeds_repeat(self):
        gain = self.strong(45, 1)
        few, many = (pb.linear_ordering(gain, restarts=r, seed=7) for r in (0, 12))
        assert many.value >= few.value
        again = pb.linear_ordering(gain, restarts=12, seed=7)
        assert again.order.tolist() == many.order.tolist()

    def test_components_are_solved_apart(self):
        """Three cycles of 15 below one another: 45 items, and still proven."""
        rng = np.random.default_rng(2)
        gain = np.triu(np.full((45, 45), 5.0), 1)
        for start in (0, 15, 30):
            block = slice(start, start + 15)
            gain[block, block] = rng.standard_normal((15, 15))
        turn = rng.permutation(45)
        found = pb.linear_ordering(gain[np.ix_(turn, turn)])
        assert found.optimal
        assert [set(turn[found.order[k : k + 15]]) for k in (0, 15, 30)] == [
            set(range(k, k + 15)) for k in (0, 15, 30)
        ]
        apart = sum(pb.linear_ordering(gain[k : k + 15, k : k + 15]).value for k in (0, 15, 30))
        assert found.value == pytest.approx(apart + 3 * 15 * 15 * 5.0)

    def test_shifting_both_directions_of_a_pair_changes_nothing_but_the_value(self):
        gain = self.strong(9, 3)
        both = np.abs(self.strong(9, 4))
        both = both + both.T
        plain, moved = pb.linear_ordering(gain), pb.linear_ordering(gain + both)
        assert plain.order.tolist() == moved.order.tolist()
        assert moved.value - plain.value == pytest.approx(np.triu(both, 1).sum())

    @pytest.mark.parametrize("seed", range(10))
    def test_unique_says_whether_another_order_is_as_good(self, seed):
        gain = np.random.default_rng(seed).integers(-1, 2, (6, 6)).astype(float)
        found = pb.linear_ordering(gain)
        values = np.array([self.value(gain, list(o)) for o in permutations(range(6))])
        assert found.value == values.max()
        assert found.unique == ((values == values.max()).sum() == 1)

    def test_unique_orders_do_occur_in_that_test(self):
        unique = []
        for seed in range(10):
            gain = np.random.default_rng(seed).integers(-1, 2, (6, 6)).astype(float)
            unique.append(pb.linear_ordering(gain).unique)
        chain = pb.linear_ordering(np.triu(np.ones((6, 6))))
        assert chain.unique
        assert not all(unique)

    def test_trivial_sizes(self):
        assert pb.linear_ordering(np.zeros((1, 1))).order.tolist() == [0]
        nothing = pb.linear_ordering(np.zeros((4, 4)))
        assert (nothing.order.tolist(), nothing.value, nothing.unique) == ([0, 1, 2, 3], 0, False)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="square matrix"):
            pb.linear_ordering(np.zeros((2, 3)))
        with pytest.raises(ValueError, match=r"gain\[0, 1\] is inf"):
            pb.linear_ordering(np.array([[0, np.inf], [0, 0]]))
        with pytest.raises(ValueError, match=r"exact_up_to must lie in 1\.\.18"):
            pb.linear_ordering(np.zeros((2, 2)), exact_up_to=30)


class TestBadInput:
    def test_certain_answers_are_named(self):
        c = poe.Comparisons(first=["A", "B"], second=["B", "C"], p=[1.0, 0.3])
        with pytest.raises(ComparisonError, match=r"row 0 \('A' against 'B'\).*floor=1e-6"):
            pb.likelihood_ranking(c)
        found = pb.likelihood_ranking(c, floor=0.01)
        assert found.log_likelihood == pytest.approx(np.log(0.99 * 0.7))
        with pytest.raises(ValueError, match="floor must lie"):
            pb.likelihood_ranking(c, floor=0.5)

    def test_disconnected_items_are_named(self):
        c = poe.Comparisons(first=["A", "C"], second=["B", "D"], p=[0.8, 0.7])
        for rank in (pb.likelihood_ranking, pb.approximate_likelihood_ranking):
            with pytest.raises(DisconnectedError, match="'C', 'D'"):
                rank(c)

    def test_impossible_statistics(self):
        c = poe.Comparisons(first=["A"], second=["B"], p=[0.8])
        rank = pb.approximate_likelihood_ranking
        with pytest.raises(ValueError, match="accuracy must lie between"):
            rank(c, accuracy=0.5)
        with pytest.raises(ValueError, match=r"with a rate between 0\.3 and 0\.7"):
            rank(c, accuracy=0.8, first_rate=0.9)
        with pytest.raises(ValueError, match="give accuracy= as well"):
            rank(c, first_rate=0.4)
