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


@pytest.mark.parametrize(
    ("docname", "number"),
    [("06-gaussian-experts", 6), ("14-new", 14), ("part/03-ranks", 3), ("table-1", None)],
)
def test_the_number_is_the_prefix_of_the_file_name(docname: str, number: int | None) -> None:
    assert chapter_numbers.chapter_number(docname) == number


def environment(docname: str) -> SimpleNamespace:
    """Make the parts of a Sphinx environment that carry section numbers."""
    toc = nodes.bullet_list()
    for number in ([1], [1, 1], [1, 2]):
        toc += nodes.reference("", "x", secnumber=number)
    anchors = {"": (1,), "#mode": (1, 1), "#end": (1, 2), "#deep": None}
    title = nodes.title("", "x", secnumber=[1])
    return SimpleNamespace(
        toc_secnumbers={docname: anchors}, tocs={docname: toc}, titles={docname: title}
    )


def test_every_copy_of_a_number_is_replaced() -> None:
    env = environment("06-gaussian")
    chapter_numbers.renumber(env)
    assert env.toc_secnumbers["06-gaussian"] == {
        "": (6,),
        "#mode": (6, 1),
        "#end": (6, 2),
        "#deep": None,
    }
    references = env.tocs["06-gaussian"].findall(nodes.reference)
    assert [node["secnumber"] for node in references] == [[6], [6, 1], [6, 2]]
    assert env.titles["06-gaussian"]["secnumber"] == [6]


def test_a_page_without_a_number_in_a_numbered_part_is_refused() -> None:
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
