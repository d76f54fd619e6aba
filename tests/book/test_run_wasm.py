"""Exercises and chapters under a Python compiled to WebAssembly, where it is installed."""

from collections.abc import Iterator
from typing import Any

import pytest

from book.tools import run_wasm
from book.tools.pages import find_pages, read_page

pytestmark = [pytest.mark.needs("wasm"), pytest.mark.slow, pytest.mark.xdist_group("wasm")]
CHAPTERS = ("03-from", "03-is", "04-", "08-")


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with run_wasm.wasm_python() as ready:
        yield ready


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_with_its_exercises_and_solutions(chapter: str, opened: Any) -> None:
    (page,) = [page for page in find_pages(run_wasm.ROOT) if page.name.startswith(chapter)]
    outcome = run_wasm.run_page(page, opened)
    assert outcome.failed == []
    assert outcome.passed > len(outcome.excused)


def test_only_a_lacking_module_and_what_follows_from_it_are_excused(
    opened: Any, tmp_path: Any
) -> None:
    header = "---\nkernelspec: {name: python3, display_name: Python 3}"
    sources = ["missing_name", "import torch\nmade = 1", "made", "import no_such_module", "1 + 1"]
    body = "".join(f"```{{code-cell}} python\n{one}\n```\n\n" for one in sources)
    path = tmp_path / "page.md"
    path.write_text(f"{header}\n---\n\n# Page\n\n{body}", encoding="utf-8")
    outcome = run_wasm.run_page(read_page(path), opened)
    assert [line.partition(":")[0] for line in outcome.failed] == ["cell 1", "cell 4"]
    assert [line.partition(":")[0] for line in outcome.excused] == ["cell 2", "cell 3"]
    assert outcome.passed == 1
