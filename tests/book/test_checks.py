"""Every check of every exercise: it takes its own solution and refuses what is wrong, in words.

A chapter's cells run here as in its notebook, solutions included, while the checks note what they
are given. What made a check say "right" is the solution; wrong answers are made of it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from book.tools.exercises import SOURCE, functions, placed
from book.tools.pages import Page, find_pages
from tests.helpers import ROOT

CHAPTERS = {page.name: page for page in find_pages(ROOT) if "def check_" in page.text}
NEITHER = [None, [], "four", float("nan"), -1, len, lambda *x, **k: None, lambda *x, **k: 0.0]


def right(said: Any) -> bool:
    told = list(said.values()) if isinstance(said, dict) else [said]
    return all(str(one).startswith("right") for one in told)


def guarded() -> Callable[..., Any]:
    """What a handout, and a page that runs, make of a check."""
    space: dict[str, Any] = {}
    exec(SOURCE.format(cells="{}"), space)
    return space["guarded"]


def solved(page: Page) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...] | None]]:
    """The checks of a chapter, and what its solution gave them when they said "right"."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    given: dict[str, tuple[Any, ...]] = {}
    own: dict[str, Callable[..., Any]] = {}
    guard = guarded()

    def noted(name: str, check: Callable[..., Any]) -> Callable[..., Any]:
        def call(*answers: Any, **named: Any) -> Any:
            said = check(*answers, **named)  # the chapter's own, which may not raise either
            if right(said):
                given[name] = (*answers, *named.values())
            return said

        return call

    for cell, _ in placed(page.notebook()):
        source = "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, page.name, "exec"), names)
        for name in functions(cell):
            if name.startswith("check_"):
                own[name] = guard(names[name])
                names[name] = noted(name, names[name])
    plt.close("all")
    for name, check in own.items():
        yield name, check, given.get(name)


def altered(by: Callable[[Any], Any], answer: Any) -> Any:
    """An answer with all of its numbers changed; of a function, those that it returns."""
    if callable(answer):
        return lambda *x, **k: altered(by, answer(*x, **k))
    if isinstance(answer, dict):
        return {name: altered(by, one) for name, one in answer.items()}
    if isinstance(answer, (bool, np.bool_)):
        return not answer
    if isinstance(answer, str):
        return answer + "x"
    if isinstance(answer, (list, tuple)):
        try:
            return type(answer)(by(np.asarray(answer, dtype=float)).tolist())
        except (TypeError, ValueError):
            return type(answer)(altered(by, one) for one in answer)
    if isinstance(answer, (int, float, np.number)):
        return type(answer)(by(np.asarray(float(answer))))
    return by(answer)


WRONG: dict[str, Callable[[Any], Any]] = {
    "more": lambda x: x * 1.7 + 1.3,
    "less": lambda x: -x - 0.7,
    "turned": lambda x: np.asarray(x)[::-1] * 3.0 if np.ndim(x) else x * 3.0 + 2.0,
    "none": lambda x: np.asarray(x) * 0.0,
}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_checks_take_their_solution_and_refuse_what_is_wrong(chapter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, check, solution in solved(CHAPTERS[chapter]):
        assert solution is not None, f"{name}: no solution of the chapter is right"
        assert right(check(*solution)), name
        places = len(inspect.signature(check).parameters)
        assert check(*[...] * places) == "not yet", name
        for answer in NEITHER:
            said = check(*[answer] * places)
            assert not right(said), f"{name} takes {answer!r}"
            if answer is not None and not callable(answer):  # None may be what is not written yet
                assert said != "not yet", f"{name} says of {answer!r} that it is no answer yet"
        # Some numbers are right in another unit too, a ranking's scores for one; never most.
        refused = 0
        for by in WRONG.values():
            for wrong in ([altered(by, one) for one in solution], [altered(by, solution[0])]):
                refused += not right(check(*wrong, *solution[len(wrong) :]))
        assert refused >= 3, f"{name} refuses {refused} of {2 * len(WRONG)} wrong answers"


def test_a_check_that_takes_anything_would_be_found():
    """The negative control: what the tests above look for is seen."""
    lenient = guarded()(lambda answer: "not yet" if answer is ... else "right")
    assert right(lenient(None))
    assert not right({"one": "right", "two": "not right"})
    assert altered(WRONG["more"], lambda: [1, 2])() == [3.0, 4.7]
    assert altered(WRONG["none"], {"a": (3, True)}) == {"a": (0.0, 0.0)}
