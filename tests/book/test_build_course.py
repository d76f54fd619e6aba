"""The course kit: no solution in a handout, tests for nbgrader, what a speaker says."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from book.tools.course import BEGIN, END, in_guide, marked
from book.tools.exercises import write_module
from book.tools.handout import as_asked
from book.tools.nbgrader import source as nbgrader_source
from book.tools.notes import prose_by_slide, section, steps, with_notes
from book.tools.pages import read_page
from book.tools.plain import Book, plain_notebook
from book.tools.slides import collect
from tests.book.test_build_handout import CHAPTER
from tests.scratch_book import HEADER

HELPER = """# Sums

```{code-cell} python
def check_sum(answer):
    return "not yet" if answer is ... else "right" if answer == 4 else "not right"
```
"""
SHOWN = '"not yet" if answer is ... else "right" if answer == 4 else "not right: count again"'


@pytest.fixture
def handout(tmp_path: Path) -> Path:
    """The handout of a chapter whose check is a function."""
    path = tmp_path / "03-sums.md"
    text = CHAPTER.replace("# Sums\n", HELPER, 1).replace(SHOWN, "check_sum(answer)", 1)
    path.write_text(text)
    assert HEADER in text
    page = read_page(path)
    book = Book({}, {}, {}, None, frozenset())
    notebook = plain_notebook(page, book=book, notebook=as_asked(page, marked(page)))
    folder = tmp_path / "handouts"
    folder.mkdir()
    write_module([page], folder=folder)
    nbformat.write(notebook, folder / "03-sums.ipynb")
    return folder / "03-sums.ipynb"


def test_a_handout_is_plain_and_has_no_solution(handout: Path) -> None:
    cells = nbformat.read(handout, as_version=4).cells
    text = "\n".join(cell.source for cell in cells)
    assert "secret" not in text
    assert "def check" not in text
    assert "{" not in text
    assert "```" not in text, "a fence left open shows the next exercise as code"
    assert "**Exercise: Two and two**" in text
    found = [cell.metadata.get("exercise", {}).get("label") for cell in cells]
    assert [name for name in found if name] == ["ex-sum", "ex-words"]


def test_nbgrader_tests_stand_after_checks_and_a_person_is_asked_for_the_rest(
    handout: Path,
) -> None:
    cells = nbgrader_source(nbformat.read(handout, as_version=4)).cells
    known = {c.metadata["nbgrader"]["grade_id"]: c for c in cells if "nbgrader" in c.metadata}
    test, words = known["ex-sum-test"], known["ex-words"]
    assert test.metadata["nbgrader"]["locked"]
    for answer, right in ((4, True), (5, False), (..., False)):
        given = {"answer": answer, "check_sum": lambda a: "right" if a == 4 else "not right"}
        names = dict(given)
        try:
            exec(test.source, names)
        except AssertionError:
            assert not right
        else:
            assert right
        left = {name for name in names if not name.startswith("__")} - given.keys()
        assert all(name.endswith("__") for name in left), "a chapter may have these names"
    assert words.metadata["nbgrader"]["solution"]
    calls = [c.metadata["nbgrader"] for c in cells if "checks(" in c.source]
    assert calls
    assert all(call["locked"] for call in calls), "a check is restored before grading"


def test_notes_are_the_prose_after_a_slide_and_steps_its_formulas() -> None:
    new = nbformat.v4
    slide = {"tags": ["slide-only"]}
    cells = [
        new.new_markdown_cell("before"),
        new.new_markdown_cell("## S", metadata=slide),
        new.new_markdown_cell("after"),
        new.new_markdown_cell("## T", metadata=slide),
        new.new_markdown_cell("## T\nits own"),
    ]
    found = prose_by_slide(new.new_notebook(cells=cells))
    assert found == {1: "after", 3: "## T\nits own"}
    cells += [
        new.new_markdown_cell("## R", metadata=slide),
        new.new_markdown_cell("## Exercises\n\nnot said"),
        new.new_markdown_cell("## R\nin short\n## Further reading"),
    ]
    assert prose_by_slide(new.new_notebook(cells=cells))[5] == "in short\n"
    shown = "A. So\n\n$$\na\n$$\n\nHence\n\n$$\nb\n$$\n\nand\n\n$$\nc\n$$\n"
    assert steps(shown) == [("So", "a"), ("Hence", "b"), ("and", "c")]
    assert steps("No formula.") == []
    folded = ":::{prf:proof}\n:class: dropdown\n\n$$\nd\n$$\n:::\n"
    other = "\n## U\n\n$$\ne\n$$\n"
    for text in (shown, f"(place)=\n## S\n\n{shown}"):
        assert steps(section(f"{text}\n{folded}{other}")) == steps(shown)


def test_notes_have_what_a_sentence_announces_and_a_cell_prints() -> None:
    new = nbformat.v4

    def cell(text: str, *tags: str) -> nbformat.NotebookNode:
        outputs = [new.new_output("stream", text=text)]
        return new.new_code_cell("...", outputs=outputs, metadata={"tags": [*tags]})

    def found(*cells: nbformat.NotebookNode) -> str:
        slide = new.new_markdown_cell("## S", metadata={"tags": ["slide-only"]})
        return prose_by_slide(new.new_notebook(cells=[slide, *cells]))[0]

    announced, other = new.new_markdown_cell("The sum:"), new.new_markdown_cell("A sum.")
    rows = cell("  a  b\nx 1  2\n")
    assert (
        found(announced, cell(""), rows, cell("y"))
        == "The sum:\n\n```text\n\xa0\xa0a  b\nx 1  2\n```"
    )
    assert found(other, rows) == "A sum."
    for silent in (cell("x\n", "hide-output"), cell("x\n" * 40), cell("x" * 200), cell("")):
        assert found(announced, silent) == "The sum:"


def test_a_derivation_is_told_by_the_words_of_its_slide(tmp_path: Path) -> None:
    path = tmp_path / "03-sums.md"
    slide = '+++ {"tags": ["slide-only", "steps"]}\n\n## S\n\n- in short\n\n+++\n\n'
    path.write_text(f"{HEADER}# Sums\n\n{slide}## S\n\nAt length. So\n\n$$\na\n$$\n")
    page = read_page(path)
    notebook = page.notebook()
    book = Book({}, {}, {}, None, frozenset())
    first, derived = with_notes(page, notebook, collect(notebook, name=page.name), book=book)
    assert "in short" in first.parts[0] + first.parts[-1]
    assert "step by step" in derived.parts[0]
    assert "At length." in first.notes
    assert derived.notes == first.notes


def test_a_second_page_has_a_row_and_its_session_has_both() -> None:
    found = {"02-b": (9, 18, 40), "03-c": (10, 20, 29), "03-d": (11, 22, 24)}
    guide = f"{BEGIN}\n{END}\n\n| 1 | [2](02-b.md), [3](03-c.md) | talk | ? |\n"
    written = in_guide(guide, found)
    rows = "| [3](03-c.md) | 10 | 20 | 29 |\n| [3, second page](03-d.md) | 11 | 22 | 24 |\n"
    assert rows in written
    assert "| 1 | [2](02-b.md), [3](03-c.md) | talk | 60 |" in written
