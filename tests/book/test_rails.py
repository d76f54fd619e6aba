"""The mathematics of rails, of the recipe and of ranking eight things, run on node, is poe's."""

import csv
import io
import json
import shutil
import subprocess
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poe

LIVE = Path(__file__).resolve().parents[2] / "book" / "_static" / "live"
NODE = shutil.which("node")
pytestmark = pytest.mark.needs("node")

EXAMPLE = [(0, 1, 0.9), (1, 2, 0.6), (2, 3, 0.8), (3, 0, 0.3), (0, 2, 0.7)]
EXPERTS = ("gaussian", "bradley-terry", "laplacian")
RUN = """
const fs = require("fs");
globalThis.window = globalThis;
for (const file of JSON.parse(process.argv[1])) (0, eval)(fs.readFileSync(file, "utf8"));
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const answer = JSON.parse(line).map(([name, ...given]) => poeLive.rails[name](...given));
  console.log(JSON.stringify(answer));
});
"""


@cache
def node() -> subprocess.Popen[str]:
    """One node for all tests, which ends when its input does."""
    files = [str(LIVE / name) for name in ("1-mathematics.js", "1-rails.js")]
    command = [str(NODE), "-e", RUN, json.dumps(files)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(*calls: tuple[Any, ...]) -> list[Any]:
    """What the page's functions answer, each called as (name, *arguments)."""
    process = node()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(calls) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, "node ended; its complaint is on stderr"
    return list(json.loads(answer))


def rows(answers: Any) -> list[dict[str, float]]:
    return [{"first": int(i), "second": int(j), "p": float(p)} for i, j, p in answers]


def comparisons(answers: Any, n: int) -> poe.Comparisons:
    pairs = [(int(i), int(j)) for i, j, _ in answers]
    return poe.Comparisons.from_pairs(pairs, [p for *_, p in answers], items=range(n))


def drawn(seed: int, n: int, count: int) -> list[tuple[int, int, float]]:
    """Answers about a ring and some further pairs, none twice (the package joins such answers)."""
    rng = np.random.default_rng(seed)
    ring = [(i, (i + 1) % n) for i in range(n)]
    others = [pair for pair in combinations(range(n), 2) if pair not in {*ring, (0, n - 1)}]
    pairs = [*ring, *rng.permutation(others)[:count]]
    return [(int(i), int(j), round(float(rng.uniform(0.05, 0.95)), 3)) for i, j in pairs]


SETS = [(4, EXAMPLE)] + [(n, drawn(seed, n, seed)) for seed, n in enumerate((4, 5, 6, 8), 2)]


# A rail's Laplacian has four to six texts; with two loose rings of eight its path ends 3e-5 off.
@pytest.mark.parametrize(
    ("expert", "n", "answers"),
    [(expert, *one) for expert in EXPERTS for one in SETS if expert != "laplacian" or one[0] <= 6],
)
def test_rails_settle_at_the_scores_of_the_package(
    expert: str, n: int, answers: list[tuple[int, int, float]]
) -> None:
    fit = poe.fit(comparisons(answers, n), expert)
    (scores,) = run(("solve", expert, n, rows(answers)))
    np.testing.assert_allclose(scores, fit.scores, atol=1e-6)
    (strain,) = run(("strain", expert, rows(answers), fit.scores.tolist()))
    np.testing.assert_allclose(strain["net"], 0, atol=1e-6)


@pytest.mark.parametrize("expert", EXPERTS)
def test_whatever_the_five_sliders_say_the_rails_settle_where_poe_does(expert: str) -> None:
    """Corners of the sliders' range, opinions in ties, and answers drawn in steps of 0.01."""
    rng = np.random.default_rng(11)
    sets = [rng.integers(2, 99, 5) / 100 for _ in range(40)]
    sets += [np.full(5, 0.5), np.full(5, 0.98), np.array([0.98, 0.02, 0.98, 0.02, 0.98])]
    asked = [[(i, j, p) for (i, j, _), p in zip(EXAMPLE, ps, strict=True)] for ps in sets]
    scores = run(*(("solve", expert, 4, rows(answers)) for answers in asked))
    for answers, found in zip(asked, scores, strict=True):
        np.testing.assert_allclose(
            found, poe.fit(comparisons(answers, 4), expert).scores, atol=1e-6
        )


@pytest.mark.parametrize("expert", ["gaussian", "bradley-terry"])
def test_forces_are_minus_the_slope_of_the_energy(expert: str) -> None:
    rng, step = np.random.default_rng(3), 1e-5
    at = rng.normal(size=4)
    moved = [at + sign * step * np.eye(4)[i] for i in range(4) for sign in (1, -1)]
    found = run(*(("strain", expert, rows(EXAMPLE), s.tolist()) for s in [at, *moved]))
    energies = np.reshape([one["energy"] for one in found[1:]], (4, 2))
    np.testing.assert_allclose(
        found[0]["net"], (energies[:, 1] - energies[:, 0]) / (2 * step), atol=1e-7
    )


@pytest.mark.parametrize("expert", EXPERTS)
def test_the_energy_is_the_packages_up_to_a_constant(expert: str) -> None:
    """Of Gaussian and Laplacian experts of scale one, of soft Bradley-Terry as it is."""
    kind = {
        "gaussian": poe.Gaussian(sigma=1.0),
        "bradley-terry": poe.BradleyTerry(),
        "laplacian": poe.Laplacian(scale=1.0),
    }[expert]
    W, p = comparisons(EXAMPLE, 4).matrix(), np.array([p for *_, p in EXAMPLE])
    scores = np.random.default_rng(5).normal(size=(3, 4))
    found = run(*(("strain", expert, rows(EXAMPLE), s.tolist()) for s in scores))
    ours = np.array([one["energy"] for one in found])
    theirs = np.array([-kind.log_density(W @ s, p).sum() for s in scores])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-9)


@pytest.mark.parametrize("expert", EXPERTS)
def test_a_step_never_raises_the_energy_and_steps_end_at_the_scores(expert: str) -> None:
    answers, n = drawn(4, 5, 3), 5
    target = poe.fit(comparisons(answers, n), expert).scores
    (least,) = run(("strain", expert, rows(answers), target.tolist()))
    scores, before = np.zeros(n), np.inf
    for _ in range(12):
        for i in range(n):
            (scores[i],) = run(("stepped", expert, rows(answers), scores.tolist(), i))
        (strain,) = run(("strain", expert, rows(answers), scores.tolist()))
        assert least["energy"] - 1e-9 <= strain["energy"] <= before + 1e-9
        before = strain["energy"]
    if expert != "laplacian":  # medians may all agree where no optimum is (book chapter 8)
        np.testing.assert_allclose(scores - scores.mean(), target, atol=0.02)


def test_a_step_of_medians_and_means() -> None:
    """Ada's comparisons value her at -0.35, 0.15 and 0.15 (chapter 8's liar)."""
    liar, truth = [(0, 1, 0.1), (0, 2, 0.7), (0, 3, 0.8)], [0.15, 0.05, -0.05, -0.15]
    mean, median = run(
        ("stepped", "gaussian", rows(liar), truth, 0),
        ("stepped", "laplacian", rows(liar), truth, 0),
    )
    assert (mean, median) == (pytest.approx(-0.05 / 3), pytest.approx(0.15))


@pytest.mark.parametrize(("n", "answers"), SETS)
def test_the_current_is_the_recipe(n: int, answers: list[tuple[int, int, float]]) -> None:
    """Shares of one ampere make the difference out of the opinions, their squares its variance."""
    c = comparisons(answers, n)
    fit = poe.fit(c, poe.Gaussian(sigma=1.0), bias=0.0)
    pairs = list(combinations(range(n), 2))
    for (i, j), shares in zip(
        pairs, run(*(("shares", n, rows(answers), i, j) for i, j in pairs)), strict=True
    ):
        assert np.dot(shares, c.p - 0.5) == pytest.approx(fit.scores[i] - fit.scores[j], abs=1e-9)
        assert np.dot(shares, shares) == pytest.approx(fit.difference_se(i, j) ** 2, abs=1e-9)


def test_the_shares_of_the_running_example() -> None:
    ada_dan, ben_dan = run(("shares", 4, rows(EXAMPLE), 0, 3), ("shares", 4, rows(EXAMPLE), 1, 3))
    np.testing.assert_allclose(ada_dan, [0.125, 0.125, 0.375, -0.625, 0.25], atol=1e-12)
    np.testing.assert_allclose(ben_dan, [-0.5, 0.5, 0.5, -0.5, 0], atol=1e-12)


@pytest.mark.parametrize("count", [3, 6, 14])
def test_eight_things_are_ranked_as_the_package_ranks_them(count: int) -> None:
    answers = drawn(count, 8, count)
    fit = poe.fit(comparisons(answers, 8), "gaussian")
    (found,) = run(("rank", 8, rows(answers)))
    np.testing.assert_allclose(found["scores"], fit.scores, atol=1e-9)
    assert found["estimated"]
    np.testing.assert_allclose(found["errors"], fit.standard_errors(), atol=1e-9)
    assert found["reach"] == pytest.approx(fit.quantile(0.95), rel=0.01), "Student's"
    expected = [[fit.difference_se(i, j) if i != j else 0 for j in range(8)] for i in range(8)]
    np.testing.assert_allclose(found["differences"], expected, atol=1e-9)


def test_with_few_answers_the_scatter_is_supposed() -> None:
    ring = [(i, (i + 1) % 8, 0.8) for i in range(8)]
    (found,) = run(("rank", 8, rows(ring)))
    assert (found["estimated"], found["sigma"]) == (False, 0.25)
    assert found["reach"] == pytest.approx(1.96, abs=1e-4), "of a scatter that is given"


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_the_next_pair_joins_what_is_apart_and_then_has_the_largest_variance(seed: int) -> None:
    asked: list[tuple[int, int, float]] = []
    for count in range(28):
        (pair,) = run(("nextPair", 8, rows(asked), seed))
        i, j = int(pair["first"]), int(pair["second"])
        assert {i, j} not in [{a, b} for a, b, _ in asked], "a pair is not asked twice"
        if count >= 7:  # seven answers join eight things
            c = comparisons(asked, 8)
            fit = poe.fit(c, poe.Gaussian(sigma=1.0))
            done = [{a, b} for a, b, _ in asked]
            fresh = [pair for pair in combinations(range(8), 2) if set(pair) not in done]
            largest = max(fit.difference_se(a, b) for a, b in fresh)
            assert fit.difference_se(i, j) == pytest.approx(largest, abs=1e-5)
        asked.append((i, j, 0.6 if i < j else 0.4))
    firsts = [i for i, *_ in asked]
    assert max(map(firsts.count, range(8))) <= 5, "nobody always stands first"
    (again,) = run(("nextPair", 8, rows(asked), seed))
    assert again is not None, "when all pairs have been asked they are asked again"


def asked_of(seed: int, count: int = 12) -> list[tuple[int, int]]:
    """The first questions of somebody who likes the earlier thing better."""
    asked: list[tuple[int, int, float]] = []
    for _ in range(count):
        (pair,) = run(("nextPair", 8, rows(asked), seed))
        i, j = int(pair["first"]), int(pair["second"])
        asked.append((i, j, 0.6 if i < j else 0.4))
    return [(i, j) for i, j, _ in asked]


def test_a_class_is_asked_about_everything_in_both_orders() -> None:
    """Thirty people, twelve questions each: 360 over 56 orders; one fixed way would ask twelve."""
    seeds = np.random.default_rng(3).integers(2**32, size=30)
    ways = [asked_of(int(seed)) for seed in seeds]
    assert ways[0] == asked_of(int(seeds[0])), "one seed, one way"
    assert len({tuple(way[:8]) for way in ways}) == 30
    shown = [pair for way in ways for pair in way]
    assert len({frozenset(pair) for pair in shown}) == 28
    assert len(set(shown)) > 50
    led = np.bincount([i for i, _ in shown], minlength=8) / np.bincount(np.ravel(shown))
    assert np.abs(led - 0.5).max() < 0.15, "nothing has the better place in the room"
    fixed = [asked_of(int(seeds[0])) for _ in ways]  # the control: a class with one seed
    assert len({pair for way in fixed for pair in way}) == 12


def test_the_worst_contradiction_is_what_the_misfits_of_its_ring_add_up_to() -> None:
    answers = [(0, 1, 0.8), (1, 2, 0.6), (2, 0, 0.6), (0, 3, 0.8), (1, 3, 0.6), (3, 2, 0.4)]
    (found,) = run(("contradiction", 4, rows(answers)))
    assert (found["ring"], found["sum"]) == ([0, 1, 2], pytest.approx(0.5))
    (fitted,) = run(("rank", 4, rows(answers)))
    assert found["sum"] == pytest.approx(-sum(fitted["misfits"][:3]))
    consistent = [(0, 1, 0.8), (1, 2, 0.8), (0, 2, 0.8)]  # 0.3 round the ring, and no contradiction
    square = [(0, 1, 0.6), (1, 2, 0.6), (2, 3, 0.6), (3, 0, 0.6)]
    none, four = run(("contradiction", 3, rows(consistent)), ("contradiction", 4, rows(square)))
    assert none is None
    assert (four["ring"], four["sum"]) == ([0, 1, 2, 3], pytest.approx(0.4))


def test_answers_survive_a_table_and_a_class_pastes_many() -> None:
    names = ["Alien", 'The "Thing", 1982', "Heat"]
    answers = rows([(0, 1, 0.8), (2, 1, 0.4)])
    (table,) = run(("toCsv", names, answers, "p1"))
    (back,) = run(("fromCsv", table))
    assert [(names[r["first"]], r["p"]) for r in answers] == [
        (back["names"][r["first"]], r["p"]) for r in back["comparisons"]
    ]
    (pooled,) = run(
        ("fromCsv", table + "\n" + table + "nonsense\nAlien,Alien,0.5\nA,B,1.5\nA,B,\n")
    )
    assert len(pooled["comparisons"]) == 4
    assert sorted(pooled["names"]) == sorted(names)
    assert pooled["refused"] == 4
    assert pooled["people"] == 1
    fit = poe.fit(
        poe.Comparisons.from_pairs(
            [(r["first"], r["second"]) for r in pooled["comparisons"]],
            [r["p"] for r in pooled["comparisons"]],
            items=pooled["names"],
        ),
        "gaussian",
    )
    (found,) = run(("rank", 3, pooled["comparisons"]))
    np.testing.assert_allclose(found["scores"], fit.scores, atol=1e-9)


def test_a_spreadsheet_runs_no_name_and_it_comes_back_as_it_was() -> None:
    names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "'=1", "'tis", "a=b", '=a,"b";c']
    answers = rows([(i, i + 1, 0.6) for i in range(7)])
    (table,) = run(("toCsv", names, answers, "p1"))
    for first, second, *_ in list(csv.reader(io.StringIO(table)))[1:]:
        assert not set(first[0] + second[0]) & set("=+-@")
    (back,) = run(("fromCsv", table))
    assert (back["names"], back["comparisons"]) == (names, answers)


def test_tables_of_a_spreadsheet_abroad_are_read() -> None:
    """Semicolons with decimal commas, tabs, a mark at the beginning, who answered or not."""
    abroad = '\ufefffirst;second;p;judge\r\nAlien;Heat, 1995;0,8;p1\r\n"A;B";Alien;0.4;p2\r\n'
    tabs = "first\tsecond\tp\nAlien\tHeat, 1995\t0,6\n\tAlien\t0,6\n"
    (read,) = run(("fromCsv", abroad + tabs + "Alien,Heat,0,8\n"))
    assert read["names"] == ["Alien", "Heat, 1995", "A;B"]
    assert read["comparisons"] == rows([(0, 1, 0.8), (2, 0, 0.4), (0, 1, 0.6)])
    assert (read["people"], read["refused"]) == (2, 2)
