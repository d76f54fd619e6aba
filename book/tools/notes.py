"""What a speaker says to a slide, and the steps of its derivations: the chapter's own words.

A slide stands in its chapter before what it sums up, so what follows, up to the next slide or the
exercises, is its notes, with what a cell prints where a sentence announces it; where nothing
follows, the section of its title. With the tag `steps` the
derivation of that section follows it, a formula at a time with the sentence that leads to it. What
is folded away in the chapter is left out.
"""

from __future__ import annotations

import re
from dataclasses import replace

import nbformat

from book.tools.addresses import addressed
from book.tools.pages import BuildError, Page, tags
from book.tools.plain import Book, inline, unboxed
from book.tools.slides import ONLY, Slide, markdown

SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[A-Z$*])")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
MARKUP = re.compile(r"^[> ]+|^---$|</?[a-z][^>\n]*>|\$\\square\$|□", re.MULTILINE)
FOLDED = re.compile(r"^(`{3,}|:{3,})\{.*\n(?::.*\n)*:class:.*dropdown[\s\S]*?^\1$", re.MULTILINE)
STEPS = "steps"  # the tag of a slide that a derivation follows
MAX_LINES = 11  # lines that fit on a slide
WIDTH = 75  # characters of a line
LONGEST = 220  # characters of a sentence on a slide
ROWS, COLUMNS = 12, 90  # of what a cell prints, where its notes show it
HIDDEN = {"remove-cell", "remove-output", "hide-output", "hide-cell"}


def prose_by_slide(notebook: nbformat.NotebookNode) -> dict[int, str]:
    """Prose of the chapter by the cell of the slide that it follows."""
    prose: dict[int, list[str]] = {}
    slide, whole = -1, list[str]()  # what stands before the first is said to none
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            announced = prose.get(slide, [""])[-1].rstrip().endswith(":")
            if announced and (text := printed(cell)):
                prose[slide].append(text)
            continue
        if tags(cell) & {"slide", ONLY}:
            slide = k if cell.source.startswith("#") else slide
            continue
        whole.append(cell.source)
        before, exercises, _ = cell.source.partition("## Exercises")
        if slide >= 0 and before.strip():
            prose.setdefault(slide, []).append(before)
        slide = -1 if exercises else slide
    text, told = "\n\n".join(whole), {k: "\n\n".join(texts) for k, texts in prose.items()}
    for k, cell in enumerate(notebook.cells):
        if ONLY in tags(cell) and k not in told:
            title = re.escape(cell.source.partition("\n")[0].strip())
            found = re.search(rf"^{title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.M)
            told |= {k: found[1]} if found else {}
    return told


def printed(cell: nbformat.NotebookNode) -> str:
    """What a sentence before a cell announces, where it is short: the text that the cell prints."""
    texts = []
    for output in [] if tags(cell) & HIDDEN else cell.get("outputs", []):
        data = output.get("data", {})
        if output.output_type == "stream":
            texts.append(output.text.rstrip("\n"))
        elif output.output_type == "execute_result" and set(data) == {"text/plain"}:
            texts.append(data["text/plain"])
    lines = "\n".join(texts).splitlines()
    if not lines or len(lines) > ROWS or max(map(len, lines)) > COLUMNS:
        return ""
    # Spaces at the beginning of a line are the markup of a list elsewhere.
    kept = [
        re.sub("^ +", lambda space: "\N{NO-BREAK SPACE}" * len(space[0]), line) for line in lines
    ]
    return "\n".join(["```text", *kept, "```"])


def notes(page: Page, notebook: nbformat.NotebookNode, *, book: Book) -> dict[int, str]:
    """`prose_by_slide` as plain Markdown, without headings and what is folded away."""
    return {
        k: plain(FOLDED.sub("", text), page=page, book=book)
        for k, text in prose_by_slide(notebook).items()
    }


def plain(text: str, *, page: Page, book: Book) -> str:
    """A chapter's text as anybody's Markdown; no notebook lies beside a deck to link to."""
    book = replace(book, executed=frozenset())
    text = inline(unboxed(text, page=page.name, book=book), page=page.name, book=book)
    return MARKUP.sub("", HEADING.sub("", text)).strip()


def section(text: str) -> str:
    """The first section of what follows a slide, without what is folded away."""
    parts = re.split(r"^(?=## )", FOLDED.sub("", text), flags=re.MULTILINE)
    return "".join(parts[: 1 + (len(parts[0].split()) < 2)])  # a target may stand before it


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
    return formulas


def derivation(text: str, *, title: str) -> list[Slide]:
    """Slides of the steps, which appear one after another."""
    parser, groups, used = markdown(), list[list[str]](), MAX_LINES
    for lead, tex in steps(text):
        lines = -(-len(lead) // WIDTH) + 2 + 1.3 * tex.count("\\\\") + ("frac" in tex)
        if used + lines > MAX_LINES:
            groups, used = [*groups, []], 0.0
        shown = parser.render(f"{lead}\n\n$${tex}$$")
        groups[-1].append(f'<div class="step">{shown}</div>')
        used += lines
    head = f"<h2>{title}{' Step' if title.endswith('?') else ': step'} by step</h2>"
    return [Slide([head, f'<div class="words">{"".join(group)}</div>']) for group in groups]


def with_notes(
    page: Page, notebook: nbformat.NotebookNode, slides: list[Slide], *, book: Book
) -> list[Slide]:
    """The slides of a chapter with notes, the derivations they ask for, and addresses of figures.

    A derivation is told by the same words as the slide that it follows.
    """
    prose, parser, whole = prose_by_slide(notebook), markdown(), list[Slide]()
    words = notes(page, notebook, book=book)
    for slide in slides:
        slide.notes = parser.render(words.get(slide.cell, ""))
        slide.parts = addressed(slide.parts, page=page.name, site=book.site)
        whole.append(slide)
        if STEPS in tags(notebook.cells[slide.cell]):
            text = plain(section(prose.get(slide.cell, "")), page=page, book=book)
            title = re.search(r"<h[123]>(.*?)</h[123]>", slide.parts[0])
            if not (title and steps(text)):
                raise BuildError(f"{page.name}: a slide asks for steps, and no formula follows it")
            whole += [replace(step, notes=slide.notes) for step in derivation(text, title=title[1])]
    return whole
