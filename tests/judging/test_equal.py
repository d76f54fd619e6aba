"""A dead heat is told as one: equal ranks, no leader, and no word on how safe the lead is."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm, rankdata

import judging
import poe
from judging.judges import Answer, Reader
from judging.practice.ranking import words
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.verdict import MAX_EXTRA_FACTOR, _more, of_fit
from judging.practice.sentences import say
from poe.ranks import shared_ranks


def comparisons(rows):
    first, second, p = zip(*rows, strict=True)
    return poe.Comparisons(first=first, second=second, p=p)


class Even(Reader):
    """Cannot tell two texts apart; no language model."""

    def __init__(self):
        self.specification = {"kind": "even"}

    def answer(self, questions):
        for k, _ in enumerate(questions):
            yield k, Answer((float(np.log(0.5)), float(np.log(0.5))))


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


@pytest.mark.parametrize("n", [2, 4, 70])
def test_texts_that_a_judge_cannot_tell_apart_have_no_leader(n):
    texts = {f"t{k}": f"text number {k}" for k in range(n)}
    found = judging.rank(texts | {"copy": texts["t1"]}, Even(), attribute="better", budget="4x")
    table = found.to_frame()
    assert (table["rank"] == 1).all()
    assert len(table) == n + 1
    said = words.in_text([found])
    for wrong in ("probably", "the best of", "leads", "stays first", "would be first", "Decide"):
        assert wrong not in said
    assert ("t0 and t1 are equal" in said or "t1 and t0 are equal" in said) == (n == 2)
    page = judging.report(found)
    assert page.count("<summary>1. t") == (n if n <= 60 else 30), (
        "of 70 the first 20 and the last 10"
    )
    assert ("…" in page) == (n > 60)
    assert "best with probability" not in page


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
