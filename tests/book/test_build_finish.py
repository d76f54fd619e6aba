"""A notebook to take away says what it needs, and says in words what only Sphinx knows."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from pybtex.database import parse_string

from book.telling import pages
from book.tools.finish import folded_contents, lay_results, sized, take_away
from book.tools.hosted import begins, edition, feed, publish, repository
from book.tools.pages import BuildError, Page, read_page
from book.tools.plain import Book, inline, unboxed
from book.tools.wheel import wheel_name
from reproduction import run
from tests.scratch_book import HEADER, released


@pytest.fixture
def page(tmp_path: Path) -> Page:
    path = tmp_path / "notebooks" / "06-gaussian.md"
    path.parent.mkdir()
    path.write_text(HEADER + "# Gaussian\n\n```{code-cell} python\n1 + 1\n```\n")
    return read_page(path)


def book(*, site: str | None = None) -> Book:
    entries = parse_string("@article{ka, author={Klein and Randi{\\'c}}, year=1993}", "bibtex")
    numbers = {"eq-mode": "(6.1)"}
    return Book(numbers, {"06-gaussian": {"n": "0.5"}}, entries.entries, site, frozenset(["one"]))


def test_an_empty_name_is_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JBC_REPOSITORY", "  ")
    assert repository() is None


def wanted_by(code: str) -> str:
    """What the first cell of a notebook hands to pip, where the packages are missing."""
    assert code.count('%pip install --quiet "{wanted}"') == 1
    found: dict[str, str] = {}
    exec(code.replace('%pip install --quiet "{wanted}"', "pass"), found)
    return found["wanted"]


def test_a_notebook_installs_the_wheel_beside_it(page: Page, folder: Path) -> None:
    code = take_away(page, book=book(), hosted=None).cells[0].source
    with pytest.raises(AssertionError, match=r"Put judging_by_comparison-.*\+book-.*whl"):
        wanted_by(code)
    hosted = take_away(page, book=book(), hosted="someone/book").cells[0].source
    (folder / wheel_name()).write_bytes(b"")
    assert wanted_by(code) == wanted_by(hosted) == f"./{wheel_name()}[chapters]"


def test_without_it_a_notebook_of_a_site_installs_the_one_beside_its_pages(
    page: Page, folder: Path
) -> None:
    first, *rest = take_away(page, book=book(), hosted="Someone/book").cells
    assert first.cell_type == "code"
    requirement = wanted_by(first.source)
    assert requirement.startswith(
        "judging-by-comparison[chapters] @ https://someone.github.io/book/"
    )
    assert unquote(requirement).endswith(f"/{wheel_name()}")
    assert "+" not in requirement
    assert [cell.source for cell in rest] == [cell.source for cell in page.notebook().cells]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("by {eq}`eq-mode`, {glue:text}`n:.2f`", "by (6.1), 0.50"),
        ("as {cite:t}`ka` has {cite:p}`ka,ka`", "as Klein and Randić (1993) has ({0}; {0})"),
        ("see {ref}`the words <far>` [now]{.evidence-simulated}", "see the words *now*"),
        ("(a-label)=\n[one](one.md#x) and [two](two.md)", "[one](one.ipynb) and two"),
        ("`{first}` and `{second}`", "`{first}` and `{second}`"),
        (
            "$$\n\\text{a $k$}\n$$\n\n$x$\n\n$$\n\\text{an $i$}\n$$ (eq-mode)",
            "$$\n\\text{a $k$}\n$$\n\n$x$\n\n$$\n\\text{an $i$}\n\\tag{6.1}\n$$",
        ),
        ("{py:func}`~poe.fit`", "`poe.fit`"),
        ("Ada\n: The ferry.\n\nBen\n: One: two", "**Ada**: The ferry.\n\n**Ben**: One: two"),
    ],
)
def test_what_only_sphinx_knows_becomes_words(text: str, wanted: str) -> None:
    wanted = wanted.replace("{0}", "Klein and Randić, 1993")
    assert inline(text, page="06-gaussian", book=book()) == wanted


def test_boxes_become_quotations_and_what_cannot_be_said_is_refused() -> None:
    text = "````{prf:theorem} All\n:label: thm\n\n```{admonition} In\nx\n```\n````\nafter"
    plain = unboxed(text, page="06-gaussian", book=book())
    assert plain == "\n> **Theorem (All)**\n>\n>\n> > **In**\n> >\n> > x\n>\n\nafter"
    for left in ("{eq}`eq-none`", "{glue:text}`none`", "{cite:t}`none`"):
        with pytest.raises(BuildError, match="none"):
            inline(left, page="06-gaussian", book=book())


def test_a_host_that_is_no_repository_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("book", "https://x/y", '"/x'):
        monkeypatch.setenv("JBC_REPOSITORY", name)
        with pytest.raises(BuildError, match="owner/name"):
            repository()


def test_an_edition_says_its_day_and_the_commit_that_git_knows(tmp_path: Path) -> None:
    day = date(2026, 12, 1)
    assert edition(tmp_path, hosted=None, today=day) == "Built on 1 December 2026."
    (tmp_path / "one.txt").write_text("x")
    commit = released(tmp_path)
    said = edition(tmp_path, hosted=None, today=day)
    assert said == f"Not a release, built on 1 December 2026 from commit {commit[:7]}."
    said = edition(tmp_path, hosted="a/b", today=day)
    assert f'href="https://github.com/a/b/commit/{commit}"' in said
    assert said.endswith('<a href="https://github.com/a/b/releases">Other versions</a>.')
    (tmp_path / "two.txt").write_text("not kept by git")
    assert "with changes" not in edition(tmp_path, hosted=None, today=day)
    (tmp_path / "one.txt").write_text("y")
    assert edition(tmp_path, hosted=None, today=day).endswith(f"{commit[:7]} with changes.")
    subprocess.run(["git", "tag", "v0.2.0"], cwd=tmp_path, check=True)
    assert edition(tmp_path, hosted=None, today=day).startswith("Version 0.2.0, built on ")


def test_the_feed_has_an_entry_a_version_and_dates_what_is_unreleased(tmp_path: Path) -> None:
    text = "# C\n\n## 0.2.0, unreleased\n\n- **a** & b\n\n## 0.1.0, 2026-11-20\n\n- c\n"
    root = ElementTree.fromstring(feed(text, address="https://a/b", today=date(2026, 12, 1)))
    entries = root.findall("{*}entry")
    assert [e.findtext("{*}title") for e in entries] == ["0.2.0, unreleased", "0.1.0"]
    days = [e.findtext("{*}updated")[:10] for e in entries]
    assert days == ["2026-12-01", "2026-11-20"]
    assert root.findtext("{*}updated").startswith("2026-12-01")
    assert "<strong>a</strong> &amp; b" in entries[0].findtext("{*}content")


def test_every_page_of_a_site_has_a_card_and_is_in_the_sitemap(tmp_path: Path) -> None:
    body = '<article class="bd-article"><h1>A "b"<a class="headerlink">#</a></h1></article>'
    (tmp_path / "one.html").write_text(f"<html><head></head><body>{body}</body></html>")
    publish(tmp_path, address="https://a/b", root=tmp_path)
    text = (tmp_path / "one.html").read_text()
    assert '<meta property="og:title" content="A &quot;b&quot;">' in text
    assert "https://a/b/_static/cards/one.png" in text
    assert (tmp_path / "_static/cards/one.png").read_bytes().startswith(b"\x89PNG")
    assert "<loc>https://a/b/one.html</loc>" in (tmp_path / "sitemap.xml").read_text()
    missing = (tmp_path / "404.html").read_text()
    assert 'href="https://a/b/index.html"' in missing, "it is served in any folder"
    assert "404" not in (tmp_path / "sitemap.xml").read_text()


def test_a_page_is_described_by_its_own_first_sentence_and_not_by_a_caption() -> None:
    long = " with words enough to pass for a sentence" * 3
    text = f"<figcaption><p>Drag the answer{long}.</p></figcaption><p>Ask a judge{long}.</p>"
    page = BeautifulSoup(f"<article>{text}</article>", "html.parser").article
    assert begins(page).startswith("Ask a judge")


def test_a_figure_says_how_large_it_is_before_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images/a.svg").write_text('<svg x="1" width="90.3pt" height="45.0pt" viewBox="">')
    (tmp_path / "_images/b.svg").write_text('<svg viewBox="0 0 1 1">')
    pictures = ['<img alt="A" src="_images/a.svg" />', '<img alt="B" src="_images/b.svg" />']
    others = ['<img width="1" src="_images/a.svg">', '<img src="_static/logo.svg">']
    found = sized("\n".join([*pictures, *others]), html=tmp_path).splitlines()
    assert found == [
        '<img width="120" height="60" alt="A" src="_images/a.svg" />',
        pictures[1],
        *others,
    ]


def test_a_result_that_a_page_links_lies_beside_it_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(str(pages.files("figure10", "figure1a")))
    lay_results(tmp_path)
    for name in ("figure10", "figure1a"):
        laid = pd.read_csv(tmp_path / f"_static/results/{name}.csv")
        pd.testing.assert_frame_equal(laid, run.read(name))
    (tmp_path / "two.html").write_text(str(pages.files("no-such-result")))
    with pytest.raises(BuildError, match="no-such-result"):
        lay_results(tmp_path)


def test_the_contents_show_seven_pages_and_what_is_below_the_one_that_is_read() -> None:
    row = (
        '<li class="toctree-l1{current} has-children"><a class="{current}reference internal" '
        'href="{page}">A &amp; B</a><details open="open"><summary>'
    )
    chapter = row.format(current="", page="03-ranks.html")
    other = chapter.replace("03-ranks", "results")
    here = row.format(current=" current active", page="#")
    assert folded_contents(chapter + here) == chapter + here
    assert folded_contents(other) == other.replace(' open="open"', "")
