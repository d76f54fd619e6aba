"""The errata: each is proved once by its page, and a false proof does not pass."""

import re
from pathlib import Path

import pytest

from book.telling.errata import SEVERITIES, Ledger, errata
from reproduction.published import PAPERS

PAGE = Path(__file__).resolve().parents[2] / "book" / "errata.md"
CELL = re.compile(
    r"^```\{code-cell\} python\n(?::tags:[^\n]*\n|---\n.*?^---\n)?(.*?)^```$", re.M | re.S
)


def test_entries_are_complete():
    found = errata()
    assert len({one.id for one in found}) == len(found) >= 30
    assert {one.paper for one in found} == set(PAPERS)
    assert {one.severity for one in found} == set(SEVERITIES)
    for one in found:
        assert one.says.endswith("."), one.id
        assert one.place, one.id
        assert one.changes, one.id


def test_the_page_proves_every_erratum_once_and_in_order():
    page, names = PAGE.read_text(encoding="utf-8"), {}
    ids = [one.id for one in errata()]
    assert re.findall(r"^\(erratum-([\w-]+)\)=$", page, re.M) == ids
    for number, code in enumerate(CELL.findall(page), start=1):
        exec(compile(code, f"errata.md, cell {number}", "exec"), names)
    ledger = names["proved"]
    assert list(ledger.done) == ids
    table = ledger.html()
    linked = re.findall('href="#erratum-([^"]+)"', table)
    assert sorted(linked) == sorted(ids)
    severity = {one.id: SEVERITIES.index(one.severity) for one in errata()}
    grave = [severity[one] for one in linked]
    assert grave == sorted(grave), "the gravest first"
    assert table.count("<tr>") == len(ids) + len(SEVERITIES)


def test_what_is_false_unknown_repeated_or_empty_is_refused():
    ledger = Ledger()
    with pytest.raises(AssertionError, match="v2-inverse: condition 2"):
        ledger("v2-inverse", True, False)
    with pytest.raises(KeyError, match="no erratum"):
        ledger("v3-nothing", True)
    with pytest.raises(ValueError, match="nothing was claimed"):
        ledger("v2-inverse")
    with pytest.raises(ValueError, match="no proof of v2-inverse, "):
        ledger.html()
    assert repr(ledger("v2-inverse", True)) == "checked: 1 condition, all true"
    assert repr(ledger("v2-shift", True, checked="so it is")) == "checked: so it is"
    with pytest.raises(KeyError, match="proved already"):
        ledger("v2-inverse", True)
