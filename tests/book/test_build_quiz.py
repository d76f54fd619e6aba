"""The questions of chapters as a bank for Moodle, and what it must not lose."""

from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree

import pytest

from book.tools.pages import read_page
from book.tools.quiz import question_bank
from tests.scratch_book import HEADER

PAGE = """<html><body><article><h1>3. Wins/losses<a class="headerlink">#</a></h1>
<p>Ada won 3 of 4.</p>
<div class="cell"><div class="cell_output"><img src="_images/bars.svg" alt="Bars"></div>
</div>
<div class="admonition"><p class="admonition-title">Before you read on</p>
<p>What is <span class="math">\\(w_A\\)</span>? See <a href="01-one.html#x">one</a>.</p>
<div class="jc-commit" data-name="03-wins" data-answer="0.75" data-tolerance="0.01"
 data-ask="The share:"></div></div>
<p>Three quarters.</p>
<div class="admonition"><p class="admonition-title">Before you read on</p><p>Who is best?</p>
<div class="jc-commit" data-name="03-best" data-options="Ada|Ben &amp; Cleo" data-answer="Ada">
</div>
</div></article></body></html>"""


@pytest.fixture
def bank(tmp_path: Path) -> ElementTree.Element:
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images/bars.svg").write_bytes(b"<svg/>")
    (tmp_path / "03-wins.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "03-wins.md").write_text(HEADER + "\n# Wins\n", encoding="utf-8")
    site = "https://someone.example/book"
    pages = [read_page(tmp_path / "03-wins.md")]
    text, count = question_bank(tmp_path, pages=pages, site=site)
    assert count == 2
    return ElementTree.fromstring(text.encode())


def test_a_category_a_number_and_a_choice(bank: ElementTree.Element) -> None:
    assert [one.get("type") for one in bank] == ["category", "numerical", "multichoice"]
    path = bank[0].findtext("category/text")
    assert path == "$course$/top/Judging by Comparison/3. Wins//losses", "a slash is no folder"
    number, choice = bank[1], bank[2]
    assert number.findtext("answer/text") == "0.75"
    assert number.findtext("answer/tolerance") == "0.01"
    said = {a.findtext("text"): a.get("fraction") for a in choice.findall("answer")}
    assert said == {"Ada": "100", "Ben & Cleo": "0"}
    assert choice.findtext("single") == "true"


def test_a_question_brings_its_surroundings_formulas_and_pictures(
    bank: ElementTree.Element,
) -> None:
    text = bank[1].findtext("questiontext/text") or ""
    assert (
        text.index("Ada won 3 of 4.")
        < text.index("@@PLUGINFILE@@/bars.svg")
        < text.index("What is")
    )
    assert "\\(w_A\\)" in text, "Moodle sets formulas in these marks"
    assert '<a href="https://someone.example/book/01-one.html#x">one</a>' in text
    assert "The share:" in text
    assert "Before you read on" not in text
    (picture,) = bank[1].findall("questiontext/file")
    assert base64.b64decode(picture.text or "") == b"<svg/>"
    assert bank[1].findtext("generalfeedback/text") == "<p>Three quarters.</p>"
