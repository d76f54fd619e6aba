"""The README tells the truth: its example runs, its files exist, its claims are current."""

import contextlib
import io
import re
from pathlib import Path

from book.tools import readme
from reproduction.claims import main_claims

ROOT = Path(__file__).resolve().parents[1]
TEXT = readme.README.read_text()


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


def test_an_outdated_claim_would_be_noticed():
    assert "agree within the declared tolerance" in TEXT
    outdated = TEXT.replace("agree within the declared tolerance", "are perfect", 1)
    assert readme.with_claims(outdated) != outdated


def test_claims_hold_in_the_printed_numbers():
    """A claim of the paper that its own table contradicts would be an erratum, not a claim."""
    table = main_claims()
    assert set(table["published verdict"]) <= {"holds", "borderline"}
    assert set(table["kind"]) == {"simulated"}


def test_contributing_fits_on_one_screen():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 45
