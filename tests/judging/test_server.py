"""The server judge against a real server on loopback, well behaved and not."""

import json
import math
import signal
import ssl
import threading
import time
import warnings
from contextlib import suppress

import pytest

from judging.errors import JudgeError
from judging.judges.server import ModelChangedError, NoLabelError, ServerError, ServerJudge
from judging.judges.server.http import check_url, find_key, token_counts
from judging.judges.server.options import ServerOptions
from judging.judges.server.replies import counted, label_of, merged, said
from judging.judges.spending import Spending, SpendingLimitError
from judging.question import Answer, Prompt, Question, Text
from judging.store import Store
from tests.asking import questions
from tests.helpers import start
from tests.judge_server import (
    BODIES,
    VOCABULARY,
    _raw,
    chat_text,
    count_tokens,
    reply,
    serving,
    shares,
)

PREFIXED = Prompt(
    "test/prefixed", "A: {first}\nB: {second}\nBetter?", prefix="Summary", system="Be fair."
)
KEY = "sk-verysecret0123456789"
pytestmark = pytest.mark.filterwarnings("ignore:.*of the probability on average")


@pytest.fixture(autouse=True)
def no_key_and_no_patience(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("judging.judges.server.http.pause", lambda tried: 0.01)


def judged(served, asked, **options):
    judge = ServerJudge("tiny", served.url, **{"patience": 5.0, **options})
    found = dict(judge.answer(asked))
    return judge, [found[k] for k in sorted(found)]


def first_is(name):
    """A fault of every request but the first."""
    return lambda k, body: name if k else None


def asked_in_one_word(question, labels="A or B"):
    turn = f"{question.text}\n\nAnswer with one word: {labels}."
    return chat_text([{"role": "user", "content": turn}])


# What the model says ---------------------------------------------------------------------------


def test_p_and_mass_are_the_models_own():
    asked = questions(4, contexts=2)
    with serving(delay=0.02) as served, warnings.catch_warnings():
        warnings.simplefilter("error")  # a sound judge is not warned about
        _, answers = judged(served, asked, concurrency=3, top=len(VOCABULARY))
    for question, answer in zip(asked, answers, strict=True):
        whole = asked_in_one_word(question)
        a, b = shares(whole)
        assert answer.p == pytest.approx(a / (a + b), abs=1e-12)
        assert answer.mass == pytest.approx(a + b, abs=1e-12)
        assert answer.tokens == answer.computed == count_tokens(whole)
    assert len({round(answer.p, 5) for answer in answers}) > len(asked) / 2  # a mix-up would show
    assert served.most_at_once == 3


def test_a_prefix_is_continued():
    asked = [Question(PREFIXED, q.first, q.second) for q in questions(3)]
    with serving() as served:
        _, answers = judged(served, asked, prefix="continue")
    for question, answer in zip(asked, answers, strict=True):
        roles = {"system": "Be fair.", "user": question.text, "assistant": "Summary"}
        turns = [{"role": role, "content": content} for role, content in roles.items()]
        a, b = shares(chat_text(turns, go_on=True))
        assert answer.p == pytest.approx(a / (a + b), abs=1e-12)


def test_draws_count_what_was_said():
    (question, *_) = questions(2)
    n = 400
    with serving() as served:
        judge, (answer,) = judged(served, [question], draws=n)
        assert judge.specification["answers"] == f"{n} draws"
        assert len(served.requests) == 1
    assert answer.draws == n
    for value, share in zip(answer.log_p, shares(asked_in_one_word(question)), strict=True):
        assert n * math.exp(value) == pytest.approx(round(n * math.exp(value)), abs=1e-9)
        assert abs(math.exp(value) - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_a_server_that_does_not_draw_is_noticed():
    greedy = {"draws": 2, "options": {"temperature": 0}, "instruction": ""}
    with serving() as served, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        judged(served, questions(4), **greedy)
    assert not any("not to draw" in str(one.message) for one in told)  # some said no label
    with (
        serving(lambda k, body: reply(choices=[{"message": {"content": "A"}}] * 2)) as served,
        pytest.warns(UserWarning, match=r"all draws were the same in each of 12 .*do_sample"),
    ):
        judged(served, questions(4), draws=2)


@pytest.mark.filterwarnings("ignore:.*held none of the labels")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_question_is_begun_only_where_all_its_draws_fit_into_the_limit(concurrency):
    """One draw a call, three a question, 20 calls: the first finds it out, and six are whole."""
    asked = questions(5)
    with serving(lambda k, body: "one-choice") as served, Store(":memory:") as store:
        judge = ServerJudge("tiny", served.url, draws=3, limit_calls=20, concurrency=concurrency)
        with pytest.raises(SpendingLimitError, match="a question takes 3 calls") as caught:
            store.ask(judge, asked)
        assert "the limit of 20 calls is reached (18 calls and" in str(caught.value)
        assert len(served.requests) == 18
        assert len(store) == 6
        judge = ServerJudge("tiny", served.url, draws=3, concurrency=concurrency)
        store.ask(judge, asked)
        assert len(served.requests) == 3 * len({one.key for one in asked}), "none paid twice"


@pytest.mark.filterwarnings("ignore:.*held none of the labels")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_limit_on_tokens_cuts_no_question_between_its_draws(concurrency):
    asked = questions(5)
    with serving(lambda k, body: "one-choice") as served, Store(":memory:") as store:
        judge = ServerJudge("tiny", served.url, draws=3, limit_tokens=2000, concurrency=concurrency)
        with pytest.raises(SpendingLimitError, match="the next question may need"):
            store.ask(judge, asked)
        assert judge.spending.tokens <= 2000
        assert len(served.requests) == 3 * len(store) > 3


def test_draws_one_by_one_where_the_server_gives_one_at_a_time():
    (question, *_) = questions(2)
    with serving(lambda k, body: "one-choice") as served:
        judge, (answer,) = judged(served, [question], draws=5)
        assert [body["n"] for body in served.requests] == [5, 4, 3, 2, 1]
    assert (answer.draws, judge.spending.calls) == (5, 5)
    assert answer.computed == 5 * answer.tokens


def test_variants_of_a_label_are_added_up():
    tokens = [" A", "A", "▁A", "ĠA", "\nA", "B", "a", "AB", "A.", "Sure"]
    values = [0.1, 0.05, 0.02, 0.03, 0.01, 0.2, 0.3, 0.07, 0.08, 0.14]
    likely = [(token, math.log(p)) for token, p in zip(tokens, values, strict=True)]
    a, b = merged(likely, ("A", "B"))
    assert math.exp(a) == pytest.approx(0.21, rel=1e-12)
    assert b == math.log(0.2)  # to the last bit
    assert merged([("C", -0.1)], ("A", "B")) == (-math.inf, -math.inf)
    assert merged([("A", -math.inf), (" A", -9999.0)], ("A",)) == (-9999.0,)


def test_a_label_that_is_not_listed_is_not_impossible():
    """It has at most what the least likely listed token has, and at most what is left."""
    likely = [("A", math.log(0.9)), ("I", math.log(0.04)), ("The", math.log(0.02))]
    assert merged(likely, ("A", "B")) == (math.log(0.9), math.log(0.02))
    a, b = merged([("A", math.log(0.9)), ("I", math.log(0.08))], ("A", "B"))
    assert (a, math.exp(b)) == (math.log(0.9), pytest.approx(0.02, rel=1e-12))
    a, b = merged([("A", 0.0)], ("A", "B"))
    assert 0.999999 < Answer((a, b), 1).p < 1.0


def test_rounding_leaves_no_label_above_one():
    assert merged([("A", 1e-9), (" A", -30.0)], ("A",)) == (0.0,)


def test_the_label_a_sampled_answer_starts_with():
    prompt = Prompt("test", "{first} or {second}?", prefix="Summary")
    for position, texts in {
        0: ("A", "A.", '"A" is better', "Summary A"),
        1: (" B", "**B**", "Summary: B", "(B)"),
        None: ("Apple", "a", "I think A", "", "Summary"),
    }.items():
        for text in texts:
            assert label_of(text, prompt) == position, text
    assert counted(["A", " A", "B", "Sure, A"], prompt) == (math.log(0.5), math.log(0.25))
    thoughts = ("<think>A? No.</think>\n\nB", "so\n</think>B", "<think>A, or", "A", None)
    heard = [said({"message": {"content": text}}) for text in thoughts]
    assert heard == ["B", "B", "", "A", ""]


# Replies of any shape --------------------------------------------------------------------------


def test_a_garbled_reply_is_asked_again_and_one_garbled_for_ever_is_a_sentence():
    """NaN, raw logits, error bodies with status 200, truncated JSON: none is ever an answer."""
    asked, coming = questions(2), iter(BODIES.values())
    with serving(lambda k, _: next(coming, None) if k % 2 else None) as served:
        judge, answers = judged(served, asked * len(BODIES), concurrency=1)
        assert judge.spending.calls == len(served.requests) == 3 * len(BODIES)
        assert all(0 < answer.mass <= 1 for answer in answers)
    for name, message in {
        "truncated": "something that is not JSON",
        "no choices": "answers without choices",
        "an error": "answers without choices: overloaded",
        "three certainties": "gives what cannot be log-probabilities",
        "a choice alone": "gives no log-probabilities",
    }.items():
        with serving(lambda k, _, body=BODIES[name]: body) as served:
            with pytest.raises(ServerError, match=f"first 'text-0', second 'text-1'.*{message}"):
                judged(served, asked)
            assert len(served.requests) == 3  # one call at a time until the server was heard


def test_odd_names_and_counts_are_taken_for_what_they_are():
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
    assert token_counts({"usage": {**usage, "completion_tokens": 2}}) == (9, 4, 2)
    for odd in (10**30, -1, 1.5, "9", None, True, [9]):
        assert token_counts({"usage": {"prompt_tokens": odd}}) is None
    with serving(lambda k, body: reply(model="a\x1b[31m\ud800" + "x" * 999)) as served:
        name = ServerJudge("tiny", served.url).specification["served"]
    assert name.startswith("a [31m x")
    assert len(name) == 300


# What goes wrong on the way --------------------------------------------------------------------


def test_a_server_that_is_not_there_is_not_waited_for():
    begun = time.monotonic()
    judge = ServerJudge("tiny", "http://127.0.0.1:9/v1", patience=60)
    with pytest.raises(ServerError, match=r"no connection to 127\.0\.0\.1:9/v1"):
        list(judge.answer(questions(2)))
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("hang", "gave no whole answer"),
        ("drip", "gave no whole answer"),  # a byte now and then does not extend the time
        ("endless", "more than 16 MB"),
    ],
)
def test_slow_and_endless_replies_are_given_up(fault, message):
    with serving(first_is(fault)) as served:
        begun = time.monotonic()
        times = {"timeout": 8, "patience": 8} if fault == "endless" else {"timeout": 0.3}
        with pytest.raises(ServerError, match=message):
            judged(served, questions(2), concurrency=1, **{"patience": 0.8, **times})
        assert time.monotonic() - begun < 8
        assert len(served.requests) >= 1 + (fault != "endless")


def test_refusals_are_named():
    for fault, message in {
        "html": "answers with a web page",
        "404": r"\(404\).*end in /v1",
        "400": r"\(400\): you sent",
        "302": "redirects to another address",
        "401": "API key.*OPENAI_API_KEY",
        "no-logprobs": "gives no log-probabilities for tiny; .*draws=20",
        "422-logprobs": r"gives no log-probabilities \(422\).*draws=20",
    }.items():
        with serving(lambda k, body, fault=fault: fault) as served:
            with pytest.raises(ServerError, match=message) as caught:
                judged(served, questions(3))
            # A 400 may be about one question: the others are tried before it is believed of all.
            tried = {"html": 3, "no-logprobs": 3, "400": 6}
            assert len(served.requests) == tried.get(fault, 1)
            assert "\x1b" not in str(caught.value)


def test_too_many_requests_are_waited_for_as_asked():
    asked = questions(3)
    with serving(lambda k, body: "429:0.7" if k == 1 else None) as served:
        begun = time.monotonic()
        judge, answers = judged(served, asked)
        assert time.monotonic() - begun >= 0.7
        assert len(answers) == len(asked)
        assert len(served.requests) == len(asked) + 1
    assert judge.spending.calls == len(asked)  # the one turned away is free
    begun = time.monotonic()
    with (
        serving(first_is("429:3600")) as served,
        pytest.raises(ServerError, match=r"asks to wait 3600 s.*given up after 1 try "),
    ):
        judged(served, asked)
    assert time.monotonic() - begun < 4


def test_a_spent_quota_stops_at_once_and_a_rate_limit_does_not():
    for code, sent in (("insufficient_quota", 1), ("rate_limit_exceeded", 2)):
        error = {"error": {"message": "You exceeded it", "type": code, "code": code}}
        refusal = _raw("429 Too Many Requests", json.dumps(error).encode())
        message = "no credit left" if sent == 1 else "given up"
        with serving(lambda k, body, refusal=refusal: refusal) as served:
            with pytest.raises(ServerError, match=message) as caught:
                judged(served, questions(2), patience=1.0, concurrency=1)
            assert "You exceeded it" in str(caught.value)
            assert min(len(served.requests), 2) == sent


def test_a_model_that_changes_is_refused_and_the_first_ones_answers_kept(tmp_path):
    asked = questions(4)
    with serving(lambda k, body: "model:other" if k > 5 else None) as served:
        judge = ServerJudge("tiny", served.url, concurrency=1)
        with Store(tmp_path / "a.sqlite") as store:
            with pytest.raises(ModelChangedError, match=r"'tiny-served' until now and .*'other'"):
                store.ask(judge, asked)
            assert len(store) == 6
    with serving(lambda k, body: "model:other") as served, Store(tmp_path / "a.sqlite") as store:
        again = ServerJudge("tiny", served.url, server=judge.described["server"])
        with pytest.raises(ModelChangedError, match=r"'tiny-served' until now and .*'other'"):
            store.ask(again, asked)
        assert len(served.requests) == 1


# Answers without labels ------------------------------------------------------------------------


def test_answers_with_neither_label_are_counted():
    asked = questions(4)
    counting = pytest.warns(UserWarning, match=r"2 of 12 answers of tiny to prompt .* held none")
    with serving(lambda k, body: "neither" if k in (2, 3) else None) as served, counting:
        _, answers = judged(served, asked, top=5, concurrency=1)
    assert [k for k, answer in enumerate(answers) if answer.mass == 0] == [2, 3]
    assert math.isnan(answers[2].p)


def test_a_model_that_never_says_a_label_is_stopped_early(tmp_path):
    with serving(lambda k, _: "neither") as served, Store(tmp_path / "a.sqlite") as store:
        judge = ServerJudge("tiny", served.url, top=5, concurrency=2)
        with pytest.raises(NoLabelError, match=r"none of the first 10 answers.*'Sure"):
            store.ask(judge, questions(5))
        assert len(store) == len(served.requests) < 20  # none that was paid is lost


# Money -----------------------------------------------------------------------------------------


def test_the_call_limit_is_never_exceeded_and_the_answers_are_kept(tmp_path):
    asked = questions(5)
    fault = {2: "500"}.get
    with serving(lambda k, _: fault(k)) as served, Store(tmp_path / "a.sqlite") as store:
        judge = ServerJudge("tiny", served.url, limit_calls=9)
        with pytest.raises(SpendingLimitError, match=r"limit of 9 calls.*12 of 20 questions"):
            store.ask(judge, asked)
        assert len(served.requests) == judge.spending.calls == 9  # with the one that failed
        assert len(store) == 8
        with pytest.raises(SpendingLimitError):  # the same judge has nothing left
            store.ask(judge, asked)
        assert len(served.requests) == 9
        more = ServerJudge("tiny", served.url)
        store.ask(more, asked)
        assert more.spending.calls == 12


@pytest.mark.parametrize("usage", ["", "no-usage"])
def test_the_token_limit_is_never_exceeded(usage):
    with serving(lambda k, body: usage) as served:
        judge = ServerJudge("tiny", served.url, limit_tokens=1500)
        answers = []
        with pytest.raises(SpendingLimitError, match="limit of 1,500 tokens"):
            answers.extend(judge.answer(questions(8)))
        assert len(answers) == len(served.requests) > 1
        assert judge.spending.tokens <= 1500
        counted = sum(answer.tokens + 1 for _, answer in answers)
        assert usage or judge.spending.tokens == counted


def test_what_a_store_has_costs_no_call_and_nothing_is_asked_of_no_use(tmp_path):
    """Looking into a store, asking what it has, and a first run: each question is one call."""
    asked, path = questions(4), tmp_path / "a.sqlite"
    with serving() as served, Store(path) as store:
        judge = ServerJudge("tiny", served.url, limit_calls=12)
        assert len(store.missing(judge, asked)) == 12
        assert served.requests == []
        said = store.ask(judge, asked)
        assert len(served.requests) == judge.spending.calls == 12
        known, name = judge.specification, judge.described["server"]
        assert list(store.specifications().values()) == [known]
        again = ServerJudge("tiny", "http://127.0.0.1:9/v1", server=name)  # nobody is there
        assert store.missing(again, asked) == []
        assert store.ask(again, asked) == said
        assert again.specification == known
        other = ServerJudge("tiny", served.url, top=5)
        with pytest.raises(JudgeError, match=r"top: 20 in the store, 5 now"):
            store.missing(other, asked)
        assert len(served.requests) == 12
    with serving(lambda k, _: f"model:m{k}") as served, Store(path, several=True) as store:
        for _ in range(2):  # two models behind one name: only the server can tell which it is now
            with suppress(ModelChangedError):
                store.ask(ServerJudge("new", served.url, concurrency=1), asked)
        with suppress(ModelChangedError):
            store.ask(ServerJudge("tiny", served.url, server=name, concurrency=1), asked)
        served_models = [one["served"] for one in store.specifications().values()]
    assert served_models == ["tiny-served", "m0"]


def test_many_threads_never_exceed_a_limit():
    spending = Spending(calls=50, tokens=1000)
    lock, made = threading.Lock(), []

    def work():
        with suppress(SpendingLimitError):
            while True:
                if spending.reserve(30):
                    with lock:
                        made.append(1)
                    spending.settle(30, 7)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == spending.calls == 50
    assert spending.tokens == 350


def test_a_call_waits_for_those_under_way_rather_than_risk_the_limit():
    spending = Spending(tokens=100)
    assert spending.reserve(80)
    assert not spending.reserve(80)
    spending.settle(80, 20, written=4, unused=True)  # it took less than its bound
    assert spending.reserve(80)
    spending.settle(80, None)  # not said: the bound counts
    assert (spending.calls, spending.tokens, spending.written, spending.unused) == (2, 100, 4, 1)
    with pytest.raises(
        SpendingLimitError,
        match=r"limit of 100 tokens is reached .2 calls and at most 100 tokens were",
    ):
        spending.reserve(1)
    with pytest.raises(JudgeError, match="needs an answer that has one"):
        Spending(tokens=100).reserve(math.inf)


# Keys and addresses ----------------------------------------------------------------------------


def test_the_key_goes_to_the_server_and_nowhere_else(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level("DEBUG")
    seen = []
    path = tmp_path / "a.sqlite"
    faults = {2: "429:0.1", 3: "500", 4: reply(model=f"tiny {KEY}"), 5: "400", 6: "302"}
    faults[0] = faults[1] = reply(model=f"tiny {KEY}")
    with serving(lambda k, body: faults.get(k)) as served:
        judge = ServerJudge("tiny", served.url, key_env="MY_KEY", concurrency=1)
        with Store(path) as store, pytest.raises(JudgeError) as caught:
            store.ask(judge, questions(3), lambda **told: seen.append(repr(told)))
        assert all(h["Authorization"] == f"Bearer {KEY}" for h in served.headers)
    assert "redirects" in str(caught.value)
    with Store(path) as store:  # the server repeats what it got
        (why,) = [text for text in store.table()["refused"] if text]
    assert "you sent Bearer [key]" in why
    seen.append(why)
    seen += [repr(judge), str(vars(judge)), str(vars(judge._caller)), caplog.text]
    seen.append(str(judge.specification))
    error = caught.value
    while error is not None:
        seen += [str(error), repr(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    assert KEY not in "".join(seen)
    assert "trying again" in caplog.text  # control: the log was looked at
    assert KEY.encode() not in path.read_bytes()
    assert b"tiny [key]" in path.read_bytes()  # control


def test_a_key_is_not_carried_to_where_a_server_sends_us(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as other, serving(lambda k, body: f"307:{other.url}/chat/completions") as served:
        with pytest.raises(ServerError, match="redirects to another address"):
            judged(served, questions(2))
        assert served.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert other.requests == []


def test_a_short_key_is_hidden_without_hiding_every_letter(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "1")
    with serving(lambda k, body: "400") as served, pytest.raises(ServerError) as caught:
        judged(served, questions(2))
    assert "you sent Bearer [key], and" in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_which_key_is_sent_where(monkeypatch):
    far, near, safe = "http://node7:8000/v1", "http://localhost:8000/v1", "https://api.example.org"
    assert [find_key(url, None) for url in (far, near, safe)] == [None] * 3
    monkeypatch.setenv("OPENAI_API_KEY", "k1")
    monkeypatch.setenv("VLLM_KEY", "k2")
    assert [find_key(url, None) for url in (far, near, safe)] == [None, "k1", "k1"]
    spelt = ("HTTPS://api.example.org", "HTTP://api.example.org")
    assert [find_key(url, None) for url in spelt] == ["k1", None]
    assert find_key(far, "VLLM_KEY") == "k2"
    with pytest.raises(ServerError, match="key_env names is not set") as caught:
        find_key(safe, KEY)  # the key in the place of its name
    assert KEY not in str(caught.value)
    monkeypatch.setenv("BAD_KEY", "secret\nsecret2")
    with pytest.raises(ServerError, match="cannot be a key") as caught:
        find_key(safe, "BAD_KEY")
    assert "secret" not in str(caught.value)


def test_addresses_and_secrets_in_them(monkeypatch):
    assert check_url("http://[::1]:8000/v1/") == "[::1]:8000/v1"
    assert check_url("https://API.example.org/v1") == "api.example.org/v1"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as served:
        for url in (f"{served.url}?api-version=1", served.url):
            ServerJudge("m", url).specification  # noqa: B018
        assert served.paths[0] == "/v1/chat/completions?api-version=1"
        assert [sent.get("api-key") for sent in served.headers] == [KEY, None]
    secret = ("http://me:hunter2@host/v1", "https://host/v1?key=hunter2", "https://host/v1#hunter2")
    none = ("node7:8000/v1", "ftp://host/v1", "", "http://", "http://host:hunter2/v1", "http://[x")
    for url in (*secret, *none):
        with pytest.raises(ServerError, match="URL of a server") as caught:
            ServerJudge("m", url)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_proxy_is_used_as_the_environment_says_but_not_for_this_machine(monkeypatch):
    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as served:
        monkeypatch.setenv("http_proxy", served.url.removesuffix("/v1"))
        judge = ServerJudge("tiny", "http://model.invalid/v1")
        assert len(list(judge.answer(questions(2)))) == 2
        assert set(served.paths) == {"http://model.invalid/v1/chat/completions"}
        judged(served, questions(2))
        assert served.paths[-1] == "/v1/chat/completions"


def test_certificates_are_checked():
    with ServerJudge("m", "https://api.example.org/v1")._caller.connect() as client:
        context = client._transport._pool._ssl_context
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


# Options ---------------------------------------------------------------------------------------


def test_wrong_options_are_refused_by_name_and_secrets_are_not_repeated():
    for wrong, name in (
        ({"colour": "red"}, "colour.*limit_tokens"),
        ({"prefix": "maybe"}, "prefix"),
        ({"draws": 5, "temperature": 0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"timeout": math.nan}, "timeout is a number of seconds"),
        ({"draws": 2.5}, "draws is a whole number"),
        ({"options": {"top_p": math.nan}}, "options"),
        ({"top": "many"}, "top"),
        ({"limit_calls": 0}, "limit_calls"),
        ({"options": '{"api_key": "hunter2"'}, "options"),
        ({"key_env": "hunter2", "timeout": "long"}, "timeout"),
        ({"options": {"extra": {"api_key": "hunter2"}}}, "'api_key' is no place for a secret"),
    ):
        with pytest.raises(JudgeError, match=name) as caught:
            ServerJudge("m", "http://localhost/v1", **wrong)
        assert "hunter2" not in str(caught.value)


def test_extra_options_replace_and_remove_fields_and_are_in_the_specification():
    question = questions(2)[0]
    extra = {"max_completion_tokens": 1, "temperature": None}
    for given_as in (extra, json.dumps(extra)):
        options = ServerOptions(options=given_as)
        body = options.body(question, "m")
        assert not {"max_tokens", "temperature"} & body.keys()
        assert body["max_completion_tokens"] == 1
        assert options.specification()["option max_completion_tokens"] == "1"
    braces = Question(PREFIXED, Text("a", "{turn} {labels}"), Text("b", "{"))
    assert "A: {turn} {labels}\\nB: {" in str(ServerOptions().body(braces, "m"))


def test_specifications_are_those_of_the_stores_that_exist():
    """A changed field would make every stored answer one of another judge."""
    with serving() as served:
        found = ServerJudge("tiny", served.url, server="cluster").specification
        moved = ServerJudge("tiny", served.url).specification
    assert moved == found | {"server": served.url.removeprefix("http://")}
    assert found == {
        "kind": "server",
        "model": "tiny",
        "served": "tiny-served",
        "server": "cluster",
        "ignore_case": "False",
        "endpoint": "chat",
        "answers": "log-probabilities",
        "temperature": "0",
        "top": "20",
        "prefix": "ask",
        "instruction": "Answer with one word: {labels}.",
    }
    changes = {"prefix": "continue", "instruction": "", "draws": 3, "top": 5, "temperature": 0.5}
    for name, value in changes.items():
        assert ServerOptions(**{name: value}).specification() != ServerOptions().specification()


# Endings ---------------------------------------------------------------------------------------


def test_a_caller_that_stops_listening_sends_no_more():
    with serving(lambda k, body: "hang" if k > 7 else None, delay=0.1) as served:
        judge = ServerJudge("tiny", served.url, concurrency=2, timeout=30)
        coming = judge.answer(questions(4))
        next(coming)
        coming.close()  # does not wait for those under way
        sent = len(served.requests)
        time.sleep(0.5)
        assert len(served.requests) <= sent + 2  # those of the two threads; 13 in all


CTRL_C = """
from judging.judges.server import ServerJudge
from judging.store import Store
from tests.asking import questions

with Store({path!r}) as store:
    judge = ServerJudge("tiny", {url!r}, concurrency=2, timeout=60)
    store.ask(judge, questions(6))
"""


@pytest.mark.parametrize("hangs", [True, False])
def test_ctrl_c_waits_for_calls_under_way_and_a_second_one_leaves_them(tmp_path, hangs):
    path, release = tmp_path / "a.sqlite", threading.Event()

    def fault(k, body):
        if k > 4:
            release.wait(30)
            return "hang" if hangs else None
        return None

    with serving(fault) as served:
        running = start(CTRL_C.format(path=str(path), url=served.url))
        while len(served.requests) < 7 and running.poll() is None:  # until two are under way
            time.sleep(0.05)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        time.sleep(0.5)
        release.set()
        begun = time.monotonic()
        if hangs:
            running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=20)
        assert time.monotonic() - begun < 10
        assert len(served.requests) == 7  # nothing was sent after the first
    assert "waiting for the calls under way" in error
    assert "KeyboardInterrupt" in error
    with Store(path) as store:
        assert len(store) == (5 if hangs else 7)
