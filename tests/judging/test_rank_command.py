"""`judging rank` as practitioners meet it: files in, a ranking out, nothing asked twice."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import judging
import poe
from judging.judges import Store
from judging.judges.demo import DemoJudge, reading_ease
from judging.practice.cli import main
from tests.asking import hear
from tests.helpers import read_csv

EXAMPLE = Path(__file__).resolve().parents[2] / "data" / "examples" / "explanations.csv"


@pytest.fixture
def asked(monkeypatch):
    """Every question that the demo judge answers, as (first, second) ids."""
    return hear(monkeypatch, DemoJudge, lambda asked: (asked.first.id, asked.second.id))


SIZES = [("One", 4), ("Two", 6), ("Three", 9)]


def rank(texts=EXAMPLE, *more, judge="demo", attribute="easier to read"):
    return main(["rank", str(texts), "--attribute", attribute, "--judge", judge, "--quiet", *more])


def write(path, rows, columns=("id", "text")):
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def some(count):
    """Different texts, some harder to read than others."""
    return [(f"t{k}", f"Number {k}: the " + "very " * (k % 9) + "usual end.") for k in range(count)]


# What comes out --------------------------------------------------------------------------


def test_the_example_from_texts_to_files(folder, asked, capsys):
    assert rank(EXAMPLE, "--report", "r.html", "--out", "s.csv", "--comparisons", "c.csv") == 0
    scores, made = pd.read_csv("s.csv"), pd.read_csv("c.csv")
    texts = pd.read_csv(EXAMPLE).set_index("id")["text"]
    assert sorted(scores["name"]) == sorted(texts.index)
    ease = [reading_ease(texts[name]) for name in scores["name"]]
    assert scipy.stats.spearmanr(scores["score"], ease).statistic > 0.95
    assert scores["rank"].tolist() == list(range(1, 25))
    assert (np.diff(scores["score"]) <= 0).all()
    assert scores["score"].sum() == pytest.approx(0, abs=1e-9)
    assert (scores["low"] < scores["score"]).all()
    assert (scores["score"] < scores["high"]).all()
    assert (scores["rank_low"] <= scores["rank"]).all()
    assert (scores["rank"] <= scores["rank_high"]).all()
    assert len(made) == 240 == len(asked) == len(set(asked))
    assert sorted(zip(made["first"], made["second"], strict=True)) == sorted(asked)
    degree = pd.concat([made["first"], made["second"]]).value_counts()
    assert scores.set_index("name")["comparisons"].to_dict() == degree.to_dict()
    shown = capsys.readouterr()
    assert "Judge: demo (readability), not a language model. " in shown.out
    assert "\n240 comparisons" in shown.out
    assert "240 asked now, 0 from the store" in shown.out
    assert shown.err == ""
    assert not list(folder.glob("*.part"))


def test_a_stopped_run_goes_on(folder, asked, monkeypatch, capsys):
    answer, stopped = DemoJudge.answer, []

    def interrupted(self, questions):
        for k, said in answer(self, questions):
            if len(asked) == 101 and not stopped:
                stopped.append(asked.pop())  # heard, but never handed on
                raise KeyboardInterrupt
            yield k, said

    monkeypatch.setattr(DemoJudge, "answer", interrupted)
    assert rank(EXAMPLE, "--out", "s.csv", "--report", "r.html") == 130
    error = capsys.readouterr().err
    assert "the 100 answers so far are in judgements.sqlite" in error
    assert "nothing twice" in error
    assert pd.read_csv("s.csv")["partial"].all(), "what there is is ranked, and called partial"
    assert (
        "because: Ctrl-C; this ranking is partial: 100 of 240 comparisons"
        in Path("r.html").read_text()
    )
    assert rank(EXAMPLE, "--out", "s.csv") == 0
    assert len(asked) == len(set(asked)) == 240


# Money -----------------------------------------------------------------------------------


def test_what_the_store_has_is_never_asked_whatever_it_was_asked_for(folder, asked, capsys):
    """Forty texts and four hundred answers; the first edition paid for 229 more calls."""
    rows = some(41)
    write("texts.csv", rows[:40])
    one = ("--orders", "one")  # what a pilot asks depends on the budget
    assert rank("texts.csv", "--budget", "300", *one) == 0
    later = ("--out", "one.csv", "--report", "later.html")
    assert rank("texts.csv", "--budget", "400", *one, *later) == 0
    assert len(set(asked)) == len(asked) == 400, "a larger budget builds on the smaller"
    capsys.readouterr()
    asked.clear()
    for other in (
        ("--set", "expert=gaussian", "--set", "rule=random"),
        ("--set", "prior=0.1"),
        ("--set", "seed=7"),
        ("--orders", "both"),
        ("--orders", "auto"),
    ):
        assert rank("texts.csv", "--budget", "400", *other) == 0
        assert "400 comparisons" in (out := capsys.readouterr().out), other
        assert "0 asked now, 400 from the store" in out, other
    write("shuffled.csv", [rows[k] for k in np.random.default_rng(1).permutation(40)])
    assert rank("shuffled.csv", "--budget", "400", *one, "--out", "two.csv") == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text(), "to the last digit"
    write("renamed.csv", [(f"x-{name}", text) for name, text in rows[:40]])
    assert rank("renamed.csv", "--budget", "400") == 0
    assert asked == []
    write("more.csv", rows)
    assert rank("more.csv", "--budget", "10x", "--dry-run") == 0
    assert "at most 10 calls; 400 answers are in judgements.sqlite" in capsys.readouterr().out
    assert asked == []
    assert rank("more.csv", "--budget", "10x") == 0
    assert len(asked) == 10
    assert all("t40" in pair for pair in asked), "one text more costs its own comparisons"
    asked.clear()
    write("fewer.csv", rows[:39])
    assert rank("fewer.csv", "--budget", "370") == 0
    assert asked == []


def test_both_orders_complete_what_was_asked_in_one(folder, asked):
    write("texts.csv", some(9))
    assert rank("texts.csv", "--budget", "20", "--set", "rule=random") == 0
    assert rank("texts.csv", "--budget", "50", "--orders", "both") == 0
    assert len(asked) == len(set(asked)) == 50
    assert all(pair[::-1] in asked for pair in asked)


def test_two_sets_of_texts_that_were_ranked_apart_are_linked(folder, asked):
    rows = some(20)
    for name, part in (("a.csv", rows[:10]), ("b.csv", rows[10:])):
        write(name, part)
        assert rank(name, "--budget", "60") == 0
    asked.clear()
    write("all.csv", rows)
    assert rank("all.csv", "--budget", "100") == 0
    assert len(asked) == 1, "the one link that a ranking of all needs, although 120 were stored"


def test_offline_the_judge_is_never_opened(folder, asked, monkeypatch, capsys):
    assert rank(EXAMPLE, "--out", "one.csv") == 0
    monkeypatch.setattr("judging.judges.open", None)
    monkeypatch.setattr(DemoJudge, "__init__", None)
    asked.clear()
    assert rank(EXAMPLE, "--offline", "--out", "two.csv", "--report", "r.html") == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert rank(EXAMPLE, "--offline", "--budget", "300", "--out", "three.csv") == 0
    assert "partial: 240 of 300 comparisons" in capsys.readouterr().out
    assert pd.read_csv("three.csv")["partial"].all()
    write("more.csv", [*pd.read_csv(EXAMPLE)[["id", "text"]].to_numpy(), ("new", "New words.")])
    assert rank("more.csv", "--offline") == 1
    error = capsys.readouterr().err
    assert "offline, and the store has too few answers to link all texts" in error
    assert "'new'" in error
    assert rank(EXAMPLE, "--offline", judge="openai:gpt@http://localhost/v1") == 1
    assert "is none of the judges in judgements.sqlite" in capsys.readouterr().err
    assert asked == []


def test_no_output_may_be_an_input_or_another_output(folder, asked, capsys):
    write("texts.csv", some(5))
    rows = Path("texts.csv").read_bytes()
    Path("link.csv").symlink_to("texts.csv")
    Path("hard.csv").hardlink_to("texts.csv")
    Path("sub").mkdir()
    for outputs in (
        ("--out", "texts.csv"),
        ("--out", "./sub/../texts.csv"),
        ("--report", str(folder / "texts.csv")),
        ("--comparisons", "link.csv"),
        ("--out", "hard.csv"),
        ("--out", "judgements.sqlite"),
        ("--out", "judgements.sqlite-journal"),
        ("--out", "s.sqlite", "--store", "s.sqlite"),
        ("--out", "a", "--report", "./a"),
    ):
        assert rank("texts.csv", *outputs) == 1, outputs
        assert "would overwrite" in capsys.readouterr().err
    assert asked == []
    assert Path("texts.csv").read_bytes() == rows
    assert sorted(path.name for path in folder.iterdir()) == [
        "hard.csv",
        "link.csv",
        "sub",
        "texts.csv",
    ]


def test_a_dry_run_asks_nothing_and_a_price_is_told_before_and_after(folder, capsys):
    write("texts.csv", some(6))
    price = ("--price", "0.5,2")
    dry = ("--budget", "20", "--dry-run", "--report", "r.html")
    assert rank("texts.csv", *dry) == 0
    assert "tokens (words, since the demo judge has no tokens, " in capsys.readouterr().out
    assert rank("texts.csv", *dry, *price, "--json") == 0
    assert [path.name for path in folder.iterdir()] == ["texts.csv"], "not even an empty store"
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["calls"], row["stored"]) == (20, 0)
    assert row["cost"] == pytest.approx((row["tokens"] * 0.5 + 20 * 2) / 1e6)
    assert rank("texts.csv", "--budget", "20", *price, "--report", "r.html") == 0
    with Store("judgements.sqlite") as store:
        tokens = store.table()["tokens"].sum()
    said = f"20 calls, {tokens:,} tokens read and at most 20 written, "
    said += f"${(tokens * 0.5 + 20 * 2) / 1e6:.4f} at $0.5 and $2 a million"
    assert said in capsys.readouterr().out
    assert said in Path("r.html").read_text()


def test_several_attributes_and_judges_are_rankings_of_one_run(folder, asked, capsys):
    write("texts.csv", some(6))
    more = ("--attribute", "clearer", "--budget", "31", "--out", "s.csv", "--report", "r.html")
    assert rank("texts.csv", *more, "--comparisons", "c.csv") == 0
    out = capsys.readouterr().out
    assert "Attribute easier to read\n" in out
    assert "Attribute clearer\n" in out
    assert len(asked) == 31
    assert pd.read_csv("s.csv").groupby("attribute").size().to_dict() == {
        "easier to read": 6,
        "clearer": 6,
    }
    assert pd.read_csv("c.csv").groupby("attribute").size().tolist() == [15, 16]
    page = Path("r.html").read_text()
    assert "ranked: easier to read and clearer" in page
    assert ">Attribute clearer" in page
    assert rank("texts.csv", "--attribute", "easier to read", "--judge", "demo") == 0, "once is all"
    assert "Attribute" not in capsys.readouterr().out


def test_json_has_everything_and_is_all_there_is(folder, capsys):
    rows = [(f"{task}-{name}", text, task) for name, text in some(8) for task in "xy"]
    write("texts.csv", rows, ("id", "text", "context"))
    assert rank("texts.csv", "--json", "--out", "s.csv", "--report", "r.html") == 0
    streams = capsys.readouterr()
    found = json.loads(streams.out)
    assert streams.err == ""
    assert (found["calls"], found["from_store"]) == (112, 0)
    table = read_csv("s.csv")
    for one in found["rankings"]:
        theirs = table[table["context"] == one["context"]]
        assert [row["name"] for row in one["texts"]] == theirs["name"].tolist()
        assert [row["score"] for row in one["texts"]] == theirs["score"].tolist()
        assert (one["attribute"], one["partial"]) == ("easier to read", False)
        assert one["judge"]["kind"] == "demo"


def test_the_command_and_the_package_are_the_same_call(folder, capsys):
    assert rank(EXAMPLE, "--out", "s.csv", "--set", "seed=3") == 0
    found = judging.rank(EXAMPLE, "demo", attribute="easier to read", seed=3, progress=False)
    frame = found.to_frame()
    pd.testing.assert_frame_equal(
        pd.read_csv("s.csv", keep_default_na=False), frame, check_dtype=False, rtol=1e-14
    )
    with Store("judgements.sqlite") as store:
        again = poe.fit(store.comparisons(), bias="fit")
    order = [again.items.index(name) for name in frame["name"]]
    np.testing.assert_allclose(again.scores[order], frame["score"], atol=1e-8)
    np.testing.assert_allclose(again.interval()[order, 0], frame["low"], atol=1e-6)


# Stopping --------------------------------------------------------------------------------


def test_a_rule_stops_before_the_budget(folder, asked, capsys):
    assert rank(EXAMPLE, "--until-top", "8") == 0
    assert "is known (probability of the top 8: " in capsys.readouterr().out
    assert 48 <= len(asked) < 240


# Texts of all kinds ----------------------------------------------------------------------


def test_copies_are_ranked_once_and_share_the_rank(folder, asked):
    rows = [("a", "The cat sat."), ("b", "Considerable deliberation."), ("c", "The cat sat.")]
    write("texts.csv", [*rows, ("d", "A tree is green.")])
    assert rank("texts.csv", "--out", "s.csv") == 0
    scores = pd.read_csv("s.csv", keep_default_na=False).set_index("name")
    assert scores.loc["c", "same_text_as"] == "a"
    assert scores.loc["a", "same_text_as"] == ""
    assert scores.loc["c", "score"] == scores.loc["a", "score"]
    assert scores.loc["c", "rank"] == scores.loc["a", "rank"]
    assert len(scores) == 4
    assert set(scores["rank"]) == {1, 2, 3}
    assert {name for pair in asked for name in pair} == {"a", "b", "d"}


def test_contexts_are_ranked_by_themselves(folder, monkeypatch, capsys):
    rows = [
        (f"c{c}-{k}", "The " + "very " * k + "end.", f"Task {c}") for c in "xy" for k in range(4)
    ]
    write("texts.csv", rows, ("id", "text", "context"))
    said = hear(monkeypatch, DemoJudge, lambda q: (q.context.text, q.first.id, q.second.id, q.text))
    arguments = ("--out", "s.csv", "--comparisons", "c.csv")
    assert rank("texts.csv", *arguments, "--report", "r.html") == 0
    assert len(said) == 24
    for context, first, second, text in said:
        assert first[:2] == second[:2] == f"c{context[-1]}"
        assert f"Context: {context}" in text
    scores = pd.read_csv("s.csv")
    assert scores.groupby("context")["rank"].apply(list).tolist() == [[1, 2, 3, 4]] * 2
    assert set(pd.read_csv("c.csv")["context"]) == {"context-1", "context-2"}
    assert "Context context-1" in capsys.readouterr().out


def test_agreement_with_people_is_reported(folder, capsys):
    people = np.random.default_rng(0).permutation(12).astype(float)
    rows = [(*row, score) for row, score in zip(some(12), people, strict=True)]
    rows[3] = (*rows[3][:2], "")
    write("texts.csv", rows, ("id", "text", "score"))
    assert rank("texts.csv", "--out", "s.csv", "--report", "r.html", "--verbose") == 0
    scores = pd.read_csv("s.csv").dropna(subset="gold")
    assert len(scores) == 11
    rho = scipy.stats.spearmanr(scores["score"], scores["gold"]).statistic
    r = scipy.stats.pearsonr(scores["score"], scores["gold"]).statistic
    said = f"the 11 scores by people: Spearman {rho:.2f}, Pearson {r:.2f}"
    assert said in capsys.readouterr().out
    assert f"Spearman; Pearson {r:.2f}; 11 texts" in Path("r.html").read_text()


# Judges that are difficult ---------------------------------------------------------------


def test_a_limit_gives_a_partial_ranking_and_keeps_what_was_answered(folder, asked, capsys):
    assert rank(EXAMPLE, "--set", "limit-tokens=5000", "--out", "s.csv", "--report", "r.html") == 3
    out = capsys.readouterr().out
    assert "this ranking is partial" in out
    assert "this ranking is partial" in Path("r.html").read_text()
    scores = pd.read_csv("s.csv")
    assert scores["partial"].all()
    assert len(scores) == 24
    with Store("judgements.sqlite") as store:
        assert 4500 < store.table()["tokens"].sum() <= 5000
    assert rank() == 0
    assert len(asked) == len(set(asked)) == 240


def test_a_limit_and_a_budget_are_of_all_contexts_together(folder, asked, capsys):
    rows = [(f"{task}-{k}", f"{task} {some(9)[k][1]}", task) for task, n in SIZES for k in range(n)]
    write("texts.csv", rows, ("id", "text", "context"))
    assert rank("texts.csv", "--limit-calls", "15", "--store", "a.sqlite") == 3
    assert len(asked) == 15
    assert "stopped before 'easier to read, context-2', " in (out := capsys.readouterr().out)
    assert "could be ranked: the limit of 15 calls is reached" in out
    for budget, shares in (("61", [12, 20, 29]), ("2x", [8, 12, 18]), ("all", [12, 30, 72])):
        asked.clear()
        assert rank("texts.csv", "--budget", budget, "--store", f"{budget}.sqlite") == 0
        made = [sum(first.startswith(task) for first, _ in asked) for task, _ in SIZES]
        assert made == shares
    asked.clear()
    assert rank("texts.csv", "--budget", "61", "--orders", "both", "--store", "b.sqlite") == 0
    assert len(asked) == 60


# Bad input -------------------------------------------------------------------------------
