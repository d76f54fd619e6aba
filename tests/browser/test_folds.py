"""A link into a fold opens it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser


@pytest.fixture
def fold(browser: Any, tmp_path: Path) -> Any:
    """A page with a fold of sphinx-togglebutton, an equation in it, and two links."""
    spec = find_spec("sphinx_togglebutton")
    if spec is None or spec.origin is None:
        pytest.skip("needs sphinx-togglebutton, which the book brings")
    scripts = [
        Path(spec.origin).parent / "_static" / "togglebutton.js",
        ROOT / "book" / "_static" / "folds.js",
    ]
    path = tmp_path / "page.html"
    path.write_text(
        "<!DOCTYPE html><script>let toggleHintShow = 'show', toggleHintHide = 'hide',"
        " togglebuttonSelector = '.dropdown', toggleOpenOnPrint = 'true'</script>"
        + "".join(f"<script src='{script.as_uri()}'></script>" for script in scripts)
        + "<a href='#inside'>in</a> <a href='#outside'>out</a><p id='outside'>text</p>"
        "<div class='admonition dropdown'><p class='admonition-title'>Proof</p>"
        "<div><p id='inside'>an equation</p></div></div>",
        encoding="utf-8",
    )
    return path


def hidden(page: Any) -> bool:
    return page.locator(".admonition.toggle-hidden").count() == 1


def test_a_link_into_a_fold_opens_it_again_and_again(browser: Any, fold: Path) -> None:
    with quiet_page(browser, fold) as page:
        assert hidden(page)
        page.click("text=out")
        assert hidden(page), "other links leave it closed"
        for _ in range(2):
            page.click("text=in")
            page.wait_for_selector(".admonition:not(.toggle-hidden)")
            page.click(".admonition-title")
            assert hidden(page)


def test_an_address_into_a_fold_opens_it(browser: Any, fold: Path) -> None:
    page = browser.new_page()
    page.goto(f"{fold.as_uri()}#inside")
    page.wait_for_selector(".admonition:not(.toggle-hidden)")
    page.close()
