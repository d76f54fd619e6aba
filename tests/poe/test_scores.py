"""Win-ratio, average probability and Bradley-Terry against hand counts and other programs."""

import numpy as np
import pytest

import poe
from poe.errors import DisconnectedError, SeparableError
from poe.scores import add_prior
from poe.stack import Stack
from tests.helpers import random_comparisons
from tests.poe.oracles import logistic


class TestCounts:
    # a beats b twice, loses to c, ties with d; b beats c narrowly.
    hand = poe.Comparisons(
        first=["a", "b", "c", "a", "b"],
        second=["b", "a", "a", "d", "c"],
        p=[0.9, 0.2, 0.7, 0.5, 0.6],
    )

    def test_win_ratio_by_hand(self):
        np.testing.assert_allclose(poe.win_ratio(self.hand), [2.5 / 4, 1 / 3, 1 / 2, 0.5])

    def test_average_probability_by_hand(self):
        expected = [(0.9 + 0.8 + 0.3 + 0.5) / 4, (0.1 + 0.2 + 0.6) / 3, (0.7 + 0.4) / 2, 0.5]
        np.testing.assert_allclose(poe.average_probability(self.hand), expected)

    def test_weights_are_multiplicities(self):
        c = random_comparisons(1)
        weight = 1.0 + np.arange(len(c)) % 3
        weighted = poe.Comparisons.from_pairs(c.pairs, c.p, items=9, weight=weight)
        repeated = c.take(np.repeat(np.arange(len(c)), weight.astype(int)))
        for score in (poe.win_ratio, poe.average_probability):
            np.testing.assert_allclose(score(weighted), score(repeated))
        np.testing.assert_allclose(
            poe.bradley_terry(weighted, prior=0.1), poe.bradley_terry(repeated, prior=0.1)
        )

    def test_uncompared_item_is_named(self):
        c = poe.Comparisons(first=["a"], second=["b"], p=[0.7], items=["a", "b", "z"])
        for score in (poe.win_ratio, poe.average_probability, poe.bradley_terry):
            with pytest.raises(poe.ComparisonError, match="never compared: 'z'"):
                score(c)


class TestBradleyTerry:
    @pytest.mark.needs("scikit-learn")
    @pytest.mark.parametrize("prior", [1 / 8, 0.5])
    def test_against_logistic_regression(self, prior):
        c = random_comparisons(2)
        ours = poe.bradley_terry(c, prior=prior)
        np.testing.assert_allclose(ours, logistic(add_prior(c.hard(), prior)), atol=2e-6)

    @pytest.mark.needs("choix")
    def test_against_choix(self):
        import choix

        c = random_comparisons(3, count=72, hard=True, spread=0.3)
        decisions = [(i, j) if p == 1 else (j, i) for (i, j), p in zip(c.pairs, c.p, strict=True)]
        theirs = choix.opt_pairwise(9, decisions, method="Newton-CG", tol=1e-12)
        np.testing.assert_allclose(poe.bradley_terry(c), theirs - theirs.mean(), atol=1e-5)

    @pytest.mark.parametrize("on", ["all", "compared"])
    @pytest.mark.parametrize("seed", range(2))
    def test_zermelo_and_newton_reach_the_same_optimum(self, seed, on):
        c = random_comparisons(seed)
        newton = poe.bradley_terry(c, prior=1 / 8, prior_on=on)
        zermelo = poe.bradley_terry(c, prior=1 / 8, prior_on=on, method="zermelo", tol=1e-12)
        np.testing.assert_allclose(newton, zermelo, atol=1e-8)

    def test_two_items_by_hand(self):
        """Three wins to one: s_a - s_b = log 3, halved about zero."""
        c = poe.Comparisons(first=["a"] * 4, second=["b"] * 4, p=[1, 1, 1, 0])
        np.testing.assert_allclose(
            poe.bradley_terry(c), [np.log(3) / 2, -np.log(3) / 2], rtol=1e-12
        )

    def test_prior_by_hand(self):
        """One win with half a win each way: odds 1.5 to 0.5."""
        c = poe.Comparisons(first=["a"], second=["b"], p=[0.8])
        np.testing.assert_allclose(poe.bradley_terry(c, prior=0.5)[0], np.log(3) / 2)

    def test_a_group_above_the_rest_is_named(self):
        """Nobody won everything, yet a and b as a group never lost to c and d."""
        c = poe.Comparisons(
            first=["a", "b", "c", "d", "a"], second=["b", "a", "d", "c", "c"], p=[1, 1, 1, 1, 1]
        )
        with pytest.raises(poe.SeparableError, match="items 'a', 'b' never lost to the rest"):
            poe.bradley_terry(c)


class TestStacks:
    def test_a_stack_gives_what_each_problem_gives(self):
        sets = [random_comparisons(seed) for seed in range(6)]
        stack = Stack.of(9, np.stack([c.pairs for c in sets]), np.stack([c.p for c in sets]))
        for score in (
            poe.win_ratio,
            poe.average_probability,
            lambda c: poe.bradley_terry(c, prior=0.2),
            lambda c: poe.bradley_terry(c, prior=0.2, prior_on="compared"),
        ):
            single = np.stack([score(c) for c in sets])
            np.testing.assert_allclose(score(stack), single, atol=1e-9)


def test_a_stack_is_checked_as_its_problems_are():
    pairs = np.array([[[0, 1], [1, 2], [2, 0]]] * 2)
    fair, won = np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
    stack = poe.Stack.of(3, pairs, np.stack([fair, won]))
    with pytest.raises(SeparableError, match="never"):
        poe.bradley_terry(stack)
    assert np.isfinite(poe.bradley_terry(stack, prior=0.5)).all()
    apart = poe.Stack.of(4, np.array([[[0, 1], [1, 0], [2, 3], [3, 2]]]), np.ones((1, 4)))
    for options in ({}, {"prior": 0.5, "prior_on": "compared"}):
        with pytest.raises(DisconnectedError):
            poe.bradley_terry(apart, **options)
