"""Systems over prompts: errors that hold, lengths held equal, tables and commands."""

import hashlib
import io
import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, logit

import judging
import poe
from judging import Asking, Fitting
from judging.errors import JudgeError
from judging.fitting import settled
from judging.judges import Answer, Reader, Store
from judging.judges.recorded import pandalm
from judging.practice.board import Tournament, leaderboard, of_columns, read_answers
from judging.practice.board.clusters import clustered
from judging.practice.board.length import relative
from judging.practice.cli import main
from judging.practice.findings import Ended, Orders
from judging.practice.sentences import say
from poe.errors import ComparisonError

PLACELESS, BY_VOTE = Fitting(bias=None), Fitting(errors="vote")
ONE, BOTH = Asking(orders="one"), Asking(orders="both")


def votes(seed, theta, *, prompts=40, each=12, own=0.0, gamma=0.0, beta=0.0):
    """Decisions about systems whose quality differs from prompt to prompt by sd `own`."""
    rng, n = np.random.default_rng(seed), len(theta)
    prompt = np.repeat(np.arange(prompts), each)
    first = rng.integers(n, size=len(prompt))
    second = (first + rng.integers(1, n, size=len(prompt))) % n
    quality = np.asarray(theta) + own * rng.standard_normal((prompts, n))
    lengths = rng.lognormal(5, 0.6, (len(prompt), 2)) * (1 + 0.6 * np.column_stack([first, second]))
    d = quality[prompt, first] - quality[prompt, second] + gamma + beta * relative(lengths)
    p = (rng.random(len(d)) < expit(d)).astype(float)
    c = poe.Comparisons.from_pairs(np.column_stack([first, second]), p, items=n)
    return c, prompt, lengths


class TestClusteredErrors:
    def test_they_hold_where_prompts_differ_and_unclustered_ones_do_not(self):
        """Equal systems, each with its own strengths on every prompt: the truth is exactly zero.

        Of 95 % intervals in 120 worlds x 5 systems, clustered ones hold the truth as often as they
        say; the control, errors that take every answer for news, is too small.
        """
        held = {"clustered": [], "unclustered": []}
        for seed in range(120):
            c, prompt, _ = votes(seed, [0.0] * 5, prompts=30, each=20, own=1.0, gamma=0.3)
            plain = poe.fit(c, bias="fit", covariance="curvature")
            for name, fit in (("clustered", clustered(plain, prompt)), ("unclustered", plain)):
                low, high = fit.interval().T
                held[name].append((low <= 0) & (high >= 0))
        share = {name: float(np.mean(values)) for name, values in held.items()}
        assert 0.92 <= share["clustered"] <= 0.98
        assert share["unclustered"] <= 0.87

    @pytest.mark.parametrize("each", [3, 8])  # rows of a prompt, beside five unknowns
    def test_they_are_the_jackknife_over_prompts(self, each):
        """For quadratic experts one Newton step is exact: refit without each prompt in turn."""
        c, prompt, _ = votes(1, [0.0, 0.5, 1.0, 1.5], prompts=12, each=each, own=0.7, gamma=0.2)
        whole = poe.fit(c, "gaussian", bias="fit")
        found = clustered(whole, prompt)
        moved = []
        for k in range(12):
            rest = poe.fit(c.take(prompt != k), "gaussian", bias="fit")
            moved.append(np.append(rest.scores - whole.scores, rest.bias - whole.bias))
        expected = 11 / 12 * np.array(moved).T @ np.array(moved)
        np.testing.assert_allclose(found.covariance(), expected[:4, :4], rtol=1e-8, atol=1e-14)
        assert found.bias_se == pytest.approx(np.sqrt(expected[4, 4]))
        assert found.freedom == 11

    def test_the_plain_sandwich_is_taken_of_very_many_clusters_alone(self, monkeypatch):
        """Where it is nearly the same; of few it is too small, and not taken at any size."""
        for prompts, each, far in ((900, 4, False), (12, 2, True)):
            c, prompt, _ = votes(2, [0.0, 0.3, 0.9], prompts=prompts, each=each, own=0.5)
            fit = poe.fit(c)
            taken = clustered(fit, prompt).covariance()
            monkeypatch.setattr("judging.practice.board.clusters.CR1_CLUSTERS", 0)
            plain = clustered(fit, prompt).covariance()
            monkeypatch.setattr("judging.practice.board.clusters.CR1_CLUSTERS", np.inf)
            careful = clustered(fit, prompt).covariance()
            monkeypatch.undo()
            np.testing.assert_allclose(taken, careful if far else plain, rtol=1e-12)
            assert (np.abs(plain / careful - 1.0).max() > 0.05) == far

    def test_one_cluster_is_refused(self):
        c, prompt, _ = votes(3, [0.0, 1.0], prompts=1, each=30)
        with pytest.raises(poe.ComparisonError, match="at least two prompts"):
            clustered(poe.fit(c), prompt)


class TestLength:
    @pytest.mark.needs("scikit-learn")
    def test_the_fit_is_logistic_regression(self):
        """scikit-learn on the same columns, without a penalty, finds the same coefficients."""
        from sklearn import linear_model

        c, prompt, lengths = votes(4, [0.0, 0.4, 0.8, 1.2], gamma=0.3, beta=0.7, own=0.3)
        x = relative(lengths)
        found = clustered(poe.fit(c, bias="fit"), prompt, x)
        rows = np.column_stack([c.matrix()[:, 1:], x])
        oracle = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        oracle.fit(rows, c.p)
        scores = np.append(0.0, oracle.coef_[0, :3])
        np.testing.assert_allclose(found.scores, scores - scores.mean(), atol=1e-5)
        assert found.covariate.size == pytest.approx(oracle.coef_[0, 3], abs=1e-5)
        assert -found.bias == pytest.approx(oracle.intercept_[0], abs=1e-5)

    def test_a_system_that_only_writes_more_falls_back(self):
        """Known truth: system 0 is the best and the shortest, and the judge likes length."""
        c, prompt, lengths = votes(
            5, [0.6, 0.3, 0.0, -0.3], prompts=60, each=20, beta=2.0, own=0.3, gamma=0.2
        )
        table = c.to_table().assign(prompt=prompt, length_1=lengths[:, 0], length_2=lengths[:, 1])
        board = leaderboard(table, length=True)
        assert board.equal.ranking() == [0, 1, 2, 3]
        assert board.fit.ranking() != [0, 1, 2, 3], "the ranking is that of the answers as they are"
        assert board.equal.covariate.size == pytest.approx(2.0, abs=3 * board.equal.covariate.se)
        assert "length control changes the winner" in str(board)
        assert "alpaca_eval (Dubois and others 2024)" in str(board)
        assert board.to_frame().columns[-4:].tolist() == [
            "lc_rank",
            "lc_score",
            "lc_low",
            "lc_high",
        ]
        assert leaderboard(table).equal is None
        table.loc[3, "length_1"] = None
        assert "1 rows have none in length_1 and length_2" in str(leaderboard(table))

    def test_decisions_that_length_explains_are_refused_in_words(self):
        c, prompt, lengths = votes(6, [0.0, 0.0, 0.0])
        p = (lengths[:, 0] > lengths[:, 1]).astype(float)
        longer = poe.Comparisons.from_pairs(c.pairs, p, items=3)
        with pytest.raises(poe.NotConvergedError, match="leave it out"):
            clustered(poe.fit(longer, prior=0.5), prompt, relative(lengths))


def test_win_rates_and_comparison_by_hand():
    table = pd.DataFrame(
        {
            "model_a": ["x", "y", "x", "z", "z", "y"],
            "model_b": ["y", "x", "z", "x", "y", "z"],
            "winner": ["model_a", "model_a", "tie", "model_b", "tie (bothbad)", "model_b"],
        }
    )
    board = leaderboard(table, fitting=PLACELESS)
    rates = board.win_rates()
    assert rates.loc["x", "y"] == 0.5
    assert rates.loc["x", "z"] == 0.75
    assert rates.loc["z", "y"] == 0.75
    assert np.isnan(rates.loc["x", "x"])
    fitted = board.win_rates(fitted=True)
    scores = dict(zip(board.fit.items, board.fit.scores, strict=True))
    assert fitted.loc["x", "y"] == pytest.approx(expit(scores["x"] - scores["y"]))
    versus = board.compare("x", "y")
    assert versus["win_rate"] == pytest.approx(fitted.loc["x", "y"])
    assert versus["low"] < versus["difference"] < versus["high"]
    assert "2 ties" in str(board)
    assert "<td>x</td>" in board._repr_html_()


def test_a_vote_of_weight_three_is_three_votes():
    """X beats y three times and loses once, also where the order is turned; the fit agrees."""
    votes = [
        ("x", "y", 1.0, 3.0),
        ("y", "x", 1.0, 1.0),
        ("x", "z", 0.5, 2.0),
        ("z", "y", 0.25, 2.0),
    ]
    weighted = pd.DataFrame(votes, columns=["first", "second", "p", "weight"])
    repeated = weighted.loc[np.repeat(weighted.index, weighted["weight"].astype(int))]
    one = leaderboard(weighted, fitting=PLACELESS)
    other = leaderboard(repeated.drop(columns="weight"), fitting=PLACELESS)
    for board in (one, other):
        assert board.win_rates().loc["x", "y"] == 0.75
        assert board.win_rates().loc["y", "z"] == 0.75
    assert one.fit.scores == pytest.approx(other.fit.scores, abs=1e-8)


@pytest.mark.needs("choix")
def test_recorded_people_order_systems_as_an_independent_program_does():
    """PandaLM's 999 verdicts by three people on five models: the maximum likelihood of choix."""
    import choix

    rows = pandalm()
    rows = rows[rows["judge"] == "pandalm-7b"]
    board = leaderboard(rows.drop(columns="p").rename(columns={"people": "p"}), fitting=PLACELESS)
    c = board.comparisons
    wins = [(i, j) for (i, j), p in zip(c.pairs, c.p, strict=True) for _ in range(int(2 * p))]
    wins += [(j, i) for (i, j), p in zip(c.pairs, c.p, strict=True) for _ in range(int(2 - 2 * p))]
    scores = choix.ilsr_pairwise(5, wins)
    np.testing.assert_allclose(board.fit.scores, scores - scores.mean(), atol=1e-6)
    judge = pandalm().query("judge == 'gpt-3.5-turbo'").drop(columns="people")
    recorded = leaderboard(judge)
    assert "25 rows without a verdict left out" in recorded.notes
    places = recorded.to_frame().set_index("name")
    for place, system in enumerate(board.fit.ranking(), start=1):  # as people have it
        assert places.loc[system, "rank_low"] <= place <= places.loc[system, "rank_high"]


# Asking a judge -------------------------------------------------------------------------------


def answers(theta, prompts=40, seed=0):
    """A table of invented answers that carry their quality with them."""
    rng = np.random.default_rng(seed)
    rows = []
    for (s, t), k in itertools.product(enumerate(theta), range(prompts)):
        words = "word " * int(rng.integers(3, 12))
        quality = t + 0.5 * rng.standard_normal()
        rows.append({"System": f"s{s}", "Prompt": f"ask {k}", "Output": f"{words}{quality:.4f}"})
    return pd.DataFrame(rows)


class Grader(Reader):
    """Reads the quality that an answer carries; leans to the first. No language model."""

    def __init__(self):
        self.specification, self.asked = {"kind": "grader"}, []

    def answer(self, questions):
        for k, question in enumerate(questions):
            self.asked.append(question)
            one, other = (float(t.text.split()[-1]) for t in (question.first, question.second))
            luck = int(hashlib.sha256(question.key.encode()).hexdigest()[:8], 16) / 2**32
            d = 2 * (one - other) + 0.4 + 0.5 * logit(min(max(luck, 1e-6), 1 - 1e-6))
            yield k, Answer((float(log_expit(d)), float(log_expit(-d))))


def test_systems_are_found_in_their_true_order_and_nothing_is_paid_twice():
    truth = [1.5, -1.0, 0.5, 0.0, -2.0]
    table, judge, store = answers(truth), Grader(), Store(":memory:")
    board = leaderboard(table, judge, store=store, budget="60x")
    assert board.fit.ranking() == [f"s{k}" for k in np.argsort(truth)[::-1]]
    assert board.clusters == "prompt"
    assert -board.fit.bias == pytest.approx(0.4, abs=0.25)
    assert len(judge.asked) == len(board.comparisons) == 300
    assert all(q.context.text.startswith("ask ") for q in judge.asked)
    assert len({q.key for q in judge.asked}) == 300
    again = leaderboard(table.sample(frac=1, random_state=1), judge, store=store, budget="60x")
    assert len(judge.asked) == 300, "the store had every answer, whatever the order of the rows"
    assert again.fit.ranking() == board.fit.ranking()
    few = leaderboard(table, judge, store=store, budget="70x")
    assert (len(judge.asked), len(few.comparisons)) == (350, 350)


def test_a_judge_that_reads_is_not_blamed_for_systems_that_are_alike():
    """Their answers differ: the first place wins more often, and by no means always."""
    alike = leaderboard(answers([0.0, 0.0, 0.0], prompts=160), Grader(), budget="160x")
    assert np.ptp(alike.fit.scores) < -alike.fit.bias, "the bias is larger than all differences"
    assert 0.5 < np.mean(alike.comparisons.p > 0.5) < 0.7
    assert "hardly reads" not in str(alike)


def test_close_pairs_are_asked_most_and_prompts_evenly():
    asking = Tournament(
        read_answers(answers([4.0, 0.1, 0.0, -4.0], 60)),
        Grader(),
        store=Store(":memory:"),
        asking=ONE,
    )
    asking.run(300)
    met = np.zeros((4, 4))
    np.add.at(met, (asking.made[:, 1], asking.made[:, 2]), 1)
    met += met.T
    assert met[1, 2] > 2 * met[0, 3], "a pair whose answer is known tells little"
    load = np.bincount(asking.made[:, 0], minlength=60)
    assert load.max() - load.min() <= 2
    assert asking.new.sum() + 2 * 300 == 60 * 12, "no pair twice on a prompt"
    fresh = Tournament(asking.answers, Grader(), store=Store(":memory:"), asking=ONE)
    load = np.bincount(fresh.chosen(np.zeros(4), 120)[:, 0], minlength=60)
    assert load.tolist() == [2] * 60, "evenly within a round too"


def test_what_is_refused_is_of_the_budget_too():
    def refuses(question):
        return question.context.text.endswith("3")

    class Shy(Grader):
        def answer(self, questions):
            for k, said in super().answer(questions):
                none = Answer.refusal(questions[k].prompt, "no")
                yield k, none if refuses(questions[k]) else said

    judge = Shy()
    board = leaderboard(answers([1.0, 0.0, -1.0], 20), judge, budget=40, asking=ONE)
    refused = sum(map(refuses, judge.asked))
    assert len(judge.asked) == 40 == len(board.comparisons) + refused > 40 - refused


def test_both_orders_and_word_for_word_equal_answers():
    table, judge = answers([1.0, 0.0, -1.0], 10), Grader()
    same = table["Prompt"] == "ask 3"
    table.loc[same, "Output"] = "the same 1.0"
    board = leaderboard(table, judge, budget="all", asking=BOTH)
    assert (len(board.comparisons), len(judge.asked)) == (60, 54)
    assert "6 pairs of answers are the same text" in str(board)


class Leaner(Grader):
    """What it gets wrong in one order of two answers it takes back in the other, or repeats."""

    def __init__(self, take_back):
        super().__init__()
        self.specification, self.take_back = {"kind": "leaner", "back": take_back}, take_back

    def answer(self, questions):
        for k, question in enumerate(questions):
            self.asked.append(question)
            texts = [question.first.text, question.second.text]
            one, other = (float(text.split()[-1]) for text in texts)
            luck = int(hashlib.sha256("".join(sorted(texts)).encode()).hexdigest()[:8], 16) / 2**32
            luck = 3 * logit(min(max(luck, 1e-6), 1 - 1e-6)) / 1.8
            sign = 1.0 if self.take_back or texts[0] < texts[1] else -1.0
            d = 2 * (one - other) + 0.4 + sign * luck
            yield k, Answer((float(log_expit(d)), float(log_expit(-d))))


class TestOrdersAreFoundOut:
    def test_both_where_the_second_takes_the_error_back_and_a_new_prompt_where_it_repeats_it(self):
        table = answers([1.0, 0.0, -1.0], 120)
        for back, orders in ((True, "both"), (False, "one")):
            asking = Tournament(read_answers(table), Leaner(back), store=Store(":memory:"))
            asking.run(300)
            assert asking.asked == 300
            assert asking.decision.orders == orders
            rows = set(map(tuple, asking.made.tolist()))
            twice = sum((k, j, i) in rows for k, i, j in rows) // 2
            pilot = asking.decision.doubled
            assert twice == (150 if orders == "both" else pilot), "singles get theirs first"
            (note,) = [n for n in asking.columns().notes if isinstance(n, Orders)]
            assert note.orders == orders

    def test_what_was_found_out_makes_the_scores_better(self):
        """Against the truth: always one order, and a judge whose second order takes errors back."""
        off = {"auto": [], "one": []}
        for seed in range(8):
            table = answers([1.0, 0.0, -1.0], 120, seed=seed)
            for orders, errors in off.items():
                board = leaderboard(table, Leaner(True), budget=300, asking=Asking(orders=orders))
                scores = dict(zip(board.fit.items, board.fit.scores, strict=True))
                value = table["Output"].str.split().str[-1].astype(float)
                true = 2 * value.groupby(table["System"]).mean()
                slope = np.polyfit(true - true.mean(), [scores[s] for s in true.index], 1)[0]
                apart = np.array([scores[s] for s in true.index]) / slope - (true - true.mean())
                errors.append(float((apart**2).sum()))
        assert np.mean(off["auto"]) < 0.7 * np.mean(off["one"])

    def test_a_second_run_finds_the_same_and_pays_no_second_pilot(self):
        table, store = answers([1.0, 0.0, -1.0], 120), Store(":memory:")
        first = Tournament(read_answers(table), Leaner(True), store=store)
        first.run(200)
        again = Tournament(read_answers(table), Leaner(True), store=store)
        again.run(200)
        assert (again.meter.calls, again.decision.orders) == (0, first.decision.orders)
        more = Tournament(read_answers(table), Leaner(True), store=store)
        more.run(260)
        assert more.meter.calls == 60

    def test_a_small_budget_has_no_pilot_and_all_pairs_can_still_be_asked(self):
        table = answers([1.0, 0.0, -1.0], 10)
        few = leaderboard(table, Leaner(True), budget=12)
        assert len(few.comparisons) == 12
        assert not any(isinstance(note, Orders) for note in few.notes)
        everything = leaderboard(table, Leaner(True), budget="all")
        assert len(everything.comparisons) == 60, "both orders of thirty"
        repeats = leaderboard(table, Leaner(False), budget="all")
        assert 30 < len(repeats.comparisons) < 60, "the second order of the pilot alone"

    def test_decisions_have_a_pilot_too(self):
        class Decided(Leaner):
            def answer(self, questions):
                for k, answer in super().answer(questions):
                    first = answer.log_p[0] > answer.log_p[1]
                    yield k, Answer((0.0, -np.inf) if first else (-np.inf, 0.0))

        asking = Tournament(
            read_answers(answers([0.5, 0.0], 150)), Decided(True), store=Store(":memory:")
        )
        asking.run(200)
        assert asking.decision.orders == "both"

    def test_other_words_are_refused(self):
        with pytest.raises(ValueError, match="orders must be one of auto, one, both"):
            leaderboard(answers([1.0, 0.0], 10), Grader(), asking=Asking(orders="some"))


def test_a_prior_comes_in_only_where_scores_would_be_infinite():
    c = poe.Comparisons(first=["a", "b", "a"], second=["b", "c", "c"], p=[1, 1, 1])
    fit, notes = settled(c)
    assert fit.ranking() == ["a", "b", "c"], "not a preference for the first position without end"
    assert not fit.bias_fitted
    assert "a prior of 0.5 wins" in notes[0]
    assert "one position explains every decision" in notes[1]
    c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[1, 1, 1])
    fit, notes = settled(c, bias=None)
    assert (fit.scores.tolist(), notes) == ([0.0, 0.0, 0.0], [])


# Commands -------------------------------------------------------------------------------------


def test_the_leaderboard_command_from_answers_to_comparisons_and_back(tmp_path, capsys):
    table = tmp_path / "answers.csv"
    rng = np.random.default_rng(0)
    words = ["sun", "dog", "runs", "quickly", "extraordinarily", "incomprehensible"]
    rows = [
        {"model": f"m{s}", "prompt": f"say {k}", "answer": " ".join(rng.choice(words[: 3 + s], 9))}
        for s in range(4)
        for k in range(20)
    ]
    pd.DataFrame(rows).to_csv(table, index=False)
    store, made = tmp_path / "s.sqlite", tmp_path / "made.csv"
    base = ["leaderboard", str(table), "--judge", "demo", "--store", str(store), "--quiet"]
    base += ["--attribute", "easier to read", "--budget", "80", "--set", "length-control"]
    price = ["--price", "0.5,2"]
    assert main([*base, "--dry-run", *price, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["calls"], row["stored"]) == (80, 0)
    assert row["cost"] == pytest.approx((row["tokens"] * 0.5 + 80 * 2) / 1e6)
    assert main([*base, "--limit-calls", "50", *price]) == 3
    assert "a partial ranking: " in (text := capsys.readouterr().out)
    assert "50 comparisons" in text
    assert "asked now: 50 calls, " in text
    page, scores = tmp_path / "r.html", tmp_path / "scores.csv"
    files = ["--comparisons", str(made), "--report", str(page), "--out", str(scores)]
    assert main([*base, *files, "--verbose"]) == 0
    first = capsys.readouterr().out
    assert "per prompt: errors are clustered on it (20 values)" in first
    assert "rank, equal length" in first
    assert main([*base, "--dry-run"]) == 0
    assert "0 calls; 80 answers are in" in capsys.readouterr().out
    assert main([*base, "--offline", "--verbose"]) == 0
    again = capsys.readouterr().out
    assert "80 asked now, 0 from the store" not in first
    assert "0 asked now, 80 from the store" in again
    kept = [  # but for what was asked, the files, and chances, which are sampled
        [
            x
            for x in t.splitlines()
            if not re.search("asked now|^written|95% confidence|^Stopped", x)
        ]
        for t in (again, first)
    ]
    assert kept[0] == kept[1]
    assert "a readability formula" in again
    assert main([*base, "--offline", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["partial"], found["comparisons"]) == (False, 80)
    order = [row["name"] for row in found["systems"]]
    assert order == list(found["win_rates"]) == pd.read_csv(scores)["name"].tolist()
    assert found["win_rates"]["m0"]["m0"] is None
    assert "<td>m0</td>" in page.read_text()
    assert set(order) == {"m0", "m1", "m2", "m3"}
    assert main(["leaderboard", str(made), "--set", "length-control", "--json"]) == 0
    returned = json.loads(capsys.readouterr().out)
    for row, same in zip(found["systems"], returned["systems"], strict=True):
        numbers = [name for name in row if isinstance(row[name], float)]
        assert [row[name] for name in numbers] == pytest.approx([same[n] for n in numbers])
    assert pd.read_csv(made)["prompt"].isin([f"say {k}" for k in range(20)]).all()


def same_board(table):
    """The leaderboard of a table, and the one of what `to_table` writes of it, by way of a CSV."""
    from judging.practice.reading.forms import read
    from judging.quoting import csv_text

    columns = read(table)
    again = pd.read_csv(io.StringIO(csv_text(columns.to_table())), dtype=object)
    found = of_columns(columns), of_columns(read(again))
    assert found[0].errors == found[1].errors
    one, other = (board.to_frame() for board in found)
    one["name"], other["name"] = one["name"].map(str), other["name"].map(str)
    pd.testing.assert_frame_equal(one, other, check_dtype=False)
    return found


def test_what_a_leaderboard_wrote_is_the_same_leaderboard():
    rng = np.random.default_rng(3)
    c, prompt, lengths = votes(3, [0.5, 0.0, -0.4], prompts=20, each=6)
    table = c.to_table().assign(length_1=lengths[:, 0], length_2=lengths[:, 1])
    table["prompt"] = [f"=say {k}" for k in prompt]
    table["weight"] = rng.integers(1, 5, len(table))
    one, other = same_board(table)
    assert one.found.lengths.tolist() == other.found.lengths.tolist()
    assert one.errors == "prompt"
    assert one.found.weight.tolist() == other.found.weight.tolist()
    assert one.found.prompts == other.found.prompts


def test_an_order_that_is_not_known_stays_unknown():
    rng = np.random.default_rng(4)
    pairs = [rng.permutation(["x", "y", "z"])[:2] for _ in range(60)]
    one, other = same_board(pd.DataFrame(pairs, columns=["winner", "loser"]))
    assert not one.found.in_order
    assert not other.found.in_order
    assert not other.fit.bias_fitted


@pytest.mark.parametrize("prompts", [1, 4])
def test_few_prompts_are_no_clusters_whoever_asked(tmp_path, prompts):
    """A board that was paid is not refused, and its own file has the same intervals."""
    rows = [
        {"system": f"m{s}", "prompt": f"say {k}", "answer": " ".join(["word " * (s + 2)] * (k + 1))}
        for s in range(4)
        for k in range(prompts)
    ]
    board = judging.leaderboard(rows, "demo", attribute="plainer", budget="all")
    assert board.errors in ("vote", "pair")
    again = judging.leaderboard(board.found.to_table())
    assert again.errors == board.errors
    kept = ["name", "score", "low", "high"]
    pd.testing.assert_frame_equal(board.to_frame()[kept], again.to_frame()[kept])
    said = " ".join(board.sentences())
    assert ("only 4 values, too few" if prompts == 4 else "All have one prompt") in said
    if prompts == 4:
        for wanted in ({"fitting": Fitting(errors="prompt")}, {"cluster": "prompt"}):  # asked for
            assert judging.leaderboard(board.found.to_table(), **wanted).errors == "prompt"


def test_a_pilot_is_of_answers_that_differ():
    """Two answers that are one text tie in both orders whatever the judge: no news of orders."""
    table = answers([0.5, 0.0, -0.5], 60)
    same = table["Prompt"].isin([f"ask {k}" for k in range(5)])
    table.loc[same, "Output"] = "the same"
    asked = Tournament(read_answers(table), Leaner(True), store=Store(":memory:"))
    wanted = asked.decide(500)
    assert wanted > 5
    for prompts, missing in ((range(5), wanted), (range(3, 7), wanted - 2)):
        asked.forget()
        asked.take(np.array([(k, i, j) for k in prompts for i, j in ((0, 1), (1, 0))]))
        assert asked.decide(500) == missing


def test_two_comparisons_a_system_are_the_fewest():
    given = read_answers(answers([1.0, 0.0, -1.0], 10))
    assert given.calls(6) == given.calls("2x") == 6
    with pytest.raises(ValueError, match="5 comparisons say little about 3 systems; 6 are"):
        given.calls(5)


def test_what_is_drawn_does_not_hang_on_the_order_of_rows(tmp_path, capsys):
    """Close systems, whose chances are drawn: a table in four orders, and a store asked twice."""
    c, prompt, _ = votes(5, [0.2, 0.1, 0.0, -0.1, -0.2], prompts=20)
    names, said = np.array(["e", "b", "d", "a", "c"]), set()
    sides = {"first": names[c.first], "second": names[c.second]}
    table = pd.DataFrame({**sides, "p": c.p, "prompt": prompt})
    for seed in range(4):
        table.to_csv(tmp_path / "votes.csv", index=False)
        assert main(["fit", str(tmp_path / "votes.csv")]) == 0
        said.add((str(leaderboard(table)), capsys.readouterr().out))
        table = table.sample(frac=1, random_state=seed)
    assert len(said) == 1
    assert "would settle it with about" in str(said)
    store, close = Store(":memory:"), answers([0.1, 0.0, -0.1, 0.05], 30)
    boards = [leaderboard(close, Grader(), store=store, budget=60) for _ in range(2)]
    assert len({say(board.findings().verdict[0], "system") for board in boards}) == 1
    assert len({str(board.to_frame()) for board in boards}) == 1


def test_a_board_of_a_judge_knows_what_is_left_to_ask():
    """In Python as on the command line: no advice that these answers cannot follow."""
    rows = [
        {"system": s, "prompt": f"say {k}", "answer": f"Word {s}{k} " * (1 + (k * n) % 3)}
        for k in range(4)
        for n, s in enumerate("abc")
    ]
    board = judging.leaderboard(rows, "demo", attribute="plainer", budget="all", asking=BOTH)
    assert board.left == 0
    (advice, *_), (stopped, *_), _ = board.findings()
    assert advice.state == "decide" or advice.why.case == "over"
    assert stopped == board.stopped
    assert (stopped.case, advice.more) == ("both orders", None)
    some = judging.leaderboard(rows, "demo", attribute="plainer", budget=8, asking=ONE)
    assert (len(some.found.p), some.left) == (8, 16)
    assert some.stopped == Ended("budget", "", 8, False, 16)
    votes = judging.leaderboard(board.found.to_table())
    assert (votes.left, votes.stopped) == (np.inf, None)


def test_errors_that_one_prompt_cannot_have_are_refused_before_anything_is_paid():
    class Never(Grader):
        def answer(self, questions):
            raise AssertionError("a question was asked")

    rows = [{"system": f"m{s}", "prompt": "say", "answer": "word " * (s + 2)} for s in range(4)]
    with pytest.raises(ComparisonError, match="at least two prompts"):
        judging.leaderboard(rows, Never(), budget="all", fitting=Fitting(errors="prompt"))


def test_a_judge_that_fails_leaves_no_bar_open():
    class Broken(Grader):
        def answer(self, questions):
            raise JudgeError("broken")
            yield

    asking = Tournament(read_answers(answers([1.0, 0.0], 10)), Broken(), store=Store(":memory:"))
    closed = []
    asking.meter.bar.close = lambda: closed.append(True)
    with pytest.raises(JudgeError, match="broken"):
        asking.run(20)
    assert closed


def test_what_takes_long_is_said_on_a_terminal(tmp_path, capsys, monkeypatch):
    class Due:
        """A timer whose time has come."""

        def __init__(self, seconds, say, words, options):
            assert seconds == 2.0
            self.start, self.cancel = (lambda: say(*words, **options)), lambda: None

    monkeypatch.setattr("judging.practice.cli.screen.threading.Timer", Due)
    path = tmp_path / "x.csv"
    path.write_text("first,second,p\na,b,0.7\nb,c,0.6\nc,a,0.4\n")
    assert main(["fit", str(path)]) == 0
    assert capsys.readouterr().err == "", "a log wants no such lines"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["fit", str(path)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [f"judging: reading {path} ...", "judging: fitting 3 comparisons of 3 items ..."]


def test_a_page_escapes_what_a_user_wrote(tmp_path, capsys):
    nasty = "<script>alert(1)</script>"
    path, page, out = tmp_path / "p.csv", tmp_path / "p.html", tmp_path / "o.csv"
    pd.DataFrame({"first": [nasty, "=cmd|x"], "second": ["=cmd|x", nasty], "p": [0.6, 0.3]}).to_csv(
        path, index=False
    )
    assert main(["fit", str(path), "--report", str(page), "--out", str(out)]) == 0
    assert "<script" not in page.read_text()
    assert "'=cmd|x" in out.read_text()
