"""Whether the second order is worth its call, found out while a ranking is made."""

import numpy as np
import pytest

import judging
import poe
from judging import Asking
from judging import rank as judging_rank
from judging.judges import Store, TextJudge, prompts
from judging.judges.spending import SpendingLimitError
from judging.practice.findings import Orders
from judging.question import Answer, Reader, Text

TEXTS, CALLS = 16, 96


def rank(judge, orders, *, seed=0, calls=CALLS, **options):
    asking = Asking(orders=orders, **options)
    return judging_rank(TEXTS, judge.answer, budget=calls, asking=asking, seed=seed)


def judged(shared, seed):
    quality = np.random.default_rng(seed).normal(size=TEXTS)
    return judging.SimulatedJudge(quality, bias=0.4, noise=1.0, shared=shared, seed=seed)


def own(judge):
    """The ranking that all of a judge's answers give."""
    every = np.argwhere(~np.eye(TEXTS, dtype=bool))
    return poe.fit(poe.Comparisons.from_pairs(every, judge.answer(every), items=TEXTS)).scores


def error(ranking, judge):
    return np.mean((ranking.fit.scores - own(judge)) ** 2)


def test_where_errors_cancel_both_orders_are_asked_and_are_better():
    """Errors of a pair's two orders that are opposite: one order keeps them, both lose them."""
    auto, one = [], []
    for seed in range(12):
        judge = judged(-0.95, seed)
        found = rank(judge, "auto", seed=seed)
        assert found.decision.orders == "both"
        assert found.decision.reason == "place"
        assert found.decision.c < -0.6
        assert found.both_orders
        assert len(found.comparisons) == CALLS
        pairs = {tuple(pair) for pair in found.comparisons.pairs.tolist()}
        assert np.mean([pair[::-1] in pairs for pair in pairs]) > 0.9
        (told,) = [note for note in found.notes if isinstance(note, Orders)]
        assert (told.orders, told.c) == ("both", found.decision.c)
        auto.append(error(found, judge))
        one.append(error(rank(judge, "one", seed=seed), judge))
    assert np.mean(auto) < 0.5 * np.mean(one)


def test_where_errors_repeat_one_order_is_asked():
    """The negative control: errors about the texts, which the second order repeats."""
    chosen = [rank(judged(0.8, seed), "auto", seed=seed).decision for seed in range(20)]
    assert sum(one.orders == "one" for one in chosen) >= 19
    assert {one.reason for one in chosen if one.orders == "one"} <= {"items", "sparse"}


@pytest.mark.parametrize(("calls", "texts"), [(30, TEXTS), (40, TEXTS)])
def test_a_budget_without_room_for_a_pilot_is_spent_in_one_order(calls, texts):
    found = rank(judged(-0.9, 1), "auto", calls=calls)
    assert found.decision.reason == "unknown"
    assert not found.both_orders
    assert len(found.comparisons) == calls
    assert not any(isinstance(note, Orders) for note in found.notes)


def test_decisions_without_probabilities_have_a_pilot_too():
    quality = np.linspace(-2, 2, TEXTS)
    judge = judging.SimulatedJudge(quality, noise=1.0, shared=-0.9, seed=3)

    def decided(pairs):
        return (judge.answer(pairs) > 0.5).astype(float)

    found = judging_rank(TEXTS, decided, budget=CALLS, asking=Asking(orders="auto"))
    assert np.isfinite(found.decision.c)
    assert len(found.comparisons) == CALLS


class Cancelling(Reader):
    """A reader whose preference for a place is drawn for each pair, opposite in its orders."""

    def __init__(self, limit=None):
        self.asked, self.limit = [], limit
        self.specification = {"kind": "own", "model": "cancelling"}

    def answer(self, questions):
        for k, question in enumerate(questions):
            if self.limit is not None and len(self.asked) >= self.limit:
                raise SpendingLimitError("the limit of calls is reached")
            a, b = int(question.first.id), int(question.second.id)
            place = np.random.default_rng(sorted((a, b))).normal()
            p = 1 / (1 + np.exp(-(0.2 * (a - b) + place)))
            self.asked.append((a, b))
            yield k, Answer(log_p=(float(np.log(p)), float(np.log1p(-p))))


def test_orders_that_nothing_followed_from_are_not_told(tmp_path):
    """Offline nothing was asked, and where all was asked nothing was chosen."""
    texts = [Text(str(k), f"text number {k}") for k in range(TEXTS)]
    prompt = prompts.for_attribute("better")

    def notes(budget, **asking):
        with Store(tmp_path / "s.sqlite") as store:
            judge = TextJudge(Cancelling(), prompt, texts, store=store)
            found = judging_rank(texts, judge, budget=budget, asking=Asking(**asking))
        assert found.decision.reason != "unknown"
        return [note for note in found.notes if isinstance(note, Orders)]

    assert notes(CALLS)
    assert not notes(CALLS, offline=True)
    assert not notes(TEXTS * (TEXTS - 1))


@pytest.mark.parametrize("limit", [10, 30, 60])
def test_a_run_that_was_cut_short_decides_as_one_that_was_not(tmp_path, limit):
    texts = [Text(str(k), f"text number {k}") for k in range(TEXTS)]
    prompt = prompts.for_attribute("better")

    def run(path, reader):
        with Store(path) as store:
            judge = TextJudge(reader, prompt, texts, store=store)
            return judging_rank(texts, judge, budget=CALLS, asking=Asking(), seed=5)

    whole = run(tmp_path / "a.sqlite", first := Cancelling())
    assert whole.decision.orders == "both"
    cut = Cancelling(limit)
    try:
        assert run(tmp_path / "b.sqlite", cut).partial
    except SpendingLimitError:
        assert limit < TEXTS, "too few answers to link all texts"
    again = Cancelling()
    found = run(tmp_path / "b.sqlite", again)
    every = cut.asked + again.asked
    assert len(every) == len({*every}) == len(first.asked) == CALLS, "none twice"
    assert found.decision.orders == whole.decision.orders
    if limit < TEXTS:  # within the first round, which the seed fixes
        assert sorted(every) == sorted(first.asked)
        np.testing.assert_allclose(found.fit.scores, whole.fit.scores, atol=1e-9)
