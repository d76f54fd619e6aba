"""What a site has that is served from a host: addresses, cards, a sitemap, a feed of changes.

The site shows the newest commit. Every release keeps its own book, PDF and course kit beside its
package (.github/workflows/release.yml), so the list of releases is the list of versions.
"""

from __future__ import annotations

import os
import re
import subprocess
from datetime import date
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt

from book.tools.pages import BuildError

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
RELEASE = re.compile(r"^## ([\d.]+), ([\d-]{10}|unreleased)$", re.MULTILINE)
XML = '<?xml version="1.0" encoding="utf-8"?>\n'
NAME = "Judging by Comparison"
# Served for every address that is not there, so all of its own addresses are whole.
NOT_FOUND = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Not found. {name}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto }}
main {{ padding: 0 1rem }}
</style>
</head>
<body>
<main>
<h1>There is no page here</h1>
<p>It may have another name now. Begin at <a href="{address}/index.html">the first page</a> of
<cite>{name}</cite>, or <a href="{address}/search.html">search the book</a>.</p>
</main>
</body>
</html>
"""


def repository() -> str | None:
    """Return owner/name of the hosted repository, or None where the book is built for no host."""
    named = os.environ.get("JBC_REPOSITORY", "").strip()
    if named and not REPOSITORY.fullmatch(named):
        raise BuildError(f"JBC_REPOSITORY must look like owner/name, not {named!r}")
    return named or None


def site(hosted: str | None) -> str | None:
    """Address of the pages where the repository's host serves them, None without one."""
    if hosted is None:
        return None
    owner, name = hosted.split("/")
    return f"https://{owner.lower()}.github.io/{name}"


def releases(hosted: str) -> str:
    """Address of the releases."""
    return f"https://github.com/{hosted}/releases"


def git(root: Path, *words: str) -> str:
    """What git says, nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def edition(root: Path, *, hosted: str | None, today: date) -> str:
    """Say what pages are built from, and when; where they are hosted, link the other versions.

    The commit is named where git knows it, with a word if files that it keeps were changed since.
    """
    day = f"{today.day} {today:%B %Y}"
    others = f' <a href="{releases(hosted)}">Other versions</a>.' if hosted else ""
    commit = git(root, "rev-parse", "HEAD")
    if not commit:
        return f"Built on {day}.{others}"
    tags = git(root, "tag", "--points-at", "HEAD", "v[0-9]*").split()
    version = f"Version {tags[-1].removeprefix('v')}" if tags else "Not a release"
    named = f"commit {commit[:7]}"
    if hosted:
        named = f'<a href="https://github.com/{hosted}/commit/{commit}">{named}</a>'
    if git(root, "status", "--porcelain", "--untracked-files=no"):
        named += " with changes"
    return f"{version}, built on {day} from {named}.{others}"


def publish(html: Path, *, address: str, root: Path) -> None:
    """Add to rendered pages what readers elsewhere see of them."""
    listed = []
    for path in sorted(html.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        page = BeautifulSoup(text, "html.parser").select_one("article.bd-article")
        title = page.find("h1") if page else None
        if page is None or title is None:
            continue
        for unwanted in page.select("a.headerlink, .section-number"):
            unwanted.decompose()
        words, listed = title.get_text().strip(), [*listed, path.name]
        draw_card(html / "_static" / "cards" / f"{path.stem}.png", title=words)
        head = tags(words, begins(page), address=address, name=path.stem)
        path.write_text(text.replace("</head>", f"{head}</head>", 1), encoding="utf-8")
    (html / "404.html").write_text(NOT_FOUND.format(name=NAME, address=address), encoding="utf-8")
    (html / "sitemap.xml").write_text(sitemap(address, listed), encoding="utf-8")
    if (changes := root / "CHANGELOG.md").is_file():
        written = feed(changes.read_text(encoding="utf-8"), address=address, today=date.today())
        (html / "changes.xml").write_text(written, encoding="utf-8")


def begins(page: BeautifulSoup) -> str:
    """The first words of a page: its first paragraph that is a sentence and no caption."""
    for paragraph in page.select("p:not(figcaption p, .caption)"):
        words = " ".join(paragraph.get_text().split())
        if len(words) > 80 and "\\(" not in words[:200]:
            return words if len(words) <= 200 else words[:200].rsplit(" ", 1)[0] + " …"
    return "An executable book on ranking texts from pairwise judgements by language models."


def tags(title: str, words: str, *, address: str, name: str) -> str:
    """What a link to the page shows elsewhere."""
    about = {
        "og:type": "article",
        "og:site_name": NAME,
        "og:title": title,
        "og:description": words,
        "og:url": f"{address}/{name}.html",
        "og:image": f"{address}/_static/cards/{name}.png",
        "og:image:alt": f"The title: {title}",
    }
    lines = [f'<meta property="{key}" content="{escape(value)}">' for key, value in about.items()]
    lines += [
        f'<meta name="description" content="{escape(words)}">',
        '<meta name="twitter:card" content="summary_large_image">',
        f'<link rel="alternate" type="application/atom+xml" title="Changes" '
        f'href="{address}/changes.xml">',
    ]
    return "\n".join(lines) + "\n"


def draw_card(path: Path, *, title: str) -> None:
    """Draw 1200 by 630 pixels: the title beside four texts and their comparisons."""
    from textwrap import fill

    from matplotlib.figure import Figure

    from judging.plots import INK, ITEMS

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    lines = fill(title, 22)
    figure.text(0.06, 0.58, lines, color=INK, size=44, va="center", weight="bold", linespacing=1.15)
    figure.text(0.06, 0.1, NAME, color=ITEMS[0], size=24)
    axes = figure.add_axes((0.7, 0.2, 0.26, 0.62))
    axes.set_axis_off()
    places = [(0.1, 0.55), (0.5, 1.0), (0.9, 0.55), (0.5, 0.1)]
    for first, second in ((0, 1), (1, 2), (2, 3), (3, 0), (1, 3)):
        axes.plot(*zip(places[first], places[second], strict=True), color="#8894a3", lw=4, zorder=1)
    axes.scatter(*zip(*places, strict=True), s=2600, c=ITEMS, zorder=2)
    axes.set(xlim=(-0.15, 1.15), ylim=(-0.1, 1.2))
    figure.savefig(path, metadata={"Software": None})


def sitemap(address: str, names: list[str]) -> str:
    """The list of pages that search engines read."""
    entries = "".join(f"<url><loc>{address}/{name}</loc></url>\n" for name in names)
    return (
        f'{XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )


def feed(changes: str, *, address: str, today: date) -> str:
    """The changelog as an Atom feed, an entry a version; what is unreleased is as of today."""
    page, entries, newest = f"{address}/changelog.html", [], ""
    parts = RELEASE.split(changes)[1:]
    for version, day, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        released = day != "unreleased"
        when = f"{day if released else today.isoformat()}T00:00:00Z"
        newest = max(newest, when)
        content = MarkdownIt("commonmark").render(text)
        entries.append(
            f"<entry><title>{version}{'' if released else ', unreleased'}</title>"
            f"<id>{page}#{version}</id><link href='{page}'/><updated>{when}</updated>"
            f"<content type='html'>{escape(content)}</content></entry>\n"
        )
    return (
        f"{XML}<feed xmlns='http://www.w3.org/2005/Atom'><title>{NAME}: changes</title>"
        f"<id>{address}/changes.xml</id><link rel='self' href='{address}/changes.xml'/>"
        f"<updated>{newest}</updated><author><name>The {NAME} authors</name></author>\n"
        f"{''.join(entries)}</feed>\n"
    )
