"""Prompts as a tree of tokens: everything is in it once, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poe.judges.transformers import tree

prompts = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=12)


def prefixes(sequences):
    """All beginnings of all sequences: what a tree that repeats nothing must hold."""
    return {tuple(s[: k + 1]) for s in sequences for k in range(len(s))}


def rebuilt(forest, count):
    """The sequences back again, by walking down."""
    found = [None] * count

    def walk(node, above):
        assert node.start == len(above)
        here = above + node.tokens
        for k in node.ends:
            found[k] = here
        for child in node.children:
            walk(child, here)

    for node in forest:
        walk(node, [])
    return found


@given(prompts)
def test_a_tree_holds_every_beginning_once_and_gives_the_prompts_back(sequences):
    forest = tree.build(sequences)
    assert rebuilt(forest, len(sequences)) == sequences
    assert tree.size(forest) == len(prefixes(sequences))


@given(prompts)
def test_shares_add_up_to_what_is_computed(sequences):
    forest = tree.build(sequences)
    share = tree.shares(forest, len(sequences))
    assert share.sum() == pytest.approx(tree.size(forest))
    assert (share <= np.array([len(s) for s in sequences]) + 1e-9).all()


@given(prompts)
def test_in_a_row_a_token_sees_its_own_beginning_and_nothing_else(sequences):
    flat = tree.flatten(tree.build(sequences))
    for leaf, prompt in zip(flat.leaves, flat.prompts, strict=True):
        seen = [j for j in range(len(flat.ids)) if j <= leaf < flat.last[j]]
        assert flat.ids[seen].tolist() == sequences[prompt]
        assert flat.positions[seen].tolist() == list(range(len(sequences[prompt])))
    assert sorted(flat.prompts) == list(range(len(sequences)))


@given(prompts, st.integers(1, 30))
def test_packing_keeps_order_and_room(sequences, most):
    forest = tree.build(sequences)
    bins = tree.pack(forest, most)
    assert [id(node) for some in bins for node in some] == [id(node) for node in forest]
    assert all(tree.size(some) <= most or len(some) == 1 for some in bins)


def test_shares_by_hand():
    # 1 2 is shared by three prompts, 3 by two of them, the rest belongs to one.
    share = tree.shares(tree.build([[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 7]]), 3)
    np.testing.assert_allclose(share, [2 / 3 + 1 / 2 + 1, 2 / 3 + 1 / 2 + 2, 2 / 3 + 1])


def test_a_prompt_without_tokens_is_refused():
    with pytest.raises(ValueError, match="no tokens"):
        tree.build([[1], []])
