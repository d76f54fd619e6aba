"""Headings that sort the tables of the reproduction pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

ROWS = [("beta", "2.5"), ("alpha", "-10"), ("delta", ""), ("gamma", "9")]


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A table of names and numbers, the numbers in data-sort, one of them missing."""
    script = (ROOT / "book" / "_static" / "sort-tables.js").as_uri()
    heads = "".join(f"<th scope='col'><button>{name}</button></th>" for name in ("name", "value"))
    rows = "".join(f"<tr><td>{n}</td><td data-sort='{v}'>shown</td></tr>" for n, v in ROWS)
    path = tmp_path / "page.html"
    path.write_text(
        f"<!DOCTYPE html><script src='{script}'></script><table class='sortable'>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>",
        encoding="utf-8",
    )
    with quiet_page(browser, path) as opened:
        yield opened


def names(page: Any) -> list[str]:
    return page.locator("tbody td:first-child").all_inner_texts()


def test_words_by_the_alphabet_and_numbers_by_size_what_is_missing_last(page: Any) -> None:
    page.click("button >> text=name")
    assert names(page) == ["alpha", "beta", "delta", "gamma"]
    page.keyboard.press("Enter")
    assert names(page) == ["gamma", "delta", "beta", "alpha"]
    page.click("button >> text=value")
    assert names(page) == ["alpha", "beta", "gamma", "delta"]
    assert page.get_attribute("th:nth-child(2)", "aria-sort") == "ascending"
    page.click("button >> text=value")
    assert names(page) == ["gamma", "beta", "alpha", "delta"]
    assert page.locator("th[aria-sort]").all_inner_texts() == ["value"]
