"""The last touches: a notebook that says what it needs, links to run it, clean table heads."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.tools.execute import Execution
from book.tools.finish import accessible, launch_links, repository, take_away
from book.tools.pages import BuildError, Page, read_page
from book.tools.render import stamp
from tests.scratch_book import HEADER


@pytest.fixture
def page(tmp_path: Path) -> Page:
    path = tmp_path / "notebooks" / "06-gaussian.md"
    path.parent.mkdir()
    path.write_text(HEADER + "# Gaussian\n\n```{code-cell} python\n1 + 1\n```\n")
    return read_page(path)


def test_without_a_host_there_are_no_launch_links(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JBC_REPOSITORY", "  ")
    assert repository() is None
    first = take_away(page, hosted=None).cells[0]
    assert first.cell_type == "markdown"
    assert 'pip install ".[chapters]"' in first.source


def test_on_a_host_the_notebook_installs_the_package(page: Page) -> None:
    first, *rest = take_away(page, hosted="someone/book").cells
    assert first.cell_type == "code"
    wanted = '"judging-by-comparison[chapters] @ git+https://github.com/someone/book"'
    assert wanted in first.source
    assert [cell.source for cell in rest] == [cell.source for cell in page.notebook().cells]


def test_colab_takes_the_built_notebook_and_binder_the_text(page: Page) -> None:
    links = launch_links(page, hosted="someone/book")
    assert "/github/someone/book/blob/gh-pages/_sources/06-gaussian.ipynb" in links
    assert "/gh/someone/book/HEAD?urlpath=lab/tree/notebooks/06-gaussian.md" in links


def test_a_host_that_is_no_repository_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("book", "a/b/c", "https://x/y", "a b/c", '"/x'):
        monkeypatch.setenv("JBC_REPOSITORY", name)
        with pytest.raises(BuildError, match="owner/name"):
            repository()


def test_only_empty_heads_become_cells() -> None:
    text = "<tr><th></th><th>a</th></tr>"
    assert accessible(text) == "<tr><td></td><th>a</th></tr>"


def test_the_stamp_names_day_and_versions(page: Page) -> None:
    run = Execution(page, page.path, 1.0, True, "", when="5 May 2026", environment="Python 3.11")
    assert "Executed on 5 May 2026 with Python 3.11." in stamp(run)
