"""The decks of the real chapters: every slide fits its frame, and the guide counts them right."""

from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from PIL import Image

from book.tools.course import in_guide, minutes, write_lecture
from book.tools.notes import with_notes
from book.tools.pages import find_pages
from book.tools.plain import read_book
from book.tools.slides import Slide, deck, write_decks
from tests.browser.checks import offline_page, quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

# A projector, a laptop under the bars of its browser, and a sheet of A4 without its margins.
FRAMES = {"screen": [(1280, 720), (1440, 680)], "print": [(1047, 718)]}
TALL = """() => [...document.querySelectorAll("section")].filter((slide) => {
  if (matchMedia("print").matches) return slide.scrollHeight > slide.clientHeight + 1;
  location.hash = slide.id;
  slide.style.display = "flex";
  const over = [...slide.querySelectorAll("figure")]
    .some((one) => one.scrollHeight > one.clientHeight + 1);
  const tall = over || slide.offsetHeight > innerHeight + 1;
  slide.style.display = "none";
  return tall;
}).map((slide) => slide.id)"""


def tall(browser: Any, path: Path) -> list[tuple[str, tuple[int, int], str]]:
    found = []
    with offline_page(browser) as page:
        page.goto(path.as_uri())
        page.evaluate("() => globalThis.MathJax?.startup?.promise")
        for media, sizes in FRAMES.items():
            page.emulate_media(media=media)
            for width, height in sizes:
                page.set_viewport_size({"width": width, "height": height})
                found += [(media, (width, height), name) for name in page.evaluate(TALL)]
    return found


@pytest.fixture(scope="module")
def decks(html: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    executed = html.parent / "executed"
    book = read_book(html, executed=executed, root=ROOT)
    pages, folder = find_pages(ROOT), tmp_path_factory.mktemp("slides")
    known = partial(with_notes, book=book)
    decks = write_decks(pages, executed=executed, folder=folder, shared=True, add_notes=known)
    return [*decks, write_lecture(pages, executed=executed, folder=folder, book=book)]


def test_no_slide_of_a_chapter_is_taller_than_its_frame(decks: list[Path], browser: Any) -> None:
    assert len(decks) > 10
    assert {path.stem: found for path in decks if (found := tall(browser, path))} == {}


def test_the_minutes_of_the_teachers_guide_are_the_course_kits(decks: list[Path]) -> None:
    guide = (ROOT / "book" / "teachers-guide.md").read_text(encoding="utf-8")
    found = minutes(find_pages(ROOT), decks)
    assert in_guide(guide, found) == guide, "after make course: python -m book.tools.course"
    more = {name: (n + 1, taught + 2, read) for name, (n, taught, read) in found.items()}
    changed = set(in_guide(guide, more).splitlines()) - set(guide.splitlines())
    assert len(changed) == len(found) + 10, "a row a chapter and a session of paths B and C"


def test_live_figures_are_alive_and_leave_the_slides_their_keys(
    decks: list[Path], browser: Any
) -> None:
    """An arrow moves a slider that has the focus; a clicker turns the slide all the same."""
    (path,) = [one for one in decks if one.stem.startswith("06")]
    with quiet_page(browser, path) as page:
        page.goto(f"{path.as_uri()}#fig-live-gaussian")
        state = page.locator("#fig-live-gaussian .live").get_attribute
        before, where = state("data-state"), page.locator("#where").inner_text()
        page.locator("#fig-live-gaussian input").first.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "was => document.querySelector('#fig-live-gaussian .live').dataset.state !== was",
            arg=before,
        )
        assert page.locator("#where").inner_text() == where
        for _ in range(9):
            page.keyboard.press("PageDown")
        assert page.locator("#where").inner_text() != where


def test_a_slide_that_is_too_tall_is_found(browser: Any, tmp_path: Path) -> None:
    slides = [Slide(["<h2>Much</h2>", "<p>line</p>" * lines]) for lines in (3, 40)]
    path = tmp_path / "deck.html"
    path.write_text(deck("Much", slides, script=""))
    assert [name for _, _, name in tall(browser, path)] == ["s2"] * 3


def test_a_phone_reads_the_code_of_every_live_figure(
    html: Path, browser: Any, tmp_path: Path
) -> None:
    """Another program's reader finds in the picture of the slide the address that is linked."""
    executed, site = html.parent / "executed", "https://someone.example/book"
    book = replace(read_book(html, executed=executed, root=ROOT), site=site)
    known = partial(with_notes, book=book)
    pages = [page for page in find_pages(ROOT) if page.name.startswith(("06", "09"))]
    decks = write_decks(pages, executed=executed, folder=tmp_path, shared=True, add_notes=known)
    seen = 0
    for path in decks:
        with quiet_page(browser, path) as page:
            page.set_viewport_size({"width": 1280, "height": 720})
            for name in page.eval_on_selector_all("section:has(.qr)", "all => all.map(s => s.id)"):
                page.goto(f"{path.as_uri()}#{name}")
                picture = Image.open(BytesIO(page.screenshot()))
                (code,) = zxingcpp.read_barcodes(picture)
                link = page.locator(f"#{name} .address a")
                assert code.text == link.get_attribute("href")
                file, _, figure = code.text.removeprefix(f"{site}/").partition("#")
                assert f'id="{figure}"' in (html / file).read_text(encoding="utf-8")
                seen += 1
    assert seen >= 2
