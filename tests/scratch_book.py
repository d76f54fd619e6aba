"""What the tests of the build need of a book: a page's head, a release, numbers of any name."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from pybtex.database import parse_file

from book.tools.pages import Page
from book.tools.plain import Book

ROOT = Path(__file__).resolve().parents[1]

HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""


def released(root: Path, *, tag: str | None = None) -> str:
    """Commit a folder, with a tag where one is given; return the commit."""
    mine = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*mine, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    if tag:
        subprocess.run(["git", "tag", tag], cwd=root, check=True)
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True)
    return said.stdout.decode().strip()


class Whatever(dict[str, Any]):
    """Has one value under every name."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return self.value

    def get(self, name: str, otherwise: Any = None) -> Any:
        return self.value


def numberless(pages: list[Page]) -> Book:
    """Return this book before it is executed: what cells glue is 1, every place (1.1)."""
    entries = parse_file(str(ROOT / "book/references.bib")).entries
    executed = frozenset(page.name for page in pages if page.executes)
    return Book(Whatever("(1.1)"), Whatever(Whatever("1")), entries, None, executed)
