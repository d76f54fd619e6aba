"""Selection: what every rule promises, uniformity where it can be counted, and fixed streams."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import poe
from poe.choose import selection
from poe.choose.designs import linked, regular
from poe.choose.selection import select_stack

RULES = ["random", "no-repeat", "symmetric", "greedy", "regular"]


def groups(n, pairs):
    """The number of groups that nothing links."""
    if not len(pairs):
        return n
    return len(poe.Comparisons.from_pairs(pairs, [0.5] * len(pairs), items=n).components())


def unordered(pairs):
    return [tuple(sorted(pair)) for pair in np.asarray(pairs).tolist()]


def most(n, rule, both):
    return n * (n - 1) // (1 if rule in ("random", "greedy") and not both else 2)


@given(
    n=st.integers(2, 12),
    rule=st.sampled_from(RULES),
    both=st.booleans(),
    start=st.sampled_from(["chain", "nothing"]),
    seed=st.integers(0, 99),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_every_selection_keeps_its_promises(n, rule, both, start, seed, data):
    both = both or rule == "symmetric"
    calls = 2 if both else 1
    count = calls * data.draw(st.integers(n - 1, most(n, rule, both)))
    options = {"start": start} if rule == "greedy" else {}
    pairs = poe.select(n, count, rule=rule, seed=seed, both_orders=both, **options)
    ordered = {tuple(pair) for pair in pairs.tolist()}
    assert pairs.shape == (count, 2)
    assert len(ordered) == count, "no comparison twice"
    assert all(i != j and 0 <= i < n and 0 <= j < n for i, j in ordered)
    assert groups(n, pairs) == 1
    if both:
        assert all((j, i) in ordered for i, j in ordered)
    if rule != "random":
        new = min(count // calls, n * (n - 1) // 2)
        assert len(set(unordered(ordered))) == new, "new pairs come first"
    if rule == "regular":
        degree = np.bincount(pairs.ravel(), minlength=n)
        assert degree.max() - degree.min() <= calls * (1 + n % 2)


def test_the_streams_are_fixed():
    """Results of the book depend on them: the same seed must draw the same numbers."""
    found = {}
    for rule in RULES:
        sets = [poe.select(16, k, rule=rule, seed=5) for k in (32, 64)]
        sets += [select_stack(7, 16, 32, rule=rule, seed=6), poe.select(250, 1000, rule=rule)]
        found[rule] = hashlib.sha256(b"".join(one.astype("<i8").tobytes() for one in sets))
    assert {rule: digest.hexdigest()[:12] for rule, digest in found.items()} == STREAMS


STREAMS = {
    "random": "b5265c479b8b",
    "no-repeat": "b89c59d260b9",
    "symmetric": "88cececcd72b",
    "greedy": "a38e94769510",
    "regular": "fb1ea2ae5e46",
}


def test_as_sparse_as_possible_never_redraws_for_ever():
    """N - 1 pairs of 200 items: a random set is connected once in an age; a tree is drawn."""
    assert groups(200, poe.select(200, 199, rule="no-repeat", seed=1)) == 1
    for rule in ("random", "no-repeat", "symmetric"):
        pairs = poe.select(3500, 7000, rule=rule, seed=1)
        assert len({tuple(pair) for pair in pairs.tolist()}) == 7000
        assert groups(3500, pairs) == 1
    assert len(np.unique(poe.select(301, 151, seed=1, connected=False))) == 301


@pytest.mark.parametrize(
    "limits", [{}, {"_REDRAWS": 0}, {"_LISTED": 0}, {"_LISTED": 0, "_REDRAWS_LARGE": 1}]
)
def test_sets_are_uniform_where_they_can_be_counted(limits, monkeypatch):
    """The 16 spanning trees of four items, drawn as for few and for many, and as a last resort."""
    for name, limit in limits.items():
        monkeypatch.setattr(selection, name, limit)
    count = {}
    for draw in select_stack(2000, 4, 3, rule="no-repeat", seed=2):
        tree = tuple(sorted(unordered(draw)))
        count[tree] = count.get(tree, 0) + 1
    assert len(count) == 16
    assert chisquare(list(count.values())).pvalue > 1e-4
    favoured = np.array(list(count.values()))  # negative control: one tree by half
    favoured[0] += 90
    assert chisquare(favoured).pvalue < 1e-4


def test_the_order_shown_is_fair():
    draws = select_stack(500, 6, 10, rule="no-repeat", seed=4)
    share = (draws[..., 0] < draws[..., 1]).mean()
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(5000)


def test_what_cannot_be_is_refused():
    for message, options in {
        "allow 5 .the fewest that link them all. to 30": {"count": 4},
        "count must be even": {"count": 11, "rule": "symmetric"},
        "allow 10": {"count": 8, "rule": "symmetric"},
        "'regular', 6 items allow 5": {"count": 16, "rule": "regular"},
        "would take 19.2 GB.*rule='regular'": {
            "count": 60_000,
            "n_items": 20_000,
            "rule": "greedy",
        },
    }.items():
        with pytest.raises(ValueError, match=message):
            poe.select(**{"n_items": 6} | options)


# Designs without a search ------------------------------------------------------------------------


@given(n=st.integers(2, 60), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_regular_design_keeps_its_promises(n, seed, data):
    count = data.draw(st.integers(0, n * (n - 1) // 2))
    pairs = regular(n, count, seed=seed)
    assert pairs.shape == (count, 2)
    assert len(set(unordered(pairs))) == count, "no pair twice"
    degree = np.bincount(pairs.ravel(), minlength=n)
    assert degree.max() - degree.min() <= 1 + n % 2
    assert count < n - 1 or groups(n, pairs) == 1


def test_regular_designs_show_in_fair_orders():
    for n in (6, 7, 40, 41):  # all pairs
        first = np.bincount(regular(n, n * (n - 1) // 2)[:, 0], minlength=n)
        assert np.abs(first - (n - 1) / 2).max() <= 0.5
    rings = regular(100, 500, seed=1)  # whole rings: first as often as second
    assert all((np.bincount(side, minlength=100) == 5).all() for side in rings.T)


def test_a_regular_design_needs_no_matrix():
    """Twenty thousand items, where N x N numbers would take gigabytes."""
    pairs = poe.select(20_000, 200_000, rule="regular", seed=2)
    assert len(np.unique(pairs.min(axis=1) * 20_000 + pairs.max(axis=1))) == 200_000
    assert (np.bincount(pairs.ravel()) == 20).all()
    assert groups(20_000, pairs) == 1


def test_links_join_groups_at_their_least_compared_items():
    made, seen = [[0, 1], [0, 2], [0, 3], [5, 6]], set()
    for seed in range(40):
        links = linked(7, made, seed=seed)
        assert len(links) == 2
        assert groups(7, np.vstack([made, links])) == 1
        seen |= set(links.ravel().tolist())
    assert seen == {1, 2, 3, 4, 5, 6}, "never the one compared three times"
