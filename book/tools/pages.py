"""The pages of the book: where they are, which of them execute, what they need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml

# One cell may take this long, in seconds; a page can ask for more with
# `timeout: 900` in its front matter.
CELL_TIMEOUT = 300

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """The book cannot be built; the message is for the person at the keyboard."""


@dataclass(frozen=True)
class Page:
    """One Markdown file of the book."""

    path: Path
    text: str
    header: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def executes(self) -> bool:
        return "kernelspec" in self.header

    @property
    def timeout(self) -> int:
        return int(self.header.get("timeout", CELL_TIMEOUT))

    def notebook(self) -> nbformat.NotebookNode:
        """Convert a text notebook to a clean one, the same on every machine."""
        notebook = jupytext.reads(self.text, fmt="md:myst")
        notebook.metadata = nbformat.from_dict({"kernelspec": self.header["kernelspec"]})
        for number, cell in enumerate(notebook.cells, start=1):
            cell["id"] = f"cell-{number}"  # jupytext draws these at random
        return notebook


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells that execute."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: nbformat.NotebookNode) -> set[str]:
    """The tags of a cell."""
    return set(cell.get("metadata", {}).get("tags", []))


def plain(text: str) -> str:
    """Remove terminal colours."""
    return ANSI.sub("", text)


def front_matter(text: str, *, path: Path) -> dict[str, Any]:
    """Parse the YAML block between the `---` lines a page may start with."""
    if not text.startswith("---\n"):
        return {}
    block, fence, _ = text[4:].partition("\n---\n")
    if not fence:
        raise BuildError(f"{path}: the front matter opens with --- but never closes")
    try:
        header = yaml.safe_load(block)
    except yaml.YAMLError as error:
        raise BuildError(f"{path}: the front matter is not valid YAML: {error}") from None
    return header or {}


def read_page(path: Path) -> Page:
    """Read one page."""
    text = path.read_text(encoding="utf-8")
    return Page(path=path, text=text, header=front_matter(text, path=path))


def find_pages(root: Path) -> list[Page]:
    """Read every page under book/ and notebooks/; their names share one name space."""
    paths = sorted([*root.glob("notebooks/*.md"), *root.glob("book/*.md")])
    pages: dict[str, Page] = {}
    for path in paths:
        page = read_page(path)
        if page.name in pages:
            raise BuildError(f"{path} and {pages[page.name].path} have the same name; rename one")
        pages[page.name] = page
    return [pages[name] for name in sorted(pages)]


def source_files(folder: Path, *, skip: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files of a folder in a fixed order, without caches and hidden files."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
        skipped = any(relative.is_relative_to(prefix) for prefix in skip)
        if path.is_file() and not hidden and not skipped and path.suffix != ".pyc":
            yield path


def hash_files(folder: Path, state: Callable[[Path], object] | None = None) -> str:
    """Hash names and contents of every file of a folder; a missing folder hashes as empty.

    state : what to hash in place of the content.
    """
    digest = hashlib.sha256()
    for path in source_files(folder):
        content = state(path) if state else hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def signature(folder: Path) -> str:
    """Summarise a folder by file names, sizes and times; an empty one is as good as none."""
    return hash_files(folder, lambda path: (path.stat().st_size, path.stat().st_mtime_ns))


def rendered(build: Path) -> Path:
    """The folder of rendered pages."""
    if not (build / "html" / "index.html").is_file():
        raise BuildError("There is no rendered book yet; run make book first")
    return build / "html"
