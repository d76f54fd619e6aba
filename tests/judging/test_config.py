"""A run in a file, and a question in one's own words."""

import dataclasses
import json
import re

import pandas as pd
import pytest

import judging
from judging import prompts
from judging.errors import JudgeError
from judging.practice.cli import main
from judging.practice.cli.examples import FIRST
from judging.practice.setting import of
from poe.experts import NAMES
from tests.judge_server import serving

TEXTS = "id,text\na,The sun rose slowly.\nb,Rain.\nc,A long morning of quiet light.\nd,Snow fell.\n"
WORDING = '''
text = """
Which {thing} {attribute}?

<first>
{first}
</first>

<second>
{second}
</second>"""
labels = ["first", "second"]
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TEXTS)
    (tmp_path / "w.toml").write_text(WORDING)
    return tmp_path


def rank(*more):
    return main(["rank", *more, "--quiet"])


# --config --------------------------------------------------------------------------------------


def test_a_run_in_a_file_is_the_same_run(folder, capsys):
    given = ["t.csv", "--attribute", "nicer", "--attribute", "more calm", "--judge", "demo"]
    given += ["--judge-option", "noise=0.5", "--budget", "2x", "--out", "o.csv"]
    assert rank(*given, "--set", "seed=3", "--set", "rule=random", "--set", "retry-refused") == 0
    first = (folder / "o.csv").read_text()
    (folder / "run.toml").write_text(
        'texts = "t.csv"\nattribute = ["nicer", "more calm"]\njudge = "demo"\nbudget = "2x"\n'
        'seed = 3\nrule = "random"\nretry-refused = true\nout = "o.csv"\n'
        "[judge-option]\nnoise = 0.5\n[column]\ntext = 'TEXT'\n"
    )
    assert rank("--config", "run.toml", "--store", "other.sqlite") == 0
    assert (folder / "o.csv").read_text() == first


def test_every_setting_of_asking_and_fitting_is_an_option_or_for_python_alone(capsys):
    """A field more is an option more, with its text in the help and in the docstring."""
    assert main(["rank", "--help"]) == 0
    shown = capsys.readouterr().out
    for kind in (judging.Asking, judging.Fitting):
        known = of(kind)
        assert list(known) == [one.name for one in dataclasses.fields(kind)]
        for name, (_, said) in known.items():
            assert f"\n    {name}\n        {said.text[:20]}" in kind.__doc__
            assert said.flag in shown


@pytest.mark.parametrize("command", ["rank", "leaderboard", "ask", "fit"])
def test_the_short_help_shows_what_most_need(command, capsys):
    flag = re.compile(r"^│ \*? *(--[a-z][\w-]*)", re.M)
    assert main([command, "--help"]) == 0
    every = capsys.readouterr().out
    assert len(set(flag.findall(every)) - {"--help"}) <= 24
    assert main([command, "-h"]) == 0
    short = capsys.readouterr().out
    few = set(flag.findall(short)) - {"--help"}
    assert len(few) == len(FIRST[command].split()) <= 8
    assert few < set(flag.findall(every))
    assert short.count(f"\n judging {command} ") >= 3, "examples"
    assert f"judging {command} --help shows all options." in short


def test_the_command_line_goes_first_and_tables_are_options(folder, capsys):
    (folder / "run.toml").write_text(
        'texts = "t.csv"\nattribute = "nicer"\njudge = "demo"\nbudget = "2x"\njson = true\n'
        "[judge-option]\nnoise = 0.5\nlean = 0\n"
    )
    assert rank("--config", "run.toml", "--budget", "5") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["calls"] == 5
    assert (
        said["rankings"][0]["judge"] | {"noise": "0.5", "lean": "0"}
        == (said["rankings"][0]["judge"])
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_expert_of_the_package_is_one_of_the_command(name, folder, run):
    (folder / "votes.csv").write_text("first,second,p\na,b,0.9\nb,c,0.8\nc,a,0.4\na,c,0.7\n")
    status, said, _ = run("fit", "votes.csv", "--set", f"expert={name}")
    assert status == 0
    assert "  a  " in said
    assert name in run("fit", "--help")[1]


# --wording -------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    def file(content):
        path = tmp_path / "mine.toml"
        path.write_text(content)
        return path

    return file


def test_a_question_in_own_words(written):
    prompt = prompts.for_attribute("is clearer", thing="essay", wording=written(WORDING))
    assert prompt.template.startswith("Which essay is clearer?\n\n<first>\n{first}\n</first>")
    assert (prompt.labels, prompt.prefix, prompt.system) == (("first", "second"), "", None)


def test_a_server_reads_it_and_answers_are_kept_by_it(folder, capsys):
    content = 'text = "{first} / {second}: {attribute}?"\nprefix = "{thing}"\nsystem = "Be just."'
    (folder / "mine.toml").write_text(content)
    with serving() as server:
        judge = ["--judge", f"openai:tiny@{server.url}", "--judge-option", "concurrency=1"]
        asked = ["t.csv", "--attribute", "is clearer", *judge, "--orders", "one", "--budget", "4"]
        assert rank(*asked, "--wording", "mine.toml") == 0
        turns = [turn["content"] for turn in server.requests[-1]["messages"]]
        assert turns[0] == "Be just."
        assert turns[1].split("\n")[0].endswith(": is clearer?")
        before = len(server.requests)
        assert rank(*asked) == 0  # another question, so that nothing is known of it
        assert len(server.requests) == before + 4
    capsys.readouterr()
    assert main(["store", "list", "judgements.sqlite"]) == 0
    said = capsys.readouterr().out
    assert "mine/is clearer: 4 answers" in said
    assert "own/is clearer: 4 answers" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('text = "{first}"', r"no \{second\}, where the second would go"),
        ('text = "{first} {second} {third}"', r"nothing fills \{third\} in the text$"),
        ('text = "{first} {second} {context}"', "the texts have no column context"),
        ('text = "{first} {second}"\nlabel = ["A"]', "'label' is not text, labels, prefix"),
        ('text = "{first} {second}"\nlabels = ["A"]', "two or more, all distinct"),
        ("text", "is not TOML"),
        ("", r"no \{first\}"),
    ],
)
def test_what_is_wrong_with_a_wording_is_said(content, said, written):
    with pytest.raises(JudgeError, match=said):
        prompts.of_file(written(content), "nicer")


def test_a_context_needs_its_place(written):
    path = written('text = "{first} {second}"')
    with pytest.raises(JudgeError, match=r"no \{context\}, where the context would go"):
        prompts.of_file(path, "nicer", context="Task")
    texts = pd.DataFrame({"text": ["a b", "c d e"], "context": ["x", "x"]})
    with pytest.raises(JudgeError, match=r"no \{context\}"):
        judging.rank(texts, "demo", attribute="nicer", wording=path)
    assert judging.rank(texts[["text"]], "demo", attribute="nicer", wording=path).judged.new == 2


# Secrets ---------------------------------------------------------------------------------------

SECRET = "hunter2-3f9a17c40bb1"
URL = "openai:tiny@http://127.0.0.1:9/v1"
GIVEN = {  # ways in which people give a key where none belongs
    "password": ["--judge", f"openai:tiny@http://me:{SECRET}@127.0.0.1:9/v1"],
    "address alone": ["--judge", f"http://me:{SECRET}@127.0.0.1:9/v1", "--judge-option", "model=m"],
    "query": ["--judge", f"{URL}?key={SECRET}"],
    "fragment": ["--judge", f"{URL}#{SECRET}"],
    "option": ["--judge", URL, "--judge-option", f"api_key={SECRET}"],
    "name of a variable": ["--judge", URL, "--judge-option", f"key_env={SECRET}"],
    "header": [
        "--judge", URL, "--judge-option",
        f'options={{"extra_headers": {{"Authorization": "{SECRET}"}}}}',
    ],
    "of a judge without keys": ["--judge", "demo", "--judge-option", f"api_key={SECRET}"],
}  # fmt: skip
COMMANDS = {
    "rank": ["rank", "t.csv", "--attribute", "nicer"],
    "ask": ["ask", "t.csv", "nicer", "--budget", "6"],
    "leaderboard": ["leaderboard", "s.csv"],
}


def systems(folder):
    rows = [f"{who},{k},{who * k}" for who in "ab" for k in range(1, 4)]
    (folder / "s.csv").write_text("\n".join(["system,prompt,answer", *rows]))


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--offline"], ["--config", "c.toml"]])
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_refused_secret_is_in_no_file(command, given, more, folder, capsys):
    """And no empty store is left behind; that `ask` has no --offline is refused as well."""
    systems(folder)
    (folder / "c.toml").write_text("seed = 1\n")
    files = {path.name for path in folder.iterdir()}
    status = main([*command, *given, *more, "--quiet"])
    assert status in (1, 2)
    assert SECRET not in capsys.readouterr().out
    for path in folder.rglob("*"):
        assert SECRET.encode() not in path.read_bytes(), path.name
    assert {path.name for path in folder.iterdir()} == files
