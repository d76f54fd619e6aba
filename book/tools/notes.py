"""What a speaker says to a slide, and the steps of its derivations: the chapter's own words.

A slide stands in its chapter beside what it sums up: before a section that begins right after it,
else after the text since the slide before. That prose is its notes. Where it derives something,
a slide of steps follows, each a formula and the sentence that leads to it.
"""

from __future__ import annotations

import re

import nbformat

from book.tools.pages import Page
from book.tools.plain import Book, inline, unboxed
from book.tools.slides import ONLY, Slide, markdown, tags

SHOWN = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[A-Z$*])")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
MARKUP = re.compile(r"^[> ]+|^---$|<[^>]+>", re.MULTILINE)
FEWEST, MOST = 2, 4  # formulas that make a derivation; steps that fit on a slide
LONGEST = 220  # characters of a sentence on a slide


def said(notebook: nbformat.NotebookNode) -> dict[int, str]:
    """Prose of the chapter by the cell of the slide that it belongs to."""
    found: dict[int, list[str]] = {}
    before: list[str] = []
    slide, announces, fresh = -1, False, False
    for k, cell in enumerate(notebook.cells):
        marked = tags(cell) & {"slide", ONLY}
        if cell.cell_type == "code":
            fresh = fresh and bool(marked)
        elif marked:
            found[k], before = before, []
            slide, announces, fresh = k, False, True
        elif "## Exercises" in cell.source:
            break
        else:
            if fresh:
                announces, fresh = cell.source.lstrip().startswith("## "), False
            (found[slide] if announces else before).append(cell.source)
    return {k: "\n\n".join(texts) for k, texts in found.items() if texts}


def notes(page: Page, notebook: nbformat.NotebookNode, *, book: Book) -> dict[int, str]:
    """The same as plain Markdown, without headings and boxes."""
    plain = {
        k: inline(unboxed(text, page=page.name, book=book), page=page.name, book=book)
        for k, text in said(notebook).items()
    }
    return {k: MARKUP.sub("", HEADING.sub("", text)).strip() for k, text in plain.items()}


def steps(text: str) -> list[str]:
    """Each displayed formula after the sentence that leads to it."""
    pieces = SHOWN.split(text)
    made = []
    for words, tex in zip(pieces[::2], pieces[1::2], strict=False):
        sentences = SENTENCE.split(" ".join(words.split()))
        lead = sentences[-1] if sentences and len(sentences[-1]) <= LONGEST else ""
        made.append(f"{lead}\n\n$${tex}$$")
    return made if len(made) >= FEWEST else []


def derivation(text: str, *, title: str) -> list[Slide]:
    """Slides of the steps, which appear one after another."""
    parser, slides, found = markdown(), [], steps(text)
    for start in range(0, len(found), MOST):
        shown = [
            f'<div class="step">{parser.render(step)}</div>' for step in found[start : start + MOST]
        ]
        head = f"<h2>{title}: step by step</h2>"
        slides.append(Slide([head, f'<div class="words">{"".join(shown)}</div>']))
    return slides


def told(
    page: Page, notebook: nbformat.NotebookNode, slides: list[Slide], *, book: Book
) -> list[Slide]:
    """The slides of a chapter with their notes, and with their derivations after them."""
    words, parser, whole = notes(page, notebook, book=book), markdown(), list[Slide]()
    for slide in slides:
        text = words.get(slide.cell, "")
        slide.notes = parser.render(text)
        title = re.search(r"<h[123]>(.*?)</h[123]>", slide.parts[0])
        whole += [slide, *derivation(text, title=title[1] if title else page.name)]
    return whole
