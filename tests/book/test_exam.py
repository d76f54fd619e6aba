"""Examinations: each seed has its own numbers, and all answers are found again in another way."""

from __future__ import annotations

import csv
import re
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import poe
from book.tools import exam as tool
from book.tools.exam import write_exam

SEEDS = (1, 2, 7, 8, 9)
exam = cache(tool.exam)


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", text)]


def after(words: str, text: str) -> str:
    """What follows these words, to the end of the line."""
    return text[text.index(words) + len(words) :].split("\n")[0]


@pytest.fixture(scope="module", params=SEEDS)
def paper(request: pytest.FixtureRequest) -> tuple[str, str]:
    sheet, answers, _ = exam(request.param)
    assert "@@" not in sheet + answers
    return sheet, answers


def test_two_seeds_differ_and_one_is_the_same_again() -> None:
    one, other = exam(7), exam(8)
    assert tool.exam(7) == one
    for part in range(4):
        mine, theirs = (re.split(r"^## ", each[0], flags=re.M)[part + 1] for each in (one, other))
        assert (mine == theirs) == (part == 1), "a derivation has no numbers"


def test_part_1_by_least_squares_and_counting(paper: tuple[str, str]) -> None:
    sheet, answers = paper
    p = {name: float(x) for name, x in re.findall(r"p_\{([A-D]{2})\} = (0\.\d)", sheet)}
    assert list(p) == ["AB", "BC", "CD", "DA"]
    W, y = np.zeros((5, 4)), np.zeros(5)
    for k, (pair, x) in enumerate(p.items()):
        W[k, ["ABCD".index(name) for name in pair]] = 1, -1
        y[k] = x - 0.5
    W[4] = 1  # mean zero
    scores = np.linalg.lstsq(W, y, rcond=None)[0]
    printed = re.findall(r"\$s_([A-D]) = (-?[\d.]+)\$", answers)
    assert [name for name, _ in printed] == list("ABCD")
    np.testing.assert_allclose([float(x) for _, x in printed], scores, atol=1e-9)
    for a, b, x in re.findall(r"\$s_([A-D]) - s_([A-D]) = (-?[\d.]+)\$", answers):
        assert float(x) == pytest.approx(scores["ABCD".index(a)] - scores["ABCD".index(b)])
    wins, averages = [], []
    for name in "ABCD":
        got = [x if pair[0] == name else 1 - x for pair, x in p.items() if name in pair]
        wins.append(statistics.mean(x > 0.5 for x in got))
        averages.append(statistics.mean(got))
    assert numbers(after("Win-ratios of A to D: ", answers))[:4] == pytest.approx(wins)
    assert numbers(after("Average probabilities: ", answers))[:4] == pytest.approx(averages)
    first, second = re.search(r"variance of \$s_(\w) - s_(\w)\$", sheet).groups()
    steps = abs("ABCD".index(first) - "ABCD".index(second))
    expected = 1 / (1 / steps + 1 / (4 - steps))  # two paths round a ring of four
    assert numbers(after("and so the variance, is ", answers)) == [pytest.approx(expected)]
    surplus = sum(p.values()) - 2
    said = numbers(after("They add up to ", answers))
    assert said[:2] == [pytest.approx(surplus), pytest.approx(surplus / 4)]


def table(sheet: str, part: str) -> np.ndarray:
    """The numbers of a part's table."""
    rows = re.findall(r"^\| ([\d. |]+) \|$", sheet[sheet.index(part) :], re.M)
    width = rows[0].count("|")
    return np.array([numbers(row) for row in rows if row.count("|") == width])


def test_part_3_by_a_general_minimiser(paper: tuple[str, str]) -> None:
    sheet, answers = paper
    first, second, p, weight = table(sheet, "## 3.").T
    i, j = first.astype(int), second.astype(int)

    def energy(s: np.ndarray) -> float:
        d = s[i] - s[j]
        return float(weight @ (np.logaddexp(0, d) - p * d)) + s.sum() ** 2

    s = minimize(energy, np.zeros(5), tol=1e-12).x
    assert numbers(after("Scores of texts 0 to 4: ", answers))[:5] == pytest.approx(s, abs=1e-3)
    step, H = 1e-4, np.zeros((5, 5))  # the curvature, by differences
    for a in range(5):
        for b in range(5):
            da, db = step * np.eye(5)[a], step * np.eye(5)[b]
            H[a, b] = energy(s + da + db) - energy(s + da) - energy(s + db) + energy(s)
    covariance = np.linalg.inv(H / step**2)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    (said,) = numbers(after("The standard error of $s_0 - s_1$: ", answers)[:-1])
    assert said == pytest.approx(error, abs=2e-3)


def test_part_4_from_the_printed_table(paper: tuple[str, str]) -> None:
    sheet, answers = paper
    _, one, two = table(sheet, "## 4.").T
    assert len(one) == 10
    means, spreads = ([f(list(x)) for x in (one, two)] for f in (statistics.mean, statistics.stdev))
    line = numbers(after("Means ", answers))
    assert line[:2] == pytest.approx(means, abs=0.006)
    assert line[2:4] == pytest.approx(spreads, abs=0.006)
    if "Both methods had the same pairs" in sheet:
        error = statistics.stdev(one - two) / 10**0.5
    else:
        assert "draws of its own" in sheet
        error = ((spreads[0] ** 2 + spreads[1] ** 2) / 10) ** 0.5
    lead, said = numbers(after("Method 1 minus method 2 is ", answers))[:2]
    assert lead == pytest.approx(means[0] - means[1], abs=0.006)
    assert said == pytest.approx(error, abs=0.006)


def test_the_seeds_have_both_kinds_of_page() -> None:
    kinds = {"Both methods" in exam(seed)[0] for seed in SEEDS}
    assert kinds == {True, False}


def test_the_marks_add_up() -> None:
    sheet, answers, _ = exam(1)
    total = int(re.search(r"(\d+) marks\.", sheet)[1])
    assert sum(int(m) for m in re.findall(r"^## \d\. .*?\((\d+) marks\)", sheet, re.M)) == total
    rows = re.findall(r"^\| \d\w? \| ([\d +]+) \|", answers, re.M)
    assert sum(int(n) for row in rows for n in row.split("+")) == total


def answer_to_part_3() -> Any:
    """The model answer's function."""
    names: dict[str, Any] = {}
    exec(exam(1)[1].split("~~~python\n")[1].split("~~~")[0], names)
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
    sheet, answers, _ = exam(1)
    _, covariance = answer(*c.pairs.T, c.p, c.weight, 5)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    (told,) = set(re.findall(r'`covariance="(\w+)"`', sheet + answers))
    named = poe.fit(c, covariance=told).difference_se(0, 1)  # type: ignore[arg-type]
    assert named**2 == pytest.approx(variance)
    assert poe.fit(c).difference_se(0, 1) ** 2 != pytest.approx(variance, rel=0.05)
    # Certain answers that agree: the loop stops where rounding does, and the package refuses.
    certain = np.array([0, 1, 0]), np.array([1, 2, 2]), np.ones(3)
    scores, _ = answer(*certain, np.ones(3), 3)
    assert f"near {np.ptp(scores) / 2:.0f} rounding" in answers
    with pytest.raises(poe.SeparableError):
        poe.fit(poe.Comparisons(first=certain[0], second=certain[1], p=certain[2], items=range(3)))


def test_the_files_have_no_answer_on_the_sheet(tmp_path: Path) -> None:
    written = {path.name for path in write_exam(3, folder=tmp_path, script="")}
    assert written == {path.name for path in tmp_path.iterdir()}
    for kind in ("md", "html"):
        sheet = (tmp_path / f"exam-3.{kind}").read_text("utf-8")
        assert "Newton" in sheet
        assert "marks are" not in sheet.lower()
        assert "np.linalg" not in sheet
        assert "np.linalg" in (tmp_path / f"exam-3-answers.{kind}").read_text("utf-8")
    with (tmp_path / "exam-3.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = table((tmp_path / "exam-3.md").read_text("utf-8"), "## 3.")
    np.testing.assert_allclose([[float(x) for x in row.values()] for row in rows], expected)
