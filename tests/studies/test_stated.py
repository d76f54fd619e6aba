"""Probabilities of an order, held against how often they are right."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from poe.choose.selection import select
from poe.comparisons import Comparisons
from reproduction.settings import Settings
from studies import stated
from studies.hierarchical import posterior

OURS = stated.OURS
NAMES = [(judge.name, design) for judge, design in stated.GRID]
CLOSE = NAMES.index(("decisions, close", "96 in one order"))


def test_rows_are_counts_of_the_pairs_that_were_drawn():
    rows = pd.DataFrame(stated._rows("one", "any", [stated._drawn(CLOSE, 4, 0)]))
    assert rows["says"].unique().tolist() == [stated.OURS, stated.ONE, stated.THREE]
    rows = rows[rows["says"] == stated.OURS].set_index("class")
    judge, design = stated.GRID[CLOSE]
    said, flat, right = np.concatenate(
        [
            stated.said_and_right(judge, design, np.random.default_rng([0, 61, CLOSE, one]))[OURS]
            for one in range(4)
        ],
        axis=1,
    )
    assert rows.loc["all", "pairs"] == len(said) == 4 * 120
    assert rows.loc["all", "stated"] == said.mean()
    assert rows.loc["all", "value"] == right.mean()
    assert rows.loc["all", "flat"] == flat.mean()
    classes = rows.drop(index="all")
    assert classes["pairs"].sum() == len(said)
    inside = (said >= 60.0) & (said < 65.0)
    assert rows.loc["60-65", "value"] == right[inside].mean()


def test_spreads_are_mixed_pair_by_pair(monkeypatch):
    monkeypatch.setattr(stated, "GRID", [one for one in stated.GRID if one[1] == NAMES[0][1]])
    table = stated.table(Settings(draws=2))
    whole = table[(table["says"] == OURS) & (table["class"] == "all")].set_index("judge")
    for kind in stated.KINDS:
        parts = whole.loc[[f"{kind}, {spread}" for spread in stated.SPREADS]]
        mixed = whole.loc[f"{kind}, {stated.ANY}"]
        assert mixed["pairs"] == parts["pairs"].sum()
        for column in ("stated", "value", "flat"):
            assert mixed[column] == pytest.approx((parts["pairs"] @ parts[column]) / mixed["pairs"])


def test_a_judge_that_never_errs_is_right_and_a_blind_one_is_not():
    """Control: texts all alike make every order right in half of the pairs, whatever is said."""
    rng = np.random.default_rng(0)
    sharp = stated.Judge("sharp", apart=3.0, noise=0.01)
    said, _, right = stated.said_and_right(sharp, "96 in both orders", rng)[OURS]
    assert right.mean() > 99.0
    assert said.mean() > 98.0
    alike = stated.Judge("alike", apart=1e-9, noise=1.5)
    each = [stated.said_and_right(alike, "96 in one order", rng)[OURS] for _ in range(20)]
    said, flat, right = np.concatenate(each, axis=1)
    assert abs(right.mean() - 50.0) < 5.0
    assert flat.mean() > 70.0  # what is said where no luck is allowed for
    assert said.mean() < flat.mean() - 5.0


def test_the_table_does_not_depend_on_the_number_of_workers(monkeypatch):
    monkeypatch.setattr(stated, "GRID", stated.GRID[:2])
    one, two = (stated.table(Settings(draws=2, workers=n)) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert set(one["kind"]) == {"simulated"}


def test_the_declared_rule_by_hand():
    """The mean within 3 points, large classes within 5, two errors aside."""
    columns = ["says", "judge", "design", "class", "stated", "value", "se", "pairs"]
    rows = [
        ("x", "a", "d", "all", 70.0, 67.2, 0.0, 900),
        ("x", "a", "d", "70-75", 72.0, 60.0, 0.0, 200),
        ("x", "b", "d", "all", 70.0, 66.9, 0.0, 900),
        ("x", "c", "d", "all", 70.0, 66.9, 0.1, 900),
        ("x", "c", "d", "70-75", 72.0, 66.5, 0.2, 201),
    ]
    said = stated.holds(pd.DataFrame(rows, columns=columns))
    assert said.to_dict() == {
        ("x", "a", "d"): True,
        ("x", "b", "d"): False,
        ("x", "c", "d"): False,
    }


@pytest.mark.parametrize("decides", [True, False])
def test_who_knows_the_law_says_what_draws_of_it_show(decides):
    """Oracle: qualities and bias drawn from what is known before, weighted by their likelihood.

    Two spreads at once, so that the weights of both are compared too; by hand no approximation.
    """
    judge = stated.Judge("any", apart=1.0, noise=1.0, decides=decides)
    pairs = np.array([[0, 1], [1, 2], [2, 0], [1, 0], [3, 0], [2, 3]])
    p = np.array([0.9, 0.6, 0.3, 0.4, 0.7, 0.55])
    p = p.round() if decides else p
    rng, spreads, m = np.random.default_rng(0), (0.5, 1.0), 400_000
    q = np.repeat(spreads, m // 2)[:, None] * rng.standard_normal((m, 4))
    bias = 3.0 * rng.standard_normal(m)
    d = q[:, pairs[:, 0]] - q[:, pairs[:, 1]] + bias[:, None]
    fits = np.log(expit((2.0 * p - 1.0) * d)) if decides else -0.5 * (logit(p) - d) ** 2
    weight = np.exp(fits.sum(axis=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stated, "TEXTS", 4)
        patch.setattr(stated, "ANY_BIAS", 1.0 / 9.0)
        said = stated.told(judge, pairs, p, spreads)
    i, j = np.triu_indices(4, 1)
    exact = (weight @ (q[:, i] > q[:, j])) / weight.sum()
    np.testing.assert_allclose(said, exact, atol=0.02 if decides else 0.008)  # Laplace; the draws


def test_averaged_is_the_hierarchical_posterior():
    rng = np.random.default_rng(1)
    pairs = select(stated.TEXTS, 24, seed=rng)
    c = Comparisons.from_pairs(pairs, rng.uniform(0.1, 0.9, 24), items=stated.TEXTS)
    i, j = np.triu_indices(stated.TEXTS, 1)
    said, known = stated.averaged(c), posterior(c)
    for one in (0, 17, 119):
        assert said[one] == pytest.approx(known.prob_better(i[one], j[one]))
