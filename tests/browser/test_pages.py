"""Every rendered page, at desktop and phone width, as a reader meets it."""

from pathlib import Path
from typing import Any

import pytest

from book.tools.moved import PAGES as GONE
from book.tools.moved import PARTS, leads_on
from book.tools.pages import find_pages
from tests.book.test_first_screens import MOST
from tests.book.test_first_screens import PAGES as FIRST_SCREENS
from tests.browser.checks import (
    VIEWPORTS,
    accessibility_problems,
    browser_problems,
    download_notebook,
    notebook_problems,
    numbers_per_hundred_words,
    offline_page,
    search,
    static_problems,
)
from tests.browser.conftest import HTML, ROOT

pytestmark = pytest.mark.browser

PAGES = sorted(path.name for path in HTML.glob("*.html") if not leads_on(path.read_text("utf-8")))
HEAVIEST = 1_500_000  # bytes, beside what all pages share
READ = [*FIRST_SCREENS, "index"]  # about results: read, not counted
EXECUTED = [page.name for page in find_pages(ROOT) if page.executes]


@pytest.mark.parametrize("viewport", VIEWPORTS)
@pytest.mark.parametrize("name", PAGES or [None])
def test_page_is_sound_in_a_browser(html: Path, browser: Any, name: str, viewport: str) -> None:
    assert browser_problems(browser, html / name, html=html, viewport=viewport) == []


@pytest.mark.parametrize("name", PAGES or [None])
def test_page_is_light_and_its_links_lead_somewhere(html: Path, name: str) -> None:
    assert static_problems(html / name, html=html) == []
    assert (html / name).stat().st_size < HEAVIEST


@pytest.mark.parametrize("name", READ)
def test_page_has_few_numbers_among_its_words(html: Path, name: str) -> None:
    assert numbers_per_hundred_words(html / f"{name}.html") <= MOST


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES or [None])
def test_page_is_accessible(html: Path, browser: Any, name: str, scheme: str) -> None:
    assert accessibility_problems(browser, html / name, scheme=scheme) == []


@pytest.mark.parametrize("name", EXECUTED or [None])
def test_executed_page_saves_its_clean_notebook(html: Path, browser: Any, name: str) -> None:
    path = html / f"{name}.html"
    assert path.is_file(), f"{name} is not in the rendered book; is it in book/_toc.yml?"
    assert notebook_problems(path) == []
    file_name, text = download_notebook(browser, path)
    assert file_name == f"{name}.ipynb"
    assert text == (html / "_sources" / file_name).read_text(encoding="utf-8")


def test_the_search_finds_pages_without_a_server(html: Path, browser: Any) -> None:
    found, problems = search(browser, html, words="probability")
    assert found
    assert problems == []


MOVED = {f"{old}.html": new for old, new in GONE.items()} | {
    f"{old}.html#{part}": f"{new}#{part}"
    for old, parts in PARTS.items()
    for part, new in parts.items()
}


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_address_arrives(html: Path, browser: Any, old: str, new: str) -> None:
    with offline_page(browser) as page:
        page.goto(f"{html.as_uri()}/{old}", wait_until="commit")
        page.wait_for_url(f"{html.as_uri()}/{new}", wait_until="domcontentloaded")
        part = new.partition("#")[2]
        assert not part or page.locator(f'[id="{part}"]').count() == 1
