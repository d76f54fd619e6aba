"""A link that names a place arrives there: in sight, below the page's header, when all has settled.

Formulas are set, folds opened and live figures made after a browser has jumped, and each of them
moves what stands below.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from tests.browser.checks import VIEWPORTS, read_document

# One worker: to read all pages for their links takes a minute and a half.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.needs("book"),
    pytest.mark.long,
    pytest.mark.xdist_group("anchors"),
]

# What moves a page, and where a place that feels it stands.
KINDS = {
    "formula": "[id^=equation-]",
    "fold": "details [id], .toggle [id]",
    "live": "figure[id^=fig-live-]",
    "below": "section[id]",
}
PAGES = 3  # of each kind, those with the most formulas
SETTLED = """async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready;
  const still = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 120)));
  for (let was, now, same = 0; same < 3; was = now) {
    await still();
    now = `${scrollY} ${document.documentElement.scrollHeight}`;
    same = now === was ? same + 1 : 0;
  }
}"""
# How far the place stands below the header (bars that stick to the top), and what of it is hidden.
WHERE = """(name) => {
  const place = document.getElementById(name), box = place.getBoundingClientRect();
  const bars = [...document.querySelectorAll(".bd-header, .bd-header-article")]
    .filter((bar) => ["sticky", "fixed"].includes(getComputedStyle(bar).position))
    .map((bar) => bar.getBoundingClientRect().bottom);
  const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  return { below: box.top - Math.max(0, ...bars), height: innerHeight, end,
           shown: place.checkVisibility() && box.height > 0 };
}"""


@cache
def places(html: Path) -> list[tuple[str, str]]:
    """Return the lowest place of each kind that links lead to, by page, on `PAGES` pages."""
    linked = defaultdict(set)
    for path in html.glob("*.html"):
        for link in read_document(path).links:
            page, _, name = link.partition("#")
            if name and not re.match(r"\w+:", page):
                linked[page.removesuffix(".html") or path.stem].add(unquote(name))
    formulas, lowest = dict[str, int](), dict[tuple[str, str], str]()
    for page in (page for page in linked if (html / f"{page}.html").is_file()):
        parsed = BeautifulSoup((html / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        formulas[page] = len(parsed.select("article .math"))
        for kind, selector in KINDS.items():
            names = [str(one["id"]) for one in parsed.select(f"article :is({selector})")]
            if known := [name for name in names if name in linked[page]]:
                lowest[kind, page] = known[-1]
    most = sorted(formulas, key=lambda page: -formulas[page])
    return [
        (page, lowest[kind, page])
        for kind in KINDS
        for page in [page for page in most if (kind, page) in lowest][:PAGES]
    ]


def missed(page: Any, name: str) -> str:
    """Say where a place stands if a reader would look for it, else nothing."""
    page.evaluate(SETTLED)
    at = page.evaluate(WHERE, name)
    if not at["shown"]:
        return "hidden"
    far = 0.9 * at["height"] if at["end"] else 90
    return "" if -2 <= at["below"] <= far else f"{at['below']:.0f} below the header"


@pytest.mark.parametrize("screen", list(VIEWPORTS))
def test_links_with_a_place_land_on_it(html: Path, browser: Any, screen: str) -> None:
    width, height = VIEWPORTS[screen]
    aims, wrong = places(html), dict[str, str]()
    assert len(aims) > 2 * len(KINDS)
    for page, name in aims:
        tab = browser.new_page(viewport={"width": width, "height": height})
        tab.goto(f"{(html / page).as_uri()}.html#{name}")
        if at := missed(tab, name):
            wrong[f"{page}#{name}"] = at
        tab.close()
    assert wrong == {}


def test_a_place_that_is_missed_is_found_to_be(html: Path, browser: Any) -> None:
    page, name = next((page, name) for page, name in places(html) if name.startswith("equation"))
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{(html / page).as_uri()}.html#{name}")
    assert missed(tab, name) == ""
    for moved in (-200, 300):
        tab.evaluate("by => scrollBy({ top: by, behavior: 'instant' })", moved)
        assert missed(tab, name).endswith("below the header")
    tab.close()
