"""The live crossing of *Two real judges*: it shows stored numbers, and any hand moves it."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.telling import live_crossing, pictures
from reproduction.answers import QWEN, SMOLLM2
from reproduction.results import stored
from tests.browser.checks import accessibility_problems, live_page, quiet_page
from tests.browser.test_live import figures
from tests.browser.test_live_hands import PHONE, mouse_drag, touch_drag

pytestmark = pytest.mark.browser

NAME = "fig-live-crossing"
CELLS = ((QWEN.name, "topicalchat"), (QWEN.name, "summeval"), (SMOLLM2.name, "topicalchat"))
SHARES = (15, 40, 50, 63, 88, 100)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare page with the crossing alone, and the numbers it draws."""
    body = f"<main><h1>x</h1>{figures(NAME)}</main>"
    return live_page(tmp_path_factory.mktemp("crossing"), body)


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Any]:
    with quiet_page(browser, path) as opened:
        yield opened


def state(page: Any) -> dict[str, Any]:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return dict(json.loads(page.locator(f"#{NAME} .live").get_attribute("data-state")))


def choose(page: Any, judge: tuple[str, str], over: str, prompt: str = "poe") -> None:
    selects = page.locator(f"#{NAME} select")
    selects.nth(0).select_option("-".join(judge))
    selects.nth(1).select_option(over)
    state(page)  # over counting wins no prompt can be chosen
    if over != "wins":
        selects.nth(2).select_option(prompt)


def parts_of(judge: tuple[str, str], prompt: str) -> pd.DataFrame:
    """The stored lines of one judge, data set and prompt, a column a quantity."""
    rows = stored("margin", system=judge[0], dataset=judge[1], template=prompt)
    rows = rows[rows["method"] == "Bradley-Terry"]
    return rows.pivot(index="share", columns="quantity", values="value").sort_index()


@pytest.mark.parametrize("judge", CELLS)
def test_the_lead_is_the_stored_one_and_between_budgets_on_a_line(page: Any, judge: Any) -> None:
    for prompt, over in product(live_crossing.PROMPTS, ("margin", "gain")):
        choose(page, judge, over, prompt)
        lines = parts_of(judge, prompt)
        assert len(lines) >= 3
        for share in SHARES[:: 1 if prompt == "poe" else 3]:
            page.locator(f"#{NAME} input").fill(str(share))
            shown = state(page)
            assert (shown["prompt"], shown["over"], shown["asked"]) == (prompt, over, share)
            at = max(share, lines.index[0])
            expected = {name: np.interp(at, lines.index, lines[name]) for name in lines}
            # Shares are written with two digits after the point.
            assert shown["lead"] == pytest.approx(expected[over], abs=2e-3)
            if over == "gain":
                assert sum(shown["parts"]) == pytest.approx(shown["lead"], abs=1e-3)
                assert shown["parts"][0] == pytest.approx(expected["margin"], abs=2e-3)
            else:
                assert shown["parts"] == [None, None]


def test_it_crosses_zero_where_the_still_picture_does(page: Any) -> None:
    lead = pictures.leads()
    crossed = pictures.zero_crossings(lead)
    assert set(crossed) == {CELLS[0], CELLS[2]}
    for judge in CELLS:
        choose(page, judge, "wins")
        line = lead[(lead["system"] == judge[0]) & (lead["dataset"] == judge[1])]
        for share in SHARES:
            page.locator(f"#{NAME} input").fill(str(share))
            shown = state(page)
            at = max(share, line["share"].iloc[0])
            found = np.interp(at, line["share"], line["lead"])
            assert shown["lead"] == pytest.approx(found, abs=2e-3)
        said = page.locator(f"#{NAME} .live-says").text_content()
        if judge in crossed:
            assert shown["zero"] == pytest.approx(crossed[judge], abs=0.02)
            assert f"gone at {crossed[judge]:.0f}%" in said
        else:
            assert shown["zero"] is None
            assert "does not fall to zero" in said


def test_over_counting_wins_only_the_papers_prompt_is_stored(page: Any) -> None:
    prompt = page.locator(f"#{NAME} select").nth(2)
    assert prompt.is_disabled()
    choose(page, CELLS[0], "margin", "words")
    assert state(page)["prompt"] == "words"
    choose(page, CELLS[0], "wins")
    assert state(page)["prompt"] == "poe"
    assert prompt.is_disabled()


@pytest.mark.parametrize("drag", [mouse_drag, touch_drag])
def test_a_drag_moves_the_share_and_the_lead(
    browser: Any, path: Path, drag: Callable[..., Callable[[], None]]
) -> None:
    context = browser.new_context(**(PHONE if drag is touch_drag else {}))
    opened = context.new_page()
    opened.goto(path.as_uri())
    before = state(opened)
    let_go = drag(opened, f"#{NAME} .live-handle", 0, 100, 0)
    let_go()
    after = state(opened)
    assert after["asked"] > before["asked"] + 5
    assert after["lead"] < before["lead"]
    context.close()


def test_on_a_phone_the_controls_wait_in_a_fold(browser: Any, path: Path) -> None:
    context = browser.new_context(**PHONE)
    opened = context.new_page()
    opened.goto(path.as_uri())
    select = opened.locator(f"#{NAME} select").nth(1)
    assert not select.is_visible()
    opened.get_by_text("Choose judge, rival and prompt").tap()
    select.select_option("gain")
    assert state(opened)["over"] == "gain"
    context.close()


def test_the_keys_move_it_and_the_address_keeps_it(page: Any, browser: Any, path: Path) -> None:
    choose(page, CELLS[2], "gain", "comparative-2")
    page.locator(f"#{NAME} input").press("ArrowRight")
    shown = state(page)
    assert shown["asked"] == 51
    page.get_by_role("button", name="Copy link").click()
    with quiet_page(browser, path) as other:
        other.goto(page.url)
        assert state(other) == shown


def test_it_can_be_read_in_both_schemes(browser: Any, path: Path) -> None:
    assert accessibility_problems(browser, path, "light", "dark") == []
