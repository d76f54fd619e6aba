"""The checks of the exercises as a module, so that no notebook given away holds an answer.

In a chapter a check is a function `check_...` in a cell beside the exercises, and often contains
what it asks for. Here these cells move into `poe_exercises.py`, made from the chapters at build
time, and a notebook calls it in their place.
"""

from __future__ import annotations

import ast
import pprint
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat

from book.tools.pages import BuildError, Page

FENCE = re.compile(r"^[`:]{3,}\{(exercise|solution)-(start|end)\}[ \t]*(.*)$", re.MULTILINE)
MODULE = "poe_exercises"
SOURCE = '''"""Checks of the exercises, which hold answers. Made from the chapters: do not edit."""

CELLS = {cells}


def checks(chapter, cell, namespace):
    """Define the checks of one cell of a chapter among the notebook's own names."""
    exec(compile(CELLS[chapter][cell], f"checks of {{chapter}}", "exec"), namespace)
'''
CALL = """\
# The checks of the exercises stand in a module of their own.
import {module}

{module}.checks("{chapter}", {number}, globals())"""


def placed(notebook: nbformat.NotebookNode) -> Iterator[tuple[nbformat.NotebookNode, str]]:
    """The cells that execute, each with what it stands in: "exercise", "solution" or ""."""
    inside = ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield cell, inside
        elif fences := FENCE.findall(cell.source):
            kind, side, _ = fences[-1]
            inside = kind if side == "start" else ""


def cells_with_checks(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """The cells beside the exercises that define a function `check_...`, solutions left out."""
    for cell, inside in placed(notebook):
        if inside != "solution" and any(name.startswith("check_") for name in functions(cell)):
            if inside == "exercise":  # where the reader writes
                raise BuildError(f"This check must stand beside its exercise:\n\n{cell.source}")
            yield cell


def functions(cell: nbformat.NotebookNode) -> list[str]:
    """The functions that a cell with a check defines; nothing of one that is not plain Python."""
    body = ast.parse(cell.source).body if "def check_" in cell.source else []
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


def without_checks(notebook: nbformat.NotebookNode, *, name: str) -> nbformat.NotebookNode:
    """Return the notebook of a chapter with calls of the module in place of its checks.

    Each call says in its metadata which functions it `defines`; nbgrader's export locks them.
    """
    for number, cell in enumerate(cells_with_checks(notebook)):
        cell.metadata["defines"] = functions(cell)
        cell.source = CALL.format(module=MODULE, chapter=name, number=number)
    return notebook


def write_module(pages: list[Page], *, folder: Path) -> Path:
    """Write poe_exercises.py into a folder of notebooks.

    It has the moved source of every chapter, by its name and the order of its cells.
    """
    cells = {
        page.name: [cell.source for cell in cells_with_checks(page.notebook())]
        for page in pages
        if page.executes and "def check_" in page.text
    }
    path, shown = folder / f"{MODULE}.py", pprint.pformat(cells, width=100, sort_dicts=True)
    path.write_text(SOURCE.format(cells=shown), encoding="utf-8")
    return path
