"""Questions on their pages: all that tells the answer is behind the veil, and the veil lifts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from book.tools.pages import read_page
from tests.book.test_commit_boxes import PAGES
from tests.browser.checks import offline_page, quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

STATIC = ROOT / "book" / "_static"
# Every text that is shown between a question and its mark, and whether a veil is over it.
COVERED = """() => [...document.querySelectorAll(".jc-commit")].map((place) => {
  const question = place.closest(".admonition");
  const after = (a, b) => Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING);
  const mark = [...document.querySelectorAll(".jc-told")].find((one) => after(question, one));
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  let bare = 0, veiled = 0;
  for (let one; (one = texts.nextNode()); ) {
    if (!one.data.trim() || question.contains(one)) continue;
    if (!after(question, one) || !after(one, mark)) continue;
    if (one.parentElement.closest(".jc-veiled")) veiled += 1;
    else bare += 1;
  }
  return { name: place.dataset.name, bare, veiled };
})"""
VEILED_ELSEWHERE = """() => [...document.querySelectorAll(".jc-veiled")].some((veil) =>
  veil.querySelector(".jc-told, .jc-commit"))"""

ASKING = [path for path in PAGES if "jc-commit" in read_page(path).text]


def standing(body: str, path: Path) -> Path:
    """An article with the book's own script and styles of questions."""
    names = ("1-address", "1-mathematics", "2-kit", "9-commit")
    scripts = "".join(
        f"<script src='{(STATIC / 'live' / f'{name}.js').as_uri()}'></script>" for name in names
    )
    style = f"<link rel='stylesheet' href='{(STATIC / 'live.css').as_uri()}'>"
    head = f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>{style}{scripts}</head>"
    path.write_text(
        f"{head}<body><article class='bd-article'>{body}</article></body></html>", encoding="utf-8"
    )
    return path


def veils(page: Any) -> None:
    """Assert of an opened page that every question covers what it asks, and that all are lifted."""
    found = page.evaluate(COVERED)
    assert found
    for one in found:
        assert one["bare"] == 0, one
        assert one["veiled"] > 0, one
    assert not page.evaluate(VEILED_ELSEWHERE), "a veil ends before its mark and the next question"
    for one in found:
        place = page.locator(f'[data-name="{one["name"]}"]')
        options = place.get_attribute("data-options")
        if options:
            right = place.get_attribute("data-answer")
            place.get_by_role("button", name=right, exact=True).click()
        else:
            place.get_by_role("textbox").fill(place.get_attribute("data-answer"))
            place.get_by_role("textbox").press("Enter")
        assert "and so it is" in place.inner_text()
        left = {other["name"]: other["veiled"] for other in page.evaluate(COVERED)}
        assert left[one["name"]] == 0
    assert page.locator(".jc-veiled").count() == 0


@pytest.mark.needs("book")
@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_nothing_is_told_on_the_pages_themselves(path: Path, browser: Any, html: Path) -> None:
    rendered = html / f"{path.stem}.html"
    with quiet_page(browser, rendered) as page:
        veils(page)


BOX = """<div class="admonition"><p>How much is left?</p>
<div class="jc-commit" data-name="{name}" {data}></div></div>"""
RING = BOX.format(name="ring", data='data-answer="0.25" data-tolerance="0.005"')
ASKED = f"""<section id="top"><h1>Top</h1>
<p>See <a href="#inside">below</a>.</p>
<section id="one"><h2>One</h2>{RING}
<p>A sum.</p><figure id="fig-live-sum"><figcaption>A picture</figcaption></figure></section>
<section id="two"><h2>Two</h2><p id="inside">It is 0.25, and <a href="#top">more</a>.</p>
<div class="jc-told"></div><p id="outside">And so on.</p></section></section>"""


@pytest.fixture
def asked(browser: Any, tmp_path: Path) -> Any:
    path = standing(ASKED, tmp_path / "asked.html")
    with offline_page(browser) as page:
        page.goto(path.as_uri())
        yield page


def covered(page: Any) -> int:
    return page.locator(".jc-veiled").count()


def test_a_veil_runs_on_into_the_next_section(asked: Any) -> None:
    assert covered(asked) == 2, "one a section"
    (found,) = asked.evaluate(COVERED)
    assert (found["bare"], found["veiled"]) == (0, 8), "six of the page, two of the veils"
    assert asked.locator(".jc-veiled #outside, .jc-veiled .jc-commit").count() == 0
    before = asked.evaluate("document.querySelector('article').textContent")
    asked.get_by_role("button", name="Answer, or show it").first.click()
    assert covered(asked) == 0
    assert asked.evaluate("document.querySelectorAll('section > figure, section > h2').length") == 3
    asked.get_by_role("button", name="ask me again").click()
    assert covered(asked) == 2
    assert asked.evaluate("document.querySelector('article').textContent") == before
    assert (
        asked.evaluate("getComputedStyle(document.querySelector('#inside')).filter") == "blur(6px)"
    )


@pytest.mark.parametrize(
    ("hash", "left"),
    [
        ("#inside", 0),
        ("#two", 0),
        ("#fig-live-sum--40_6", 0),
        ("#outside", 2),
        ("#one", 2),
        ("#no", 2),
    ],
)
def test_who_is_sent_behind_the_veil_sees_what_is_there(asked: Any, hash: str, left: int) -> None:
    address = asked.url
    asked.goto(f"{address}{hash}")
    asked.reload()
    assert covered(asked) == left
    asked.goto(address)
    asked.reload()
    assert covered(asked) == 2, "nothing was answered"
    asked.evaluate("(hash) => { location.hash = hash; }", hash)
    asked.wait_for_timeout(50)
    assert covered(asked) == left
    assert asked.get_by_role("textbox").count() == 1, "the question is still asked"


def test_a_link_lifts_it_a_second_time(asked: Any) -> None:
    for _ in range(2):
        asked.get_by_role("link", name="below").click()
        asked.wait_for_timeout(50)
        assert covered(asked) == 0
        asked.get_by_role("button", name="show it").click()
        asked.get_by_role("button", name="ask me again").click()
        assert covered(asked) == 2


def test_a_word_that_was_searched_is_seen(browser: Any, tmp_path: Path) -> None:
    """Sphinx marks what was searched for when the page is loaded."""
    marked = ASKED.replace("It is", 'It <span class="highlighted">is</span>')
    with offline_page(browser) as page:
        page.goto(standing(marked, tmp_path / "marked.html").as_uri())
        page.wait_for_timeout(50)
        assert covered(page) == 0


def test_behind_the_veil_nothing_is_pressed(asked: Any) -> None:
    asked.get_by_role("link", name="more").click()
    assert covered(asked) == 0
    assert "#top" not in asked.url


NUMBERS = {
    "0.25": "right",
    " 0,25 ": "right",
    ".25": "right",
    "+0.25": "right",
    "25%": "right",
    "25 %": "right",
    "1/4": "right",
    "1 / 4": "right",
    "0.254": "right",
    "25": "wrong",
    "-0.25": "wrong",
    "\u22120,25": "wrong",
    "0.25%": "wrong",
    "": "none",
    "a quarter": "none",
    "%": "none",
    "1/0": "none",
    "1/4/2": "none",
    "0,2,5": "none",
}


def test_numbers_are_read_as_people_write_them(asked: Any) -> None:
    expected = {"right": "and so it is", "wrong": "; it is 0.25", "none": "A number, please"}
    for typed, read in NUMBERS.items():
        asked.get_by_role("textbox").fill(typed)
        asked.get_by_role("button", name="That is my answer").click()
        said = asked.locator(".jc-commit").inner_text()
        assert expected[read] in said, (typed, said)
        assert (covered(asked) == 2) == (read == "none")
        if read != "none":
            asked.get_by_role("button", name="ask me again").click()


def test_where_the_unit_is_per_cent_a_sign_changes_nothing(browser: Any, tmp_path: Path) -> None:
    data = 'data-answer="50" data-tolerance="1" data-unit="%"'
    path = standing(BOX.format(name="half", data=data), tmp_path / "half.html")
    for typed in ("50", "50%", "50 %", "50,4"):
        with offline_page(browser) as page:
            page.goto(path.as_uri())
            page.get_by_role("textbox").fill(typed)
            page.get_by_role("textbox").press("Enter")
            said = page.locator(".jc-said").inner_text()
            assert "and so it is" in said
            assert said.count("%") == 1


def test_the_tests_would_see_a_bare_answer(browser: Any, tmp_path: Path) -> None:
    """The negative control: a veil over one element, as it was."""
    with offline_page(browser) as page:
        page.goto(standing(ASKED, tmp_path / "bare.html").as_uri())
        page.evaluate(
            "() => document.querySelectorAll('.jc-veiled')[1].classList.remove('jc-veiled')"
        )
        assert page.evaluate(COVERED)[0]["bare"] > 0
