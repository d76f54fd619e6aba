"""What a course needs, in one folder: `make course` writes it.

slides/     the lecture and a deck a chapter, which share one MathJax; as PDF, a slide a sheet
handouts/   plain notebooks for students, without any solution, their checks, and the wheel
nbgrader/   the handouts with a locked test after every exercise, as nbgrader's source
teacher/    the same notebooks with solutions, the guide, two examinations; not for students
rank-eight.html  the class page as one file, for any web space
moodle.xml  the questions that the chapters ask before they go on, for a bank of questions

`python -m book.tools.course` brings the minutes in the teacher's guide up to date with the kit.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nbformat

from book.tools.browser import find_chromium
from book.tools.exam import write_exam
from book.tools.exercises import write_module
from book.tools.handout import as_asked, exercises
from book.tools.lecture import NAME, lecture
from book.tools.nbgrader import source
from book.tools.notes import with_notes
from book.tools.pages import Page, find_pages, rendered, tags
from book.tools.pdf import browsing, opened, print_pages, to_pdf
from book.tools.plain import Book, plain_notebook
from book.tools.quiz import question_bank
from book.tools.slides import SHARED, deck, live, without_slides, write_decks
from book.tools.wheel import runs_on_its_own, version

GUIDE = "teachers-guide"
EXAMS = (1, 2)  # seeds
CONFIG = """\
c = get_config()  # noqa: F821, which nbgrader defines
c.CourseDirectory.course_id = "judging-by-comparison"
c.CourseDirectory.root = "."  # this folder: nbgrader generate_assignment 05-the-product-of-experts
c.ExecutePreprocessor.timeout = 600
"""
RANK_EIGHT = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Rank eight things</title>
<meta name="viewport" content="width=device-width">
<style>
  :root {{ --pst-color-text-base: #1c2430; --pst-color-text-muted: #48566b;
    --pst-color-primary: #1f5a94; --pst-color-border: #d5dae1;
    --pst-color-surface: #fff; --pst-color-background: #fff; }}
  body {{ max-width: 40rem; margin: 1rem auto; padding: 0 0.5rem; font: 1rem/1.5 Arial; }}
  h1 {{ font-size: 1.4rem; }}
</style>
{live}</head><body class="bd-article"><main><h1>Rank eight things of your own</h1>
<div id="fig-live-eight">This page needs JavaScript.</div></main></body></html>
"""
BEGIN, END = "% minutes: written by book/tools/course.py", "% end of minutes"
README = """\
The course kit of Judging by Comparison, version {version}.
Prose and figures CC BY 4.0, code MIT. Nothing here needs a network after the installation.

slides/    lecture.html is the lecture of 90 minutes, in the order of its run sheet in teacher/;
           the others are a deck per chapter. For any browser: a key brings the next line or slide,
           N opens a window with what to say and the time, for your own screen. The figures move.
           The decks share mathjax.js. The .pdf has the same slides, one per sheet.
handouts/  The chapters for students, without solutions. Give them the whole folder: it has the
           package that the notebooks need. In it: pip install -r requirements.txt, jupyter lab.
           The cell of an exercise answers "right", "not right: why" or "not yet". A student can
           edit what it says, so it is practice and no mark.
teacher/   The same notebooks with solutions, which need what the handouts need, the teacher's
           guide, the lecture's run sheet, and two examinations with answers and marks; from the
           book's sources make exam SEED=7 writes another. Keep them back.
nbgrader/  The source of an nbgrader course, one notebook per assignment, for marks: nbgrader
           restores the checks before it runs a submission, and exports the marks of a class.
           Its students need the wheel (.whl) of handouts/. nbgrader_config.py lies beside it.
rank-eight.html
           The page with which a class ranks things together, as one file for your course's site:
           choose the names, copy the link, collect the short codes in a chat.
moodle.xml {questions} questions that the chapters ask before they go on, a category per chapter:
           in Moodle: question bank, import, Moodle XML format. Formulas need its MathJax filter.
"""


def marked(page: Page) -> nbformat.NotebookNode:
    """The notebook of a page, whose cells of exercises say of which they are part."""
    notebook = without_slides(page.notebook())
    for label, title, cells in exercises(notebook):
        for cell in cells:
            cell.metadata["exercise"] = {"label": label, "title": title}
    return notebook


def minutes(pages: list[Page], decks: list[Path]) -> dict[str, tuple[int, int, int]]:
    """Slides of each chapter, minutes in class (2 a slide) and at home (200 words or a cell: 1).

    At home without the exercises, their solutions, and cells that no page shows.
    """
    slides = {path.stem: path.read_text(encoding="utf-8").count("<section ") for path in decks}
    by_chapter = {}
    for page in (page for page in pages if page.executes and page.name in slides):
        cells = [cell for cell in main_line(page) if "remove-cell" not in tags(cell)]
        words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
        read = words // 200 + sum(cell.cell_type == "code" for cell in cells)
        by_chapter[page.name] = slides[page.name], 2 * slides[page.name], read
    return by_chapter


def main_line(page: Page) -> Iterator[nbformat.NotebookNode]:
    """The cells of a chapter's own text: no slide, nothing between its exercises and the end."""
    exercises = False
    for cell in without_slides(page.notebook()).cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.*)$", cell.source, re.MULTILINE):
                exercises = title.startswith("Exercises")
        if not exercises:
            yield cell


def times(by_chapter: dict[str, tuple[int, int, int]]) -> str:
    """The minutes as the kit's table."""
    lines = ["", f"{'Minutes, estimated':32}  slides  in class  to read"]
    lines += [
        f"{name:32}  {n:6}  {taught:8}  {read:7}" for name, (n, taught, read) in by_chapter.items()
    ]
    return "\n".join([*lines, ""])


def in_guide(guide: str, by_chapter: dict[str, tuple[int, int, int]]) -> str:
    """The teacher's guide with these minutes: a table, and the last column of every session."""
    first = {x[:2]: x for x in reversed(by_chapter)}
    called = {x: f"{int(x[:2])}{'' if first[x[:2]] == x else ', second page'}" for x in by_chapter}
    rows = [f"| [{called[x]}]({x}.md) | {n} | {a} | {b} |" for x, (n, a, b) in by_chapter.items()]
    head = ["| chapter | slides | in class | to read |", "|:--|--:|--:|--:|"]
    table = "\n".join([BEGIN, "", *head, *rows, "", END])
    guide = re.sub(f"{BEGIN}.*?{END}", lambda _: table, guide, flags=re.DOTALL)

    def session(row: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\((\d\d)-[\w-]+\.md\)", row[1])]
        total = sum(taught for x, (_, taught, _) in by_chapter.items() if int(x[:2]) in numbers)
        return f"{row[1]}| {total} |"

    return re.sub(r"^(\| \d \|.*)\| [\d?]+ \|$", session, guide, flags=re.MULTILINE)


def print_kit(folder: Path, *, decks: list[Path], html: Path) -> None:
    """Print the decks and the teacher's guide, where there is a browser."""
    if find_chromium() is None:
        print("No Chromium here, so the kit has no PDFs: its decks are pages only")
        return
    with browsing() as browser:
        for deck in decks:
            page = opened(browser, deck, width=1047, height=718)
            to_pdf(page, deck.with_suffix(".pdf"))
            page.close()
        for name in (GUIDE, NAME):
            if (html / f"{name}.html").is_file():
                print_pages(browser, html, [name], output=folder / "teacher" / f"{name}.pdf")


def write_lecture(pages: list[Page], *, executed: Path, folder: Path, book: Book) -> Path:
    """Write the deck of the lecture beside those of the chapters."""
    title, slides = lecture(pages, executed=executed, book=book)
    path = folder / f"{NAME}.html"
    path.write_text(deck(title, slides, script=SHARED), encoding="utf-8")
    return path


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
        add_notes=partial(with_notes, book=book),
    )
    first = write_lecture(pages, executed=build / "executed", folder=folder / "slides", book=book)
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
    for seed in EXAMS:
        write_exam(seed, folder=folder / "teacher", script=SHARED.replace('"m', '"../slides/m'))
    write_module(pages, folder=folder / "handouts")
    runs_on_its_own(folder / "handouts")
    (folder / "nbgrader" / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    bank, questions = question_bank(rendered(build), pages=pages, site=book.site)
    (folder / "rank-eight.html").write_text(RANK_EIGHT.format(live=live()), encoding="utf-8")
    (folder / "moodle.xml").write_text(bank, encoding="utf-8")
    read_me = README.format(version=version(), questions=questions)
    (folder / "README.txt").write_text(read_me + times(minutes(pages, decks)), encoding="utf-8")
    print_kit(folder, decks=[first, *decks], html=rendered(build))
    return Path(shutil.make_archive(str(folder), "zip", root_dir=build, base_dir="course"))


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    guide = root / "book" / "teachers-guide.md"
    by_chapter = minutes(find_pages(root), sorted((root / "_build/course/slides").glob("*.html")))
    guide.write_text(in_guide(guide.read_text(encoding="utf-8"), by_chapter), encoding="utf-8")
