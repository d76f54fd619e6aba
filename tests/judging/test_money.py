"""What a run costs: said before within its margin, limited without a hole, exact afterwards."""

import json
import os
import re
import time

import pandas as pd
import pytest

from judging.cost import cost
from judging.judges import Question, Store, Text
from judging.judges.server import http
from judging.judges.server.judge import ServerJudge
from judging.practice.cli import main
from judging.question import Prompt, by_bytes
from judging.store import lock
from tests.helpers import Forked
from tests.judge_server import serving

PROMPT = Prompt("own/better", "{first}\n{second}\nA or B?")


def questions(texts):
    items = [Text(f"n{k}", text) for k, text in enumerate(texts)]
    return [Question(PROMPT, a, b) for a in items for b in items if a is not b]


@pytest.fixture
def bill(folder, run):
    """The command `judging rank` before a server, in a folder with twenty texts."""
    rows = [(f"n{k}", f"text number {k}") for k in range(20)]
    pd.DataFrame(rows, columns=["id", "text"]).to_csv("t.csv", index=False)
    ranked = ("rank", "t.csv", "--attribute", "better", "--quiet", "--set", "unanswered=tie")
    return lambda url, *given: run(*ranked, "--judge", f"openai:tiny@{url}", *given)


def numbers(text, pattern):
    return [float(one.replace(",", "")) for one in re.search(pattern, text).groups()]


@pytest.mark.parametrize("command", ["rank", "ask"])
def test_a_bill_has_what_the_server_counted_at_these_prices(command, bill, run):
    """By hand: tokens read at 2 dollars a million, written at 8."""
    prices = ("--price", "2,8")
    with serving() as server:
        if command == "rank":
            out = bill(server.url, "--budget", 100, *prices)[1]
        else:
            given = ("ask", "t.csv", "better", "--judge", f"openai:tiny@{server.url}", *prices)
            out = run(*given, "--budget", 100, "--quiet")[1]
    read, written, dollars = numbers(
        out, r"([\d,]+) tokens read and (?:at most )?([\d,]+) written, \$([\d.]+)"
    )
    assert read > 100
    assert dollars == pytest.approx((2 * read + 8 * written) / 1e6, abs=5e-5)


# Before ----------------------------------------------------------------------------------------

# Tokens of the same words by two tokenizers (SmolLM2's and Qwen2.5's), counted once.
COUNTED = {
    "the product of experts gives scores from few comparisons " * 50: (451, 451),
    "专家的乘积从很少的比较中给出分数" * 50: (1300, 550),
}


@pytest.mark.parametrize("text", COUNTED, ids=["English", "Chinese"])
def test_a_guess_by_bytes_says_how_far_it_may_be_wrong(text):
    least, mostly, most = by_bytes(text)
    assert least <= mostly <= most
    for tokens in COUNTED[text]:
        assert least <= tokens <= most


def test_a_text_without_a_space_is_not_one_token():
    least, _, most = by_bytes("x" * 2000)
    assert 300 <= least < most < 1000


@pytest.mark.parametrize(
    "words", ["专家的乘积" * 100, "def f(x):\n    return x\n" * 20, "a b c " * 80]
)
def test_what_the_store_measured_prices_the_rest(words, tmp_path):
    asked = questions([f"{words} {k}" for k in range(12)])
    with serving() as server, Store(tmp_path / "s.sqlite") as store:
        judge = ServerJudge("tiny", server.url)
        store.ask(judge, asked[:40])
        told = cost(asked[40:], judge, store.table())
        true = sum(answer.tokens for answer in store.ask(judge, asked[40:]))
    assert told.tokens_by == "what 40 answers in this store took"
    assert told.tokens_low == told.tokens == told.tokens_high
    assert abs(told.tokens / true - 1.0) < 0.15


def test_the_dry_run_says_its_margin_and_then_what_was_measured(bill):
    with serving() as server:
        dry = ("--dry-run", "--price", "2,8")
        _, before, _ = bill(server.url, *dry)
        assert not server.requests
        assert "by the bytes of the texts, 64 questions" in before
        guess, low, high = numbers(before, r"about ([\d,]+) tokens, ([\d,]+) to ([\d,]+) ")
        assert low < guess < high
        cheap, dear = numbers(before, r"\$[\d.]+, \$([\d.]+) to \$([\d.]+), if")
        assert cheap < dear
        bill(server.url, "--limit-calls", 60)
        _, after, _ = bill(server.url, *dry)
        assert "what 60 answers in this store took" in after
        (expected,) = numbers(after, r"about ([\d,]+) tokens \(")
        before = len(server.requests)
        _, found, _ = bill(server.url, *dry[1:])
        assert len(server.requests) - before == 140
    (read,) = numbers(found, r"140 calls, ([\d,]+) tokens read")
    assert abs(expected / read - 1.0) < 0.15


# Limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"max_tokens": None}, {"max_completion_tokens": None}])
def test_no_limit_on_tokens_where_nothing_bounds_an_answer(options, bill):
    given = ("--judge-option", f"options={json.dumps(options)}")
    with serving() as server:
        status, _, err = bill(server.url, *given, "--set", "limit-tokens=10_000")
        assert status == 1
        assert 'options={"max_tokens": 64}' in err
        assert not server.requests
        _, out, _ = bill(server.url, *given, "--dry-run", "--price", "0,8")
        assert "and more by what the answers write, which nothing bounds" in out
        assert bill(server.url, *given, "--limit-calls", 20)[0] == 3


def test_a_bound_by_either_name_is_one():
    for options in ({"max_tokens": 9}, {"max_tokens": None, "max_completion_tokens": 9}):
        judge = ServerJudge("tiny", "http://127.0.0.1:1/v1", options=options)
        assert judge.options.most_written == judge.written == 9


# After -----------------------------------------------------------------------------------------


def test_billed_replies_that_could_not_be_used_are_in_the_cost(bill, monkeypatch):
    """The first reply to every seventh question has no log-probabilities; all are billed."""
    monkeypatch.setattr(http, "pause", lambda tried: 0.01)
    seen = {}

    def reply(k, body):
        text = str(body["messages"])
        new = text not in seen
        return "no-logprobs" if seen.setdefault(text, len(seen)) % 7 == 6 and new else None

    with serving(reply) as server:
        status, out, _ = bill(server.url, "--budget", 100, "--price", "2,8")
        asked = len(server.requests)
    assert status == 0
    calls, read, written, dollars, unused = numbers(
        out,
        r"asked now: ([\d,]+) calls, ([\d,]+) tokens read and ([\d,]+) written, \$([\d.]+) at .*; "
        r"([\d,]+) more replies were billed",
    )
    assert calls == 100
    assert calls + unused == asked
    assert written == asked  # a token each, and not only of the answers
    assert dollars == pytest.approx((2 * read + 8 * written) / 1e6, abs=1e-4)
    with Store("judgements.sqlite") as store:
        assert store.table()["tokens"].sum() < read


# One writer a store ----------------------------------------------------------------------------


def ranked(url):
    command = ["rank", "t.csv", "--attribute", "better", "--judge", f"openai:tiny@{url}"]
    return Forked(
        lambda: main([*command, "--store", "s.sqlite", "--quiet", "--set", "unanswered=tie"])
    )


@pytest.mark.long
def test_the_same_command_four_times_at_once_pays_once(bill, tmp_path):
    with serving(delay=0.01) as server:
        going = [ranked(server.url) for _ in range(4)]
        said = [one.wait() for one in going]
        assert [status for status, _ in said] == [0] * 4, said
        assert len(server.requests) == 200
    tables = [
        out[out.index("rank") : out.index("asked now")].rpartition("; ")[0] for _, out in said
    ]
    assert len({*tables}) == 1
    waiting = [out for _, out in said if "waiting for its answers" in out]
    assert waiting
    # One that has just begun has not written yet who it is.
    holder = r"(process \d+ on .* since \d{4}-.*|another process) is asking"
    assert all(re.search(holder, out) for out in waiting)
    assert not (tmp_path / "s.sqlite.lock").exists()


def test_who_waits_reads_which_process_asks(tmp_path):
    store = tmp_path / "s.sqlite"
    with lock.writing(store):
        said = lock._holder(store.with_name("s.sqlite.lock"))
    assert re.fullmatch(rf"process {os.getpid()} on .* \(.*, since \d{{4}}-.*\)", said)


@pytest.mark.long
def test_a_process_that_was_killed_holds_no_lock(bill, tmp_path):
    with serving(delay=0.05) as server:
        first = ranked(server.url)
        while len(server.requests) < 20:
            time.sleep(0.01)
        first.kill()
        first.wait()
        assert (tmp_path / "s.sqlite.lock").exists()  # control: it was killed while it held it
        status, said = ranked(server.url).wait()
    assert status == 0
    assert "waiting" not in said
    assert "from the store" in said
    assert not (tmp_path / "s.sqlite.lock").exists()
