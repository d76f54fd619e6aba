"""The report of `judging rank` in a browser: phone, dark, axe-core, and hostile texts."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judging.practice.cli import main
from tests.browser.checks import browser_problems, offline_page, static_problems

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"


def write(path: Path, rows: list[tuple[str, ...]], columns: tuple[str, ...]) -> Path:
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def texts(kind: str, folder: Path) -> Path:
    """A file of texts: many, in contexts, or hostile."""
    count = 80 if kind == "long" else 50
    many = [(f"t{k}", f"Number {k}: the " + "very " * (k % 9) + "usual end.") for k in range(count)]
    if kind == "long":
        many[7] = (HOSTILE, f"{HOSTILE} needle")
    if kind == "contexts":
        rows = [(*row, f"Task {k % 3}", str(k % 5)) for k, row in enumerate(many[:15])]
        return write(folder / "t.csv", rows, ("id", "text", "context", "score"))
    if kind == "hostile":
        long = "a-name-" * 30
        rows = [(HOSTILE, HOSTILE), (long, "Short. " + "long" * 200), ("\u202eabc", "Plain text.")]
        return write(folder / "t.csv", rows, ("id", "text"))
    return write(folder / "t.csv", many, ("id", "text"))


@pytest.fixture(scope="module", params=["many", "contexts", "hostile", "long"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report as the command writes it, in a folder of its own."""
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "html" / "report.html"
    path.parent.mkdir()
    arguments = ["rank", str(texts(request.param, folder)), "--attribute", "easier to read"]
    arguments += ["--judge", "demo", "--report", str(path), "--store", str(folder / "s.sqlite")]
    assert main([*arguments, "--quiet"]) == 0
    return path


def test_it_is_sound_and_accessible_on_every_screen_and_loads_nothing(
    report: Path, browser: Any
) -> None:
    assert browser_problems(browser, report, html=report.parent, axe=True) == []
    assert static_problems(report, html=report.parent) == []


def test_on_a_phone_and_in_print_no_table_hides_anything(report: Path, browser: Any) -> None:
    """Tables of many columns become lists there; without that they would hide some."""
    hidden = (
        "[...document.querySelectorAll('.scroll')].filter(box => box.checkVisibility()"
        " && box.{0} > box.{1} + 1).length"
    )
    wide, high = hidden.format("scrollWidth", "clientWidth"), ("scrollHeight", "clientHeight")
    with offline_page(browser, viewport={"width": 390, "height": 800}) as page:
        page.goto(report.as_uri())
        page.emulate_media(media="print")
        assert page.evaluate(hidden.format(*high)) == 0, "a row"
        page.emulate_media(media="screen")
        assert page.evaluate(wide) == 0, "a column"
        page.evaluate("document.querySelectorAll('.stacks').forEach(one => one.className = '')")
        assert page.evaluate(wide) > 0


def test_texts_stay_texts(report: Path, browser: Any) -> None:
    with offline_page(browser) as page:
        page.goto(report.as_uri())
        page.wait_for_timeout(50)
        assert page.title().endswith("ranked: easier to read")
        assert page.locator("img, iframe, link").count() == 0
        assert page.locator("script").count() == 0


def test_the_ranking_can_be_saved(report: Path, browser: Any) -> None:
    with offline_page(browser, accept_downloads=True) as page:
        page.goto(report.as_uri())
        with page.expect_download() as download:
            page.locator("a[download]").first.click()
        saved = pd.read_csv(download.value.path())
    assert saved["rank"].is_monotonic_increasing
    assert {"name", "score", "error"} <= set(saved)
