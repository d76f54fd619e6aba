"""Labels of people: intervals that hold, numbers by hand, and what the first line makes of them."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, kendalltau, norm

import judging
import poe
from judging.errors import InvalidDataError
from judging.practice import trust
from judging.practice.cli import main
from judging.practice.ranking.verdict import _chance, _more, of_fit
from judging.practice.sentences import say
from judging.practice.trust.agreement import Rows, agreement, shared, sharpness
from judging.practice.trust.scale import conformal
from poe.comparisons import Comparisons


def rows_of_scores(s, y):
    """Every two texts of a sample, as people's scores order them."""
    a, b = np.triu_indices(len(s), 1)
    human = 0.5 + 0.5 * np.sign(y[a] - y[b])
    return Rows(a, b, s[a] - s[b], expit(s[a] - s[b]), human, np.zeros(len(a), dtype=int))


def rows_of_choices(s, u, k, rng, texts):
    """K random pairs of texts, chosen between with the odds that u says."""
    i = rng.integers(texts, size=k)
    j = (i + rng.integers(1, texts, size=k)) % texts
    human = (rng.random(k) < expit(u[i] - u[j])).astype(float)
    return Rows(i, j, s[i] - s[j], expit(s[i] - s[j]), human, np.zeros(k, dtype=int))


# Agreement ----------------------------------------------------------------------------------------


def test_agreement_of_scores_is_kendalls():
    rng = np.random.default_rng(0)
    s = rng.standard_normal(25)
    y = s + rng.standard_normal(25)
    found = agreement(rows_of_scores(s, y), 0.95)
    assert found.rate == pytest.approx(0.5 + kendalltau(s, y).statistic / 2)
    assert found.rows == 300
    assert found.low < found.rate < found.high


def test_rows_that_share_texts_by_hand():
    """Three texts, rows 01, 12, 12 again: g = 1, 2, -1."""
    rows = Rows(*np.array([[0, 1], [1, 2], [2, 1]]).T, *np.ones((3, 3)), np.zeros(3, dtype=int))
    each = np.array([1.0, 1.0 + 2.0 - 1.0, 2.0 - 1.0])
    pairs = np.array([1.0, 2.0 - 1.0])
    few = 3 * 2 / 1**2
    assert shared(rows, np.array([1.0, 2.0, -1.0])) == few * (each @ each) - pairs @ pairs


def test_rows_that_cancel_where_they_meet_are_no_more_sure_than_rows_alone():
    """Four texts in a ring, people for and against in turn: b = 0, its variance 1 / x^2, m = 4."""
    first, second = np.arange(4), (np.arange(4) + 1) % 4
    for x in (1.0, 2.0):
        human, same = np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)
        rows = Rows(first, second, x * same, expit(x) * same, human, np.zeros(4, dtype=int))
        found = sharpness(rows, 0.95)
        assert found.b == pytest.approx(0.0, abs=1e-12)
        assert found.high == -found.low == pytest.approx(3.182446 / x, rel=1e-6)  # Student's, 3


@pytest.mark.parametrize(("rho", "labels"), [(0.0, 12), (0.3, 30), (0.7, 12), (0.7, 30), (0.9, 60)])
def test_intervals_of_scores_cover(rho, labels):
    """People's scores normal together with the judge's, agreement 1/2 + asin(rho) / pi."""
    rng, truth, n = np.random.default_rng(1), 0.5 + np.arcsin(rho) / np.pi, 400
    hits = 0
    for _ in range(n):
        s = rng.standard_normal(labels)
        y = rho * s + np.sqrt(1 - rho**2) * rng.standard_normal(labels)
        found = agreement(rows_of_scores(s, y), 0.95)
        hits += found.low <= truth <= found.high
    assert hits / n > 0.905, "95% less what few labels take, and chance"


def test_rows_taken_for_independent_would_not_cover():
    rng, truth = np.random.default_rng(1), 0.5 + np.arcsin(0.7) / np.pi
    hits = 0
    for _ in range(300):
        s = rng.standard_normal(30)
        y = 0.7 * s + np.sqrt(0.51) * rng.standard_normal(30)
        rate, n = agreement(rows_of_scores(s, y), 0.95).rate, 435
        hits += abs(rate - truth) < 1.96 * np.sqrt(rate * (1 - rate) / n)
    assert hits / 300 < 0.75


@pytest.mark.parametrize(("texts", "choices"), [(10, 30), (40, 40), (12, 100)])
def test_intervals_of_choices_cover(texts, choices):
    rng = np.random.default_rng(2)
    far = rng.standard_normal((2, 40_000, 2)) * [[[1.5]], [[0.5]]]
    u = 0.5 * far[0] + far[1]
    p = expit(u[:, 0] - u[:, 1])
    truth, hits, n = np.where(far[0, :, 0] > far[0, :, 1], p, 1 - p).mean(), 0, 500
    for _ in range(n):
        s = 1.5 * rng.standard_normal(texts)
        u = 0.5 * s + 0.5 * rng.standard_normal(texts)
        found = agreement(rows_of_choices(s, u, choices, rng, texts), 0.95)
        hits += found.low <= truth <= found.high
    assert hits / n > 0.92


def test_what_probabilities_are_worth_is_found_and_covered():
    rng, hits, said = np.random.default_rng(3), 0, []
    for _ in range(400):
        s = 1.5 * rng.standard_normal(30)
        found = sharpness(rows_of_choices(s, 0.6 * s, 90, rng, 30), 0.95)
        hits += found.low <= 0.6 <= found.high
        said.append(found.b)
    assert hits / 400 > 0.93
    assert np.median(said) == pytest.approx(0.6, abs=0.05)
    assert found.worth(0.9)[0] == pytest.approx(expit(found.b * logit(0.9)))


def test_a_slope_that_no_labels_bound_is_not_told():
    s = np.arange(5.0)
    assert sharpness(rows_of_scores(s, s), 0.95) is None
    assert sharpness(rows_of_scores(0 * s, s), 0.95) is None


# People's scale ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_conformal_intervals_cover_whatever_the_judge_is(rho):
    """Scores that are far from normal; 40 labels, 26 of them give residuals: 25/27 exactly."""
    rng, hits, n = np.random.default_rng(4), 0, 2500
    for k in range(n):
        s = rng.standard_normal(41)
        y = np.exp(rho * s + np.sqrt(1 - rho**2) * rng.standard_normal(41))
        low, high = conformal(s[:40], y[:40], 0.9, seed=k).interval(s[40:])
        hits += bool(low[0] <= y[40] <= high[0])
    assert hits / n == pytest.approx(25 / 27, abs=4 * np.sqrt(25 / 27 * 2 / 27 / n))


def test_labels_that_were_picked_break_the_promise():
    """The best texts alone labelled, where people see less difference: the control."""
    rng, hits = np.random.default_rng(5), 0
    for k in range(300):
        s = np.sort(rng.standard_normal(80))[::-1]
        y = np.minimum(s, 0.5) + 0.1 * rng.standard_normal(80)
        low, high = conformal(s[:40], y[:40], 0.9, seed=k).interval(s[70:])
        hits += np.mean((low <= y[70:]) & (y[70:] <= high))
    assert hits / 300 < 0.5


def test_too_few_labels_for_a_level_are_told_another():
    s = np.linspace(0, 1, 40)
    assert conformal(s[:29], s[:29], 0.95).level == 0.95
    assert conformal(s[:28], s[:28], 0.95).level == 0.9
    assert conformal(s[:7], s[:7], 0.95).level == 0.8
    assert conformal(s[:5], s[:5], 0.95) is None
    assert trust.needed(level=0.95).intervals == 29


# How many labels ----------------------------------------------------------------------------------


def test_so_many_labels_do_tell_to_within_so_much():
    found = trust.needed(0.75, 0.1)
    rng, rho = np.random.default_rng(8), np.sin(np.pi * 0.25)
    errors = []
    for _ in range(400):
        s = rng.standard_normal(found.scores)
        y = rho * s + np.sqrt(1 - rho**2) * rng.standard_normal(found.scores)
        errors.append(abs(agreement(rows_of_scores(s, y), 0.95).rate - 0.75))
    assert np.mean(np.array(errors) < 0.1) == pytest.approx(0.95, abs=0.04)
    assert found.choices == int(np.ceil(norm.ppf(0.975) ** 2 * 0.75 * 0.25 / 0.01))
    assert trust.needed(0.5).above_chance is None
    with pytest.raises(ValueError, match="between 0 and a half"):
        trust.needed(0.75, 0.6)


@pytest.mark.parametrize(
    ("truth", "level"), [(0.65, 0.95), (0.75, 0.95), (0.85, 0.95), (0.75, 0.9)]
)
def test_so_many_scores_do_show_that_a_judge_beats_a_coin(truth, level):
    """By the interval that is used; the normal formula's number alone shows it far too seldom."""
    rng, rho, n = np.random.default_rng(11), np.sin(np.pi * (truth - 0.5)), 400
    z = norm.ppf(0.5 + level / 2) + norm.ppf(0.8)
    tau = 1 / 9 - (2 / np.pi * np.arcsin(rho / 2)) ** 2
    formula = max(int(np.ceil(z**2 * tau / (truth - 0.5) ** 2)), 6)

    def shown(labels):
        hits = 0
        for _ in range(n):
            s = rng.standard_normal(labels)
            y = rho * s + np.sqrt(1 - rho**2) * rng.standard_normal(labels)
            hits += agreement(rows_of_scores(s, y), level).low > 0.5
        return hits / n

    error = np.sqrt(0.8 * 0.2 / n)
    assert 0.8 - 2.5 * error < shown(trust.needed(truth, level=level).above_chance[0]) < 0.93
    assert shown(formula) < 0.8 - 3 * error


@pytest.mark.parametrize(("truth", "level"), [(0.6, 0.95), (0.75, 0.95), (0.9, 0.95), (0.7, 0.8)])
def test_so_many_choices_are_the_fewest_that_show_it(truth, level):
    """Every number of agreements out of n, with its probability and the interval that is given."""

    def shown(n):
        first, second = np.arange(n), np.arange(n, 2 * n)
        total = 0.0
        for hits in range(n + 1):
            human = (np.arange(n) < hits).astype(float)
            rows = Rows(first, second, np.ones(n), np.full(n, 0.7), human, np.zeros(n, dtype=int))
            total += binom.pmf(hits, n, truth) * (agreement(rows, level).low > 0.5)
        return total

    least = trust.needed(truth, level=level).above_chance[1]
    assert shown(least) >= 0.8
    assert all(shown(n) < 0.8 for n in range(max(6, least - 12), least))


def test_the_numbers_of_choices_meet_where_the_binomial_distribution_ends():
    """About 10,000 choices, counted and by the normal formula: half a per cent apart."""
    near, far = (trust.needed(a).above_chance[1] for a in (0.5141, 0.5139))
    assert near < 10_000 < far
    assert far / near == pytest.approx((0.0141 / 0.0139) ** 2, rel=0.005)
    assert trust.needed(0.75).above_chance == (17, 29)


def test_the_plan_says_calls_and_labels(capsys):
    assert main(["plan", "300", "--json", "--tokens", "800", "--price", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["labels"] == {"scores": 23, "choices": 73}
    assert found["cost"] == pytest.approx(found["comparisons"] * 800 * 2 / 1e6)


# The first line -----------------------------------------------------------------------------------


def fitted(scores, per_pair=40, seed=0):
    """Bradley-Terry decisions about items of these scores."""
    rng, n = np.random.default_rng(seed), len(scores)
    i, j = np.triu_indices(n, 1)
    i, j = np.repeat(i, per_pair), np.repeat(j, per_pair)
    swap = rng.random(len(i)) < 0.5
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    p = (rng.random(len(i)) < expit(scores[i] - scores[j])).astype(float)
    c = Comparisons.from_pairs(np.column_stack([i, j]), p, items=[f"t{k}" for k in range(n)])
    return poe.fit(c, bias="fit")


def test_the_first_line_decides_asks_or_refuses():
    clear = fitted(np.array([1.5, 0.0, -1.5]))
    said = of_fit(clear, 0.95)
    assert said.state == "decide"
    assert say(said) == "Decide for t0."
    close = fitted(np.array([0.3, 0.0, -1.0]), seed=2)
    said = of_fit(close, 0.95)
    assert said.state == "ask"
    assert f"about {said.more:,} more votes would" in say(said, "text", "vote")
    assert of_fit(close, 0.95, left=1).state == "alike"
    even = fitted(np.array([0.0, 0.0, -2.0]), seed=6)
    assert of_fit(even, 0.95).state in ("alike", "ask")


def test_as_many_more_as_are_told_mostly_do_decide():
    """Votes that are drawn again, as many as were there and are told to be missing."""
    scores, enough, told = np.array([0.4, 0.0, -0.8]), 0, 0
    for seed in range(40):
        said = of_fit(fitted(scores, 60, seed), 0.95)
        if said.state == "ask" and said.more < 3000:
            told += 1
            again = fitted(scores, 60 + -(-said.more // 3), seed + 1000)
            enough += of_fit(again, 0.95).state == "decide"
    assert told >= 10
    assert enough / told >= 0.5


def people_of(scores, rng, noise, count):
    names = rng.choice(len(scores), count, replace=False)
    return trust.People({f"t{k}": float(scores[k] + noise * rng.standard_normal()) for k in names})


def test_people_decide_whether_the_judge_may():
    scores = np.linspace(2, -2, 30)
    fit, rng = fitted(scores, 4), np.random.default_rng(0)
    good = trust.trust(fit, people_of(scores, rng, 0.5, 25))
    assert good.state == "agrees"
    assert good.labels == 25
    assert good.kind == "scores"
    assert good.scale.level == 0.9
    assert "People order two texts as the judge does in" in str(good)
    bad = trust.trust(fit, people_of(-scores, rng, 0.5, 25))
    assert bad.state == "useless"
    said = of_fit(fit, 0.95, people=bad, by_judge=True)
    assert said.state == "not by this judge"
    assert say(said).startswith("Do not decide by this judge: people order two texts as it does")
    given = zip(["0", "5", "10", "15", "20", "25"], (4.0, 6.0, 3.0, 5.0, 1.0, 2.0), strict=True)
    few = trust.trust(fit, trust.People({f"t{k}": y for k, y in given}))
    assert few.state == "open"
    said = of_fit(fit, 0.95, people=few, by_judge=True)
    assert said.state == "label"
    assert said.labels > 6
    assert trust.trust(fit, trust.People({"t0": 1.0, "t1": 0.0})) is None
    assert trust.trust(fit, trust.People({f"t{k}": 1.0 for k in range(9)})) is None, "all alike"


def test_choices_and_several_contexts():
    rng = np.random.default_rng(1)
    fits, labels = [], []
    for seed in range(12):
        scores = np.linspace(1.5, -1.5, 6)
        fits.append(fitted(scores, 10, seed))
        pairs = [(0, 5), (1, 4), (2, 3)]
        chosen = tuple(
            (f"t{i}", f"t{j}", float(rng.random() < expit(scores[i] - scores[j]))) for i, j in pairs
        )
        labels.append(trust.People({}, chosen))
    found = trust.trust(fits, labels)
    assert found.kind == "choices"
    assert found.labels == 36
    assert found.scale is None
    won = [p for one in labels for *_, p in one.choices]
    assert found.agreement.rate == pytest.approx(np.mean(won), abs=0.06)
    assert found.agreement.low > 0.5


# From files ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["cat", "considerable", "tree", "documentation", "sea"]
    table = pd.DataFrame({"id": [f"t{k}" for k in range(30)]})
    table["text"] = [
        " ".join(words[(k * j) % 5] for j in range(1, 9)) + f" {k}." for k in range(30)
    ]
    table.to_csv("texts.csv", index=False)
    return tmp_path


RANK = ["rank", "texts.csv", "--attribute", "easier to read", "--judge", "demo", "--budget", "8x"]


def test_scores_and_choices_from_a_file(folder, capsys):
    assert main([*RANK, "--json"]) == 0
    before = json.loads(capsys.readouterr().out)["rankings"][0]
    assert before["trust"] is None
    assert before["findings"][0]["state"] in ("ask", "alike", "decide")
    order = [row["name"] for row in before["texts"]]
    scored = pd.DataFrame({"Name": order, "Rating": np.arange(30.0)[::-1]})
    scored.iloc[::2].to_csv("scores.csv", index=False)
    assert main([*RANK, "--people", "scores.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rankings"][0]
    assert found["trust"]["labels"] == 15
    assert found["trust"]["agreement"]["rate"] == 1.0
    assert found["trust"]["agreement"]["low"] > 0.5
    chosen = pd.DataFrame({"first": order[:15], "second": order[15:], "winner": order[15:]})
    chosen.to_csv("choices.csv", index=False)
    assert main([*RANK, "--people", "choices.csv", "--report", "r.html"]) == 0
    said = capsys.readouterr().out
    assert "Do not decide by this judge: people order two texts as it does in 0%" in said
    page = (folder / "r.html").read_text()
    assert "Do not decide by this judge" in page
    assert "(15 choices)" in page


def test_a_report_has_peoples_scale_or_whom_to_ask(folder, capsys):
    assert main([*RANK, "--report", "r.html"]) == 0
    assert "drawn at random, these texts would do: t" in (folder / "r.html").read_text()
    table = pd.read_csv("texts.csv")
    table["score"] = np.where(np.arange(30) < 24, np.arange(30) % 5, np.nan)
    table.to_csv("texts.csv", index=False)
    assert main([*RANK, "--report", "s.html"]) == 0
    page = (folder / "s.html").read_text()
    assert "What people would give the texts that none of them scored" in page
    ranking = judging.rank("texts.csv", "demo", attribute="easier to read", budget="8x")
    assert ranking.trust.labels == 24
    left = ranking.with_people(trust.People({"t29": 2.0})).trust
    assert left.labels == 25
    assert dataclasses.replace(ranking, gold={}).trust is None


def test_what_is_wrong_with_labels_is_said(folder):
    pd.DataFrame({"a": [1]}).to_csv("none.csv", index=False)
    with pytest.raises(
        InvalidDataError, match="it has the columns 'a'; call two of them id and score"
    ):
        trust.read_people("none.csv")
    twice = pd.DataFrame({"id": ["t1", "t1", "t2"], "score": [1, 4, 2]})
    assert trust.read_people(twice).scores == {"t1": 2.5, "t2": 2.0}


def test_votes_that_exist_are_held_against_people(folder, capsys):
    fit = fitted(np.linspace(1, -1, 8), 10)
    fit.comparisons.to_table()[["first", "second", "p"]].to_csv("votes.csv", index=False)
    pd.DataFrame({"id": [f"t{k}" for k in range(8)], "score": range(8, 0, -1)}).to_csv(
        "people.csv", index=False
    )
    assert main(["fit", "votes.csv", "--people", "people.csv"]) == 0
    said = capsys.readouterr().out
    assert "People order two items as the judge does in" in said


# What asking on would bring -----------------------------------------------------------------------


@pytest.mark.parametrize("apart", [0.1, 0.8])
def test_the_chance_that_all_that_is_left_settles_it_by_hand(apart):
    """Two items: a gap g of error e, T times as many answers; settled beyond z e / sqrt(T).

    The truth lies around r g with variance r e^2, of each r that the scores allow; what is asked
    anew adds e^2 / (T - 1) to it, and weighs 1 - 1/T.
    """
    fit = fitted(np.array([apart, 0.0]), 50, seed=1)
    gap, error = abs(np.diff(fit.scores)[0]), fit.difference_se("t0", "t1")
    for left in (10, 50, 150, 2000):
        times, z = 1.0 + left / 50, norm.ppf(0.95)
        edge, new = z * error / np.sqrt(times), 1.0 - 1.0 / times
        r, scale = fit.luck.share, fit.luck.scale
        mean = gap * (1.0 / times + new * r)
        spread = error * scale * new * np.sqrt(r + 1.0 / (times - 1.0))
        each = norm.sf((edge - mean) / spread) + norm.cdf((-edge - mean) / spread)
        by_hand = fit.luck.weight @ each
        assert _chance(fit, 0.95, left) == pytest.approx(by_hand, abs=0.04)


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.3, 1.5])
def test_the_chance_comes_true_about_as_often_as_it_says(noise):
    """Of judges that answer 0 or 1, whose first scores are mostly luck, and of sharper ones."""
    said, came = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores, drawn = rng.standard_normal(10), rng.random((10, 10))
        apart = scores[:, None] - scores + noise * rng.standard_normal((10, 10))
        p = (drawn < expit(apart)).astype(float) if noise > 1 else expit(apart)

        def answer(pairs, p=p):
            return p[tuple(pairs.T)]

        few = judging.rank(10, answer, budget="3x", seed=seed)
        every = judging.rank(10, answer, budget="all", seed=seed)
        said.append(_chance(few.fit, 0.95, 90 - len(few.comparisons)))
        came.append(of_fit(every.fit, 0.95, left=0).state == "decide")
    assert np.mean(said) == pytest.approx(np.mean(came), abs=0.15)
    assert np.mean(said) > 0.02


def test_all_that_could_be_the_best_are_named_and_the_rest_of_a_budget_comes_first():
    fit = fitted(np.array([0.1, 0.05, 0.0, -3.0, -3.0]), 12)
    over = of_fit(fit, 0.95, left=0)
    assert over.state == "alike"
    assert "t0, t1 and t2 are close. Take any of them" in say(over)
    cut = of_fit(fit, 0.95, left=900, rest=40, partial=True)
    assert cut.more == 40
    assert [odds.case for odds in cut.why.odds] == ["rest", "all"]
    assert "the rest of the budget, 40 calls, would" in say(cut)
    assert "all 900 calls left" in say(cut)


def test_what_is_left_is_called_hopeless_only_where_it_mostly_is():
    """Rankings that are cut short, and then asked about completely."""
    told, settled = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        judge = judging.SimulatedJudge(rng.standard_normal(12), noise=1.0, seed=seed)
        few = judging.rank(12, judge.answer, budget="5x", seed=seed)
        left = 132 - len(few.comparisons)
        said = of_fit(few.fit, 0.95, left=left)
        cut = of_fit(few.fit, 0.95, left=left, partial=True)
        assert cut.state != "alike"
        if said.state == "alike":
            told += 1
            every = judging.rank(12, judge.answer, budget="all", seed=seed)
            again = of_fit(every.fit, 0.95, left=0)
            settled += again.state == "decide"
            assert again.state == "decide" or again.why.case == "over"
    assert settled <= max(told // 3, 1)


def test_people_who_agree_overrule_a_place_that_the_judge_prefers():
    scores = np.linspace(0.4, -0.4, 30)
    c = fitted(scores, 4).comparisons
    leaning = poe.fit(
        Comparisons.from_pairs(c.pairs, expit(scores[c.first] - scores[c.second] + 3.0), items=30),
        bias="fit",
    )
    alone = of_fit(leaning, 0.95, by_judge=True)
    assert alone.state == "not by this judge"
    assert "the judge hardly reads" in say(alone)
    said = trust.People({str(k): float(scores[k]) for k in range(30)})
    heard = trust.trust(leaning, said)
    assert heard.state == "agrees"
    beside = of_fit(leaning, 0.95, by_judge=True, people=heard)
    assert beside.state != "not by this judge"


def test_marks_whose_best_is_the_smallest_are_suspected():
    scores = np.linspace(2, -2, 30)
    fit = fitted(scores, 4)
    turned = trust.trust(fit, trust.People({f"t{k}": -scores[k] for k in range(30)}))
    assert "write 7 minus the mark" in str(turned)
    few = trust.People({"t0": 2.0, "t9": 1.0, "t20": 0.0})
    assert "by chance" not in str(trust.trust(fit, few) or "")


def test_chances_of_nothing_and_of_all_are_not_claimed():
    agreement = trust.Agreement(0.2, 0.1, 0.3, 190, 40.0)
    sharp = trust.Sharpness(-30.0, -40.0, 0.01)
    said = str(trust.Trust(agreement, sharp, None, 20, "scores", 0.88))
    assert "In pairs that its scores put at 88%, people agree in under 1% (under 1% to 50%)" in said


def test_two_open_rivals_share_what_may_go_wrong():
    """The same gap and error to one rival or to two: the quantile of half the error for each."""

    def more(*scores, sd=0.96, asked=1_000_000):
        covariance = sd**2 * np.eye(len(scores))
        fit = SimpleNamespace(
            scores=np.array(scores),
            items=tuple(range(len(scores))),
            freedom=1e9,
            real=np.ones(asked, dtype=bool),
            covariance=lambda: covariance,
            difference_se=lambda one, other: sd * np.sqrt(2.0),
            better=lambda i, j: norm.cdf((scores[0] - np.array(scores)[j]) / (sd * np.sqrt(2.0))),
        )
        return _more(fit, 0.95) / asked + 1.0

    one, two = more(1.0, 0.0, -50.0), more(1.0, 0.0, 0.0)
    assert one == pytest.approx((norm.ppf(0.95) * 0.96) ** 2 * 2.0, rel=0.02)
    assert two / one == pytest.approx((norm.ppf(0.975) / norm.ppf(0.95)) ** 2, rel=0.02)


def test_rows_of_ten_contexts_by_hand():
    """Texts of one name in ten contexts are ten texts, and nobody compares across contexts."""
    rng = np.random.default_rng(7)
    fits, people, agree, pairs, ties = [], [], 0, 0, 0
    for context in range(10):
        names = [f"text {k}" for k in rng.permutation(5)]  # another order in each
        every = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
        quality = dict(zip(names, rng.standard_normal(5), strict=True))
        d = np.array([quality[names[i]] - quality[names[j]] for i, j in every])
        fits.append(poe.fit(Comparisons.from_pairs(every, expit(d), items=names)))
        scores = {name: float(rng.integers(1, 4)) for name in names[: 3 + context % 3]}
        choices = ((names[4], names[0], 1.0),) if context % 2 else ()
        people.append(trust.People({**scores, "elsewhere": 5.0}, choices))
        for a, one in enumerate(names):
            for other in names[a + 1 :]:
                if one in scores and other in scores:
                    said = np.sign(scores[one] - scores[other])
                    ties += said == 0
                    pairs += said != 0
                    agree += said * (quality[one] - quality[other]) > 0
        for one, other, _ in choices:
            pairs += 1
            agree += quality[one] > quality[other]
    found = trust.trust(fits, people)
    assert found.agreement.rows == pairs
    assert found.agreement.rate == pytest.approx(agree / pairs)
    assert found.ties == ties
    assert found.labels == sum(len(one) - 1 for one in people)

    # Of texts whose names say their context, the same with its interval: a mean over clusters.
    def of_context(name, k):
        return f"{k}: {name}"

    renamed = []
    for k, fit in enumerate(fits):
        c, items = fit.comparisons, [of_context(x, k) for x in fit.items]
        renamed.append(poe.fit(Comparisons.from_pairs(c.pairs, c.p, items=items)))
    own = [
        trust.People(
            {of_context(x, k): score for x, score in one.scores.items()},
            tuple((of_context(a, k), of_context(b, k), p) for a, b, p in one.choices),
        )
        for k, one in enumerate(people)
    ]
    assert trust.trust(renamed, own).agreement == pytest.approx(found.agreement)
