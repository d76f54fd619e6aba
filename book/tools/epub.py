"""The book as an EPUB, from the rendered pages: a file a page, and formulas as MathML.

Readers of EPUBs run no scripts, so the MathJax that the pages have writes each formula as MathML,
in the browser that prints the PDF as well: there is no second renderer of formulas.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
import uuid
import zipfile
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from book.tools.pages import BuildError
from book.tools.pdf import AUTHOR, browsing, in_one, opened, order

# Formulas as MathML, every page as XHTML; what only a browser needs goes.
COLLECT = """() => {
  for (const formula of MathJax.startup.document.math) {
    const written = document.createElement("template");
    written.innerHTML = MathJax.startup.toMML(formula.root);
    formula.typesetRoot.replaceWith(written.content.firstElementChild);
  }
  const unwanted = "script, style, template, input, iframe, noscript, [hidden], .jc-commit";
  document.querySelectorAll(unwanted).forEach((one) => one.remove());
  for (const one of document.querySelectorAll("*")) {
    for (const { name } of [...one.attributes]) {
      const only = /^(data-|on|tabindex|role|aria-|loading|width|height|border)/;
      const old = /^(align|valign|halign|target|style)$/;
      if (one.closest("math, svg")) continue;
      if (only.test(name) || old.test(name)) one.removeAttribute(name);
    }
  }
  const within = "span p, dt p, summary p"; // where no paragraph may stand
  document.querySelectorAll(within).forEach((one) => one.replaceWith(...one.childNodes));
  const seen = new Set();
  for (const one of document.querySelectorAll("[id]")) {
    if (seen.has(one.id)) one.removeAttribute("id");
    seen.add(one.id);
  }
  return [...document.querySelectorAll("article.bd-article")].map((page) => ({
    name: page.id.replace(/--top$/, ""),
    title: page.querySelector("h1").textContent.trim(),
    math: page.querySelector("math") !== null,
    svg: page.querySelector("svg") !== null,
    body: new XMLSerializer().serializeToString(page),
  }));
}"""
STYLE = """\
body { line-height: 1.45 } img { max-width: 100% } table { border-collapse: collapse }
th, td { padding: 0.1em 0.5em; border-bottom: 1px solid #8888 } figcaption { font-size: 0.9em }
pre { white-space: pre-wrap; font-size: 0.8em; background: #8881; padding: 0.5em }
.admonition, details { border-left: 3px solid #8888; padding-left: 0.8em; margin: 1em 0 }
.admonition-title { font-weight: bold } .eqno { float: right } div.math { margin: 0.8em 0 }
"""
PAGE = """\
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en"
xml:lang="en"><head><title>{title}</title><link rel="stylesheet" href="style.css"/></head>
<body>{body}</body></html>
"""
PACKAGE = """\
<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{id}</dc:identifier><dc:title>{title}</dc:title>
<dc:language>en</dc:language><dc:creator>{author}</dc:creator>
<dc:rights>CC BY 4.0 (prose and figures), MIT (code)</dc:rights>
<meta property="dcterms:modified">{now}</meta></metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="style" href="style.css" media-type="text/css"/>
{items}
</manifest>
<spine>{spine}</spine></package>
"""
CONTAINER = """\
<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
PLACE = re.compile(r'href="#([\w.-]+?)--')
INSIDE = re.compile(r"data:image/(svg|png|jpeg)(?:\+xml)?;base64,(.*)", re.DOTALL)
PICTURE = re.compile(r'(<img[^>]* src=")([^"]+)"')


def write_epub(html: Path, *, toc: Path, output: Path) -> Path:
    """Write the rendered book as an EPUB; return the file."""
    names = order(yaml.safe_load(toc.read_text(encoding="utf-8")))
    with browsing() as browser, in_one(html, names) as source:
        pages = opened(browser, source, width=800, height=1000).evaluate(COLLECT)
    pictures: dict[str, bytes] = {}
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", CONTAINER)
        for one in pages:
            body = with_pictures(one["body"], pictures, html=html)
            body = PLACE.sub(r'href="\1.xhtml#\1--', body)
            text = PAGE.format(title=escape(one["title"]), body=body)
            book.writestr(f"book/{one['name']}.xhtml", text)
        for name, content in pictures.items():
            book.writestr(f"book/images/{name}", content)
        book.writestr("book/style.css", STYLE)
        book.writestr("book/nav.xhtml", contents(pages))
        book.writestr("book/package.opf", package(pages, list(pictures)))
    return output


def with_pictures(body: str, pictures: dict[str, bytes], *, html: Path) -> str:
    """The page with its pictures where the book has them, those too that stood in the page."""

    def place(match: re.Match[str]) -> str:
        address = unquote(match[2])
        if inside := INSIDE.match(address):
            content = base64.b64decode(inside[2])
            name = f"{hashlib.sha256(content).hexdigest()[:16]}.{inside[1]}"
        elif (html / address).is_file():
            content, name = (html / address).read_bytes(), Path(address).name
        else:
            raise BuildError(f"There is no picture {address[:80]} beside the pages")
        pictures[name] = content
        return f'{match[1]}images/{name}"'

    return PICTURE.sub(place, body)


def contents(pages: list[dict[str, Any]]) -> str:
    """The page of contents, which readers show beside the book."""
    entries = (f'<li><a href="{p["name"]}.xhtml">{escape(p["title"])}</a></li>' for p in pages)
    listed = f'<nav epub:type="toc"><h1>Contents</h1><ol>{"".join(entries)}</ol></nav>'
    return PAGE.format(title="Contents", body=listed)


def package(pages: list[dict[str, Any]], pictures: list[str]) -> str:
    """What the book consists of, and in which order it is read."""
    items = []
    for one in pages:
        has = " ".join(what for what, key in (("mathml", "math"), ("svg", "svg")) if one[key])
        properties = f' properties="{has}"' if has else ""
        items.append(
            f'<item id="p-{one["name"]}" href="{one["name"]}.xhtml" '
            f'media-type="application/xhtml+xml"{properties}/>'
        )
    for k, name in enumerate(pictures):
        kind = mimetypes.guess_type(name)[0]
        items.append(f'<item id="i-{k}" href="images/{name}" media-type="{kind}"/>')
    title = pages[0]["title"]
    return PACKAGE.format(
        id=uuid.uuid5(uuid.NAMESPACE_URL, title),
        title=escape(title),
        author=AUTHOR,
        now=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        items="\n".join(items),
        spine="".join(f'<itemref idref="p-{one["name"]}"/>' for one in pages),
    )
