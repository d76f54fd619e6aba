"""Tables of pandas with one row of headings: the names of the index move up beside the columns'."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HEAD = re.compile(r"(<thead>.*?</thead>)", re.DOTALL)
ROW = re.compile(r"\s*<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)


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
    """Do so in every output of the page."""
    for node in list(doctree.findall(nodes.raw)):
        if "html" in node.get("format", "") and (text := one_header(node.astext())):
            node.children = [nodes.Text(text)] if text != node.astext() else node.children


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", on_doctree)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
