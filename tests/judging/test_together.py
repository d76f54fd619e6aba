"""Several judges in one ranking."""

import re

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm

import judging
from judging.judges import Answer
from judging.practice import findings
from judging.practice.ranking import words
from judging.practice.ranking.ranking import apart, names_of_judges
from judging.practice.ranking.report import report
from judging.practice.ranking.together import together
from judging.practice.sentences import say_all


class Likes(judging.Reader):
    """Reads a number in a text, with an error of its own; a stand-in, no language model."""

    def __init__(self, model, sharp=1.0, first=0.0, noise=0.3):
        self.specification = {"kind": "own", "model": model}
        self.sharp, self.first, self.noise = sharp, first, noise

    def answer(self, questions):
        for k, question in enumerate(questions):
            a, b = (float(t.text.split()[-1]) for t in (question.first, question.second))
            seed = [len(self.specification["model"]), int(4 * a), int(4 * b)]
            d = self.sharp * (a - b) + self.first
            d += self.noise * np.random.default_rng(seed).standard_normal()
            yield k, Answer((float(log_expit(d)), float(log_expit(-d))), tokens=7)


TEXTS = {f"t{k}": f"a text of quality {k / 4:.2f}" for k in range(12)}
JUDGES = [Likes("good", 1.5), Likes("middling", 0.7, first=0.8), Likes("chance", 0.0, noise=1.0)]


@pytest.fixture(scope="module")
def rankings():
    return judging.rank_each(TEXTS, JUDGES, ["better"], budget="8x")


def test_judges_are_joined_and_the_useless_one_is_named(rankings):
    (joint,) = together(rankings)
    assert joint.judges == ("good", "middling", "chance")
    assert joint.to_frame()["name"].tolist()[:2] == ["t11", "t10"]
    table = joint.reliability().set_index("judge")
    assert (
        table["sharpness"]["good"] > table["sharpness"]["middling"] > table["sharpness"]["chance"]
    )
    assert table["first_between_equals"]["middling"] == pytest.approx(expit(0.8), abs=0.08)
    assert "do not follow the others': chance" in " ".join(say_all(joint.findings()))
    pairs = {(a, b): rho for a, b, rho in joint.agreements()}
    assert pairs["good", "middling"] > 0.9
    said, page = words.in_text(rankings), report(rankings)
    for part in ("All judges in one ranking", "agrees with the others", "do not follow the others"):
        assert part in said.replace("&#39;", "'")
        assert part in page.replace("&#39;", "'") or part.startswith("agrees")
    assert together(rankings[:1]) == []


def test_who_leads_by_all_had_some_luck(rankings):
    """As sure as luck allows (`poe.luck`), not as the bare gap would have it."""
    (joint,) = together(rankings)
    n, fit = len(joint.fit.items), joint.fit
    centre = np.eye(n) - 1.0 / n
    noise = np.trace(centre @ fit.covariance[:n, :n] @ centre) / (n - 1)
    q = ((centre @ fit.scores) ** 2).sum() / noise
    u = (np.arange(100_000) + 0.5) / 100_000
    weight = np.exp((n - 2) / 2 * np.log(u) - q * u / 2)
    i, j = np.argsort(-fit.scores)[:2]
    move = np.eye(n)[i] - np.eye(n)[j]
    gap = (fit.scores[i] - fit.scores[j]) / np.sqrt(move @ fit.covariance[:n, :n] @ move)
    (said,) = (one for one in joint.findings() if isinstance(one, findings.ByAll))
    assert said.sure == pytest.approx(
        weight @ norm.cdf(np.sqrt(1.0 - u) * gap) / weight.sum(), abs=1e-7
    )
    assert said.sure < norm.cdf(gap) - 1e-4


def test_of_two_judges_nobody_is_blamed():
    """The good one scatters, the other answers by chance; with a second good one it shows."""
    good, chance = Likes("good", 1.5, noise=0.5), Likes("chance", 0.0, noise=1.0)
    (joint,) = together(judging.rank_each(TEXTS, [good, chance], ["better"], budget="8x"))
    said = " ".join(say_all(joint.findings()))
    assert joint.fit is None
    assert "One ranking of all judges cannot be made: the two do not follow each other" in said
    assert "relied on" not in said
    alike = [good, Likes("better", 1.2, noise=0.5)]
    (joint,) = together(judging.rank_each(TEXTS, alike, ["better"], budget="8x"))
    said = " ".join(say_all(joint.findings()))
    assert re.search(
        r"By all judges t11 is best \(\S+( 99)?% sure that it is better than t10\)", said
    )
    assert "do not follow" not in said
    three = [*alike, chance]
    (joint,) = together(judging.rank_each(TEXTS, three, ["better"], budget="8x"))
    assert "do not follow the others': chance" in " ".join(say_all(joint.findings()))


def test_judges_of_one_name_are_told_apart():
    """One model on two servers by the server, else by a number; the tables say which is which."""
    judges = [Likes("fake", 1.5), Likes("fake", 1.2), Likes("good", 1.0)]
    judges[0].specification = {"kind": "server", "model": "fake", "server": "one:1/v1"}
    judges[1].specification = {"kind": "server", "model": "fake", "server": "two:2/v1"}
    with judging.Store(":memory:", several=True) as store:
        two = judging.rank_each(TEXTS, judges, ["better"], budget="4x", store=store)
    assert names_of_judges(two) == ("fake at one:1/v1", "fake at two:2/v1", "good")
    assert [apart(one, two)["judge"] for one in two] == [*names_of_judges(two)]
    assert apart(two[0], two[:1]) == {}
    said = words.in_text(two[:2])
    assert "\nJudge fake at one:1/v1\n" in said
    assert "\nJudge fake at two:2/v1\n" in said
    assert "correlate (Spearman): fake at one:1/v1 with fake at two:2/v1: " in said
    assert names_of_judges([two[0], two[0]]) == ("fake", "fake"), "one judge, two contexts"
    judges[1].specification = {"kind": "server", "model": "fake", "server": "one:1/v1", "x": "1"}
    with judging.Store(":memory:", several=True) as store:
        two = judging.rank_each(TEXTS, judges[:2], ["better"], budget="4x", store=store)
    assert names_of_judges(two) == ("fake at one:1/v1 (1)", "fake at one:1/v1 (2)")


def test_what_cannot_be_joined_is_said():
    coins = [Likes("one", 0.0, noise=1.0), Likes("another", 0.0, noise=1.0)]
    (joint,) = together(judging.rank_each(TEXTS, coins, ["better"], budget="3x"))
    if joint.fit is None:
        assert "cannot be made" in " ".join(say_all(joint.findings()))
    assert len(joint.reliability()) == 2
