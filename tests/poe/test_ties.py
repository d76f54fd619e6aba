"""Ties modelled (Davidson 1970; Rao and Kupper 1967): by hand, by SciPy; what intervals hold."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import poe
from poe.experts import Davidson
from tests.poe.oracles import centred, design


def three(d, size, model):
    """Probabilities (K, 3) of a win, a tie and a loss."""
    if model == "davidson":
        odds = np.column_stack([np.exp(d / 2), np.full(len(d), size), np.exp(-d / 2)])
        return odds / odds.sum(axis=1, keepdims=True)
    win, loss = expit(d - size), expit(-d - size)
    return np.column_stack([win, 1.0 - win - loss, loss])


def votes(n, count, size, *, bias=0.0, seed=0, spread=1.0, model="davidson"):
    """Wins, ties and losses drawn from the model."""
    rng = np.random.default_rng(seed)
    quality = spread * rng.standard_normal(n)
    pairs = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)[:, :2]
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] - bias
    limits = np.cumsum(three(d, size, model), axis=1)
    p = 1.0 - 0.5 * (rng.random((count, 1)) > limits[:, :2]).sum(axis=1)
    return quality - quality.mean(), poe.Comparisons.from_pairs(pairs, p, items=n)


def test_two_items_by_hand():
    """Eight wins, four ties, two losses: d = log(8 / 2), nu = 4 / sqrt(8 * 2)."""
    c = poe.Comparisons(
        first=["a"] * 3, second=["b"] * 3, p=[1.0, 0.5, 0.0], weight=[8.0, 4.0, 2.0]
    )
    fit = poe.fit(c, "davidson")
    assert fit.scores[0] - fit.scores[1] == pytest.approx(np.log(4.0), abs=1e-7)
    assert fit.expert.nu == pytest.approx(1.0, abs=1e-7)
    # Of fourteen, P(win) = 8 / 14 and P(loss) = 2 / 14: logits d - eta and -d - eta.
    fit = poe.fit(c, "rao-kupper")
    assert fit.scores[0] - fit.scores[1] == pytest.approx(0.5 * np.log(8.0), abs=1e-7)
    assert fit.expert.eta == pytest.approx(0.5 * np.log(4.5), abs=1e-7)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("bias", [None, "fit"])
def test_scores_and_their_number_are_those_of_a_general_minimiser(bias, model):
    _, c = votes(6, 150, 0.8, bias=-0.4, seed=1, model=model)
    fit = poe.fit(c, model, bias=bias)
    rows = design(c, bias=True)
    which = np.rint(2.0 * (1.0 - c.p)).astype(int)

    def unlikely(unknown):
        d = rows @ np.append(unknown[:5], unknown[5] if bias else 0.0)
        return -float(np.log(three(d, np.exp(unknown[-1]), model)[range(len(c)), which]).sum())

    best = minimize(unlikely, np.zeros(7 if bias else 6), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(fit.scores, centred(best[:5]), atol=1e-5)
    found = getattr(fit.expert, fit.expert.symbol)
    assert np.log(found) == pytest.approx(best[-1], abs=1e-5)
    assert fit.bias == pytest.approx(best[5] if bias else 0.0, abs=1e-5)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_without_ties_it_is_bradley_terry(model):
    _, c = votes(6, 150, 0.0, seed=2)
    fit, plain = poe.fit(c, model), poe.fit(c, covariance="curvature")
    assert getattr(fit.expert, fit.expert.symbol) == 0.0
    np.testing.assert_allclose(fit.scores, plain.scores, atol=1e-8)
    np.testing.assert_allclose(fit.covariance(), plain.covariance(), atol=1e-8)


def test_without_ties_davidson_is_bradley_terry_far_out_too():
    d, p = np.linspace(-40.0, 40.0, 81), np.full(81, 0.3)
    for part in ("energy", "slope", "curvature"):
        one, other = (getattr(e, part)(d, p) for e in (Davidson(0.0), poe.BradleyTerry()))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_intervals_hold_where_ties_are_modelled(model):
    """The control takes a tie for half a toss, whose scores are too near one another."""
    i, j = np.triu_indices(8, 1)
    held = {model: [], "bradley-terry": []}
    for seed in range(40):
        quality, c = votes(8, 400, 2.0, seed=seed, spread=0.8, model=model)
        truth = quality[i] - quality[j]
        for expert, found in held.items():
            fit = poe.fit(c, expert, covariance="curvature")
            C, s = fit.covariance(), fit.scores
            error = np.sqrt(C[i, i] + C[j, j] - 2.0 * C[i, j])
            found.append((np.abs(s[i] - s[j] - truth) < 1.96 * error).mean())
    mean, se = np.mean(held[model]), np.std(held[model]) / np.sqrt(40)
    assert abs(mean - 0.95) < 4.0 * se
    assert np.mean(held["bradley-terry"]) < 0.85


def test_nu_is_nothing_without_ties_and_infinite_with_nothing_else():
    soft = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.8, 0.7, 0.4])
    ties = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.5] * 3)
    assert poe.fit(soft, "davidson").expert.nu == 0.0
    with pytest.raises(ValueError, match="nu"):
        poe.fit(ties, "davidson")
    with pytest.raises(ValueError, match="eta"):
        poe.fit(ties, "rao-kupper")
    assert not poe.fit(ties, Davidson(nu=0.5)).scores.any()


def test_answers_that_fit_one_order_have_no_finite_nu():
    """A ~ b ~ c and a beats c: with d and nu growing, every answer becomes certain."""
    first, second, p = ["a", "b", "a"], ["b", "c", "c"], [0.5, 0.5, 1.0]
    c = poe.Comparisons(first=first, second=second, p=p)
    for model, symbol in (("davidson", "nu"), ("rao-kupper", "eta")):
        with pytest.raises(poe.SeparableError, match=f"{symbol} are infinite"):
            poe.fit(c, model, bias=None)
        assert poe.fit(c, model, bias=None, prior=0.1).converged
    fits = [poe.fit(c, poe.experts.Davidson(nu), bias=None) for nu in (1.0, 1e3, 1e6)]
    energies = [fit.energy - 2 * np.log(nu) for fit, nu in zip(fits, (1.0, 1e3, 1e6), strict=True)]
    assert energies[0] > energies[1] > energies[2] > 0.0
