"""Every "Before you read on" asks before it tells: a box whose answer can be given."""

import re

import pytest

from tests.needs import ROOT

BOX = re.compile(r":::\{admonition\} Before you read on\n(.*?)\n:::\n", re.DOTALL)
PLACE = re.compile(r'<div class="jc-commit" ([^>]*)></div>')
PAGES = [*sorted((ROOT / "notebooks").glob("*.md")), ROOT / "book" / "beyond.md"]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_question_takes_an_answer(page):
    assert not faults(page.read_text(encoding="utf-8"))


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
