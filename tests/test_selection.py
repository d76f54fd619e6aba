"""Selection: what every rule promises, uniformity where it can be counted, and termination."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import poe
from poe.selection import select_stack

RULES = ["random", "no-repeat", "symmetric"]


def linked(pairs, n):
    return len(poe.Comparisons.from_pairs(pairs, [0.5] * len(pairs), items=n).components()) == 1


@given(n=st.integers(2, 12), rule=st.sampled_from(RULES), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=150, deadline=None)
def test_every_draw_keeps_its_promises(n, rule, seed, data):
    calls = 2 if rule == "symmetric" else 1
    most = n * (n - 1) if rule == "random" else n * (n - 1) // 2
    count = calls * data.draw(st.integers(n - 1, most))
    pairs = poe.select(n, count, rule=rule, seed=seed)
    ordered = {tuple(pair) for pair in pairs.tolist()}
    assert pairs.shape == (count, 2)
    assert len(ordered) == count, "no comparison twice"
    assert all(i != j and 0 <= i < n and 0 <= j < n for i, j in ordered)
    assert linked(pairs, n)
    if rule == "no-repeat":
        assert not any((j, i) in ordered for i, j in ordered)
    if rule == "symmetric":
        assert all((j, i) in ordered for i, j in ordered)


def test_seed_decides():
    assert np.array_equal(poe.select(9, 20, seed=4), poe.select(9, 20, seed=4))
    assert not np.array_equal(poe.select(9, 20, seed=4), poe.select(9, 20, seed=5))


def test_cover_without_connection():
    draws = select_stack(300, 8, 4, rule="no-repeat", connected=False)
    for pairs in draws:
        assert len(np.unique(pairs)) == 8, "four pairs that touch all eight items"


def test_no_condition_allows_items_to_be_missed():
    draws = select_stack(200, 8, 4, cover=False, connected=False)
    assert min(len(np.unique(pairs)) for pairs in draws) < 8


def test_as_sparse_as_possible_never_redraws_for_ever():
    """N - 1 pairs of 200 items: a random set is connected once in an age; a tree is drawn."""
    pairs = poe.select(200, 199, rule="no-repeat", seed=1)
    assert linked(pairs, 200)
    cover = poe.select(301, 151, seed=1, connected=False)
    assert len(np.unique(cover)) == 301


def test_sets_are_uniform_where_they_can_be_counted():
    """The 16 spanning trees of four items, each as often as the others."""
    pairs = list(combinations(range(4), 2))
    trees = [t for t in combinations(pairs, 3) if linked(np.array(t), 4)]
    assert len(trees) == 16
    count = dict.fromkeys(trees, 0)
    for draw in np.sort(select_stack(8000, 4, 3, rule="no-repeat", seed=2), axis=2):
        count[tuple(sorted(map(tuple, draw.tolist())))] += 1
    assert chisquare(list(count.values())).pvalue > 1e-4
    # Negative control: favouring one tree by a half must show.
    favoured = np.array(list(count.values()))
    favoured[0] += 250
    assert chisquare(favoured).pvalue < 1e-4


def test_the_tree_of_last_resort_is_uniform_too(monkeypatch):
    monkeypatch.setattr("poe.subsets.ROUNDS", 0)
    count = {}
    for draw in np.sort(select_stack(8000, 4, 3, rule="no-repeat", seed=3), axis=2):
        tree = tuple(sorted(map(tuple, draw.tolist())))
        count[tree] = count.get(tree, 0) + 1
    assert len(count) == 16
    assert chisquare(list(count.values())).pvalue > 1e-4


def test_the_order_shown_is_fair():
    draws = select_stack(500, 6, 10, rule="no-repeat", seed=4)
    share = (draws[..., 0] < draws[..., 1]).mean()
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(5000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_items": 6, "count": 4}, "allow 5 .the fewest that link them all. to 30"),
        ({"n_items": 6, "count": 31}, "to 30 comparisons"),
        ({"n_items": 6, "count": 16, "rule": "no-repeat"}, "to 15 comparisons"),
        ({"n_items": 6, "count": 11, "rule": "symmetric"}, "count must be even"),
        ({"n_items": 6, "count": 8, "rule": "symmetric"}, "allow 10"),
        ({"n_items": 6, "count": 2, "connected": False}, "allow 3 .the fewest that cover"),
        ({"n_items": 1, "count": 1}, "at least two items"),
        ({"n_items": 6, "count": 9, "rule": "swiss"}, "rule must be"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        poe.select(**options)
