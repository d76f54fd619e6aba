"""Length taken out of scores: by a regression with a mean of each article, and what is stored."""

import numpy as np
import pytest

import poe
from reproduction import run
from reproduction.measured_tables import TEMPLATES
from reproduction.twins import labels
from studies.length_of_scores import MARKS, QUANTITIES, log_words, without


def drawn(slope, contexts=40, n=9, seed=0):
    rng = np.random.default_rng(seed)
    quality, length = rng.standard_normal((2, contexts, n))
    return quality, slope * length + quality + rng.standard_normal((contexts, 1)), length


def test_the_coefficient_is_that_of_a_regression_with_a_mean_for_each_article():
    _, scores, length = drawn(0.7)
    own = np.repeat(np.eye(len(scores)), scores.shape[1], axis=0)
    design = np.column_stack([own, length.ravel()])
    wanted = np.linalg.lstsq(design, scores.ravel(), rcond=None)[0]
    left, b = without(scores, length)
    assert b == pytest.approx(wanted[-1], rel=1e-10)
    np.testing.assert_allclose(left.ravel(), scores.ravel() - design @ wanted, atol=1e-10)


def test_it_brings_quality_back_and_does_no_harm_where_there_is_nothing_to_take_out():
    for slope, low, high in ((2.0, 0.2, 1.0), (0.0, -0.01, 0.01)):
        quality, scores, length = drawn(slope)
        scores = scores - scores.mean(axis=1, keepdims=True)
        left, _ = without(scores, length)
        r = [np.corrcoef(x.ravel(), quality.ravel())[0, 1] for x in (left, scores)]
        assert low < r[0] - r[1] < high


def test_every_summary_has_its_number_of_words():
    gold = labels("summeval").scores["coherence"]
    assert log_words().shape == gold.shape
    assert np.exp(log_words()).min() > 3.0


def test_every_attribute_and_prompt_is_stored():
    rows = run.read("length")
    assert set(rows["quantity"]) == set(QUANTITIES)
    qwen = rows[rows["system"].str.startswith("Qwen") & (rows["attribute"] == "coherence")]
    assert set(qwen["template"]) == {*TEMPLATES, MARKS}


def test_one_product_with_a_weak_prior_takes_out_the_same():
    """All articles in one fit, an expert s_i - s_j - bias (w_i - w_j): the prior's ties decide."""
    rng, contexts, n = np.random.default_rng(3), 4, 6
    length = rng.standard_normal((contexts, n))
    pairs = [poe.select(n, 20, rule="random", seed=k) for k in range(4)]
    p = rng.uniform(0.2, 0.8, (contexts, 20))
    alone = np.array(
        [
            poe.fit(poe.Comparisons.from_pairs(some, own, items=n), "gaussian").scores
            for some, own in zip(pairs, p, strict=True)
        ]
    )
    every = np.concatenate([some + n * k for k, some in enumerate(pairs)])
    c = poe.Comparisons.from_pairs(every, p.ravel(), items=contexts * n)
    x = length.ravel()[every[:, 0]] - length.ravel()[every[:, 1]]
    fit = poe.fit(c, "gaussian", bias="fit", covariate=x, prior=1e-6)
    left, b = without(alone, length)
    assert fit.bias == pytest.approx(-b, rel=1e-4)
    scores = fit.scores.reshape(contexts, n)
    np.testing.assert_allclose(scores - scores.mean(axis=1, keepdims=True), left, atol=1e-4)
    assert abs(b) > 100 * abs(fit.bias + b), "a control: there is length to take out"
