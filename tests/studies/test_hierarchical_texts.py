"""A position bias of each text: against the model written out, by hand, and by its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import poe
from poe.choose.designs import in_orders_shown, regular
from poe.errors import ComparisonError
from studies.hierarchical import FAINT, GRID, SHARES, posterior, posteriors
from tests.studies.test_hierarchical import sample

U = (np.arange(GRID) + 0.5) / GRID


def judged(rng, *, calls, lean=1.0, noise=0.3, n=16, both=False):
    """True scores, and what a judge says whose lean to the first place has this sd over texts."""
    scores, own = rng.normal(size=n), lean * rng.normal(size=n)
    pairs = regular(n, calls // (1 + both), seed=rng)
    i, j = np.array(in_orders_shown(pairs, both_orders=both, rng=rng)).T
    d = scores[i] - scores[j] + own[i] + own[j] + 0.3 + noise * rng.normal(size=len(i))
    return scores, own, poe.Comparisons.from_pairs(np.column_stack([i, j]), expit(d), items=n)


def rows(c):
    """Opinions, and their rows of scores, text biases and gamma, pair by pair, in plain loops."""
    said = {}
    for i, j, p in zip(c.first, c.second, c.p, strict=True):
        said.setdefault((i, j), []).append(logit(p))
    said = {pair: np.mean(values) for pair, values in said.items()}
    y, of_scores, of_texts, of_gamma = [], [], [], []
    for i, j in sorted({(min(pair), max(pair)) for pair in said}):
        apart, together = np.zeros(c.n_items), np.zeros(c.n_items)
        apart[[i, j]], together[[i, j]] = (1.0, -1.0), 1.0
        one, other = said.get((i, j)), said.get((j, i))
        if one is not None and other is not None:
            found = [((one - other) / 2, apart, 0 * together, 0.0)]
            found += [((one + other) / 2, 0 * apart, together, 1.0)]
        elif one is not None:
            found = [(one, apart, together, 1.0)]
        else:
            found = [(-other, apart, -together, -1.0)]
        for value, s, t, gamma in found:
            y.append(value), of_scores.append(s), of_texts.append(t), of_gamma.append(gamma)
    return np.array(y), np.array(of_scores), np.array(of_texts), np.array(of_gamma)


def written_out(contexts):
    """Weights, and each context's centres and text biases, from covariances of the opinions."""
    made = [rows(c) for c in contexts]
    pairs = sum(len({frozenset(pair) for pair in c.pairs.tolist()}) for c in contexts)
    ratios = 2.0 * pairs / sum(c.n_items for c in contexts) * U / (1.0 - U)
    freedom = sum(len(y) - 1 for y, *_ in made)
    heights, centres = [], []
    for v in SHARES:
        for ratio in ratios:
            volume, left, here = 0.0, 0.0, []
            for y, s, t, gamma in made:
                covariance = np.eye(len(y)) + (s @ s.T + v / (1 - v) * t @ t.T) / ratio
                inverse = np.linalg.inv(covariance)
                known = gamma @ inverse @ gamma
                volume += np.linalg.slogdet(covariance)[1] + np.log(known / (gamma @ gamma))
                inverse = inverse - np.outer(inverse @ gamma, inverse @ gamma) / known
                left += y @ inverse @ y
                centre, biases = (x.T @ inverse @ y / ratio for x in (s, v / (1 - v) * t))
                here.append((centre - centre.mean(), biases))
            heights.append(-0.5 * (volume + freedom * np.log(left)))
            centres.append(here)
    weight = np.exp(np.array(heights) - max(heights))
    evidence = max(heights) + np.log(weight.mean())
    told = [
        [
            sum(w * one[k][x] for w, one in zip(weight / weight.sum(), centres, strict=True))
            for x in (0, 1)
        ]
        for k in range(len(contexts))
    ]
    return told, evidence


@pytest.mark.parametrize("both", [False, True, None])
def test_scores_and_biases_are_those_of_the_model_written_out(both):
    """One order, both, and a mixed set with a repeat; one context, and three of unequal sizes."""
    rng = np.random.default_rng(3)
    made = [judged(rng, calls=14, n=n, both=bool(both))[2] for n in (6, 7, 8)]
    if both is None:  # some pairs in both orders, one of them asked again
        made = [
            poe.Comparisons.from_pairs(
                np.vstack([c.pairs, c.pairs[:4, ::-1], c.pairs[:1]]),
                np.concatenate([c.p, rng.uniform(0.2, 0.8, 5)]),
                items=c.n_items,
            )
            for c in made
        ]
    for contexts in (made[:1], made):
        told, evidence = written_out(contexts)
        found = posteriors(contexts, bias="texts")
        assert found[0].evidence == pytest.approx(evidence, abs=1e-9)
        for one, (scores, biases) in zip(found, told, strict=True):
            np.testing.assert_allclose(one.scores, scores, atol=20 * FAINT)
            np.testing.assert_allclose(one.biases, biases, atol=20 * FAINT)


def test_a_star_of_three_by_hand():
    """Ada is shown before Ben and before Cleo; gamma takes the mean of the two answers with it.

    What is left is z = s_Ben - s_Cleo + t_Cleo - t_Ben + noise. Its parts have variances in the
    proportion 1 : v / (1 - v) : lambda, of which every sum is as likely as any other.
    """
    c = poe.Comparisons(first=["Ada", "Ada"], second=["Ben", "Cleo"], p=expit([0.5, 1.5]))
    found = posterior(c, bias="texts")
    odds, ratio = SHARES / (1 - SHARES), 4 / 3 * U / (1 - U)
    part = 1.0 / (1.0 + odds[:, None] + ratio)
    np.testing.assert_allclose(found.weight, 1 / part.size)
    assert found.scores[1] - found.scores[2] == pytest.approx(1.0 * part.mean())
    assert found.biases[2] - found.biases[1] == pytest.approx((odds[:, None] * part).mean())
    without = posterior(c)
    assert without.scores[1] - without.scores[2] == pytest.approx((1 / (1 + ratio)).mean())


def test_both_orders_of_a_pair_leave_nothing_of_a_text():
    """Half the difference is the only opinion about scores, whatever the two texts lean to."""
    c = poe.Comparisons(first=["a", "b"], second=["b", "a"], p=expit([2.0, -1.0]))
    found, plain = posterior(c, bias="texts"), posterior(c.symmetrised(), bias=0.0)
    alone = poe.Comparisons(first=["a"], second=["b"], p=expit([1.5]))
    np.testing.assert_allclose(found.interval(), posterior(alone, bias=0.0).interval(), atol=1e-6)
    assert found.freedom == plain.freedom == 1
    rng = np.random.default_rng(2)
    _, _, c = judged(rng, calls=48, both=True)
    found, plain = posterior(c, bias="texts"), posterior(c)
    assert np.corrcoef(found.scores, plain.scores)[0, 1] > 0.999


def test_where_no_text_leans_nothing_changes():
    """The negative control; and its own: texts that do lean."""
    rng = np.random.default_rng(0)
    none = [judged(rng, calls=32, lean=0.0)[2] for _ in range(12)]
    some = [judged(rng, calls=32)[2] for _ in range(12)]
    moved, gained = [], []
    for contexts in (none, some):
        plain, found = posteriors(contexts), posteriors(contexts, bias="texts")
        far = [a.scores - b.scores for a, b in zip(plain, found, strict=True)]
        moved.append(np.sqrt(np.mean(np.square(far))))
        gained.append(found[0].evidence - plain[0].evidence)
        assert (found[0].weight[found[0].share == 0.0].sum() > 0.5) == (contexts is none)
    assert moved[0] < 0.01 < 0.2 < moved[1]
    assert -np.log(len(SHARES)) - 0.1 < gained[0] < 0.0 < 50.0 < gained[1]


@pytest.mark.long
@pytest.mark.parametrize(("calls", "left"), [(24, 0.75), (48, 0.6)])
def test_intervals_cover_and_errors_fall(calls, left):
    """16 pools of four contexts, one order. The control, one bias for all texts, errs more."""
    rng = np.random.default_rng(7)
    hits, error, before, biases = [], [], [], []
    pairs = [(0, 1), (2, 7), (3, 12), (5, 9)]
    for _ in range(16):
        made = [judged(rng, calls=calls) for _ in range(4)]
        contexts = [c for *_, c in made]
        found, plain = posteriors(contexts, bias="texts"), posteriors(contexts)
        for (scores, own, _), one, other in zip(made, found, plain, strict=True):
            true = np.array([scores[i] - scores[j] for i, j in pairs])
            low, high = one.difference_intervals(pairs).T
            hits += ((low <= true) & (true <= high)).tolist()
            error.append(np.mean((one.scores - scores + scores.mean()) ** 2))
            before.append(np.mean((other.scores - scores + scores.mean()) ** 2))
            biases.append(np.corrcoef(one.biases, own)[0, 1])
    assert 0.92 <= np.mean(hits) <= 0.975
    assert np.mean(error) < left * np.mean(before)
    assert np.mean(biases) > 0.7


def test_draws_agree_with_intervals_and_names_do_not_count():
    rng = np.random.default_rng(4)
    _, _, c = judged(rng, calls=10, n=6)
    found = posterior(c, bias="texts")
    drawn = sample(found, 200_000, rng)
    expected = np.quantile(drawn, [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(found.interval(0.9), expected, atol=0.03 * np.ptp(expected))
    order = rng.permutation(6)
    moved = posterior(poe.Comparisons.from_pairs(order[c.pairs], c.p, items=6), bias="texts")
    np.testing.assert_allclose(moved.scores[order], found.scores, atol=1e-8)
    np.testing.assert_allclose(moved.biases[order], found.biases, atol=1e-8)
    turned = poe.Comparisons.from_pairs(c.pairs[:, ::-1], 1.0 - c.p, items=6)
    mirrored = posterior(turned, bias="texts")  # the same scores, and every text leans back
    np.testing.assert_allclose(mirrored.scores, found.scores, atol=1e-8)
    np.testing.assert_allclose(mirrored.biases, -found.biases, atol=1e-8)


def test_what_cannot_be_told_is_refused():
    one = poe.Comparisons(first=["a"], second=["b"], p=[0.9])
    with pytest.raises(ComparisonError, match="nothing is known of the noise"):
        posterior(one, bias="texts")
    with pytest.raises(
        ValueError, match="bias must be a number, None, 'fit' or 'texts', not 'text'"
    ):
        posterior(one, bias="text")
