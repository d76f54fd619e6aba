"""What a speaker says to a slide, and the steps of its derivations: the chapter's own words.

A slide stands in its chapter beside what it sums up: before a section that begins right after it,
else after the text since the slide before. That prose is its notes. Where it derives something,
a slide of steps follows, each a formula and the sentence that leads to it.
"""

from __future__ import annotations

import re

import nbformat

from book.tools.pages import Page, tags
from book.tools.plain import Book, inline, unboxed
from book.tools.slides import ONLY, Slide, markdown

SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[A-Z$*])")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
MARKUP = re.compile(r"^[> ]+|^---$|</?[a-z][^>\n]*>|\$\\square\$|□", re.MULTILINE)
FEWEST, MOST = 3, 11  # formulas that make a derivation; lines that fit on a slide
WIDTH = 75  # characters of a line
LONGEST = 220  # characters of a sentence on a slide


def said(notebook: nbformat.NotebookNode) -> dict[int, str]:
    """Prose of the chapter by the cell of the slide that it belongs to."""
    prose: dict[int, list[str]] = {}
    before: list[str] = []
    slide, announces, fresh = -1, False, False
    for k, cell in enumerate(notebook.cells):
        marked = tags(cell) & {"slide", ONLY}
        if cell.cell_type == "code":
            fresh = fresh and bool(marked)
        elif marked:
            prose[k], before = before, []
            slide, announces, fresh = k, False, True
        elif "## Exercises" in cell.source:
            break
        else:
            if fresh:
                announces, fresh = cell.source.lstrip().startswith("## "), False
            (prose[slide] if announces else before).append(cell.source)
    return {k: "\n\n".join(texts) for k, texts in prose.items() if texts}


def notes(page: Page, notebook: nbformat.NotebookNode, *, book: Book) -> dict[int, str]:
    """The same as plain Markdown, without headings and boxes."""
    plain = {
        k: inline(unboxed(text, page=page.name, book=book), page=page.name, book=book)
        for k, text in said(notebook).items()
    }
    return {k: MARKUP.sub("", HEADING.sub("", text)).strip() for k, text in plain.items()}


def steps(text: str) -> list[tuple[str, str]]:
    """Each displayed formula, and the sentence that leads to it."""
    formulas, lead = [], ""
    for token in markdown().parse(text):
        if token.type == "inline":
            sentence = SENTENCE.split(" ".join(token.content.split()))[-1]
            lead = sentence if len(sentence) <= LONGEST else ""
        elif token.type == "math_block":
            formulas.append((lead, token.content.strip()))
            lead = ""
    return formulas if len(formulas) >= FEWEST else []


def derivation(text: str, *, title: str) -> list[Slide]:
    """Slides of the steps, which appear one after another."""
    parser, groups, used = markdown(), list[list[str]](), MOST
    for lead, tex in steps(text):
        lines = -(-len(lead) // WIDTH) + 2 + 1.3 * tex.count("\\\\") + ("frac" in tex)
        if used + lines > MOST:
            groups, used = [*groups, []], 0.0
        shown = parser.render(f"{lead}\n\n$${tex}$$")
        groups[-1].append(f'<div class="step">{shown}</div>')
        used += lines
    head = f"<h2>{title}{' Step' if title.endswith('?') else ': step'} by step</h2>"
    return [Slide([head, f'<div class="words">{"".join(group)}</div>']) for group in groups]


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
