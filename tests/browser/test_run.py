"""The button that runs a page in the browser: editing, running, errors, exercises, refusals.

The Python is a stand-in (stand_in.py), so that these run anywhere; test_pyodide.py presses the
button of whole pages with Pyodide itself.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from book.tools.pages import BuildError, find_pages
from book.tools.run_button import ASSETS, cells, has_code, offer_runs, vendored
from tests.browser.conftest import ROOT
from tests.browser.stand_in import PYODIDE, served

pytestmark = pytest.mark.browser

CHAPTER = "04-bradley-terry-and-zermelo"
# Of its cells: a table, the checks and an exercise; and a picture of ours.
TABLE = "V[pairs[:, 0]"
KEPT = (TABLE, "def has_finite_answer", "poe_exercises", "one_more = ...")
PICTURE = """losers, winners = [1, 2, 3, 2, 3], [0, 0, 0, 1, 2]
import matplotlib.pyplot as plt
plt.plot(won);"""
SKELETON = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>x</title></head>
<body><article><h1>Title</h1>{}</article></body></html>"""


def kept_cells() -> list[dict[str, Any]]:
    """A few cells of the chapter, the first that holds each of some words."""
    (page,) = [page for page in find_pages(ROOT) if page.name == CHAPTER]
    found = cells(page)
    places = {next(k for k, one in enumerate(found) if words in one["source"]) for words in KEPT}
    table, *others = [found[k] for k in sorted(places)]
    return [table, {**table, "source": PICTURE}, *others]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chapter's cells in the classes that the rendered page has, and what the button loads."""
    folder = tmp_path_factory.mktemp("site")
    (page,) = [page for page in find_pages(ROOT) if page.name == CHAPTER]
    code = "<div class='cell_input'><div><pre>{}</pre></div></div>"
    shown = [code.format(k) for k, cell in enumerate(kept_cells()) if cell["shown"]]
    body = "".join(f"<div class='cell'>{one}</div>" for one in shown)
    (folder / f"{CHAPTER}.html").write_text(SKELETON.format(body), encoding="utf-8")
    offer_runs(folder, pages=[page])
    run = folder / "_static/run"
    few = {"cells": kept_cells(), "packages": ["numpy"], "welcome": []}
    (run / f"{CHAPTER}.json").write_text(json.dumps(few), encoding="utf-8")
    with zipfile.ZipFile(run / "bundle.zip") as archive:
        archive.extractall(folder / "archive")
    shutil.copy(ASSETS / "page_kernel.py", folder / "archive")
    (folder / "_static/python").mkdir()
    (folder / "_static/python/pyodide.mjs").write_text(PYODIDE)
    settings = json.loads((run / "settings.json").read_text())
    (run / "settings.json").write_text(json.dumps({**settings, "index": "../python/"}))
    return folder


@pytest.fixture(scope="module")
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The chapter, after a press on the button."""
    with served(site, archive=site / "archive") as address:
        opened = browser.new_page()
        opened.set_default_timeout(60_000)
        opened.goto(f"{address}/{CHAPTER}.html")
        assert opened.locator("textarea").count() == 0
        opened.keyboard.press("Tab")
        opened.keyboard.press("Enter")
        wait(opened, "Ready")
        yield opened
        opened.close()


def wait(page: Any, *words: str) -> str:
    """Wait until the status says one of these; return what it says."""
    page.wait_for_function(
        "words => words.some((w) => document.querySelector('.jc-run [role=status]')"
        ".textContent.includes(w))",
        arg=list(words),
    )
    return str(page.locator(".jc-run [role=status]").text_content())


def output(page: Any, label: str) -> Any:
    """The output of the cell whose code has a text."""
    return page.locator(".cell", has=page.get_by_label(label, exact=True)).locator(".cell_output")


def label_of(words: str) -> tuple[str, str]:
    """Names of the editor and of the button of the first cell that holds some words."""
    found = [k for k, cell in enumerate(kept_cells(), 1) if words in cell["source"]]
    return f"Code of cell {found[0]}; Shift and Enter run it", f"Run cell {found[0]}"


def run(page: Any, words: str, code: str | None = None) -> str:
    """Press the button of the first cell that holds some words, with other code in it.

    Returns the name of its editor.
    """
    area, button = label_of(words)
    if code is not None:
        page.get_by_label(area, exact=True).fill(code)
    page.get_by_role("button", name=button, exact=True).click()
    return area


def test_a_cell_is_edited_and_run_with_the_keyboard(page: Any) -> None:
    area, _ = label_of(TABLE)
    page.get_by_label(area, exact=True).fill("x = 6\nprint('said')\nx * 7")
    page.get_by_label(area, exact=True).press("Shift+Enter")
    wait(page, "is done")
    assert output(page, area).text_content() == "said\n42"
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"  # the next one


def test_an_error_is_shown_under_its_cell_without_frames_of_ours(page: Any) -> None:
    area = run(page, TABLE, "def f():\n    return 1 / 0\nf()")
    assert "ZeroDivisionError" in wait(page, "ZeroDivisionError")
    said = output(page, area).text_content()
    assert "return 1 / 0" in said
    assert "page_kernel" not in said


def test_output_appears_while_a_cell_runs_and_stays_when_it_is_stopped(page: Any) -> None:
    area = run(page, TABLE, "made = 1\nprint('first')\nprint('second')\nwhile True: pass")
    shown = page.locator(".cell", has=page.get_by_label(area, exact=True)).locator("pre:visible")
    page.wait_for_function("document.body.innerText.includes('second')")
    assert "Running cell 1" in str(page.locator(".jc-run [role=status]").text_content())
    assert [one.strip() for one in shown.all_inner_texts()] == ["first\nsecond"]
    page.get_by_role("button", name="Stop").click()
    wait(page, "Stopped")
    assert page.get_by_role("button", name="Stop").is_disabled()
    assert [one.strip() for one in shown.all_inner_texts()] == ["first\nsecond"]
    run(page, TABLE, "'made' in globals()")
    wait(page, "is done")
    assert output(page, area).text_content() == "False"  # as the message says: afresh


def test_an_endless_print_neither_fills_the_page_nor_keeps_it_from_stopping(page: Any) -> None:
    area = run(page, TABLE, "while True: print('again')")
    page.wait_for_function("document.body.innerText.includes('The rest is not shown')")
    page.get_by_role("button", name="Stop").click()
    wait(page, "Stopped")
    assert 100_000 < len(str(output(page, area).text_content())) < 100_200


def test_a_module_that_no_browser_has_leaves_the_stored_result(page: Any) -> None:
    area = run(page, TABLE, "41 + 1")
    wait(page, "is done")
    run(page, TABLE, "import no_such_module")
    wait(page, "no_such_module")
    assert output(page, area).text_content() == "42"
    assert "a browser does not have" in page.locator(".jc-missing").text_content()


def test_a_check_that_makes_a_sentence_of_what_is_missing_is_no_verdict() -> None:
    """A Python that lacks a package: who asks for it in vain, even to catch the error, lacks it."""
    cells = [
        "def check(f):\n    try:\n        return f()\n    except Exception as error:\n"
        "        return f'not right: {error}'",
        "def f():\n    from no_such_solver.part import solve\ncheck(f)",
        "assert check(f) == 'right'",
        "from no_such_solver import solve\nbest = solve(1)",
        "import functools\ndef asks(f):\n    return functools.wraps(f)(lambda: f())\n"
        "@asks\ndef g():\n    return best + 1",
        "assert check(g) == 'right'",
        "fit = 1\nassert fit == 2",
        "unknown + 1",
    ]
    code = (
        "import json, sys\nimport page_kernel as kernel\nkernel.LACKING += ['no_such_solver']\n"
        "for cell in json.loads(sys.argv[1]):\n"
        "    print(kernel.run(cell, 'a cell', lambda output: None))"
    )
    command = [sys.executable, "-c", code, json.dumps(cells)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ASSETS)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    lacks = [bool(one["missing"]) for one in said]
    assert lacks == [False, True, True, True, False, True, False, False]
    assert [bool(one["failed"]) for one in said] == [k in (2, 3, 5, 6, 7) for k in range(8)]


def test_an_exercise_brings_what_it_needs_and_is_checked(page: Any) -> None:
    page.reload()  # the code as it was
    page.get_by_role("button", name="Run this page here").click()
    wait(page, "Ready")
    area = run(page, "one_more = ...")
    number = label_of("one_more = ...")[1].rpartition(" ")[2]
    assert "done" in wait(page, f"Cell {number} ", "Error")
    assert output(page, area).text_content() == "'not yet'"
    assert output(page, area).get_attribute("data-verdict") == "not yet"
    figures = page.locator("img.jc-drawn")
    assert figures.count() > 0
    assert figures.first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert page.locator(".cell_output table").count() > 0
    for answer, verdict in (
        ("[('Ada', 'Ben')]", "not right"),
        ("[('Dan', 'Ada'), ('Dan', 'Ben'), ('Dan', 'Cleo')]", "right"),
        ("3", "not right"),
    ):
        run(page, "one_more = ...", f"one_more = {answer}\ncheck_one_more(one_more)")
        wait(page, f"Cell {number} ")
        assert output(page, area).text_content().strip("'\"").startswith(verdict)
        mark = "element => getComputedStyle(element.querySelector('pre'), '::before').content"
        assert output(page, area).evaluate(mark)[1] == ("✓" if verdict == "right" else "✗")


def test_refusals(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / f"{CHAPTER}.html").as_uri())
    page.get_by_role("button", name="Run this page here").click()
    assert "http.server" in wait(page, "Opened as a file")
    with served(site, archive=site / "archive") as address:
        page.add_init_script("Object.defineProperty(navigator, 'deviceMemory', { value: 1 })")
        page.goto(f"{address}/{CHAPTER}.html")
        page.get_by_role("button", name="Run this page here").click()
        assert "this device has 1" in wait(page, "memory")
        assert page.locator("textarea").count() == 0
        page.close()
        page = browser.new_page()
        nowhere = {"index": "../nowhere/", "bundle": "bundle.zip"}
        page.route("**/settings.json", lambda route: route.fulfill(json=nowhere))
        page.goto(f"{address}/{CHAPTER}.html")
        page.get_by_role("button", name="Run this page here").click()
        assert "Run all tries again" in wait(page, "could not be loaded from 127.0.0.1")
        assert page.get_by_role("button", name="Run all").is_enabled()
    page.close()


def test_the_cells_of_a_page_stand_where_the_button_looks_for_them(html: Path) -> None:
    for page in (page for page in find_pages(ROOT) if has_code(page)):
        article = BeautifulSoup((html / f"{page.name}.html").read_text("utf-8"), "html.parser")
        asked = [cell for cell in cells(page) if cell["shown"]]
        places = article.select("article div.cell")
        assert len(asked) == len(places), page.name
        assert len(article.select("div.jc-run[data-page]")) == 1
        for cell, place in zip(asked, places, strict=True):
            code = place.select_one(".cell_input pre")
            if code is not None and "poe_exercises" not in cell["source"]:
                assert code.get_text().strip() == cell["source"].strip()


def test_vendored_files_are_those_of_the_lock(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"no pyodide-lock\.json"):
        vendored(tmp_path)
    (tmp_path / "pyodide-lock.json").write_text("{}")
    with pytest.raises(BuildError, match="not that of Pyodide"):
        vendored(tmp_path)
