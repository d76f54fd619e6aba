"""One PDF of the whole book: pages in order, links inside it, code plumbing left out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from book.tools.browser import find_chromium
from book.tools.pdf import one_document, order
from tests.browser.conftest import NO_BROWSER, ROOT, skip

PAGE = """<html><head><script>window.MathJax = {{startup: {{promise: 1}}}}</script></head><body>
<nav>side bar</nav><article class="bd-article"><section id="{name}"><h1>{title}
<a class="headerlink" href="#{name}">#</a></h1>{body}</section></article></body></html>"""
TOC = {"root": "index", "parts": [{"chapters": [{"file": "one"}, {"file": "two"}]}]}


@pytest.fixture
def html(tmp_path: Path) -> Path:
    pages = {
        "index": ("A book", '<p>See <a href="two.html#part">the part</a>.</p>'),
        "one": (
            "One",
            '<details class="hide above-input">plumbing</details><details>answer</details>',
        ),
        "two": ("Two", '<p id="part">The part; <a href="#part">here</a>.</p>'),
    }
    for name, (title, body) in pages.items():
        text = PAGE.format(name=name, title=title, body=body)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    return tmp_path


def test_links_lead_inside_plumbing_is_left_out_and_answers_are_open(html: Path) -> None:
    text = one_document(html, order(TOC))
    assert 'href="#two--part"' in text
    assert text.count('id="two--part"') == 1
    assert "plumbing" not in text
    assert '<details open="">answer</details>' in text


@pytest.mark.browser
def test_the_browser_prints_it(html: Path, tmp_path: Path) -> None:
    if find_chromium() is None:
        skip(NO_BROWSER)
    root, build = tmp_path / "root", tmp_path / "build"
    (root / "book").mkdir(parents=True)
    (root / "book" / "_toc.yml").write_text(yaml.safe_dump(TOC))
    shutil.copytree(html, build / "html", ignore=shutil.ignore_patterns("root", "build"))
    command = [sys.executable, "-m", "book.tools", "pdf", "--root", root, "--build-dir", build]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    content = (build / "judging-by-comparison.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", content)) >= 5, "cover, contents, three pages"
    assert b"/Outlines" in content
    assert not list((build / "html").glob("_whole*"))
