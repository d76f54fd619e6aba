"""`poe judge` and `poe store`: a dataset's questions asked once, in parts, together again."""

import numpy as np
import pandas as pd
import pytest

import poe
from poe import datasets
from poe.cli import main
from poe.commands.progress import LimitReachedError, Progress, duration
from poe.errors import JudgeError
from poe.judges import planning, prompts
from poe.judges.demo import DemoJudge
from poe.judges.questions import Answer
from poe.judges.store import Store
from tests.judging import hear

DATASET = datasets.load("topicalchat", source="stand-in")  # 60 contexts, 6 candidates
PROMPT = prompts.load("topicalchat", prompts.attributes("topicalchat")[0])
ATTRIBUTE = prompts.attributes("topicalchat")[0]


@pytest.fixture
def asked(monkeypatch):
    """The keys of all questions that the demo judge answers."""
    return hear(monkeypatch, DemoJudge, lambda question: question.key)


def judge(*more, dataset="topicalchat", attribute=ATTRIBUTE, name="demo"):
    given = ["judge", dataset, attribute, "--judge", name, "--texts", "stand-in", "--quiet"]
    return main([*given, *more])


# Which questions ---------------------------------------------------------------------------


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("n", [2, 3, 6, 11, 16])
def test_all_comparisons_in_an_order_whose_beginnings_are_good(n, both):
    every = planning.pairs_of(n, None, both_orders=both, seed=(0, 1))
    assert len({tuple(pair) for pair in every.tolist()}) == len(every) == n * (n - 1)
    assert (every[:, 0] != every[:, 1]).all()
    step = 2 if both else 1
    for count in range(2 * step, len(every), 2 * step):
        beginning = planning.pairs_of(n, count, both_orders=both, seed=(0, 1))
        np.testing.assert_array_equal(beginning, every[:count])
        pairs = np.sort(beginning, axis=1)
        half = n * (n - 1) // 2
        assert len(np.unique(pairs, axis=0)) == (count // 2 if both else min(count, half))
        if count >= 2 * step * (n - 1) and n > 2:
            c = poe.Comparisons.from_pairs(beginning, np.full(count, 0.5), items=n)
            assert len(c.components()) == 1


def test_who_is_shown_first_is_balanced():
    first = np.zeros(10)
    for seed in range(60):
        pairs = planning.pairs_of(10, 20, both_orders=False, seed=(seed, 0))
        first += np.bincount(pairs[:, 0], minlength=10)
    assert abs(first / first.sum() - 0.1).max() < 0.02


@pytest.mark.parametrize(
    ("count", "both", "message"), [(31, False, "have 30"), (5, True, "in twos: 6, not 5")]
)
def test_pairs_that_there_are_not(count, both, message):
    with pytest.raises(JudgeError, match=message):
        planning.pairs_of(6, count, both_orders=both, seed=(0,))


def test_questions_go_context_by_context():
    made = planning.questions_of(DATASET, PROMPT, contexts=range(2, 4), calls=7)
    assert len(made) == 14
    for k, question in enumerate(made):
        c = 2 + k // 7
        assert question.context == DATASET.context(c)
        assert question.first in DATASET.candidates(c)
        assert question.second in DATASET.candidates(c)


def test_a_scoring_prompt_asks_once_a_text():
    scoring = prompts.load("summeval", "coherence", "g-eval")
    summeval = datasets.load("summeval", source="stand-in")
    made = planning.questions_of(summeval, scoring, contexts=range(3), calls=5)
    assert [q.first for q in made] == [t for c in range(3) for t in summeval.candidates(c)]
    assert all(q.second is None for q in made)


@pytest.mark.parametrize(
    ("wanted", "found"), [(None, range(60)), ("3", range(3)), ("10:12", range(10, 12))]
)
def test_contexts(wanted, found):
    assert planning.contexts_of(DATASET, wanted) == found


@pytest.mark.parametrize("wanted", ["0", "61", "5:5", "7:3", "a", "-1", "1:2:3"])
def test_contexts_that_there_are_not(wanted):
    with pytest.raises(JudgeError, match="at most 60"):
        planning.contexts_of(DATASET, wanted)


@pytest.mark.parametrize("parts", [1, 2, 7, 50])
def test_shards_are_a_partition(parts):
    whole = planning.questions_of(DATASET, PROMPT, contexts=range(2), calls=9)
    found = [planning.shard_of(whole, f"{i}/{parts}") for i in range(1, parts + 1)]
    assert [q.key for part in found for q in part] == [q.key for q in whole]
    assert max(map(len, found)) - min(map(len, found)) <= 1


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_shards_that_there_are_not(shard):
    with pytest.raises(JudgeError, match="a shard is written 2/8"):
        planning.shard_of([], shard)


# What it will take -------------------------------------------------------------------------


def test_throughput_by_hand():
    at = pd.Series([0.0, 0.5, 1.0, 1000.0, 1000.5, 1001.0])
    assert planning.throughput(pd.to_datetime(at, unit="s", utc=True)) == pytest.approx(2.0)
    assert planning.throughput(pd.to_datetime(at[:1], unit="s", utc=True)) is None
    assert planning.throughput(pd.to_datetime(at[[0, 3]], unit="s", utc=True)) is None


def test_cost_from_words_and_from_what_was_done():
    questions = planning.questions_of(DATASET, PROMPT, contexts=range(4), calls=10)
    nothing = pd.DataFrame({"at": []})

    class Other:
        specification = {"kind": "server"}  # noqa: RUF012

    found = planning.cost(questions, Other(), nothing)
    words = np.mean([len(q.text.split()) for q in questions])
    assert found.tokens == pytest.approx(40 * words * 4 / 3)
    assert found.seconds is None
    at = pd.DataFrame({"at": pd.to_datetime(pd.Series(np.arange(11) / 5), unit="s", utc=True)})
    assert planning.cost(questions, Other(), at).seconds == pytest.approx(40 / 5)
    assert planning.cost([], Other(), nothing).tokens == 0


@pytest.mark.filterwarnings("ignore:.*gives the label words only")
def test_tokens_are_counted_by_the_tokenizer_that_is_there(tmp_path):
    pytest.importorskip("torch")
    from poe.judges.transformers import TransformersJudge
    from tests import tiny_models

    tiny_models.decoder("llama").save_pretrained(tmp_path)
    tiny_models.tokenizer().save_pretrained(tmp_path)
    questions = planning.questions_of(DATASET, PROMPT, contexts=range(1), calls=6)
    reader = TransformersJudge(tmp_path)
    found = planning.cost(questions, reader, pd.DataFrame({"at": []}))
    said = dict(reader.answer(questions))
    assert found.tokens == pytest.approx(sum(answer.tokens for answer in said.values()))
    assert "tokenizer" in found.tokens_by


# The command -------------------------------------------------------------------------------


def test_it_fills_a_store_and_says_so(folder, asked, capsys):
    assert judge("--calls", "8", "--contexts", "5") == 0
    out = capsys.readouterr().out
    assert f"topicalchat/{ATTRIBUTE} (invented stand-in texts): 40 calls, 0 answered" in out
    assert "all 40 answers are in judgements.sqlite" in out
    assert len(set(asked)) == 40
    with Store("judgements.sqlite") as store:
        table = store.table()
        assert len(store.by_context()) == 5
    assert f"first position preferred: {(table['p'] > 0.5).mean():.1%}" in out
    assert judge("--calls", "8", "--contexts", "5") == 0
    assert "40 answered already, 0 to ask" in capsys.readouterr().out
    assert len(asked) == 40


@pytest.mark.parametrize("name", datasets.names())
def test_every_dataset_can_be_judged(folder, asked, name):
    attribute = prompts.attributes(name)[0]
    assert judge("--contexts", "1", "--calls", "6", dataset=name, attribute=attribute) == 0
    assert len(set(asked)) == 6


def test_a_larger_run_asks_only_what_is_new(folder, asked):
    judge("--calls", "8", "--contexts", "5")
    judge("--calls", "12", "--contexts", "6")
    assert len(asked) == len(set(asked)) == 72
    judge("--full", "--contexts", "6")
    assert len(asked) == len(set(asked)) == 180


def test_a_dry_run_asks_nothing(folder, asked, capsys):
    judge("--calls", "10", "--contexts", "4")
    before = len(asked)
    capsys.readouterr()
    assert judge("--dry-run") == 0
    out = capsys.readouterr().out
    assert "1,800 calls, 40 answered already, 1,760 to ask" in out
    assert "tokens (words; the demo judge has no tokens)" in out
    assert "in this store so far" in out
    assert len(asked) == before
    with Store("judgements.sqlite") as store:
        assert len(store) == 40


def test_equal_texts_are_asked_about_once(folder, asked, monkeypatch, capsys):
    import dataclasses

    texts = DATASET.texts[0]
    twins = ((*texts[:5], texts[0]), *DATASET.texts[1:])
    content = dataclasses.replace(DATASET.read(), texts=twins)
    changed = dataclasses.replace(DATASET, read=lambda: content)
    monkeypatch.setattr(datasets, "load", lambda name, source: changed)
    assert judge("--contexts", "1") == 0
    # 30 comparisons; those with the copy are those with the original, and so are its own two.
    assert "30 calls, 9 the same as another (equal texts), 0 answered already, 21 to ask" in (
        capsys.readouterr().out
    )
    assert len(asked) == 21


def test_shards_merge_into_the_whole(folder, asked, capsys):
    for i in (1, 2, 3):
        assert judge("--contexts", "4", "--shard", f"{i}/3", "--store", f"{i}.sqlite") == 0
    assert len(asked) == len(set(asked)) == 120
    assert main(["store", "merge", "1.sqlite", "2.sqlite", "3.sqlite"]) == 0
    assert "1.sqlite now has 120 answers" in capsys.readouterr().out
    assert judge("--contexts", "4", "--store", "1.sqlite") == 0
    assert len(asked) == 120, "together they are the whole"
    assert main(["store", "list", "1.sqlite"]) == 0
    out = capsys.readouterr().out
    assert "demo (readability), not a language model" in out
    assert f"topicalchat/{ATTRIBUTE}: 120 answers" in out
    assert main(["store", "export", "1.sqlite", "all.csv"]) == 0
    assert len(pd.read_csv("all.csv")) == 120


def test_more_shards_than_calls(folder, asked, capsys):
    assert judge("--contexts", "1", "--calls", "5", "--shard", "1/9") == 0
    assert "shard 1/9 of 5 calls is empty" in capsys.readouterr().out
    assert asked == []


def test_ctrl_c_keeps_what_was_answered(folder, asked, monkeypatch, capsys):
    answer, stopped = DemoJudge.answer, []

    def interrupted(self, questions):
        for k, said in answer(self, questions):
            if len(asked) == 31 and not stopped:
                stopped.append(asked.pop())
                raise KeyboardInterrupt
            yield k, said

    monkeypatch.setattr(DemoJudge, "answer", interrupted)
    assert judge("--contexts", "2") == 130
    streams = capsys.readouterr()
    assert "the 30 answers so far are in judgements.sqlite" in streams.err
    assert judge("--contexts", "2") == 0
    assert len(asked) == len(set(asked)) == 60


def test_limits(folder, asked, capsys):
    assert judge("--contexts", "2", "--limit-calls", "25") == 0
    assert "25 asked, 35 left by --limit-calls" in capsys.readouterr().out
    assert len(asked) == 25
    assert judge("--contexts", "2", "--limit-tokens", "100") == 1
    assert "limit of 100 tokens is reached" in capsys.readouterr().err
    assert judge("--contexts", "2") == 0
    assert len(asked) == len(set(asked)) == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "topicalchats"}, "did you mean 'topicalchat'"),
        ({"attribute": "coherance"}, "topicalchat"),
        ({"name": "mistral"}, "there is no judge 'mistral'"),
        ({"more": ("--template", "poet")}, "poet"),
        ({"more": ("--contexts", "61")}, "at most 60"),
        ({"more": ("--shard", "3/2")}, "2/8"),
        ({"more": ("--calls", "31")}, "6 texts have 30 comparisons"),
        ({"more": ("--store", "missing/s.sqlite")}, "missing"),
    ],
)
def test_mistakes_are_named(folder, asked, capsys, options, message):
    more = options.pop("more", ())
    assert judge(*more, **options) == 1
    error = capsys.readouterr().err
    assert error.startswith("poe: ")
    assert message in error
    assert asked == []


def test_texts_that_are_not_here(folder, monkeypatch, capsys):
    monkeypatch.setenv("POE_DATA_DIR", str(folder))
    monkeypatch.setenv("POE_CACHE_DIR", str(folder / "cache"))
    assert judge("--texts", "real") == 1
    assert "poe data fetch topicalchat" in capsys.readouterr().err


def test_stores_that_are_not_there(folder, capsys):
    for arguments in (["list", "no.sqlite"], ["export", "no.sqlite", "x.csv"]):
        assert main(["store", *arguments]) == 1
        assert "there is no store no.sqlite" in capsys.readouterr().err
    assert not (folder / "no.sqlite").exists(), "looking makes none"
    judge("--contexts", "1", "--calls", "5")
    assert main(["store", "export", "judgements.sqlite", "x.txt"]) == 1
    assert ".csv or .parquet" in capsys.readouterr().err
    assert main(["store", "merge", "judgements.sqlite", "no.sqlite"]) == 1
    assert "no.sqlite" in capsys.readouterr().err


# Progress ----------------------------------------------------------------------------------


def said(p, tokens=10):
    return Answer((float(np.log(p)), float(np.log1p(-p))), tokens=tokens)


def test_progress_counts(capsys, monkeypatch):
    monkeypatch.setattr("poe.commands.progress.PATIENCE", -1.0)
    progress = Progress(10)
    progress(done=2, total=10, answers=[said(0.9), said(0.2)])
    progress(done=4, total=10, answers=[said(0.8), said(0.5)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("2/10 calls, ")
    assert lines[0].endswith("first position 50%")
    assert lines[1].endswith("first position 62%"), "2.5 of 4"
    assert (progress.calls, progress.tokens) == (4, 40)


def test_limits_are_checked_after_counting():
    progress = Progress(10, quiet=True, limit_tokens=25)
    progress(done=2, total=10, answers=[said(0.9), said(0.2)])
    with pytest.raises(LimitReachedError, match=r"limit of 25 tokens is reached \(30 were used\)"):
        progress(done=3, total=10, answers=[said(0.9)])


@pytest.mark.parametrize(
    ("seconds", "words"), [(40, "40 s"), (200, "3 min"), (9000, "2.5 h"), (345_600, "4.0 days")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words
