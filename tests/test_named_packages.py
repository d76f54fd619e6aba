"""Every package that the project is built with is used by it, outside its tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from book.tools.pages import find_pages

ROOT = Path(__file__).resolve().parents[1]
CODE = ("poe", "judging", "reproduction", "studies", "book/tools", "benchmarks")
IMPORTED = {"numpy", "scipy", "pandas", "seaborn", "torch", "transformers", "cvxpy"}


def imported(sources: Iterable[str]) -> set[str]:
    """The packages that import statements name, wherever they stand."""
    found = set[str]()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def cells() -> list[str]:
    """The code of the chapters and pages, without what only a notebook can run."""
    pages = [page.notebook() for page in find_pages(ROOT) if page.executes]
    code = (
        cell.source for notebook in pages for cell in notebook.cells if cell.cell_type == "code"
    )
    return [re.sub(r"^\s*[%!].*$", "", source, flags=re.MULTILINE) for source in code]


def test_every_named_package_is_imported_where_a_reader_sees_it() -> None:
    assert imported(cells()) >= IMPORTED
    modules = [path.read_text("utf-8") for name in CODE for path in (ROOT / name).rglob("*.py")]
    assert {"numpy", "scipy", "pandas", "torch", "transformers", "cvxpy"} <= imported(modules)
    assert "pytest" not in imported(modules), "the control: a package of the tests alone"


def test_the_book_and_the_lab_are_run() -> None:
    make = (ROOT / "Makefile").read_text("utf-8")
    render = (ROOT / "book/tools/render.py").read_text("utf-8")
    assert re.search(r"^\t@\$\(PY\) -m jupyter lab ", make, re.MULTILINE)
    programs = [
        node.value
        for node in ast.walk(ast.parse(render))
        if isinstance(node, ast.Constant) and str(node.value).startswith("from ")
    ]
    assert "jupyter_book" in imported(map(str, programs))


def test_a_package_that_is_named_and_not_imported_is_missed() -> None:
    """A comment, a string and a list of requirements are no use of a package."""
    named = "# import seaborn\nwanted = ['seaborn>=0.13']\nimport pandas.plotting\n"
    assert imported([named]) == {"pandas"}
    assert imported(["def f():\n    from seaborn import heatmap\n"]) == {"seaborn"}
    assert imported(["from . import seaborn"]) == set()
