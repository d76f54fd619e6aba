"""Every rendered page, at desktop and phone width, as a reader meets it."""

from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from book.tools.moved import PAGES as GONE
from book.tools.moved import PARTS
from book.tools.pages import find_pages
from tests.book.test_first_screens import PAGES as FIRST_SCREENS
from tests.browser.checks import (
    browser_problems,
    notebook_problems,
    numbers_per_hundred_words,
    offline_page,
    read_document,
    static_problems,
)
from tests.browser.conftest import HTML, ROOT

pytestmark = pytest.mark.browser

PAGES = sorted({path.name for path in HTML.glob("*.html")} - {f"{name}.html" for name in GONE})
MOST = 12.0  # numbers per hundred words
HEAVIEST = 1_500_000  # bytes, beside what all pages share
READ = [*FIRST_SCREENS, "index"]  # about results: read, not counted
ENDS = """() => {
  const [headline, cell, limit] = (function* (one) {
    for (; one; one = one.nextElementSibling) yield one;
  })(document.querySelector(".headline"));
  const picture = cell.querySelector(".live") ?? cell.querySelector("img");
  const parts = [picture, cell.querySelector("figcaption")];
  return [headline, ...parts, limit].map((one) => one.getBoundingClientRect().bottom);
}"""
LEADING = [  # the pages of *Does it hold?*
    *("what-is-new", "results", "table-1", "measured-judge", "judges-foretold"),
    *("judges-otherwise", "when-both-orders", "beyond", "where-the-field-went"),
]
EXECUTED = [page.name for page in find_pages(ROOT) if page.executes]


@pytest.mark.parametrize("name", PAGES or [None])
def test_page_is_sound_accessible_and_light(html: Path, browser: Any, name: str) -> None:
    assert static_problems(html / name, html=html) == []
    assert browser_problems(browser, html / name, html=html, axe=True) == []
    assert (html / name).stat().st_size < HEAVIEST


@pytest.mark.parametrize("name", READ)
def test_page_has_few_numbers_among_its_words(html: Path, name: str) -> None:
    assert numbers_per_hundred_words(html / f"{name}.html") <= MOST


@pytest.mark.parametrize("name", LEADING)
def test_sentence_picture_caption_and_limit_are_on_the_first_screen(
    html: Path, browser: Any, name: str
) -> None:
    with offline_page(browser, viewport={"width": 1280, "height": 800}) as page:
        page.goto((html / f"{name}.html").as_uri(), wait_until="load")
        ends = page.evaluate(ENDS)
    assert ends == sorted(ends), "the sentence, the picture, its caption, the limit"
    assert ends[-1] <= 800


@pytest.mark.parametrize("name", EXECUTED or [None])
def test_executed_page_carries_its_clean_notebook(html: Path, name: str) -> None:
    path = html / f"{name}.html"
    assert path.is_file(), f"{name} is not in the rendered book; is it in book/_toc.yml?"
    assert notebook_problems(path) == []
    with urlopen(read_document(path).downloads[f"{name}.ipynb"]) as content:
        assert content.read() == (html / "_sources" / f"{name}.ipynb").read_bytes()


def test_a_button_saves_the_notebook(html: Path, browser: Any) -> None:
    name = EXECUTED[0]
    with offline_page(browser, accept_downloads=True) as page:
        page.goto((html / f"{name}.html").as_uri(), wait_until="load")
        page.click(".dropdown-download-buttons > button")
        with page.expect_download(timeout=10_000) as started:
            page.click("a[download]")
        assert started.value.suggested_filename == f"{name}.ipynb"
        saved = Path(started.value.path()).read_bytes()
    assert saved == (html / "_sources" / f"{name}.ipynb").read_bytes()


def test_an_old_address_arrives(html: Path, browser: Any) -> None:
    """One of a page, and one of a part of each page that parts have left."""
    gone = [(f"{old}.html", new) for old, new in list(GONE.items())[:1]]
    moved = [(old, *next(iter(parts.items()))) for old, parts in PARTS.items()]
    gone += [(f"{old}.html#{part}", f"{new}#{part}") for old, part, new in moved]
    with offline_page(browser) as page:
        for old, new in gone:
            page.goto(f"{html.as_uri()}/{old}", wait_until="commit")
            page.wait_for_url(f"{html.as_uri()}/{new}", wait_until="domcontentloaded")
            part = new.partition("#")[2]
            assert not part or page.locator(f'[id="{part}"]').count() == 1
