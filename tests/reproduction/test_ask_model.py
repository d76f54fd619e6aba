"""Asking a model about the datasets and keeping what it answered; what its answers show."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import spearmanr

from judging import datasets
from judging.judges.recorded import llmbar
from reproduction import answers as stored
from reproduction import ask_model, measured_tables, to_ask
from reproduction.quarters import whole
from reproduction.settings import Settings

SETTINGS = Settings(draws=4)

# Asking and keeping ------------------------------------------------------------------------

FEW = (
    ask_model.Run("topicalchat", "poe", ("coherency",), 4),
    ask_model.Run("topicalchat", "poe", ("continuity",), 2),
    ask_model.Run("topicalchat", "g-eval", ("coherency",), 3),
)


@pytest.fixture
def small(monkeypatch, tmp_path, placeholder_texts):
    """Few questions, the demo judge in the model's place, and another folder for what is kept."""
    for which, model in list(ask_model.MODELS.items()):
        monkeypatch.setitem(ask_model.MODELS, which, replace(model, judge="demo"))
        monkeypatch.setitem(ask_model.ASKED, which, FEW[:2])

    def folder(model=ask_model.SMOLLM2):
        return tmp_path / "measured" / model.folder

    for module in (ask_model, stored):
        monkeypatch.setattr(module, "folder", folder)
    ask_model.answers.cache_clear()
    yield tmp_path / "store.sqlite"
    ask_model.answers.cache_clear()


def test_answers_come_back_as_they_were_given(small):
    ask_model.work(small)
    ask_model.keep(small)
    contexts, log_p = ask_model.answers("topicalchat", "coherency")
    assert contexts == [0, 1, 2, 3]
    assert log_p.shape == (4, 6, 6, 2)
    assert np.isnan(log_p[:, range(6), range(6)]).all()
    data = datasets.load("topicalchat")
    (_, one), *_ = ask_model.judges.open("demo").answer(FEW[0].of_context(data, 2)[:1])
    question = FEW[0].of_context(data, 2)[0]
    i, j = (data.candidate_ids.index(name) for name in question.ids[-2:])
    np.testing.assert_allclose(log_p[2, i, j], one.log_p, atol=1e-4)
    assert ask_model.answers("topicalchat", "continuity")[0] == [0, 1]
    with pytest.raises(LookupError, match="not asked about topicalchat naturalness"):
        ask_model.answers("topicalchat", "naturalness")


def test_another_model_has_a_folder_of_its_own_and_a_fair_sample_at_every_stop(small):
    model = ask_model.MODELS["qwen"]
    few = [ask_model.in_order(ask_model.Run("summeval", "poe", (), k), model) for k in (5, 30)]
    assert few[0] == few[1][:5] != sorted(few[0])
    assert len(set(few[1])) == 30
    ask_model.work(small, which="qwen")
    ask_model.keep(small, "qwen")
    contexts, log_p = ask_model.answers("topicalchat", "coherency", model=model)
    assert contexts == sorted(ask_model.in_order(FEW[0], model))
    assert log_p.shape == (4, 6, 6, 2)
    assert ask_model.about(model)["judge"] == model.name
    with pytest.raises(LookupError, match=r"SmolLM2.* was not asked"):
        ask_model.answers("topicalchat", "coherency")


def test_only_whole_contexts_are_kept_and_nothing_is_asked_twice(small, tmp_path, capsys):
    ask_model.work(small, part=0, parts=2)  # contexts 0 and 2, and of the other attribute 0
    ask_model.keep(small)
    assert ask_model.answers("topicalchat", "coherency")[0] == [0, 2]
    capsys.readouterr()
    other = tmp_path / "other.sqlite"
    ask_model.work(other)
    assert "2 of 2 contexts" in capsys.readouterr().out  # the two that are not kept yet
    ask_model.keep(other)
    ask_model.answers.cache_clear()
    assert ask_model.answers("topicalchat", "coherency")[0] == [0, 1, 2, 3]
    before = {path.name: path.read_bytes() for path in ask_model.folder().glob("*.gz")}
    ask_model.keep(other)
    assert before == {path.name: path.read_bytes() for path in ask_model.folder().glob("*.gz")}


DESIGN = ask_model.Run("summeval", "poe", ("coherence",), 1, calls=40)
PAIRS = ask_model.Run("llmbar", "poe", ("instruction",), 5)


def test_a_design_keeps_pairs_with_both_orders_and_fills_up(small, monkeypatch):
    monkeypatch.setitem(ask_model.ASKED, "smollm2", (DESIGN,))
    reader, data = ask_model.judges.open("demo"), datasets.load("summeval")
    questions = DESIGN.of_context(data, 0)
    assert len(questions) == 40
    with ask_model.Store(small) as store:
        store.ask(reader, questions[:7])  # three pairs, and half of one
    ask_model.keep(small)
    assert len(ask_model.kept("summeval-poe")) == 6
    contexts, log_p = ask_model.answers("summeval", "coherence")
    assert (contexts, log_p.shape) == ([0], (1, 16, 16, 2))
    there = ~np.isnan(log_p[0, ..., 0])
    assert there.sum() == 6
    assert (there == there.T).all()
    ask_model.work(small)
    ask_model.keep(small)
    ask_model.answers.cache_clear()
    _, log_p = ask_model.answers("summeval", "coherence")
    there = ~np.isnan(log_p[0, ..., 0])
    assert there.sum() == 40
    assert there.any(axis=1).all()  # every text is in a pair
    known = set(ask_model.kept("summeval-poe")[ask_model.PLACES].itertuples(index=False, name=None))
    assert DESIGN.of_context(data, 0, known) == []


QUARTERS = ask_model.Run("summeval", "poe", ("coherence", "fluency"), 1, 4 * 16, quarters=True)


def test_a_large_set_is_asked_and_kept_a_quarter_at_a_time(small, monkeypatch, capsys):
    monkeypatch.setitem(ask_model.ASKED, "smollm2", (QUARTERS,))
    monkeypatch.setattr(to_ask, "PART", 10)
    reader, data = ask_model.judges.open("demo"), datasets.load("summeval")
    questions, asked = QUARTERS.of_context(data, 0), QUARTERS.in_quarters(data)
    item = {name: k for k, name in enumerate(data.candidate_ids)}
    calls = [(item[q.first.id], item[q.second.id]) for q in questions]
    assert calls[::2] == calls[1::2] == [tuple(x) for x in asked.reshape(-1, 2).tolist()]
    assert {q.prompt.name for q in questions[:2]} == {"summeval/coherence", "summeval/fluency"}
    with ask_model.Store(small) as store:
        store.ask(reader, questions[: 2 * 16 + 9])  # a quarter, and some calls more
    ask_model.keep(small)
    table = ask_model.kept("summeval-poe")
    assert len(table) == 2 * 16
    there = table[table["attribute"] == "fluency"][["first", "second"]]
    assert {tuple(x) for x in there.to_numpy().tolist()} == {tuple(x) for x in asked[0].tolist()}
    (cost,) = ask_model.about()["runs"]["summeval-poe"]
    assert len(cost["first"]) == len("2026-11-27T02:00:00+00:00")
    ask_model.work(small)
    said = capsys.readouterr().out
    count = len(ask_model.parts_of([QUARTERS], data, [0], {"summeval-poe": to_known(table)}))
    assert f"summeval-poe: {count} of {count} parts" in said
    assert 5 < count < 10
    ask_model.keep(small)
    table = ask_model.kept("summeval-poe")
    assert len(table) == 2 * 64
    assert ask_model.parts_of([QUARTERS], data, [0], {"summeval-poe": to_known(table)}) == []


def to_known(table):
    return set(table[ask_model.PLACES].itertuples(index=False, name=None))


def test_pairs_of_llmbar_are_asked_in_both_orders_its_own_first(small, monkeypatch, capsys):
    monkeypatch.setitem(ask_model.ASKED, "qwen", (FEW[0], PAIRS))
    model = ask_model.MODELS["qwen"]
    ask_model.work(small, which="qwen", names=["llmbar-poe"])
    ask_model.keep(small, "qwen")
    said = capsys.readouterr().out
    assert "llmbar-poe: 5 of 5 contexts" in said
    assert "topicalchat" not in said
    contexts, log_p = ask_model.answers("llmbar", "instruction", model=model)
    assert contexts == sorted(ask_model.in_order(PAIRS, model))
    assert log_p.shape == (5, 2, 2, 2)
    data = ask_model.load("llmbar")
    every = ask_model.in_order(ask_model.Run("llmbar", "poe", ()), model)
    own = [not data.context_ids[c].startswith(("Fair", "LLMEval", "MT")) for c in every]
    assert own == sorted(own, reverse=True)
    assert sum(own) == 419
    with pytest.raises(ask_model.JudgeError, match="no run 'llmbar'"):
        ask_model.chosen("qwen", ["llmbar"])


def test_the_better_output_of_a_pair_is_that_of_the_recorded_verdicts():
    data, recorded = ask_model.load("llmbar"), llmbar()
    label = recorded.drop_duplicates(["set", "item"]).set_index(["set", "item"])["label"]
    for c in (0, 400, 884):
        where, _, item = data.context_ids[c].rpartition("/")
        assert data.scores["instruction"][c, label[where, int(item)] - 1] == 1.0
    assert (data.scores["instruction"].sum(axis=1) == 1.0).all()


def test_what_is_asked_together_begins_alike():
    parts = ask_model.together(ask_model.QWEN_RUNS)
    assert [run for part in parts for run in part] == list(ask_model.QWEN_RUNS)
    (five,) = [part for part in parts if part[0].template == "paraphrase-1"]
    assert [run.template for run in five] == [f"paraphrase-{k}" for k in range(1, 6)]
    wordings = [ask_model.Run("topicalchat", t, ("coherency",), 3) for t in ("poe", "words")]
    assert len(ask_model.together(wordings)) == 2


def test_texts_that_are_not_here_are_left_out(small, monkeypatch, capsys):
    monkeypatch.setattr(datasets.Dataset, "has_texts", False)
    ask_model.work(small)
    assert capsys.readouterr().out.count("not on this machine, so it is left out") == 2


# What was kept -----------------------------------------------------------------------------

TURNED = [*ask_model.CONTEXT, "second", "first"]
KEPT = sorted(
    {
        (which, run.name)
        for which, model in ask_model.MODELS.items()
        for run in ask_model.ASKED[which]
        if len(ask_model.kept(run.name, model))
    }
)


def test_there_are_answers():
    assert {("smollm2", "topicalchat-poe"), ("qwen", "topicalchat-poe")} <= set(KEPT)
    size = sum(path.stat().st_size for path in ask_model.folder().rglob("*") if path.is_file())
    assert size < 6e6


@pytest.mark.parametrize(("which", "name"), KEPT)
def test_kept_answers_are_whole_and_probabilities(which, name):
    table = ask_model.kept(name, ask_model.MODELS[which])
    assert not table.duplicated(ask_model.PLACES).any()
    data = ask_model.load(name.partition("-")[0])
    n = data.n_candidates
    about = ask_model.about(ask_model.MODELS[which])["runs"][name]
    by_gpu = any("device" in one for one in about)
    runs = to_ask.GPU_RUNS if by_gpu else ask_model.ASKED[which]
    runs = [run for run in runs if run.name == name]
    if any(run.by_first for run in runs):  # all calls that show a text first, or none
        asked = table.groupby(["attribute", "first"]).size()
        expected = np.bincount(runs[0].design(data)[:, 0], minlength=n)
        assert (asked == expected[asked.index.get_level_values("first")]).all()
        return
    if any(run.quarters for run in runs):
        asked = runs[0].in_quarters(data)
        for _, part in table.groupby("attribute"):
            assert whole(part[["first", "second"]].to_numpy(), asked).all()
        return
    if any(run.calls for run in runs):
        both = table.merge(table, left_on=ask_model.PLACES, right_on=TURNED)
        assert len(both) == len(table)
        return
    each = table.groupby(["attribute", "context"]).size()
    assert set(each) == {n if (table["second"] < 0).all() else n * (n - 1)}
    mass = np.exp(table.filter(like="log_p_")).sum(axis=1)
    assert mass.between(0.05, 1.0 + 1e-3).all()


@pytest.mark.needs("texts")
def test_the_texts_were_those_of_the_datasets():
    """Where the texts are at hand: the digests kept beside the answers."""
    every = [ask_model.about(model)["runs"].items() for model in ask_model.MODELS.values()]
    for name, runs in chain(*every):
        data = ask_model.load(name.partition("-")[0])
        if data.has_texts:
            assert {run["texts"] for run in runs} == {ask_model._digest_of_texts(data)}, name


# What answers show -------------------------------------------------------------------------


@pytest.fixture
def biased(monkeypatch):
    """A judge that knows the people's scores, and always prefers what it is shown first."""
    gold = np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (12, 1)), axis=1)
    gap = gold[:, :, None] - gold[:, None, :]
    p = expit(0.2 * gap + 3.0)
    log_p = np.log(np.stack([p, 1.0 - p], -1))
    one = measured_tables.Asked("topicalchat", "coherency", "poe", tuple(range(12)), log_p, gold)
    only = {("topicalchat", "poe"): [one]}
    monkeypatch.setattr(measured_tables, "group", lambda *which: only.get((*which, "poe")[:2], []))
    return one


def value(table, column="value", **wanted):
    for name, is_ in wanted.items():
        table = table[table[name] == is_]
    assert len(table) == 1, table
    return float(table[column].iloc[0])


def test_a_judge_that_always_says_a_ranks_by_its_probabilities(biased):
    found = measured_tables.corrections(SETTINGS)
    rank = found[found["quantity"] == "spearman"]
    raw = {"design": "both orders", "bias": "none"}
    assert value(rank, method="win-ratio", **raw) == 0.0
    assert value(found, quantity="flat", method="win-ratio", **raw) == 100.0
    for method in ("avg-prob", "PoE-BT", "PoE-g"):
        assert value(rank, method=method, **raw) == pytest.approx(100.0)
    for method in ("win-ratio", "avg-prob"):
        assert value(rank, method=method, design="averaged") == pytest.approx(100.0)
    once = {"design": "one order", "method": "PoE-BT"}
    assert value(rank, bias="fit", **once) == pytest.approx(100.0, abs=0.01)
    assert value(rank, bias="none", **once) < 60.0


def test_all_calls_of_a_perfect_judge_agree_with_people(biased):
    found = measured_tables.methods(SETTINGS)
    found = found[found["metric"] == "spearman"]
    assert value(found, method="PoE-BT", k=30) == pytest.approx(100.0)
    few = {"k": 12, "selection": "random"}
    assert value(found, method="win-ratio", **few) < value(found, method="PoE-BT", **few)
    assert value(found, "draw_se", method="win-ratio", **few) > 0.0


def test_decisions_of_single_calls_know_nothing_where_the_place_decides(biased):
    """Averaged first, its decisions are right; call by call, a text wins as often as it loses."""
    found = measured_tables.gains(SETTINGS)
    found = found[found["versus"] == "people"]
    for method in ("win-ratio", "BT"):
        assert value(found, k=30, method=f"PoE-BT - {method}") == pytest.approx(0.0)
        assert value(found, k=30, method=f"PoE-BT - {method}, each call") == pytest.approx(100.0)


def test_bradley_terry_on_single_calls_by_another_optimiser(biased):
    """All 30 calls of one dialogue: SciPy's minimum of the same likelihood, SciPy's correlation."""
    rng = np.random.default_rng(5)
    log_p = np.log(np.stack([p := rng.random((1, 6, 6)), 1.0 - p], -1))
    one = replace(biased, contexts=(0,), log_p=log_p, gold=biased.gold[:1])
    found = measured_tables._gains(one, SETTINGS)

    pairs, n = np.argwhere(~np.eye(6, dtype=bool)), 6
    averaged = (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0

    def scores(won, prior):
        def energy(s):
            d = s[pairs[:, 0]] - s[pairs[:, 1]]
            # A prior of so many wins to either side of each pair, which stands in two rows.
            lost = 1.0 - won
            prior_wins = prior / 2.0
            return -((won + prior_wins) * log_expit(d) + (lost + prior_wins) * log_expit(-d)).sum()

        return np.round(minimize(energy, np.zeros(n), tol=1e-9).x, 3)  # ties stay ties

    product = scores(averaged[0][tuple(pairs.T)], 0.0)
    decided = scores((p[0][tuple(pairs.T)] > 0.5).astype(float), 1 / (n - 1))
    expected = [spearmanr(s, one.gold[0]).statistic for s in (product, decided)]
    said = found[30, "people", "PoE-BT - BT, each call"]
    assert said.item() == pytest.approx(expected[0] - expected[1], abs=1e-9)
    together = found[30, "people", "PoE-BT - BT"]
    assert abs(together.item() - said.item()) > 0.02, "the two baselines differ here"


def test_shares_of_calls(biased):
    found = measured_tables.wordings(SETTINGS)
    for quantity, expected in {"first-position": 100, "mass": 100, "accuracy": 50}.items():
        assert value(found, quantity=quantity) == pytest.approx(expected)
    assert value(found, quantity="averaged") == pytest.approx(100.0)


def test_other_words_are_compared_on_the_calls_that_both_were_asked(biased, monkeypatch):
    """A design of two contexts: the same answers gain nothing, the opposite ones lose twice."""
    monkeypatch.setattr(measured_tables, "asked", lambda *_: biased)
    at = np.array([[5], [3]])
    way = np.array([[0, 1, 2, 3, 4, 5], [2, 0, 5, 1, 4, 3]])
    ends = (
        np.concatenate([way[:, :-1], way[:, 1:]], 1),
        np.concatenate([way[:, 1:], way[:, :-1]], 1),
    )
    log_p = np.full((2, 6, 6, 2), np.nan)
    log_p[(np.arange(2)[:, None], *ends)] = biased.log_p[(at, *ends)]
    few = replace(
        biased, template="words", contexts=(5, 3), log_p=log_p, gold=biased.gold[at[:, 0]]
    )
    assert biased.whole
    assert not few.whole
    assert few.all_calls().p.shape == (2, 10)
    same = measured_tables.wordings_of(few)
    assert same["gain",] == pytest.approx(np.zeros((1, 2)), abs=1e-12)
    assert same["first-position",] == pytest.approx(np.ones((1, 2)))
    opposite = measured_tables.wordings_of(replace(few, log_p=log_p[..., ::-1]))
    assert opposite["gain",] == pytest.approx(-2.0 * same["avg-prob",])
    assert (same["avg-prob",] > 0.0).all()
    assert (same["avg-prob",] < 1.0).any(), "a path of five pairs does not tell all"


def test_calibration_is_even_where_a_judge_is_too_sure(biased):
    found = measured_tables.calibration(SETTINGS)
    given = found[found["how"] == "as given"]
    assert (given["p"] > 0.9).mean() > 0.5
    assert np.average(given["value"], weights=given["count"]) == pytest.approx(50.0)
    averaged = found[found["how"] == "averaged"]
    assert (averaged["value"].iloc[0], averaged["value"].iloc[-1]) == (0.0, 100.0)
    assert set(found.groupby("how")["count"].sum()) == {12 * 30}


def test_the_mean_over_attributes_takes_the_contexts_that_all_have():
    """Hand-computed: four attributes, one of them with a context that the others lack."""
    gold = np.zeros((2, 6))
    names = ("coherency", "continuity", "engagingness", "naturalness")
    many = [
        measured_tables.Asked("topicalchat", name, "poe", (4, 7), gold, gold) for name in names[1:]
    ]
    more = measured_tables.Asked("topicalchat", names[0], "poe", (2, 4, 7), gold, gold)
    found = [{("x",): np.array([[0.9, 0.1, 0.2]])}, *[{("x",): np.array([[0.3, 0.5]])}] * 3]
    rows = list(measured_tables.rows_of([more, *many], found, columns=("what",)))
    assert [row["attribute"] for row in rows] == [*names, "mean"]
    assert [row["value"] for row in rows] == pytest.approx([40.0, 40.0, 40.0, 40.0, 33.75])
    assert (rows[0]["contexts"], rows[-1]["contexts"]) == (3, 2)
    # Of the contexts 4 and 7 the means over attributes are 0.25 and 0.425.
    assert rows[-1]["se"] == pytest.approx(100.0 * np.std([0.25, 0.425], ddof=1) / np.sqrt(2))
