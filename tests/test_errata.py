"""The errata: each is proved once by its page, and a false proof does not pass."""

import re
from pathlib import Path

import pytest

from reproduction.errata import SEVERITIES, Erratum, Ledger, errata
from reproduction.published import PAPERS

PAGE = Path(__file__).resolve().parents[1] / "book" / "errata.md"
CELL = re.compile(r"^```\{code-cell\} python\n(?::tags:[^\n]*\n)?(.*?)^```$", re.M | re.S)
ALL = errata()


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def ran(page):
    """Names of the page after all its cells have run in order."""
    names = {}
    for number, code in enumerate(CELL.findall(page), start=1):
        exec(compile(code, f"errata.md, cell {number}", "exec"), names)
    return names


def test_entries_are_complete():
    assert len(ALL) >= 30
    assert len({one.id for one in ALL}) == len(ALL)
    for one in ALL:
        assert one.paper in PAPERS
        assert one.severity in SEVERITIES
        assert one.says.endswith(".")
        assert one.place
        assert one.changes
    assert {one.paper for one in ALL} == set(PAPERS)
    assert {one.severity for one in ALL} == set(SEVERITIES)


def test_the_page_has_one_anchor_and_one_proof_for_each(page):
    ids = [one.id for one in ALL]
    assert re.findall(r"^\(erratum-([\w-]+)\)=$", page, re.M) == ids
    assert re.findall(r'\bproved\(\s*"([\w-]+)"', page) == ids


def test_the_page_proves_every_erratum(ran):
    ledger = ran["proved"]
    assert ledger.missing() == []
    assert set(ledger.done) == {one.id for one in ALL}
    table = ledger.html()
    assert table.count("<tr>") == len(ALL) + 1
    for one in ALL:
        assert f'href="#erratum-{one.id}"' in table
    assert sum(ledger.count(severity) for severity in SEVERITIES) == len(ALL)


def test_what_is_false_unknown_repeated_or_empty_is_refused():
    ledger = Ledger()
    with pytest.raises(AssertionError, match="v2-inverse: condition 2"):
        ledger("v2-inverse", True, False)
    assert "v2-inverse" in ledger.missing()
    with pytest.raises(KeyError, match="no erratum"):
        ledger("v3-nothing", True)
    with pytest.raises(ValueError, match="nothing was claimed"):
        ledger("v2-inverse")
    ledger("v2-inverse", True)
    with pytest.raises(KeyError, match="proved already"):
        ledger("v2-inverse", True)


def test_there_is_no_table_without_all_proofs():
    ledger = Ledger()
    with pytest.raises(ValueError, match="no proof of v2-inverse, "):
        ledger.html()


def test_the_table_escapes_what_it_shows():
    entry = Erratum("x", "poe_v2", "eq. <1>", "a < b.", "misprint", "none & nothing")
    ledger = Ledger((entry,))
    ledger("x", True)
    assert "a &lt; b." in ledger.html()
    assert "none &amp; nothing" in ledger.html()
    assert "eq. &lt;1&gt;" in ledger.html()
