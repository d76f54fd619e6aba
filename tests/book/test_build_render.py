"""A tiny book through the whole build: fresh numbers, chapter numbers, clean downloads."""

from __future__ import annotations

import re
import shutil
import zipfile
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from book.tools.__main__ import build_book, main
from book.tools.pages import BuildError
from tests.scratch_book import HEADER

ROOT = Path(__file__).resolve().parents[2]

# One worker builds for all of these tests.
pytestmark = [pytest.mark.xdist_group("render"), pytest.mark.long]

CHAPTER = """
(gaussian)=
# Gaussian

## The mode

$$
s = p
$$ (eq-mode)

```{code-cell} python
import poe
from myst_nb import glue

glue("number", poe.NUMBER, display=False)
print(f"the package says {poe.NUMBER}")
```

The number is {glue:text}`number`.

```{code-cell} python
---
tags: [hide-input]
mystnb:
  figure:
    name: fig-line
    caption: "A line, by {eq}`eq-mode`."
---
import matplotlib.pyplot as plt

plt.plot([1, 2]);
```

```{exercise}
:label: ex-one

Why {eq}`eq-mode`?
```
"""

INDEX = """
# A book

The chapter {ref}`gaussian` has {eq}`eq-mode`, {ref}`ex-one` and the number
{glue:text}`06-gaussian.md::number`. See [the chapter](06-gaussian.md) and [the
words](notation.md).

```{code-cell} python
print("front page")
```
"""

TOC = """format: jb-book
root: index
parts:
  - caption: Chapters
    numbered: 3
    chapters:
      - file: 06-gaussian
  - caption: Back matter
    chapters:
      - file: notation
"""


def write_book(root: Path) -> None:
    """Write two executing pages, one of text, and a package."""
    for folder in ("poe", "notebooks", "book"):
        (root / folder).mkdir(parents=True)
    for name in ("_config.yml", "_ext", "_static"):
        source = ROOT / "book" / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, root / "book" / name)
    (root / "poe/__init__.py").write_text("NUMBER = 41\n")
    (root / "notebooks/06-gaussian.md").write_text(HEADER + CHAPTER)
    (root / "book/index.md").write_text(HEADER + INDEX)
    (root / "book/notation.md").write_text("# Notation\n\nSee [the chapter](06-gaussian.md).\n")
    (root / "book/references.bib").write_text("")
    (root / "book/_toc.yml").write_text(TOC)


def text_of(page: Path) -> str:
    """Return the text of a page's article, spaces folded."""
    html = page.read_text(encoding="utf-8")
    article = html[html.index("<article") : html.index("</article>")]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", article)))


@dataclass(frozen=True)
class Built:
    """A book that was refused for broken references, then mended and built."""

    root: Path
    refused: str

    @property
    def html(self) -> Path:
        return self.root / "_build" / "html"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build a broken book; mend it, change the number in its package, build again."""
    root = tmp_path_factory.mktemp("book") / "root"
    write_book(root)
    chapter = root / "notebooks/06-gaussian.md"
    chapter.write_text(HEADER + CHAPTER + "\nSee {eq}`eq-missing` and {ref}`nothing`.\n")
    with pytest.raises(BuildError) as caught:
        build_book(root, build=root / "_build")
    built = Built(root, str(caught.value))
    assert not built.html.exists()
    built.html.mkdir()
    (built.html / "stale.html").write_text("left over")
    chapter.write_text(HEADER + CHAPTER)
    (root / "poe/__init__.py").write_text("NUMBER = 42\n")
    build_book(root, build=root / "_build")
    return built


def test_every_warning_refuses_the_book_and_names_page_and_cell(built: Built) -> None:
    assert "eq-missing" in built.refused
    assert "nothing" in built.refused
    assert re.search(r"06-gaussian\.md, cell \d+, line \d+: WARNING", built.refused)


def test_pages_show_the_number_of_the_package_as_it_is_now(built: Built) -> None:
    text = text_of(built.html / "06-gaussian.html")
    assert "the package says 42" in text
    assert "The number is 42" in text
    assert "41" not in text
    assert "the number 42." in text_of(built.html / "index.html")
    assert not (built.html / "stale.html").exists()


def test_an_unchanged_book_is_not_rendered_again(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    stamp = (built.html / "index.html").stat().st_mtime_ns
    assert main(["build", "--root", str(built.root)]) == 0
    said = capsys.readouterr().out
    assert "0 executed in 0.0 s, 2 cached" in said
    assert "nothing changed since the last time" in said
    assert f"file://{built.html}/index.html" in said
    assert (built.html / "index.html").stat().st_mtime_ns == stamp


def test_numbers_come_from_the_file_name(built: Built) -> None:
    page = built.html / "06-gaussian.html"
    assert "1. Gaussian" in text_of(page)
    assert "1.1. The mode" in text_of(page)
    assert "(1.1)" in text_of(page)
    assert "Exercise 1.1" in text_of(page)
    front = text_of(built.html / "index.html")
    assert "has (1.1), Exercise 1.1 and" in front
    side_bar = (built.html / "notation.html").read_text(encoding="utf-8")
    assert re.search(r'href="06-gaussian.html">\s*1\. Gaussian', side_bar)


def test_the_folder_of_notebooks_is_plain_and_whole(built: Built) -> None:
    assert main(["notebooks", "--root", str(built.root)]) == 0
    folder = built.root / "_build/notebooks"
    assert sorted(path.stem for path in folder.glob("*.ipynb")) == ["06-gaussian", "index"]
    (wheel,) = folder.glob("*.whl")
    asked = (folder / "requirements.txt").read_text().splitlines()
    assert asked == ["-c constraints.txt", f"./{wheel.name}[chapters]", "jupyterlab"]
    assert "\nnumpy==" in (folder / "constraints.txt").read_text(), "the versions are pinned"
    assert (folder / "runtime.txt").read_text() == "python-3.12\n", "Binder takes 3.10 without"
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    assert {"poe/__init__.py", "reproduction/run.py", "studies/orders.py"} <= names
    assert "judging/_data/targets.toml" in names
    chapter = nbformat.read(folder / "06-gaussian.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in chapter.cells)
    for words in ("\\tag{1.1}", "The number is 42.", "**Exercise 1.1**", "Why (1.1)?"):
        assert words in text
    assert "**Fig. 1.1** A line, by (1.1)." in text
    assert not re.search(r"\{[a-z:]+\}`|^`{3,}\{|^\(\w+\)=|myst_nb", text, re.MULTILINE)
    front = nbformat.read(folder / "index.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in front.cells)
    assert (
        "has (1.1), Exercise 1.1 and the number\n42. See [the chapter](06-gaussian.ipynb)" in text
    )


def test_tests_that_a_page_names_lead_to_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from page_assets import tests_as_links

    def code(text: str) -> str:
        return f'<code class="docutils literal"><span class="pre">{text}</span></code>'

    body = code("poe/test_scores.py::test_two_items_by_hand") + code("poe.fit")
    linked = tests_as_links(body, "https://example.org/a/b")
    assert re.findall(r'<a href="([^"]*)">', linked) == [
        "https://example.org/a/b/blob/main/tests/poe/test_scores.py"
    ]
    assert re.sub(r"</?a[^>]*>", "", linked) == body
    assert tests_as_links(body, "") == body


def test_tables_have_one_row_of_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from page_assets import one_header

    def heads(frame: pd.DataFrame) -> list[list[str]]:
        html = one_header(frame.to_html())
        rows = re.findall(r"<tr.*?</tr>", html.split("</thead>")[0], re.DOTALL)
        return [re.findall(r"<th[^>]*>(.*?)</th>", row) for row in rows]

    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert heads(frame.rename_axis("x < y")) == [["x &lt; y", "a", "b"]]
    assert heads(frame.rename_axis("x").rename_axis("all", axis=1)) == [["x", "a", "b"]]
    assert heads(frame.set_index(["a", frame["b"].rename("c")])) == [["a", "c", "b"]]
    # Groups of columns stay, and so does a table that had one row.
    groups = heads(pd.concat({"p": frame, "q": frame}, axis=1).rename_axis("x"))
    assert groups[-1] == ["x", "a", "b", "a", "b"]
    assert len(groups) == 2
    assert heads(frame) == [["", "a", "b"]]
