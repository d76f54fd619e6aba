"""Exercises of the executed chapters: enough of them, unanswered, and with answers that pass."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from book.tools.handout import SOLUTION, exercises
from book.tools.pages import find_pages
from tests.browser.conftest import HTML, ROOT

PAGES = [p.name for p in find_pages(ROOT) if p.executes and re.match(r"\d", p.name)]
# A chapter's pages by its number.
CHAPTERS = {number: [n for n in PAGES if n[:2] == number] for number in {n[:2] for n in PAGES}}
VERDICT = re.compile(r"\b(not yet|not right|right)\b")
EXECUTED = Path(os.environ.get("JBC_HTML") or HTML).parent / "executed"


def verdicts(cells: list[nbformat.NotebookNode]) -> set[str]:
    """What the cells of an exercise say: "error" where one failed."""
    found = set()
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        found |= {"error"} if output.output_type == "error" else set(VERDICT.findall(text))
    return found


@pytest.mark.needs("book")
@pytest.mark.parametrize("chapter", sorted(CHAPTERS))
def test_a_chapter_has_four_exercises_none_answered(chapter: str) -> None:
    notebooks = [
        nbformat.read(EXECUTED / f"{name}.ipynb", as_version=4) for name in CHAPTERS[chapter]
    ]
    pages = [
        {label: verdicts(cells) for label, _, cells in exercises(notebook)}
        for notebook in notebooks
    ]
    assert all(pages), "no page is without"
    found = {label: said for page in pages for label, said in page.items()}
    assert len(found) >= 4
    # The solutions that follow assert "right" when the page is executed.
    assert {label: said for label, said in found.items() if said != {"not yet"}} == {}


@pytest.mark.parametrize("name", PAGES)
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
