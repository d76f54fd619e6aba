"""`judging ask` and `judging store`: a dataset's questions asked once, in parts, together again."""

import dataclasses
import json
import multiprocessing
import os
import signal
import time
from functools import partial
from unittest import mock

import pandas as pd
import pytest

from judging import datasets, prompts
from judging.datasets import Dataset
from judging.judges.demo import DemoJudge
from judging.practice.cli import _killed_politely, main
from judging.practice.cli.opening import open_judge
from judging.practice.ranking.settings import Asking
from judging.store import Store
from tests.asking import hear
from tests.judge_server import serving

DATASET = datasets.load("topicalchat")  # 60 contexts, 6 candidates
ATTRIBUTE = prompts.attributes("topicalchat")[0]


pytestmark = pytest.mark.usefixtures("placeholder_texts")


@pytest.fixture
def asked(monkeypatch):
    """The keys of all questions that the demo judge answers."""
    return hear(monkeypatch, DemoJudge, lambda question: question.key)


def judge(*more, dataset="topicalchat", attribute=ATTRIBUTE, name="demo", contexts=60):
    """Ask about the first contexts of the dataset."""
    given = ["ask", dataset, attribute, "--judge", name, "--quiet"]
    with mock.patch.object(Dataset, "n_contexts", contexts):
        return main([*given, *more])


# The command -------------------------------------------------------------------------------


def test_it_fills_a_store_and_says_so(folder, asked, capsys):
    assert judge("--budget", "40", contexts=5) == 0
    out = capsys.readouterr().out
    assert f"topicalchat/{ATTRIBUTE}: 40 calls, 0 answered" in out
    assert "all 40 answers are in judgements.sqlite" in out
    assert len(set(asked)) == 40
    with Store("judgements.sqlite") as store:
        assert len(store.by_context()) == 5
    assert judge("--budget", "40", contexts=5) == 0
    assert "40 answered already, 0 to ask" in capsys.readouterr().out
    assert judge("--dry-run") == 0
    assert "1,800 calls, 40 answered already, 1,760 to ask" in capsys.readouterr().out
    assert len(asked) == 40
    judge("--budget", "72", contexts=6)
    assert len(asked) == len(set(asked)) == 72, "a larger run asks only what is new"
    judge(contexts=6)
    assert len(asked) == len(set(asked)) == 180


def test_equal_texts_are_asked_about_once(folder, asked, monkeypatch, capsys):
    content = DATASET._content
    first = (*content.texts[0][:5], content.texts[0][0])
    changed = dataclasses.replace(content, texts=(first, *content.texts[1:]))
    monkeypatch.setattr(type(DATASET), "_content", changed)
    assert judge(contexts=1) == 0
    # 30 comparisons; those with the copy are those with the original, and so are its own two.
    assert "30 calls, 9 the same as another (equal texts), 0 answered already, 21 to ask" in (
        capsys.readouterr().out
    )
    assert len(asked) == 21


def test_shards_merge_into_the_whole(folder, asked, capsys):
    assert judge("--budget", "5", "--shard", "1/9", contexts=1) == 0
    assert "shard 1/9 of 5 calls is empty" in capsys.readouterr().out
    assert asked == []
    for i in (1, 2, 3):
        assert judge("--shard", f"{i}/3", "--store", f"{i}.sqlite", contexts=4) == 0
    assert len(asked) == len(set(asked)) == 120
    assert main(["store", "merge", "1.sqlite", "2.sqlite", "3.sqlite"]) == 0
    assert "1.sqlite now has 120 answers" in capsys.readouterr().out
    assert judge("--store", "1.sqlite", contexts=4) == 0
    assert len(asked) == 120, "together they are the whole"
    assert main(["store", "list", "1.sqlite"]) == 0
    out = capsys.readouterr().out
    assert "demo (readability), not a language model" in out
    assert f"topicalchat/{ATTRIBUTE}: 120 answers" in out


def test_texts_of_ones_own_in_shards(folder, asked, capsys):
    rows = [
        {"id": f"e{k}", "text": f"Essay {k} says {k * k}.", "context": "ab"[k % 2]}
        for k in range(16)
    ]
    pd.DataFrame(rows).to_csv("essays.csv", index=False)
    own = {"dataset": "essays.csv", "attribute": "more persuasive"}
    for i in (1, 2):
        shard = ("--shard", f"{i}/2", "--store", f"{i}.sqlite", "--thing", "essay")
        assert judge(*shard, "--budget", "40", "--orders", "both", **own) == 0
    assert "own/more persuasive: 20 calls, shard 2/2" in capsys.readouterr().out
    assert main(["store", "merge", "1.sqlite", "2.sqlite"]) == 0
    prompt = prompts.for_attribute("more persuasive", thing="essay", context="Context")
    with Store("1.sqlite") as store:  # as `judging rank` would have asked
        for one in store.by_context(prompt=prompt.digest).values():
            assert len(one) == 20
            assert len(one.items) == 8
            assert len({tuple(sorted(pair)) for pair in one.pairs.tolist()}) == 10
    ranked = ["rank", "essays.csv", "--attribute", "more persuasive", "--thing", "essay"]
    ranked += ["--judge", "demo", "--offline", "--store", "1.sqlite", "--quiet"]
    assert main(ranked) == 0
    assert len(asked) == len(set(asked)) == 40


@pytest.mark.filterwarnings("ignore:.*of the probability on average")
@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
def test_a_polite_kill_is_a_first_ctrl_c(folder, capsys, request, ctrl_c):
    """SIGTERM: calls under way are waited for, all answers kept, and the same command goes on.

    Also in the background of a shell, which has Ctrl-C ignored.
    """

    def kill(k, body):
        if k == 9:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, ctrl_c)
    with serving(kill, delay=0.05) as served:
        name = f"openai:tiny@{served.url}"
        assert judge(name=name, contexts=1) == 130
        assert "answers so far are in judgements.sqlite" in capsys.readouterr().err
        assert 10 <= (paid := len(served.requests)) < 30
        with Store("judgements.sqlite") as store:
            assert len(store) == paid, "nothing that was asked is lost"
        assert judge(name=name, contexts=1) == 0
        assert len(served.requests) == 30
    assert signal.getsignal(signal.SIGTERM) is before
    assert signal.getsignal(signal.SIGINT) is ctrl_c


def test_a_worker_that_its_pool_ends_goes_without_a_word(capfd):
    """Workers inherit what the command does about SIGTERM, and have nothing to keep."""
    with _killed_politely(), multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.apply(signal.getsignal, (signal.SIGTERM,)) is signal.SIG_DFL, "or it may hang"
        for _ in range(2):
            pool.apply_async(time.sleep, (60,))
        time.sleep(0.5)  # both are busy now; leaving the block terminates them
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore:.*of the probability on average")
def test_a_server_that_is_lost_leaves_a_part_and_the_same_command_goes_on(folder, capsys):
    """As for `judging rank`; one that takes no connection is no judge that is available."""
    asked = ("--judge-option", "patience=2", "--judge-option", "concurrency=1")
    with serving(lambda k, body: None if k < 12 else "500") as served:
        name = f"openai:tiny@{served.url}"
        assert judge(*asked, name=name, contexts=1) == 3
        assert "12 answered, 18 left: " in capsys.readouterr().out
    with serving() as served:
        moved = ("--judge-option", f"server={name.partition('//')[2]}")
        assert judge(*asked, *moved, "--json", name=f"openai:tiny@{served.url}", contexts=1) == 0
        assert json.loads(capsys.readouterr().out)["asked"] == 18
    assert (
        judge(*asked, "--store", "new.sqlite", name="openai:tiny@http://127.0.0.1:9/v1", contexts=1)
        == 2
    )
    assert "no connection to 127.0.0.1:9/v1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "said"),
    [("401", "--judge-option key_env=NAME"), ("404", "or not this model (404)")],
)
def test_a_server_that_will_not_have_us_is_no_judge_that_is_available(folder, capsys, fault, said):
    with serving(lambda k, body: fault) as served:
        assert judge(name=f"openai:tiny@{served.url}", contexts=1) == 2
    assert said in capsys.readouterr().err


def test_limits_reach_every_judge(monkeypatch):
    opened = []
    monkeypatch.setattr("judging.judges.open", lambda name, **options: opened.append(options))
    for name in ("demo", "smollm2", "hf:model", "openai:m@http://localhost/v1"):
        open_judge(name, ["limit_calls=3"], Asking(limit_calls=5, limit_tokens=7))
    assert opened == [{"limit_calls": 3, "limit_tokens": 7}] * 4


@pytest.mark.filterwarnings("ignore:.*of the probability on average")
def test_a_server_is_asked_no_more_than_was_allowed_and_nothing_by_a_dry_run(folder, capsys):
    extra = {"max_completion_tokens": 1, "enable_thinking": False}
    with serving() as served:
        asked = ("--judge-option", f"options={json.dumps(extra)}")
        name = f"openai:tiny@{served.url}?api-version=1"
        assert judge(*asked, "--dry-run", name=name, contexts=1) == 0
        assert served.requests == []
        assert judge(*asked, "--limit-calls", "5", name=name, contexts=1) == 3
        assert "5 answered, 25 left: the limit of 5 calls" in capsys.readouterr().out
        assert len(served.requests) == 5
        (body, *_) = served.requests
        assert "max_tokens" not in body
        assert (body["max_completion_tokens"], body["enable_thinking"]) == (1, False)
        assert judge(*asked, name=name, contexts=1) == 0
        assert len(served.requests) == 30
        assert judge(*asked, name=name, contexts=1) == 0  # a report of what is stored costs nothing
        assert len(served.requests) == 30
