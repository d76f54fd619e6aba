"""Glue at the level of Markdown: a page has the numbers that myst-nb puts into the built one."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from book.tools.glue import ROLE, number, read_values, resolve, write
from book.tools.pages import BuildError
from tests.needs import HTML, require

VALUES = {"sums": {"half": "0.5", "whole": "1200", "word": "'two'"}, "other": {"half": "0.25"}}


def test_roles_become_what_cells_glued() -> None:
    text = "{glue:text}`half:.2f`, {glue:text}`whole:,d`, {glue:text}`other.md::half`, {eq}`half`"
    assert resolve(text, values=VALUES, page="sums") == "0.50, 1,200, 0.25, {eq}`half`"
    assert resolve("a {glue:text}`word`.", values=VALUES, page="sums") == "a two."


def test_code_that_is_shown_stays_and_what_a_box_says_does_not() -> None:
    shown = "```python\n# {glue:text}`half`\n```\n"
    assert resolve(shown, values=VALUES, page="sums") == shown
    assert resolve("``{glue:text}`half` ``", values=VALUES, page="sums").count("0.5") == 0
    box = "````{admonition} Title\n{glue:text}`half`\n````\n"
    assert "\n0.5\n" in resolve(box, values=VALUES, page="sums")


@pytest.mark.parametrize("asked", ["third", "other.md::whole", "nowhere.md::half"])
def test_what_no_cell_glues_is_named(asked: str) -> None:
    with pytest.raises(BuildError, match=f"sums: no cell glues '{asked.rpartition(':')[2]}'"):
        number(asked, values=VALUES, page="sums")


@pytest.mark.needs("book")
def test_every_page_has_the_numbers_of_the_built_one() -> None:
    """In order; myst-nb, which renders them, is the other program."""
    require(["book"])
    executed, pages, count = HTML.parent / "executed", 0, 0
    values = read_values(executed)
    for path in sorted((HTML.parent / "stage").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        ours = [number(asked, values=values, page=path.stem) for asked in ROLE.findall(text)]
        built = BeautifulSoup((HTML / f"{path.stem}.html").read_text("utf-8"), "html.parser")
        theirs = [span.get_text() for span in built.select("article .pasted-text")]
        assert [one.split() for one in ours] == [one.split() for one in theirs], path.stem
        pages, count = pages + bool(ours), count + len(ours)
    assert pages > 25
    assert count > 500


@pytest.mark.needs("book")
def test_what_is_written_for_another_engine_asks_for_no_glue(tmp_path: Path) -> None:
    require(["book"])
    written = write(tmp_path, executed=HTML.parent / "executed")
    assert len(written) > 40
    left = [path.name for path in written if re.search(r"\{glue:text\}", path.read_text("utf-8"))]
    assert left == []
