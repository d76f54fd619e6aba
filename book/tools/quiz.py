"""The questions that chapters ask before they go on, as a bank of questions in Moodle's XML.

They are read from the rendered pages, where `<div class="jc-commit" ...>` has the answer: one of
several, or a number with a tolerance. What the book says next is the feedback.
"""

from __future__ import annotations

import base64
from copy import copy
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from bs4 import BeautifulSoup, Tag

from book.tools.pages import Page

COURSE = "Judging by Comparison"


def question_bank(html: Path, *, pages: list[Page], site: str | None) -> tuple[str, int]:
    """The bank, a category a chapter, and how many questions it has."""
    quiz, asked = ElementTree.Element("quiz"), 0
    for page in (page for page in pages if page.name[:2].isdigit()):
        text = (html / f"{page.name}.html").read_text(encoding="utf-8")
        soup = BeautifulSoup(text, "html.parser")
        places = soup.select("article .jc-commit")
        title = soup.select_one("article h1")
        if not places or title is None:
            continue
        for unwanted in title.select("a.headerlink"):
            unwanted.decompose()
        name = " ".join(title.get_text().split()).replace("/", "//")  # one is a subcategory
        category = ElementTree.SubElement(quiz, "question", type="category")
        element(category, "category", f"$course$/top/{COURSE}/{name}")
        for place in places:
            question(quiz, place, page=page, html=html, site=site)
            asked += 1
    ElementTree.indent(quiz, space=" ")
    body = ElementTree.tostring(quiz, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n', asked


def question(
    quiz: ElementTree.Element, place: Tag, *, page: Page, html: Path, site: str | None
) -> None:
    """Add one question: a choice, or a number."""
    box = place.find_parent(class_="admonition") or place
    feedback = next((one for one in box.find_next_siblings(limit=3) if one.name == "p"), None)
    data = {key.removeprefix("data-"): str(value) for key, value in place.attrs.items()}
    choices = data["options"].split("|") if "options" in data else []
    entry = ElementTree.SubElement(quiz, "question", type="multichoice" if choices else "numerical")
    element(entry, "name", data["name"])
    parts = before(box)
    parts += [
        part
        for part in box.find_all(recursive=False)
        if part is not place and "admonition-title" not in part.get("class", [])
    ]
    ask = f"<p>{data['ask']} {data.get('unit', '')}</p>" if "ask" in data else ""
    where = f"<p>From {page.name}.</p>"
    if site:
        where = f'<p>From <a href="{site}/{page.name}.html">the book, {page.name}</a>.</p>'
    formatted(entry, "questiontext", parts, html, site, ask, where)
    formatted(entry, "generalfeedback", [feedback] if feedback else [], html, site)
    ElementTree.SubElement(entry, "defaultgrade").text = "1"
    ElementTree.SubElement(entry, "penalty").text = "1"
    if choices:
        ElementTree.SubElement(entry, "single").text = "true"
        ElementTree.SubElement(entry, "shuffleanswers").text = "false"
        ElementTree.SubElement(entry, "answernumbering").text = "none"
    for choice in choices or [data["answer"]]:
        right = choice == data["answer"]
        answer = ElementTree.SubElement(entry, "answer", fraction="100" if right else "0")
        ElementTree.SubElement(answer, "text").text = choice
        if not choices:
            ElementTree.SubElement(answer, "tolerance").text = data.get("tolerance", "0")


def before(box: Tag) -> list[Tag]:
    """The two things before a question, which it is often about; of a cell what it shows."""
    things: list[Tag] = []
    for one in box.find_previous_siblings(limit=2):
        if one.name[0] == "h":
            break
        if "cell" in one.get("class", []):
            things += one.select(".cell_output img, .cell_output table")[:1]
        elif one.name in ("p", "ul", "ol", "div", "figure"):
            things.append(one)
    return things[::-1]


def element(parent: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    """Add <name><text>text</text></name>."""
    child = ElementTree.SubElement(parent, name)
    ElementTree.SubElement(child, "text").text = text
    return child


def formatted(
    parent: ElementTree.Element,
    name: str,
    parts: list[Tag],
    html: Path,
    site: str | None,
    *more: str,
) -> None:
    """Parts of a page as a text of HTML, with the pictures they show."""
    child = element(parent, name, "")
    child.set("format", "html")
    pictures: dict[str, Path] = {}
    written = "".join(plain(part, pictures, html=html, site=site) for part in parts)
    child[0].text = written + "".join(more)
    for file, path in pictures.items():
        kept = ElementTree.SubElement(child, "file", name=file, path="/", encoding="base64")
        kept.text = base64.b64encode(path.read_bytes()).decode()


def plain(part: Tag, pictures: dict[str, Path], *, html: Path, site: str | None) -> str:
    """A part of a page without what only the page's own styles and scripts understand."""
    part = copy(part)
    for unwanted in part.select("a.headerlink, script, button, .jc-commit"):
        unwanted.decompose()
    for link in part.select("a[href]"):
        if urlsplit(link["href"]).scheme:
            continue
        if site and not link["href"].startswith("#"):
            link["href"] = f"{site}/{link['href']}"
        else:
            link.unwrap()
    for image in [part, *part.find_all("img")] if part.name == "img" else part.find_all("img"):
        path = html / image["src"]
        pictures[path.name] = path
        image["src"] = f"@@PLUGINFILE@@/{path.name}"
    for tag in [part, *part.find_all(True)]:
        tag.attrs = {k: v for k, v in tag.attrs.items() if k in ("href", "src", "alt", "scope")}
    return str(part)
