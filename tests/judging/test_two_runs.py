"""Two runs at once on one store: what the other asked counts, and nothing is asked beyond it."""

from contextlib import contextmanager

import pytest

import judging.store.store as module
from judging import prompts
from judging.judges import Store, TextJudge
from judging.practice.ranking.rank import rank
from judging.practice.ranking.settings import Asking
from tests.asking import HashJudge, texts

COUNT = 12  # texts, 132 comparisons of them
PROMPT = prompts.for_attribute("better")


def run(path, budget, seed):
    with Store(path) as store:
        judge = TextJudge(HashJudge(), PROMPT, texts(COUNT), store=store)
        return rank(texts(COUNT), judge, budget=budget, asking=Asking(orders="one"), seed=seed)


def stored(path):
    with Store(path) as store:
        return len(store)


@pytest.mark.parametrize("begun", [0, 40])
@pytest.mark.parametrize("when", [1, 2, 3])
def test_two_runs_spend_one_budget(tmp_path, monkeypatch, begun, when):
    """Another run asks half of it, by a plan of its own, while this one waits for a round."""
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
        with own(store) as waited:
            yield waited or len(times) == when

    monkeypatch.setattr(module, "writing", waits)
    found = run(path, 90, seed=5)
    assert len(times) > when, "there was something left to ask"
    assert stored(path) == len(found.comparisons) == 90
