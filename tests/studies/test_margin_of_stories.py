"""Margin on one list of stories: halves, what links them, three numbers and three parts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logit

from studies import margin
from studies import margin_of_stories as of
from studies.stories import Answered


def judge(n, gold, *, bias, sharpness=1.0, pairs=None):
    """One that answers by people's scores, and by the place."""
    pairs = np.column_stack(np.triu_indices(n, 1)) if pairs is None else pairs
    gap = sharpness * (gold[pairs[:, 0]] - gold[pairs[:, 1]])
    return Answered(np.arange(n), pairs, np.column_stack([gap + bias, bias - gap]))


def test_halves_are_linked_and_keep_their_answers():
    rng = np.random.default_rng(0)
    n, gold = 60, rng.standard_normal(60)
    pairs = np.sort(rng.integers(n, size=(150, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
    one = judge(n, gold, bias=0.7, pairs=pairs)
    half = rng.random(n) < 0.5
    part, scores = of.linked(one, gold, half)
    m = len(scores)
    assert connected_components(csr_array((np.ones(len(part.pairs)), part.pairs.T), (m, m)))[0] == 1
    inside = pairs[half[pairs].all(axis=1)].T
    inside = csr_array((np.ones(inside.shape[1]), inside), (n, n))
    assert m == np.bincount(connected_components(inside)[1]).max()
    np.testing.assert_array_equal(gold[part.stories], scores)
    gap = scores[part.pairs[:, 0]] - scores[part.pairs[:, 1]]
    np.testing.assert_allclose(part.logits, np.column_stack([gap + 0.7, 0.7 - gap]))


@pytest.mark.parametrize("bias", [0.0, 6.0])
def test_a_judge_that_is_right_gains_only_what_its_bias_costs(bias):
    gold = np.random.default_rng(1).permutation(24) / 4.0
    one = judge(24, gold, bias=bias)
    found = of.three_parts(one, gold, 4, np.random.default_rng(2))
    for prior in ("", of.ADDED):
        gain, soft, cancelled = (found[q + prior] for q in margin.EACH)
        assert gain == pytest.approx(soft + cancelled)
        assert soft + 0.1 >= 0.0  # who says no more than by how much
        assert (cancelled > 0.3) == (bias > 0.0)
    lean, _, _ = of.three(one, gold)
    assert lean == pytest.approx(0.5 if bias else 0.0)


def test_calls_link_all_and_leave_the_rest_to_the_lot():
    pairs = np.column_stack(np.triu_indices(9, 1))
    for seed in range(5):
        chosen = margin.links(pairs, 9, 9, np.random.default_rng(seed))
        assert len(set(chosen.tolist())) == 9
        graph = csr_array((np.ones(9), pairs[chosen].T), (9, 9))
        assert connected_components(graph)[0] == 1


def test_three_numbers_are_those_of_a_set_of_contexts():
    """One context of all pairs, read by `margin.features`."""
    from reproduction.measured_tables import Asked

    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, (1, 12, 12))
    gold = rng.standard_normal((1, 12))
    log_p = np.stack([np.log(p), np.log1p(-p)], axis=-1)
    log_p[:, np.arange(12), np.arange(12)] = np.nan
    whole = Asked("summeval", "coherence", "poe", (0,), log_p, gold)
    pairs = np.column_stack(np.triu_indices(12, 1))
    i, j = pairs.T
    one = Answered(np.arange(12), pairs, np.column_stack([logit(p[0, i, j]), logit(p[0, j, i])]))
    wanted = margin.features(whole, np.ones(1, dtype=bool))
    np.testing.assert_allclose(of.three(one, gold[0]), wanted, rtol=1e-9)
