"""Batches: requests as providers take them, results in any order and state, rounds to a ranking."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from judging.errors import JudgeError, NoJudgeError
from judging.judges.server import ServerJudge
from judging.practice.batch import BatchJudge, import_results
from judging.practice.cli import main
from judging.question import Prompt, Question, Text
from judging.store import Store
from tests.asking import HashJudge, questions
from tests.helpers import Forked
from tests.judge_server import complete, serving

NOWHERE = "http://127.0.0.1:9/v1"  # nothing listens there: what is asked here, fails
JUDGE = f"openai:tiny@{NOWHERE}"


def result(request, rng=None, fault="", detail=""):
    """A line of results, by the stand-in for a server."""
    body = complete(request["body"], rng or np.random.default_rng(0), fault, detail)
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def asked(tmp_path):
    """A store, the requests of a batch, and its questions: 2 contexts of 5 texts, all pairs."""
    store, judge = Store(tmp_path / "s.sqlite"), BatchJudge(ServerJudge("tiny", NOWHERE))
    wanted = questions(5, contexts=2)
    with pytest.raises(JudgeError, match="40 questions wait for a batch"):
        store.ask(judge, wanted)
    judge.write(tmp_path / "requests.jsonl", store)
    yield store, lines(tmp_path / "requests.jsonl"), wanted
    store.close()


def test_requests_have_the_form_that_providers_and_vllm_take(asked):
    """custom_id unique and of at most 64 characters, method, url, body with model and messages."""
    _, requests, wanted = asked
    assert [one["custom_id"] for one in requests] == [question.key for question in wanted]
    assert len({one["custom_id"] for one in requests}) == 40
    for one, question in zip(requests, wanted, strict=True):
        assert list(one) == ["custom_id", "method", "url", "body"]
        assert len(one["custom_id"]) <= 64
        assert (one["method"], one["url"]) == ("POST", "/v1/chat/completions")
        body = one["body"]
        assert body == ServerJudge("tiny", NOWHERE).options.body(question, "tiny")
        assert (body["model"], body["max_tokens"]) == ("tiny", 1)
        assert body["logprobs"] is True
        assert all(set(turn) == {"role", "content"} for turn in body["messages"])


def test_a_text_under_two_names_is_one_request_and_answers_both(tmp_path):
    """Providers refuse a file with a custom_id twice, and would be paid twice for the same."""
    prompt = Prompt("which", "{first} or {second}?")
    names = [("x", "the same"), ("y", "another"), ("z", "the same")]
    x, y, z = (Text(name, text) for name, text in names)
    wanted = [Question(prompt, x, y), Question(prompt, z, y), Question(prompt, y, z)]
    with Store(tmp_path / "s.sqlite") as store:
        judge = BatchJudge(ServerJudge("tiny", NOWHERE))
        for some in (wanted[:1], wanted[1:]):  # of two rankings that share a file
            with pytest.raises(JudgeError, match="wait"):
                store.ask(judge, some)
        judge.write(tmp_path / "q.jsonl", store)
        requests = lines(tmp_path / "q.jsonl")
        assert [one["custom_id"] for one in requests] == [wanted[0].key, wanted[2].key]
        import_results(store, written(tmp_path / "r.jsonl", map(result, requests)))
        one, other, _ = store.ask(ServerJudge("tiny", NOWHERE), wanted)
        assert one == other
        assert sorted(store.table()["first"]) == ["x", "y", "z"]


def test_a_batch_too_large_for_a_provider_is_in_several_files(asked, tmp_path, monkeypatch):
    store, requests, wanted = asked
    judge = BatchJudge(ServerJudge("tiny", NOWHERE))
    with pytest.raises(JudgeError, match="wait"):
        store.ask(judge, wanted)
    monkeypatch.setattr("judging.practice.batch.MAX_REQUESTS", 15)
    paths = judge.write(tmp_path / "many.jsonl", store)
    assert [path.name for path in paths] == ["many.jsonl", "many-2.jsonl", "many-3.jsonl"]
    assert [len(lines(path)) for path in paths] == [15, 15, 10]
    monkeypatch.setattr("judging.practice.batch.MAX_BYTES", 5000)
    paths = judge.write(tmp_path / "small.jsonl", store)
    assert all(path.stat().st_size <= 5000 for path in paths)
    assert [one for path in paths for one in lines(path)] == requests


def test_answers_by_file_are_those_by_call(asked, tmp_path):
    """The same stand-in behind a server: equal to the bit, for one judge and one store."""
    store, requests, wanted = asked
    mixed = list(np.random.default_rng(1).permutation(np.array(requests, dtype=object)))
    found = import_results(store, written(tmp_path / "r.jsonl", map(result, mixed)))
    assert (found.added, found.same, found.unknown) == (40, 0, 0)
    judge = ServerJudge("tiny", NOWHERE)
    by_file = store.ask(judge, wanted)  # nobody is there, and nobody is needed
    with serving() as served, Store(":memory:") as other:
        by_call = other.ask(ServerJudge("tiny", served.url), wanted)
    assert [one.log_p for one in by_file] == [one.log_p for one in by_call]
    assert [one.tokens for one in by_file] == [one.tokens for one in by_call]
    assert judge.specification["served"] == "tiny-served"


def test_results_in_parts_twice_and_partly_failed(asked, tmp_path):
    store, requests, wanted = asked
    good = [result(one) for one in requests]
    failed = [
        {"id": "x", "custom_id": requests[0]["custom_id"], "response": None,
         "error": {"code": "batch_expired", "message": "it took too long"}},
        {"id": "x", "custom_id": requests[1]["custom_id"], "error": None,
         "response": {"status_code": 400, "body": {"error": {"message": "content filter"}}}},
        {"custom_id": requests[2]["custom_id"], "response": {"status_code": 200, "body": "x"}},
        {"custom_id": "of nobody", "response": good[0]["response"], "error": None},
        result(requests[3], fault="no-logprobs"),
    ]  # fmt: skip
    part = written(tmp_path / "one.jsonl", [*failed, *good[10:30], *good[20:30]])
    part.write_text(part.read_text() + '{"custom_id": "cut in the mid')
    found = import_results(store, part)
    assert (found.added, found.same, found.unknown) == (20, 0, 1)
    assert sum(found.failed.values()) == 5
    told = "; ".join(found.failed)
    for reason in ("it took too long", "content filter", "no log-probabilities", "no result"):
        assert reason in told
    judge = BatchJudge(ServerJudge("tiny", NOWHERE))
    assert found.refused == 1
    assert len(store.missing(judge, wanted)) == 19, "what failed is asked again, but no refusal"
    again = import_results(store, part)
    assert (again.added, again.same, again.differ) == (0, 20, 0)
    rest = import_results(store, written(tmp_path / "two.jsonl", good))
    assert (rest.added, rest.same, len(store)) == (20, 20, 40)


def test_answers_of_two_models_are_never_mixed(asked, tmp_path):
    store, requests, _ = asked
    some = [result(one) for one in requests[:10]]
    some += [result(one, fault="model", detail="tiny-2026") for one in requests[10:]]
    path = written(tmp_path / "r.jsonl", some)
    with pytest.raises(JudgeError, match=r"several models: tiny-2026 \(30\), tiny-served \(10\)"):
        import_results(store, path)
    assert len(store) == 0
    found = import_results(store, path, model="tiny-2026")
    assert (found.added, dict(found.others)) == (30, {"tiny-served": 10})
    later = import_results(store, written(tmp_path / "t.jsonl", some[:10]))
    assert (later.added, dict(later.others)) == (0, {"tiny-served": 10}), "the store has a model"
    assert {one["served"] for one in store.specifications().values()} == {"tiny-2026"}


def test_an_answer_that_differs_leaves_the_stores_own(asked, tmp_path):
    store, requests, wanted = asked
    import_results(store, written(tmp_path / "a.jsonl", map(result, requests)))
    before = [one.log_p for one in store.ask(ServerJudge("tiny", NOWHERE), wanted)]
    others = [result(one) for one in requests]
    others[3]["response"]["body"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []
    found = import_results(store, written(tmp_path / "b.jsonl", others))
    assert (found.same, found.differ) == (39, 1)
    assert [o.log_p for o in store.ask(ServerJudge("tiny", NOWHERE), wanted)] == before


def test_sampled_answers_are_counted(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        judge = BatchJudge(ServerJudge("tiny", NOWHERE, draws=8))
        wanted = questions(3)
        with pytest.raises(JudgeError, match="wait"):
            store.ask(judge, wanted)
        judge.write(tmp_path / "q.jsonl", store)
        requests, rng = lines(tmp_path / "q.jsonl"), np.random.default_rng(4)
        assert requests[0]["body"]["n"] == 8
        rows = [result(one, rng) for one in requests]
        rows[0] = result(requests[0], rng, "one-choice")
        found = import_results(store, written(tmp_path / "r.jsonl", rows))
        assert found.added == 5
        assert list(found.failed) == ["fewer answers than the 8 draws asked for"]
        (one,) = store.ask(ServerJudge("tiny", NOWHERE, draws=8), wanted[1:2])
        assert one.draws == 8
        assert np.exp(one.log_p[0]) * 8 == pytest.approx(round(np.exp(one.log_p[0]) * 8))


@pytest.mark.parametrize("other", [("gpt-4o-mini", {}), ("gpt-4o", {"draws": 4})])
def test_a_store_waits_for_the_batches_of_one_judge(tmp_path, other):
    """Results would not tell whose they are, so that another judge takes another store."""
    wanted, (name, options) = questions(3), other
    with Store(tmp_path / "s.sqlite", several=True) as store:
        first = BatchJudge(ServerJudge("gpt-4o", NOWHERE))
        with pytest.raises(JudgeError, match="wait"):
            store.ask(first, wanted)
        (path,) = first.write(tmp_path / "one.jsonl", store)
        second = BatchJudge(ServerJudge(name, NOWHERE, **options))
        with pytest.raises(JudgeError, match="wait"):
            store.ask(second, wanted)
        with pytest.raises(JudgeError, match="name another store"):
            second.write(tmp_path / "q.jsonl", store)
        assert not (tmp_path / "q.jsonl").exists()
        rows = [result(one, fault="model", detail="gpt-4o-2026") for one in lines(path)]
        written(tmp_path / "one.results", rows)
        assert import_results(store, tmp_path / "one.results").added == 6
        judge = ServerJudge("gpt-4o", NOWHERE)
        store.ask(judge, wanted)
        assert judge.specification["served"] == "gpt-4o-2026"


def test_only_a_server_has_batches_and_only_a_file_waits(tmp_path):
    with pytest.raises(NoJudgeError, match="model behind a server"):
        BatchJudge(HashJudge())
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(JudgeError, match="there is no"):
        import_results(store, tmp_path / "r.jsonl")


# Rankings in rounds -----------------------------------------------------------------------------


def rounds(command, store, tmp_path, *, lose=0.0, lost=0, most=12):
    """Run a command until it is done, its batches answered by the stand-in; how many it wrote.

    lose : the share of answers that are lost; lost : how many of the second file are, the last.
    """
    rng, sent = np.random.default_rng(2), []
    for _ in range(most):
        path = tmp_path / "requests.jsonl"
        path.unlink(missing_ok=True)
        status = main([*command, "--batch", str(path), "--store", str(store), "--quiet"])
        if status != 4:
            assert status == 0
            return sent
        requests = lines(path)
        sent.append([one["custom_id"] for one in requests])
        kept = [one for one in requests if rng.random() >= lose]
        kept = kept[: len(kept) - lost] if len(sent) == 2 else kept
        written(tmp_path / "results.jsonl", map(result, kept))
        assert (
            main(["store", "import", str(tmp_path / "results.jsonl"), "--store", str(store)]) == 0
        )
    raise AssertionError("it never ends")


@pytest.fixture
def texts(tmp_path):
    table = pd.DataFrame({"id": [f"t{k}" for k in range(20)]})
    table["text"] = [f"the text number {k}" for k in range(20)]
    table.to_csv(tmp_path / "texts.csv", index=False)
    return tmp_path / "texts.csv"


@pytest.mark.parametrize(("more", "files"), [((), 2), (("1",), 1), (("3",), 3)])
def test_a_ranking_takes_two_rounds_or_as_many_as_are_set(texts, tmp_path, more, files):
    command = ["rank", str(texts), "--attribute", "better", "--judge", JUDGE, "--budget", "10x"]
    command += [part for count in more for part in ("--set", f"rounds={count}")]
    sent = rounds(command, tmp_path / "s.sqlite", tmp_path)
    assert len(sent) == files
    assert sum(map(len, sent)) == len({key for one in sent for key in one}) == 200


def test_lost_answers_are_asked_again_and_no_others_but_not_a_few_alone(texts, tmp_path):
    command = ["rank", str(texts), "--attribute", "better", "--judge", JUDGE, "--budget", "6x"]
    sent = rounds(command, tmp_path / "s.sqlite", tmp_path, lose=0.2)
    with Store(tmp_path / "s.sqlite") as store:
        assert len(store) >= 0.95 * 120
    assert len(sent) == 3, "two rounds, and what those lost"
    assert min(map(len, sent)) > 6


@pytest.mark.parametrize(("lost", "files"), [(5, 2), (6, 3)])
def test_from_a_twentieth_of_the_budget_on_what_is_lost_has_a_file(texts, tmp_path, lost, files):
    command = ["rank", str(texts), "--attribute", "better", "--judge", JUDGE, "--budget", "6x"]
    sent = rounds(command, tmp_path / "s.sqlite", tmp_path, lost=lost)
    assert len(sent) == files, "of 120, fewer than six are not worth one"


def test_several_rankings_share_the_file_of_a_round(texts, tmp_path):
    command = ["rank", str(texts), "--judge", JUDGE, "--budget", "4x"]
    command += ["--attribute", "better", "--attribute", "funnier", "--orders", "one"]
    sent = rounds(command, tmp_path / "s.sqlite", tmp_path)
    assert len(sent[0]) == 2 * 40, "the first rounds of both"
    assert len(sent) <= 4


def test_a_leaderboard_takes_two_rounds(tmp_path, capsys):
    rows = [
        {"system": f"s{s}", "prompt": f"say {k}", "answer": f"answer {s} to {k}"}
        for s in range(4)
        for k in range(40)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    command = ["leaderboard", str(tmp_path / "a.csv"), "--judge", JUDGE, "--budget", "120"]
    sent = rounds(command, tmp_path / "s.sqlite", tmp_path)
    assert len(sent) == 2
    assert sum(map(len, sent)) == len({key for one in sent for key in one}) == 120
    assert "120 comparisons, " in capsys.readouterr().out


def test_a_fixed_set_is_one_round(texts, tmp_path, capsys):
    command = ["ask", str(texts), "better", "--judge", JUDGE, "--budget", "50"]
    assert [len(one) for one in rounds(command, tmp_path / "s.sqlite", tmp_path)] == [50]
    assert "50 answered already, 0 to ask" in capsys.readouterr().out


def test_what_asks_now_does_not_go_with_a_batch(texts, tmp_path, capsys):
    command = ["ask", str(texts), "better", "--judge", JUDGE, "--limit-calls", "5"]
    store = ["--store", str(tmp_path / "s.sqlite")]
    assert main([*command, *store, "--batch", str(tmp_path / "q.jsonl")]) == 1
    assert "goes without --offline" in capsys.readouterr().err
    command = ["rank", str(texts), "--attribute", "better", "--judge", JUDGE, "--judge", "demo"]
    assert main([*command, *store, "--batch", str(tmp_path / "q.jsonl")]) == 1
    assert "--batch is for one judge" in capsys.readouterr().err


ODD = "one\u2028two\x85three\x1cfour"  # where str.splitlines() breaks and JSON does not


def test_letters_that_break_lines_elsewhere_do_not_cost_an_answer(asked, tmp_path):
    """The likeliest tokens are written as they are by vLLM, and one may be such a letter."""
    store, requests, _ = asked
    rows = [result(one) for one in requests]
    for row in rows:
        likely = row["response"]["body"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        likely.append({"token": ODD, "logprob": -30.0})
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    found = import_results(store, path)
    assert (found.added, dict(found.failed)) == (40, {})


def test_a_batch_has_the_bound_of_its_judge():
    for most, bounded in ((None, False), (20, True)):
        judge = ServerJudge("tiny", NOWHERE, options={"max_tokens": most})
        assert judge.bounded == BatchJudge(judge).bounded == bounded


def refusal(request, why):
    """A line of results that says why there is no answer, and never will be."""
    body = {"status_code": 400, "body": {"error": {"message": why}}}
    return {"custom_id": request["custom_id"], "response": body, "error": None}


def test_what_a_provider_refuses_leaves_the_ranking(texts, tmp_path, capsys):
    """Neither label was seen in a refusal, which is no answer: the run would end at it."""
    store, path = str(tmp_path / "s.sqlite"), tmp_path / "requests.jsonl"
    command = ["rank", str(texts), "--attribute", "better", "--judge", JUDGE, "--budget", "4x"]
    for round_ in range(9):
        path.unlink(missing_ok=True)
        status = main([*command, "--batch", str(path), "--store", store, "--quiet"])
        if status != 4:
            break
        out = tmp_path / f"{round_}.jsonl"
        written(
            out,
            [
                refusal(one, "filtered")
                if "the text number 7\n" in one["body"]["messages"][-1]["content"]
                else result(one)
                for one in lines(path)
            ],
        )
        assert main(["store", "import", str(out), "--store", store]) == 0
    said = capsys.readouterr().out
    assert status == 0
    assert "left out, because the judge answers nothing about them: t7 (failed (400): filt" in said


def test_a_file_of_refusals_alone_is_believed_of_few(asked, tmp_path):
    store, requests, wanted = asked
    judge = BatchJudge(ServerJudge("tiny", NOWHERE))
    bad = [refusal(one, "content filter") for one in requests]
    every = written(tmp_path / "every.jsonl", bad)
    assert import_results(store, every).refused == 0, "more likely a mistake in the set-up"
    import_results(store, written(tmp_path / "good.jsonl", map(result, requests[:30])))
    assert import_results(store, every).refused == 0
    few = import_results(store, written(tmp_path / "few.jsonl", bad[30:33]))
    assert (few.refused, len(store.missing(judge, wanted))) == (3, 7)


def test_an_import_that_is_killed_leaves_nothing_in_part(tmp_path):
    """SIGKILL at five moments: each file of results is in the store whole or not at all."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        judge = BatchJudge(ServerJudge("tiny", NOWHERE))
        with pytest.raises(JudgeError, match="wait"):
            store.ask(judge, questions(10, contexts=5))
        judge.write(tmp_path / "q.jsonl", store)
    rows = [result(one) for one in lines(tmp_path / "q.jsonl")]
    parts = [written(tmp_path / f"r{k}.jsonl", rows[k::5]) for k in range(5)]
    command = ["store", "import", *map(str, parts), "--store", str(path)]
    for k in range(5):
        run = Forked(lambda: main(command))
        for _ in range(k):  # the first kill comes before anything was told
            run.said.readline()
        time.sleep(0.02 * k)
        run.kill()
        run.wait()
        with Store(path) as store:
            assert len(store) % 90 == 0
    assert main(command) == 0
    with Store(path) as store:
        assert len(store) == 450
