"""The parts of the server judge that need no server: arithmetic, waits, limits, addresses."""

from __future__ import annotations

import math
import random
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from poe.judges.questions import Prompt, Question, Text
from poe.judges.server import ServerError, ServerJudge, SpendingLimitError
from poe.judges.server.failures import PassingError
from poe.judges.server.http import _seconds, find_key, parse_address
from poe.judges.server.limits import Spending
from poe.judges.server.replies import counted, label_of, merged, next_token
from poe.judges.server.retrying import persist
from poe.judges.server.style import Style

PROMPT = Prompt("test", "{first} or {second}?", prefix="Summary")


def log(*values):
    return [math.log(value) for value in values]


# Labels ----------------------------------------------------------------------------------


def test_variants_of_a_label_are_added_up():
    tokens = [" A", "A", "▁A", "ĠA", "\nA", "B", "a", "AB", "A.", "Sure"]
    values = [0.1, 0.05, 0.02, 0.03, 0.01, 0.2, 0.3, 0.07, 0.08, 0.14]
    likely = list(zip(tokens, log(*values), strict=True))
    a, b = merged(likely, ("A", "B"), ignore_case=False)
    assert math.exp(a) == pytest.approx(0.21, rel=1e-12)
    assert math.exp(b) == pytest.approx(0.2, rel=1e-12)
    a, _ = merged(likely, ("A", "B"), ignore_case=True)
    assert math.exp(a) == pytest.approx(0.51, rel=1e-12)


def test_labels_not_seen_are_impossible():
    assert merged([("C", -0.1)], ("A", "B"), ignore_case=False) == (-math.inf, -math.inf)
    assert merged([("A", -math.inf)], ("A", "B"), ignore_case=False)[0] == -math.inf


def test_rounding_never_makes_more_than_certainty():
    assert merged([("A", 1e-9), (" A", -30.0)], ("A", "B"), ignore_case=False)[0] == 0.0


def test_next_token_reads_both_shapes_and_adds_the_chosen_one():
    first = {"token": "Z", "logprob": -3.0, "top_logprobs": [{"token": "A", "logprob": -0.5}]}
    assert next_token({"logprobs": {"content": [first]}}) == [("A", -0.5), ("Z", -3.0)]
    old = {"tokens": ["A"], "token_logprobs": [-0.5], "top_logprobs": [{"A": -0.5, "B": -1.0}]}
    assert next_token({"logprobs": old}) == [("A", -0.5), ("B", -1.0)]
    bare = {"token": "A", "logprob": -0.5}  # servers without top_logprobs
    assert next_token({"logprobs": {"content": [bare]}}) == [("A", -0.5)]


@pytest.mark.parametrize(
    "choice",
    [{}, {"logprobs": None}, {"logprobs": {"content": []}}, {"logprobs": {"content": None}}],
)
def test_no_log_probabilities_are_noticed(choice):
    assert next_token(choice) is None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("A", 0),
        (" B", 1),
        ("A.", 0),
        ("**B**", 1),
        ('"A" is better', 0),
        ("Summary A", 0),
        ("Summary: B", 1),
        ("(B)", 1),
        ("Apple", None),
        ("a", None),
        ("I think A", None),
        ("", None),
        ("Summary", None),
    ],
)
def test_the_label_a_sampled_answer_starts_with(text, position):
    assert label_of(text, PROMPT, ignore_case=False) == position


def test_case_counts_unless_it_is_said_not_to():
    assert label_of("summary b", PROMPT, ignore_case=True) == 1
    assert label_of("summary b", PROMPT, ignore_case=False) is None


def test_draws_are_counted():
    log_p = counted(["A", " A", "B", "Sure, A"], PROMPT, ignore_case=False)
    assert log_p == (math.log(0.5), math.log(0.25))
    assert counted(["B"], PROMPT, ignore_case=False) == (-math.inf, 0.0)


# Waiting ---------------------------------------------------------------------------------


class Clock(threading.Event):
    """A stop event whose waits only move a clock."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.now, self.waits = 0.0, []
        monkeypatch.setattr("poe.judges.server.retrying.time.monotonic", lambda: self.now)

    def wait(self, timeout=None):
        self.waits.append(timeout)
        self.now += timeout
        return self.is_set()


def failing(count, **details):
    left = [count]

    def attempt(_):
        if left[0]:
            left[0] -= 1
            raise PassingError("busy", **details)
        return "done"

    return attempt


def test_waits_double_up_to_a_limit_and_are_cut_at_random(monkeypatch):
    clock = Clock(monkeypatch)
    chance = random.Random(1)
    assert persist(failing(9), patience=1e6, stop=clock, chance=chance) == "done"
    most = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert all(m / 2 <= w <= m for w, m in zip(clock.waits, most, strict=True))
    again = Clock(monkeypatch)
    persist(failing(9), patience=1e6, stop=again, chance=random.Random(2))
    assert again.waits != clock.waits


def test_a_wait_is_never_shorter_than_asked(monkeypatch):
    clock = Clock(monkeypatch)
    persist(failing(2, wait=7.0), patience=100, stop=clock, chance=random.Random(1))
    assert clock.waits == [7.0, 7.0]


def test_patience_bounds_all_tries_together(monkeypatch):
    clock = Clock(monkeypatch)
    with pytest.raises(
        ServerError, match=r"busy; given up after \d+ tries .* \(patience is 20 s\)"
    ):
        persist(failing(99), patience=20, stop=clock, chance=random.Random(1))
    assert 5 < clock.now < 20


def test_a_run_that_ends_is_not_waited_for(monkeypatch):
    clock = Clock(monkeypatch)
    clock.set()
    with pytest.raises(ServerError, match="not tried again, because the run is ending"):
        persist(failing(1), patience=20, stop=clock, chance=random.Random(1))


def test_retry_after_is_seconds_or_a_date():
    assert _seconds("7") == 7.0
    assert _seconds(None) == _seconds("soon") == _seconds("-3") == 0.0
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < _seconds(soon) <= 100


# Limits ----------------------------------------------------------------------------------


def test_a_call_waits_for_those_under_way_rather_than_risk_the_limit():
    spending, stop = Spending(calls=None, tokens=100), threading.Event()
    spending.begin(80, stop)
    begun = threading.Event()

    def second():
        spending.begin(80, stop)
        begun.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not begun.wait(0.3)
    spending.end(80, 20)  # it took less than its bound
    thread.join()
    assert begun.is_set()
    spending.end(80, None)  # not said: the bound is taken
    assert (spending.spent.calls, spending.spent.tokens) == (2, 100)
    with pytest.raises(SpendingLimitError):
        spending.begin(1, stop)


def test_calls_turned_away_do_not_count():
    spending, stop = Spending(calls=1, tokens=None), threading.Event()
    spending.begin(5, stop)
    spending.end(5, None, turned_away=True)
    spending.begin(5, stop)
    spending.end(5, 3)
    assert (spending.spent.calls, spending.spent.tokens) == (1, 3)
    with pytest.raises(SpendingLimitError, match="after 1 calls and 3 tokens; call_limit is 1"):
        spending.begin(5, stop)


def test_many_threads_never_exceed_the_limit():
    spending, stop = Spending(calls=50, tokens=None), threading.Event()
    passed = []

    def work():
        try:
            while True:
                spending.begin(1, stop)
                passed.append(1)
                spending.end(1, 1)
        except SpendingLimitError:
            pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 50


# Addresses, keys, styles -----------------------------------------------------------------


def test_addresses():
    address = parse_address("http://node7:8000/v1/")
    assert (address.name, address.is_here) == ("node7:8000/v1", False)
    assert parse_address("http://[::1]:8000/v1").name == "[::1]:8000/v1"
    assert parse_address("https://api.example.org/v1").name == "api.example.org/v1"


@pytest.mark.parametrize(
    "url",
    ["http://me:hunter2@host/v1", "https://host/v1?key=hunter2", "https://host/v1#hunter2",
     "http://host:hunter2/v1"],
)  # fmt: skip
def test_secrets_in_urls_are_refused_and_not_repeated(url):
    with pytest.raises(ServerError) as caught:
        ServerJudge("m", url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["node7:8000/v1", "ftp://host/v1", "", "http://"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(ServerError, match="URL of a server"):
        ServerJudge("m", url)


def test_the_usual_key_is_not_sent_unencrypted_to_another_machine(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k1")
    monkeypatch.setenv("VLLM_KEY", "k2")
    far, near = parse_address("http://node7:8000/v1"), parse_address("http://localhost:8000/v1")
    safe = parse_address("https://api.example.org/v1")
    assert [find_key(a, None) for a in (far, near, safe)] == [None, "k1", "k1"]
    assert find_key(far, "VLLM_KEY") == "k2"


def test_keys_that_are_missing_or_cannot_be_sent(monkeypatch):
    address = parse_address("https://api.example.org/v1")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ServerError, match="NO_SUCH_KEY is not set"):
        find_key(address, "NO_SUCH_KEY")
    monkeypatch.setenv("BAD_KEY", "secret\nsecret2")
    with pytest.raises(ServerError, match="what is in BAD_KEY cannot be an API key") as caught:
        find_key(address, "BAD_KEY")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "embeddings"},
        {"prefix": "maybe"},
        {"draws": -1},
        {"top": 0},
        {"draws": 5, "temperature": 0},
        {"frame": "no place"},
        {"frame": "{turn} {other}"},
        {"neither": "ignore"},
        {"concurrency": 0},
        {"timeout": 0},
        {"call_limit": 0},
        {"options": {"api_key": "hunter2"}},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w+"):
        ServerJudge("m", "http://localhost/v1", **wrong)


def test_extra_options_replace_and_remove_fields_and_are_in_the_specification():
    style = Style("m", options={"max_tokens": None, "max_completion_tokens": 1})
    body = style.body(Question(PROMPT, Text("a", "x"), Text("b", "y")))
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 1
    assert style.specification()["option max_completion_tokens"] == "1"


def test_the_most_that_may_be_written_is_known():
    assert Style("m").written == 1
    assert Style("m", draws=5, temperature=1.0).written == 5 * 8
    longer = {"max_tokens": None, "max_completion_tokens": 100}
    assert Style("m", options=longer).written == 100
    assert Style("m", options=longer, draws=5, temperature=1.0).written == 500


def test_braces_in_texts_are_left_alone():
    question = Question(PROMPT, Text("a", "{turn} {labels}"), Text("b", "{"))
    for style in (Style("m"), Style("m", endpoint="completions")):
        assert "{turn} {labels} or {?" in str(style.body(question))


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "completions"},
        {"prefix": "continue"},
        {"instruction": ""},
        {"draws": 3, "temperature": 1.0},
        {"top": 5},
        {"temperature": 0.5},
        {"options": {"seed": 1}},
    ],
)
def test_every_option_that_changes_answers_changes_the_specification(change):
    assert Style("m", **change).specification() != Style("m").specification()
