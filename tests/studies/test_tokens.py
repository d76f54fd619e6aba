"""Designs by computed tokens: counts by hand, variances by hand and by simulation."""

import numpy as np
import pytest

import poe
from poe.choose.designs import regular
from poe.experts import Gaussian
from poe.resistance import component_of, effective_resistance
from studies import tokens
from studies.tokens import Tokens, few_first, spread

SUMMARIES = Tokens(shared=450, first=75, second=97)


def test_five_prompts_by_hand():
    """Chapter 11's five prompts: an article of 60, four texts of 20 first, a question."""
    assert Tokens(60, 20, 25).computed(4, 5) == 265


@pytest.mark.parametrize(("n", "firsts"), [(7, 1), (7, 3), (16, 5), (16, 16), (60, 8)])
def test_few_are_first_and_all_are_linked(n, firsts):
    most = firsts * (n - 1) - firsts * (firsts - 1) // 2
    for count in sorted({n - 1, (n - 1 + most) // 2, most}):
        pairs = few_first(1, n, count, firsts, seed=count)[0]
        assert len({frozenset(pair) for pair in pairs.tolist()}) == count
        times = np.bincount(pairs[:, 0], minlength=n)
        assert (times > 0).sum() <= firsts
        assert len(set(component_of(n, pairs))) == 1
        if count < most - n:
            assert np.ptp(times[times > 0]) <= 1
    with pytest.raises(ValueError, match=f"make {most} pairs"):
        few_first(1, n, most + 1, firsts)


def test_pairs_are_linked_as_soon_as_they_can_be():
    """N - 1 pairs make a tree; one fewer, the control, leaves somebody out."""
    for firsts in (1, 4, 9):
        assert len(set(component_of(20, few_first(1, 20, 19, firsts, seed=1)[0]))) == 1
        assert len(set(component_of(20, few_first(1, 20, 18, firsts, seed=1)[0]))) == 2


@pytest.mark.parametrize("lean", [0.0, 0.6])
def test_a_star_by_hand(lean):
    """Between two leaves: two noises and two leans; between a leaf and the centre: one answer."""
    n, noise, own = 9, 1.0 - lean, lean / 2.0
    star = few_first(1, n, n - 1, 1, seed=2)[0]
    leaves = (n - 1) * (n - 2) // 2
    by_hand = ((n - 1) * 1.0 + leaves * 2.0 * (noise + own)) / (n * (n - 1) // 2)
    assert spread(n, star, lean=lean, bias_known=True) == pytest.approx(by_hand)
    assert spread(n, star) == np.inf  # the centre is first always: a bias would look like its score
    assert spread(n, star[1:], bias_known=True) == np.inf


def test_without_leans_it_is_the_resistance():
    pairs = regular(12, 30, seed=4)
    mean = effective_resistance(12, pairs).sum() / (12 * 11)
    assert spread(12, pairs, bias_known=True) == pytest.approx(mean)
    assert spread(12, pairs) >= mean


@pytest.mark.parametrize("firsts", [3, 12])
def test_predicted_variances_come_true(firsts):
    """4,000 judges with leans and noise, Gaussian experts with a fitted bias."""
    n, k, lean, rng = 12, 30, 0.5, np.random.default_rng(0)
    pairs = few_first(1, n, k, firsts, seed=1)[0]
    scores = rng.normal(size=n)
    c = poe.Comparisons.from_pairs(pairs, np.full(k, 0.5), items=n)
    design = np.column_stack([c.matrix(), -np.ones(k)])
    solve = np.linalg.pinv(design)[:n]
    wrong = []
    for _ in range(4000):
        own = np.sqrt(lean / 2) * rng.normal(size=n)
        noise = np.sqrt(1 - lean) * rng.normal(size=k)
        y = c.matrix() @ scores + own[pairs].sum(axis=1) + 0.7 + noise
        wrong.append(2 * np.var(solve @ y - scores, ddof=1))
    # The last of them by the package's own fit: the same scores.
    p = 0.5 + y / 100
    fitted = poe.fit(poe.Comparisons.from_pairs(pairs, p, items=n), Gaussian(alpha=100), bias="fit")
    answer = solve @ y
    np.testing.assert_allclose(fitted.scores, answer - answer.mean(), atol=1e-8)
    error = np.std(wrong) / np.sqrt(len(wrong))
    assert np.mean(wrong) == pytest.approx(spread(n, pairs, lean=lean), abs=4 * error)
    assert abs(np.mean(wrong) - spread(n, pairs)) > 10 * error  # the control: no lean


def test_a_plan_is_priced_with_and_without_shared_beginnings():
    options = {"standard_error": 0.7, "sigma": 1.0, "price_input": 0.5, "price_output": 2.0}
    apart = poe.plan(16, **options, tokens=sum(SUMMARIES))
    shared = poe.plan(16, **options, tokens=SUMMARIES.computed)
    k = apart.comparisons
    assert apart.cost == pytest.approx(k * (622 * 0.5 + 2) / 1e6)
    assert shared.cost == pytest.approx(((450 + 16 * 75 + k * 97) * 0.5 + k * 2) / 1e6)


def test_a_bias_is_told_where_the_spread_with_it_is_finite():
    designs = [few_first(1, 8, 7 if k % 2 else 12, 1 if k % 2 else 3, seed=k)[0] for k in range(8)]
    for pairs in designs:
        assert tokens.bias_told(8, pairs[None])[0] == np.isfinite(tokens.spread(8, pairs))
    assert not tokens.bias_told(8, designs[1][None])[0], "a star leaves it open"
