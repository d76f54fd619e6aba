"""The book as a PDF, or a part of it, and decks, printed by a browser from the rendered pages.

Every page's article goes into one document in the order of the table of contents, with its
anchors renamed so that links between pages become links inside the document; the browser
numbers the pages and makes bookmarks of the headings. Live figures keep their still pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from jinja2 import Environment

from book.tools.browser import FLAGS, find_chromium
from book.tools.hosted import repository, site
from book.tools.pages import BuildError

LEFT_OUT = (
    "a.headerlink, script, details.hide.above-input, .dropdown-download-buttons, "
    ".prev-next-area, .live-controls, button, .jc-executed, a:has(> .viewcode-link)"
)
STYLES = 'link[rel="stylesheet"]'
# Sizes in the theme are in rem, so the first rule sets the scale of everything. The theme's own
# rules for printing hide every title and keep tables and cells in one piece.
STYLE = """
  @page { size: A4; margin: 15mm 16mm 16mm; }
  html { font-size: 11px; }
  body { background: #fff; }
  main, .bd-main .bd-content, .bd-main .bd-content .bd-article-container {
    display: block; max-width: none; margin: 0; padding: 0; }
  .bd-article { font-size: 11.8px !important; line-height: 1.42 !important; }
  .bd-article p { margin-bottom: 0.75rem; }
  .bd-main .bd-content .bd-article h1:first-of-type { display: block; margin: 0 0 1.2rem; }
  .jc-chapter { break-before: page; }
  .bd-article :is(h1, h2, h3) { white-space: pre-wrap; } /* or bookmarks lose spaces */
  .bd-article h2 { margin-top: 1.8rem; }
  .jc-cover { padding-top: 70mm; }
  .jc-cover .jc-title { margin: 0 0 6mm; font-size: 32pt; font-weight: 600; line-height: 1.15; }
  .jc-contents { break-before: page; }
  .jc-contents ol { list-style: none; padding-left: 0; }
  .bd-article .admonition.dropdown > *, .bd-article details > * { display: revert !important; }
  .bd-article :is(.admonition.dropdown, details) > div.math { display: flex !important; }
  .bd-article :is(div.cell, table, figure, details, .admonition) { break-inside: auto; }
  .bd-article :is(tr, img, svg, figcaption, pre, .cell_input, .highlight) { break-inside: avoid; }
  .bd-article :is(h1, h2, h3, h4, .admonition-title, caption) { break-after: avoid-page; }
  .bd-article figure img, .bd-article .cell_output img { zoom: 0.8; break-after: avoid-page; }
  .bd-article thead { display: table-header-group; }
  .bd-main .bd-content .bd-article-container .bd-article table { font-size: 0.88em; }
  .bd-main .bd-content .bd-article-container .bd-article table :is(th, td) { padding: 2px 6px; }
  .bd-article :is(.pst-scrollable-table-container, .cell_output .output, .comparison-scroll,
    mjx-container, div.math, pre, .highlight) { overflow: visible !important; }
  pre { white-space: pre-wrap; }
"""
# What is wider than its place is made smaller; on paper nothing scrolls.
FIT = """() => {
  const wanted = "article :is(table, mjx-container, img, svg, pre)";
  for (const wide of document.querySelectorAll(wanted)) {
    if (wide.closest("mjx-container") !== (wide.matches("mjx-container") ? wide : null)) continue;
    const place = wide.parentElement.closest("div, td, li, p, figure, section, dd");
    const room = place.getBoundingClientRect().right - wide.getBoundingClientRect().left;
    const takes = Math.max(wide.getBoundingClientRect().width, wide.scrollWidth);
    if (takes > room + 1 && room > 0) {
      wide.style.zoom = (parseFloat(getComputedStyle(wide).zoom) || 1) * room / takes * 0.995;
    }
  }
}"""
WIDTH = 672  # CSS pixels of A4 less the margins: 178 mm
AUTHOR = "The Judging by Comparison authors"
FOOTER = (
    '<div style="width: 100%; font-size: 8px; color: #555; text-align: center">'
    '<span class="pageNumber"></span></div>'
)
DOCUMENT = Environment(autoescape=True).from_string(
    '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
    "<title>{{ titles[0] }}</title>{{ styles | safe }}<style>{{ style | safe }}</style>"
    "{{ scripts | safe }}</head><body><main class='bd-main'>"
    "<div class='bd-content'><div class='bd-article-container bd-article'>"
    '<section class="jc-cover"><p class="jc-title">{{ titles[0] }}</p>'
    "<p>Products of experts for language models that compare texts</p>"
    "<p>{{ author }}</p><p>{{ executed }}</p></section>"
    '{% if contents %}<section class="jc-contents"><h2>Contents</h2><ol>'
    '{% for name, title in contents %}<li><a href="#{{ name }}--top">{{ title }}</a></li>'
    "{% endfor %}</ol></section>{% endif %}</div></div>"
    "{% for article in articles %}<div class='bd-content jc-chapter'>"
    "<div class='bd-article-container'>{{ article | string | safe }}</div></div>{% endfor %}"
    "</main></body></html>"
)


def order(toc: dict[str, object]) -> list[str]:
    """Page names in the order of the table of contents, a chapter's second page after its first."""

    def below(entries: list[dict[str, Any]]) -> Iterator[str]:
        for entry in entries:
            yield entry["file"]
            yield from below(entry.get("sections", []))

    parts = toc.get("parts", [])
    assert isinstance(parts, list)
    return [str(toc["root"]), *(name for part in parts for name in below(part["chapters"]))]


def renamed(link: str, *, here: str, pages: set[str], site: str | None = None) -> str:
    """Turn a link to a page of the book into one inside the document, or to the site if it has one.

    A link to a page that is neither here nor anywhere is empty.
    """
    address, anchor = urldefrag(link)
    parts = urlsplit(address)
    if parts.scheme:
        return link
    page = Path(parts.path).stem if address.endswith(".html") else "" if address else here
    if page not in pages:
        return f"{site}/{link}" if site else ""
    return f"#{page}--{anchor}" if anchor else f"#{page}--top"


def chapter(page: BeautifulSoup, name: str, *, pages: set[str], site: str | None = None) -> Tag:
    """Return the article of one page, ready to stand beside the others."""
    article = page.select_one("article.bd-article")
    if article is None:
        raise BuildError(f"{name}.html has no article to print; run make book again")
    for head in article.select("th button"):  # heads of tables that sort on the site
        head.unwrap()
    for unwanted in article.select(LEFT_OUT):
        unwanted.decompose()
    for marked in article.find_all(id=True):
        marked["id"] = f"{name}--{marked['id']}"
    for link in article.find_all("a", href=True):
        link["href"] = renamed(link["href"], here=name, pages=pages, site=site)
        if not link["href"]:
            link.unwrap()
    for folded in article.find_all("details"):
        folded["open"] = ""
    article["id"] = f"{name}--top"
    return article


def day(executed: str) -> date:
    """The day of "Executed on 27 November 2026 with ..."; a build may pass midnight."""
    found = re.search(r"\d+ \w+ \d{4}", executed)
    return datetime.strptime(found[0], "%d %B %Y").date() if found else date.min


def one_document(html: Path, names: list[str], *, site: str | None = None) -> str:
    """Put these pages of the book into one."""
    pages = set(names)
    texts = {name: (html / f"{name}.html").read_text(encoding="utf-8") for name in names}
    whole = {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}
    first = whole[names[0]]
    executed = {p.get_text() for page in whole.values() for p in page.select(".jc-executed")}
    articles = [chapter(page, name, pages=pages, site=site) for name, page in whole.items()]
    # Some pages have styles that others do without; each is taken once, where it first stands.
    linked = [str(link) for page in whole.values() for link in page.select(STYLES)]
    scripts = [s for s in first.find_all("script") if "MathJax" in s.get_text()]
    scripts += [s for s in first.find_all("script", src=True) if "mathjax" in s["src"]]
    titles = [article.find("h1").get_text().strip() for article in articles]
    return DOCUMENT.render(
        style=STYLE,
        styles="".join(dict.fromkeys(linked)),
        scripts="".join(map(str, scripts)),
        executed=max(executed, key=day, default=""),
        author=AUTHOR,
        titles=titles,
        contents=list(zip(names, titles, strict=True))[1:],
        articles=articles,
    )


@contextmanager
def browsing() -> Iterator[Any]:
    """The browser that prints, without a network."""
    from playwright.sync_api import sync_playwright  # not needed by the other targets

    chromium = find_chromium()
    if chromium is None:
        raise BuildError(
            "Printing the book needs Chromium (Debian: apt install chromium), or another of its "
            "family named in CHROMIUM"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


def opened(browser: Any, source: Path, *, width: int, height: int) -> Any:
    """A page of the browser in which all formulas are set."""
    size = {"width": width, "height": height}
    page = browser.new_context(offline=True, viewport=size).new_page()
    page.goto(source.as_uri(), wait_until="load", timeout=120_000)
    page.evaluate("() => window.MathJax?.startup?.promise")
    return page


def to_pdf(page: Any, output: Path, **settings: Any) -> None:
    """Print what is open."""
    page.pdf(
        path=str(output),
        prefer_css_page_size=True,
        print_background=True,
        outline=True,
        tagged=True,
        **settings,
    )
    sign(output)


@contextmanager
def in_one(html: Path, names: list[str]) -> Iterator[Path]:
    """A file with these pages in one, beside them, so that pictures and styles are found."""
    source = html / "_whole_book.html"
    source.write_text(one_document(html, names, site=site(repository())), encoding="utf-8")
    try:
        yield source
    finally:
        source.unlink()


def print_pages(browser: Any, html: Path, names: list[str], *, output: Path) -> None:
    """Print these pages of the book as one document with numbered pages."""
    with in_one(html, names) as source:
        page = opened(browser, source, width=WIDTH, height=1000)
        page.emulate_media(media="print")
        page.evaluate(FIT)
        numbered = {"header_template": "<span></span>", "footer_template": FOOTER}
        to_pdf(page, output, display_header_footer=True, **numbered)
        page.close()


def print_book(html: Path, *, toc: Path, output: Path) -> Path:
    """Print the rendered book; return the PDF."""
    with browsing() as browser:
        names = order(yaml.safe_load(toc.read_text(encoding="utf-8")))
        print_pages(browser, html, names, output=output)
    return output


def sign(path: Path) -> None:
    """Say in the file whose it is; a browser has no place for that."""
    from pypdf import PdfWriter

    writer = PdfWriter(BytesIO(path.read_bytes()), incremental=True)
    writer.add_metadata({"/Author": AUTHOR})
    writer.write(path)
