"""Open a rendered page as a reader would and list what is wrong with it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import urlopen

import nbformat
from bs4 import BeautifulSoup

STATIC = Path(__file__).parents[2] / "book" / "_static"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")  # "Qwen2.5" is a name
WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
VIEWPORTS = {"phone": (390, 844), "desktop": (1280, 900)}

STILL = "*, *::before, *::after { transition: none !important; animation: none !important; }"
INSPECT = (Path(__file__).parent / "inspect.js").read_text(encoding="utf-8")
LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
# Relations of a <link> that name another page, or whose it is; a browser fetches none of them.
NOT_LOADED = ("canonical", "author", "license", "next", "prev", "index", "search")


class Document(HTMLParser):
    """The anchors, links and loaded files of one HTML file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.downloads: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if values.get("download"):
                self.downloads[values["download"]] = values["href"]
        if tag in LOADING and values.get(LOADING[tag]):
            self.loads.append(values[LOADING[tag]])
        if tag == "link" and values.get("rel") not in NOT_LOADED:
            self.loads.append(values.get("href", ""))


@cache
def read_document(path: Path) -> Document:
    return Document(path.read_text(encoding="utf-8"))


def local_path(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


def inside(url: str, *, html: Path) -> bool:
    """Say whether an address stays in the book's folder (or in the page itself)."""
    scheme = urlsplit(url).scheme
    if scheme in ("data", "blob", "about"):
        return True
    return scheme == "file" and local_path(url).resolve().is_relative_to(html.resolve())


def link_problem(link: str, *, path: Path, html: Path) -> str | None:
    """Say what is wrong with one link; links to the web are not followed."""
    address, anchor = urldefrag(urljoin(path.as_uri(), link))
    if urlsplit(address).scheme in ("http", "https", "mailto", "javascript", "data"):
        return None
    target = local_path(address)
    if not inside(address, html=html) or not target.is_file():
        return f"broken link: {link}"
    if anchor and target.suffix == ".html" and unquote(anchor) not in read_document(target).anchors:
        return f"broken anchor: {link}"
    return None


def static_problems(path: Path, *, html: Path) -> list[str]:
    """List broken links and anchors, and files loaded from outside the folder."""
    document = read_document(path)
    problems = {link_problem(link, path=path, html=html) for link in document.links}
    for load in document.loads:
        if not inside(urljoin(path.as_uri(), load), html=html):
            problems.add(f"loads from outside the book: {load}")
    return sorted(problem for problem in problems if problem)


def numbers_per_hundred_words(path: Path) -> float:
    """Count the numbers that a reader meets in a page, tables too, but nothing that is folded.

    Captions, formulas, code and the figures themselves do not count.
    """
    article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find("article")
    assert article is not None
    for tag in article.select("details, figure, pre, script, style, .math, .cell_input"):
        tag.decompose()
    text = article.get_text(" ")
    return 100.0 * len(NUMBER.findall(text)) / max(len(WORD.findall(text)), 1)


def notebook_problems(path: Path) -> list[str]:
    """List what is wrong with the notebook that an executed page carries for download."""
    name = f"{path.stem}.ipynb"
    link = read_document(path).downloads.get(name)
    if link is None:
        return [f"the page does not offer {name} for download"]
    try:
        with urlopen(link) as content:
            notebook = nbformat.reads(content.read().decode(), as_version=4)
        nbformat.validate(notebook)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        return [f"{name} is not valid: {str(error)[:200]}"]
    if any(cell.get("outputs") for cell in notebook.cells):
        return [f"{name} carries outputs"]
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        return [f"{name} has no code"]
    return []


@contextmanager
def offline_page(browser: Any, **options: Any) -> Iterator[Any]:
    """An empty page without a network, in a browser context of its own."""
    context = browser.new_context(offline=True, **options)
    try:
        yield context.new_page()
    finally:
        context.close()


def listen(page: Any, *, html: Path) -> list[str]:
    """Return a list that fills with what the browser complains about."""
    problems: list[str] = []

    def on_request(request: Any) -> None:
        if not inside(request.url, html=html):
            problems.append(f"request outside the book: {request.url}")

    def on_console(message: Any) -> None:
        if message.type == "error":
            problems.append(f"console error: {message.text}")

    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    page.on("requestfailed", lambda request: problems.append(f"failed request: {request.url}"))
    return problems


@contextmanager
def quiet_page(browser: Any, path: Path) -> Iterator[Any]:
    """A page of a test's own, opened without a network; the browser must not complain of it."""
    with offline_page(browser) as page:
        problems = listen(page, html=Path("/"))
        page.goto(path.as_uri())
        yield page
        assert problems == []


def live_page(folder: Path, body: str, *, style: bool = True) -> Path:
    """A bare page with the scripts of all live figures, and their style unless told not to."""
    look = f"<link rel='stylesheet' href='{(STATIC / 'live.css').as_uri()}'>" if style else ""
    scripts = [f"<script src='{p.as_uri()}'></script>" for p in sorted(STATIC.glob("live/*.js"))]
    head = f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>x</title>{look}"
    path = folder / "page.html"
    path.write_text("".join([head, *scripts, f"</head><body>{body}</body></html>"]))
    return path


def browser_problems(browser: Any, path: Path, *, html: Path, axe: bool = False) -> list[str]:
    """Open a page, on a phone at first, and list what the browser and a reader complain about.

    With axe, what axe-core finds on it in both schemes as well.
    """
    found = []
    with offline_page(browser) as page:
        problems = listen(page, html=html)
        for k, (width, height) in enumerate(VIEWPORTS.values()):
            page.set_viewport_size({"width": width, "height": height})
            if not k:
                page.goto(path.as_uri(), wait_until="load")
            found += page.evaluate(INSPECT)
        found = problems + found  # without what axe-core does
        return found + (inaccessible(page, "light", "dark") if axe else [])


def inaccessible(page: Any, *schemes: str) -> list[str]:
    """List what axe-core finds on an open page; in a second scheme, colours are what differs."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("() => window.MathJax?.startup?.promise")
    page.add_style_tag(content=STILL)  # colours are judged when they have arrived
    found = []
    for k, scheme in enumerate(schemes):
        page.emulate_media(color_scheme=scheme)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        theme = page.evaluate("document.documentElement.dataset.theme")
        assert theme in (None, scheme), "the page follows the reader's scheme"
        options = {"resultTypes": ["violations"], "preload": False}
        options |= {"runOnly": ["color-contrast"]} if k else {}
        found += Axe().run(page, options=options).response["violations"]
    return [
        f"{problem['help']}: {node['html'][:200]} ({node['failureSummary'][:200]})"
        for problem in found
        for node in problem["nodes"]
    ]


def accessibility_problems(browser: Any, path: Path, *schemes: str) -> list[str]:
    """List what axe-core finds on a page, in the light scheme or in those that are named."""
    with offline_page(browser) as page:
        page.goto(path.as_uri(), wait_until="load")
        return inaccessible(page, *(schemes or ("light",)))
