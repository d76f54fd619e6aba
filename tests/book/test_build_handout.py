"""Handouts keep the questions and lose the answers; their checks tell right, wrong and missing."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from book.tools.execute import sockets_of
from book.tools.exercises import write_module
from book.tools.handout import write_handouts
from book.tools.pages import BuildError, find_pages
from tests.scratch_book import HEADER

CHAPTER = (
    HEADER
    + """# Sums

````{exercise-start} Two and two
:label: ex-sum
````

What is it?

```{code-cell} python
answer = ...
"not yet" if answer is ... else "right" if answer == 4 else "not right: count again"
```

````{exercise-end}
````

```{admonition} Hint
Fingers.
```

````{solution-start} ex-sum
:label: sol-sum
:class: dropdown
````

Four, the secret.

```{code-cell} python
answer = 4
```

````{solution-end}
````

````{exercise-start} In words
:label: ex-words
````

```{code-cell} python
thoughts = "mine"
```

````{exercise-end}
````

```{solution} ex-words
:label: sol-words
The secret.
```

## What to remember

Sums.
"""
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("notebooks", "book"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notebooks/03-sums.md").write_text(CHAPTER)
    (tmp_path / "notebooks/plain.md").write_text(HEADER + "# Plain\n\nNo questions.\n")
    return tmp_path


def test_questions_stay_and_answers_go(root: Path) -> None:
    path, _ = write_handouts(find_pages(root), folder=root / "handout")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "secret" not in text
    assert "answer = 4" not in text
    for kept in ("What is it?", "answer = ...", "Fingers.", "## What to remember"):
        assert kept in text


CHECKED = CHAPTER.replace(
    """````{exercise-start} Two""",
    """```{code-cell} python
from book.exercises import NUMBER, asks, returns

secret = 4

@asks(NUMBER)
def check_sum(answer):
    return "right" if answer * 1.0 == secret else "not right: count again"

@asks(returns(NUMBER))
def check_twice(double):
    found = double([1, secret][1])
    return {"four": "right" if found == 2 * secret else "not right"}
```

````{exercise-start} Two""",
).replace(
    """"not yet" if answer is ... else "right" if answer == 4 else "not right: count again\"""",
    "check_sum(answer)",
)
ANYTHING = [None, [], "", "four", float("nan"), {}, object(), b"4", [[1, 2], [3]], len, -1, True]


def namespace_of_checks(root: Path) -> dict:
    """A notebook's names after the module defined the checks of its first cell among them."""
    names: dict = {}
    module: dict = {}
    exec(write_module(find_pages(root), folder=root).read_text(), module)
    module["checks"]("03-sums", 0, names)
    return names


def test_handouts_call_the_checks_and_hold_none(root: Path) -> None:
    (root / "notebooks/03-sums.md").write_text(CHECKED)
    path, module = write_handouts(find_pages(root), folder=root / "handout")
    code = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    text = "\n".join(code)
    assert "secret" not in text
    assert "def check_" not in text
    assert text.count('poe_exercises.checks("03-sums", ') == 1
    assert module.name == "poe_exercises.py"
    answered = nbformat.read(path, as_version=4)
    (asked,) = [cell.source for cell in answered.cells if "answer = ..." in cell.source]
    for answer in ("4", "5"):
        source = asked.replace("answer = ...", f"answer = {answer}")
        answered.cells.append(nbformat.v4.new_code_cell(source))
    client = NotebookClient(answered, resources={"metadata": {"path": str(path.parent)}})
    with sockets_of(client):
        client.execute()
    shown = [one.data["text/plain"] for c in answered.cells for one in c.get("outputs", [])]
    assert shown == ["'not yet'", "'right'", "'not right: count again'"]


def test_a_check_answers_anything_with_a_sentence(root: Path) -> None:
    (root / "notebooks/03-sums.md").write_text(CHECKED)
    names = namespace_of_checks(root)
    for check in (names["check_sum"], names["check_twice"]):
        for answer in ANYTHING:
            assert str(check(answer)).startswith("not right: "), answer
        assert check(...) == "not yet"
        assert check().startswith("not right: give one answer")
    assert names["check_sum"](4) == "right"
    assert names["check_twice"](lambda k: 2 * k) == {"four": "right"}
    said = names["check_twice"](lambda k: 1 / 0)
    assert said == "not right: your function stops with ZeroDivisionError: division by zero"


def test_a_check_inside_a_question_is_refused(root: Path) -> None:
    """The reader writes there, and a check that moved away would leave its answer behind."""
    inside = CHAPTER.replace("answer = ...", "def check_sum(answer):\n    return 4\n\nanswer = ...")
    (root / "notebooks/03-sums.md").write_text(inside)
    with pytest.raises(BuildError, match="beside its exercise"):
        write_handouts(find_pages(root), folder=root / "handout")
