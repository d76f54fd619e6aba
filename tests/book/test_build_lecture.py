"""The lecture's deck is its run sheet: clock, slides in order, a question before its answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from book.tools.course import write_lecture
from book.tools.lecture import NAME, asked, lecture, questions, rows
from book.tools.pages import BuildError, Page, find_pages
from book.tools.plain import Book
from tests.book.test_build_slides import dead_links
from tests.scratch_book import ROOT, Whatever, numberless

PAGES = find_pages(ROOT)
(SHEET,) = (page for page in PAGES if page.name == NAME)
# Where a class commits to an answer: chapters 1, 3, 5 (twice), 6 (twice) and 9.
QUESTIONS = 7


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages of the lecture as notebooks, where all that cells would glue is 1."""
    for page in PAGES:
        if page.executes:
            nbformat.write(page.notebook(), tmp_path / f"{page.name}.ipynb")
    monkeypatch.setattr("book.tools.slides.glued", lambda notebook: Whatever("1"))
    return tmp_path


@pytest.fixture
def book() -> Book:
    return numberless([page for page in PAGES if page.executes])


def test_the_clock_is_the_sum_of_the_minutes_before_it() -> None:
    found, now = rows(SHEET.text), 0
    assert len(found) == SHEET.text.count("\n| ") - 1, "every line of the table is a row"
    for row in found:
        assert row.minute == now, row.shown
        now += row.minutes
    assert now == 90


def test_the_deck_is_the_run_sheet(executed: Path, book: Book) -> None:
    title, slides = lecture(PAGES, executed=executed, book=book)
    assert title == "One lecture, minute by minute"
    begins = [slide.minute for slide in slides if slide.minute is not None]
    assert begins == [row.minute for row in rows(SHEET.text)]
    shown = ["".join(slide.parts) for slide in slides]
    assert sum("The answer" in one for one in shown) == QUESTIONS
    assert any("step by step" in one for one in shown), "the closed form is derived"
    for before, after in pairwise(shown):
        if "The answer" in after:
            assert "class=right" in after
            assert "Before we go on" in before
            assert "class=right" not in before
    told = [slide.notes for slide in slides if slide.minute is not None]
    for row, notes in zip(rows(SHEET.text), told, strict=True):
        said = BeautifulSoup(notes, "html.parser").get_text()
        assert said.startswith(f"{row.minutes} minutes.")
        assert row.press in said
        assert f"Ask: {row.ask}" * bool(row.ask) in said


def test_every_question_of_the_book_could_be_in_a_deck(book: Book) -> None:
    """Each gives its choices; what is right is seen only after them."""
    found = 0
    for page in (page for page in PAGES if page.name[:2].isdigit()):
        known = list(questions(page.notebook()))
        assert len(known) == page.text.count('class="jc-commit"'), page.name
        for question in known:
            before, after = ("".join(s.parts) for s in asked(question, page=page, book=book))
            right = BeautifulSoup(after, "html.parser").select(".right")
            assert [one.get_text() for one in right] == [question.answer], page.name
            assert len(BeautifulSoup(before, "html.parser").select(".choices span")) == len(
                question.options
            )
            found += 1
    assert found > 40


@pytest.mark.parametrize("site", [None, "https://someone.example/book"])
def test_it_has_no_dead_link_and_names_where_a_figure_moves(
    site: str | None, executed: Path, book: Book
) -> None:
    path = write_lecture(PAGES, executed=executed, folder=executed, book=replace(book, site=site))
    assert dead_links(path) == []
    place = "someone.example/book/05-the-product-of-experts.html#fig-live-springs"
    assert (place in path.read_text()) == bool(site)
    assert path.read_text().count("<h1>") == 1


def test_a_row_that_names_nothing_is_refused(executed: Path, book: Book) -> None:
    for wrong in ("*Each opinion is a string*", "question *what is left of the last?*"):
        row = f"| 0:00 | 2 | [5](05-the-product-of-experts.md): {wrong} | | |"
        sheet = Page(path=SHEET.path, text=f"# One\n\n{row}\n", header={})
        pages = [page for page in PAGES if page.name != NAME] + [sheet]
        with pytest.raises(BuildError, match="05-the-product-of-experts has no"):
            lecture(pages, executed=executed, book=book)
