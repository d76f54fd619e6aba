"""The README tells the truth: its example runs, its files exist, its claims are current."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from pybtex.database import parse_file

from book.tools import readme
from reproduction.claims import main_claims

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


def test_the_results_in_the_paper_are_current():
    text = readme.PAPER.read_text("utf-8")
    assert readme.with_results(text) == text, "run: python -m book.tools.readme"
    outdated = text.replace("points of Spearman's", "times", 1)
    assert outdated != text == readme.with_results(outdated)
    words = len(text.split("# Summary", 1)[1].split())
    assert 600 < words < 1000, "two pages"


def test_the_paper_cites_what_its_bibliography_has():
    text = readme.PAPER.read_text("utf-8")
    entries = parse_file(str(ROOT / "paper.bib")).entries
    book = parse_file(str(ROOT / "book/references.bib")).entries
    assert set(re.findall(r"@(\w+)", text)) == set(entries)
    for key in set(entries) & set(book):
        assert entries[key].fields["title"] == book[key].fields["title"]
        assert str(entries[key].persons) == str(book[key].persons)


def test_an_outdated_claim_would_be_noticed():
    assert "agree within the declared tolerance" in TEXT
    outdated = TEXT.replace("agree within the declared tolerance", "are perfect", 1)
    assert readme.with_claims(outdated) != outdated


def test_claims_hold_in_the_printed_numbers():
    """A claim of the paper that its own table contradicts would be an erratum, not a claim."""
    table = main_claims()
    assert set(table["published verdict"]) <= {"holds", "borderline"}


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
