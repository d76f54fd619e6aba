"""Votes of a table that writes the winner first: no preference for a place is made of them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import judging
from judging.fitting import settled
from judging.practice.board import gate
from judging.practice.cli import main
from judging.practice.reading.forms import read
from poe.comparisons import Comparisons
from tests.judging.test_cases import minorise

TRUTH = {"p": 1.2, "q": 0.4, "r": -0.4, "s": -1.2}


def votes(ties=18, count=400):
    """Votes of people, the winner first, by a Bradley-Terry draw; ties between any two."""
    rng, rows = np.random.default_rng(3), []
    for k in range(count):
        a, b = rng.permutation(list(TRUTH))[:2]
        if k < ties:
            rows.append((a, b, "tie"))
        else:
            won = rng.random() < expit(TRUTH[a] - TRUTH[b])
            rows.append((a, b, "model_a") if won else (b, a, "model_a"))
    return pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])


def turned(table):
    """The same votes in an order drawn by lot, as they may have been shown."""
    turn = np.random.default_rng(5).random(len(table)) < 0.5
    other = table.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    other["winner"] = table["winner"].replace({"model_a": "model_b"})
    return pd.concat([table[~turn], other.loc[turn, table.columns]])


def by_hand(table):
    wins = dict.fromkeys(((a, b) for a in TRUTH for b in TRUTH if a != b), 0.0)
    for row in table.itertuples():
        half = 0.5 if row.winner == "tie" else 1.0
        wins[row.model_a, row.model_b] += half
        wins[row.model_b, row.model_a] += 1.0 - half
    return minorise(wins)


@pytest.fixture
def table():
    return votes()


def test_the_scores_are_those_of_the_decisions(table):
    board = judging.leaderboard(table)
    ours = dict(zip(board.fit.items, board.fit.scores, strict=True))
    assert board.fit.ranking() == list("pqrs")
    assert ours == pytest.approx(by_hand(table), abs=1e-6)
    assert not board.fit.bias_fitted
    assert "all 382 decisions are for model_a" in str(board)
    # Control: a fitted bias takes the decisions away from the items.
    c = Comparisons(
        first=table["model_a"],
        second=table["model_b"],
        p=np.where(table["winner"] == "tie", 0.5, 1.0),
    )
    fooled, _ = settled(c)
    assert fooled.bias_fitted
    assert expit(-fooled.bias) > 0.9
    assert np.ptp(fooled.scores) < 0.85 * np.ptp(board.fit.scores)


def test_in_an_order_drawn_by_lot_the_same_votes_have_the_same_scores(table):
    board = judging.leaderboard(turned(table))
    assert board.found.in_order
    assert board.fit.bias_fitted
    assert abs(board.fit.bias) < 2 * board.fit.bias_se
    ours = dict(zip(board.fit.items, board.fit.scores, strict=True))
    assert ours == pytest.approx(by_hand(table), abs=0.02)


@pytest.mark.parametrize("few", [0.0, 0.03])
def test_of_peoples_votes_nobody_says_that_a_judge_hardly_reads(table, few, tmp_path, capsys):
    """Also where some votes name the other side, so that the order may be the one shown."""
    rng = np.random.default_rng(1)
    other = (rng.random(len(table)) < few) & (table["winner"] != "tie")
    table.loc[other, "winner"] = "model_b"
    table.to_csv(tmp_path / "votes.csv", index=False)
    for command in (["fit"], ["leaderboard"]):
        main([*command, str(tmp_path / "votes.csv")])
        said = capsys.readouterr().out
        assert not re.search("judge", said)
        if few:
            assert "the place decides" in said
            assert "a column in_order that is 0" in said
    found = judging.leaderboard(table)
    state = gate.check(found, gate.parse("p >= s", found.fit.items), 0.95).state
    assert state == ("open" if few else "holds")
    if few:
        said = judging.leaderboard(table.assign(in_order=0))
        assert said.fit.ranking() == list("pqrs"), "the way out that is named"


@pytest.mark.parametrize(("decisions", "known"), [(5, True), (6, False)])
def test_six_decisions_for_one_side_are_no_accident_and_five_may_be(decisions, known):
    """Of a coin, 2 / 2^6 = 3% and 2 / 2^5 = 6%; beside them a tie, which is no decision."""
    first = [*"xyzxyz"[:decisions], "x"]
    second = [*"yzxyzx"[:decisions], "z"]
    winner = [*first[:-1], "tie"]
    table = pd.DataFrame({"model_a": first, "model_b": second, "winner": winner})
    assert read(table).in_order == known
