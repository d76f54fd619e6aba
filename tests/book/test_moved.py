"""Old addresses lead on: what is in the table exists, and a stub or a script knows the way."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml
from bs4 import BeautifulSoup

from book.tools.moved import PAGES, PARTS, leave_redirects
from book.tools.pages import BuildError, find_pages
from book.tools.pdf import order

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "book/_toc.yml").read_text("utf-8"))
SOURCES = {page.name: page.text for page in find_pages(ROOT)}


def anchors(name: str) -> set[str]:
    """The names of a page's parts, as Sphinx makes them of headings, labels and equations."""
    text = SOURCES[name]
    headings = re.findall(r"^#{2,4} (.+)$", text, re.M)
    made = {re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") for words in headings}
    made |= {f"equation-{name}" for name in re.findall(r"^\$\$ \(([\w-]+)\)$", text, re.M)}
    made |= set(re.findall(r"^    name: (fig-[\w-]+)$", text, re.M))
    return made | set(re.findall(r"^(?:\(|:label: )([\w-]+)(?:\)=)?$", text, re.M))


def test_every_page_that_is_gone_is_gone_and_leads_to_what_is_there() -> None:
    assert not PAGES.keys() & SOURCES.keys()
    for address in PAGES.values():
        page, _, part = address.partition("#")
        assert page.removesuffix(".html") in SOURCES
        assert not part or part in anchors(page.removesuffix(".html"))


def test_every_part_that_moved_is_on_the_other_page_and_not_on_its_old_one() -> None:
    for old, table in PARTS.items():
        for part, page in table.items():
            assert part in anchors(page.removesuffix(".html")), part
            assert part not in anchors(old), part


def test_an_old_page_leads_on_without_a_script_and_without_a_server(tmp_path: Path) -> None:
    for name in ("how-it-was-made", "results"):
        (tmp_path / f"{name}.html").write_text("<html><head></head><body></body></html>")
    leave_redirects(tmp_path)
    page = (tmp_path / "timings.html").read_text("utf-8")
    soup = BeautifulSoup(page, "html.parser")
    wanted = "how-it-was-made.html#timings"
    assert soup.find("meta", {"http-equiv": "refresh"})["content"] == f"0; url={wanted}"
    assert soup.find("link", rel="canonical")["href"] == soup.find("a")["href"] == wanted
    assert not (tmp_path / "figures-large.html").exists(), "there is nothing to lead to"
    script = BeautifulSoup((tmp_path / "results.html").read_text("utf-8"), "html.parser").script
    table = json.loads(re.search(r"\{\"[^}]*\}", script.string)[0])
    assert urljoin("https://a/b/results.html", table["claims"]) == "https://a/b/claims.html"


def test_a_page_that_is_back_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scorecard.html").write_text("a page")
    with pytest.raises(BuildError, match=r"scorecard\.html is a page again"):
        leave_redirects(tmp_path)


# The contents --------------------------------------------------------------------------------


def test_does_it_hold_has_seven_pages_at_most() -> None:
    parts = {part["caption"]: part["chapters"] for part in TOC["parts"]}
    assert list(parts) == ["Chapters", "Does it hold?", "Use it", "Back matter"]
    assert len(parts["Does it hold?"]) <= 7
    assert len(parts["Use it"]) <= 7


def test_every_page_is_in_the_contents_once() -> None:
    listed = order(TOC)
    assert len(listed) == len(set(listed))
    assert set(listed) == SOURCES.keys()
