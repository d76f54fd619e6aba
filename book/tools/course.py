"""What a course needs, in one folder: `make course` writes it.

slides/     a deck a chapter, which share one MathJax; print a deck for one slide a sheet
handouts/   plain notebooks for students, without any solution, their checks, and the wheel
nbgrader/   the handouts with a locked test after every exercise, as nbgrader's source
teacher/    the same notebooks with the solutions; not for the students' folder
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import nbformat

from book.tools.exercises import write_module
from book.tools.handout import as_asked, exercises
from book.tools.nbgrader import source
from book.tools.notes import told
from book.tools.pages import Page
from book.tools.plain import Book, plain_notebook
from book.tools.slides import without_slides, write_decks
from book.tools.wheel import runs_on_its_own

README = """\
The course kit of Judging by Comparison.

slides/    open a deck in a browser; arrow keys turn the page, N shows what to say
handouts/  give this folder to students: pip install -r requirements.txt, then jupyter lab
teacher/   the solutions
nbgrader/  source/ of an nbgrader course, a notebook an assignment; install the wheel of handouts/
Grading:   in a clone, make grade-course FOLDER=submissions KIT=handouts CSV=marks.csv
           A submission is FOLDER/STUDENT/NOTEBOOK.ipynb. A verdict counts only where the check
           is the handout's own. It runs what students wrote: use a machine that may be lost.
"""


def marked(page: Page) -> nbformat.NotebookNode:
    """The notebook of a page, whose cells of exercises say of which they are part."""
    notebook = without_slides(page.notebook())
    for label, title, cells in exercises(notebook):
        for cell in cells:
            cell.metadata["exercise"] = {"label": label, "title": title}
    return notebook


def times(pages: list[Page], decks: list[Path]) -> str:
    """Minutes of each chapter: 2 a slide in class; at home 200 words a minute and 1 a cell."""
    slides = {path.stem: path.read_text(encoding="utf-8").count("<section ") for path in decks}
    lines = ["", f"{'Minutes, estimated':32}  slides  in class  to read"]
    for page in (page for page in pages if page.name in slides):
        cells = without_slides(page.notebook()).cells
        words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
        read = words // 200 + sum(cell.cell_type == "code" for cell in cells)
        count = slides[page.name]
        lines.append(f"{page.name:32}  {count:6}  {2 * count:8}  {read:7}")
    return "\n".join([*lines, ""])


def write_course(pages: list[Page], *, book: Book, build: Path) -> Path:
    """Write the kit and an archive of it; return the archive."""
    folder = build / "course"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("slides", "handouts", "teacher"):
        (folder / part).mkdir(parents=True)
    decks = write_decks(
        pages,
        executed=build / "executed",
        folder=folder / "slides",
        shared=True,
        told=partial(told, book=book),
    )
    for page in pages:
        if page.executes and "{exercise" in page.text:
            asked = as_asked(page, marked(page))
            for part, notebook in (("teacher", marked(page)), ("handouts", asked)):
                plain = plain_notebook(page, book=book, notebook=notebook)
                nbformat.write(plain, folder / part / f"{page.name}.ipynb")
    for path in sorted((folder / "handouts").glob("*.ipynb")):
        assignment = folder / "nbgrader" / "source" / path.stem
        assignment.mkdir(parents=True)
        nbformat.write(source(nbformat.read(path, as_version=4)), assignment / path.name)
    write_module(pages, folder=folder / "handouts")
    runs_on_its_own(folder / "handouts")
    (folder / "README.txt").write_text(README + times(pages, decks), encoding="utf-8")
    return Path(shutil.make_archive(str(folder), "zip", root_dir=build, base_dir="course"))
