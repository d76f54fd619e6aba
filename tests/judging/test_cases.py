"""Tables that people really have, after public reports of bugs and forms of files.

Every folder of `cases` has a small table, made up; the right value of each was worked out by hand
or by the fixed-point iteration below (Hunter 2004), which shares no line with `poe.fit`.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

CASES = Path(__file__).parent / "cases"
ROW = re.compile(r" +(\d+)  (\S+)  ")


def minorise(wins, *, prior=0.0, steps=20_000):
    """Bradley-Terry scores of {(winner, loser): count}, with so many wins more on every pair."""
    names = sorted({name for pair in wins for name in pair})
    w = np.array([[wins.get((a, b), 0.0) + prior * (a != b) for b in names] for a in names])
    strength = np.ones(len(names))
    for _ in range(steps):
        strength = w.sum(axis=1) / ((w + w.T) / np.add.outer(strength, strength)).sum(axis=1)
        strength /= strength.sum()
    scores = np.log(strength)
    return dict(zip(names, scores - scores.mean(), strict=True))


@pytest.fixture
def case(request, tmp_path, monkeypatch):
    """The folder that the test's mark names, a copy, to be in."""
    (name,) = (path.name for path in CASES.glob(f"{request.param}-*"))
    shutil.copytree(CASES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    return tmp_path / name


@pytest.fixture
def found(run):
    """Run a command with --json: what a program gets."""

    def found(*command):
        status, said, _ = run(*command, "--json")
        assert status in (0, 3)
        return json.loads(said)

    return found


def of(name):
    return pytest.mark.parametrize("case", [name], indirect=True)


def scores(found):
    return {row["name"]: row["score"] for row in found.get("items") or found["systems"]}


def ranks(found):
    return {row["name"]: row["rank"] for row in found.get("items") or found["systems"]}


@of("01")
def test_a_chain_is_symmetric_and_falls(case, found):
    wins = Counter(map(tuple, pd.read_csv("votes.csv").to_numpy()))
    said = found("fit", "votes.csv", "--set", "prior=0.1")
    ours = np.array(list(scores(said).values()))
    assert [*scores(said)] == [f"s{k:02}" for k in range(16)]
    assert (np.diff(ours) < 0).all()
    np.testing.assert_allclose(ours, -ours[::-1], atol=1e-9)
    truth = minorise(wins, prior=0.1)
    np.testing.assert_allclose(ours, [truth[name] for name in scores(said)], atol=1e-6)
    assert any("'s00' never lost" in note for note in found("fit", "votes.csv")["notes"])


@of("02")
def test_alpaca_evals_zero_is_a_tie_and_nan_is_left_out(case, found):
    said = found("leaderboard", "annotations.json", "--reference", "ref")
    assert said["comparisons"] == 9
    assert said["win_rates"]["new"]["ref"] == pytest.approx(6 / 9)
    assert {"Note: 1 row without a verdict left out.", "Note: 0 was read as a tie."} <= {
        *said["notes"]
    }


@of("04")
def test_a_dead_heat_is_told_as_equal(case, run, found, tmp_path):
    said = found("leaderboard", "votes.csv", "--reference", "Y")
    assert ranks(said) == {"X": 1, "Y": 1}
    assert said["win_rates"]["X"]["Y"] == 0.5
    assert scores(said) == pytest.approx({"X": 0.0, "Y": 0.0}, abs=1e-9)
    files = "--out", "out.csv", "--report", "report.html"
    for command in (
        ["leaderboard", "votes.csv", *files],
        ["fit", "votes.csv", *files],
    ):
        _, text, _ = run(*command)
        assert not re.search(r"probably|the best of|stays first|would be first|leads", text), text
        assert "X and Y are equal" in text
        assert [row for row, _ in ROW.findall(text)] == ["1", "1"]
        assert pd.read_csv("out.csv")["rank"].tolist() == [1, 1]
        page = Path("report.html").read_text()
        assert "X and Y are equal" in page
        assert "stays first" not in page
    lines = Path("votes.csv").read_text().splitlines()
    Path("ahead.csv").write_text("\n".join([*lines, "Y,X,model_b", "X,Y,model_a"]))
    _, ahead, _ = run("leaderboard", "ahead.csv")
    assert re.search("the best of", ahead), "control: two votes more, and X leads"
    assert [row for row, _ in ROW.findall(ahead)][:2] == ["1", "2"]


@of("06")
def test_ties_are_half_wins_and_equal_systems_share_a_rank(case, found):
    said = found("leaderboard", "votes.csv", "--reference", "ref")
    assert ranks(said) == {"C": 1, "ref": 2, "B": 2, "A": 4}
    rates = {row["name"]: row["reference_rate"] for row in said["systems"]}
    assert (rates["A"], rates["B"], rates["C"]) == pytest.approx((0.4, 0.5, 0.7))


@of("08")
@pytest.mark.parametrize("table", ["langwatch.csv", "split.csv"])
def test_a_word_that_is_no_verdict_is_left_out_and_said(case, found, table):
    board = found("leaderboard", table)
    assert board["comparisons"] == 4
    assert board["win_rates"]["mini"]["sonnet"] == 2.5 / 4
    assert "Note: 'unresolved' in 'comparison_winner': read as no verdict." in board["notes"]


@of("09")
def test_counts_are_as_many_wins(case, found):
    table = pd.read_csv("counts.csv").set_axis(["first", "second", "home", "away"], axis=1)
    wins = Counter()
    for row in table.itertuples():
        wins[row.first, row.second] += row.home
        wins[row.second, row.first] += row.away
    assert (wins["Ox", "Yak"], wins["Ox", "Emu"], wins["Yak", "Emu"]) == (8, 10, 8)
    sides = "--column", "first=home.team", "--column", "second=away.team"
    for named in ((), sides):
        said = found("fit", "counts.csv", *named, "--set", "bias=none")
        assert said["comparisons"] == sum(wins.values()) == 38
        assert [*scores(said)] == ["Ox", "Yak", "Emu"]
        assert scores(said) == pytest.approx(minorise(wins), abs=1e-6)


@of("11")
def test_two_groups_are_named_and_the_prior_is_told(case, run, found):
    said = found("fit", "votes.csv")
    assert any("'P', 'Q' never lost" in note and "0.333" in note for note in said["notes"])
    wins = Counter(map(tuple, pd.read_csv("votes.csv").to_numpy()))
    assert scores(said) == pytest.approx(minorise(wins, prior=1 / 3), abs=1e-6)
    status, _, refused = run("fit", "votes.csv", "--set", "prior=0")
    assert status == 1
    assert "'P', 'Q' never lost" in refused


@of("13")
def test_label_studios_rows_without_a_verdict_are_left_out(case, run, found):
    names = "--column", "first=left", "--column", "second=right", "--column", "winner=comparison"
    said = found("fit", "min.json", *names, "--set", "bias=none")
    assert said["comparisons"] == 5
    assert "Note: 2 rows without a verdict left out." in said["notes"]
    assert next(iter(scores(said))) == "n1"
    wins = {("n1", "n2"): 2, ("n1", "n3"): 1, ("n2", "n3"): 1, ("n3", "n2"): 1}
    assert scores(said) == pytest.approx(minorise(wins, prior=0.5), abs=1e-6)
    full = found("fit", "full.json", "--set", "bias=none")
    assert full["comparisons"] == 5
    assert "Note: 1 row without a verdict left out." in full["notes"]
    assert scores(full) == pytest.approx(scores(said), abs=1e-9)
    assert "is it --column winner='comparison'?" in run("fit", "min.json")[2]


@of("16")
def test_who_ranks_texts_is_asked_whether_1_is_the_best(case, run):
    rank = ["rank", "texts.csv", "--judge", "demo", "--attribute", "easier to read", "--quiet"]
    status, _, said = run(*rank, "--people", "people.csv")
    assert status == 1
    assert "is 1 your best in 'rank'?" in said
    _, said, _ = run(*rank, "--verbose", "--people", "people-score.csv")
    assert "Spearman -1.00" in said
    assert "Is 1 the best in them?" in said
    table = pd.read_csv("people.csv")
    table.assign(score=-table["rank"])[["id", "score"]].to_csv("turned.csv", index=False)
    _, turned, _ = run(*rank, "--verbose", "--people", "turned.csv")
    assert "Spearman 1.00" in turned
    assert "Is 1 the best in them?" not in turned


@of("23")
@pytest.mark.parametrize(("table", "base"), [("flat.csv", "base"), ("games.jsonl", "baseline")])
def test_two_games_with_seats_swapped_are_read_by_their_seats(case, found, table, base):
    board = found("leaderboard", table)
    assert board["comparisons"] == 11
    assert board["win_rates"]["new"][base] == 5.5 / 11
    assert any("A>>B was read as one win" in note for note in board["notes"])
