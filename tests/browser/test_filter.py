"""The box over the notation and the glossary leaves what contains what is typed."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import quiet_page
from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

PAGE = r"""<!DOCTYPE html><script src="{script}"></script>
<article><div class="jc-filter" data-say="Only these"></div>
<table><thead><tr><th>symbol</th></tr></thead><tbody>
<tr id="curvature"><td>\(\mathbf H\) curvature (7.4)</td></tr>
<tr id="spread"><td>\(\sigma\) spread (6.1)</td></tr></tbody></table>
<dl class="glossary"><dt id="odds">odds</dt><dd>a ratio</dd>
<dt id="probit">probit</dt><dt id="logit">logit</dt><dd>Their logarithm.</dd></dl></article>"""


def shown(page: Any) -> set[str]:
    return set(page.evaluate("[...document.querySelectorAll('tbody tr, dt')]"
                             ".filter((one) => !one.hidden).map((one) => one.id)"))  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "left", "told"),
    [
        ("Sigma", {"spread"}, "1 of 4"),
        ("(7.", {"curvature"}, "1 of 4"),
        ("LOGA", {"probit", "logit"}, "1 of 4"),
        ("nothing like it", set(), "0 of 4"),
        ("  ", {"curvature", "spread", "odds", "probit", "logit"}, ""),
    ],
)
def test_only_what_contains_it_is_left(
    browser: Any, tmp_path: Path, typed: str, left: set[str], told: str
) -> None:
    path = tmp_path / "page.html"
    script = (ROOT / "book" / "_static" / "filter.js").as_uri()
    path.write_text(PAGE.format(script=script), encoding="utf-8")
    with quiet_page(browser, path) as page:
        page.get_by_label("Only these").fill("xyz")
        page.get_by_label("Only these").fill(typed)
        assert shown(page) == left
        assert page.get_by_role("status").inner_text() == told
