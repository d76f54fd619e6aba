"""Grading: `make grade-course` runs a folder of submissions into a CSV, `make check-handout` one.

The cells of an exercise show a verdict, which starts with "not yet", "not right" or "right" (one,
or a dict of several). A class is graded with the checks of the handouts. One notebook alone is
graded with its own: a student who edits these can make them say anything, so look at the code too.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from book.tools.handout import exercises
from book.tools.pages import BuildError, code_cells

VERDICT = re.compile(r"\b(not yet|not right|right)\b")
MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)
SECONDS = 120  # a cell of a student may take


class Mark(NamedTuple):
    """One exercise of one student; `why` is empty where the verdict is the check's own."""

    student: str
    notebook: str
    exercise: str
    verdict: str
    why: str = ""


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


def bound(source: str) -> set[str]:
    """Names that a cell binds, anywhere in it."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return set()
    named = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    named |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return named | {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}


def protected(handout: nbformat.NotebookNode) -> set[str]:
    """Functions and classes that come from outside the exercises, where the checks are."""
    found = set()
    for cell in code_cells(handout):
        if label(cell) is None:
            nodes = ast.walk(ast.parse(MAGIC.sub("", cell.source)))
            found |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
            found |= set(cell.metadata.get("defines", []))
    return found


def restored(
    submitted: nbformat.NotebookNode, handout: nbformat.NotebookNode
) -> tuple[nbformat.NotebookNode, dict[str, str]]:
    """The handout with the student's cells of exercises in it, and which checks were changed.

    Everything outside the exercises is the handout's own, whatever the submission has there.
    """
    theirs = {cell.get("id"): cell for cell in code_cells(submitted)}
    checks, changed = protected(handout), dict[str, str]()
    copy = nbformat.from_dict(handout)
    for cell in code_cells(copy):
        name = label(cell)
        if name is None:
            continue
        if (answer := theirs.get(cell["id"])) is None:
            changed[name] = "a cell is missing"
            continue
        if last_line(cell.source) not in (None, last_line(answer.source)):
            changed[name] = "the check was changed"
        if bound(answer.source) & (checks - bound(cell.source)):
            changed[name] = "a function that checks was replaced"
        cell.source = answer.source
    return copy, changed


def answered(notebook: nbformat.NotebookNode, *, folder: Path, seconds: int) -> str:
    """Run a notebook where its checks lie, going on after errors; says what stopped it, or ""."""
    client = NotebookClient(
        notebook,
        timeout=seconds,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder.resolve())}},
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
    try:
        client.execute()
    except DeadKernelError:
        return "the kernel died here or before (out of memory, or exit() in a cell)"
    except CellTimeoutError:
        return f"a cell took longer than {seconds} s"
    return ""


def verdict(cells: list[nbformat.NotebookNode], *, printed: bool = False) -> str:
    """The worst verdict in what cells show last, or also print; "by hand" if there is none."""
    found = set()
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        # A cell that was stopped is not wrong: nobody knows what it would have shown.
        if output.output_type == "error" and output.ename != "KeyboardInterrupt":
            found.add("not right")
        elif printed or output.output_type == "execute_result":
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            found |= set(VERDICT.findall(text))
    return next((word for word in ("not right", "not yet", "right") if word in found), "by hand")


def grade_one(path: Path, *, handout: Path, student: str, seconds: int = SECONDS) -> list[Mark]:
    """Mark one submission; whatever is wrong with it becomes a row, never an error."""
    original = nbformat.read(handout, as_version=4)
    labels = list(dict.fromkeys(filter(None, map(label, code_cells(original)))))
    try:
        notebook, changed = restored(nbformat.read(path, as_version=4), original)
    except Exception as error:  # a submission may be anything
        why = f"no notebook: {type(error).__name__}"
        return [Mark(student, path.name, name, "by hand", why) for name in labels]
    stopped = answered(notebook, folder=handout.parent, seconds=seconds)
    marks = []
    for name in labels:
        found = verdict([cell for cell in code_cells(notebook) if label(cell) == name])
        why = changed.get(name, "") or (stopped if found == "by hand" else "")
        marks.append(Mark(student, path.name, name, "by hand" if name in changed else found, why))
    return marks


def grade_folder(folder: Path, *, handouts: Path, output: Path, seconds: int = SECONDS) -> Path:
    """Mark FOLDER/STUDENT/NOTEBOOK.ipynb against the handouts of the same names, into a CSV."""
    submissions = sorted(folder.glob("*/*.ipynb"))
    if not submissions:
        raise BuildError(f"There is no {folder}/STUDENT/NOTEBOOK.ipynb to grade")
    if not any(handouts.glob("*.ipynb")):
        raise BuildError(f"There are no handouts in {handouts}; name the kit's with KIT=")
    with output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Mark._fields)
        for path in submissions:
            handout, student = handouts / path.name, path.parent.name
            marks = [Mark(student, path.name, "", "by hand", "no handout has this name")]
            if handout.is_file():
                marks = grade_one(path, handout=handout, student=student, seconds=seconds)
            writer.writerows(marks)
            file.flush()  # what is marked stays marked
            counts = Counter(mark.verdict for mark in marks)
            said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            print(f"  {student}/{path.name}: {said}", flush=True)
    return output


def grades(notebook: nbformat.NotebookNode) -> list[tuple[str, str, str]]:
    """Label, title and verdict of each exercise of an executed notebook."""
    return [(name, title, verdict(c, printed=True)) for name, title, c in exercises(notebook)]


def grade(path: Path | None) -> str:
    """Run a student's notebook (.ipynb or .md); return what is right, how many of how many."""
    if path is None:
        raise BuildError("Which notebook? Say make check-handout FILE=path/to/it.ipynb")
    if not path.is_file():
        raise BuildError(f"There is no file {path} to check")
    try:
        notebook = jupytext.read(path)
        stopped = answered(notebook, folder=path.parent, seconds=600)
    except (ValueError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise BuildError(f"{path} is not a notebook: {error}") from None
    if stopped:
        raise BuildError(f"{path} was stopped: {stopped}")
    found = grades(notebook)
    if not found:
        return "This notebook has no exercises as make handout writes them."
    width = max(len(name) for name, _, _ in found)
    lines = [f"{name:<{width}}  {word:<9}  {title}" for name, title, word in found]
    words = Counter(word for _, _, word in found)
    more = f"; {words['by hand']} to be read by a person" if words["by hand"] else ""
    return "\n".join([*lines, f"{words['right']} of {len(found) - words['by hand']} right{more}"])
