"""The colours game of chapter 1: played by mouse, finger and keys, and scored as poe scores it."""

import colorsys
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poe
from tests.browser.checks import live_page, quiet_page
from tests.browser.conftest import ROOT
from tests.browser.test_live import STILL

pytestmark = pytest.mark.browser

NAME = "fig-live-colours"
FORECASTS = {"my comparisons": "c", "my grades": "g", "about the same": "e"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare page with the game alone."""
    figure = f"<figure id='{NAME}'>{STILL}</figure>"
    return live_page(tmp_path_factory.mktemp("colours"), figure)


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Any]:
    with quiet_page(browser, path) as opened:
        opened.clock.install(time=0)
        opened.reload()
        opened.clock.pause_at(60_000)  # else a slow machine's own seconds count too
        yield opened


def state(page: Any) -> dict[str, Any]:
    page.clock.run_for(600)  # the bare ground between two shades, and the next frame
    return dict(json.loads(page.locator(f"#{NAME} .live").get_attribute("data-state")))


def play(page: Any, press: str, *, forecast: str, seed: int) -> dict[str, Any]:
    """A whole game of a reader with errors, by one way of pressing a button."""
    rng = np.random.default_rng(seed)

    def button(text: str) -> None:
        one = page.locator(".live-choices").get_by_role("button", name=text, exact=True)
        if press == "Enter":
            one.press("Enter")
        else:
            getattr(one, press)()

    button(forecast)
    while (shown := state(page))["phase"] == "grade":
        depth = shown["order"][sum(mark is not None for mark in shown["marks"])]
        button(str(int(np.clip(round(4 + 0.5 * depth + 1.2 * rng.standard_normal()), 1, 10))))
    while (shown := state(page))["phase"] == "compare":
        gap = shown["next"]["first"] - shown["next"]["second"] + rng.standard_normal()
        button(f"{'left' if gap > 0 else 'right'}, {'much' if abs(gap) > 2.5 else 'a little'}")
    return shown


def agreement(values: list[float]) -> dict[str, float]:
    """All pairs of shades, of which the first is the lighter one."""
    leads = np.array([values[j] - values[i] for i, j in combinations(range(8), 2)])
    wrong, tied = int((leads < -1e-9).sum()), int((abs(leads) <= 1e-9).sum())
    return {"wrong": wrong, "tied": tied, "right": 28 - wrong - tied / 2}


def fitted(comparisons: list[dict[str, float]]) -> np.ndarray:
    pairs = [(int(row["first"]), int(row["second"])) for row in comparisons]
    c = poe.Comparisons.from_pairs(pairs, [row["p"] for row in comparisons], items=range(8))
    return np.asarray(poe.fit(c, "gaussian").scores)


def check(shown: dict[str, Any]) -> None:
    """Scores by the package; agreement, and who was closer, counted again."""
    rows = shown["comparisons"]
    assert len({frozenset((row["first"], row["second"])) for row in rows}) == len(rows) == 12
    np.testing.assert_allclose(shown["scores"], fitted(rows), atol=1e-12)
    assert shown["grades"] == agreement(shown["marks"])
    assert shown["compared"] == agreement(shown["scores"])
    assert shown["equal"] == agreement(list(fitted(rows[:8])))["right"]
    lead = shown["compared"]["right"] - shown["grades"]["right"]
    assert shown["came"] == ("e" if abs(lead) <= 1 else "c" if lead > 0 else "g")


@pytest.mark.parametrize("press", ["click", "Enter"])
def test_a_game_is_scored_as_the_package_does(page: Any, press: str) -> None:
    shown = play(page, press, forecast="my grades", seed=1)
    check(shown)
    says = page.locator(".live-says").inner_text()
    assert shown["came"] == "g" or "You said “my grades”; it is" in says
    assert f"grading left {shown['grades']['wrong']} the wrong way round" in says


def test_a_game_is_played_with_a_finger(browser: Any, path: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.clock.install()
    page.goto(path.as_uri())
    assert page.locator(f"#{NAME} .live").evaluate("(one) => one.scrollWidth <= 390")
    shown = play(page, "tap", forecast="about the same", seed=2)
    check(shown)
    context.close()


def test_a_digit_presses_its_button_and_every_button_can_be_hit(page: Any) -> None:
    choices = page.locator(".live-choices")
    choices.get_by_role("button").first.press("2")
    assert state(page)["forecast"] == FORECASTS["my grades"]
    assert page.evaluate("document.activeElement.textContent") == "1", "the focus is not lost"
    for key in "0123456789"[:8]:
        assert choices.get_attribute("aria-label").startswith("Shade")
        boxes = [one.bounding_box() for one in choices.get_by_role("button").all()]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 24
        page.keyboard.press(key)
        state(page)
    shown = state(page)
    assert [shown["marks"][k] for k in shown["order"]] == [10, 1, 2, 3, 4, 5, 6, 7]
    assert choices.get_attribute("aria-label").startswith("Pair 1 of 12")
    page.keyboard.press("1")
    assert state(page)["comparisons"][0]["p"] == 0.8


def test_bare_ground_stands_between_two_shades(page: Any) -> None:
    page.get_by_role("button", name="my grades").click()
    page.clock.run_for(100)
    assert page.locator(f"#{NAME} svg rect").count() == 1
    page.get_by_role("button", name="3", exact=True).click()
    assert state(page)["marks"].count(None) == 8, "a mark for nothing is none"
    assert page.locator(f"#{NAME} svg rect").count() == 2


def test_a_game_is_in_its_link_and_a_class_is_in_its_codes(
    browser: Any, page: Any, path: Path
) -> None:
    games, codes = [], []
    for seed, forecast in enumerate(FORECASTS):
        games.append(play(page, "click", forecast=forecast, seed=seed))
        codes.append(page.get_by_label("Your code").input_value())
        page.get_by_role("button", name="Start again").click()
    with quiet_page(browser, path) as other:
        other.clock.install()
        other.goto(f"{path.as_uri()}#{NAME}--{codes[1]}")
        other.reload()
        assert state(other) == games[1]
    page.get_by_text("For a class").click()
    pasted = f"Mine: {codes[0]}\n\nhttp://x/y.html#{NAME}--{codes[1]} {codes[2]}, {codes[2]}"
    page.get_by_label("Codes or links").fill(f"{pasted} abcd_c_1234567a_zzzzz nothing")
    together = json.loads(page.locator(".live-class").get_attribute("data-state"))
    right = np.array([[one["grades"]["right"], one["compared"]["right"]] for one in games])
    lead = right[:, 1] - right[:, 0]
    assert together == {
        "games": 3,
        "grades": pytest.approx(right[:, 0].mean()),
        "compared": pytest.approx(right[:, 1].mean()),
        "better": int((lead > 0).sum()),
        "worse": int((lead < 0).sum()),
        "foresaw": sum(one["forecast"] == one["came"] for one in games),
    }


def test_shades_differ_in_lightness_alone_and_are_those_of_the_still_picture(page: Any) -> None:
    """Of one hue, and each step as large as the others to a colour-blind eye (CIE L*)."""
    play(page, "click", forecast="my grades", seed=0)
    fills = page.locator(f"#{NAME} svg > rect").evaluate_all(
        "(all) => all.slice(-8).map((one) => getComputedStyle(one).fill)"
    )
    colours = np.array([[int(v) for v in re.findall(r"\d+", fill)] for fill in fills]) / 255
    hues = [colorsys.rgb_to_hls(*colour)[0] for colour in colours]
    np.testing.assert_allclose(hues, 210 / 360, atol=0.01)
    linear = np.where(colours > 0.04045, ((colours + 0.055) / 1.055) ** 2.4, colours / 12.92)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16
    steps = -np.diff(lightness)
    assert steps.min() > 0.8 * steps.max() > 1.5
    text = (ROOT / "notebooks" / "01-absolute-or-comparative.md").read_text("utf-8")
    (formula,) = re.findall(r"colorsys\.hls_to_rgb\(.*?\) for", text)
    still = [eval(formula.removesuffix(" for"), {"colorsys": colorsys, "k": k}) for k in range(8)]
    np.testing.assert_allclose(colours, still, atol=0.5 / 255)
