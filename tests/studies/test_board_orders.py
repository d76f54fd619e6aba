"""One order or both on a leaderboard: the curves by enumeration, the law on a judge made for it."""

from itertools import combinations

import numpy as np
import pytest

from judging.simulated import SimulatedJudge
from reproduction.settings import Settings
from studies import board_orders, orders


def test_curves_are_the_variance_of_a_mean_of_a_sample_without_replacement():
    """Two systems: the score is a mean over prompts. All samples of 2 pairs of 6 are enumerated."""
    rng = np.random.default_rng(0)
    items, place = rng.standard_normal(6), rng.standard_normal(6)
    items, place = items - items.mean(), place - place.mean()
    a, z = (x @ x / 5 for x in (items, place))
    c, calls = (a - z) / (a + z), 4
    curve = board_orders.curves(c, calls, 6)
    both = [items[list(some)].mean() ** 2 for some in combinations(range(6), 2)]
    assert np.mean(both) / (a + z) == pytest.approx(curve["both"][1][-1])
    one = [
        (items[list(some)].mean() + (signs * place[list(some)]).mean()) ** 2
        for some in combinations(range(6), 4)
        for signs in 2.0 * (np.arange(16)[:, None] >> np.arange(4) & 1) - 1.0
    ]
    # With the order by lot an error about the place has its whole square, not that about a mean.
    assert np.mean(one) / (a + z) == pytest.approx(
        curve["one"][1][-1] + (place @ place / 6 - z) / calls / (a + z)
    )


def test_least_squares_by_hand():
    """0 over 1 by 1, 1 over 2 by 2, 0 over 2 by 3; a bias takes what the place adds to each."""
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    assert board_orders.scores(pairs, np.array([1.0, 2.0, 3.0]), 3) == pytest.approx(
        [4 / 3, 1 / 3, -5 / 3]
    )
    twice = np.vstack([pairs, pairs])
    said = np.array([1.0, 2.0, 3.0] * 2) + 0.5 * np.repeat([1.0, -1.0], 3)
    places = np.repeat([1.0, -1.0], 3)
    assert board_orders.scores(twice, said, 3, places) == pytest.approx([4 / 3, 1 / 3, -5 / 3])


@pytest.mark.parametrize("c", [-0.8, 0.6])
def test_the_law_holds_for_a_judge_made_by_it_and_fails_for_another_c(c):
    rng = np.random.default_rng(1)
    n, prompts = 5, 120
    quality = np.linspace(-1, 1, n)
    e = rng.standard_normal((prompts, n, n))
    e = np.sqrt((1 + c) / 2) * (e - e.swapaxes(1, 2)) / np.sqrt(2) + np.sqrt((1 - c) / 2) * (
        (f := rng.standard_normal((prompts, n, n))) + f.swapaxes(1, 2)
    ) / np.sqrt(2)
    p = 1 / (1 + np.exp(-(quality[:, None] - quality[None, :] + 0.3 + e)))
    p[:, np.arange(n), np.arange(n)] = np.nan
    cell = orders.Cell("made", "none", "", "", p, "simulated", c)
    row = board_orders.row(cell, 200, Settings(draws=60))
    assert row["c"] == pytest.approx(c, abs=0.08)
    low, high = orders.WITHIN
    assert low < row["measured"] / row["exact"] < high
    wrong = board_orders.curves(-c, 200, board_orders.pairs_of(cell))
    assert not low < row["measured"] / (wrong["one"][1][-1] / wrong["both"][1][-1]) < high
    best, worst = ("both", "one") if c < 0 else ("one", "both")
    assert row[f"regret_{best}"] == 0.0
    assert row[f"regret_{worst}"] > 20.0


def test_more_draws_take_the_luck_of_calls_away() -> None:
    """Six texts, c = -0.5: nearer to the law than a few draws need be, by an error that halves."""
    rng = np.random.default_rng(3)
    judge = SimulatedJudge(rng.standard_normal((60, 6)), bias=0.4, noise=0.5, shared=-0.5, seed=rng)
    cell = orders.Cell("made", "none", "", "", judge.matrix(), "simulated", -0.5)
    some, more = (orders._again(cell, Settings(draws=draws)) for draws in (40, 160))
    assert more["measured"] == pytest.approx(more["exact"], abs=4 * more["draw_se"] + 0.05)
    assert more["draw_se"] == pytest.approx(some["draw_se"] / 2, rel=0.4)
    assert abs(some["measured"] - more["measured"]) < 4 * some["draw_se"]
    assert more["measured_se"] > more["draw_se"]
