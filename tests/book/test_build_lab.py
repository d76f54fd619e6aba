"""Copies of the pages for JupyterLab: without slides, made once, never over a student's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from book.tools.lab import write_lab
from book.tools.pages import find_pages, hash_files, tags
from book.tools.plain import LINK
from book.tools.slides import ONLY
from tests.scratch_book import HEADER, ROOT, numberless


def words(path: Path) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("notebooks", "book"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notebooks/01-one.md").write_text(f"{HEADER}# One\n\n[next](02-two.md)\n")
    return tmp_path


def test_what_a_student_wrote_stays_and_new_chapters_appear(root: Path) -> None:
    folder = root / "_build/lab"

    def lab() -> list[str]:
        pages = find_pages(root)
        return [path.name for path in write_lab(pages, book=numberless(pages), folder=folder)]

    assert lab() == ["01-one.ipynb", "poe_exercises.py"]
    mine = nbformat.read(folder / "01-one.ipynb", as_version=4)
    mine.cells.append(nbformat.v4.new_markdown_cell("My answer."))
    nbformat.write(mine, folder / "01-one.ipynb")
    (root / "notebooks/01-one.md").write_text(f"{HEADER}# One, corrected\n")
    (root / "notebooks/02-two.md").write_text(f"{HEADER}# Two\n\n[back](01-one.md)\n")
    assert lab() == ["02-two.ipynb", "poe_exercises.py"]
    assert "My answer." in words(folder / "01-one.ipynb")
    assert words(folder / "02-two.ipynb").endswith("[back](01-one.ipynb)")


def test_no_slide_is_in_any_copy_and_the_sources_stay_as_they_are(tmp_path: Path) -> None:
    sources = [hash_files(ROOT / name) for name in ("notebooks", "book")]
    pages = find_pages(ROOT)
    book = replace(numberless(pages), site="https://someone.example/book")
    write_lab(pages, book=book, folder=tmp_path)
    assert [hash_files(ROOT / name) for name in ("notebooks", "book")] == sources
    slides = 0
    for page in (page for page in pages if page.executes):
        copy, cells = words(tmp_path / f"{page.name}.ipynb"), page.notebook().cells
        told = "\n".join(cell.source for cell in cells if ONLY not in tags(cell))
        shown = {line for cell in cells if ONLY in tags(cell) for line in cell.source.splitlines()}
        alone = {line for line in shown if len(line) > 20 and "{" not in line and line not in told}
        assert not [line for line in alone if line in copy], page.name
        assert not LINK.search(copy), page.name
        assert "someone.example" not in copy, "links lead to the copies"
        assert "{cite" not in copy
        slides += len(alone)
    assert slides > 100, "the sources have slides: the control"
    assert len(list(tmp_path.glob("*.ipynb"))) == sum(page.executes for page in pages)
