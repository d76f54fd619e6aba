"""The map of the fifteen chapters: what to have read before what, as the chapters say it.

`python -m book.tools.concepts` draws it anew.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from book.tools.pages import Page, find_pages

PICTURE = Path(__file__).resolve().parents[1] / "_static" / "concept-map.svg"
BEFORE = re.compile(r"^- \*\*Before this\*\*: (.*)$", re.M)
NAMED = re.compile(r"\]\((\d\d)-[\w-]+\.md\)|\{ref\}`(?:[^`<]*<)?([\w-]+)>?`")
# What a chapter is about, its column and its row.
CHAPTERS = {
    1: ("compare or grade?", 0, 0),
    2: ("answers are probabilities", 0, 1),
    3: ("count, rank, correlate", 1, 0),
    4: ("Bradley-Terry and priors", 2, 1),
    5: ("multiply the experts", 1, 1),
    6: ("least squares, resistors", 1, 2),
    7: ("soft Bradley-Terry", 2, 3),
    8: ("medians, linear programs", 1, 3),
    9: ("the bias of the place", 2, 4),
    10: ("which pair next?", 0, 3),
    11: ("running judges", 0, 2),
    12: ("many small sets", 1, 5),
    13: ("one large set", 0, 4),
    14: ("how sure, and when to stop", 1, 4),
    15: ("several judges", 2, 5),
}
WIDTH, BOX, TALL, COLUMN, ROW = 360, 108, 52, 120, 84
HUES = ("#0072b2", "#007a58", "#b84e00")  # reading answers, experts, judges and decisions


def needs(pages: list[Page]) -> set[tuple[int, int]]:
    """Pairs of chapters: the first is named as what to read before the second."""
    chapters = [page for page in pages if page.name[:2].isdigit()]
    home = {
        label: int(page.name[:2])
        for page in chapters
        for label in re.findall(r"^\(([\w-]+)\)=$", page.text, re.M)
    }
    found = set()
    for page in chapters:
        line = BEFORE.search(page.text)
        for number, label in NAMED.findall(line[1]) if line else ():
            found.add((int(number) if number else home[label], int(page.name[:2])))
    return {(a, b) for a, b in found if a != b}


def direct(pairs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs that do not follow from others."""
    after = {a: {b for x, b in pairs if x == a} for a, _ in pairs}

    def reached(start: int) -> set[int]:
        return set().union(*({b} | reached(b) for b in after.get(start, ())))

    return sorted((a, b) for a, b in pairs if not any(b in reached(c) for c in after[a] - {b}))


def place(chapter: int) -> tuple[float, float]:
    """The middle of a chapter's box."""
    _, column, row = CHAPTERS[chapter]
    return COLUMN * (column + 0.5), 34 + ROW * row


def arrow(a: int, b: int) -> str:
    """From the foot of one box to the head of another; past a row of boxes between the columns."""
    (x, y), (to, end) = place(a), place(b)
    y, end = y + TALL / 2, end - TALL / 2 - 3
    gap = (x + to) / 2
    way = f"M{x} {y}" if x == to else f"M{x + (to - x) / 4} {y}"
    if x != to and end - y > ROW:
        way += f"L{gap} {y + 16}L{gap} {end - 16}"
    way += f"L{to if x == to else to - (to - x) / 4} {end}"
    return f'<path d="{way}" marker-end="url(#head)"/>'


def box(chapter: int) -> str:
    """A chapter: its number and what it is about, in two lines at most."""
    words, (x, y) = CHAPTERS[chapter][0], place(chapter)
    lines = re.findall(r".{1,15}(?:\s|$)", words)
    hue = HUES[(chapter > 4) + (chapter > 8)]
    text = "".join(
        f'<text x="{x}" y="{y + (6, 11)[len(lines) == 1] + 15 * k}">{escape(line.strip())}</text>'
        for k, line in enumerate(lines)
    )
    rect = f'<rect x="{x - BOX / 2}" y="{y - TALL / 2}" width="{BOX}" height="{TALL}" rx="6"/>'
    number = f'<text x="{x}" y="{y - 11}" fill="{hue}" font-weight="700">{chapter}</text>'
    return f'<g stroke="{hue}">{rect}</g>{number}{text}'


def drawn(pages: list[Page]) -> str:
    """The map as SVG."""
    height = int(34 + ROW * max(row for *_, row in CHAPTERS.values()) + TALL / 2 + 8)
    arrows = "".join(arrow(a, b) for a, b in direct(needs(pages)))
    head = '<path d="M0 0L8 4L0 8z" fill="#545f6e"/>'
    size = 'id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
        f"<defs><marker {size}>{head}</marker></defs>"
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        f'<g fill="none" stroke="#545f6e" stroke-width="1.4">{arrows}</g>'
        '<g fill="#fff" stroke-width="1.6" font-family="Arial, Helvetica, sans-serif" '
        'font-size="12.5" text-anchor="middle">'
        f'<g fill="#1c2430" stroke="none">{"".join(box(k) for k in CHAPTERS)}</g></g></svg>\n'
    ).replace("<rect x=", '<rect fill="#fff" x=')


def words(pairs: list[tuple[int, int]]) -> str:
    """The same for who cannot see it: "1 before 2; 3 before 4 and 5"."""
    after = {a: [str(b) for x, b in pairs if x == a] for a, _ in pairs}
    parts = []
    for a, named in after.items():
        listed = " and ".join([", ".join(named[:-1])] * (len(named) > 1) + named[-1:])
        parts.append(f"{a} before {listed}")
    return "; ".join(parts)


if __name__ == "__main__":
    PICTURE.write_text(drawn(find_pages(PICTURE.parents[2])), encoding="utf-8")
