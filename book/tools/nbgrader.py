"""Handouts for nbgrader, which is Jupyter's own and grades by the metadata of cells alone.

It restores locked cells before it runs a submission, so neither a check nor a test can be edited.
What students write are ordinary cells; of an exercise without a check it asks a person.
"""

from __future__ import annotations

import ast
import re
from copy import deepcopy

import nbformat

from book.tools.pages import code_cells

MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)
# It leaves no name behind that a chapter or a student may have.
TEST = """\
verdict__ = {check}
verdicts__ = verdict__.values() if isinstance(verdict__, dict) else [verdict__]
assert all(str(one).startswith("right") for one in verdicts__), verdict__"""


def label(cell: nbformat.NotebookNode) -> str | None:
    """The exercise that a cell is part of."""
    return cell.metadata.get("exercise", {}).get("label")


def last_line(source: str) -> str | None:
    """The expression that a cell shows, in a normal form; None where it shows none."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    return ast.unparse(body[-1].value) if body and isinstance(body[-1], ast.Expr) else None


def protected(handout: nbformat.NotebookNode) -> set[str]:
    """Functions and classes that come from outside the exercises, where the checks are."""
    names = set()
    for cell in code_cells(handout):
        if label(cell) is None:
            nodes = ast.walk(ast.parse(MAGIC.sub("", cell.source)))
            names |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
            names |= set(cell.metadata.get("defines", []))
    return names


def metadata(name: str, *, points: int = 0, locked: bool = True) -> nbformat.NotebookNode:
    """What nbgrader reads: a locked cell, a test if it has points, an answer if it is open."""
    known = {"grade_id": name, "locked": locked, "schema_version": 3, "task": False}
    known |= {"grade": points > 0, "solution": not locked}
    return nbformat.from_dict({"nbgrader": known | ({"points": points} if points else {})})


def check(cell: nbformat.NotebookNode, *, checks: set[str]) -> str | None:
    """The call of a check that a cell ends with."""
    shown = last_line(cell.source)
    names = (
        {n.id for n in ast.walk(ast.parse(shown)) if isinstance(n, ast.Name)} if shown else set()
    )
    return shown if names & checks else None


def source(handout: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The handout with locked checks, and a locked test of a point after every exercise."""
    whole, checks = deepcopy(handout), protected(handout)
    last = {label(cell): cell["id"] for cell in code_cells(handout) if label(cell)}
    calls: dict[str, list[str]] = {name: [] for name in last}
    cells: list[nbformat.NotebookNode] = []
    for cell in whole.cells:
        cells.append(cell)
        name = label(cell) if cell.cell_type == "code" else None
        if cell.cell_type == "code" and name is None:
            cell.metadata.update(metadata(re.sub(r"\W", "-", cell["id"])))
        elif name is not None:
            calls[name] += [call for call in [check(cell, checks=checks)] if call]
            if cell["id"] == last[name] and calls[name]:
                tests = "\n".join(TEST.format(check=call) for call in calls[name])
                test = nbformat.v4.new_code_cell(tests, id=f"{name}-test")
                test.metadata.update(metadata(f"{name}-test", points=1))
                cells.append(test)
            elif cell["id"] == last[name]:  # to be read by a person; what was given stays
                cell.source += "\n\n### BEGIN SOLUTION\n### END SOLUTION"
                cell.metadata.update(metadata(name, points=1, locked=False))
    whole.cells = cells
    return whole
