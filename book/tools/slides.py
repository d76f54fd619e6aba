"""A deck a chapter, made from marked cells of the executed chapter; one self-contained file each.

A Markdown cell with the tag `slide` is a slide, or goes on with the one before if it has no
heading; with `slide-only` it stands in the deck and not in the chapter. A code cell with the tag
`slide` shows its figure or table on the slide before it. A slide stands before the section that it
sums up (`book.tools.notes`). In a chapter's text:

    +++ {"tags": ["slide-only"]}

    ## The scores balance

    - every text is pulled by its opponents

    +++
"""

from __future__ import annotations

import base64
import html
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.attrs import attrs_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from book.tools.glue import formatted, glued
from book.tools.pages import BuildError, Page, tags

ONLY = "slide-only"
HERE = Path(__file__).parent
GLUE = re.compile(r"\{glue:text\}`([\w-]+)(?::([^`]*))?`")
HEADING = re.compile(r"\s*<h([123])>.*?</h\1>", re.DOTALL)
STATIC = HERE.parent / "_static"
LIVE = "fig-live-"
SHARED = '<script src="mathjax.js"></script>'
ROLE = re.compile(r"\{[a-z:]+\}`[^`]*`")


@dataclass
class Slide:
    """One slide: pieces of HTML in order."""

    parts: list[str] = field(default_factory=list)
    cell: int = -1  # of the chapter, where it stands
    notes: str = ""
    minute: int | None = None  # of a lecture, at which it is to begin


def without_slides(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without the cells that stand in the deck alone."""
    notebook.cells = [cell for cell in notebook.cells if ONLY not in tags(cell)]
    return notebook


def markdown() -> MarkdownIt:
    """Return a parser for what chapters use on slides; formulas are left to MathJax."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(attrs_plugin, spans=True)
    parser.use(
        dollarmath_plugin,
        renderer=lambda tex, options: (
            f"\\[{html.escape(tex)}\\]" if options["display_mode"] else f"\\({html.escape(tex)}\\)"
        ),
        double_inline=True,
    )
    return parser


def resolve(text: str, *, numbers: dict[str, str], name: str) -> str:
    """Put glued numbers into the text of a slide, and refuse what only Sphinx can resolve."""

    def number(match: re.Match[str]) -> str:
        key, form = match.groups()
        if key not in numbers:
            raise BuildError(f"{name}: a slide asks for {key!r}, which no cell glues")
        return formatted(numbers[key], form)

    text = GLUE.sub(number, text)
    if left := ROLE.search(text):
        raise BuildError(f"{name}: a slide cannot hold {left[0]}; say it in words")
    return text


def picture(cell: nbformat.NotebookNode) -> str:
    """The figures and tables that a cell shows."""
    shown = ""
    alt = html.escape(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/svg+xml" in data:
            content = base64.b64encode(data["image/svg+xml"].encode()).decode()
            shown += f'<img src="data:image/svg+xml;base64,{content}" alt="{alt}">'
        elif "image/png" in data:
            content = data["image/png"].strip()
            shown += f'<img src="data:image/png;base64,{content}" alt="{alt}">'
        elif "text/html" in data:
            shown += f'<div class="table">{data["text/html"]}</div>'
    name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "")
    return f'<figure id="{name}">{shown}</figure>' if name.startswith(LIVE) else shown


def collect(notebook: nbformat.NotebookNode, *, name: str) -> list[Slide]:
    """Make slides of the marked cells of an executed chapter."""
    parser, numbers, slides = markdown(), glued(notebook), list[Slide]()
    for k, cell in enumerate(notebook.cells):
        if not tags(cell) & {"slide", ONLY}:
            continue
        if cell.cell_type == "markdown":
            text = parser.render(resolve(cell.source, numbers=numbers, name=name))
            text = re.sub(r"(</?h)1>", r"\g<1>2>", text)  # the deck's title is the one of rank 1
            heading = HEADING.match(text)
            if heading or not slides:
                slides.append(Slide(cell=k))
            head = heading[0] if heading else ""
            text = f'{head}<div class="words">{text[len(head) :]}</div>'
        else:
            text = picture(cell)
        if not slides:
            raise BuildError(f"{name}: the first marked cell must be a slide with a heading")
        slides[-1].parts.append(text)
    return slides


def mathjax() -> str:
    """MathJax as one script that needs no font and no network, not even for bold Greek letters."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("The slides need sphinx-mathjax-offline: pip install '.[book]'")
    folder = Path(spec.submodule_search_locations[0])
    return (folder / "static" / "mathjax" / "tex-svg-full.js").read_text(encoding="utf-8")


def within(script: str) -> str:
    """An element with a script, which must not hold the tag that would end it."""
    closed = script.replace("</script", "<\\/script")
    return f"<script>{closed}</script>"


def live() -> str:
    """Styles and scripts of the live figures."""
    style = (STATIC / "live.css").read_text(encoding="utf-8")
    scripts = "\n".join(p.read_text(encoding="utf-8") for p in sorted(STATIC.glob("live/*.js")))
    return f"<style>{style}</style>\n{within(scripts)}"


def deck(title: str, slides: list[Slide], *, script: str) -> str:
    """Write the deck; the key N opens the speaker's window, with the notes of a slide."""
    sections = ""
    for number, slide in enumerate(slides, start=1):
        said = f'<aside class="notes" hidden>{slide.notes}</aside>' if slide.notes else ""
        place = f'id="s{number}" aria-label="Slide {number} of {len(slides)}"'
        place += "" if slide.minute is None else f' data-minute="{slide.minute}"'
        sections += f"<section {place}>{''.join(slide.parts)}{said}</section>"
    frame = (HERE / "slides.html").read_text(encoding="utf-8")
    whole = {"TITLE": html.escape(title), "SLIDES": sections}
    whole["MATHJAX"] = script
    whole["LIVE"] = live() if f'<figure id="{LIVE}' in sections else ""
    return re.sub(r"@@([A-Z]+)@@", lambda match: whole[match[1]], frame)


def write_decks(
    pages: list[Page],
    *,
    executed: Path,
    folder: Path,
    shared: bool = False,
    add_notes: Callable[[Page, nbformat.NotebookNode, list[Slide]], list[Slide]] | None = None,
) -> list[Path]:
    """Write the deck of every chapter with marked cells that has been executed.

    Each is one file, unless they share MathJax, which then lies beside them.
    add_notes : gives the slides of a chapter what is said to them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    script, written = mathjax(), list[Path]()
    if shared:
        (folder / "mathjax.js").write_text(script, encoding="utf-8")
        element = SHARED
    else:
        element = within(script)
    for page in pages:
        path = executed / f"{page.name}.ipynb"
        if not page.executes or not path.is_file():
            continue
        notebook = nbformat.read(path, as_version=4)
        slides = collect(notebook, name=page.name)
        if slides:
            slides = add_notes(page, notebook, slides) if add_notes else slides
            heading = next(re.finditer(r"^# (.+)$", page.text, re.MULTILINE), None)
            title = heading[1] if heading else page.name
            output = folder / f"{page.name}.html"
            output.write_text(deck(title, slides, script=element), encoding="utf-8")
            written.append(output)
    if not written:
        raise BuildError("No executed chapter has slides; run make book first")
    return written
