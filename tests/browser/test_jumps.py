"""Nothing that was read moves while a page loads: the browser's own sum of layout shifts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.stand_in import served

pytestmark = [pytest.mark.browser, pytest.mark.needs("book")]
WATCH = """window.moved = 0;
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.moved += shift.value;
}).observe({ type: "layout-shift", buffered: true });"""
GOOD = 0.1  # what web.dev calls good; the pages had 0.14 to 0.21


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["results", "04-bradley-terry-and-zermelo", "rank-eight"])
def test_a_page_does_not_jump(name: str, width: int, browser: Any, html: Path) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.add_init_script(WATCH)
    with served(html) as address:
        page.goto(f"{address}/{name}.html")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        assert page.evaluate("window.moved") < GOOD
    page.close()
