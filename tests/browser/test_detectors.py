"""Negative controls: every check of the pages finds the defect it is there for."""

import base64
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.checks import (
    accessibility_problems,
    browser_problems,
    notebook_problems,
    numbers_per_hundred_words,
    static_problems,
)

pytestmark = pytest.mark.browser

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

WIDE = (
    '<div style="overflow-x: auto"><table style="width: 2000px"><tr><td>x</td></tr></table></div>'
)

SOUND = f"""
<h1 id="top">Scores</h1>
<p>A text costs $5 or $6. See <a href="#top">the top</a>, <a href="other.html#part">another
page</a> and <a href="https://example.org/">the web</a>.</p>
<pre>print("{{eq}} $x$ ??")</pre><p><code>\\frac</code></p>
{WIDE}
<img alt="one pixel" src="{PIXEL}">
"""

# What the browser must find, on pages with one defect of a kind each: the defect, the complaint.
IN_THE_BROWSER = [
    {
        "<script>console.error('oh no')</script>": "console error: oh no",
        "<script>throw new Error('bad')</script>": "page error: bad",
        "<script src='missing.js'></script>": "failed request",
        "<img alt='x' src='https://example.org/x.png'>": "request outside the book",
        "<p>The score $s_i$ is</p>": "raw math",
        "<mjx-merror data-mjx-error='Missing brace'></mjx-merror>": "math that failed",
        "<p>by {eq}`eq-mode`</p>": "unresolved reference or role",
        "<div class='system-message'>Unknown role</div>": "Sphinx left a problem",
        "<div class='cell_output'><pre>&lt;Axes: &gt;</pre></div>": "stray plotting",
        "<img alt='x' src='missing.png'>": "image does not load",
        f"<img src='{PIXEL}'>": "image without alternative text",
        "<div style='width: 2000px'>wide</div>": "page scrolls sideways",
    },
    {
        "<p>the mean \\mu of</p>": "raw math",
        "<p>see Section ??</p>": "unresolved reference or role",
        "<div style='overflow-x: hidden'><p style='width: 2000px'>x</p></div>": "is cut off",
    },
    {"<p style='display: none'>by {eq}`eq-mode`</p>": "unresolved reference"},
    {
        "<p>| $n_i$ | comparisons of a text | 3.1 |</p>": "a table that was read as words",
        f"<section class='bd-article'>{WIDE}</section>": "a table scrolls by",
    },
]

IN_THE_FILE = [
    ("page", "<a href='missing.html'>x</a>", "broken link: missing.html"),
    ("anchor", "<a href='#nowhere'>x</a>", "broken anchor: #nowhere"),
    ("other anchor", "<a href='other.html#nowhere'>x</a>", "broken anchor: other.html#nowhere"),
    ("outside", "<a href='../outside.html'>x</a>", "broken link: ../outside.html"),
    ("web script", "<script src='https://example.org/x.js'></script>", "loads from outside"),
]


def write_page(folder: Path, body: str) -> Path:
    """Write a page into a tiny rendered book of its own."""
    html = folder / "html"
    html.mkdir(parents=True)
    head = "<!DOCTYPE html><html lang='en'><head><title>x</title></head><body><article>"
    (html / "other.html").write_text(head + "<p id='part'>x</p></article></body></html>")
    (folder / "outside.js").write_text("")
    (folder / "outside.html").write_text("")
    page = html / "page.html"
    page.write_text(head + body + "</article></body></html>", encoding="utf-8")
    return page


def test_a_sound_page_passes(browser: Any, tmp_path: Path) -> None:
    page = write_page(tmp_path, SOUND)
    assert browser_problems(browser, page, html=page.parent) == []
    assert static_problems(page, html=page.parent) == []


def test_the_browser_finds(browser: Any, tmp_path: Path) -> None:
    for k, defects in enumerate(IN_THE_BROWSER):
        page = write_page(tmp_path / str(k), "\n".join(defects))
        problems = browser_problems(browser, page, html=page.parent)
        for complaint in defects.values():
            assert any(complaint in problem for problem in problems), (complaint, problems)


def test_the_file_check_finds(tmp_path: Path) -> None:
    for name, body, complaint in IN_THE_FILE:
        page = write_page(tmp_path / name, body)
        problems = static_problems(page, html=page.parent)
        assert any(complaint in problem for problem in problems), (name, problems)


def offering(text: str) -> str:
    """Return the body of a page that carries a file for download."""
    content = base64.b64encode(text.encode()).decode()
    return f"<a href='data:application/json;base64,{content}' download='page.ipynb'>notebook</a>"


def notebook_text(*, outputs: bool) -> str:
    cell = nbformat.v4.new_code_cell("1 + 1")
    if outputs:
        cell.outputs = [nbformat.v4.new_output("stream", text="2")]
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))


def test_the_notebook_check_finds(tmp_path: Path) -> None:
    clean = write_page(tmp_path / "clean", offering(notebook_text(outputs=False)))
    assert notebook_problems(clean) == []
    for name, body, complaint in (
        ("no button", "<a href='page.ipynb'>no download</a>", "does not offer page.ipynb"),
        ("no file", "<a href='missing.ipynb' download='page.ipynb'>x</a>", "is not valid"),
        ("empty", offering("{}"), "is not valid"),
        ("outputs", offering(notebook_text(outputs=True)), "carries outputs"),
        ("no code", offering(nbformat.writes(nbformat.v4.new_notebook())), "has no code"),
    ):
        (problem,) = notebook_problems(write_page(tmp_path / name, body))
        assert complaint in problem, name


def test_the_accessibility_check_finds(browser: Any, tmp_path: Path) -> None:
    for name, body, complaint in (
        ("contrast", "<p style='color: #bbb; background: #fff'>faint</p>", "contrast"),
        ("headings", "<h1>One</h1><h4>Four</h4>", "Heading levels"),
        ("label", "<input type='range'>", "label"),
    ):
        page = write_page(tmp_path / name, body)
        problems = accessibility_problems(browser, page)
        assert any(complaint in problem for problem in problems), (name, problems)
    dark = "@media (prefers-color-scheme: dark) { html { background: #000 } p { color: #555 } }"
    page = write_page(tmp_path / "dark", f"<style>{dark}</style><p>dark and faint</p>")
    problems = browser_problems(browser, page, html=page.parent, axe=True)
    assert any("contrast" in problem for problem in problems)
    assert not any("contrast" in problem for problem in accessibility_problems(browser, page))


def test_numbers_are_counted_where_they_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    folded = "<details><summary>Table</summary><table><tr><td>7</td></tr></table></details>"
    page.write_text(f"<p>9</p><article><p>Qwen2.5 gains 4.2 or 1,000 points</p>{folded}</article>")
    assert numbers_per_hundred_words(page) == 50.0  # two of four words and two numbers
    page.write_text("<article><table><tr><td>a</td><td>7</td><td>8</td></tr></table></article>")
    assert numbers_per_hundred_words(page) == 200.0
