"""Exercises of the executed chapters: enough of them, unanswered, and with answers that pass."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from book.tools.grading import grades
from book.tools.handout import SOLUTION, exercises
from book.tools.pages import find_pages
from tests.browser.conftest import HTML, ROOT, skip

pytestmark = pytest.mark.browser

CHAPTERS = [p.name for p in find_pages(ROOT) if p.executes and re.match(r"\d", p.name)]
EXECUTED = Path(os.environ.get("JBC_HTML") or HTML).parent / "executed"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_four_exercises_none_answered(name: str) -> None:
    path = EXECUTED / f"{name}.ipynb"
    if not path.is_file():
        skip("exercise tests skipped: no executed book yet; run make book first")
    notebook = nbformat.read(path, as_version=4)
    found = grades(notebook)
    assert len(found) >= 4
    # The solutions that follow assert "right" when the page is executed.
    assert {label: verdict for label, _, verdict in found if verdict != "not yet"} == {}


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_exercise_has_its_solution(name: str) -> None:
    page = next(page for page in find_pages(ROOT) if page.name == name)
    notebook = page.notebook()
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    solved = set(re.findall(r"\{solution(?:-start)?\} (\S+)", text))
    asked = [label for label, _, _ in exercises(notebook)]
    assert len(set(asked)) == len(asked)
    assert set(asked) <= solved
    assert text.count("solution-start}") == text.count("solution-end}")
    assert "```{solution}" not in SOLUTION.sub("", text)
