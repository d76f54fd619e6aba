"""Every "Before you read on" takes an answer, and its veil ends somewhere."""

import re

import pytest

from book.tools.pages import read_page
from book.tools.slides import without_slides
from tests.needs import ROOT

BOX = re.compile(r":::\{admonition\} Before you read on\n(.*?)\n:::\n", re.DOTALL)
PLACE = re.compile(r'<div class="jc-commit" ([^>]*)></div>')
MARK = '\n\n<div class="jc-told"></div>\n\n'
PAGES = [
    *sorted((ROOT / "notebooks").glob("[0-9]*.md")),  # the chapters
    *(ROOT / "book" / name for name in ("beyond.md", "read-again.md")),
]


def shown(path):
    """A page as its readers see it: without the cells of its slides."""
    page = read_page(path)
    if not page.executes:
        return page.text
    cells = without_slides(page.notebook()).cells
    return "\n\n".join(
        cell.source if cell.cell_type == "markdown" else f"```\n{cell.metadata}{cell.source}\n```"
        for cell in cells
        if "remove-cell" not in cell.metadata.get("tags", [])
    ).replace("\\n", "\n")


def name_of(box):
    found = re.search(r'data-name="([^"]+)"', box)
    return found[1] if found else ""


def faults(text):
    """What is wrong with the boxes of a page, in words."""
    found = []
    for box in BOX.findall(text):
        places = PLACE.findall(box)
        if len(places) != 1:
            found.append(f"no place for an answer: {box[-60:]!r}")
            continue
        data = dict(re.findall(r'data-(\w+)="([^"]*)"', places[0]))
        options = data.get("options", "").split("|")
        if data["answer"] in options and len(set(options)) == len(options) > 1:
            continue
        number = re.fullmatch(r"-?\d+(\.\d+)?", data["answer"])
        if options != [""] or not number or "tolerance" not in data:
            found.append(f"{data['name']}: {data['answer']!r} cannot be answered")
    return found


def unended(text):
    """Boxes after which not exactly one mark says where their veil ends."""
    boxes = list(BOX.finditer(text))
    ends = [box.start() for box in boxes[1:]] + [len(text)]
    return [
        name_of(box[0])
        for box, end in zip(boxes, ends, strict=True)
        if text[box.end() : end].count(MARK) != 1
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_question_takes_an_answer(page):
    assert not faults(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_veil_ends_at_one_mark(page):
    assert not unended(shown(page))


def test_names_are_used_once():
    names = [
        name
        for page in PAGES
        for name in re.findall(r'jc-commit" data-name="([^"]+)"', page.read_text("utf-8"))
    ]
    assert len(names) > 40
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "place",
    [
        "",
        '<div class="jc-commit" data-name="a" data-options="yes|no" data-answer="maybe"></div>',
        '<div class="jc-commit" data-name="a" data-answer="about ten"></div>',
        '<div class="jc-commit" data-name="a" data-answer="10"></div>',
        '<div class="jc-commit" data-name="a" data-options="yes|yes" data-answer="yes"></div>',
    ],
)
def test_a_box_without_an_answer_is_noticed(place):
    text = f":::{{admonition}} Before you read on\n:class: question\n\nWhy?\n\n{place}\n:::\n"
    assert faults(text)


def test_a_veil_without_an_end_or_with_two_is_noticed():
    """The negative control."""
    box = ':::{admonition} Before you read on\n\nHow?\n\n<div data-name="a"></div>\n:::\n\nSo.'
    assert unended(f"{box}{MARK}And so on.") == []
    assert unended(box) == unended(f"{box}{MARK}And{MARK}so on.") == ["a"]
    assert unended(f"{box}\n\n{box}{MARK}") == ["a"]
