"""The most likely order against all orders, by hand, and against the equation as printed."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

import poe
from poe.errors import DisconnectedError
from reproduction.baselines.likelihood import likelihood_ranking
from tests.helpers import random_comparisons


def log_likelihood(c, order):
    """Appendix B, one comparison at a time: eq. 12 as derived."""
    place = {item: k for k, item in enumerate(order)}
    total = 0.0
    for i, j, p, w in zip(c.first, c.second, c.p, c.weight, strict=True):
        total += w * np.log(p if place[i] < place[j] else 1 - p)
    return total


@pytest.mark.parametrize("n", [2, 3, 5, 6, 7])
def test_likelihood_against_every_permutation(n):
    for seed in range(4):
        c = random_comparisons(seed, n=n, count=min(2 * n, n * (n - 1)), spread=0.3)
        value = {order: log_likelihood(c, order) for order in permutations(range(n))}
        found = likelihood_ranking(c)
        assert value[tuple(found.positions)] == pytest.approx(max(value.values()))


def test_likelihood_by_hand():
    """A circle A > B > C > A: the weakest of the three opinions gives way."""
    c = poe.Comparisons(first=["A", "B", "C"], second=["B", "C", "A"], p=[0.9, 0.8, 0.6])
    found = likelihood_ranking(c)
    assert found.order == ["A", "B", "C"]
    assert log_likelihood(c, found.positions) == pytest.approx(np.log(0.9 * 0.8 * 0.4))
    chain = likelihood_ranking(poe.Comparisons(first=["A", "C"], second=["B", "B"], p=[0.9, 0.2]))
    assert chain.order == ["A", "B", "C"]


def test_the_papers_equation_12_as_printed_chooses_another_order():
    """With a sum, each factor is 1 + p or 2 - p: not a probability, and another maximum."""
    circle = {"first": ["A", "B", "C"], "second": ["B", "C", "A"]}
    c = poe.Comparisons(**circle, p=[0.999, 0.9, 0.9], weight=[1, 1.9, 1.9])

    def printed(order):
        place = {item: k for k, item in enumerate(order)}
        z = np.array([place[i] < place[j] for i, j in c.pairs.tolist()])
        return (c.weight * np.log(np.where(z, c.p + 1.0, 1.0 + (1.0 - c.p)))).sum()

    right = likelihood_ranking(c)
    as_printed = max(permutations(range(3)), key=printed)
    assert printed(as_printed) > 0  # the logarithm of a "probability"
    assert tuple(right.positions) != as_printed
    assert log_likelihood(c, right.positions) > log_likelihood(c, as_printed)


def test_a_hidden_order_of_many_items_is_found():
    """40 items in circles of neighbours: groups are solved apart, and the search is as good."""
    rng = np.random.default_rng(2)
    pairs = np.array(list(combinations(range(40), 2)))
    d = 0.1 * (pairs[:, 1] - pairs[:, 0]) + 0.15 * rng.standard_normal(len(pairs))
    turn = rng.permutation(40)
    c = poe.Comparisons.from_pairs(turn[pairs], expit(d), items=40)
    found = likelihood_ranking(c, restarts=3)
    assert log_likelihood(c, found.positions) >= log_likelihood(c, turn) - 1e-9
    assert spearmanr(found.ranks[turn], np.arange(40)).statistic > 0.99
    sharper = poe.Comparisons.from_pairs(turn[pairs], expit(3 * d), items=40)
    assert likelihood_ranking(sharper, restarts=3).order == found.order


def test_certain_answers_leave_an_order_and_parts_without_a_link_none():
    certain = poe.Comparisons(first=["A", "B"], second=["B", "C"], p=[1.0, 0.3])
    assert likelihood_ranking(certain).order in (["A", "C", "B"], ["C", "A", "B"])
    apart = poe.Comparisons(first=["A", "C"], second=["B", "D"], p=[0.8, 0.7])
    with pytest.raises(DisconnectedError, match="'C', 'D'"):
        likelihood_ranking(apart)
