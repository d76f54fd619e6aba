"""A dead heat is told as one: equal ranks, no leader, and no word on how safe the lead is."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm, rankdata

import poe
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.verdict import MAX_EXTRA_FACTOR, _more, of_fit
from judging.practice.sentences import say
from poe.ranks import shared_ranks


def comparisons(rows):
    first, second, p = zip(*rows, strict=True)
    return poe.Comparisons(first=first, second=second, p=p)


def test_ranks_are_competition_ranks():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        scores = -np.sort(-rng.integers(0, 6, n) / 3.0)
        noise = 1e-9 * rng.standard_normal(n)
        assert shared_ranks(scores + noise).tolist() == rankdata(-scores, "min").tolist()
    assert shared_ranks(np.array([0.4, 0.39999])).tolist() == [1, 2], "control"


@pytest.mark.parametrize("expert", ["gaussian", "bradley-terry", "thurstone", "huber"])
def test_a_fit_gives_equal_scores_one_rank(expert):
    """Of three, a and b beat c alike, and each other as often."""
    rows = [("a", "b", 0.5), ("a", "c", 0.8), ("c", "b", 0.2), ("b", "a", 0.5), ("c", "a", 0.3)]
    rows += [("b", "c", 0.7)]
    fit = poe.fit(comparisons(rows), expert)
    table = fit.to_frame() if expert in ("gaussian", "bradley-terry") else None
    assert sorted(on_top(fit)) == ["a", "b"]
    if table is not None:
        assert table["rank"].tolist() == [1, 1, 3]


def test_a_dead_heat_of_votes_says_how_many_more_its_chance_is_of():
    """One win each, and ties: nothing is infinite, and the chance is that of so many answers."""
    rows = [("x", "y", 1.0), ("y", "x", 1.0), *[("x", "y", 0.5)] * 49, *[("y", "x", 0.5)] * 49]
    advice = of_fit(poe.fit(comparisons(rows)), 0.95)
    assert (advice.state, advice.why.tie.case, advice.more) == ("ask", "equal", None)
    assert [odds.case for odds in advice.why.odds] == ["endless"]
    assert MAX_EXTRA_FACTOR == 100, "which the sentence says in words"
    assert "a hundred times as many votes" in say(advice, "system", "vote")


def test_what_would_settle_it_counts_every_rival():
    """Two rivals at z = 1.7 and 1.8, each 95% sure alone, together not: 100 (1.96 / 1.7)^2."""
    gaps = {"a": 0.0, "b": 0.17, "c": 0.18, "d": 0.5}
    fit = SimpleNamespace(
        items=list(gaps),
        scores=-np.array(list(gaps.values())),
        real=np.ones(100, dtype=bool),
        difference_se=lambda one, other: 0.1,
    )
    fit.better = lambda i, j: norm.cdf((fit.scores[i] - fit.scores[j]) / 0.1)
    assert _more(fit, 0.95) == round(100 * ((norm.ppf(0.975) / 1.7) ** 2 - 1.0)) == 33
