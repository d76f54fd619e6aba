"""Designs without a search: what they promise at every size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poe
from poe.designs import chain, linked, regular, scattered


def groups(n, pairs):
    if not len(pairs):
        return n
    return len(poe.Comparisons.from_pairs(pairs, [0.5] * len(pairs), items=n).components())


@given(n=st.integers(2, 60), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_regular_design_keeps_its_promises(n, seed, data):
    count = data.draw(st.integers(0, n * (n - 1) // 2))
    pairs = regular(n, count, seed=seed)
    assert pairs.shape == (count, 2)
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == count, "no pair twice"
    degree = np.bincount(pairs.ravel(), minlength=n)
    assert degree.max() - degree.min() <= 1 + n % 2
    if count >= n - 1:
        assert groups(n, pairs) == 1


@pytest.mark.parametrize("n", [6, 7, 40, 41])
def test_all_pairs_are_shown_in_fair_orders(n):
    pairs = regular(n, n * (n - 1) // 2)
    first = np.bincount(pairs[:, 0], minlength=n)
    assert np.abs(first - (n - 1) / 2).max() <= 0.5


def test_whole_rings_show_every_item_first_as_often_as_second():
    pairs = regular(100, 500, seed=1)
    assert (np.bincount(pairs[:, 0], minlength=100) == 5).all()
    assert (np.bincount(pairs[:, 1], minlength=100) == 5).all()


def test_no_matrix_is_needed():
    """Twenty thousand items, where N x N numbers would take gigabytes."""
    pairs = poe.select(20_000, 200_000, rule="regular", seed=2)
    code = pairs.min(axis=1) * 20_000 + pairs.max(axis=1)
    assert len(np.unique(code)) == 200_000
    assert (np.bincount(pairs.ravel()) == 20).all()
    assert groups(20_000, pairs) == 1


def test_rings_are_mended_when_they_repeat_pairs():
    """Just sparse enough for rings: each repeats a few of the pairs taken before."""
    n = 64
    pairs = regular(n, n * n // 16, seed=3)
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs) == 256


def test_seeds_decide():
    a, b, c = (regular(30, 60, seed=s) for s in (4, 4, 5))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_links_join_groups_at_their_least_compared_items():
    made = [[0, 1], [0, 2], [0, 3], [5, 6]]
    seen = set()
    for seed in range(40):
        links = linked(7, made, seed=seed)
        assert len(links) == 2
        assert groups(7, np.vstack([made, links])) == 1
        seen |= set(links.ravel().tolist())
    assert seen == {1, 2, 3, 4, 5, 6}, "never the one compared three times"
    assert linked(3, chain(3)).shape == (0, 2)


def test_links_from_nothing_are_a_path_in_random_order():
    links = linked(30, [], seed=6)
    np.testing.assert_array_equal(links[1:, 0], links[:-1, 1])
    assert len(np.unique(links)) == 30
    assert not np.array_equal(links, chain(30))


def test_more_than_all_pairs_are_refused():
    with pytest.raises(ValueError, match="6 items have 15 pairs; 16 were asked for"):
        regular(6, 16)


# Random sets at large N ------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 8, 13])
def test_numbers_decode_to_every_pair_once(n):
    from poe.designs import _decoded

    every = _decoded(np.arange(n * (n - 1)), n, ordered=True)
    assert {tuple(p) for p in every.tolist()} == {(i, j) for i in range(n) for j in range(n)} - {
        (i, i) for i in range(n)
    }
    half = _decoded(np.arange(n * (n - 1) // 2), n, ordered=False)
    assert {tuple(p) for p in half.tolist()} == {(i, j) for j in range(n) for i in range(j)}


@pytest.mark.parametrize("rule", ["random", "no-repeat", "symmetric"])
@pytest.mark.parametrize("count", [3500 * 2, 3500 * 12])
def test_large_random_sets_keep_the_promises_of_small_ones(rule, count):
    """Below log N / 2 comparisons an item a random set is never connected: a tree is drawn."""
    pairs = poe.select(3500, count, rule=rule, seed=1)
    ordered = {tuple(pair) for pair in pairs.tolist()}
    assert len(ordered) == len(pairs) == count
    assert groups(3500, pairs) == 1
    reversed_too = sum((j, i) in ordered for i, j in ordered)
    if rule != "random":
        assert reversed_too == (count if rule == "symmetric" else 0)


def test_large_and_small_sets_have_the_same_law(monkeypatch):
    """Both ways at four items: how often each of the six pairs is drawn into a tree."""
    from scipy.stats import chisquare

    def counts(ordered):
        found = np.zeros((4, 4))
        for seed in range(1500):
            pairs = scattered(4, 3, ordered=ordered, cover=True, connected=True, seed=seed)
            np.add.at(found, (pairs[:, 0], pairs[:, 1]), 1)
        return found[~np.eye(4, dtype=bool)] if ordered else found[np.triu_indices(4, 1)]

    assert chisquare(counts(ordered=True)).pvalue > 1e-3
    assert chisquare(counts(ordered=False)).pvalue > 1e-3
    monkeypatch.setattr("poe.designs._REDRAWS", 1)
    assert chisquare(counts(ordered=True)).pvalue > 1e-3


def test_a_large_cover_touches_every_item():
    pairs = poe.select(4001, 2100, rule="no-repeat", connected=False)
    assert len(np.unique(pairs)) == 4001
