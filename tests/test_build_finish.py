"""A notebook to take away says what it needs, and there are links to run it on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.tools.finish import launch_links, repository, take_away
from book.tools.pages import BuildError, Page, read_page
from tests.scratch_book import HEADER


@pytest.fixture
def page(tmp_path: Path) -> Page:
    path = tmp_path / "notebooks" / "06-gaussian.md"
    path.parent.mkdir()
    path.write_text(HEADER + "# Gaussian\n\n```{code-cell} python\n1 + 1\n```\n")
    return read_page(path)


def test_without_a_host_the_notebook_says_what_to_install(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JBC_REPOSITORY", "  ")
    assert repository() is None
    assert 'pip install ".[chapters]"' in take_away(page, hosted=None).cells[0].source


def test_on_a_host_the_notebook_installs_the_package_and_has_launch_links(page: Page) -> None:
    first, *rest = take_away(page, hosted="someone/book").cells
    assert first.cell_type == "code"
    wanted = '"judging-by-comparison[chapters] @ git+https://github.com/someone/book"'
    assert wanted in first.source
    assert [cell.source for cell in rest] == [cell.source for cell in page.notebook().cells]
    links = launch_links(page, hosted="someone/book")
    assert "/github/someone/book/blob/gh-pages/_sources/06-gaussian.ipynb" in links
    assert "/gh/someone/book/HEAD?urlpath=lab/tree/notebooks/06-gaussian.md" in links


def test_a_host_that_is_no_repository_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("book", "https://x/y", '"/x'):
        monkeypatch.setenv("JBC_REPOSITORY", name)
        with pytest.raises(BuildError, match="owner/name"):
            repository()
