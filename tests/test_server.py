"""The server judge against a real server over a real, tiny model, well behaved and not."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from poe.errors import JudgeError
from poe.judges.questions import Prompt, Question, Text
from poe.judges.server import (
    ModelChangedError,
    NoLabelError,
    ServerError,
    ServerJudge,
    SpendingLimitError,
)
from poe.judges.store import Store
from tests.helpers import HEARS_CTRL_C
from tests.judge_server import chat_text, log_probabilities, serving, share_of_first, tiny
from tests.judging import questions

ALL = 340  # as many as the tiny vocabulary has, so that no variant is out of sight
PREFIXED = Prompt(
    "test/prefixed", "A: {first}\nB: {second}\nBetter?", prefix="Summary", system="Be fair."
)
pytestmark = pytest.mark.filterwarnings("ignore:.*of the probability on average")


def judged(served, asked, **options):
    judge = ServerJudge("tiny", served.url, **{"top": ALL, "patience": 5.0, **options})
    found = dict(judge.answer(asked))
    return judge, [found[k] for k in sorted(found)]


def first_is(name):
    """A fault of every request but the first call."""
    return lambda k, body: name if k else None


# What the model says ---------------------------------------------------------------------


def test_p_and_mass_are_the_models_own():
    asked = questions(4, contexts=2)
    with serving() as served:
        _, answers = judged(served, asked)
    _, tokenizer = tiny()
    ps = set()
    for question, answer in zip(asked, answers, strict=True):
        turn = f"{question.text}\n\nAnswer with one word: A or B."
        whole = chat_text(tokenizer, [{"role": "user", "content": turn}])
        p, labels = share_of_first(log_probabilities(whole))
        assert answer.p == pytest.approx(p, abs=1e-6)
        assert answer.mass == pytest.approx(sum(labels), abs=1e-6)
        assert answer.tokens == len(tokenizer(whole, add_special_tokens=False).input_ids)
        ps.add(round(p, 5))
    assert len(ps) > len(asked) / 2  # control: questions mixed up would show


def test_a_prefix_is_continued():
    asked = [Question(PREFIXED, q.first, q.second) for q in questions(3)]
    with serving() as served:
        _, answers = judged(served, asked, prefix="continue")
        assert [m["role"] for m in served.requests[-1]["messages"]] == [
            "system",
            "user",
            "assistant",
        ]
    _, tokenizer = tiny()
    for question, answer in zip(asked, answers, strict=True):
        turns = [
            {"role": "system", "content": "Be fair."},
            {"role": "user", "content": question.text},
            {"role": "assistant", "content": "Summary"},
        ]
        whole = chat_text(tokenizer, turns, go_on=True)
        assert whole.endswith("<assistant>Summary") or whole.endswith("Summary")
        assert answer.p == pytest.approx(share_of_first(log_probabilities(whole))[0], abs=1e-6)


def test_a_server_that_begins_a_new_answer_instead_is_noticed():
    asked = [Question(PREFIXED, q.first, q.second) for q in questions(2)]
    with (
        serving(lambda k, body: "new-answer") as served,
        pytest.warns(UserWarning, match=r"seems to ignore continue_final_message .*cost 3 tokens"),
    ):
        judged(served, asked, prefix="continue")
    with serving() as served, warnings.catch_warnings():  # control: one that does as it is told
        warnings.filterwarnings("error", message=".*seems to ignore")
        judged(served, asked, prefix="continue")


def test_completions_send_the_frame_filled_in():
    asked = [Question(PREFIXED, q.first, q.second) for q in questions(3)]
    frame = "<system>{system}<user>{turn}<end><assistant>{prefix}"
    with serving() as served:
        _, plain = judged(served, asked, endpoint="completions")
        _, framed = judged(served, asked, endpoint="completions", frame=frame)
    for question, a, b in zip(asked, plain, framed, strict=True):
        first = f"<s>Be fair.\n\n{question.text}\nSummary"
        second = f"<s><system>Be fair.\n\n<user>{question.text}<end><assistant>Summary"
        # A completions reply is a dictionary by text: tokens that read the same collide there.
        assert a.p == pytest.approx(share_of_first(log_probabilities(first))[0], abs=1e-6)
        assert b.p == pytest.approx(share_of_first(log_probabilities(second))[0], abs=1e-6)
        assert a.p != b.p


def test_scoring_prompts_have_as_many_labels_as_they_like():
    prompt = Prompt("test/score", "Score from 1 to 3: {first}", labels=("1", "2", "3"))
    question = Question(prompt, Text("one", "the text number one"))
    with serving() as served:
        _, (answer,) = judged(served, [question])
        assert "Answer with one word: 1, 2 or 3." in served.questions[0]["messages"][0]["content"]
    _, tokenizer = tiny()
    turn = f"{question.text}\n\nAnswer with one word: 1, 2 or 3."
    log_p = log_probabilities(chat_text(tokenizer, [{"role": "user", "content": turn}]))
    for k, label in enumerate(prompt.labels):
        same = [t for t in range(len(log_p)) if tokenizer.decode([t]).strip() == label]
        assert math.exp(answer.log_p[k]) == pytest.approx(float(log_p[same].exp().sum()), abs=1e-6)


def test_draws_count_what_was_said():
    (question, *_) = questions(2)
    n = 400
    with serving() as served:
        judge, (answer,) = judged(served, [question], draws=n)
        assert judge.specification["answers"] == f"{n} draws"
        assert len(served.questions) == 1
    assert answer.draws == n
    counts = [round(n * math.exp(value)) for value in answer.log_p]
    for value, count in zip(answer.log_p, counts, strict=True):
        assert value == pytest.approx(math.log(count / n), abs=1e-12)
    _, tokenizer = tiny()
    turn = f"{question.text}\n\nAnswer with one word: A or B."
    _, labels = share_of_first(
        log_probabilities(chat_text(tokenizer, [{"role": "user", "content": turn}]))
    )
    for count, label in zip(counts, labels, strict=True):
        assert abs(count - n * label) < 4 * math.sqrt(n * label * (1 - label))


@pytest.mark.filterwarnings("ignore:.*held none of the labels")
def test_draws_one_by_one_where_the_server_gives_one_at_a_time():
    (question, *_) = questions(2)
    with serving(lambda k, body: "one-choice") as served:
        judge, (answer,) = judged(served, [question], draws=5)
        assert [body["n"] for body in served.questions] == [5, 4, 3, 2, 1]
    assert answer.draws == 5
    assert judge.spent.calls == 6
    assert answer.computed == 5 * answer.tokens


@pytest.mark.filterwarnings("ignore:.*held none of the labels")
def test_a_label_out_of_sight_is_warned_about():
    with serving() as served:
        with pytest.warns(UserWarning, match="was not among the 2 likeliest"):
            _, answers = judged(served, questions(6), top=2, instruction="")
        _, whole = judged(served, questions(6), instruction="")
    assert any(-math.inf in answer.log_p for answer in answers)
    assert not any(-math.inf in answer.log_p for answer in whole)


# Servers that misbehave ------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["hang", "drip"])
@pytest.mark.parametrize("first", [True, False])
def test_a_server_that_hangs_is_an_error_in_bounded_time(fault, first):
    begun = time.monotonic()
    with (
        serving(lambda k, body: fault if first or k else None) as served,
        pytest.raises(ServerError, match=r"gave no whole answer in .* s; given up after \d+ tries"),
    ):
        judged(served, questions(3), timeout=0.3, patience=1.0)
    assert time.monotonic() - begun < 8  # patience, and slack for a busy machine


def test_nobody_there_is_said_at_once():
    begun = time.monotonic()
    judge = ServerJudge("tiny", "http://127.0.0.1:9/v1", patience=60)
    with pytest.raises(ServerError, match=r"no connection to 127.0.0.1:9/v1 .*; is it up"):
        list(judge.answer(questions(2)))
    assert time.monotonic() - begun < 5
    assert judge.spent.calls == 0


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("html", r"answers with a web page \(text/html\).*check the URL"),
        ("garbage", "something that is not JSON"),
        ("404", "has no /chat/completions, or not this model .404.*end in /v1"),
        ("400", r"refuses the request \(400\): you sent"),
        ("302", "sends us elsewhere"),
        ("401", r"does not accept the API key.*OPENAI_API_KEY"),
        ("no-logprobs", "gives no log-probabilities for tiny; .*draws=20"),
    ],
)
def test_useless_replies_are_named(fault, message, first):
    with serving(lambda k, body: fault if first or k == 3 else None) as served:
        judge = ServerJudge("tiny", served.url, top=ALL, concurrency=1)
        answers = []
        with pytest.raises(ServerError, match=message) as caught:
            answers.extend(judge.answer(questions(3)))
        assert len(served.requests) == (1 if first else 4)
        assert first or "first 'text-1', second 'text-0'" in str(caught.value)


def test_too_many_requests_are_waited_for_as_asked():
    asked = questions(3)
    with serving(lambda k, body: "429:0.7" if k == 1 else None) as served:
        begun = time.monotonic()
        judge, answers = judged(served, asked)
        assert time.monotonic() - begun >= 0.7
        assert len(served.questions) == len(asked) + 1
    assert judge.spent.calls == len(asked) + 1  # the first call; the one turned away is free
    with serving() as served:
        assert [a.log_p for a in judged(served, asked)[1]] == [a.log_p for a in answers]


def test_a_wait_longer_than_the_patience_is_not_begun():
    begun = time.monotonic()
    with (
        serving(first_is("429:3600")) as served,
        pytest.raises(ServerError, match=r"\(429\).*asks to wait 3600 s; given up after 1 tries"),
    ):
        judged(served, questions(2))
    assert time.monotonic() - begun < 4


@pytest.mark.parametrize("fault", ["500", "503", "hangup"])
def test_passing_failures_pass(fault):
    with serving(lambda k, body: fault if k in (1, 2) else None) as served:
        _, answers = judged(served, questions(3), concurrency=2)
    assert len(answers) == 6


def test_failing_for_ever_ends():
    with serving(first_is("500")) as served:
        with pytest.raises(ServerError, match=r"failed \(500\).*given up after \d+ tries"):
            judged(served, questions(3), patience=1.5)
        assert len(served.questions) >= 2


def test_a_model_that_changes_is_refused_and_the_first_ones_answers_kept(tmp_path):
    asked = questions(4)
    with serving(lambda k, body: "model:other" if k > 5 else None) as served:
        judge = ServerJudge("tiny", served.url, top=ALL, concurrency=1)
        with Store(tmp_path / "a.sqlite") as store:
            with pytest.raises(ModelChangedError, match=r"'tiny-served' until now and .*'other'"):
                store.ask(judge, asked)
            assert len(store) == 5
    with serving(lambda k, body: "model:other") as served, Store(tmp_path / "a.sqlite") as store:
        again = ServerJudge("tiny", served.url, top=ALL)
        with pytest.raises(JudgeError, match="served: tiny-served in the store, other now"):
            store.ask(again, asked)


def test_answers_with_neither_label_are_counted():
    asked = questions(4)
    with (
        serving(lambda k, body: "neither" if k in (2, 3) else None) as served,
        pytest.warns(
            UserWarning, match=r"2 of 12 answers of tiny to prompt .* held none of the labels"
        ),
    ):
        _, answers = judged(served, asked, top=20, concurrency=1, instruction="")
    assert [k for k, answer in enumerate(answers) if answer.mass == 0] == [1, 2]
    assert math.isnan(answers[1].p)


def test_warnings_count_over_calls_and_are_given_once():
    asked = questions(4)
    with serving(first_is("neither")) as served:
        judge = ServerJudge("tiny", served.url, top=20)
        with pytest.warns(UserWarning, match=r"6 of 6 answers of tiny to prompt 'test/better'"):
            list(judge.answer(asked[:6]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(NoLabelError, match="none of the first 10"):
                list(judge.answer(asked[6:]))


def test_answers_with_neither_label_can_be_an_error():
    with (
        serving(first_is("neither")) as served,
        pytest.raises(NoLabelError, match=r"first 'text-0'.*none of the labels.*they begin \["),
    ):
        judged(served, questions(3), top=20, neither="error", concurrency=1)


def test_a_model_that_never_says_a_label_is_stopped_early(tmp_path):
    asked = questions(8)
    with serving(first_is("neither")) as served:
        judge = ServerJudge("tiny", served.url, top=20, concurrency=2)
        with Store(tmp_path / "a.sqlite") as store:
            with pytest.raises(NoLabelError, match="none of the first 10 answers of tiny"):
                store.ask(judge, asked)
            assert len(store) == 10
        assert len(served.questions) < 20


def test_labels_that_only_differ_in_spaces_or_case_are_refused():
    twins = Prompt("test/twins", "{first} {second}?", labels=("a", "A"))
    question = Question(twins, *(q for q in (Text("x", "x"), Text("y", "y"))))
    with serving() as served:
        with pytest.raises(ServerError, match="cannot be told apart once spaces and case"):
            judged(served, [question], ignore_case=True)
        assert served.requests == []


# Limits, keys, threads -------------------------------------------------------------------


def test_the_call_limit_is_never_exceeded_and_the_answers_are_kept(tmp_path):
    asked = questions(5)
    with serving() as served, Store(tmp_path / "a.sqlite") as store:
        judge = ServerJudge("tiny", served.url, top=ALL, call_limit=8)
        with pytest.raises(SpendingLimitError, match=r"after 8 calls.*13 of 20 questions are left"):
            store.ask(judge, asked)
        assert len(served.requests) == judge.spent.calls == 8
        assert len(store) == 7
        with pytest.raises(SpendingLimitError):  # the same judge has nothing left
            store.ask(judge, asked)
        assert len(served.requests) == 8
        more = ServerJudge("tiny", served.url, top=ALL)
        store.ask(more, asked)
        assert more.spent.calls == 14


@pytest.mark.parametrize("usage", ["", "no-usage"])
def test_the_token_limit_is_never_exceeded(usage):
    asked = questions(6)
    limit = 1200
    with serving(lambda k, body: usage) as served:
        judge = ServerJudge("tiny", served.url, top=ALL, token_limit=limit)
        answers = []
        with pytest.raises(SpendingLimitError, match="token_limit is 1,200, and the next call may"):
            answers.extend(judge.answer(asked))
        assert len(answers) == len(served.questions) > 1
        assert judge.spent.tokens <= limit
        if not usage:  # what the model counted is what was accounted for
            assert judge.spent.tokens == sum(a.tokens + 1 for _, a in answers) + first_calls_tokens(
                served
            )


def first_calls_tokens(served):
    _, tokenizer = tiny()
    whole = chat_text(tokenizer, served.requests[0]["messages"])
    return len(tokenizer(whole, add_special_tokens=False).input_ids) + 1


def test_concurrency_is_bounded_and_used():
    with serving(delay=0.05) as served:
        judged(served, questions(5), concurrency=3)
        assert served.most_at_once == 3


def test_the_key_goes_to_the_server_and_nowhere_else(tmp_path, monkeypatch, caplog):
    key = "sk-verysecret0123456789"
    monkeypatch.setenv("MY_KEY", key)
    caplog.set_level("DEBUG")
    seen = []
    path = tmp_path / "a.sqlite"
    faults = {2: "429:0.1", 3: "500", 4: "400"}
    with serving(lambda k, body: faults.get(k)) as served:
        judge = ServerJudge("tiny", served.url, top=ALL, key_env="MY_KEY", concurrency=1)
        with Store(path) as store, pytest.raises(JudgeError) as caught:
            store.ask(judge, questions(3), lambda **told: seen.append(repr(told)))
        assert all(h["Authorization"] == f"Bearer {key}" for h in served.headers)
        assert "you sent Bearer [key]" in str(caught.value)  # the server repeats what it got
    seen += [repr(judge), str(vars(judge)), str(judge.specification), caplog.text]
    error = caught.value
    while error is not None:
        seen += [str(error), repr(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    assert key not in "".join(seen)
    assert "trying again" in caplog.text  # control: the log was looked at
    assert key.encode() not in path.read_bytes()
    assert b"tiny-served" in path.read_bytes()  # control


def test_no_key_is_sent_where_there_is_none(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as served:
        judged(served, questions(2))
        assert all("Authorization" not in headers for headers in served.headers)


def test_the_usual_key_is_used_on_this_machine(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "local-key")
    with serving() as served:
        judged(served, questions(2))
        assert served.headers[0]["Authorization"] == "Bearer local-key"


def test_a_proxy_is_used_as_the_environment_says(monkeypatch):
    with serving() as served:
        monkeypatch.setenv("http_proxy", served.url.removesuffix("/v1").replace("//", "//u:p@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        judge = ServerJudge("tiny", "http://model.invalid/v1", top=ALL)
        assert len(list(judge.answer(questions(2)))) == 2
        assert set(served.paths) == {"http://model.invalid/v1/chat/completions"}
        assert served.headers[0]["Proxy-Authorization"] == "Basic dTpw"
        assert served.headers[0]["Host"] == "model.invalid"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes a certificate for the test, is not installed")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run(
        [*command.split(), "subjectAltName=DNS:localhost", *files], check=True, capture_output=True
    )
    return folder


def test_encrypted_servers_are_checked_and_cut_off_like_others(certificate, monkeypatch):
    with serving(lambda k, body: "hang" if k > 2 else None, certificate=certificate) as served:
        assert served.url.startswith("https://localhost:")
        with pytest.raises(ServerError, match=r"no connection to localhost.*certificate verify"):
            judged(served, questions(2))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
        judge = ServerJudge("tiny", served.url, top=ALL, timeout=0.5, patience=1.5)
        answers = []
        begun = time.monotonic()
        with pytest.raises(ServerError, match="gave no whole answer"):
            answers.extend(judge.answer(questions(3)))
        assert time.monotonic() - begun < 8
        assert len(answers) == 2


def test_store_and_server_together_ask_once(tmp_path):
    asked = questions(4)
    with serving() as served, Store(tmp_path / "a.sqlite") as store:
        answers = store.ask(ServerJudge("tiny", served.url, top=ALL), asked)
        assert len(served.questions) == len(asked)
        again = store.ask(ServerJudge("tiny", served.url, top=ALL), asked)
        assert len(served.requests) == len(asked) + 2  # the first call of each, nothing else
        assert again == answers


def test_a_server_that_moves_can_keep_its_name(tmp_path):
    asked = questions(2)
    for name, fails in ((None, True), ("cluster", False)):
        path = tmp_path / f"{name}.sqlite"
        with serving() as served, Store(path) as store:
            store.ask(ServerJudge("tiny", served.url, server=name), asked)
        with serving() as served, Store(path) as store:
            moved = ServerJudge("tiny", served.url, server=name)
            if fails:
                with pytest.raises(JudgeError, match=r"server: 127\.0\.0\.1"):
                    store.ask(moved, asked)
            else:
                store.ask(moved, asked)


def test_a_caller_that_stops_listening_ends_the_calls():
    before = threading.active_count()
    with serving(lambda k, body: "hang" if k > 3 else None) as served:
        judge = ServerJudge("tiny", served.url, top=ALL, concurrency=2, timeout=30)
        coming = judge.answer(questions(4))
        next(coming)
        begun = time.monotonic()
        coming.close()
        for _ in range(100):
            if not any(t.name == "poe-server-call" for t in threading.enumerate()):
                break
            time.sleep(0.05)
        assert time.monotonic() - begun < 5
    assert not any(t.name == "poe-server-call" for t in threading.enumerate())
    assert threading.active_count() <= before + 2


CTRL_C = """
import sys
sys.path.insert(0, {root!r})
from poe.judges.server import ServerJudge
from poe.judges.store import Store
from tests.judging import questions

with Store({path!r}) as store:
    judge = ServerJudge("tiny", {url!r}, top=340, concurrency=2, timeout=60)
    store.ask(judge, questions(6), lambda **told: print(told["done"], flush=True))
"""


def test_ctrl_c_stops_promptly_and_keeps_the_answers(tmp_path):
    root = str(Path(__file__).resolve().parents[1])
    path = tmp_path / "a.sqlite"
    with serving(lambda k, body: "hang" if k > 4 else None) as served:
        code = HEARS_CTRL_C + CTRL_C.format(root=root, path=str(path), url=served.url)
        running = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        assert running.stdout.readline()
        for _ in range(200):  # until two calls hang
            if len(served.requests) == 7:
                break
            time.sleep(0.05)
        begun = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=20)
        assert time.monotonic() - begun < 5
    assert "KeyboardInterrupt" in error
    with Store(path) as store:
        assert len(store) == 4


def test_warnings_are_not_raised_for_a_sound_judge():
    """Control for the warnings above."""
    prompt = Prompt("test/all", "{first} {second}", labels=("A", "B"))
    with serving() as served, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        judged(served, [Question(prompt, Text("a", "one"), Text("b", "two"))])
    assert not [w for w in caught if "none of the labels" in str(w.message)]
    assert not [w for w in caught if "likeliest" in str(w.message)]
