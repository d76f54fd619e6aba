"""A chapter as a notebook that any program shows as it is: plain Markdown and code.

Roles and directives are Sphinx's. The numbers of equations, figures and exercises are read from the
rendered pages, glued numbers from the executed notebooks, citations from the bibliography; boxes
become quotations, captions cells of their own. Slides and solutions are left out, and a module
has the checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text

from book.tools.glue import number, read_values
from book.tools.handout import as_asked
from book.tools.hosted import repository, site
from book.tools.pages import BuildError, Page, tags

FENCE = re.compile(r"^(?P<mark>`{3,}|:{3,})\{(?P<name>[a-z:-]+)\}[ \t]*(?P<title>.*)$")
OPTION = re.compile(r"^:([a-z-]+):[ \t]*(.*)$")
ROLE = re.compile(r"(?<!`)\{(?P<role>[a-z]+(?::[a-z]+)*)\}`(?P<text>[^`]+)`")
TITLED = re.compile(r"(?P<words>.*?)\s*<(?P<target>[^>]+)>$", re.DOTALL)
SPAN = re.compile(r"\[([^\]\[]+)\]\{\.[\w-]+\}")
TARGET = re.compile(r"^(\([\w-]+\)=|%.*)\n", re.MULTILINE)
DEFINED = re.compile(r"^(?P<term>\S[^\n]*)\n:[ \t]+(?=\S)", re.MULTILINE)
LABELLED = re.compile(r"\$\$(?P<tex>(?:[^$]|\$(?!\$))+?)\n?\$\$[ \t]*\((?P<label>eq-[\w-]+)\)")
LINK = re.compile(r"\]\((?P<page>[\w-]+)\.md(?P<anchor>#[\w-]+)?\)")
GLUE_IMPORT = re.compile(r"^from myst_nb import glue$", re.MULTILINE)
GLUE = '''\
def glue(name, value, display=True):
    """The book prints such values in its sentences; here they are shown, or nothing is."""
    if display:
        from IPython.display import display as show

        show(value)

'''


@dataclass(frozen=True)
class Book:
    """What a page takes from the others: numbers by label, glued values, citations, where it is."""

    numbers: Mapping[str, str]
    glued: Mapping[str, Mapping[str, str]]
    entries: Mapping[str, Entry]
    site: str | None
    executed: frozenset[str]


def read_book(html: Path, *, executed: Path, root: Path) -> Book:
    """Read what was rendered and executed of the book under `root`."""
    bibliography = root / "book" / "references.bib"
    numbers: dict[str, str] = {}
    for path in sorted(html.glob("*.html")):
        numbers |= numbered(path.read_text(encoding="utf-8"))
    values = read_values(executed)
    entries = parse_file(str(bibliography)).entries if bibliography.is_file() else {}
    return Book(numbers, values, entries, site(repository()), frozenset(values))


def numbered(text: str) -> dict[str, str]:
    """Read a page's numbers: "(6.1)" of eq-mode, "Fig. 6.1" of a figure, the title of a section."""
    numbers = {}
    article = BeautifulSoup(text, "html.parser").select_one("article")
    for place in article.find_all(id=True) if article else ():
        own = place.select_one(":scope > .eqno") if "math" in place.get("class", []) else None
        own = own or place.select_one(
            ":scope > figcaption .caption-number, :scope > caption .caption-number, "
            ":scope > .admonition-title .caption-number"
        )
        if own is None and place.name in ("section", "span"):
            own = place.find(["h1", "h2", "h3"]) or place.find_next_sibling(["h1", "h2", "h3"])
        if own is not None:
            words = own.get_text().replace("#", "").strip()
            numbers[place["id"].removeprefix("equation-")] = words.removesuffix(".")
    return numbers


def anchor(label: str) -> str:
    """The id that docutils makes of a label."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def names(entry: Entry) -> str:
    """The authors as a citation names them."""
    authors = entry.persons.get("author", [])
    people = [str(Text.from_latex(" ".join(person.last_names))) for person in authors]
    if len(people) > 2:
        return f"{people[0]} et al."
    return " and ".join(people) or str(Text.from_latex(entry.fields.get("title", "")))


def cited(keys: str, *, book: Book, outside: bool) -> str:
    """Liusie et al. (2024), or (Liusie et al., 2024), with a link where there is an address."""
    written = []
    for key in keys.split(","):
        if (entry := book.entries.get(key.strip())) is None:
            raise BuildError(f"there is no {key.strip()!r} in references.bib")
        year, doi = entry.fields.get("year", "n. d."), entry.fields.get("doi")
        words = f"{names(entry)} ({year})" if outside else f"{names(entry)}, {year}"
        url = entry.fields.get("url") or (f"https://doi.org/{doi}" if doi else "")
        written.append(f"[{words}]({url})" if url else words)
    return ", ".join(written) if outside else f"({'; '.join(written)})"


def referred(match: re.Match[str], *, page: str, book: Book) -> str:
    """What a role says, as words."""
    role, text = match["role"], match["text"]
    if role == "glue:text":
        return number(text, values=book.glued, page=page)
    if role in ("cite:t", "cite:p"):
        return cited(text, book=book, outside=role == "cite:t")
    titled = TITLED.fullmatch(text)
    if titled and "%s" not in titled["words"]:
        return titled["words"]
    label = titled["target"] if titled else text
    if role.startswith("py:"):
        return f"`{text.lstrip('~')}`"
    if role in ("eq", "ref", "numref", "prf:ref") and anchor(label) in book.numbers:
        return book.numbers[anchor(label)]
    raise BuildError(f"{page}: a plain notebook cannot hold {match[0]}")


def linked(match: re.Match[str], *, book: Book) -> str:
    """A link to another page: to the site if there is one, else to the notebook beside this one."""
    name, place = match["page"], match["anchor"] or ""
    if book.site:
        return f"]({book.site}/{name}.html{place})"
    return f"]({name}.ipynb)" if name in book.executed else "]()"


def inline(text: str, *, page: str, book: Book) -> str:
    """Roles, spans, labels and links as words and plain links."""
    text = DEFINED.sub(r"**\g<term>**: ", TARGET.sub("", text))
    text = LABELLED.sub(
        lambda m: f"$${m['tex']}\n\\tag{{{book.numbers[m['label']].strip('()')}}}\n$$", text
    )
    text = ROLE.sub(partial(referred, page=page, book=book), text)
    text = SPAN.sub(r"*\1*", LINK.sub(partial(linked, book=book), text))
    return re.sub(r"\[([^\]\[]*)\]\(\)", r"\1", text)


def quoted(title: str, body: Iterable[str]) -> list[str]:
    """A box as a quotation with its title in bold."""
    lines = ([f"**{title}**", ""] if title else []) + list(body)
    return ["", *(f"> {line}".rstrip() for line in lines), ""]


def box(
    name: str, title: str, options: dict[str, str], body: list[str], *, book: Book
) -> list[str]:
    """One directive as plain Markdown."""
    label = anchor(options.get("label", ""))
    if name in ("exercise-end", "solution-end"):
        return []
    if name in ("exercise-start", "exercise"):
        head = f"**{': '.join(w for w in (book.numbers.get(label, 'Exercise'), title) if w)}**"
        return ["", "---", "", head, "", *body]
    if name in ("solution-start", "solution"):
        return ["", f"**Solution to {book.numbers.get(anchor(title), 'the exercise')}**", "", *body]
    if name.startswith("prf:"):
        known = book.numbers.get(label, name[4:].title())
        return quoted(f"{known} ({title})" if title else known, body)
    if name == "div":
        return ["", *body, ""]
    if name == "table":
        return ["", f"*{title}*", "", *body, ""]
    if name == "glue":
        return []
    return quoted(title, body)


def unboxed(text: str, *, page: str, book: Book) -> str:
    """Turn directives into plain Markdown, from the outside in."""
    lines, output = iter(text.split("\n")), list[str]()
    for line in lines:
        opening = FENCE.match(line)
        if opening is None:
            output.append(line)
            continue
        mark = opening["mark"]
        inside = list(takewhile(lambda row, mark=mark: row.strip() != mark, lines))
        options = {}
        while inside and (option := OPTION.match(inside[0])):
            options[option[1]] = option[2]
            inside.pop(0)
        body = unboxed("\n".join(inside).strip("\n"), page=page, book=book).split("\n")
        output += box(opening["name"], opening["title"].strip(), options, body, book=book)
    return "\n".join(output)


def caption(cell: nbformat.NotebookNode, *, write: Callable[[str], str], book: Book) -> str | None:
    """The caption that the book prints under a cell's figure."""
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    if not figure.get("caption"):
        return None
    known = book.numbers.get(anchor(figure.get("name", "")), "Figure")
    return f"**{known}** {write(figure['caption'])}"


def plain_notebook(
    page: Page, *, book: Book, notebook: nbformat.NotebookNode | None = None
) -> nbformat.NotebookNode:
    """Return a page, or a notebook made of it, as plain Markdown and code, without outputs."""
    write = partial(inline, page=page.name, book=book)
    notebook = as_asked(page) if notebook is None else notebook
    cells: list[nbformat.NotebookNode] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            boxes = unboxed(cell.source, page=page.name, book=book)
            cell.source = re.sub(r"\n{3,}", "\n\n", write(boxes)).strip()
            cell.metadata = nbformat.from_dict({})
            cells += [cell] if cell.source else []
            continue
        below = caption(cell, write=write, book=book)
        hidden = bool(tags(cell) & {"hide-input", "hide-cell", "remove-input"})
        cell.source = GLUE_IMPORT.sub(GLUE.rstrip(), cell.source)
        kept = {key: cell.metadata[key] for key in ("exercise", "defines") if key in cell.metadata}
        kept |= {"jupyter": {"source_hidden": True}} if hidden else {}
        cell.metadata = nbformat.from_dict(kept)
        cells.append(cell)
        if below:
            cells.append(nbformat.v4.new_markdown_cell(below, id=f"{cell['id']}-caption"))
    notebook.cells = cells
    return notebook
