"""One PDF of the whole book, made and read back; the buttons of the same pages on a host."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from book.tools import pdf
from book.tools.__main__ import build_book
from book.tools.pdf import AUTHOR, one_document, order, print_book
from tests.book.test_build_render import write_book
from tests.browser.checks import quiet_page
from tests.needs import require
from tests.scratch_book import released

# One worker builds for all of these tests.
pytestmark = pytest.mark.xdist_group("pdf")

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


def test_a_second_page_comes_after_its_first() -> None:
    second = {"file": "one-b", "sections": [{"file": "one-c"}]}
    chapters = [{"file": "one", "sections": [second]}, {"file": "two"}]
    toc = {"root": "index", "parts": [{"chapters": chapters}, {"chapters": [{"file": "last"}]}]}
    assert order(toc) == ["index", "one", "one-b", "one-c", "two", "last"]


def test_links_lead_inside_plumbing_is_left_out_and_answers_are_open(html: Path) -> None:
    text = one_document(html, order(TOC))
    assert 'href="#two--part"' in text
    assert text.count('id="two--part"') == 1
    assert "plumbing" not in text
    assert '<details open="">answer</details>' in text


def test_the_cover_has_an_author_and_the_last_of_the_days(html: Path) -> None:
    """A build that passes midnight executes its pages on two days."""
    days = {"one": "30 September 2026", "two": "1 October 2026"}
    for name, day in days.items():
        path = html / f"{name}.html"
        stamp = f'<p class="jc-executed">Executed on {day} with Python 3.12.</p></section>'
        path.write_text(path.read_text().replace("</section>", stamp))
    cover = BeautifulSoup(one_document(html, order(TOC)), "html.parser").select_one(".jc-cover")
    assert cover is not None
    author, executed = [line.get_text() for line in cover.find_all("p")][2:]
    assert author == AUTHOR
    assert executed == "Executed on 1 October 2026 with Python 3.12."


HEADS = "".join(f'<th><button type="button">head-{k}</button></th>' for k in range(12))
ROW = "<tr>" + "<td>unbreakable-cell</td>" * 11 + "<td>the-last-cell</td></tr>"
LONG = f"""
# A long table

<div class="comparison-scroll"><table class="comparison sortable"><thead><tr>{HEADS}</tr></thead>
<tbody>{ROW * 90}</tbody></table></div>

```{{admonition}} Folded
:class: dropdown

$$
a = b
$$ (eq-folded)
```
"""


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small book with the real styles, rendered and finished as for a host."""
    require(["browser"])
    root = tmp_path_factory.mktemp("book") / "root"
    write_book(root)
    (root / "book/notation.md").write_text(LONG)
    (root / "book/changelog.md").write_text("# Changelog\n\n% feed\n")
    toc = root / "book/_toc.yml"
    toc.write_text(toc.read_text() + "      - file: changelog\n")
    released(root, tag="v1.2.3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JBC_REPOSITORY", "someone/book")
        build_book(root, build=root / "_build")
    return root


def printed(root: Path) -> Any:
    import pypdf

    # In a thread: this one may hold the browser of other tests, and a thread has one Playwright.
    with ThreadPoolExecutor(1) as pool:
        path = pool.submit(
            print_book,
            root / "_build/html",
            toc=root / "book/_toc.yml",
            output=root / "book.pdf",
        ).result()
    return pypdf.PdfReader(path)


def rightmost(reader: Any, words: str) -> float:
    """Where a text begins, in points from the left edge, at the most."""
    found = [0.0]

    def visit(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        if words in text:
            found.append(tm[4] * cm[0] + cm[4])

    for page in reader.pages:
        page.extract_text(visitor_text=visit)
    return max(found)


@pytest.mark.browser
def test_the_pdf_has_titles_bookmarks_heads_an_author_and_nothing_clipped(hosted: Path) -> None:
    reader = printed(hosted)
    top = [item for item in reader.outline if not isinstance(item, list)]
    titles = [item.title for item in top]
    assert titles[-3:] == ["1. Gaussian", "A long table", "Changelog"]
    texts = [page.extract_text() for page in reader.pages]
    for title, item in zip(titles[-3:], top[-3:], strict=True):
        first_line = texts[reader.get_destination_page_number(item)].strip().splitlines()[0]
        assert first_line.strip() == title, "a chapter begins its page"
    table = [text for text in texts if "the-last-cell" in text]
    assert len(table) >= 2
    assert all("head-0" in text and "head-11" in text for text in table)
    assert 300 < rightmost(reader, "the-last-cell") < float(reader.pages[0].mediabox.width) - 50
    assert rightmost(reader, "(1)") > 450, "the number of a folded formula stands at its right"
    assert "Executed on" in texts[0]
    assert not any("Executed on" in text for text in texts[1:]), "it would fill a page of its own"
    assert reader.metadata.author == AUTHOR
    assert not list((hosted / "_build/html").glob("_whole*"))


@pytest.mark.browser
def test_without_our_rules_titles_are_lost_and_tables_clipped(
    hosted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "STYLE", "@page { size: A4; margin: 16mm; }")
    monkeypatch.setattr(pdf, "FIT", "() => {}")
    reader = printed(hosted)
    assert "A long table" not in [getattr(item, "title", "") for item in reader.outline]
    assert rightmost(reader, "the-last-cell") == 0.0, "a browser leaves out what it clips"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_reader_on_a_host_sees_the_buttons(hosted: Path, browser: Any, width: int) -> None:
    with quiet_page(browser, hosted / "_build/html/06-gaussian.html") as page:
        page.set_viewport_size({"width": width, "height": 800})
        found = {}
        for group in ("launch", "source", "download"):
            menu = page.locator(f".dropdown-{group}-buttons")
            assert menu.is_visible()
            menu.locator("button").first.click()
            for entry in menu.locator("li > *").all():
                assert entry.is_visible()
                found[entry.inner_text().strip()] = entry.get_attribute("href") or ""
    assert found["Colab"].endswith("/github/someone/book/blob/notebooks/06-gaussian.ipynb")
    assert found["Binder"].endswith("/gh/someone/book/notebooks?urlpath=lab/tree/06-gaussian.ipynb")
    assert found["Suggest edit"].endswith("/someone/book/edit/main/notebooks/06-gaussian.md")
    assert found["Open issue"].startswith("https://github.com/someone/book/issues/new")
    assert found["Repository"] == "https://github.com/someone/book"
    assert found["Whole book, .pdf"] == "judging-by-comparison.pdf"
    assert found[".ipynb"].startswith("data:application/x-ipynb+json")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_reader_on_a_host_sees_which_version_this_is_and_where_others_are(
    hosted: Path, browser: Any, width: int
) -> None:
    with quiet_page(browser, hosted / "_build/html/06-gaussian.html") as page:
        page.set_viewport_size({"width": width, "height": 800})
        footer = page.locator(".extra_footer")
        said = footer.inner_text()
        assert re.search(r"Version 1\.2\.3, built on \d+ \w+ \d{4} from commit \w{7}\.", said)
        for words, address in (
            ("Other versions", "https://github.com/someone/book/releases"),
            ("commit ", "https://github.com/someone/book/commit/"),
        ):
            link = footer.get_by_role("link", name=words)
            link.scroll_into_view_if_needed()
            assert link.is_visible()
            assert (link.get_attribute("href") or "").startswith(address)
    with quiet_page(browser, hosted / "_build/html/changelog.html") as page:
        link = page.locator("article").get_by_role("link", name="another version")
        assert link.is_visible()
        assert link.get_attribute("href") == "https://github.com/someone/book/releases"
