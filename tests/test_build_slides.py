"""Decks: marked cells in order, numbers resolved, nothing loaded, keys that turn slides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from book.tools.handout import write_handouts
from book.tools.pages import BuildError, Page, read_page
from book.tools.slides import (
    GLUE,
    ONLY,
    ROLE,
    collect,
    deck,
    resolve,
    tags,
    without_slides,
    write_decks,
)
from tests.browser.checks import quiet_page
from tests.browser.conftest import browser  # noqa: F401  (a fixture)
from tests.scratch_book import HEADER

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
    (handout,) = write_handouts([read_page(page.path)], folder=tmp_path / "handout")
    assert "What sums do" not in handout.read_text()


def test_what_a_slide_cannot_show_is_refused(executed: nbformat.NotebookNode) -> None:
    for text, complaint in (
        ("{glue:text}`other`", "no cell glues"),
        ("by {eq}`eq-mode`", "say it in words"),
    ):
        with pytest.raises(BuildError, match=complaint):
            resolve(text, numbers={}, name="03-sums")
    executed.cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    with pytest.raises(BuildError, match="must be a slide with a heading"):
        collect(executed, name="03-sums")


def test_numbers_take_the_formats_of_the_chapters() -> None:
    numbers = {"whole": "597120", "part": "0.0005", "word": "'real'"}
    text = "{glue:text}`whole:,d` {glue:text}`part:.0e` {glue:text}`word`"
    assert resolve(text, numbers=numbers, name="03-sums") == "597,120 5e-04 real"


def test_without_executed_chapters_it_says_what_to_run(page: Page, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="make book"):
        write_decks([page], executed=tmp_path / "none", folder=tmp_path / "slides")


@pytest.mark.browser
def test_a_deck_works_from_one_file(
    browser: Any,  # noqa: F811
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


def test_a_script_cannot_end_the_page_early() -> None:
    text = deck("T", [], script="x = '</script>'; y = '\\\\1'")
    assert "x = '<\\/script>'" in text
    assert "y = '\\\\1'" in text


CHAPTERS = sorted((Path(__file__).parents[1] / "notebooks").glob("[0-9][0-9]-*.md"))
DECKS = {
    path.stem: read_page(path).notebook().cells
    for path in CHAPTERS
    if "slide-only" in path.read_text(encoding="utf-8")
}


def test_the_slides_of_every_chapter_keep_to_the_rules() -> None:
    assert len(DECKS) > 10
    for name, cells in DECKS.items():
        alone = [cell.source for cell in cells if ONLY in tags(cell)]
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        # A name in braces is filled in when the cell runs: f"bt-{key}".
        named = re.findall(r'glue\(\s*f?"([^"]+)"', code)
        names = "|".join(re.sub(r"\\\{.+?\\\}", ".+", re.escape(name)) for name in named)
        assert 8 <= len(alone) <= 13, name
        for text in alone:
            assert text.startswith("## "), name
            assert len(re.findall(r"^- ", text, re.MULTILINE)) <= 5, name
            assert all(re.fullmatch(names, key) for key, _ in GLUE.findall(text)), name
            assert not ROLE.search(GLUE.sub("", text)), name
        assert alone[-1].startswith("## What to remember"), name
        assert "**For the room:**" in alone[-1], name


def test_a_marked_figure_follows_its_slide() -> None:
    """Code may stand between the two, words may not."""
    for name, cells in DECKS.items():
        marked = 0
        slide_before = False
        for cell in cells:
            if cell.cell_type == "markdown":
                slide_before = ONLY in tags(cell)
            elif "slide" in tags(cell):
                marked += 1
                assert slide_before, name
        assert marked, name


def test_no_slide_tears_an_exercise_or_a_fence() -> None:
    for name, cells in DECKS.items():
        inside = 0
        for text in (cell for cell in cells if cell.cell_type == "markdown"):
            if ONLY in tags(text):
                assert not inside, name
                continue
            inside += len(re.findall(r"\{(?:exercise|solution)-start\}", text.source))
            inside -= len(re.findall(r"\{(?:exercise|solution)-end\}", text.source))
            fences = re.findall(r"^(?:`{3,}|:{3,})", text.source, re.MULTILINE)
            assert len(fences) % 2 == 0, name
