"""The live figures: their mathematics is the package's, and their controls do what they say."""

import json
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from scipy.stats import norm

import poe
from book.telling import live_crossing, pictures
from judging import metrics
from judging.judges import Answer
from poe.graph import strong_components
from reproduction.results import stored
from tests.browser.checks import live_page, offline_page, quiet_page

pytestmark = pytest.mark.browser

CHAPTERS = {
    "fig-live-colours": "01",
    "fig-live-deal": "01",
    "fig-live-break-even": "01",
    "fig-live-next-token": "02-prompt",  # the first of two pages
    "fig-live-mass": "02-prompt",
    "fig-live-ranks": "03-from",  # the first of two pages
    "fig-live-connected": "03-from",
    "fig-live-levels": "03-is",
    "fig-live-zermelo": "04-bradley",  # the first of two pages
    "fig-live-arrows": "04-bradley",
    "fig-live-front": "index",
    "fig-live-springs": "05",
    "fig-live-pool": "05",
    "fig-live-gaussian": "06",
    "fig-live-recipe": "06",
    "fig-live-honest": "07",
    "fig-live-soft": "07",
    "fig-live-springs-soft": "07",
    "fig-live-outlier": "08",
    "fig-live-votes": "08",
    "fig-live-springs-laplacian": "08",
    "fig-live-bias": "09",
    "fig-live-next": "10",
    "fig-live-call": "11",
    "fig-live-guess": "12",
    "fig-live-budget": "14-how",  # the first of two pages
    "fig-live-slope": "15-when",
    "fig-live-crossing": "measured-judge",
}
FIGURES = list(CHAPTERS)
# Its still picture shows what the live one cannot: it stays.
KEEPS_STILL = {"fig-live-springs-laplacian", "fig-live-connected"}
# Figures that begin with a button, and others without a slider: what changes what is shown first.
BUTTONS = {"fig-live-next": "Ask a random pair", "fig-live-colours": "my grades"}
FIRST = dict.fromkeys(
    (f"fig-live-{name}" for name in ("arrows", "deal", "next-token", "recipe")), "select"
)
# The page stops on the way to the optimum a little earlier than the package does.
LAPLACIAN_TOLERANCE = 1e-5
STILL = "<img alt='the still picture' src='data:image/svg+xml,%3Csvg/%3E'>"


def figures(*names: str) -> str:
    """The body of a page with live figures, and the stored numbers that one of them draws."""
    drawn = "fig-live-crossing" in names
    numbers = live_crossing.embedded(pictures.leads(), stored("margin")) if drawn else ""
    return str(numbers) + "".join(f"<figure id='{name}'>{STILL}</figure>" for name in names)


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A bare page with all live figures on it, and what it complains about."""
    path = live_page(tmp_path_factory.mktemp("live"), figures(*FIGURES), style=False)
    with quiet_page(browser, path) as opened:
        yield opened


def from_rows(rows: list[dict[str, float]], n: int) -> poe.Comparisons:
    pairs = np.array([[row["first"], row["second"]] for row in rows])
    return poe.Comparisons.from_pairs(pairs, [row["p"] for row in rows], items=range(n))


def state(page: Any, name: str) -> dict[str, Any]:
    # A change is drawn with the next frame.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return json.loads(page.locator(f"#{name} .live").get_attribute("data-state"))


def move(page: Any, name: str, seed: int) -> None:
    """Put every slider of a figure somewhere else."""
    rng = np.random.default_rng(seed)
    sliders = page.locator(f"#{name} input[type=range]")
    for k in range(sliders.count()):
        sliders.nth(k).evaluate(
            "(input, share) => { const [a, b] = [Number(input.min), Number(input.max)];"
            "input.value = a + share * (b - a); input.dispatchEvent(new Event('input')); }",
            float(rng.uniform()),
        )


@pytest.mark.parametrize("seed", range(2))
def test_numbers_shown_are_the_packages(page: Any, seed: int) -> None:
    for name in FIGURES:
        move(page, name, seed)
    shown = state(page, "fig-live-ranks")
    c = from_rows(shown["comparisons"], 4)
    np.testing.assert_allclose(shown["winRatio"], poe.win_ratio(c), atol=1e-12)
    np.testing.assert_allclose(shown["averageProbability"], poe.average_probability(c), atol=1e-12)

    for name in ("fig-live-springs", "fig-live-springs-soft", "fig-live-springs-laplacian"):
        for expert, tolerance in (
            ("gaussian", 1e-9),
            ("bradley-terry", 1e-8),
            ("laplacian", LAPLACIAN_TOLERANCE),
        ):
            page.locator(f"#{name} select").select_option(expert)
            shown = state(page, name)
            fit = poe.fit(from_rows(shown["comparisons"], 4), expert)
            np.testing.assert_allclose(shown["scores"], fit.scores, atol=tolerance)

    shown = state(page, "fig-live-gaussian")
    c = from_rows(shown["comparisons"], 4)
    fit = poe.fit(c, poe.Gaussian(sigma=1.0), bias=0.5 - shown["beta"])
    np.testing.assert_allclose(shown["scores"], fit.scores, atol=1e-9)
    pairs = [(i, j) for i in range(4) for j in range(4)]
    expected = np.reshape([fit.difference_se(i, j) ** 2 for i, j in pairs], (4, 4))
    np.testing.assert_allclose(shown["resistance"], expected, atol=1e-9)

    shown = state(page, "fig-live-soft")
    fit = poe.fit(from_rows(shown["comparisons"], 4), covariance="curvature")
    np.testing.assert_allclose(shown["scores"], fit.scores, atol=1e-8)
    assert shown["sd"] == pytest.approx(fit.difference_se(0, 1), abs=1e-8)
    gap = fit.scores[0] - fit.scores[1]
    assert shown["area"] == pytest.approx(norm.cdf(gap / fit.difference_se(0, 1)), abs=1e-8)

    shown = state(page, "fig-live-outlier")
    c = from_rows(shown["comparisons"], 4)
    np.testing.assert_allclose(shown["gaussian"], poe.fit(c, "gaussian").scores, atol=1e-9)
    robust = poe.fit(c, "laplacian").scores
    np.testing.assert_allclose(shown["laplacian"], robust, atol=LAPLACIAN_TOLERANCE)

    shown = state(page, "fig-live-budget")
    fit = poe.fit(from_rows(shown["comparisons"], 6), covariance="curvature")
    np.testing.assert_allclose(shown["scores"], fit.scores, atol=1e-8)
    np.testing.assert_allclose(shown["half"], 1.96 * fit.standard_errors(), atol=1e-7)
    order = shown["order"]
    expected = [fit.prob_better(i, j) for i, j in pairwise(order)]
    np.testing.assert_allclose(shown["sure"], expected, atol=1e-8)

    shown = state(page, "fig-live-slope")

    def objective(m: float, spread: float = 0.4) -> float:
        said, predicted = 0.5 + shown["plain"] * spread, 0.5 + m * spread
        entropy = said * np.log(predicted) + (1 - said) * np.log(1 - predicted)
        return -entropy + shown["lambda"] * m**2

    best = minimize_scalar(objective, bounds=(0, 1), options={"xatol": 1e-9})
    assert shown["slope"] == pytest.approx(best.x, abs=1e-5)
    assert shown["weight"] == pytest.approx(2 * np.arctanh(shown["slope"]), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "expert"),
    [("gaussian", poe.Gaussian(sigma=0.2)), ("bradley-terry", poe.BradleyTerry())],
)
@pytest.mark.parametrize("seed", range(2))
def test_moments_of_a_product_and_a_mixture(
    page: Any, name: str, expert: poe.experts.Expert, seed: int
) -> None:
    """By quadrature of the package's densities."""
    move(page, "fig-live-pool", seed)
    page.locator("#fig-live-pool select").select_option(name)
    shown = state(page, "fig-live-pool")
    d = np.linspace(-400, 400, 800_001)
    each = np.exp([expert.log_density(d, np.full_like(d, p)) for p in shown["answers"]])
    for kind, density in (("product", each.prod(axis=0)), ("mixture", each.mean(axis=0))):
        weight = density / density.sum()
        middle = weight @ d
        found = [middle, np.sqrt(weight @ (d - middle) ** 2)]
        np.testing.assert_allclose(shown[kind], found, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_the_variances_of_grading_and_comparing(page: Any, seed: int) -> None:
    """Of simulated answers to all pairs of sixteen texts, and of as many grades."""
    move(page, "fig-live-break-even", seed)
    shown, rng = state(page, "fig-live-break-even"), np.random.default_rng(seed)
    sigma, tau, kappa = shown["sigma"], shown["tau"], shown["kappa"]
    i, j = np.triu_indices(16, 1)
    reading = sigma * rng.standard_normal((2, 4000, len(i)))
    answers = reading[0] - reading[1] + kappa * rng.standard_normal((4000, len(i)))
    scores = answers @ (np.eye(16)[i] - np.eye(16)[j]) / 16
    per_call = np.var(scores[:, 0] - scores[:, 1]) * len(i) / 16
    assert shown["compare"] == pytest.approx(per_call * shown["read"], rel=0.1)
    grades = np.hypot(sigma, tau) * rng.standard_normal((2, 40_000))
    assert shown["grade"] == pytest.approx(np.var(grades[0] - grades[1]), rel=0.05)
    right = norm.cdf(np.sqrt(np.divide(shown["needs"], [shown["grade"], shown["compare"]])))
    np.testing.assert_allclose(right, 0.9, atol=1e-9)


def check_bins(page: Any, shown: dict[str, Any]) -> None:
    """The points of the honesty curve, again by NumPy from all claims."""
    rows = page.evaluate("() => document.querySelector('#fig-live-honest').leads")
    assert rows[: len(shown["leads"])] == shown["leads"]
    assert len(rows) == 60 * 120, "sixty sets of sixteen texts"
    lead, right = (np.array([row[key] for row in rows], dtype=float) for key in ("lead", "right"))
    claim = norm.cdf(lead * np.sqrt(shown["worth"]))
    count, edges = np.histogram(claim, bins=10, range=(0.5, 1))
    sums = [np.histogram(claim, bins=edges, weights=of)[0] for of in (claim, right)]
    enough = count >= 60
    assert 3 <= enough.sum() <= 10
    points = np.column_stack(
        [sums[0] / np.maximum(count, 1), sums[1] / np.maximum(count, 1), count]
    )
    np.testing.assert_allclose(shown["points"], points[enough], atol=1e-6)
    near = abs(claim - 0.8) < 0.05
    assert shown["eighty"] == pytest.approx(right[near].mean(), abs=1e-9)


def test_claims_are_the_packages_and_their_worth_straightens_them(page: Any) -> None:
    noise, worth = (page.locator("#fig-live-honest input").nth(k) for k in range(2))

    def shown(tau: float, counts: float) -> dict[str, Any]:
        for slider, value in ((noise, tau), (worth, np.log2(counts))):
            slider.fill(str(value))
        found = state(page, "fig-live-honest")
        assert (found["noise"], found["worth"]) == (tau, counts)
        return found

    bold = shown(4, 1)
    c = from_rows(bold["first"]["comparisons"], 16)
    fit = poe.fit(c, covariance="curvature")
    np.testing.assert_allclose(bold["first"]["scores"], fit.scores, atol=1e-8)
    pairs = [(i, j) for i in range(16) for j in range(i + 1, 16)]
    lead = [abs(fit.scores[i] - fit.scores[j]) / fit.difference_se(i, j) for i, j in pairs]
    np.testing.assert_allclose([row["lead"] for row in bold["leads"]], lead, atol=1e-8)
    quality = bold["first"]["quality"]
    right = [bool((fit.scores[i] > fit.scores[j]) == (quality[i] > quality[j])) for i, j in pairs]
    assert [row["right"] for row in bold["leads"]] == right
    check_bins(page, bold)
    assert bold["eighty"] < 0.75
    assert shown(1, 1)["eighty"] > 0.85
    check_bins(page, shown(4, 4 / 4**2))
    assert abs(shown(4, 4 / 4**2)["eighty"] - 0.8) < 0.05, "the noise of a toss is two logits"


@pytest.mark.parametrize("seed", range(2))
def test_the_share_of_a_label(page: Any, seed: int) -> None:
    move(page, "fig-live-mass", seed)
    shown = state(page, "fig-live-mass")
    log_p = log_softmax(np.divide(shown["logits"], shown["temperature"]))
    answer = Answer(log_p=tuple(log_p[:2]))
    np.testing.assert_allclose(shown["shares"], np.exp(log_p), atol=1e-12)
    assert (shown["p"], shown["mass"]) == pytest.approx((answer.p, answer.mass), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_guesses_scatter_as_the_formula_says(page: Any, seed: int) -> None:
    move(page, "fig-live-guess", seed)
    shown = state(page, "fig-live-guess")
    values, n, contexts = np.array(shown["values"]), shown["texts"], shown["contexts"]
    assert shown["sd"] == pytest.approx(1 / np.sqrt(contexts * (n - 1)))
    # Four hundred values: their spread is known to three or four per cent, their mean to sd / 20.
    assert values.std() == pytest.approx(shown["sd"], rel=0.12)
    assert abs(values.mean()) < 4 * shown["sd"] / 20
    assert shown["share"] == (values >= shown["limit"] - 1e-9).mean()
    # A sum of correlations of orders, each 1 - 6 S / (n^3 - n) with an even sum of squares S.
    steps = (contexts - contexts * values) * (n**3 - n) / 12
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_three_levels_are_the_packages_and_only_one_list_sees_a_shift(page: Any, seed: int) -> None:
    levels = (metrics.summary_level, metrics.dataset_level, metrics.system_level)
    figure = page.locator("#fig-live-levels")
    before = state(page, "fig-live-levels")
    figure.locator("input").first.press("Home")
    lowered = state(page, "fig-live-levels")
    assert [lowered[name] == before[name] for name in ("summary", "dataset", "system")] == [
        True,
        False,
        True,
    ]
    move(page, "fig-live-levels", seed)
    figure.locator("select").select_option(["AB", "CD", "none"][seed])
    shown = state(page, "fig-live-levels")
    wanted = [
        level(np.array(shown["predicted"]), np.array(shown["human"])).value for level in levels
    ]
    np.testing.assert_allclose(
        [shown[n] for n in ("summary", "dataset", "system")], wanted, atol=1e-9
    )
    figure.get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("place", ["last", "middle", "front"])
def test_the_cost_of_a_call_is_that_of_a_tree(page: Any, place: str) -> None:
    """Every different beginning of the prompts of a context, counted one by one."""
    move(page, "fig-live-call", 11)
    page.locator("#fig-live-call select").select_option(place)
    shown = state(page, "fig-live-call")
    n, attributes, length = shown["candidates"], shown["attributes"], shown["length"]
    beginnings: set[tuple[str, ...]] = set()
    prompts = 0
    for first, second in permutations(range(int(n)), 2):
        for question in range(int(attributes)):
            names = {"article": 0, "first": first, "second": second, "question": question}
            parts = [f"{part} {names[part]}" for part in shown["order"]]
            beginnings |= {tuple(parts[: k + 1]) for k in range(4)}
            prompts += 1
    tokens = sum(length[start[-1].split()[0]] for start in beginnings)
    assert shown["shared"] == pytest.approx(tokens / prompts, abs=1e-9)
    assert shown["shared"] == pytest.approx(sum(shown["parts"]), abs=1e-9)
    assert shown["alone"] == sum(length.values())


@pytest.mark.parametrize("seed", range(4))
def test_zermelo_and_the_condition_of_ford(page: Any, seed: int) -> None:
    move(page, "fig-live-zermelo", seed)
    page.locator("#fig-live-zermelo input").nth(seed % 6).press("End")  # ten of ten, or all steps
    shown = state(page, "fig-live-zermelo")
    wins = np.array(shown["wins"])
    strength = np.ones(4)
    for _ in range(int(shown["steps"])):
        strength = wins.sum(1) / ((wins + wins.T) / np.add.outer(strength, strength)).sum(1)
        middle = np.exp(np.log(np.maximum(strength, 1e-300)).mean())
        strength = np.maximum(strength / middle, 1e-150)
    np.testing.assert_allclose(shown["scores"], np.log(strength), atol=1e-8)
    lost, won = np.nonzero(wins.T)
    labels = strong_components(4, np.column_stack([lost, won]))
    assert (shown["unbeaten"] is None) == (labels.max() == 0)
    for i in shown["unbeaten"] or []:
        assert not wins[[j for j in range(4) if j not in shown["unbeaten"]], i].any()


def test_one_arrow_of_twelve_makes_the_scores_finite(page: Any) -> None:
    """Every decision that may be added, against the package's components and its iteration."""
    for won, lost in permutations(range(4), 2):
        page.locator("#fig-live-arrows select").select_option(f"{lost}-{won}")
        shown = state(page, "fig-live-arrows")
        decisions = np.array(shown["decisions"])  # the loser, the winner
        assert decisions[-1].tolist() == [lost, won]
        labels = strong_components(4, decisions)
        groups = [[i for i in range(4) if labels[i] == label] for label in set(labels)]
        assert sorted(shown["groups"]) == sorted(groups)
        top = shown["groups"][0]
        assert all(i not in top or j in top for i, j in decisions), "an arrow leaves the top group"
        assert (shown["scores"] is not None) == (len(groups) == 1) == ((lost, won) == (0, 3))
        if shown["scores"]:
            c = poe.Comparisons.from_pairs(decisions[:, ::-1], np.ones(6), items=range(4))
            np.testing.assert_allclose(shown["scores"], poe.bradley_terry(c), atol=1e-6)
    page.locator("#fig-live-arrows").get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("remedy", ["none", "mean", "both"])
def test_the_biased_judge_and_its_remedies(page: Any, remedy: str) -> None:
    move(page, "fig-live-bias", 5)
    page.locator("#fig-live-bias select").select_option(remedy)
    shown = state(page, "fig-live-bias")
    c = from_rows(shown["comparisons"], 6)
    fit = poe.fit(c, "bradley-terry", bias="mean" if remedy == "mean" else None)
    assert shown["gamma"] == pytest.approx(fit.bias, abs=1e-9)
    np.testing.assert_allclose(shown["scores"], fit.scores, atol=1e-8)


def test_the_best_pair_is_the_one_with_the_largest_variance(page: Any) -> None:
    figure = page.locator("#fig-live-next")
    before = state(page, "fig-live-next")
    figure.get_by_role("button", name="Ask the best pair").click()
    after = state(page, "fig-live-next")
    asked = after["comparisons"][len(before["comparisons"]) :]
    assert asked == [before["next"]]
    pairs = np.array([[row["first"], row["second"]] for row in after["comparisons"]])
    assert after["logDeterminant"] == pytest.approx(poe.log_det(7, pairs), abs=1e-9)
    c = poe.Comparisons.from_pairs(pairs, np.full(len(pairs), 0.5), items=range(7))
    fit = poe.fit(c, poe.Gaussian(sigma=1.0))
    largest = max(fit.difference_se(i, j) ** 2 for i in range(7) for j in range(i))
    assert np.max(after["resistance"]) == pytest.approx(largest, abs=1e-9)
    figure.get_by_role("button", name="Start again").click()
    assert state(page, "fig-live-next") == before


def test_a_pair_is_asked_by_dragging_or_by_two_taps(page: Any) -> None:
    figure, mouse = page.locator("#fig-live-next"), page.mouse
    figure.scroll_into_view_if_needed()

    def middle(text: int) -> tuple[float, float]:
        box = figure.locator(".live-handle").nth(text).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(start: tuple[float, float], end: tuple[float, float]) -> list[dict[str, int]]:
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=4)
        mouse.up()
        return state(page, "fig-live-next")["comparisons"][6:]

    first = {"first": 1, "second": 4}
    assert drag(middle(1), middle(4)) == [first]
    (ax, ay), (bx, by) = middle(0), middle(3)
    assert drag((ax, ay), ((ax + bx) / 2, (ay + by) / 2)) == [first], "let go between the texts"
    assert drag(middle(5), middle(5)) == [first], "one tap asks nothing"
    assert drag(middle(2), middle(2)) == [first, {"first": 5, "second": 2}]
    figure.get_by_role("button", name="Start again").click()
    assert drag(middle(6), middle(6)) == []
    figure.get_by_role("button", name="Start again").click()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_works_from_the_keyboard_and_says_what_it_shows(page: Any, name: str) -> None:
    figure = page.locator(f"#{name}")
    assert figure.locator("img").is_hidden() == (name not in KEEPS_STILL)
    assert figure.locator(".live svg").first.get_attribute("aria-labelledby")
    figure.get_by_role("button", name="Start again").press("Enter")
    start = state(page, name), figure.locator(".live-says").text_content()
    if name in BUTTONS:
        figure.get_by_role("button", name=BUTTONS[name]).press("Enter")
    elif name in FIRST:
        figure.locator(FIRST[name]).first.press("ArrowDown")
    else:
        figure.locator("input[type=range]").first.press("Home")
    moved = state(page, name), figure.locator(".live-says").text_content()
    assert moved[0] != start[0]
    assert moved[1] != start[1]
    figure.get_by_role("button", name="Start again").press("Enter")
    assert (state(page, name), figure.locator(".live-says").text_content()) == start


@pytest.mark.parametrize("chapter", sorted(set(CHAPTERS.values())))
def test_a_chapter_has_its_live_figures_on_a_phone(html: Path, browser: Any, chapter: str) -> None:
    """No letter of a live picture is smaller than twelve pixels at a phone's width."""
    (path,) = {*html.glob(f"{chapter}-*.html"), *html.glob(f"{chapter}.html")}
    names = [name for name in FIGURES if CHAPTERS[name] == chapter]
    with offline_page(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto(path.as_uri())
        for name in names:
            page.locator(f"#{name} .live svg text").first.wait_for()
            figure = page.locator(f"#{name}")
            assert figure.locator(".live svg").first.is_visible()
            assert figure.locator("img").is_hidden() == (name not in KEEPS_STILL)
            assert figure.locator("figcaption").is_visible()
            # Found and measured at once: a moving picture draws its letters anew.
            sizes = figure.evaluate(
                "(figure) => [...figure.querySelectorAll('.live svg text')].map((t) =>"
                " parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)"
            )
            assert min(sizes) >= 12
    with offline_page(browser, java_script_enabled=False) as page:
        page.goto(path.as_uri())
        for name in names:
            assert page.locator(f"#{name} img").is_visible(), "no picture without JavaScript"


def test_other_pages_do_not_carry_the_scripts(html: Path) -> None:
    assert "live/1-mathematics.js" not in (html / "glossary.html").read_text()
