"""The order of calls about one large set: what every quarter holds, and what is kept of it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from judging.datasets.questions import pairs_of
from reproduction import answers, ask_model
from reproduction.quarters import circuit, quarters, whole
from studies import few_calls, predict_more

N = 1056


def pairs(n=N, seed=(0, 0)):
    return pairs_of(n, 4 * n, both_orders=True, seed=seed)[::2]


def linked(calls, n):
    graph = coo_array((np.ones(len(calls)), tuple(calls.T)), shape=(n, n))
    return connected_components(graph, directed=False)[0] == 1


@pytest.mark.parametrize("n", [20, 64, N])
def test_each_half_asks_every_pair_once_and_is_fair_and_the_first_quarter_links_all(n):
    asked = quarters(pairs(n))
    assert asked.shape == (4, n, 2)
    every = {tuple(call) for call in asked.reshape(-1, 2).tolist()}
    wanted = pairs_of(n, 4 * n, both_orders=True, seed=(0, 0))
    assert every == {tuple(call) for call in wanted.tolist()}
    assert len(every) == 4 * n
    for half in (asked[:2], asked[2:]):
        calls = half.reshape(-1, 2)
        assert len({tuple(sorted(call)) for call in calls.tolist()}) == 2 * n
        for place in (0, 1):
            assert (np.bincount(calls[:, place], minlength=n) == 2).all()
    assert linked(asked[0], n)
    assert linked(asked[:2].reshape(-1, 2), n)


def test_neighbours_share_their_first_text():
    """As few changes of the first text as there are first texts in a quarter."""
    for calls in quarters(pairs()):
        changes = np.count_nonzero(np.diff(calls[:, 0])) + 1
        assert changes == len(set(calls[:, 0].tolist())) < 0.8 * N


def test_the_same_everywhere():
    """A digest by hand would freeze it; two computations, and another set, show it."""
    assert np.array_equal(quarters(pairs()), quarters(pairs()))
    assert not np.array_equal(quarters(pairs()), quarters(pairs(seed=(1, 0))))


def test_a_tree_of_few_steps_and_not_a_ring():
    """Resistance of the first quarter's graph between two texts, on average: its steps."""
    calls = quarters(pairs())[0]
    laplacian = np.zeros((N, N))
    np.add.at(laplacian, (calls[:, 0], calls[:, 1]), -1.0)
    laplacian += laplacian.T
    laplacian -= np.diag(laplacian.sum(axis=1))
    mean = 2.0 * (1.0 / np.linalg.eigvalsh(laplacian)[1:]).sum() / (N - 1)  # of its inverse's trace
    assert mean < 15.0
    assert mean < 0.1 * N / 6, "a ring of N pairs has N / 6"


def test_a_walk_passes_every_pair_once():
    one = np.array([[0, 1], [2, 0], [1, 2], [0, 3], [4, 3], [4, 0]])  # two rings that share a text
    walk = circuit(one)
    assert {frozenset(pair) for pair in walk.tolist()} == {frozenset(p) for p in one.tolist()}
    assert (walk[1:, 0] == walk[:-1, 1]).all()
    assert walk[0, 0] == walk[-1, 1]


def test_what_is_no_set_of_2n_pairs_is_refused():
    with pytest.raises(ValueError, match="four pairs a text"):
        quarters(pairs()[1:])
    apart = np.vstack([pairs(20), 20 + pairs(20)])
    with pytest.raises(ValueError, match="link all texts"):
        quarters(apart)


def test_whole_quarters_by_hand():
    asked = quarters(pairs(20))
    calls = np.vstack([asked[1], asked[0][:-1], asked[3][::-1]])
    assert whole(calls, asked).tolist() == [True] * 20 + [False] * 19 + [True] * 20


# HANNA's run --------------------------------------------------------------------------------


def test_the_calls_are_those_of_the_predictions_of_2112_pairs():
    """What was predicted on November 25th, and what a run asks: one set."""
    (run,) = [run for run in ask_model.QWEN_RUNS if run.dataset == "hanna"]
    predicted = pairs_of(N, 4 * N, both_orders=True, seed=(0, 0))
    assert run.calls == len(predicted) == predict_more.HANNA
    asked = run.in_quarters(ask_model.load("hanna"))
    assert np.array_equal(asked, few_calls.story_calls())
    asked = asked.reshape(-1, 2)
    assert {tuple(x) for x in asked.tolist()} == {tuple(x) for x in predicted.tolist()}


@pytest.fixture
def run():
    (run,) = [run for run in ask_model.QWEN_RUNS if run.dataset == "hanna"]
    return run


def said(calls, attributes=("coherence", "complexity"), scale=1.0):
    """A table of what a judge that knows people's scores said, and always likes the first place."""
    parts = []
    for attribute in attributes:
        gold = ask_model.load("hanna").scores[attribute][0]
        logits = scale * (gold[calls[:, 0]] - gold[calls[:, 1]]) + 0.7
        parts.append(
            pd.DataFrame(
                {
                    "attribute": attribute,
                    "context": 0,
                    "first": calls[:, 0],
                    "second": calls[:, 1],
                    "log_p_1": np.log(expit(logits)),
                    "log_p_2": np.log(expit(-logits)),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def keep_of_hanna(monkeypatch, table):
    """Put a table in place of what is kept about HANNA; all else stays as it is."""
    real = answers.kept
    monkeypatch.setattr(
        answers, "kept", lambda name, *of: table if name == "hanna-poe" else real(name, *of)
    )


@pytest.mark.parametrize(("quarter", "sizes"), [(1, {"N"}), (2, {"N", "2N"}), (3, {"N", "2N"})])
def test_a_part_of_the_run_is_read_as_far_as_it_goes(monkeypatch, quarter, sizes):
    calls = few_calls.story_calls()
    table = said(calls[:quarter].reshape(-1, 2))
    keep_of_hanna(monkeypatch, table)
    got, logits = few_calls.asked("complexity", ask_model.QWEN)
    assert np.array_equal(got, calls[:quarter])
    assert logits.shape == (quarter, N)
    found = few_calls.numbers(got, logits, ask_model.load("hanna").scores["complexity"][0])
    assert {name.split(", ")[1].split(" ")[0] for name in found} == sizes
    both, _ = predict_more.asked_stories()
    assert len(both) == (0 if quarter < 3 else 2 * N)
    values = predict_more.measured(predict_more.FEW)
    assert {attribute for _, attribute in values} == {"mean", *predict_more.STORIES}
    assert {quantity for quantity, _ in values} == set(found)


def test_a_judge_that_knows_ranks_all_whatever_it_makes_of_places():
    """Exact logits with a bias of 0.7, of which the plug-in leaves a little.

    Along the tree of the first N calls that adds up; with no bias the tree is exact.
    """
    gold = np.random.default_rng(0).permutation(np.linspace(-1.0, 1.0, N))
    calls = few_calls.story_calls()
    logits = gold[calls[..., 0]] - gold[calls[..., 1]] + 0.7
    found = few_calls.numbers(calls, logits, gold)
    assert 50.0 < found["PoE-BT, N"] < 99.0
    exact = few_calls.large.scores(
        few_calls.Comparisons.from_pairs(calls[0], expit(logits[0] - 0.7), items=N)
    )["PoE-BT"]
    assert np.corrcoef(exact, gold)[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert found["PoE-BT, 2N"] > 99.9
    assert found["PoE-BT, 4N"] == pytest.approx(100.0, abs=0.1)
    assert found["PoE-BT, one order with the other"] > 99.5
    assert found["PoE-BT, 2N, with PoE-BT of 4N"] > 99.5
    turned = few_calls.numbers(calls, -logits, gold)
    assert turned["PoE-BT, 4N"] == pytest.approx(-100.0, abs=0.1)
    assert found["PoE-BT - avg-prob, 2N"] == pytest.approx(
        found["PoE-BT, 2N"] - found["avg-prob, 2N"]
    )


def test_all_calls_are_read_as_the_predictions_of_2112_pairs_read_them(monkeypatch):
    calls = few_calls.story_calls()
    table = said(calls.reshape(-1, 2), scale=0.5)
    keep_of_hanna(monkeypatch, table)
    both, logits = predict_more.asked_stories("complexity")
    gold = ask_model.load("hanna").scores["complexity"][0]
    there = predict_more.of_set(both, logits, gold)
    here = few_calls.numbers(*few_calls.asked("complexity", ask_model.QWEN), gold)
    for method in few_calls.METHODS:
        assert here[f"{method}, 4N"] == pytest.approx(there[method], abs=0.02), method
