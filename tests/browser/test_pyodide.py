"""The button of rendered pages, pressed with Pyodide itself: every cell runs, solutions too.

Three pages by default, all of them with JBC_PRESS=all (nightly).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.tools.pages import find_pages
from book.tools.run_button import cells, has_code, packages
from tests.browser.stand_in import served
from tests.needs import PYODIDE, ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.needs("book", "pyodide"),
    pytest.mark.xdist_group("pyodide"),
]
PAGES = [page for page in find_pages(ROOT) if has_code(page)]
THREE = ("04-bradley-terry-and-zermelo", "08-laplacian-experts", "10-which-comparison-next")
PRESSED = [page for page in PAGES if page.name in THREE or os.environ.get("JBC_PRESS") == "all"]
SECONDS = 600  # for a page; the slowest take two minutes on two cores
READY = "/Ready|did not work/.test(document.querySelector('.jc-run [role=status]').textContent)"
# Run all as the button does, then the solutions; what Python said of each cell.
RUN = """async () => {
  const page = window.jcPage, said = [], ask = page.ask.bind(page);
  page.ask = async (message, cell) => {
    const answer = await ask(message, cell);
    if (cell) said.push([cell.number, answer.outcome.failed, answer.outcome.missing]);
    return answer;
  };
  await page.run(page.cells.filter((cell) => !cell.solution));
  for (const cell of page.cells) if (cell.solution) await page.run([cell]);
  return said;
}"""


@pytest.fixture(scope="module")
def site(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the rendered book with Pyodide beside it."""
    folder = tmp_path_factory.mktemp("site") / "html"
    shutil.copytree(html, folder, ignore=shutil.ignore_patterns("pyodide"))
    settings = {"index": "../pyodide/", "bundle": "bundle.zip"}
    (folder / "_static/run/settings.json").write_text(json.dumps(settings))
    (folder / "_static/pyodide").symlink_to(PYODIDE)
    with served(folder) as address:
        yield address


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page()
    opened.set_default_timeout(1000 * SECONDS)
    yield opened
    opened.close()


def press(page: Any, address: str) -> str:
    """Open a page and press its button; what its status says when Python is there, or is not."""
    page.goto(address)
    page.get_by_role("button", name="Run this page here").click()
    page.wait_for_function(READY)
    return str(page.locator(".jc-run [role=status]").text_content())


@pytest.mark.parametrize("chapter", PRESSED, ids=lambda page: page.name)
def test_every_cell_runs_in_the_browser(chapter: Any, page: Any, site: str) -> None:
    found = cells(chapter)
    said = press(page, f"{site}/{chapter.name}.html")
    lacking = packages(found)["welcome"]
    assert said.startswith("Ready.")
    assert all(name in said for name in lacking), "what is lacking is said before the first cell"
    outcomes = page.evaluate(RUN)
    assert len(outcomes) == len(found)
    failed = {number: text for number, text, _ in outcomes if text}
    if not lacking:
        assert failed == {}
        return
    without = [number for number, _, missing in outcomes if missing]
    assert {missing for *_, missing in outcomes if missing} <= {"cvxpy", "highspy"}
    assert {number: text for number, text in failed.items() if number not in without} == {}
    verdicts = page.locator(".jc-fresh, .jc-ran").all_inner_texts()
    assert not [text for text in verdicts if "not right" in text or "No module named" in text]
    shown = page.locator(".jc-missing").all_inner_texts()
    assert any("cvxpy" in text for text in shown)
    assert len(found) - len(failed) > 10
