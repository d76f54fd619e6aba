"""What the themes leave to do on a page: its scripts, its tables' headings, the PDF to download.

jupyter-book lists every script and style sheet that it finds under _static, and Sphinx lists it
again: each is loaded once, those of live figures on the pages that have one. pandas puts the names
of an index into a second row of headings: they move up beside the columns' names.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HEAD = re.compile(r"(<thead>.*?</thead>)", re.DOTALL)
ROW = re.compile(r"\s*<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
# A test that a page names, from tests/ on.
TEST = re.compile(r'(<code [^>]*><span class="pre">([a-z]+/test_\w+\.py)::\w+</span></code>)')
# A live figure, or a question that takes the reader's guess.
LIVE_MARKS = ('id="fig-live-', 'class="jc-commit"')


def asset_name(asset: Any) -> str:
    """Return the file an asset points to, without its checksum."""
    return str(getattr(asset, "filename", asset)).split("?", 1)[0]


def drop_duplicates(assets: list[Any]) -> list[Any]:
    """Keep the first asset of each file, and every inline one (it names no file)."""
    seen: set[str] = set()
    kept = []
    for asset in assets:
        name = asset_name(asset)
        if name not in seen or name in ("", "None"):
            kept.append(asset)
        seen.add(name)
    return kept


def search_where_used(assets: list[Any], *, page: str) -> list[Any]:
    """Load the script of the search on its page only."""
    return [one for one in assets if page == "search" or asset_name(one) != "_static/search.js"]


def live_where_used(assets: list[Any], *, body: str) -> list[Any]:
    """Load what live figures need last and in the order of file names, on their pages only."""
    live = [asset for asset in assets if "_static/live" in asset_name(asset)]
    others = [asset for asset in assets if asset not in live]
    used = any(mark in body for mark in LIVE_MARKS)
    return others + (sorted(live, key=asset_name) if used else [])


def tests_as_links(body: str, repository: str) -> str:
    """Let every test that a page names lead to its file, where the repository is hosted."""
    if not repository:
        return body
    return TEST.sub(rf'<a href="{repository}/blob/main/tests/\2">\1</a>', body)


def whole_book(context: dict[str, Any]) -> None:
    """Offer the whole book beside the page's own downloads, where the pages are hosted."""
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons" and context.get("hosted"):
            group["buttons"].append(
                {
                    "type": "link",
                    "url": context["pathto"]("judging-by-comparison.pdf", 1),
                    "text": "Whole book, .pdf",
                    "icon": "fas fa-book",
                    "tooltip": "Download the whole book (PDF)",
                    "label": "download-book-pdf-button",
                }
            )


def on_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Choose the assets of one page before its template is filled in."""
    whole_book(context)
    if context.get("body"):
        context["body"] = tests_as_links(context["body"], context.get("theme_repository_url", ""))
    for key in ("script_files", "css_files"):
        assets = search_where_used(drop_duplicates(context.get(key, [])), page=pagename)
        context[key] = live_where_used(assets, body=context.get("body") or "")


def one_header(html: str) -> str:
    """Join the last row of headings to the one before, where it holds only the index's names."""

    def joined(head: re.Match[str]) -> str:
        rows = ROW.findall(head[1])
        names = [CELL.findall(row) for row in rows]
        if len(rows) < 2 or "span" in "".join(rows[-2:]):
            return head[1]
        index = [name for name in names[-1] if name]
        blank = len(index) < len(names[-1]) and not any(names[-1][len(index) :])
        if not blank or any(names[-2][: len(index) - 1]):
            return head[1]
        left = iter(index)
        # What stood there is blank or names the columns as a whole, which their names do as well.
        row = CELL.sub(lambda cell: f"<th>{next(left, cell[1])}</th>", rows[-2])
        return head[1].replace(rows[-1], "").replace(rows[-2], row)

    return HEAD.sub(joined, html) if 'class="dataframe"' in html else html


def on_doctree(app: Sphinx, doctree: nodes.document) -> None:
    """Give every table in the outputs of a page its one row of headings."""
    for node in list(doctree.findall(nodes.raw)):
        if "html" in node.get("format", "") and (text := one_header(node.astext())):
            node.children = [nodes.Text(text)] if text != node.astext() else node.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after every other extension has added its assets."""
    app.connect("doctree-read", on_doctree)
    app.connect("html-page-context", on_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
