"""Number chapters by their file names.

`06-gaussian-experts` is chapter 6 wherever it stands in the table of contents,
so its sections are 6.1, 6.2, its equations (6.1), (6.2) and its figures 6.1,
6.2, and they stay so when the chapters before it are written.

Sphinx numbers sections first and derives the numbers of figures and equations
from them. The renumbering goes between the two.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"^(\d+)-")


def chapter_number(docname: str) -> int | None:
    """Return the number a page's file name starts with, None if there is none."""
    match = CHAPTER.match(docname.rsplit("/", 1)[-1])
    return int(match.group(1)) if match else None


def renumber(env: BuildEnvironment) -> None:
    """Replace the first component of every section number of a numbered page."""
    for docname, anchors in env.toc_secnumbers.items():
        number = chapter_number(docname)
        if number is None:
            raise ValueError(
                f"page '{docname}' stands in a numbered part of _toc.yml, "
                "but its file name does not start with a chapter number"
            )
        for anchor, section in anchors.items():
            if section:
                anchors[anchor] = (number, *section[1:])
        # The side bar and the page titles carry copies of the number.
        copies: list[nodes.Element] = list(env.tocs[docname].findall(nodes.reference))
        copies.append(env.titles[docname])
        for node in copies:
            if node.get("secnumber"):
                node["secnumber"] = [number, *node["secnumber"][1:]]


def setup(app: Sphinx) -> dict[str, Any]:
    """Wrap the step that numbers figures and equations."""
    number_figures = TocTreeCollector.assign_figure_numbers

    def renumber_first(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
        renumber(env)
        return number_figures(self, env)

    TocTreeCollector.assign_figure_numbers = renumber_first  # type: ignore[method-assign]
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
