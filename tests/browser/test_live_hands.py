"""Live figures in the hand: by mouse, finger and keys, and their state in the address."""

import json
from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.browser.checks import live_page, quiet_page
from tests.browser.conftest import ROOT
from tests.browser.test_live import BUTTONS, FIGURES, FIRST, figures, state

pytestmark = pytest.mark.browser

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "reduced_motion": "reduce",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare page with every live figure."""
    return live_page(tmp_path_factory.mktemp("hands"), figures(*FIGURES))


@pytest.fixture(scope="module")
def page(browser: Any, path: Path) -> Iterator[Any]:
    with quiet_page(browser, path) as opened:
        yield opened


@pytest.fixture
def phone(browser: Any, path: Path) -> Iterator[Any]:
    context = browser.new_context(**PHONE)
    opened = context.new_page()
    opened.goto(path.as_uri())
    yield opened
    context.close()


def middle(page: Any, selector: str, k: int) -> tuple[float, float]:
    one = page.locator(selector).nth(k)
    one.scroll_into_view_if_needed()
    box = one.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def mouse_drag(page: Any, selector: str, k: int, dx: float, dy: float) -> Callable[[], None]:
    """Drag, and hold until what is returned is called."""
    x, y = middle(page, selector, k)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    return lambda: page.mouse.up()


def touch_drag(page: Any, selector: str, k: int, dx: float, dy: float) -> Callable[[], None]:
    """The same with a finger, as the browser's own protocol has it."""
    x, y = middle(page, selector, k)
    session = page.context.new_cdp_session(page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": px, "y": py} for px, py in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    send("touchStart", (x, y))
    for part in (0.25, 0.5, 0.75, 1.0):
        send("touchMove", (x + part * dx, y + part * dy))
    return lambda: send("touchEnd")


RAILS = (
    "fig-live-front",
    "fig-live-springs",
    "fig-live-springs-soft",
    "fig-live-springs-laplacian",
)


@pytest.mark.parametrize("drag", [mouse_drag, touch_drag])
@pytest.mark.parametrize("name", RAILS)
def test_a_rail_follows_the_hand_and_swings_back(
    page: Any, phone: Any, drag: Callable[..., Callable[[], None]], name: str
) -> None:
    opened = phone if drag is touch_drag else page
    rest = state(opened, name)
    let_go = drag(opened, f"#{name} .live-grip", 0, 0, -30)
    pulled = state(opened, name)
    assert pulled["held"]
    assert pulled["scores"][0] > rest["scores"][0]
    assert pulled["energy"] > rest["energy"]
    assert pulled["net"][0] < 0, "the others pull it back"
    let_go()
    after = state(opened, name)
    assert not after["held"]
    np.testing.assert_allclose(after["scores"], rest["scores"], atol=1e-9)


@pytest.mark.parametrize("name", RAILS)
def test_a_rail_is_a_slider_for_the_keys(page: Any, name: str) -> None:
    grip = page.locator(f"#{name} .live-grip").nth(3)
    before = state(page, name)["scores"][3]
    grip.press("ArrowUp")
    assert state(page, name)["scores"][3] > before
    grip.press("End")  # far enough that no expert holds still
    assert "pulled down" in grip.get_attribute("aria-valuetext")
    grip.press("Escape")
    assert state(page, name)["scores"][3] == pytest.approx(before)


def test_a_rail_can_be_hit_on_a_phone_and_no_spring_has_the_colour_of_a_text(phone: Any) -> None:
    boxes = [one.bounding_box() for one in phone.locator("#fig-live-springs .live-grip").all()]
    here = phone.locator("#fig-live-springs svg").first.bounding_box()["width"]
    wide = 316  # pixels of the picture on a page of 390
    assert min(min(box["width"], box["height"]) for box in boxes) * wide / here >= 24
    for theme in ("light", "dark"):
        phone.evaluate("(theme) => (document.documentElement.dataset.theme = theme)", theme)
        names = [*"0123", "gaussian", "laplace", "stretched", "squeezed"]
        colour = phone.evaluate(
            "(names) => names.map((name) =>"
            " getComputedStyle(document.documentElement).getPropertyValue(`--live-${name}`))",
            names,
        )
        assert all(len(one) == 7 for one in colour)
        assert not {*colour[-2:]} & {*colour[:-2]}


def test_scores_are_centred_after_one_step(page: Any) -> None:
    figure = page.locator("#fig-live-springs")
    for _ in range(3):
        figure.get_by_role("button", name="One step").click()
        assert np.mean(state(page, "fig-live-springs")["scores"]) == pytest.approx(0, abs=1e-9)
    figure.get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("tap", ["click", "tap"])
def test_readers_are_dealt_by_a_tap(page: Any, phone: Any, tap: str) -> None:
    opened = phone if tap == "tap" else page
    handles = opened.locator("#fig-live-deal .live-tap")
    for text, reader in enumerate((2, 0, 2, 0)):
        getattr(handles.nth(3 * text + reader), tap)()
    shown = state(opened, "fig-live-deal")
    assert shown["dealt"] == [2, 0, 2, 0]
    assert shown["marks"] == [4, 4, 3, 2]
    opened.locator("#fig-live-deal").get_by_role("button", name="Start again").click()


def test_shown_together_nobody_is_lucky(page: Any) -> None:
    """By hand: Ben's marks are 4, 3, 3 and Cleo's 4, 4, 3, and nine deals have each pair."""
    leads = [b - c for b, c in product((4, 3, 3), (4, 4, 3))]
    above, tied = (9 * sum(np.sign(lead) == sign for lead in leads) for sign in (1, 0))
    shown = state(page, "fig-live-deal")
    assert (shown["deals"], shown["above"], shown["tied"]) == (81, above, tied) == (81, 9, 36)
    together = page.locator("#fig-live-deal select").last
    together.select_option("together")
    shown = state(page, "fig-live-deal")
    assert (shown["deals"], shown["above"], shown["tied"]) == (27, 0, 18)
    assert shown["dealt"][1] == shown["dealt"][2]
    page.locator("#fig-live-deal").get_by_role("button", name="Start again").click()


@pytest.mark.parametrize(("model", "name"), [("", "SmolLM2"), ("qwen", "Qwen2.5-Coder")])
def test_the_model_says_what_was_measured(page: Any, model: str, name: str) -> None:
    path = ROOT / "data" / "measured" / model / "ferry.json"
    kept = json.loads(path.read_text("utf-8"))["asked"]
    logit = {(one["first"], one["second"]): one["next"][" A"] - one["next"][" B"] for one in kept}
    figure = page.locator("#fig-live-next-token")
    figure.locator("select").first.select_option(name)
    for i, j in combinations(("Ada", "Ben", "Cleo", "Dan"), 2):
        figure.locator("select").last.select_option(f"{i}-{j}")
        shown = state(page, "fig-live-next-token")
        if not shown["both"]:
            figure.get_by_role("button", name="Change places").click()
            shown = state(page, "fig-live-next-token")
        assert shown["both"]
        assert shown["model"] == name
        expected = [logit[i, j], logit[j, i]]
        np.testing.assert_allclose(shown["logits"], expected, atol=2e-4)
        assert shown["bias"] == pytest.approx(np.mean(expected), abs=2e-4)
    figure.get_by_role("button", name="Start again").click()
    assert state(page, "fig-live-next-token")["model"] == "SmolLM2"


def test_random_pairs_fall_apart_as_often_as_they_should(page: Any) -> None:
    figure = page.locator("#fig-live-connected")
    for _ in range(8):
        figure.get_by_role("button", name="Draw a hundred").click()
    shown = state(page, "fig-live-connected")
    pairs = np.array([[row["first"], row["second"]] for row in shown["pairs"]])
    assert len({frozenset(pair) for pair in pairs.tolist()}) == shown["size"] == 24
    graph = coo_array((np.ones(24), (pairs[:, 0], pairs[:, 1])), shape=(16, 16))
    _, labels = connected_components(graph, directed=False)
    assert sorted(np.bincount(labels), reverse=True) == shown["pieces"]
    share = shown["apart"] / shown["tries"]
    exact = 1 - connected(16, 24) / comb(120, 24)
    assert shown["tries"] == 801
    assert abs(share - exact) < 4 * np.sqrt(exact * (1 - exact) / 801)
    figure.get_by_role("button", name="Start again").click()


def connected(n: int, m: int) -> int:
    """Connected graphs on n labelled texts with m pairs, by what the first text is joined to."""
    table: dict[tuple[int, int], int] = {}
    for size in range(1, n + 1):
        for pairs in range(min(m, comb(size, 2)) + 1):
            others = sum(
                comb(size - 1, k - 1) * table[k, e] * comb(comb(size - k, 2), pairs - e)
                for k in range(1, size)
                for e in range(min(pairs, comb(k, 2)) + 1)
            )
            table[size, pairs] = comb(comb(size, 2), pairs) - others
    return table[n, m]


@pytest.mark.parametrize("drag", [mouse_drag, touch_drag])
def test_a_peg_is_dragged_and_the_ring_stays(
    page: Any, phone: Any, drag: Callable[..., Callable[[], None]]
) -> None:
    opened = phone if drag is touch_drag else page
    before = state(opened, "fig-live-votes")
    drag(opened, "#fig-live-votes .live-handle", 0, -60, 0)()
    after = state(opened, "fig-live-votes")
    assert after["values"][0] < before["values"][0]
    assert after["ring"] == before["ring"] == 0.15, "a median"
    opened.locator("#fig-live-votes select").select_option("springs")
    assert state(opened, "fig-live-votes")["ring"] == pytest.approx(np.mean(after["values"]))
    opened.locator("#fig-live-votes").get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("drag", [mouse_drag, touch_drag])
def test_an_arrow_is_drawn_by_a_drag(
    page: Any, phone: Any, drag: Callable[..., Callable[[], None]]
) -> None:
    opened = phone if drag is touch_drag else page
    handle = "#fig-live-arrows .live-handle"
    (x, y), (to_x, to_y) = (middle(opened, handle, k) for k in (0, 3))  # from Ada to Dan
    drag(opened, handle, 0, to_x - x, to_y - y)()
    shown = state(opened, "fig-live-arrows")
    assert shown["decisions"][5:] == [[0, 3]]
    assert shown["scores"] is not None
    opened.locator("#fig-live-arrows").get_by_role("button", name="Start again").click()
    assert len(state(opened, "fig-live-arrows")["decisions"]) == 5


@pytest.mark.parametrize("tap", ["click", "tap"])
def test_the_ampere_enters_where_one_taps(page: Any, phone: Any, tap: str) -> None:
    opened = phone if tap == "tap" else page
    handles = opened.locator("#fig-live-recipe .live-tap")
    getattr(handles.nth(1), tap)()  # in at Ben, out at Dan
    getattr(opened.locator("#fig-live-recipe .live-tap").nth(3), tap)()
    shown = state(opened, "fig-live-recipe")
    assert (shown["first"], shown["second"]) == (1, 3)
    np.testing.assert_allclose(shown["shares"], [-0.5, 0.5, 0.5, -0.5, 0], atol=1e-9)
    opened.locator("#fig-live-recipe").get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("name", FIGURES)
def test_the_state_of_a_figure_is_in_the_address(browser: Any, tmp_path: Path, name: str) -> None:
    path = live_page(tmp_path, figures(name))
    with quiet_page(browser, path) as page:
        figure = page.locator(f"#{name}")
        start = state(page, name)
        assert "#" not in page.url, "nothing is written before somebody touches a figure"
        if name in BUTTONS:
            figure.get_by_role("button", name=BUTTONS[name]).press("Enter")
        elif name in FIRST:
            figure.locator(FIRST[name]).first.press("ArrowDown")
        else:
            figure.locator("input[type=range]").first.press("PageUp")
        moved = state(page, name)
        assert moved != start
        page.wait_for_url(f"**#{name}--*")
        address = page.url
        figure.get_by_role("button", name="Start again").press("Enter")
        assert state(page, name) == start
        assert "--" not in page.url.split("#")[-1].removeprefix(name)
        for hash, shown in ((address, moved), (address.split("--")[0] + "--nonsense", start)):
            page.goto(hash)
            page.reload()
            assert state(page, name) == shown
