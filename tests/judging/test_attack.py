"""An attacker's means against the judge behind a server: faults, kills, mutated replies.

`make attack` runs all of it (POE_ATTACK=1); the ordinary suite a part.
"""

import json
import math
import os
import random
import signal
import threading
import time
from collections import Counter

import httpx
import numpy as np
import pytest

from judging.errors import JudgeError
from judging.judges.server import ServerJudge, http
from judging.judges.server import judge as server
from judging.store import Store
from tests.asking import questions
from tests.helpers import start
from tests.judge_server import MODES, complete, serving

ALL = bool(os.environ.get("POE_ATTACK"))
KILLS, CASES = (40, 5000) if ALL else (3, 400)
KEY = "sk-verysecret0123456789"

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*of the probability on average"),
    pytest.mark.filterwarnings("ignore:.*held none of the labels"),
    pytest.mark.filterwarnings("ignore:.*likeliest tokens and counts"),
]


@pytest.fixture(autouse=True)
def a_key_and_no_patience(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(http, "pause", lambda tried: 0.01)


def is_sentence(error):
    """Whether an error can be shown: printable, of bounded length, without the key."""
    text = str(error)
    return text.isprintable() and 20 < len(text) < 1500 and KEY not in text


# Faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MODES) if ALL else [*list(MODES)[::8]])
def test_a_fault_costs_a_retry_or_ends_in_a_sentence(name, tmp_path):
    """Now and then, or for ever from the third request on; what was answered is in the store."""
    asked, fault = questions(4), MODES[name]
    ever = (lambda k: True,) if name != "another model" else ()  # that would be this model
    for faulty in (lambda k: k == 2, lambda k: k >= 2, *ever):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite"
        with (
            serving(lambda k, _, faulty=faulty: fault if faulty(k) else None) as served,
            Store(path) as store,
        ):
            slow = name in ("hang", "drip")
            times = {"timeout": 0.3 if slow else 5, "patience": 1.0 if slow else 0.3}
            judge = ServerJudge("tiny", served.url, concurrency=2, **times)
            begun, told = time.monotonic(), None
            try:
                store.ask(judge, asked)
            except JudgeError as error:
                told = error
            assert told is None or is_sentence(told), str(told)
            assert told is not None or len(store) == len(asked)
            assert time.monotonic() - begun < 8
            # Every sound reply is an answer in the store, and nothing else is.
            kept = sum(not faulty(k) for k in range(len(served.requests)))
            assert len(store) == kept
        with serving() as served, Store(path) as store:  # the server is well again
            again = ServerJudge("tiny", served.url, server=judge.described["server"])
            store.ask(again, asked)
            assert len(served.requests) == len(asked) - kept


# Kills -----------------------------------------------------------------------------------------

ASK = """
import os
from judging.judges.server import ServerJudge
from judging.store import Store
from tests.asking import expected, questions

def progress(*, done, total, answers):
    os.write(1, b"x" * len(answers))  # one letter for every answer that is called stored

with Store({path!r}) as store:
    store.ask(ServerJudge("tiny", {url!r}, concurrency=8), questions(20, contexts=2), progress)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_killed_again_and_again_nothing_paid_is_lost_or_asked_twice(how, tmp_path, capsys):
    """At random moments, on one store: with Ctrl-C every question is asked exactly once.

    A kill that cannot be heard loses calls under way and no more: what was reported as stored is
    there, and is never asked again.
    """
    rng, path, kills, gone, before = random.Random(7), tmp_path / "a.sqlite", 0, 0, set()
    asked_for = "\n\nAnswer with one word: A or B."
    whole = {q.text + asked_for: q.key for q in questions(20, contexts=2)}
    with serving(delay=0.03) as served:
        while kills < KILLS // 2 + 1:
            assert len(before) < len(whole), "more questions are needed for so many kills"
            begun = len(served.requests)
            running = start(ASK.format(path=str(path), url=served.url))
            wanted = begun + rng.randrange(1, 16)
            while len(served.requests) < wanted and running.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.random() * 0.05)  # anywhere in a call, a commit, or between two
            kills += running.poll() is None
            running.send_signal(getattr(signal, how))
            out, error = running.communicate(timeout=60)
            time.sleep(0.1)  # until the server has noticed
            asked = [whole[body["messages"][-1]["content"]] for body in served.requests[begun:]]
            with Store(path) as store:
                there = {key.hex() for key in store._rows()["question"]}
            assert not before & set(asked), "a stored answer was asked for again"
            assert len(asked) == len(set(asked))
            assert len(there) >= len(before) + len(out), "what was reported is not there"
            lost = set(asked) - there
            if how == "SIGINT":
                assert error.rstrip().endswith("KeyboardInterrupt"), error
            assert len(lost) <= (0 if how == "SIGINT" else 8 + 8)  # under way, and just answered
            before, gone = there, gone + len(lost)
    with capsys.disabled():
        print(f" {kills} kills by {how}: {len(there)} answers kept, {gone} under way lost", end="")


# Replies of any shape --------------------------------------------------------------------------

ODD = (
    *(None, True, False, 0, -1, 1.5, 2**31, 10**30, 1e308, -1e308, math.nan, math.inf, -math.inf),
    *("", "A", " B", "\x00", "\ud800", "\x1b[31m", "<think>", "</think>A", "x" * 5000, KEY),
    *([], [None], ["A"], [[]], {}, {"token": "A"}, {"message": None}, {"error": {"message": []}}),
)
HEADERS = ("Retry-After", "Content-Type", "Content-Encoding", "X-Echo")
VALUES = ("nan", "1e9", "-1", "soon", "gzip", "text/html", b"\xff", "deflate, gzip", "")


def mutated(reply, rng):
    """The reply with some of its places changed, removed, doubled or swapped."""
    reply = json.loads(json.dumps(reply))
    for _ in range(rng.choice((1, 1, 2, 3))):
        places, stack = [], [reply]
        while stack:
            one = stack.pop()
            for key in list(one) if isinstance(one, dict) else range(len(one)):
                places.append((one, key))
                if isinstance(one[key], (dict, list)) and one[key]:
                    stack.append(one[key])
        if not places:
            break
        holder, key = rng.choice(places)
        match rng.randrange(5):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key]] * rng.randrange(3)
            case 2:
                other, place = rng.choice(places)
                holder[key] = json.loads(json.dumps(other[place]))
            case _:
                holder[key] = json.loads(json.dumps(rng.choice(ODD)))
    return reply


def response(sound, rng):
    """A mutated HTTP response: its JSON, its bytes, its status or its headers."""
    content = json.dumps(mutated(sound, rng)).encode()
    status, headers = 400 if "error" in sound else 200, {}
    if rng.random() < 0.3:
        cut, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        middle = rng.choice((b"", content[cut:to] * 2, rng.randbytes(4), b"[" * 2000, b"9" * 400))
        content = content[:cut] + middle + content[to:]
    if rng.random() < 0.2:
        status = rng.randrange(200, 600)
    if rng.random() < 0.2:
        headers[rng.choice(HEADERS)] = rng.choice(VALUES)
    return {"status_code": status, "headers": headers, "stream": httpx.ByteStream(content)}


def fuzzed(cases, seed):
    """How often mutated replies gave an answer and a sentence; AssertionError for anything else."""
    rng, outcomes = random.Random(seed), Counter()
    (question, *_) = questions(2)
    for case in range(cases):
        options = {"draws": 3} if case % 2 else {}
        judge = ServerJudge("tiny", "http://127.0.0.1/v1", patience=0.02, **options)
        body = judge.options.body(question, "tiny", draws=3)
        sound = complete(body, np.random.default_rng(case))
        if case % 5 == 4:
            sound = {"error": {"message": f"you sent Bearer {KEY}, and \x1b[31m" + "x" * 999}}
        fixed = response(sound, rng)
        transport = httpx.MockTransport(lambda _, one=fixed: httpx.Response(**one))
        with httpx.Client(transport=transport) as client:
            try:
                answer, begun = judge._ask(client, question, threading.Event())
            except JudgeError as error:
                outcomes["sentence" if is_sentence(error) else f"{case}: {error!r}"] += 1
                continue
        assert all(value <= 0 for value in answer.log_p), (case, answer)
        assert answer.mass <= 1.01, (case, answer)
        assert 0 <= answer.computed <= 3 * answer.tokens < 2**33, (case, answer)
        assert all(isinstance(text, str) for text in begun), (case, begun)
        outcomes["answer"] += 1
    return outcomes


def test_mutated_replies_give_an_answer_or_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(http, "pause", lambda tried: 0.0)
    outcomes = fuzzed(CASES, seed=15)
    assert outcomes.keys() == {"answer", "sentence"}, outcomes
    assert min(outcomes.values()) > CASES / 10  # both happen
    with capsys.disabled():
        print(f" {CASES} mutated replies: {dict(outcomes)}", end="")


def believing(choice):
    likely = choice["logprobs"]["content"][0]["top_logprobs"]
    return [(one["token"], one["logprob"]) for one in likely]


def trusting(reply):
    return reply["usage"]["prompt_tokens"], 0, reply["usage"]["completion_tokens"]


@pytest.mark.parametrize(
    ("guard", "places", "instead"),
    [
        ("shown", (http.Caller,), lambda self, text: str(text)),
        ("next_token", (server,), believing),
        ("token_counts", (http, server), trusting),
    ],
)
def test_without_a_guard_the_fuzzer_finds_a_hole(guard, places, instead, monkeypatch):
    """Control: each guard taken away shows within few cases."""
    monkeypatch.setattr(http, "pause", lambda tried: 0.0)
    for place in places:
        monkeypatch.setattr(place, guard, instead)
    with pytest.raises((AssertionError, LookupError, TypeError, OverflowError, AttributeError)):
        assert len(fuzzed(300, seed=15)) == 2
