"""Student notebooks without the solutions.

An exercise stands between the fences `{exercise-start}` and `{exercise-end}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat

from book.tools.exercises import FENCE, MODULE, without_checks, write_module
from book.tools.pages import Page
from book.tools.slides import without_slides

SOLVED = re.compile(r"^[`:]{3,}\{solution-(start|end)\}.*$", re.MULTILINE)
CLOSING = re.compile(r"\A\s*^[`:]{3,}[ \t]*$", re.MULTILINE)  # of a fence that has nothing in it
LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
SOLUTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{solution\}.*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)


def without_solutions(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a copy without anything between solution fences, and without text solutions."""
    kept, inside = [], False
    for cell in notebook.cells:
        cell = nbformat.from_dict(dict(cell))
        if cell.cell_type != "markdown":
            if not inside:
                kept.append(cell)
            continue
        text, *pieces = SOLVED.split(cell.source)
        text = "" if inside else text
        for side, piece in zip(pieces[::2], pieces[1::2], strict=True):
            inside = side == "start"
            text += "" if inside else CLOSING.sub("", piece)
        cell.source = SOLUTION.sub("", text).strip()
        if cell.source:
            kept.append(cell)
    copy = nbformat.from_dict(dict(notebook))
    copy.cells = kept
    return copy


def as_asked(page: Page, notebook: nbformat.NotebookNode | None = None) -> nbformat.NotebookNode:
    """A page's notebook, or one made of it, without solutions, with calls in place of checks."""
    notebook = without_slides(page.notebook()) if notebook is None else notebook
    return without_solutions(without_checks(notebook, name=page.name))


def write_handouts(pages: list[Page], *, folder: Path) -> list[Path]:
    """Write the student notebook of every page that has exercises, and their checks beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.ipynb"), folder / f"{MODULE}.py"):
        old.unlink(missing_ok=True)
    written = []
    for page in pages:
        if page.executes and "{exercise" in page.text:
            path = folder / f"{page.name}.ipynb"
            nbformat.write(as_asked(page), path)
            written.append(path)
    return [*written, write_module(pages, folder=folder)]


def exercises(
    notebook: nbformat.NotebookNode,
) -> Iterator[tuple[str, str, list[nbformat.NotebookNode]]]:
    """Yield label, title and code cells of every exercise between fences."""
    label = title = ""
    cells: list[nbformat.NotebookNode] | None = None
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if cells is not None:
                cells.append(cell)
            continue
        for fence in FENCE.finditer(cell.source):
            kind, side, words = fence.groups()
            if kind == "exercise" and side == "start":
                named = LABEL.search(cell.source, fence.end())
                label, title, cells = (named[1] if named else words), words.strip(), []
            elif kind == "exercise" and cells is not None:
                yield label, title, cells
                cells = None
