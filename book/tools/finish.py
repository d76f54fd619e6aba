"""The last touches to rendered pages: a notebook to take away, clean tables.

The notebooks begin with a cell that installs what they need: the wheel beside them, or that of the
site. Where the book is hosted is known only there: JBC_REPOSITORY=owner/name (workflows set it)
gives every page the theme's buttons to edit it, to open an issue and to run it on Colab or Binder.
"""

from __future__ import annotations

import base64
import re
from datetime import date
from pathlib import Path

import nbformat

from book.tools.hosted import edition, publish, repository, site
from book.tools.moved import leave_redirects
from book.tools.pages import BuildError, Page
from book.tools.plain import Book, plain_notebook, read_book
from book.tools.run_button import offer_runs
from book.tools.wheel import build_wheel, wheel_name
from reproduction import run

DOWNLOAD = re.compile(r'href="_sources/[^"]+\.ipynb" target="_blank"')
FIGURE = re.compile(r'<img(?P<rest>(?![^>]*\bwidth=)[^>]* src="(?P<file>_images/[^"]+\.svg)")')
POINTS = re.compile(r'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"')
# In the contents: a page with others below it, which is not the one that is shown.
BELOW = re.compile(
    r'<li class="toctree-l1 has-children"><a class="reference internal" href="(?P<page>[^"#]+)">'
    r'[^<]*</a><details open="open">'
)
CHAPTER = re.compile(r"\d\d-")
EDITION = "<!-- edition -->"  # in the footer of book/_config.yml
RESULT = re.compile(r'href="_static/results/([\w-]+)\.csv"')
BRANCH = "notebooks"  # of the repository: the folder that `make notebooks` writes, for both hosts

INSTALL = """\
# The book's packages with their numbers and checks, where they are missing.
try:
    import judging, poe, poe_exercises, reproduction
except ImportError:
    from glob import glob

    beside = glob("judging_by_comparison-*book-*.whl")
    {otherwise}
    %pip install --quiet "{{wanted}}"
"""
HERE = 'wanted = f"./{{beside[0]}}[chapters]"'
FROM_SITE = f'{HERE} if beside else "judging-by-comparison[chapters] @ {{wheel}}"'
FROM_NOWHERE = f"""\
assert beside, "Put {{wheel}}, which lies beside the book's pages, beside this notebook"
    {HERE}"""


def take_away(page: Page, *, book: Book, hosted: str | None) -> nbformat.NotebookNode:
    """Return the plain notebook of a page, which begins with what it needs."""
    notebook = plain_notebook(page, book=book)
    name = wheel_name()
    if hosted:
        # A plus sign in the address of a file would be read as a space.
        wheel = f"{site(hosted)}/{name.replace('+', '%2B')}"
        otherwise = FROM_SITE.format(wheel=wheel)
    else:
        otherwise = FROM_NOWHERE.format(wheel=name)
    code = INSTALL.format(otherwise=otherwise).rstrip()
    first = nbformat.v4.new_code_cell(code, id="install")
    notebook.cells.insert(0, first)
    return notebook


def folded_contents(text: str) -> str:
    """Fold the pages below another away in the contents, but those of chapters and of here."""

    def folded(row: re.Match[str]) -> str:
        return row[0] if CHAPTER.match(row["page"]) else row[0].replace(' open="open"', "")

    return BELOW.sub(folded, text)


def accessible(text: str) -> str:
    """Name what the theme leaves without a role, and take empty cells out of table heads."""
    text = re.sub(r"<th(?: scope=\"col\")?>\s*</th>", "<td></td>", text)
    text = re.sub(r"<th class=\"([^\"]*)\"><p></p></th>", r'<td class="\1"></td>', text)
    # The same for every exercise and solution of a page, where an id is one element's.
    text = re.sub(r' id="(?:exercise|solution|proof)-content"', "", text)
    # In the list of chapters the arrow that folds a chapter's second page away has no words.
    text = text.replace(
        '<summary><span class="toctree-toggle"',
        '<summary aria-label="Pages below this one"><span class="toctree-toggle"',
    )
    # Bibliography entries stand in a list, whose children must be its items.
    text = text.replace('role="doc-biblioentry"', 'role="listitem"')
    return text.replace(
        '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">',
        '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar" '
        'role="complementary" aria-label="The book">',
    )


def sized(text: str, *, html: Path) -> str:
    """Say how large each figure is, so that a page does not jump when it comes."""

    def place(match: re.Match[str]) -> str:
        drawing = (html / match["file"]).read_text(encoding="utf-8")
        size = POINTS.search(drawing)
        if size is None:
            return match[0]
        width, height = (round(float(one) * 4 / 3) for one in size.groups())  # pixels a point
        return f'<img width="{width}" height="{height}"{match["rest"]}'

    return FIGURE.sub(place, text)


def offer_notebook(html: Path, page: Page, text: str, *, book: Book) -> str:
    """Put a notebook without outputs behind the download button of an executed page.

    The notebook travels inside the page: from the file system a browser would
    show a linked .ipynb as text instead of saving it.
    """
    source = html / "_sources" / f"{page.name}.ipynb"
    nbformat.write(take_away(page, book=book, hosted=repository()), source)
    content = base64.b64encode(source.read_bytes()).decode()
    link = f'href="data:application/x-ipynb+json;base64,{content}" download="{source.name}"'
    text, count = DOWNLOAD.subn(link, text)
    if count != 1:
        raise BuildError(f"{page.name}.html has {count} download buttons where one was expected")
    return text.replace("Download source file", "Download as a notebook")


def lay_results(html: Path) -> None:
    """Write the stored results that pages offer as files (`book.telling.pages.files`)."""
    texts = (path.read_text(encoding="utf-8") for path in html.glob("*.html"))
    for name in sorted({name for text in texts for name in RESULT.findall(text)}):
        table = run.read(name)
        if table is None:
            raise BuildError(f"a page links the result {name!r}, which data/results does not hold")
        path = html / "_static" / "results" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table.to_csv(index=False, lineterminator="\n"), encoding="utf-8")


def finish(html: Path, *, pages: list[Page], executed: Path, root: Path) -> None:
    """Finish every rendered page."""
    executes = {page.name: page for page in pages if page.executes}
    book = read_book(html, executed=executed, root=root)
    built = edition(root, hosted=repository(), today=date.today())
    for path in sorted(html.glob("*.html")):
        text = folded_contents(accessible(path.read_text(encoding="utf-8")))
        text = sized(text, html=html)
        text = text.replace(EDITION, built)
        page = executes.get(path.stem)
        if page is not None and (html / "_sources" / f"{page.name}.ipynb").exists():
            text = offer_notebook(html, page, text, book=book)
        path.write_text(text, encoding="utf-8")
    build_wheel(html)
    offer_runs(html, pages=pages)
    lay_results(html)
    leave_redirects(html)
    if book.site:
        publish(html, address=book.site, root=root)
