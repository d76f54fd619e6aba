"""Copies of the pages for JupyterLab, made once; from then on they are their reader's.

`make lab` opens `_build/lab`, which git ignores and `make clean` keeps: JupyterLab saves by itself
what is open, and the sources of the book are no place for that, nor for answers to exercises.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat

from book.tools.exercises import write_module
from book.tools.pages import Page
from book.tools.plain import Book, plain_notebook


def write_lab(pages: list[Page], *, book: Book, folder: Path) -> list[Path]:
    """Write the plain notebooks that the folder does not have yet, and the checks; return these."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = replace(book, site=None)  # links lead to the copies, also where there is a site
    written = []
    for page in pages:
        path = folder / f"{page.name}.ipynb"
        if page.executes and not path.exists():
            nbformat.write(plain_notebook(page, book=beside), path)
            written.append(path)
    return [*written, write_module(pages, folder=folder)]
