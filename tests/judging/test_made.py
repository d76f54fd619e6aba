"""What a colleague needs to repeat a result, and how little of it is on the terminal."""

import html
import re
import shlex
import sys

import numpy as np
import pytest

import poe
from judging.practice.cli import main

PROMPTS = 12


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    names = ["x", "y", "z"]
    votes = ["model_a,model_b,winner"]
    for k in range(60):
        a, b = rng.permutation(3)[:2]
        votes.append(f"{names[a]},{names[b]},{('model_a', 'model_b', 'tie')[k % 3]}")
    (tmp_path / "votes.csv").write_text("\n".join(votes))
    answers = ["system,prompt,answer"]
    for k in range(PROMPTS):  # enough to cluster errors on
        for at, name in enumerate(names):
            answers.append(f"{name},Explain topic {k}.,{'plain word ' * (at + k + 1)}ends")
    (tmp_path / "answers.csv").write_text("\n".join(answers))
    return tmp_path


@pytest.fixture
def run(monkeypatch):
    """Run a command as a shell does, so that it knows what was typed."""

    def run(*command):
        monkeypatch.setattr(sys, "argv", ["judging", *command])
        return main()

    return run


ASKED = ["leaderboard", "answers.csv", "--judge", "demo", "--quiet", "--set", "seed=7"]
COUNTED = ["leaderboard", "votes.csv"]
FITTED = ["fit", "votes.csv", "--set", "expert=gaussian"]


@pytest.mark.parametrize("command", [ASKED, COUNTED, FITTED], ids=["asked", "counted", "fit"])
def test_the_page_has_what_repeats_it(command, folder, run):
    command = [*command, "--report", "page.html"]
    assert run(*command) == 0
    page = (folder / "page.html").read_text()
    (shown,) = re.findall("(?s)<h3>To repeat it</h3>.*?<pre>(.*?)</pre>", page)
    assert shlex.split(html.unescape(shown).replace("\\\n", "")) == ["judging", *command]
    for said in (f"NumPy {np.__version__}", f"judging {poe.__version__}", "95%"):
        assert said in page
    rows = dict(re.findall(r'<th scope="row"[^>]*>([^<]+)</th><td[^>]*>([^<]*)</td>', page))
    if command[0] == "fit":
        assert rows["expert"] == "Gaussian"
    asked = "--judge" in command
    assert (rows.get("seed") == "7") == (rows.get("kind") == "demo") == asked
    assert ("Which answer is better" in page) == asked  # the prompt, of a judge alone


@pytest.mark.parametrize("command", [ASKED, COUNTED, FITTED], ids=["asked", "counted", "fit"])
def test_little_is_on_the_terminal_and_the_rest_with_verbose(command, folder, run, capsys):
    def said(*more):
        assert run(*command, *more) == 0
        return capsys.readouterr().out.splitlines()

    short, whole = said(), said("--verbose")
    table = 1 + 3  # a head, and a row of each system
    assert short[:table] == whole[:table]
    # The verdict, the judge, the cost, what the demo judge is not, and where more is.
    assert len(short) - table == 4 + (command is ASKED)
    assert "--verbose" in short[-1]
    assert len(whole) > len(short)
    assert not any("--verbose" in line for line in whole)


def test_what_was_asked_for_is_said_without_verbose(folder, run, capsys):
    status = run(*COUNTED, "--require", "x >= y", "--set", "length-control")
    said = capsys.readouterr().out.splitlines()
    assert status == 3
    assert [line for line in said if line.startswith("x >= y: ")] == [said[4]]
    assert any("length was not controlled for" in line for line in said)
