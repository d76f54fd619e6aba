"""What book.js does for a narrow screen, on a bare page with formulas that are only boxes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

STATIC = ROOT / "book" / "_static"
STYLE = (
    "mjx-container > i { display: inline-block; height: 1em; }"
    ".bd-article mjx-container { font-size: 20px; }"
)


def formula(wide: str, *, displayed: bool = False) -> str:
    """A box as wide as said, where MathJax would put a formula."""
    given = ' display="true"' if displayed else ""
    return f"<mjx-container{given}><i style='width: {wide}'></i></mjx-container>"


def sentence(wide: str) -> str:
    """A formula in a sentence."""
    return f"<span class='math'>{formula(wide)}</span>"


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Formulas and a table in a column of 300 pixels."""
    displayed = "".join(
        f"<div class='math' id='{name}'>{formula(wide, displayed=True)}</div>"
        for name, wide in (("fits", "10em"), ("shrinks", "18em"), ("scrolls", "40em"))
    )
    names = "".join(
        f"<tr><th>{name}</th></tr>" for name in ("Mistral-7B", "a heading that is longer than that")
    )
    path = tmp_path / "page.html"
    path.write_text(
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>x</title>"
        f"<link rel='stylesheet' href='{(STATIC / 'book.css').as_uri()}'><style>{STYLE}</style>"
        "<script>window.MathJax = {startup: {promise: Promise.resolve()}}</script>"
        f"<script src='{(STATIC / 'book.js').as_uri()}'></script></head><body>"
        f"<article class='bd-article' style='width: 300px'>{displayed}"
        f"<details><summary>more</summary><div class='math' id='hidden'>"
        f"{formula('18em', displayed=True)}</div></details>"
        f"<p id='sentence'>The error ({sentence('2em')}) is small, {sentence('3em')}, and</p>"
        f"<p id='wide'>also {sentence('40em')}.</p>"
        f"<table class='dataframe'><tbody>{names}</tbody></table></article></body></html>",
        encoding="utf-8",
    )
    with quiet_page(browser, path) as opened:
        opened.wait_for_timeout(200)
        yield opened


def size(page: Any, name: str) -> float:
    return float(
        page.evaluate(
            "(id) => parseFloat(getComputedStyle(document.querySelector(`#${id} > *`)).fontSize)",
            name,
        )
    )


def hidden(page: Any, name: str) -> int:
    """Pixels of a displayed formula that only scrolling shows."""
    return int(
        page.evaluate(
            "(id) => { const f = document.querySelector(`#${id} > *`);"
            " return f.scrollWidth - f.clientWidth; }",
            name,
        )
    )


def test_a_displayed_formula_shrinks_as_far_as_it_must_and_grows_with_its_place(page: Any) -> None:
    assert size(page, "fits") == 20
    assert 0.7 * 20 < size(page, "shrinks") < 300 / 18
    assert hidden(page, "shrinks") == 0
    assert size(page, "scrolls") == pytest.approx(14), "beyond seven tenths it scrolls"
    assert hidden(page, "scrolls") > 0
    page.click("summary")  # one in a folded solution shrinks when it opens
    page.wait_for_timeout(200)
    assert size(page, "hidden") < 20
    assert hidden(page, "hidden") == 0
    page.evaluate("() => { document.querySelector('article').style.width = '700px'; }")
    page.wait_for_timeout(200)
    assert size(page, "shrinks") == 20


def test_punctuation_stays_with_its_formula(page: Any) -> None:
    """However narrow the column, a formula's brackets and comma are on its line."""
    assert page.text_content("#sentence") == "The error () is small, , and"
    across = """() => [...document.querySelectorAll("#sentence .jc-kept")].map((kept) =>
        kept.getBoundingClientRect().height / kept.querySelector("i").offsetHeight)"""

    def lines() -> list[float]:
        found = []
        for width in range(110, 300, 7):
            narrow = "(w) => { document.querySelector('#sentence').style.width = `${w}px`; }"
            page.evaluate(narrow, width)
            found += page.evaluate(across)
        return found

    assert max(lines()) < 2
    page.add_style_tag(content=".jc-whole { white-space: normal; }")
    assert max(lines()) > 2, "left alone, the browser breaks there"


def test_a_wide_formula_scrolls_in_its_sentence_and_short_names_stay_in_one_line(page: Any) -> None:
    assert "jc-wide" in page.get_attribute("#wide mjx-container", "class")
    assert page.evaluate("() => document.querySelector('#wide').scrollWidth") <= 300
    found = page.eval_on_selector_all(
        "tbody th", "(all) => all.map((th) => getComputedStyle(th).whiteSpace)"
    )
    assert found == ["nowrap", "normal"]
