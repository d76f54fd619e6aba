"""The whole book as one PDF, printed by a browser from the rendered pages.

Every page's article goes into one document in the order of the table of contents, with its
anchors renamed so that links between pages become links inside the document; the browser
numbers the pages and makes bookmarks of the headings. Live figures keep their still pictures.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urldefrag, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from book.tools.browser import FLAGS, find_chromium
from book.tools.pages import BuildError

LEFT_OUT = (
    "a.headerlink, script, .jc-launch, details.hide.above-input, .dropdown-download-buttons, "
    ".prev-next-area, .live-controls, button"
)
STYLE = """
  @page { size: A4; margin: 18mm 16mm 20mm; }
  body { background: #fff; }
  main { display: block; max-width: none; }
  .bd-article { font-size: 10.5pt; padding: 0; }
  .bd-article > section > h1 { break-before: page; }
  .jc-cover { padding-top: 70mm; }
  .jc-cover .jc-title { margin: 0 0 6mm; font-size: 32pt; font-weight: 600; line-height: 1.15; }
  .jc-contents { break-before: page; }
  .jc-contents ol { list-style: none; padding-left: 0; }
  .bd-article .admonition.dropdown > *, .bd-article details > * { display: revert !important; }
  pre { white-space: pre-wrap; }
  figure, table, .admonition-title, h2, h3 { break-inside: avoid; break-after: avoid-page; }
  table, figure { break-after: auto; }
"""
SUBTITLE = "<p>Products of experts for language models that compare texts</p>"
FOOTER = (
    '<div style="width: 100%; font-size: 8px; color: #555; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def order(toc: dict[str, object]) -> list[str]:
    """Page names in the order of the table of contents."""
    parts = toc.get("parts", [])
    assert isinstance(parts, list)
    return [str(toc["root"]), *(c["file"] for part in parts for c in part["chapters"])]


def renamed(link: str, *, here: str, pages: set[str]) -> str:
    """Turn a link to a page of the book into a link inside the one document."""
    address, anchor = urldefrag(link)
    parts = urlsplit(address)
    if parts.scheme or (address and not address.endswith(".html")):
        return link
    page = Path(parts.path).stem if address else here
    if page not in pages:
        return link
    return f"#{page}--{anchor}" if anchor else f"#{page}--top"


def chapter(html: Path, name: str, *, pages: set[str]) -> Tag:
    """Return the article of one page, ready to stand beside the others."""
    soup = BeautifulSoup((html / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    if article is None:
        raise BuildError(f"{name}.html has no article")
    for unwanted in article.select(LEFT_OUT):
        unwanted.decompose()
    for marked in article.find_all(id=True):
        marked["id"] = f"{name}--{marked['id']}"
    for link in article.find_all("a", href=True):
        link["href"] = renamed(link["href"], here=name, pages=pages)
    for folded in article.find_all("details"):
        folded["open"] = ""
    article["id"] = f"{name}--top"
    return article


def one_document(html: Path, names: list[str]) -> str:
    """Put the whole book into one page."""
    pages = set(names)
    articles = [chapter(html, name, pages=pages) for name in names]
    first = BeautifulSoup((html / f"{names[0]}.html").read_text(encoding="utf-8"), "html.parser")
    styles = "".join(str(link) for link in first.find_all("link", rel="stylesheet"))
    scripts = [s for s in first.find_all("script") if "MathJax" in s.get_text()]
    scripts += [s for s in first.find_all("script", src=True) if "mathjax" in s["src"]]
    titles = [article.find("h1").get_text().strip() for article in articles]
    contents = "".join(
        f'<li><a href="#{name}--top">{title}</a></li>'
        for name, title in zip(names[1:], titles[1:], strict=True)
    )
    cover = f'<section class="jc-cover"><p class="jc-title">{titles[0]}</p>{SUBTITLE}</section>'
    listing = f'<section class="jc-contents"><h2>Contents</h2><ol>{contents}</ol></section>'
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{titles[0]}</title>{styles}<style>{STYLE}</style>"
        f"{''.join(map(str, scripts))}</head><body><main class='bd-main'>"
        "<div class='bd-content'><div class='bd-article-container bd-article'>"
        f"{cover}{listing}</div></div>"
        + "".join(
            f"<div class='bd-content'><div class='bd-article-container'>{article}</div></div>"
            for article in articles
        )
        + "</main></body></html>"
    )


def print_book(html: Path, *, toc: Path, output: Path) -> Path:
    """Print the rendered book; return the PDF."""
    from playwright.sync_api import sync_playwright  # not needed by the other targets

    if not (html / "index.html").is_file():
        raise BuildError("There is no rendered book to print yet; run make book first")
    chromium = find_chromium()
    if chromium is None:
        raise BuildError(
            "Printing the book needs Chromium (Debian: apt install chromium), or another of its "
            "family named in CHROMIUM"
        )
    names = order(yaml.safe_load(toc.read_text(encoding="utf-8")))
    # Beside the pages, so that pictures and styles are found; gone when printed.
    source = html / "_whole_book.html"
    source.write_text(one_document(html, names), encoding="utf-8")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_context(offline=True).new_page()
            page.goto(source.as_uri(), wait_until="load", timeout=120_000)
            page.evaluate("() => window.MathJax.startup.promise")
            page.pdf(
                path=str(output),
                prefer_css_page_size=True,
                print_background=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                outline=True,
                tagged=True,
            )
            browser.close()
    finally:
        source.unlink()
    return output
