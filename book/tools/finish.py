"""The last touches to rendered pages: a notebook to take away, a way to run it, clean tables.

Where the book is hosted is known only there: JBC_REPOSITORY=owner/name (workflows set it) gives
every executed page links to Colab and Binder, and the notebooks to take away a first cell that
installs the package from that repository.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import nbformat

from book.tools.pages import BuildError, Page
from book.tools.slides import without_slides

DOWNLOAD = re.compile(r'href="_sources/[^"]+\.ipynb" target="_blank"')
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
PACKAGE = "judging-by-comparison"

INSTALL = """\
# The package, where it is missing (as on Colab).
try:
    import poe
except ImportError:
    %pip install --quiet "{package}[{extras}] @ git+https://github.com/{repository}"
"""
INSTALL_BY_HAND = (
    "This notebook needs the package `poe`: in a clone of the book's repository, "
    '`pip install ".[{extras}]"`.'
)


def repository() -> str | None:
    """Return owner/name of the hosted repository, or None where the book is built for no host."""
    named = os.environ.get("JBC_REPOSITORY", "").strip()
    if named and not REPOSITORY.fullmatch(named):
        raise BuildError(f"JBC_REPOSITORY must look like owner/name, not {named!r}")
    return named or None


def take_away(page: Page, *, hosted: str | None) -> nbformat.NotebookNode:
    """Return the clean notebook of a page, which begins with what it needs."""
    notebook = without_slides(page.notebook())
    extras = ",".join(["chapters", *page.needs])
    if hosted:
        source = INSTALL.format(package=PACKAGE, extras=extras, repository=hosted)
        first = nbformat.v4.new_code_cell(source.rstrip())
    else:
        first = nbformat.v4.new_markdown_cell(INSTALL_BY_HAND.format(extras=extras))
    first["id"] = "install"
    notebook.cells.insert(0, first)
    return notebook


def launch_links(page: Page, *, hosted: str) -> str:
    """Links that run a page elsewhere: Colab takes the built notebook, Binder the text."""
    built = f"https://colab.research.google.com/github/{hosted}/blob/gh-pages/_sources"
    source = f"{page.path.parent.name}/{page.path.name}"
    binder = f"https://mybinder.org/v2/gh/{hosted}/HEAD?urlpath=lab/tree/{source}"
    return (
        '<p class="jc-launch">Run this page: '
        f'<a href="{built}/{page.name}.ipynb">on Colab</a> · <a href="{binder}">on Binder</a></p>'
    )


def accessible(text: str) -> str:
    """Name what the theme leaves without a role, and take empty cells out of table heads."""
    text = re.sub(r"<th(?: scope=\"col\")?>\s*</th>", "<td></td>", text)
    text = re.sub(r"<th class=\"([^\"]*)\"><p></p></th>", r'<td class="\1"></td>', text)
    # Bibliography entries stand in a list, whose children must be its items.
    text = text.replace('role="doc-biblioentry"', 'role="listitem"')
    return text.replace(
        '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">',
        '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar" '
        'role="complementary" aria-label="The book">',
    )


def offer_notebook(html: Path, page: Page, text: str) -> str:
    """Put a notebook without outputs behind the download button of an executed page.

    The notebook travels inside the page: from the file system a browser would
    show a linked .ipynb as text instead of saving it.
    """
    hosted = repository()
    source = html / "_sources" / f"{page.name}.ipynb"
    nbformat.write(take_away(page, hosted=hosted), source)
    content = base64.b64encode(source.read_bytes()).decode()
    link = f'href="data:application/x-ipynb+json;base64,{content}" download="{source.name}"'
    text, count = DOWNLOAD.subn(link, text)
    if count != 1:
        raise BuildError(f"{page.name}.html has {count} download buttons where one was expected")
    text = text.replace("Download source file", "Download as a notebook")
    if hosted:
        text = text.replace("</h1>", "</h1>\n" + launch_links(page, hosted=hosted), 1)
    return text


def finish(html: Path, *, pages: list[Page]) -> None:
    """Finish every rendered page."""
    executed = {page.name: page for page in pages if page.executes}
    for path in sorted(html.glob("*.html")):
        text = accessible(path.read_text(encoding="utf-8"))
        page = executed.get(path.stem)
        if page is not None and (html / "_sources" / f"{page.name}.ipynb").exists():
            text = offer_notebook(html, page, text)
        path.write_text(text, encoding="utf-8")
