"""Handouts keep the questions and lose the answers; grading tells right, wrong and missing."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from book.tools.handout import grade, write_handouts
from book.tools.pages import find_pages
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
    (path,) = write_handouts(find_pages(root), folder=root / "handout")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "secret" not in text
    assert "answer = 4" not in text
    for kept in ("What is it?", "answer = ...", "Fingers.", "## What to remember"):
        assert kept in text


def test_answers_are_graded(root: Path) -> None:
    """One notebook with the exercise four times, answered in four ways."""
    question = CHAPTER[CHAPTER.index("````{exercise-start} Two") : CHAPTER.index("```{admonition}")]
    answers = {"...": "not yet", "4": "right", "5": "not right", "1 / 0": "not right"}
    asked = [
        question.replace("ex-sum", f"ex-{k}").replace("answer = ...", f"answer = {answer}")
        for k, answer in enumerate(answers)
    ]
    words = CHAPTER[CHAPTER.index("````{exercise-start} In words") : CHAPTER.index("```{solution}")]
    path = root / "answers.md"
    path.write_text("\n".join([HEADER, *asked, words]))
    *graded, last, total = grade(path).splitlines()
    assert [line.split("  ")[0] for line in graded] == ["ex-0", "ex-1", "ex-2", "ex-3"]
    assert all(line.endswith("Two and two") for line in graded)
    for line, verdict in zip(graded, answers.values(), strict=True):
        assert f"  {verdict}  " in line
    assert "by hand" in last
    assert total == "1 of 4 right; 1 to be read by a person"
