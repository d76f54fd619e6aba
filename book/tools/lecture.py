"""One lecture as one deck: the rows of its run sheet, book/lecture.md, in their order.

A row puts on the screen what a page has under a name:

    [5](05-....md): *Title*               a slide of its deck, with the derivation that follows it
    [5](05-....md): question *words*      the question with these words; then it and its answer
    [page](index.md): {numref}`Title (Fig. %s) <fig-name>`    a figure alone

What the row says to press and to ask leads the notes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup

from book.tools.addresses import addressed
from book.tools.notes import SENTENCE, plain, with_notes
from book.tools.pages import BuildError, Page
from book.tools.plain import Book
from book.tools.slides import Slide, collect, markdown, picture

NAME = "lecture"
ROW = re.compile(
    r"^\| (\d+):(\d\d) \| (\d+) \| \[.*?\]\((.*?)\.md\): (.*?) \| (.*?) ?\| (.*?) ?\|$", re.M
)
FIGURE = re.compile(r"\{numref\}`(.*?) \(Fig\. %s\) <(.*?)>`")
EVIDENCE = re.compile(r"\[\w+\]\{\.evidence-\w+\}")
BOX = re.compile(
    r"^:::\{admonition\}[^\n]*\n:class: question\n(?P<text>.*?)"
    r'<div class="jc-commit"(?P<data>[^>]*)></div>\s*^:::$(?P<after>.*)',
    re.M | re.S,
)


@dataclass(frozen=True)
class Row:
    """One row of the run sheet."""

    minute: int
    minutes: int
    page: str
    shown: str
    press: str
    ask: str


def rows(text: str) -> list[Row]:
    """The rows of a run sheet."""
    return [
        Row(60 * int(h) + int(m), int(took), page, shown, press, ask)
        for h, m, took, page, shown, press, ask in ROW.findall(text)
    ]


@dataclass(frozen=True)
class Question:
    """A question of a chapter that takes an answer before it gives its own."""

    text: str
    ask: str
    options: list[str]
    answer: str
    because: str


def questions(notebook: nbformat.NotebookNode) -> Iterator[Question]:
    """The questions of a chapter; what explains an answer is the paragraph after it."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    for k, text in enumerate(texts):
        for part in re.split(r"^(?=:::\{admonition\})", text, flags=re.M):
            if box := BOX.match(part):
                known = dict(re.findall(r'data-([a-z]+)="([^"]*)"', box["data"]))
                options = known["options"].split("|") if "options" in known else []
                after = box["after"].strip() or "".join(texts[k + 1 : k + 2])
                because = after.split("\n\n")[0] if not after.startswith("#") else ""
                yield Question(
                    box["text"].strip(), known.get("ask", ""), options, known["answer"], because
                )


def asked(question: Question, *, page: Page, book: Book) -> list[Slide]:
    """A question as a slide, and the same with its answer."""

    def written(text: str) -> str:
        return markdown().render(plain(text, page=page, book=book))

    def choices(right: str | None) -> str:
        options = question.options or ([right] if right else [])
        marked = [
            f"<span{' class=right' if one == right else ''}>{html.escape(one)}</span>"
            for one in options
        ]
        return f'<div class="choices">{"".join(marked)}</div>'

    text = f"{written(question.text)}<p><strong>{html.escape(question.ask)}</strong></p>"
    before = Slide([f'<h2>Before we go on</h2><div class="words">{text}{choices(None)}</div>'])
    first = SENTENCE.split(" ".join(question.because.split()))[0]
    after = f"{text}{choices(question.answer)}{written(first)}"
    answered = [f'<h2>The answer</h2><div class="words">{after}</div>']
    return [before, Slide(answered, notes=written(question.because))]


def shown(row: Row, page: Page, notebook: nbformat.NotebookNode, *, book: Book) -> list[Slide]:
    """The slides of one row."""
    if figure := FIGURE.search(row.shown):
        title, name = figure.groups()
        for cell in notebook.cells:
            found = cell.metadata.get("mystnb", {}).get("figure", {})
            if found.get("name") == name:
                said = markdown().render(plain(found["caption"], page=page, book=book))
                kinds = markdown().renderInline(" ".join(EVIDENCE.findall(found["caption"])))
                parts = [f"<h2>{title} {kinds}</h2>", picture(cell)]
                return [Slide(addressed(parts, page=row.page, site=book.site), notes=said)]
    words = re.search(r"\*(.+)\*", row.shown)
    if words and row.shown.startswith("question "):
        for question in questions(notebook):
            if words[1] in question.text:
                return asked(question, page=page, book=book)
    elif words:
        slides = with_notes(page, notebook, collect(notebook, name=page.name), book=book)
        titles = [BeautifulSoup(one.parts[0], "html.parser").h2 for one in slides]
        for k, title in enumerate(titles):
            if title and title.get_text() == words[1]:
                steps = next((n for n, one in enumerate(slides[k + 1 :]) if one.cell >= 0), None)
                return slides[k : None if steps is None else k + 1 + steps]
    raise BuildError(f"{NAME}: {page.name} has no {row.shown}")


def lecture(pages: list[Page], *, executed: Path, book: Book) -> tuple[str, list[Slide]]:
    """The title and the slides of the run sheet."""
    by_name = {page.name: page for page in pages}
    slides = list[Slide]()
    for row in rows(by_name[NAME].text):
        notebook = nbformat.read(executed / f"{row.page}.ipynb", as_version=4)
        found = shown(row, by_name[row.page], notebook, book=book)
        lead = f"{row.minutes} minutes." + f" Press: {row.press}." * bool(row.press)
        lead = f"<p><strong>{html.escape(lead)}</strong></p>"
        lead += f"<p><strong>Ask: {html.escape(row.ask)}</strong></p>" * bool(row.ask)
        for k, slide in enumerate(found):
            minute = row.minute if k == 0 else None
            notes = lead * (k == 0) + slide.notes
            slides.append(replace(slide, minute=minute, notes=notes))
    title = re.search(r"^# (.+)$", by_name[NAME].text, re.M)
    return title[1] if title else NAME, slides
