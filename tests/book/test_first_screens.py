"""Pages about results can be looked at: a sentence, a picture, few numbers; one number is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from book.telling import pictures
from book.tools.run_button import with_button

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *("what-is-new", "results", "measured-judge", "judges-foretold", "judges-otherwise"),
    *("when-both-orders", "beyond"),
    *("table-1", "read-again", "figures", "where-the-field-went", "diagnoses", "errata"),
    "how-it-was-made",
)
QUOTED = ("index", "what-is-new", "measured-judge")  # pages that quote the same quantities
CELL = re.compile(r"^```\{code-cell\}.*?^```$", re.M | re.S)
GLUE = re.compile(r"\{glue:text\}`([^`]+)`")
WORD = re.compile(r"[^\W\d_][\w'’-]*")


def source(name: str) -> str:
    folder = "notebooks" if name == "table-1" else "book"  # of the pages that a reader can run
    return (ROOT / folder / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_first_screen_is_a_sentence_a_picture_and_a_limit(name: str) -> None:
    first = source(name).split("\n## ", 1)[0]
    sentence = re.search(r"^:::\{div\} headline\n(.*?)\n:::$", first, re.M | re.S)
    assert sentence
    assert len(WORD.findall(GLUE.sub("1", sentence[1]))) <= 50
    figure = re.search(
        r"^    name: fig-.*?^    caption: .*?^    alt: [^\n]{60,}", first, re.M | re.S
    )
    assert figure
    assert sentence.start() < figure.start() < first.index("**What this does not show:**")


def test_the_button_that_runs_a_page_leaves_the_first_screen_whole() -> None:
    title = "<article class='bd-article'><section><h1>Title</h1>\n"
    screen = '<div class="headline docutils"><p>So it is.</p></div><figure></figure>'
    limit = "<p><strong>What this does not show:</strong> all else.</p>"
    page = with_button(f"{title}{screen}{limit}<p>Then.</p>", name="x", said="50 MB")
    assert page.startswith(f'{title}{screen}{limit}\n<div class="jc-run')
    assert with_button(f"{title}<p>Then.</p>{limit}", name="x", said="").index("jc-run") < 90


@pytest.mark.parametrize("name", PAGES)
def test_every_table_is_in_a_fold(name: str) -> None:
    calls = re.findall(r"pages\.frame\(.*?\n(?=HTML|```|[a-z])", source(name) + "\n", re.S)
    open_ = [call for call in calls if call.count("pages.frame(") != call.count("fold=")]
    assert open_ == []


@pytest.mark.parametrize("name", QUOTED)
def test_one_number_is_one_number(name: str) -> None:
    """What several pages quote comes from one function, under one name, and is never typed."""
    text, words = source(name), pictures.headline()
    used = {key.removeprefix("headline-") for key in GLUE.findall(text) if "headline-" in key}
    assert used
    assert used <= set(words)
    assert re.findall(r'glue\(f?"headline-[^"]*"', text) == ['glue(f"headline-{name}"']
    assert "in pictures.headline().items():" in text
    typed = GLUE.sub("", CELL.sub("", text))
    assert not [value for value in words.values() if len(value) > 2 and value in typed]
