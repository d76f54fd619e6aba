"""`poe rank` and `poe judge` with judges of both other kinds: a model, and a server.

The models are tiny and their weights random: what they say is evidence about the plumbing alone.
"""

import pandas as pd
import pytest

from poe.cli import main

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests import tiny_models
from tests.judge_server import serving

TEXTS = [(f"t{k}", f"The {'very ' * k}reader can tell what happened.") for k in range(6)]
# The tiny model behind the server says a label after these words.
SAYS = ("--thing", "summary", "--judge-option", "prefix=continue")


@pytest.fixture
def folder(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pd.DataFrame(TEXTS, columns=["id", "text"]).to_csv("texts.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    tiny_models.decoder("llama").save_pretrained(path)
    tiny_models.tokenizer().save_pretrained(path)
    return path


def rank(judge, *more):
    given = ["rank", "texts.csv", "--attribute", "clearer", "--judge", judge, "--quiet"]
    return main([*given, "--out", "s.csv", "--comparisons", "c.csv", "--report", "r.html", *more])


def test_a_model(folder, model, capsys):
    assert rank(f"hf:{model}") == 0
    streams = capsys.readouterr()
    assert "30 asked now" in streams.out
    assert "gives the label words only" in streams.err, "random weights rarely say A or B"
    assert "UserWarning" not in streams.err
    made = pd.read_csv("c.csv")
    assert made["p"].between(0, 1).all()
    assert (made["mass"] < 0.5).all()
    assert (made["tokens"] > 10).all()
    page = (folder / "r.html").read_text()
    assert '<span class="kind">measured</span>' in page
    assert "float32" in page
    before = pd.read_csv("s.csv")
    assert rank(f"hf:{model}") == 0
    assert "0 asked now, 30 from the store" in capsys.readouterr().out
    pd.testing.assert_frame_equal(before, pd.read_csv("s.csv"))


def test_a_server(folder, capsys):
    with serving() as served:
        assert rank(f"openai:tiny@{served.url}", *SAYS, "--judge-option", "concurrency=2") == 0
        out = capsys.readouterr().out
        assert "30 asked now" in out
        assert rank(f"openai:tiny@{served.url}", *SAYS) == 0
        assert "0 asked now, 30 from the store" in capsys.readouterr().out
    made = pd.read_csv("c.csv")
    assert made["p"].between(0, 1).all()
    assert "measured" in (folder / "r.html").read_text()


def test_a_server_is_not_called_for_what_is_stored(folder, capsys):
    with serving() as served:
        judge = f"openai:tiny@{served.url}"
        assert rank(judge, *SAYS, "--dry-run", "--price-input", "1") == 0
        assert "at most 30 calls; 0 answers are in" in (out := capsys.readouterr().out)
        assert "about $0.00" in out
        assert len(served.requests) == 0, "a dry run never pays"
        assert rank(judge, *SAYS) == 0
        asked = len(served.requests)
        for more in ((), ("--dry-run",), ("--offline",), ("--expert", "gaussian"), ("--seed", "3")):
            assert rank(judge, *SAYS, *more) == 0
        assert len(served.requests) == asked
    whole = pd.read_csv("s.csv")
    assert rank(judge, *SAYS) == 0, "the report can be made when the server is gone"
    assert rank(judge, "--offline", "--thing", "summary") == 0
    assert pd.read_csv("s.csv")["id"].tolist() == whole["id"].tolist()


def test_several_judges_share_a_budget_and_a_limit(folder, capsys):
    with serving() as served:
        one, two = (f"openai:{name}@{served.url}" for name in ("one", "two"))
        both = (*SAYS, "--judge", two)
        assert rank(one, *both, "--budget", "41") == 0
        assert len(served.requests) == 41 + 2, (
            "each was asked once whether it goes on from a prefix"
        )
        assert pd.read_csv("s.csv").groupby("judge").size().to_dict() == {"one": 6, "two": 6}
        assert sorted(pd.read_csv("c.csv").groupby("judge").size()) == [20, 21]
        page = (folder / "r.html").read_text()
        assert "Judge one" in page
        assert "Judge two" in page
        assert "put to a judge, one and two" in page
        out = capsys.readouterr().out
        assert "Judge two\n" in out
        assert "41 comparisons" in out
        assert rank(one, *both, "--limit-calls", "50", "--store", "new.sqlite") == 3
        assert len(served.requests) == 43 + 50
        assert pd.read_csv("s.csv").groupby("judge")["partial"].sum().to_dict() == {
            "one": 0,
            "two": 6,
        }


def test_a_server_never_oversteps_the_limit_and_one_that_is_not_there_is_named(folder, capsys):
    with serving() as served:
        assert rank(f"openai:tiny@{served.url}", *SAYS, "--limit-calls", "12") == 3
        assert len(served.requests) == 12
    assert "the limit of 12 calls is reached" in capsys.readouterr().out
    assert pd.read_csv("s.csv")["partial"].all()
    url = "http://127.0.0.1:9/v1"
    assert rank(f"openai:tiny@{url}", "--judge-option", "patience=0.2", "--store", "n.sqlite") == 1
    error = capsys.readouterr().err
    assert error.startswith("poe: ")
    assert "127.0.0.1:9" in error
