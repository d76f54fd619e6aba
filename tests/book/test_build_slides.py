"""Decks: marked cells in order, numbers resolved, nothing loaded, keys that turn slides."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup

from book.tools.handout import write_handouts
from book.tools.notes import with_notes
from book.tools.pages import BuildError, Page, find_pages, read_page
from book.tools.slides import (
    GLUE,
    ONLY,
    ROLE,
    Slide,
    collect,
    deck,
    resolve,
    tags,
    without_slides,
    write_decks,
)
from tests.browser.checks import accessibility_problems, quiet_page
from tests.scratch_book import HEADER, Whatever, numberless

TEXT = (
    HEADER
    + """# Sums

In the chapter only.

+++ {"tags": ["slide-only"]}

## What sums do

- $a + b = b + a$, and the number is {glue:text}`number:.1f` [simulated]{.evidence-simulated}

+++

```{code-cell} python
---
tags: [slide]
mystnb:
  image:
    alt: A "dot".
---
1
```

+++ {"tags": ["slide"]}

## In both

Shared words about $\\boldsymbol\\mu$.
"""
)
SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    path = tmp_path / "03-sums.md"
    path.write_text(TEXT)
    return read_page(path)


@pytest.fixture
def executed(page: Page) -> nbformat.NotebookNode:
    notebook = page.notebook()
    (code,) = [cell for cell in notebook.cells if cell.cell_type == "code"]
    record = {"application/papermill.record/text/plain": "2.25"}
    named = {"scrapbook": {"name": "number"}}
    code.outputs = [
        nbformat.v4.new_output("display_data", data=record, metadata=named),
        nbformat.v4.new_output("display_data", data={"image/svg+xml": SVG}),
    ]
    return notebook


def test_marked_cells_make_slides_in_order(executed: nbformat.NotebookNode) -> None:
    first, second = ("".join(slide.parts) for slide in collect(executed, name="03-sums"))
    assert "<h2>What sums do</h2>" in first
    assert "\\(a + b = b + a\\)" in first
    assert "2.2 <span" in first
    assert 'alt="A &quot;dot&quot;."' in first
    assert "Shared words about" in second
    assert "In the chapter only" not in first + second


def test_what_stands_in_the_deck_alone_is_not_in_the_chapter(page: Page, tmp_path: Path) -> None:
    text = "\n".join(cell.source for cell in without_slides(page.notebook()).cells)
    assert "What sums do" not in text
    assert "Shared words about" in text
    page.path.write_text(TEXT + "\n```{exercise} Q\n:label: ex-q\n?\n```\n")
    handout, _ = write_handouts([read_page(page.path)], folder=tmp_path / "handout")
    assert "What sums do" not in handout.read_text()


def test_what_a_slide_cannot_show_is_refused(executed: nbformat.NotebookNode) -> None:
    for text in ("{glue:text}`other`", "by {eq}`eq-mode`"):
        with pytest.raises(BuildError, match="03-sums"):
            resolve(text, numbers={}, name="03-sums")
    executed.cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    with pytest.raises(BuildError, match="must be a slide with a heading"):
        collect(executed, name="03-sums")


def dead_links(deck: Path) -> list[str]:
    """Links that lead neither out of the deck nor to one of its slides."""
    parsed = BeautifulSoup(
        re.sub("<script.*?</script>", "", deck.read_text(), flags=re.S), "html.parser"
    )
    places = {f"#{one['id']}" for one in parsed.find_all(id=True)}
    links = [str(link["href"]) for link in parsed.find_all("a", href=True)]
    return [to for to in links if not to.startswith("https://") and to not in places]


@pytest.mark.parametrize("site", [None, "https://someone.example/book"])
def test_no_deck_has_a_dead_link(
    site: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decks of all chapters with their notes; what cells would glue is 1 everywhere."""
    root = Path(__file__).resolve().parents[2]
    pages = [page for page in find_pages(root) if page.executes]
    for page in pages:
        nbformat.write(page.notebook(), tmp_path / f"{page.name}.ipynb")
    monkeypatch.setattr("book.tools.slides.glued", lambda notebook: Whatever("1"))
    book = replace(numberless(pages), site=site)
    folder = tmp_path / "decks"
    decks = write_decks(
        pages,
        executed=tmp_path,
        folder=folder,
        shared=True,
        add_notes=partial(with_notes, book=book),
    )
    assert {deck.name: found for deck in decks if (found := dead_links(deck))} == {}
    linked = [deck for deck in decks if site and f'href="{site}/' in deck.read_text()]
    assert len(linked) > 10 if site else not linked
    dead = (
        '<section id="s1"><a href="#s1">a</a><a href="two.ipynb">b</a><a href="#x">c</a></section>'
    )
    (tmp_path / "dead.html").write_text(dead)
    assert dead_links(tmp_path / "dead.html") == ["two.ipynb", "#x"]


def test_numbers_take_the_formats_of_the_chapters() -> None:
    numbers = {"whole": "597120", "part": "0.0005", "word": "'real'"}
    text = "{glue:text}`whole:,d` {glue:text}`part:.0e` {glue:text}`word`"
    assert resolve(text, numbers=numbers, name="03-sums") == "597,120 5e-04 real"


@pytest.mark.browser
def test_a_deck_works_from_one_file(
    browser: Any,
    page: Page,
    executed: nbformat.NotebookNode,
    tmp_path: Path,
) -> None:
    (tmp_path / "executed").mkdir()
    nbformat.write(executed, tmp_path / "executed" / "03-sums.ipynb")
    (path,) = write_decks([page], executed=tmp_path / "executed", folder=tmp_path / "slides")
    with quiet_page(browser, path) as opened:
        opened.evaluate("() => MathJax.startup.promise")
        assert opened.locator("h2:visible").inner_text() == "What sums do"
        assert opened.locator("mjx-container svg").count() == 2
        opened.keyboard.press("ArrowRight")
        assert opened.locator("h2:visible").inner_text() == "In both"
        assert opened.locator("h1").count() == 1
    assert accessibility_problems(browser, path) == []


@pytest.mark.browser
def test_lines_come_one_by_one_and_the_speaker_has_a_window(browser: Any, tmp_path: Path) -> None:
    slides = [
        Slide(
            ['<h2>One</h2><div class="words"><ul><li>a</li><li>b</li></ul></div>'], notes="<p>A</p>"
        ),
        Slide(['<h2>Two</h2><div class="words"><p>all</p></div>'], notes="<p>B</p>", minute=61),
    ]
    path = tmp_path / "deck.html"
    path.write_text(deck("Deck", slides, script=""))
    with quiet_page(browser, path) as page:
        hidden = page.locator("li.later")
        with page.expect_popup() as opened:
            page.keyboard.press("n")
        speaker = opened.value
        assert speaker.locator("#said").inner_text() == "A"
        assert "Two" in speaker.locator("#next").inner_text()
        assert hidden.count() == 1
        speaker.keyboard.press("ArrowRight")
        assert (hidden.count(), page.locator("h2:visible").inner_text()) == (0, "One")
        speaker.keyboard.press("ArrowRight")
        assert page.locator("h2:visible").inner_text() == "Two"
        assert speaker.locator("#said").inner_text() == "B"
        assert "this slide begins at 1:01" in speaker.locator("#clock").inner_text()


def test_the_slides_of_every_chapter_show_what_it_glues_and_tear_no_exercise() -> None:
    decks = Counter[str]()  # slides by chapter; a second page adds to its chapter's
    for path in sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]-*.md")):
        name, cells = path.stem, read_page(path).notebook().cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        # A name in braces is filled in when the cell runs: f"bt-{key}".
        named = re.findall(r'glue\(\s*f?"([^"]+)"', code)
        names = "|".join(re.sub(r"\\\{.+?\\\}", ".+", re.escape(name)) for name in named)
        inside = alone = 0
        for cell in (cell for cell in cells if cell.cell_type == "markdown"):
            text = cell.source
            if ONLY in tags(cell):
                assert text.startswith("## "), name
                assert all(re.fullmatch(names, key) for key, _ in GLUE.findall(text)), name
                assert not ROLE.search(GLUE.sub("", text)), name
                assert not inside, name
                alone += 1
            inside += len(re.findall(r"\{(?:exercise|solution)-start\}", text))
            inside -= len(re.findall(r"\{(?:exercise|solution)-end\}", text))
        assert alone <= 13, name
        decks[name[:2]] += alone
    shown = [alone for alone in decks.values() if alone]
    assert len(shown) > 10
    assert min(shown) >= 8
