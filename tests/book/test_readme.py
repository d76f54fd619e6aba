"""The README tells the truth: its example runs, its files exist, its claims are current."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from book.tools import readme
from judging.practice.cli import main

ROOT = Path(__file__).resolve().parents[2]
TEXT = readme.README.read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def test_the_example_prints_what_it_shows():
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.S).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    assert out.getvalue() == shown
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith(" ")]
    assert len(lines) <= 10


def test_a_first_look_prints_what_it_shows(monkeypatch, capsys):
    command, shown = re.search(
        r"\n(judging leaderboard .*judged.csv)\n```\n\n```\n(.*?)```", TEXT, re.S
    ).groups()
    monkeypatch.chdir(ROOT)
    assert main(command.split()[1:]) == 0
    assert capsys.readouterr().out.startswith(shown)


def test_links_and_files_exist():
    names = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    names += re.findall(r"`((?:[\w.-]+/)?[\w-]+\.(?:md|cff|yml|toml))`", TEXT)
    assert "CONTRIBUTING.md" in names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"`?make ([a-z-]+)", TEXT))
    assert {"book", "test", "help"} <= targets
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_the_state_of_the_claims_is_current():
    assert readme.with_claims(TEXT) == TEXT, "run: python -m book.tools.readme"


def test_an_outdated_claim_would_be_noticed():
    assert "agree within the declared tolerance" in TEXT
    outdated = TEXT.replace("agree within the declared tolerance", "are perfect", 1)
    assert readme.with_claims(outdated) != outdated


@pytest.mark.parametrize("package", ["poe", "judging", "reproduction", "studies"])
def test_the_map_names_every_room(package):
    """Each folder and file of a package stands in CONTRIBUTING's map, in a row of that package."""
    rows = [row for row in CONTRIBUTING.splitlines() if row.startswith(f"| `{package}/")]
    names = set(re.findall(r"[a-z_]+\*?", " ".join(rows)))
    there = {
        path.stem
        for path in (ROOT / package).iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file())
        and not path.name.startswith("_")
    }
    starred = {name for name in there if any(name.startswith(n[:-1]) for n in names if "*" in n)}
    assert there - names - starred == set()


def test_the_map_names_no_room_that_is_not_there():
    named = re.findall(
        r"`((?:poe|judging|reproduction|studies|book|data|tests)/[\w/.]*)`", CONTRIBUTING
    )
    assert len(named) > 15
    there = [ROOT / name for name in named]
    assert [str(p) for p in there if not (p.exists() or p.with_suffix(".py").exists())] == []
