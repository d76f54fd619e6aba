"""Searching the book: what readers call a thing leads to it, and served pages show a line of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import listen, offline_page
from tests.browser.stand_in import served

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "book/_static/search.js").read_text("utf-8")
# What is typed, and the address that stands first.
QUERIES = {
    "both orders": "when-both-orders.html",
    "how sure": "14-how-sure.html",
    "how sure is a ranking?": "14-how-sure.html",
    "rank my texts": "bring-your-own.html",
    "elo": "04-bradley-terry-and-zermelo.html",
    "position bias": "09-positional-bias.html",
    "laplacian": "08-laplacian-experts.html",
    "gaussian": "06-gaussian-experts.html",
    "cite": "what-is-new.html#to-cite-one-of-them",
    "cost": "reference.html#what-it-costs",
    "ties": "reference.html#answers-that-you-have-already",
    "exam": "teachers-guide.html#an-assessment-two-hours-40-marks",
    "which pair next": "10-which-comparison-next.html",
    "several judges": "15-several-judges.html",
    "leaderboard": "reference.html#a-leaderboard-of-systems",
    "what failed": "results.html#what-failed",
    "all claims": "claims.html",
    "confidence interval": "14-how-sure.html",
    "spearman": "03-is-the-ranking-any-good.html",
    "install": "bring-your-own.html",
    "rank eight": "rank-eight.html",
    "poe.fit": "api.html#poe.fit",
    "log_det": "api.html#poe.log_det",
}

pytestmark = pytest.mark.browser


def results(browser: Any, html: Path, *, words: str) -> list[tuple[str, str]]:
    """The titles and addresses found, in their order, without what marks the words in a page."""
    with offline_page(browser) as page:
        problems = listen(page, html=html)
        page.goto(f"{(html / 'search.html').as_uri()}?q={words}", wait_until="load")
        page.wait_for_selector("ul.search li a", timeout=10_000)
        page.wait_for_function("() => document.querySelector('.search-summary').innerText")
        links = page.locator("ul.search li a")
        shown = links.evaluate_all("all => all.map(a => [a.innerText, a.href])")
        assert problems == []
        return [(title, re.sub(r"\?[^#]*", "", link.rsplit("/", 1)[1])) for title, link in shown]


@pytest.mark.parametrize(("words", "wanted"), QUERIES.items())
def test_a_query_leads_where_it_should(html: Path, browser: Any, words: str, wanted: str) -> None:
    assert results(browser, html, words=words)[0][1] == wanted


def test_whole_words_in_titles_come_before_words_and_those_before_their_parts(
    html: Path, browser: Any
) -> None:
    found = [title for title, _ in results(browser, html, words="gaussian")]
    titled = ["gaussian" in one.split(">")[-1].lower() for one in found]
    assert titled[:3] == [True] * 3
    last = len(titled) - titled[::-1].index(True)
    whole = [k for k, one in enumerate(found[:last]) if not titled[k]]
    assert not whole or found[whole[0]].count(".") >= 1, "only names of code may hold it in part"


def test_every_place_that_readers_have_a_name_for_exists(html: Path) -> None:
    table = SCRIPT[SCRIPT.index("const CALLED = {") : SCRIPT.index("};")]
    places = re.findall(r'^ +"([\w-]+\.html)(?:#([\w-]+))?": \[', table, re.M)
    assert len(places) >= 20
    for page, part in places:
        text = (html / page).read_text("utf-8")
        assert not part or f'id="{part}"' in text, f"{page}#{part}"


def test_served_pages_show_a_line_of_text_under_each_title(html: Path, browser: Any) -> None:
    with served(html) as site:
        page = browser.new_page()
        try:
            page.goto(f"{site}/search.html?q=both orders", wait_until="load")
            page.wait_for_function(
                "() => document.querySelector('.search-summary')?.innerText.includes('found')"
                " && !document.querySelector("
                "'ul.search > li:not(:has(> span)):not(:has(p.context))')",
                timeout=60_000,
            )
            titles = page.locator("ul.search li:not(:has(> span)) > a").count()
            lines = page.locator("ul.search li p.context").all_inner_texts()
        finally:
            page.close()
    assert len(lines) == titles > 10
    assert sum("order" in line.lower() for line in lines) > len(lines) / 2
    assert not any("nothing that you write is sent" in line for line in lines)
    for line in lines:
        assert not re.search(r"\\[a-z]+\{|import numpy|Link to this|#$", line)


def test_pages_opened_as_files_fetch_nothing(html: Path, browser: Any) -> None:
    with offline_page(browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.resource_type))
        page.goto(f"{(html / 'search.html').as_uri()}?q=prior", wait_until="load")
        page.wait_for_selector("ul.search li a", timeout=10_000)
        assert "fetch" not in asked
        assert page.locator("p.context").count() == 0


def test_other_pages_do_not_load_it(html: Path) -> None:
    assert "_static/search.js" in (html / "search.html").read_text("utf-8")
    assert "_static/search.js" not in (html / "index.html").read_text("utf-8")
