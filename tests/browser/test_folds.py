"""A link into a fold opens it."""

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
