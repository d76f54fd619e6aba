"""What the core does in one place only, and the defects that came of doing it in several."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

import poe
from poe import stack
from poe.choose import greedy
from poe.errors import SeparableError


def decisions(seed=0, n=5, count=60):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.permutation(n)[:2] for _ in range(count)])
    p = (rng.random(count) < 0.5 + 0.1 * (pairs[:, 1] - pairs[:, 0])).astype(float)
    return poe.Comparisons.from_pairs(pairs, p, items=n)


class TestErrorsHaveFields:
    def test_what_is_the_case_apart_from_what_follows_and_of_whom(self):
        c = poe.Comparisons(first=["a", "a", "b"], second=["b", "c", "c"], p=[1, 1, 0.5])
        with pytest.raises(SeparableError) as error:
            poe.fit(c)
        assert error.value.reason == "item 'a' never lost to the rest"
        assert error.value.items == ("a",)
        assert str(error.value).startswith(f"{error.value.reason}, so the scores are infinite")
        again = pickle.loads(pickle.dumps(error.value))
        assert (str(again), again.items) == (str(error.value), ("a",))

    def test_groups_without_a_link_are_named(self):
        c = poe.Comparisons(first=["a", "c", "d"], second=["b", "d", "e"], p=[0.5] * 3)
        for expert in ("bradley-terry", "gaussian", "laplacian"):
            with pytest.raises(poe.DisconnectedError, match="add a comparison") as error:
                poe.fit(c, expert)
            assert error.value.items == ("a", "b")


class TestWhatIsShared:
    def test_fits_that_differ_in_the_covariance_alone_share_their_parts(self):
        fit = poe.fit(decisions(), bias="fit")
        fit.covariance()
        other = fit.with_covariance("curvature")
        assert fit.inverse_curvature is other.inverse_curvature
        assert fit._answers is other._answers

    def test_other_scores_share_nothing(self):
        fit = poe.fit(decisions(), bias="fit")
        before = fit.with_covariance("curvature").covariance()
        moved = dataclasses.replace(fit, scores=2.0 * fit.scores, covariance_choice="curvature")
        assert np.abs(moved.covariance() - before).max() > 1e-3


def test_what_is_solved_in_parts_is_joined_by_name():
    """A field that is added or moved must not change which array is which."""

    @dataclasses.dataclass
    class Out:
        low: np.ndarray
        high: np.ndarray

        def __init__(self, high, low):
            self.high, self.low = high, low

    many = stack.Stack.of(3, np.tile([[0, 1], [1, 2]], (40_000, 1, 1)), np.full((40_000, 2), 0.5))
    assert len(many.p) > stack.block_size(many)
    out = stack.in_blocks(lambda part, *_: Out(part.p + 1, part.p), many, 0.0, 1.0)
    assert (out.low.shape, out.low[0, 0], out.high[0, 0]) == ((40_000, 2), 0.5, 1.5)


def test_a_small_fit_does_not_enter_the_solver_of_large_ones():
    code = """
import sys, numpy as np, poe
rng = np.random.default_rng(0)
c = poe.Comparisons.from_pairs(poe.select(24, 60), rng.random(60), items=24)
fit = poe.fit(c, bias="fit")
fit.bias_se, fit.bias_information, fit.difference_se(0, 1), fit.interval()
print("poe.large" in sys.modules, bool(fit.bias_fitted))
poe.fit(c, solver="sparse")
print("poe.large" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr


@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_information_on_the_bias_is_the_same_by_every_way(prior):
    """By elimination, by the sparse solver, and as the inverse of the joint covariance."""
    from poe.large import LargeGraph

    c = decisions(1, n=9, count=80)
    fit = poe.fit(c, bias="fit", prior=prior, covariance="curvature")
    large = LargeGraph(fit.comparisons)
    lever = np.broadcast_to(fit.tilt, fit.comparisons.p.shape)
    other = large.bias_information(large.laid(fit.stiffness), large.laid(lever))
    assert fit.bias_information == pytest.approx(other, rel=1e-9)
    assert fit.bias_information == pytest.approx(1.0 / fit.bias_se**2, rel=1e-9)


def test_the_best_pair_has_room_and_ties_are_broken_at_random():
    gain = np.array([[0.0, 2.0, 9.0], [2.0, 0.0, 2.0], [9.0, 2.0, 0.0]])
    room = np.ones((3, 3), dtype=bool)
    room[0, 2] = room[2, 0] = False
    rng = np.random.default_rng(0)
    seen = {tuple(map(int, greedy.best_pair(gain, room, rng))) for _ in range(99)}
    assert seen == {(0, 1), (1, 0), (1, 2), (2, 1)}
    i, j = greedy.best_pair(np.stack([gain, gain.T]), np.ones((2, 3, 3), bool), rng)
    assert {*zip(i.tolist(), j.tolist(), strict=True)} <= {(0, 2), (2, 0)}
