"""An examination by its seed, with its answers: `make exam SEED=7`.

The text is exam.md. Its numbers are drawn, and what they lead to is computed by `poe`.
"""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import poe
from book.tools.slides import markdown

HERE = Path(__file__).parent
RING = ("AB", "BC", "CD", "DA")
TENTHS = (1, 2, 3, 4, 6, 7, 8, 9)
SETS, TEXTS, CALLS, DRAWS = 10, 16, 48, 10
METHODS = ("a product of soft Bradley-Terry experts", "the average probability")
FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
  body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 Georgia, serif; }}
  table {{ margin: 1rem 0; border-collapse: collapse; }}
  th, td {{ padding: 0.15rem 0.7rem; border-bottom: 1px solid #999; text-align: left; }}
  pre {{ padding: 0.6rem; background: #f4f6f8; }}
</style>
<script>
window.MathJax = {{ tex: {{ inlineMath: [["\\\\(", "\\\\)"]] }}, loader: {{ load: [] }} }};
</script>
{script}</head><body>{body}</body></html>
"""


def short(value: float, digits: int = 4) -> str:
    """A number without zeros at its end, and with no minus before a zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}".rstrip("0").rstrip(".")


def listed(values: object, digits: int = 4) -> str:
    return ", ".join(short(value, digits) for value in np.asarray(values))


def rows(head: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    table = [head, ["--:"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def by_hand(rng: np.random.Generator) -> dict[str, str]:
    """Part 1: four answers round a ring that do not add up, four scores that differ."""
    pairs = [tuple(name) for name in RING]
    while True:
        p = rng.choice(TENTHS, 4) / 10
        c = poe.Comparisons(first=[*"ABCD"], second=[*"BCDA"], p=p, items=[*"ABCD"])
        fit = poe.fit(c, poe.Gaussian(sigma=1.0))
        wins = poe.win_ratio(c)
        if (
            abs(p.sum() - 2) > 0.15
            and np.ptp(wins) > 0.5
            and np.diff(np.sort(fit.scores)).min() > 0.01
        ):
            break
    first, second = sorted(rng.choice(list("ABCD"), 2, replace=False))
    s = dict(zip("ABCD", fit.scores, strict=True))
    said = {name: short(value) for name, value in zip(RING, p, strict=True)}
    said |= {f"d{a}{b}": short(s[a] - s[b]) for a, b in pairs}
    said |= {f"s{name}": short(value) for name, value in s.items()}
    return said | {
        "opinions": listed(p - 0.5),
        "surplus": short(p.sum() - 2),
        "given": short((p.sum() - 2) / 4),
        "wins": listed(wins),
        "averages": listed(poe.average_probability(c)),
        "first": str(first),
        "second": str(second),
        "variance": short(fit.difference_se(first, second) ** 2),
    }


def by_machine(rng: np.random.Generator) -> tuple[dict[str, str], list[list[str]]]:
    """Part 3: every pair of five texts with a weight; the lines of its table beside the answers."""
    first, second = np.triu_indices(5, 1)
    p, weight = rng.integers(20, 81, 10) / 100, rng.integers(1, 6, 10) / 2
    c = poe.Comparisons(first=first, second=second, p=p, items=range(5), weight=weight)
    fit = poe.fit(c, covariance="curvature")
    lines = [
        [str(a), str(b), short(x), short(w)]
        for a, b, x, w in zip(first, second, p, weight, strict=True)
    ]
    head = ["first", "second", "p", "weight"]
    said = {"table": rows(head, lines), "scores": listed(fit.scores, 3)}
    return said | {"error": short(fit.difference_se(0, 1), 3)}, [head, *lines]


def correlations(truth: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Both methods' mean correlations over all sets, times 100, for one draw of pairs in each."""
    upper = np.array(np.triu_indices(TEXTS, 1))
    found = []
    for quality, answers in zip(truth, p, strict=True):
        scores = None
        while scores is None:
            drawn = rng.choice(len(upper.T), CALLS, replace=False)
            first, second = upper[:, drawn]
            c = poe.Comparisons(first=first, second=second, p=answers[drawn], items=range(TEXTS))
            with suppress(poe.ComparisonError, poe.DisconnectedError):
                scores = poe.fit(c).scores, poe.average_probability(c)
        found.append([spearmanr(quality, one).statistic for one in scores])
    product, average = 100 * np.mean(found, axis=0)
    return float(product), float(average)


def a_page_of_results(rng: np.random.Generator) -> dict[str, str]:
    """Part 4: two methods on ten draws, the same for both or not, as the seed will have it."""
    truth = rng.normal(size=(SETS, TEXTS))
    first, second = np.triu_indices(TEXTS, 1)
    noise = rng.normal(scale=1.5, size=(SETS, len(first)))
    p = 1 / (1 + np.exp(-(truth[:, first] - truth[:, second] + noise)))
    same = bool(rng.integers(2))
    draws = []
    for _ in range(DRAWS):
        product, average = correlations(truth, p, rng)
        draws.append((product, average if same else correlations(truth, p, rng)[1]))
    order = rng.permutation(2)
    table = np.round(np.array(draws)[:, order], 1)  # what is printed is what is counted
    one, two = table.T
    lead = one.mean() - two.mean()
    apart = np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / DRAWS)
    error = (one - two).std(ddof=1) / np.sqrt(DRAWS) if same else apart
    if same:
        shared = "Both methods had the same pairs in every draw."
        why = (
            "from the ten differences, since both had the same draws: nine degrees of freedom "
            f"(from the two deviations alone one would have said {short(apart, 2)})."
        )
        run = "as many draws again"
    else:
        shared = "Each method had draws of its own."
        why = (
            "of two independent means, since no row belongs together: about 18 degrees of freedom."
        )
        run = "the same draws for both"
    lines = [[str(k), *(f"{x:.1f}" for x in row)] for k, row in enumerate(table, start=1)]
    return {
        "shared": shared,
        "results": rows(["draw", "method 1", "method 2"], lines),
        "mean1": short(one.mean(), 2),
        "mean2": short(two.mean(), 2),
        "sd1": short(one.std(ddof=1), 2),
        "sd2": short(two.std(ddof=1), 2),
        "lead": short(lead, 2),
        "se": short(error, 2),
        "why": why,
        "times": short(abs(lead) / error, 1),
        "run": run,
        "method1": METHODS[order[0]],
        "method2": METHODS[order[1]],
    }


def exam(seed: int) -> tuple[str, str, list[list[str]]]:
    """The examination and its answers in Markdown, and the table of part 3."""
    machine, table = by_machine(np.random.default_rng([seed, 3]))
    said = {"seed": str(seed)} | machine
    said |= by_hand(np.random.default_rng([seed, 1]))
    said |= a_page_of_results(np.random.default_rng([seed, 4]))
    text = re.sub(r"@@(\w+)@@", lambda m: said[m[1]], (HERE / "exam.md").read_text("utf-8"))
    sheet, answers = text.split("\n% answers\n")
    return sheet.strip() + "\n", answers.strip() + "\n", table


def write_exam(seed: int, *, folder: Path, script: str) -> list[Path]:
    """Write both as Markdown, to be changed, and as a page, to be printed, and the table."""
    folder.mkdir(parents=True, exist_ok=True)
    sheet, answers, table = exam(seed)
    written = [folder / f"exam-{seed}.csv"]
    with written[0].open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    for name, text in ((f"exam-{seed}", sheet), (f"exam-{seed}-answers", answers)):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        page = FRAME.format(title=name, script=script, body=markdown().render(text))
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
        written += [folder / f"{name}.md", folder / f"{name}.html"]
    return written
