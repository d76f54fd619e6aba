"""The two local Sphinx extensions, piece by piece."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from docutils import nodes

EXTENSIONS = Path(__file__).resolve().parent.parent / "book" / "_ext"


def load(name: str) -> ModuleType:
    """Import an extension by its file."""
    spec = importlib.util.spec_from_file_location(name, EXTENSIONS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


chapter_numbers = load("chapter_numbers")
page_assets = load("page_assets")


def environment(docname: str) -> SimpleNamespace:
    """Make the parts of a Sphinx environment that carry section numbers."""
    toc = nodes.reference("", "x", secnumber=[1, 2])
    anchors = {"": (1,), "#mode": (1, 1), "#deep": None}
    title = nodes.title("", "x", secnumber=[1])
    return SimpleNamespace(
        toc_secnumbers={docname: anchors}, tocs={docname: toc}, titles={docname: title}
    )


def test_every_copy_of_a_number_is_that_of_the_file() -> None:
    env = environment("part/06-gaussian")
    chapter_numbers.renumber(env)
    (anchors,), (toc,), (title,) = (
        each.values() for each in (env.toc_secnumbers, env.tocs, env.titles)
    )
    assert anchors == {"": (6,), "#mode": (6, 1), "#deep": None}
    assert (toc["secnumber"], title["secnumber"]) == ([6, 2], [6])
    with pytest.raises(ValueError, match=r"'table-1' stands in a numbered part"):
        chapter_numbers.renumber(environment("table-1"))


def test_assets_are_kept_once_and_in_order() -> None:
    inline = SimpleNamespace(filename=None)
    assets = ["a.js", SimpleNamespace(filename="b.js?v=1"), "a.js?v=2", inline, inline, "b.js"]
    assert page_assets.drop_duplicates(assets) == [assets[0], assets[1], inline, inline]


def test_live_figures_are_loaded_in_order_and_only_where_there_are_some() -> None:
    assets = ["_static/live/2-kit.js", "_static/book.js", "_static/live/1-mathematics.js"]
    found = page_assets.live_where_used(assets, body='<figure id="fig-live-ranks">')
    assert found == ["_static/book.js", "_static/live/1-mathematics.js", "_static/live/2-kit.js"]
    found = page_assets.live_where_used(assets, body='<figure id="fig-scores">')
    assert found == ["_static/book.js"]
