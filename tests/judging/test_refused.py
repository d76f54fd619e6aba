"""Questions that a judge will never answer: left out, named, kept, and asked again on request."""

import json

import numpy as np
import pytest

import judging
import poe
from judging import Asking
from judging.errors import JudgeError
from judging.judges import Answer, Store, Text
from judging.judges.server import http
from judging.practice.asking.limits import HOPELESS
from judging.practice.ranking.readings import next_pairs
from judging.question import Reader
from tests.judge_server import Raw, serving


@pytest.fixture(autouse=True)
def soon_again(monkeypatch):
    """How long a retry waits is another file's subject."""
    monkeypatch.setattr(http, "pause", lambda tried: 0.01)


N = 12
QUALITY = np.linspace(2.0, -2.0, N)
TEXTS = [Text(f"n{k}", f"text {k} of quality {q:+.3f}") for k, q in enumerate(QUALITY)]


class Choosy(Reader):
    """Answers by the number in a text, and refuses what `refuses(first, second)` says."""

    def __init__(self, refuses):
        self.specification = {"kind": "own", "model": "choosy"}
        self.refuses, self.asked = refuses, []

    def answer(self, questions):
        for k, question in enumerate(questions):
            first, second = question.first, question.second
            self.asked.append((first.id, second.id))
            if self.refuses(first.id, second.id):
                yield k, Answer.refusal(question.prompt, "the content filter", tokens=3)
                continue
            d = float(first.text.split()[-1]) - float(second.text.split()[-1])
            yield k, Answer((-np.log1p(np.exp(-d)), -np.log1p(np.exp(d))), tokens=9)


def poisoned(*names):
    return Choosy(lambda first, second: first in names or second in names)


def ranked(judge, store=None, **asking):
    return judging.rank(
        TEXTS, judge, attribute="better", budget="6x", store=store, asking=Asking(**asking)
    )


@pytest.mark.parametrize("orders", ["one", "both", "auto"])
@pytest.mark.parametrize("rule", ["adaptive", "greedy", "random", "reordering"])
def test_one_text_that_is_refused_leaves_the_others_ranked(rule, orders):
    judge = poisoned("n4")
    found = ranked(judge, rule=rule, orders=orders)
    assert not found.partial
    assert found.fit.ranking() == [text.id for text in TEXTS if text.id != "n4"]
    assert dict(found.left_out) == {"n4": "the content filter"}
    spent = sum("n4" in pair for pair in judge.asked)
    assert spent == found.refused < 12  # those of the first round, and not again and again
    assert len(judge.asked) == len({*judge.asked}) == 6 * N  # tried, counted, nothing twice
    assert len(found.comparisons) == 6 * N - spent
    assert len(found.answers()) == len(found.comparisons)


def test_the_ranking_is_that_of_the_answers_there_are():
    found = ranked(poisoned("n4"), orders="one")
    c = found.comparisons
    alone = poe.fit(c, bias="fit", covariance="paired")
    np.testing.assert_allclose(found.fit.scores, alone.scores, atol=1e-9)
    assert "n4" not in c.items


def test_single_pairs_that_are_refused_are_not_asked_again_and_widen_intervals():
    taboo = {frozenset((f"n{i}", f"n{j}")) for i in range(6) for j in range(6, N)} - {
        frozenset(("n0", "n6"))
    }
    judge = Choosy(lambda first, second: frozenset((first, second)) in taboo)
    found = ranked(judge, orders="one")
    assert not found.left_out
    assert len(found.fit.items) == N
    assert found.refused > 0
    assert len({*judge.asked}) == len(judge.asked)
    pairs = {
        frozenset(pair) for pair in found.comparisons.to_table()[["first", "second"]].to_numpy()
    }
    assert not pairs & taboo
    free = ranked(Choosy(lambda *_: False), orders="one")
    assert found.fit.standard_errors().mean() > free.fit.standard_errors().mean()


def test_a_wall_between_two_halves_keeps_the_larger_one():
    low = {f"n{k}" for k in range(8, N)}
    judge = Choosy(lambda first, second: (first in low) != (second in low))
    found = ranked(judge, orders="one")
    assert {*found.left_out} == low
    assert found.fit.ranking() == [f"n{k}" for k in range(8)]


def test_refusals_stay_in_the_store_until_asked_for(tmp_path):
    path = tmp_path / "s.sqlite"
    first = ranked(judge := poisoned("n4"), store=path, orders="one")
    again = ranked(other := poisoned("n4"), store=path, orders="one")
    assert judge.asked
    assert not other.asked
    np.testing.assert_allclose(first.fit.scores, again.fit.scores, atol=1e-8)  # another order
    assert again.left_out == first.left_out
    assert again.refused == first.refused
    kind = ranked(willing := Choosy(lambda *_: False), store=path, orders="one", retry_refused=True)
    assert not kind.left_out
    assert len(kind.fit.items) == N
    assert {name for pair in willing.asked for name in pair} >= {"n4"}


def test_an_answer_takes_the_place_of_a_refusal_and_never_the_other_way(tmp_path):
    question = TEXTS[0], TEXTS[1]

    def asked(store, judge):
        from judging import prompts
        from judging.judges import Question

        return store.ask(judge, [Question(prompts.for_attribute("better"), *question)])[0]

    with Store(tmp_path / "no.sqlite") as store:
        assert asked(store, poisoned("n0")).refused == "the content filter"
        assert np.isnan(store.table()["p"]).all()
        assert store.table()["refused"].tolist() == ["the content filter"]
        assert asked(store, Choosy(lambda *_: False)).refused  # nothing is asked twice
    with Store(tmp_path / "yes.sqlite") as store:
        answer = asked(store, Choosy(lambda *_: False))
        assert store.merge(tmp_path / "no.sqlite")[:3] == (0, 0, 0)
        assert asked(store, poisoned("n0")) == answer
    with Store(tmp_path / "no.sqlite") as store:
        assert store.merge(tmp_path / "yes.sqlite").added == 1
        assert asked(store, poisoned("n0")) == answer
        assert store.forget_refused(poisoned()) == 0


def test_tie_and_stop():
    tied = ranked(poisoned("n4"), orders="one", unanswered="tie")
    assert len(tied.fit.items) == N
    assert not tied.refused
    assert (tied.comparisons.p == 0.5).sum() >= HOPELESS
    with pytest.raises(JudgeError, match=r"refused .* of .* comparisons: .*n4.*the content filter"):
        ranked(poisoned("n4"), orders="one", unanswered="stop")


def test_a_judge_that_refuses_everything_is_told_so():
    with pytest.raises(JudgeError, match=r"refused every comparison of .*the content filter"):
        ranked(Choosy(lambda *_: True))


@pytest.mark.parametrize("orders", ["one", "both"])
def test_what_was_refused_is_not_what_to_ask_next(orders):
    """Six texts, everything asked but what two of them refuse of each other: nothing is left."""
    bad = {"n0", "n1"}
    judge = Choosy(lambda first, second: {first, second} == bad)
    found = judging.rank(
        TEXTS[:6], judge, attribute="better", budget="all", asking=Asking(orders=orders)
    )
    names = found.fit.items
    kept = {(names[i], names[j]) for i, j in found.refused_pairs}
    assert kept <= {("n0", "n1"), ("n1", "n0")}
    assert len(kept) == found.refused > 0
    assert next_pairs(found, 10) == []


def test_a_rule_for_more_texts_than_are_left_does_not_end_a_paid_run():
    found = judging.rank(
        TEXTS[:5],
        poisoned("n4"),
        attribute="better",
        budget="all",
        until=poe.top_known(4, 0.999999),
    )
    assert [*found.left_out] == ["n4"]
    assert len(found.fit.items) == 4


def test_what_is_left_is_told_and_nothing_refused_among_it():
    refuses = {("n0", "n1"), ("n1", "n0"), ("n2", "n5"), ("n5", "n2"), ("n7", "n3")}
    found = ranked(Choosy(lambda first, second: (first, second) in refuses), orders="one")
    names = found.fit.items
    asked = {(names[i], names[j]) for i, j in found.comparisons.pairs.tolist()}
    turned = {(b, a) for a, b in refuses}
    more = [(a, b) for a, b, _ in next_pairs(found, N * (N - 1))]
    assert len({*more}) == len(more) > 20
    assert not {*more} & asked
    back = {(names[i], names[j]) for i, j in found.refused_pairs}
    assert back
    assert not {*more} & {order for a, b in back for order in ((a, b), (b, a))}
    assert back <= refuses | turned


def test_many_refused_texts_at_once():
    names = ("n1", "n3", "n5", "n7")
    found = ranked(poisoned(*names))
    assert {*found.left_out} == {*names}
    assert found.fit.ranking() == [text.id for text in TEXTS if text.id not in names]


# Behind a server --------------------------------------------------------------------------------


def poison(fault):
    return lambda k, body: fault if "POISON" in json.dumps(body) else None


def table(tmp_path, count=30, bad=(7,)):
    path = tmp_path / "t.csv"
    rows = [f'n{k},"{"POISON " if k in bad else ""}text number {k}"' for k in range(count)]
    path.write_text("id,text\n" + "\n".join(rows) + "\n")
    return path


def ranking_of(path, url):
    return (
        *("rank", path, "--attribute", "better", "--judge", f"openai:tiny@{url}"),
        *("--budget", "4x", "--store", path.with_suffix(".sqlite"), *PATIENT),
    )


PATIENT = ("--judge-option", "patience=2", "--quiet")


REFUSALS = {
    "a content filter": "400",
    "too long": "413",
    "forbidden by a policy": "403",
    "a crash of the server": "500",
    "no log-probabilities": "no-logprobs",
    "a refusal": json.dumps(
        {
            "model": "tiny-served",
            "choices": [{"message": {"content": None, "refusal": "I cannot."}, "logprobs": None}],
            "usage": {"prompt_tokens": 9},
        }
    ).encode(),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_one_poisoned_text_of_thirty_does_not_end_a_run(fault, tmp_path, run):
    path = table(tmp_path)
    with serving(poison(fault)) as server:
        status, out, err = run(*ranking_of(path, server.url), "--json")
        asked = len(server.requests)
        assert run(*ranking_of(path, server.url), "--json")[0] == status == 0, err
        assert len(server.requests) == asked  # not asked again
    (found,) = json.loads(out)["rankings"]
    assert {*found["left_out"]} == {"n7"}
    assert len(found["texts"]) == 29
    assert "n7" not in {text["name"] for text in found["texts"]}
    assert any("n7" in note for note in found["notes"])


def test_the_report_names_who_was_left_out(tmp_path, run):
    path = table(tmp_path)
    with serving(poison("400")) as server:
        status, out, _ = run(*ranking_of(path, server.url), "--report", tmp_path / "r.html")
    assert status == 0
    assert "Note: left out, because the judge answers nothing about them: n7 (400: you sent" in out
    assert "Note: left out, because the judge answers nothing about them: n7" in (
        tmp_path / "r.html"
    ).read_text("utf-8")


def test_a_server_that_refuses_everything_is_an_error_of_the_set_up(tmp_path, run):
    with serving(lambda k, body: "400") as server:
        status, _, err = run(*ranking_of(table(tmp_path), server.url))
    assert status == 1
    assert "refuses the request (400)" in err
    assert len(server.requests) == 10
    with Store(tmp_path / "t.sqlite") as store:
        assert len(store) == 0  # nothing is believed of a server that never answered


def test_a_server_that_begins_to_refuse_everything_ends_the_run(tmp_path, run):
    one = ("--judge-option", "concurrency=1")
    with serving(lambda k, body: "400" if k >= 40 else None) as server:
        status, _, err = run(*ranking_of(table(tmp_path), server.url), *one)
    assert status == 1
    assert "refuses the request (400)" in err
    assert len(server.requests) == 50
    with Store(tmp_path / "t.sqlite") as store:
        assert (store.table()["refused"] == "").sum() == 40


def test_what_is_asked_without_ranking_names_what_was_refused(tmp_path, run):
    path = table(tmp_path)
    with serving(poison("400")) as server:
        status, out, err = run(
            *("ask", path, "better", "--judge", f"openai:tiny@{server.url}", "--budget", 60),
            *("--store", tmp_path / "s.sqlite", "--quiet"),
        )
    assert status == 0, err
    assert "questions were refused by the judge, such as prompt 'own/better" in out
    assert "--set retry-refused" in out


def test_a_system_of_which_everything_is_refused_leaves_the_board(tmp_path, run):
    path = tmp_path / "answers.csv"
    rows = [
        f"{system},prompt {k},{'POISON' if system == 'bad' else ''} answer {k} of {system}"
        for system in ("new", "old", "bad")
        for k in range(12)
    ]
    path.write_text("system,prompt,answer\n" + "\n".join(rows) + "\n")
    with serving(poison("400")) as server:
        status, out, err = run(
            *("leaderboard", path, "--judge", f"openai:tiny@{server.url}", "--attribute", "better"),
            *("--store", tmp_path / "s.sqlite", "--json", *PATIENT),
        )
    assert status == 0, err
    found = json.loads(out)
    assert {row["name"] for row in found["systems"]} == {"new", "old"}
    assert any("nothing about them was answered: bad" in note for note in found["notes"])


def test_a_reply_that_is_too_large_costs_its_own_question(tmp_path, run, monkeypatch):
    """It is tried again as others are, and recorded as what a question fails at."""
    monkeypatch.setattr(http, "LARGEST", 2**14)
    path = table(tmp_path)
    large = Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + bytes(40_000))
    with serving(poison(large)) as server:
        status, out, err = run(*ranking_of(path, server.url), "--json")
    assert status == 0, err
    (found,) = json.loads(out)["rankings"]
    assert {*found["left_out"]} == {"n7"}
    assert "MB, which is no judgement; check the URL" in found["left_out"]["n7"]
