"""JSON of others: whatever stands at whatever place, no traceback, and no sound line is lost."""

import json
import threading
from copy import deepcopy

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judging.errors import DatasetError, JudgeError
from judging.judges.server import ServerJudge, http
from judging.judges.spending import Spending
from judging.practice.batch import BatchJudge, import_results
from judging.practice.board import read_answers
from judging.practice.cli import main
from judging.practice.reading.forms import read
from judging.practice.reading.tables import read_table
from judging.practice.reading.texts import read_texts
from judging.practice.trust import read_people
from judging.store import Store
from poe.errors import ComparisonError
from tests.asking import questions
from tests.judge_server import complete

pytestmark = pytest.mark.long

NOWHERE = "http://127.0.0.1:9/v1"
ODD = (
    1,
    True,
    -1.5,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "x",
    "\ud800",
    "\x1b[31m\n",
    "w " * 400,
)
# Any JSON, and what people have met: half of a character, NaN, numbers of 400 digits, a colour.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(ODD),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3)
    ),
    max_leaves=4,
)
FUZZED = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def places(value, path=()):
    """Every place of a JSON value, itself first."""
    yield path
    if isinstance(value, (dict, list)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def put(value, path, other):
    """A copy of the value with another at that place."""
    if not path:
        return other
    value = deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other
    return value


def changed(value):
    """That value with anything at any one of its places."""
    return st.builds(lambda path, other: put(value, path, other),
                     st.sampled_from(list(places(value))), ANYTHING)  # fmt: skip


def requests(draws):
    judge = BatchJudge(ServerJudge("tiny", NOWHERE, draws=draws))
    asked = questions(4)
    return judge, asked, [judge.request(question) for question in asked]


def result(request):
    body = complete(request["body"], np.random.default_rng(0), "", "")
    return {"custom_id": request["custom_id"], "error": None,
            "response": {"status_code": 200, "request_id": "r", "body": body}}  # fmt: skip


LINES = {draws: [result(one) for one in requests(draws)[2]] for draws in (0, 2)}
FAILED = {
    "custom_id": LINES[0][0]["custom_id"],
    "response": {"status_code": 400, "body": {"error": {"message": "too long", "code": 3}}},
    "error": {"message": "m", "code": "c"},
}


def imported(tmp_path, line, draws=0):
    """What an import made of one line of bytes among sound ones, and how many are stored."""
    judge, asked, _ = requests(draws)
    path, file = tmp_path / "s.sqlite", tmp_path / "r.jsonl"
    for one in tmp_path.glob("s.sqlite*"):
        one.unlink()
    sound = [json.dumps(one).encode() for one in LINES[draws][1:]]
    file.write_bytes(b"\n".join([*sound[:5], line, *sound[5:]]))
    with Store(path) as store:
        with pytest.raises(JudgeError, match="wait for a batch"):
            store.ask(judge, asked)
        judge.write(tmp_path / "requests.jsonl", store)
        tally = import_results(store, file)
        return tally, len(store), len(sound)


@pytest.mark.parametrize("draws", [0, 2])
def test_a_line_of_results_may_hold_anything(draws, tmp_path):
    @FUZZED
    @given(st.one_of(changed(LINES[draws][0]), changed(FAILED)))
    @example({**LINES[draws][0], "response": [1]})
    @example({**LINES[draws][0], "custom_id": ["a"]})
    @example(put(LINES[draws][0], ("response", "body", "model"), "\ud800"))
    @example(put(LINES[draws][0], ("response", "body", "model"), None))
    @example({"response": {"body": {"model": "other", "choices": []}},
              "custom_id": LINES[draws][0]["custom_id"]})  # fmt: skip
    def holds(line):
        model = line.get("response") if isinstance(line, dict) else None
        model = model.get("body") if isinstance(model, dict) else None
        model = model.get("model", "tiny-served") if isinstance(model, dict) else None
        line = json.dumps(line).encode()
        try:
            tally, stored, sound = imported(tmp_path, line, draws)
        except JudgeError as error:  # which of two models is for the user to say
            said = str(error)
            assert "answers of several models" in said
            assert isinstance(model, str)
            assert model not in ("", "tiny-served")
            return
        left_out = tally.failed.total() + tally.unknown + tally.others.total()
        assert tally.added in (sound, sound + 1)
        assert tally.added - sound + left_out == 1, "it is an answer, or it is counted"
        assert stored == tally.added + tally.refused
        for why in (*tally.failed, *tally.others):
            assert why
            assert why.isprintable()

    holds()


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b'{"a"', b"[" * 100_000, b"1" * 5000, b'"x"', b"null", b"{}"]
)
def test_a_line_that_is_no_object_is_counted(line, tmp_path):
    tally, stored, sound = imported(tmp_path, line)
    assert (tally.added, stored, tally.failed.total()) == (sound, sound, 1)


@pytest.mark.parametrize("heard", [False, True])
def test_a_reply_that_is_too_large_is_tried_again(heard, monkeypatch):
    """And ends as any other that cannot be used: one question's, where others were answered."""
    judge = ServerJudge("tiny", NOWHERE)
    caller, tried = judge._caller, []
    caller.heard = heard
    monkeypatch.setattr(http, "pause", lambda tried: 0.0)
    monkeypatch.setattr(http, "LARGEST", 2**20)

    def respond(request):
        tried.append(1)
        return httpx.Response(200, content=bytes(2**20 + 1))

    ended = http.RefusedError if heard else http.ServerGoneError
    with (
        httpx.Client(transport=httpx.MockTransport(respond)) as client,
        pytest.raises(ended, match="more than 1 MB"),
    ):
        caller.call(client, {}, judge._read, threading.Event(), Spending())
    assert len(tried) == http.TRIES


ROWS = [{"id": "a", "text": "one", "context": "c", "score": 1.0, "first": "a", "second": "b",
         "winner": "a", "p": 0.5, "preference": 1, "system": "s", "prompt": "q", "answer": "y",
         "weight": 1, "conversation_a": [{"role": "user", "content": "h"}],
         "conversation_b": [{"role": "assistant", "content": "h"}], "k": k}
        for k in range(3)]  # fmt: skip
FILES = {
    "rows.json": ROWS,
    "data.json": {"data": ROWS},
    "split.json": {"columns": list(ROWS[0]), "data": [list(row.values()) for row in ROWS]},
    "columns.json": {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "index.json": {name: {str(row["k"]): row[name] for row in ROWS} for name in ROWS[0]},
    "annotated.json": [
        {"id": k, "data": {"left": "x", "right": "y"},
         "annotations": [{"result": [{"value": {"selected": "left"}, "type": "pairwise"}]}]}
        for k in range(3)
    ],
}  # fmt: skip
SAID = (DatasetError, ComparisonError, JudgeError)


@pytest.mark.parametrize("name", [*FILES, "rows.jsonl"])
def test_a_table_may_hold_anything(name, tmp_path):
    """It is read, or one sentence says what is wrong with it."""
    path = tmp_path / name

    @FUZZED
    @given(changed(FILES.get(name, ROWS)))
    @example([{"id": "a", "te\ud800xt": "One."}])
    @example({"columns": ["\ud800"], "data": [["One."]]})
    def holds(content):
        lines = content if name.endswith("jsonl") and isinstance(content, list) else [content]
        path.write_text("\n".join(map(json.dumps, lines)))
        readers = read_table, read_texts, read_answers, read_people, lambda f: read(read_table(f))
        for reader in readers:
            try:
                reader(path)
            except SAID as error:
                said = str(error)
                assert 10 < len(said) < 2000

    holds()


def test_a_file_of_ours_that_was_damaged_is_named(tmp_path):
    judge, asked, _ = requests(0)
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(JudgeError, match="wait for a batch"):
            store.ask(judge, asked)
        judge.write(tmp_path / "requests.jsonl", store)
        beside = tmp_path / "s.sqlite.batch.jsonl"
        first, *rest = beside.read_text().splitlines()
        results = tmp_path / "r.jsonl"
        results.write_text("\n".join(map(json.dumps, LINES[0])))

        @FUZZED
        @given(changed(json.loads(first)))
        def holds(entry):
            beside.write_text("\n".join([json.dumps(entry), *rest]))
            try:
                import_results(store, results)
            except JudgeError as error:
                said = str(error)  # the line is damaged, or its judge another than before
                assert "s.sqlite" in said

        holds()


def test_a_file_of_settings_may_hold_anything(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("first,second,p\na,b,0.7\nb,c,0.6\nc,a,0.3\n")
    names = ["tables", "first", "winner", "prior", "confidence", "cluster", "encoding", "sheet"]
    value = st.sampled_from(
        ["1", "-1", "true", "[]", "[1]", "[[1]]", "{}", '{a = "b"}', '""', '"x"', "1e999", "nan",
         "1979-05-27", '["v.csv"]', "9999999999999999999"]
    )  # fmt: skip

    @FUZZED
    @given(st.dictionaries(st.sampled_from(names), value, max_size=3))
    def holds(options):
        lines = [f"{name} = {one}" for name, one in options.items()]
        (tmp_path / "c.toml").write_text("\n".join(lines))
        assert main(["fit", "v.csv", "--config", "c.toml", "--json"]) in (0, 1, 2)
        assert "Traceback" not in capsys.readouterr().err

    holds()
