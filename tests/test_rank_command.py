"""`poe rank` as a practitioner meets it: files in, a ranking and files out, nothing asked twice."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from poe.cli import main
from poe.judges.demo import DemoJudge, reading_ease
from poe.judges.questions import Answer
from tests.judging import hear

EXAMPLE = Path(__file__).resolve().parents[1] / "data" / "examples" / "explanations.csv"


@pytest.fixture
def asked(monkeypatch):
    """Every question that the demo judge answers, as (first, second) ids."""
    return hear(monkeypatch, DemoJudge, lambda asked: (asked.first.id, asked.second.id))


def rank(texts=EXAMPLE, *more, judge="demo", attribute="easier to read"):
    return main(["rank", str(texts), "--attribute", attribute, "--judge", judge, "--quiet", *more])


def write(path, rows, columns=("id", "text")):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return path


def some(count):
    """Different texts, some harder to read than others."""
    return [(f"t{k}", f"Number {k}: the " + "very " * (k % 9) + "usual end.") for k in range(count)]


# What comes out --------------------------------------------------------------------------


def test_the_example_from_texts_to_files(folder, asked, capsys):
    assert rank(EXAMPLE, "--report", "r.html", "--out", "s.csv", "--comparisons", "c.csv") == 0
    scores, made = pd.read_csv("s.csv"), pd.read_csv("c.csv")
    texts = pd.read_csv(EXAMPLE).set_index("id")["text"]
    assert sorted(scores["id"]) == sorted(texts.index)
    ease = [reading_ease(texts[name]) for name in scores["id"]]
    assert scipy.stats.spearmanr(scores["score"], ease).statistic > 0.95
    assert scores["rank"].tolist() == list(range(1, 25))
    assert (np.diff(scores["score"]) <= 0).all()
    assert scores["score"].sum() == pytest.approx(0, abs=1e-9)
    assert (scores["score_low"] < scores["score"]).all()
    assert (scores["score"] < scores["score_high"]).all()
    assert (scores["rank_low"] <= scores["rank"]).all()
    assert (scores["rank"] <= scores["rank_high"]).all()
    assert len(made) == 240 == len(asked) == len(set(asked))
    assert list(zip(made["first"], made["second"], strict=True)) == asked
    degree = pd.concat([made["first"], made["second"]]).value_counts()
    assert scores.set_index("id")["comparisons"].to_dict() == degree.to_dict()
    shown = capsys.readouterr()
    assert "demo (readability), not a language model. 240 comparisons" in shown.out
    assert "240 asked now, 0 from the store" in shown.out
    assert "not how well it agrees with people" in shown.out
    assert shown.err == ""
    assert not list(folder.glob("*.part"))


def test_nothing_is_asked_twice(folder, asked, capsys):
    assert rank(EXAMPLE, "--out", "one.csv") == 0
    once = len(asked)
    assert rank(EXAMPLE, "--out", "two.csv", "--report", "later.html") == 0
    assert len(asked) == once
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert "0 asked now, 240 from the store" in capsys.readouterr().out
    assert rank(EXAMPLE, "--budget", "15x") == 0
    assert len(asked) == len(set(asked)) == 360, "a larger budget builds on the smaller"


def test_a_stopped_run_goes_on(folder, asked, monkeypatch, capsys):
    rank(EXAMPLE, "--out", "whole.csv", "--store", "other.sqlite")
    asked.clear()
    answer, stopped = DemoJudge.answer, []

    def interrupted(self, questions):
        for k, said in answer(self, questions):
            if len(asked) == 101 and not stopped:
                stopped.append(asked.pop())  # heard, but never handed on
                raise KeyboardInterrupt
            yield k, said

    monkeypatch.setattr(DemoJudge, "answer", interrupted)
    assert rank(EXAMPLE, "--out", "s.csv") == 130
    error = capsys.readouterr().err
    assert "the 100 answers so far are in judgements.sqlite" in error
    assert "nothing twice" in error
    assert not Path("s.csv").exists()
    assert rank(EXAMPLE, "--out", "s.csv") == 0
    assert len(asked) == len(set(asked)) == 240
    assert Path("s.csv").read_text() == Path("whole.csv").read_text()


@pytest.mark.parametrize("expert", ["gaussian", "laplacian"])
def test_experts(folder, expert):
    arguments = ("--expert", expert, "--orders", "both", "--out", "s.csv", "--report", "r.html")
    assert rank(EXAMPLE, *arguments) == 0
    scores = pd.read_csv("s.csv")
    assert scores["id"].iloc[0].endswith("leaflet")
    assert scores["id"].iloc[-1].endswith("journal")


def test_a_dry_run_asks_nothing(folder, asked, capsys):
    assert rank(EXAMPLE, "--dry-run", "--report", "r.html") == 0
    out = capsys.readouterr().out
    assert "at most 240 calls" in out
    assert "tokens (words; the demo judge has no tokens)" in out
    assert len(asked) <= 64, "the demo measures itself, and keeps nothing"
    assert not Path("r.html").exists()
    assert not list(Path().glob("*.sqlite")), "no empty store is left behind"
    assert rank() == 0
    assert "240 asked now, 0 from the store" in capsys.readouterr().out


# Stopping --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (("--until-top", "8"), "probability of the top 8: "),
        (("--until-error", "0.4"), "largest standard error: "),
    ],
)
def test_a_rule_stops_before_the_budget(folder, asked, capsys, rule, reason):
    assert rank(EXAMPLE, *rule) == 0
    assert f"Stopped: {reason}" in capsys.readouterr().out
    assert 48 <= len(asked) < 240


# Texts of all kinds ----------------------------------------------------------------------


def test_copies_are_ranked_once_and_share_the_rank(folder, asked):
    rows = [("a", "The cat sat."), ("b", "Considerable deliberation."), ("c", "The cat sat.")]
    write("texts.csv", [*rows, ("d", "A tree is green.")])
    assert rank("texts.csv", "--out", "s.csv") == 0
    scores = pd.read_csv("s.csv", keep_default_na=False).set_index("id")
    assert scores.loc["c", "same_text_as"] == "a"
    assert scores.loc["a", "same_text_as"] == ""
    assert scores.loc["c", "score"] == scores.loc["a", "score"]
    assert scores.loc["c", "rank"] == scores.loc["a", "rank"]
    assert len(scores) == 4
    assert set(scores["rank"]) == {1, 2, 3}
    assert {name for pair in asked for name in pair} == {"a", "b", "d"}


def test_two_texts(folder, asked, capsys):
    write("two.csv", [("a", "The cat sat."), ("b", "The dog sat considerably.")])
    assert rank("two.csv", "--out", "s.csv", "--report", "r.html") == 0
    assert set(asked) == {("a", "b"), ("b", "a")}
    assert pd.read_csv("s.csv")["id"].tolist() == ["a", "b"]
    assert "have only 2 comparisons" in capsys.readouterr().out
    assert rank("two.csv", "--budget", "1") == 0
    assert "too few comparisons to tell a position bias" in capsys.readouterr().out


def test_contexts_are_ranked_by_themselves(folder, monkeypatch, capsys):
    rows = [
        (f"c{c}-{k}", "The " + "very " * k + "end.", f"Task {c}") for c in "xy" for k in range(4)
    ]
    write("texts.csv", rows, ("id", "text", "context"))
    seen, answer = [], DemoJudge.answer

    def listening(self, questions):
        seen.extend((q.context.text, q.first.id, q.second.id, q.text) for q in questions)
        return answer(self, questions)

    monkeypatch.setattr(DemoJudge, "answer", listening)
    arguments = ("--out", "s.csv", "--comparisons", "c.csv", "--context-name", "Assignment")
    assert rank("texts.csv", *arguments, "--report", "r.html") == 0
    assert len(seen) == 24
    for context, first, second, text in seen:
        assert first[:2] == second[:2] == f"c{context[-1]}"
        assert f"Assignment: {context}" in text
    scores = pd.read_csv("s.csv")
    assert scores.groupby("context")["rank"].apply(list).tolist() == [[1, 2, 3, 4]] * 2
    assert set(pd.read_csv("c.csv")["context"]) == {"context-1", "context-2"}
    assert "Context context-1" in capsys.readouterr().out


def test_agreement_with_people_is_reported(folder, capsys):
    people = np.random.default_rng(0).permutation(12).astype(float)
    rows = [(*row, score) for row, score in zip(some(12), people, strict=True)]
    rows[3] = (*rows[3][:2], "")
    write("texts.csv", rows, ("id", "text", "score"))
    assert rank("texts.csv", "--out", "s.csv", "--report", "r.html") == 0
    scores = pd.read_csv("s.csv").dropna(subset="gold")
    assert len(scores) == 11
    rho = scipy.stats.spearmanr(scores["score"], scores["gold"]).statistic
    r = scipy.stats.pearsonr(scores["score"], scores["gold"]).statistic
    said = f"the 11 scores by people: Spearman {rho:.2f}, Pearson {r:.2f}"
    assert said in capsys.readouterr().out
    assert f"Spearman; Pearson {r:.2f}; 11 texts" in Path("r.html").read_text()


# Judges that are difficult ---------------------------------------------------------------


def answering(monkeypatch, log_p):
    """Let the demo judge answer as told: a function of the question to log-probabilities."""
    monkeypatch.setattr(
        DemoJudge,
        "answer",
        lambda self, questions: ((k, Answer(log_p(q))) for k, q in enumerate(questions)),
    )


def test_a_judge_that_says_neither_label(folder, monkeypatch, capsys):
    nothing = (-np.inf, -np.inf)
    answering(monkeypatch, lambda q: nothing if q.first.id == "t1" else (-0.1, -3.0))
    write("texts.csv", some(5))
    assert rank("texts.csv") == 1
    error = capsys.readouterr().err
    assert "the judge said neither 'A' nor 'B': 't1 before t" in error
    assert "--undecided tie" in error
    assert rank("texts.csv", "--undecided", "tie", "--report", "r.html") == 0
    assert "they count as ties" in Path("r.html").read_text()


def test_decisions_without_doubt_need_a_prior(folder, monkeypatch, capsys):
    answering(monkeypatch, lambda q: (0.0, -np.inf) if q.first.id < q.second.id else (-np.inf, 0.0))
    write("texts.csv", some(5))
    assert rank("texts.csv") == 1
    error = capsys.readouterr().err
    assert "--prior 0.1 on the command line (nothing is asked again)" in error
    monkeypatch.setattr(DemoJudge, "answer", None)
    assert rank("texts.csv", "--prior", "0.1", "--budget", "10") == 0


def test_limits_keep_what_was_answered(folder, asked, capsys):
    assert rank(EXAMPLE, "--limit-calls", "60") == 1
    assert "limit of 60 calls is reached" in capsys.readouterr().err
    before = len(asked)
    assert 60 <= before < 240
    assert rank() == 0
    assert len(set(asked)) == 240
    assert rank(EXAMPLE, "--limit-tokens", "500", "--store", "new.sqlite") == 1
    assert "limit of 500 tokens" in capsys.readouterr().err


def test_a_limit_is_of_all_contexts_together(folder, asked):
    rows = [(*some(4)[k], task) for task in ("One", "Two") for k in range(4)]
    rows = [(f"{task}-{name}", text, task) for name, text, task in rows]
    write("texts.csv", rows, ("id", "text", "context"))
    assert rank("texts.csv", "--limit-calls", "15") == 1
    assert 15 <= len(asked) < 24


def test_a_store_of_another_judge_is_refused_by_name(folder, asked, capsys):
    assert rank() == 0
    before = len(asked)
    changed = ("--judge-option", "lean=0")
    assert rank(EXAMPLE, *changed) == 1
    error = capsys.readouterr().err
    assert "lean" in error
    assert "0.3" in error
    assert len(asked) == before, "refused before anything was asked"
    assert rank(EXAMPLE, *changed, "--several-judges") == 0
    assert len(asked) == 2 * before


# Bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "One."), ("a", "Two.")], "'a'"),
        ([("a", "One."), ("b", "One.")], "at least two different texts; 2 were given, 1 different"),
    ],
)
def test_texts_that_cannot_be_ranked(folder, asked, capsys, rows, message):
    write("texts.csv", rows)
    assert rank("texts.csv") == 1
    error = capsys.readouterr().err
    assert error.startswith("poe: texts.csv")
    assert message in error
    assert asked == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "gpt-4"), "there is no judge 'gpt-4': a judge is named"),
        (("--budget", "22"), "cannot link 24 texts: the fewest that do are 23"),
        (("--budget", "ten"), "(500), of calls a text (10x) or all, not 'ten'"),
        (("--until-top", "24"), "--until-top 24 says nothing of 24 different texts; at most 23"),
        (("--report", "missing/r.html"), "there is no folder missing"),
        (("--judge-option", "colour=red"), "no option 'colour'"),
    ],
)
def test_mistakes_are_named_before_anything_is_asked(folder, asked, capsys, options, message):
    assert rank(EXAMPLE, *options) == 1
    error = capsys.readouterr().err
    assert error.startswith("poe: ")
    assert message in error
    assert "Traceback" not in error
    assert asked == []


def test_a_missing_extra_is_named(folder, monkeypatch, capsys):
    monkeypatch.setattr("poe.judges.find_spec", lambda name: None)
    assert rank(EXAMPLE, judge="hf:some/model") == 1
    assert "judging-by-comparison[judge]" in capsys.readouterr().err
