"""Student notebooks without the solutions, and the grading of one that comes back.

An exercise stands between the fences `{exercise-start}` and `{exercise-end}`. Its cells show a
verdict, which starts with "not yet", "not right" or "right" (one, or a dict of several). Grading
runs the notebook and reads the verdicts. They are the notebook's own: a student who edits the
checks can make them say anything, so look at the code as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from book.tools.exercises import MODULE, without_checks, write_module
from book.tools.pages import BuildError, Page, plain
from book.tools.slides import without_slides

FENCE = re.compile(r"^`{3,}\{(exercise|solution)-(start|end)\}[ \t]*(.*)$", re.MULTILINE)
CLOSING = re.compile(r"\s*^`{3,}[ \t]*$", re.MULTILINE)  # of a fence that has nothing in it
LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
SOLUTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{solution\}.*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
VERDICT = re.compile(r"\b(not yet|not right|right)\b")


@dataclass(frozen=True)
class Grade:
    """One exercise: its label, its title, and "right", "not right", "not yet" or "by hand"."""

    label: str
    title: str
    verdict: str


def without_solutions(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a copy without anything between solution fences, and without text solutions."""
    kept, inside = [], False
    for cell in notebook.cells:
        cell = nbformat.from_dict(dict(cell))
        if cell.cell_type != "markdown":
            if not inside:
                kept.append(cell)
            continue
        pieces, place = [], 0
        for fence in FENCE.finditer(cell.source):
            kind, side, _ = fence.groups()
            if kind != "solution":
                continue
            if side == "start":
                pieces.append(cell.source[place : fence.start()])
                inside = True
            else:
                closing = CLOSING.match(cell.source, fence.end())
                place, inside = (closing or fence).end(), False
        if not inside:
            pieces.append(cell.source[place:])
        cell.source = SOLUTION.sub("", "".join(pieces)).strip()
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


def shown(cell: nbformat.NotebookNode) -> str:
    """Everything a cell shows, as text."""
    texts = []
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            return "not right: " + plain(output.get("evalue", ""))
        texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


def verdict(cells: list[nbformat.NotebookNode]) -> str:
    """Return the worst verdict shown by the cells of an exercise, or "by hand" if none is."""
    found = {match[1] for cell in cells for match in VERDICT.finditer(shown(cell))}
    return next((word for word in ("not right", "not yet", "right") if word in found), "by hand")


def grades(notebook: nbformat.NotebookNode) -> list[Grade]:
    """Grade an executed notebook."""
    return [Grade(label, title, verdict(cells)) for label, title, cells in exercises(notebook)]


def grade(path: Path | None) -> str:
    """Run a student's notebook (.ipynb or .md), going on after errors; return the report."""
    if path is None:
        raise BuildError("Which notebook? Say make check-handout FILE=path/to/it.ipynb")
    if not path.is_file():
        raise BuildError(f"There is no file {path} to check")
    try:
        notebook = jupytext.read(path)
        NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": str(path.resolve().parent)}},  # where the checks lie
            extra_arguments=["--IPKernelApp.log_level=40"],
        ).execute()
    except (ValueError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise BuildError(f"{path} is not a notebook: {error}") from None
    except DeadKernelError:
        raise BuildError(f"{path} ended its kernel (out of memory, or exit() in a cell)") from None
    except CellTimeoutError:
        raise BuildError(f"{path} was stopped: a cell took longer than 600 s") from None
    return report(grades(notebook))


def report(found: list[Grade]) -> str:
    """Say in a table what is right, and how many of how many."""
    if not found:
        return "This notebook has no exercises as make handout writes them."
    width = max(len(grade.label) for grade in found)
    lines = [f"{grade.label:<{width}}  {grade.verdict:<9}  {grade.title}" for grade in found]
    graded = [grade for grade in found if grade.verdict != "by hand"]
    right = sum(grade.verdict == "right" for grade in graded)
    by_hand = len(found) - len(graded)
    more = f"; {by_hand} to be read by a person" if by_hand else ""
    return "\n".join([*lines, f"{right} of {len(graded)} right{more}"])
