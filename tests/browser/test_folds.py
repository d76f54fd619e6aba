"""A link into a fold opens it; on a phone a chapter's box is one."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

# What sphinx-togglebutton makes of a folded admonition: a click on its title opens and closes it.
PAGE = """<!DOCTYPE html><script src="{script}"></script>
<a href="#inside">in</a> <a href="#outside">out</a> <p id="outside">text</p>
<div class="admonition toggle toggle-hidden">
  <p class="admonition-title"
     onclick="this.parentElement.classList.toggle('toggle-hidden')">Proof
    <button class="toggle-button" aria-label="open"></button></p>
  <div><p id="inside">an equation</p></div>
</div>"""

# A chapter's box; what follows it stands for sphinx-togglebutton, which takes what is folded.
CHAPTER = """<!DOCTYPE html><script src="{script}"></script>
<article class="bd-article"><section><h1>Title</h1><div class="jc-run"></div>
<div class="admonition note"><p class="admonition-title">{title}</p><p>Question</p></div>
</section></article>
<script>document.addEventListener("DOMContentLoaded", () => {{
  window.folded = document.querySelectorAll(".admonition.dropdown").length;
}});</script>"""


@pytest.fixture
def fold(tmp_path: Path) -> Path:
    """A page with a fold, an equation in it, and two links."""
    path = tmp_path / "page.html"
    script = (ROOT / "book" / "_static" / "folds.js").as_uri()
    path.write_text(PAGE.format(script=script), encoding="utf-8")
    return path


def closed(page: Any) -> bool:
    return page.locator(".admonition.toggle-hidden").count() == 1


def test_a_link_into_a_fold_opens_it_again_and_again(browser: Any, fold: Path) -> None:
    with quiet_page(browser, fold) as page:
        page.click("text=out")
        assert closed(page), "other links leave it closed"
        for _ in range(2):
            page.click("text=in")
            page.wait_for_selector(".admonition:not(.toggle-hidden)")
            page.click(".admonition-title")
            assert closed(page)


def test_an_address_into_a_fold_opens_it(browser: Any, fold: Path) -> None:
    page = browser.new_page()
    page.goto(f"{fold.as_uri()}#inside")
    page.wait_for_selector(".admonition:not(.toggle-hidden)")
    page.close()


@pytest.mark.parametrize(
    ("title", "width", "folded"),
    [
        ("In this chapter", 390, 1),
        ("On this page", 390, 1),
        ("A warning", 390, 0),
        ("In this chapter", 1280, 0),
    ],
)
def test_on_a_phone_the_box_of_a_chapter_folds(
    browser: Any, tmp_path: Path, title: str, width: int, folded: int
) -> None:
    path = tmp_path / "page.html"
    script = (ROOT / "book" / "_static" / "folds.js").as_uri()
    path.write_text(CHAPTER.format(script=script, title=title), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(path.as_uri())
    assert page.evaluate("window.folded") == folded
    page.close()
