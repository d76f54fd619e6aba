"""The page that ranks eight things: everybody's own questions, and a class's files together."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from book.tools.course import RANK_EIGHT
from book.tools.slides import live
from tests.browser.checks import accessibility_problems, live_page, quiet_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with its scripts alone."""
    return live_page(tmp_path_factory.mktemp("eight"), "<div id='fig-live-eight'></div>")


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Any]:
    with quiet_page(browser, path) as opened:
        yield opened


def state(page: Any) -> dict[str, Any]:
    return dict(json.loads(page.locator(".live-eight").get_attribute("data-state")))


def answer(page: Any, count: int) -> list[tuple[int, int]]:
    for _ in range(count):
        page.locator(".live-card").first.click()
    return [(one["first"], one["second"]) for one in state(page)["comparisons"]]


def begin(page: Any) -> None:
    page.click("text=Use eight films")
    page.click("text=Start")


def test_everybody_has_their_own_questions_and_keeps_them(
    browser: Any, page: Any, path: Path
) -> None:
    begin(page)
    mine = answer(page, 8)
    before = state(page)
    page.reload()
    assert state(page) == before, "seed, answers and the next question are kept"
    with quiet_page(browser, path) as other:
        begin(other)
        assert answer(other, 8) != mine


def test_the_first_answer_makes_a_provisional_ranking(page: Any) -> None:
    """Until all are joined: the least-squares scores of smallest norm, by NumPy."""
    begin(page)
    for count in (1, 4):
        answer(page, count)
        shown = state(page)
        rows = np.zeros((len(shown["comparisons"]), 8))
        for row, one in zip(rows, shown["comparisons"], strict=True):
            row[one["first"]], row[one["second"]] = 1, -1
        opinions = [one["p"] - 0.5 for one in shown["comparisons"]]
        expected = np.linalg.pinv(rows) @ opinions
        assert shown["errors"] is None
        np.testing.assert_allclose(shown["scores"], expected, atol=1e-12)
        best = shown["names"][int(np.argmax(expected))]
        says = page.locator("#eight-says").inner_text()
        if count == 1:
            assert says.startswith(f"So far: {best} +0.15")
        assert f"{8 - len(opinions)} groups" in says, "each answer joins two of them"


def test_answers_can_be_copied_where_a_browser_offers_no_clipboard(page: Any) -> None:
    begin(page)
    answer(page, 2)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.click("text=Copy my answers")
    lines = page.get_by_label("My answers")
    head, first, *_ = lines.input_value().splitlines()
    assert head == "first,second,p,judge"
    assert first.rsplit(",", 2)[1] == "0.8"
    assert page.evaluate("getSelection().toString()") == lines.input_value()


def test_all_files_of_a_class_are_chosen_at_once(page: Any, tmp_path: Path) -> None:
    """One of commas, one as a spreadsheet abroad writes it, in the letters of an older Windows."""
    comma = "first,second,p,judge\nAmélie,Heat,0.8,p1\nHeat,Jaws,0.6,p1\n"
    abroad = "first;second;p;judge\r\nAmélie;Jaws;0,8;p2\r\n"
    (tmp_path / "answers.csv").write_text(comma, encoding="utf-8")
    (tmp_path / "answers (1).csv").write_bytes(abroad.encode("windows-1252"))
    page.click("text=For a class")
    for _ in range(2):  # choosing again begins anew
        page.set_input_files("#eight-files", sorted(tmp_path.iterdir()))
        page.wait_for_selector(".live-class[data-state]")
        together = json.loads(page.locator(".live-class").get_attribute("data-state"))
        assert together["names"] in (["Amélie", "Jaws", "Heat"], ["Amélie", "Heat", "Jaws"])
        assert (len(together["comparisons"]), together["people"]) == (3, 2)


def test_a_chat_full_of_codes_is_a_class(browser: Any, page: Any, path: Path) -> None:
    """Everybody's code, after their name and on telephones that write capitals."""
    said, tables = [], []
    for _ in range(5):
        with quiet_page(browser, path) as phone:
            begin(phone)
            answer(phone, 9)
            phone.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
            phone.click("text=Copy a short code")
            said.append(phone.get_by_label("My answers").input_value())
            tables += [(one["first"], one["second"]) for one in state(phone)["comparisons"]]
    assert max(map(len, said)) < 24
    begin(page)
    page.click("text=For a class")
    page.fill("#eight-class", "\n".join(f"Ada, 10:31: {code.upper()}" for code in said))
    page.click("text=Rank them together")
    together = json.loads(page.locator(".live-class").get_attribute("data-state"))
    names = state(page)["names"]
    asked = [
        tuple(names.index(together["names"][one[side]]) for side in ("first", "second"))
        for one in together["comparisons"]
    ]
    assert (asked, together["people"]) == (tables, 5)
    assert "people differ" in page.locator("#eight-class-says").inner_text()
    with page.expect_download() as started:
        page.click("text=All answers (CSV)")
    rows = Path(started.value.path()).read_text("utf-8").splitlines()
    assert len({row.rsplit(",", 1)[1] for row in rows[1:]}) == 5, "judges are kept apart"


def test_the_kits_single_file_is_the_page(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(RANK_EIGHT.format(live=live()), encoding="utf-8")
    assert accessibility_problems(browser, tmp_path / "one.html") == []
    with quiet_page(browser, tmp_path / "one.html") as page:
        begin(page)
        assert len(answer(page, 3)) == 3
