"""The teacher's guide: its worked answers are right, its marks add up, its labels exist."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poe

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "book" / "teachers-guide.md").read_text(encoding="utf-8")


@pytest.fixture
def comparisons() -> poe.Comparisons:
    printed = dict(re.findall(r"p_\{([A-D]{2})\} = ([\d.]+)", GUIDE))
    assert list(printed) == ["AB", "BC", "CD", "DA"]
    pairs = [tuple(name) for name in printed]
    first, second = zip(*pairs, strict=True)
    p = [float(value) for value in printed.values()]
    return poe.Comparisons(first=first, second=second, p=p, items=list("ABCD"))


def printed_after(words: str, count: int) -> list[float]:
    place = GUIDE.index(words) + len(words)
    found = re.findall(r"(?<![\w.])-?\d(?:\.\d+)?|½", GUIDE[place:])[:count]
    return [0.5 if value == "½" else float(value) for value in found]


def test_the_worked_answers_are_right(comparisons: poe.Comparisons) -> None:
    answers = GUIDE[GUIDE.index("With mean zero:") :]
    scores = [float(re.search(rf"s_{name} = (-?[\d.]+)\$", answers)[1]) for name in "ABCD"]
    fit = poe.fit(comparisons, poe.Gaussian(sigma=1.0))
    np.testing.assert_allclose(scores, fit.scores, atol=1e-12)
    np.testing.assert_allclose(printed_after("Win-ratios: ", 4), poe.win_ratio(comparisons))
    averages = printed_after("Average probabilities: ", 4)
    np.testing.assert_allclose(averages, poe.average_probability(comparisons), atol=1e-12)
    (variance,) = printed_after("(2 + 2) = ", 1)
    assert variance == pytest.approx(fit.difference_se("A", "C") ** 2)


def test_the_marks_add_up() -> None:
    total = int(re.search(r"(\d+) marks\n", GUIDE)[1])
    parts = [int(m) for m in re.findall(r"\*\*\d\. .*?\((\d+) marks\)", GUIDE)]
    assert sum(parts) == total
    scheme = GUIDE[GUIDE.index("### Marking scheme") :]
    rows = re.findall(r"^\| \d\w? \| ([\d +]+) \|", scheme, re.MULTILINE)
    assert sum(int(n) for row in rows for n in row.split("+")) == total


def test_no_session_has_more_slides_than_minutes() -> None:
    """The minutes themselves are the course kit's, see the tests of the kit."""
    totals = [int(m) for m in re.findall(r"^\| \d \|.*\| (\d+) \|$", GUIDE, re.MULTILINE)]
    assert len(totals) == 4 + 7
    assert max(totals) <= 90


def test_a_chapter_promises_the_minutes_that_are_counted() -> None:
    counted = re.findall(
        r"^\| \[(\d+)(?:, second page)?\]\(([\w-]+\.md)\) \| \d+ \| \d+ \| (\d+) \|$",
        GUIDE,
        re.MULTILINE,
    )
    chapters = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.md"))
    assert [name for _, name, _ in counted] == chapters
    assert {int(number) for number, _, _ in counted} == set(range(1, 16))
    for number, name, minutes in counted:
        said = re.search(r"\*\*Time\*\*: (.+)", (ROOT / "notebooks" / name).read_text("utf-8"))[1]
        reading = said if number == "15" else said.split(",")[0]  # 15 is in two parts
        promised = sum(map(int, re.findall(r"(\d+) (?:minutes|for the second)", reading)))
        assert abs(promised - int(minutes)) <= 5, (name, promised, minutes)


def answer_to_part_3() -> Any:
    """The model answer's function."""
    names: dict[str, Any] = {}
    exec(GUIDE.split("~~~python\n")[1].split("~~~")[0], names)
    return names["fit"]


def five_texts(seed: int) -> poe.Comparisons:
    """Every pair of five texts once, at random."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(5, 1)
    p, weight = rng.uniform(0.2, 0.8, 10), rng.uniform(0.5, 2.0, 10)
    return poe.Comparisons(first=first, second=second, p=p, items=list(range(5)), weight=weight)


def test_the_answer_to_part_3_fits_as_the_package_does() -> None:
    c = five_texts(0)
    scores, covariance = answer_to_part_3()(*c.pairs.T, c.p, c.weight, 5)
    fit = poe.fit(c)
    np.testing.assert_allclose(scores, fit.scores, atol=1e-8)
    own = fit.with_covariance("curvature").covariance()
    np.testing.assert_allclose(covariance, own, atol=1e-8)


def test_the_tests_that_part_3_asks_for_pass_as_they_are_named() -> None:
    answer, c = answer_to_part_3(), five_texts(1)
    _, covariance = answer(*c.pairs.T, c.p, c.weight, 5)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    (told,) = set(re.findall(r'`covariance="(\w+)"`', GUIDE))
    named = poe.fit(c, covariance=told).difference_se(0, 1)  # type: ignore[arg-type]
    assert named**2 == pytest.approx(variance)
    assert poe.fit(c).difference_se(0, 1) ** 2 != pytest.approx(variance, rel=0.05)
    # Certain answers that agree: the loop stops where rounding does, and the package refuses.
    certain = np.array([0, 1, 0]), np.array([1, 2, 2]), np.ones(3)
    scores, _ = answer(*certain, np.ones(3), 3)
    assert f"near {np.ptp(scores) / 2:.0f} rounding" in GUIDE
    with pytest.raises(poe.SeparableError):
        poe.fit(poe.Comparisons(first=certain[0], second=certain[1], p=certain[2], items=range(3)))


def test_a_repeat_lowers_the_mean_resistance_less_than_a_new_pair() -> None:
    """The example of chapter 6: everything but Ben and Dan, once."""
    ada, ben, cleo, dan = range(4)
    asked = [(ada, ben), (ben, cleo), (cleo, dan), (dan, ada), (ada, cleo)]

    def mean(more: list[tuple[int, int]]) -> str:
        resistances = poe.effective_resistance(4, asked + more)
        return f"{resistances[np.triu_indices(4, 1)].mean():.2f}"

    now, again, new = mean([]), mean([(ada, cleo)]), mean([(ben, dan)])
    words = f"falls from {now} to {again} with one more comparison of Ada and Cleo, and to {new}"
    assert words in GUIDE
