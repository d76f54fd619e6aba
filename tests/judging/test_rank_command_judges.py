"""`judging rank` and `judging ask` with judges of both other kinds: a model, and a server.

The models are tiny and their weights random: what they say is evidence about the plumbing alone.
"""

import re

import pandas as pd
import pytest

from judging.judges import Store
from judging.practice.cli import main
from tests import tiny_models
from tests.judge_server import serving

pytestmark = pytest.mark.needs("torch")

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
    return tiny_models.save(tmp_path_factory.mktemp("model"))


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


def test_a_server_is_not_called_for_what_is_stored(folder, capsys):
    with serving() as served:
        judge = f"openai:tiny@{served.url}"
        assert rank(judge, *SAYS, "--dry-run", "--price", "1") == 0
        assert "at most 30 calls; 0 answers are in" in (out := capsys.readouterr().out)
        assert "about $0.00" in out
        assert len(served.requests) == 0, "a dry run never pays"
        assert rank(judge, *SAYS, "--judge-option", "concurrency=2") == 0
        assert "30 asked now" in capsys.readouterr().out
        asked = len(served.requests)
        for more in (
            (),
            ("--dry-run",),
            ("--offline",),
            ("--set", "expert=gaussian"),
            ("--set", "seed=3"),
        ):
            assert rank(judge, *SAYS, *more) == 0
        assert len(served.requests) == asked
    assert "0 asked now, 30 from the store" in capsys.readouterr().out
    assert "measured" in (folder / "r.html").read_text()
    whole = pd.read_csv("s.csv")
    assert rank(judge, *SAYS) == 0, "the report can be made when the server is gone"
    assert rank(judge, "--offline", "--thing", "summary") == 0
    assert pd.read_csv("s.csv")["name"].tolist() == whole["name"].tolist()


def test_several_judges_share_a_budget_and_a_limit(folder, capsys):
    with serving() as served:
        one, two = (f"openai:{name}@{served.url}" for name in ("one", "two"))
        both = (*SAYS, "--judge", two)
        assert rank(one, *both, "--budget", "41") == 0
        assert len(served.requests) == 41
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
        assert len(served.requests) == 41 + 50
        assert pd.read_csv("s.csv").groupby("judge")["partial"].sum().to_dict() == {
            "one": 0,
            "two": 6,
        }


def test_a_server_that_is_not_there_and_a_key_that_is_not_set_are_named(folder, capsys):
    url = "http://127.0.0.1:9/v1"
    assert rank(f"openai:tiny@{url}", "--store", "n.sqlite") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("judging: no connection to 127.0.0.1:9/v1 (")
    assert line.endswith("; is it up, and is this its address?")
    lacking = ("--judge-option", "key_env=NO_SUCH_KEY", "--store", "n.sqlite")
    assert rank(f"openai:tiny@{url}", *lacking) == 1
    assert "the environment variable NO_SUCH_KEY is not set" in capsys.readouterr().err


def test_a_server_without_log_probabilities_needs_no_prior(folder, capsys):
    """One draw each is a decision, so that texts win everything in the first rounds."""
    with serving() as served:
        judge, draws = f"openai:tiny@{served.url}", ("--judge-option", "draws=1")
        assert rank(judge, *draws, "--budget", "12", "--set", "unanswered=tie") == 0
        assert len(served.requests) == 12
    assert "12 asked now" in capsys.readouterr().out
    assert pd.read_csv("c.csv")["p"].isin([0.0, 0.5, 1.0]).all()


@pytest.mark.parametrize("after", [3, 14])
def test_a_server_that_goes_in_the_middle_leaves_a_partial_ranking(folder, capsys, after):
    """Where its answers link all texts; otherwise a sentence, and the answers are kept."""
    impatient = ("--judge-option", "patience=2", "--judge-option", "concurrency=1")
    with serving(lambda k, body: None if k < after else "500") as served:
        judge = f"openai:tiny@{served.url}"
        status = rank(judge, *SAYS, *impatient)
        # One call, without the beginning of an answer, found out if the server goes on from it.
        asked = [body["messages"][-1]["role"] for body in served.requests[:after]]
        with Store("judgements.sqlite") as store:
            kept = len(store)
        assert kept == asked.count("assistant") >= after - 1
        said = capsys.readouterr()
        assert "given up after" in said.out + said.err
        if after == 3:
            assert status == 3
            assert said.err.rstrip().endswith("what was answered is kept")
        else:
            assert status == 3
            assert f"this ranking is partial: {kept} of 30 comparisons" in said.out
            assert pd.read_csv("s.csv")["partial"].all()
    with serving() as served:
        moved = ("--judge-option", f"server={judge.partition('//')[2]}")
        assert rank(f"openai:tiny@{served.url}", *SAYS, *moved) == 0
        assert f"{30 - kept} asked now, {kept} from the store" in capsys.readouterr().out


def test_a_store_refuses_another_judge_before_its_weights_are_loaded(
    folder, model, capsys, monkeypatch
):
    assert rank("demo") == 0
    monkeypatch.setattr("judging.judges.transformers.load._weights", None)
    for more in ((), ("--dry-run",)):
        assert rank(f"hf:{model}", *more) == 1
        said = capsys.readouterr().err
        assert "holds the answers of another judge, demo" in said
    (another,) = re.findall(r"such as --store (\S+\.sqlite),", said)
    assert rank(f"hf:{model}", "--dry-run", "--store", another) == 0
    assert "at most 30 calls" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert rank(f"hf:{model}", "--judge", "demo") == 0, "both are meant"
    assert rank(f"hf:{model}") == 0
    assert rank(f"hf:{model}", "--store", "n.sqlite") == 0
    template = folder / model.name
    tiny_models.decoder("llama").save_pretrained(template)
    tiny_models.tokenizer(template=tiny_models.CHAT + " ").save_pretrained(template)
    capsys.readouterr()
    monkeypatch.setattr("judging.judges.transformers.load._weights", None)
    for more in ((), ("--dry-run",)):
        assert rank(f"hf:{template}", "--store", "n.sqlite", *more) == 1
        assert "\n  template: " in capsys.readouterr().err


def test_a_hub_that_is_out_of_reach_is_asked_once(folder, capfd, monkeypatch):
    asked = []

    def gone(self, name, **how):
        asked.append(name)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", gone)
    assert rank("hf:nobody/nothing") == 2
    assert asked == ["nobody/nothing"]
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "judging: model 'nobody/nothing' is not on this machine and the hub cannot"
    )
