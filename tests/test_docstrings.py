"""Docstrings of public names: numpydoc's sections, and an example each, which is run."""

from __future__ import annotations

import doctest
import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import judging
import judging.practice.trust
import poe

SECTIONS = ["Parameters", "Attributes", "Returns", "Raises", "Notes", "Examples"]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = [(door, name) for door in (poe, judging, judging.practice.trust) for name in door.__all__]


def docstring(door: ModuleType, name: str) -> str:
    return inspect.getdoc(getattr(door, name)) or ""


def sections(text: str) -> dict[str, list[str]]:
    """The lines under each heading that is underlined."""
    parts = re.split(r"^([A-Z]\w+)\n-+$", text, flags=re.MULTILINE)
    return {
        head: body.strip().split("\n") for head, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def entries(lines: list[str]) -> list[str]:
    """The names that a section describes."""
    heads = [line for line in lines if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(" : ")[0].split(",")]


def run(text: str) -> tuple[int, int]:
    """How many examples fail, of how many."""
    names = {"poe": poe, "judging": judging, "np": np}
    test = doctest.DocTestParser().get_doctest(text, names, "docstring", None, 0)
    failed, tried = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    return failed, tried


@pytest.mark.parametrize(("door", "name"), PUBLIC, ids=[f"{d.__name__}.{n}" for d, n in PUBLIC])
def test_every_public_name_has_an_example_that_runs(
    door: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = docstring(door, name)
    found = sections(text)
    assert list(found) == [one for one in SECTIONS if one in found], "sections in numpydoc's order"
    assert list(found)[-1] == "Examples"
    failed, tried = run("\n".join(found["Examples"]))
    assert tried >= 1
    assert not failed, capsys.readouterr().out


@pytest.mark.parametrize(("door", "name"), PUBLIC, ids=[f"{d.__name__}.{n}" for d, n in PUBLIC])
def test_what_a_docstring_describes_exists(door: ModuleType, name: str) -> None:
    thing = getattr(door, name)
    found = sections(docstring(door, name))
    if "Parameters" in found and name != "Reader":  # whose fields a judge of one's own defines
        known = set(inspect.signature(thing).parameters)
        assert set(entries(found["Parameters"])) <= known
    if "Attributes" in found and hasattr(thing, "__dataclass_fields__"):
        known = {*thing.__dataclass_fields__, *dir(thing)}
        assert set(entries(found["Attributes"])) <= known


def test_a_wrong_example_and_a_missing_name_would_be_noticed() -> None:
    text = (
        "One.\n\nParameters\n----------\nfirst, second\n    x.\n\nExamples\n--------\n>>> 1 + 1\n3"
    )
    found = sections(text)
    assert entries(found["Parameters"]) == ["first", "second"]
    assert run("\n".join(found["Examples"])) == (1, 1)
    assert run(">>> np.array([1.0])\narray([1.])") == (0, 1)
