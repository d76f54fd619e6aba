"""Where each work is cited: the pages, after its entry in the list of references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

CHAPTER = re.compile(r"(\d\d)-")


def in_order(pages: set[str], *, contents: list[str]) -> list[str]:
    """Chapters by their numbers, then the other pages as the contents have them."""

    def place(page: str) -> tuple[bool, str, int]:
        is_chapter = CHAPTER.match(page) is not None
        return not is_chapter, page if is_chapter else "", contents.index(page)

    return sorted(pages, key=place)


def below(page: str, *, includes: dict[str, list[str]]) -> Iterator[str]:
    """All pages under one, in the order of the contents."""
    for one in includes.get(page, []):
        yield one
        yield from below(one, includes=includes)


def named(pages: list[str]) -> list[str]:
    """Each chapter once, by the first of its pages that is there; the other pages as they are."""
    chapters: dict[str, str] = {}
    for page in pages:
        number = CHAPTER.match(page)
        chapters.setdefault(number[1] if number else page, page)
    return list(chapters.values())


def called(page: str, *, titles: dict[str, str]) -> str:
    """A chapter by its number, another page by its title."""
    number = CHAPTER.match(page)
    return str(int(number[1])) if number else titles[page]


class CitedIn(SphinxPostTransform):
    """Add the pages that cite a work to its entry; the list of references itself is none."""

    default_priority = 30  # after sphinxcontrib-bibtex has made the entries

    def run(self, **kwargs: Any) -> None:
        entries = list(self.document.findall(nodes.citation))
        if not entries:
            return
        domain, page = self.env.get_domain("cite"), self.env.docname
        keys = {one.citation_id: one.key for one in domain.citations}  # type: ignore[attr-defined]
        root = self.config.root_doc
        contents = [root, *below(root, includes=self.env.toctree_includes)]
        titles = {name: title.astext() for name, title in self.env.titles.items()}
        for entry in entries:
            key = next((keys[one] for one in entry["ids"] if one in keys), None)
            pages = {
                ref.docname
                for ref in domain.citation_refs  # type: ignore[attr-defined]
                if key in {target.key for target in ref.targets}
            } - {page}
            pages &= set(contents)
            if pages:
                listed = named(in_order(pages, contents=contents))
                entry += self.line(listed, page=page, titles=titles)

    def line(self, pages: list[str], *, page: str, titles: dict[str, str]) -> nodes.paragraph:
        """Cited in chapters 5, 7 and Beyond the paper."""
        chapters = sum(bool(CHAPTER.match(one)) for one in pages)
        word = "" if not chapters else "chapter " if chapters == 1 else "chapters "
        line = nodes.paragraph("", f"Cited in {word}", classes=["jc-cited-in"])
        for k, one in enumerate(pages):
            line += nodes.Text("" if not k else " and " if k == len(pages) - 1 else ", ")
            words = nodes.Text(called(one, titles=titles))
            line += make_refnode(self.app.builder, page, one, "", words)
        line += nodes.Text(".")
        return line


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after the bibliography is made."""
    app.add_post_transform(CitedIn)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
