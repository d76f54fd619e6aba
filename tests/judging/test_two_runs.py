"""Two runs at once on one store: what the other asked counts, and nothing is asked beyond it."""

from contextlib import contextmanager

import pytest

import judging.store.store as module
from judging import prompts
from judging.judges import Store, TextJudge
from judging.practice.board import Tournament, read_answers
from judging.practice.ranking.rank import rank
from judging.practice.ranking.settings import Asking
from tests.asking import HashJudge, texts

COUNT = 12  # texts, 132 comparisons of them
PROMPT = prompts.for_attribute("better")


def ranking(path, budget, seed):
    with Store(path) as store:
        judge = TextJudge(HashJudge(), PROMPT, texts(COUNT), store=store)
        found = rank(texts(COUNT), judge, budget=budget, asking=Asking(orders="one"), seed=seed)
    return len(found.comparisons)


def board(path, budget, seed):
    """Four systems on twenty prompts: 120 pairs of answers."""
    rows = [
        {"system": f"s{s}", "prompt": f"say {k}", "answer": f"answer {s} to {k}"}
        for s in range(4)
        for k in range(20)
    ]
    with Store(path) as store:
        asked = Tournament(
            read_answers(rows),
            HashJudge(),
            store=store,
            asking=Asking(orders="one"),
            seed=seed,
        )
        asked.run(budget)
    return len(asked.p)


def stored(path):
    with Store(path) as store:
        return len(store)


@pytest.mark.parametrize("begun", [0, 40])
@pytest.mark.parametrize("when", [1, 2, 3])
@pytest.mark.parametrize("run", [ranking, board])
def test_two_runs_spend_one_budget(tmp_path, monkeypatch, run, begun, when):
    """Another run asks half of it, by a plan of its own, before this one gets to a round.

    It has ended when this one asks for the lock, so that nobody sees anybody wait.
    """
    path, own, times = tmp_path / "s.sqlite", module.writing, []
    if begun:
        run(path, begun, seed=7)

    @contextmanager
    def waits(store):
        times.append(store)
        if len(times) == when:
            monkeypatch.setattr(module, "writing", own)
            run(path, 70, seed=3)
            monkeypatch.setattr(module, "writing", waits)
        with own(store):
            yield

    monkeypatch.setattr(module, "writing", waits)
    found = run(path, 90, seed=5)
    assert len(times) > when, "there was something left to ask"
    assert stored(path) == found == 90
