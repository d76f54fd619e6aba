"""The judgement store: what goes in comes out, once, and what does not belong is refused."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from judging.errors import JudgeError
from judging.question import Answer, Prompt, Question, Text
from judging.store import Store
from tests.asking import PROMPT, HashJudge, expected, filled, questions, texts


def as_dict(comparisons):
    return {(row.first, row.second): row.p for row in comparisons.to_table().itertuples()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judgements.sqlite"


def test_answers_come_back_in_order_to_the_last_bit_and_nothing_is_asked_twice(path):
    asked = questions(5)
    first, second = HashJudge(), HashJudge()
    with Store(path) as store:
        answers = store.ask(first, asked[:7])
        assert answers == [expected(question) for question in asked[:7]]
        assert store.missing(second, asked) == list(range(7, 20))
        assert len(store) == 7
    with Store(path) as store:
        assert store.ask(second, asked[::-1]) == [expected(question) for question in asked[::-1]]
    assert first.asked == [question.key for question in asked[:7]]
    assert sorted(second.asked) == sorted(question.key for question in asked[7:])


def test_what_makes_another_question(path):
    (one, *_), judge = questions(2), HashJudge()
    a, b, c = texts(3)
    other = Text("context", "another context")

    def missing(prompt, *, first=one.first, second=one.second, context=one.context):
        return len(store.missing(judge, [Question(prompt, first, second, context)]))

    with Store(path) as store:
        store.ask(judge, [one])
        assert missing(Prompt("another name", PROMPT.template)) == 0
        for change in (
            {"template": PROMPT.template + " "},
            {"labels": ("B", "A")},
            {"prefix": "Summary"},
            {"system": "Be fair."},
        ):
            assert missing(replace(PROMPT, **change)) == 1, change
        for change in ({"first": b, "second": a}, {"second": c}, {"context": other}):
            assert missing(PROMPT, **change) == 1, change
        whole = replace(PROMPT, prefix="Text", labels=("B", "Ä"), system="Be fair.")
        key = Question(whole, a, b, other).key  # stores that exist have it
        assert key == "311e485db5954e559a891369e1e34d12450121385b14f4280bf40dcd15027007"
        twice = [one, *questions(3), *questions(3)]
        assert store.missing(judge, twice) == [2, 3, 4, 5, 6]  # the same question is asked once


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "as in a browser"])
def test_a_failing_judge_loses_nothing_that_was_reported(path, threads, monkeypatch):
    if not threads:
        monkeypatch.setattr("judging.store.store.WASM", True)
        monkeypatch.setattr("threading.Thread.start", None)  # whoever starts one fails
    asked, reported = questions(5), []

    def progress(*, done, total, answers):
        with sqlite3.connect(path) as other:
            (stored,) = other.execute("SELECT count(*) FROM answers").fetchone()
        reported.extend(answers)
        assert len(reported) == done <= stored <= total == len(asked)

    judge = HashJudge(delay=0.005, fail_after=8, error=JudgeError("the server has gone"))
    with Store(path) as store, pytest.raises(JudgeError, match="the server has gone"):
        store.ask(judge, asked, progress)
    assert reported == [expected(question) for question in asked[:8]]
    assert judge.closed
    again = HashJudge()
    with Store(path) as store:
        store.ask(again, asked)
    assert again.asked == [question.key for question in asked[8:]]


IMPOSSIBLE = (
    *map(Answer, [(-1.0,), (-1.0, math.nan), (-1.0, math.inf), (3.0, 2.0), (0.0, 0.0)]),
    Answer((-1.0, -1.0), computed=math.nan),
    Answer((math.nan, "much"), tokens=10**30),
)


@pytest.mark.parametrize("wrong", IMPOSSIBLE)
def test_an_impossible_answer_loses_itself_alone_and_many_end_the_run(path, wrong):
    asked = questions(6)
    with Store(path) as store:
        with pytest.raises(JudgeError, match=r"log-probabilities|took .*computed"):
            store.ask(HashJudge(instead={3: wrong}), asked)
        assert len(store) == 29
        assert len(store.ask(HashJudge(), asked)) == 30
    judge = HashJudge(instead=dict.fromkeys(range(2, 30), wrong))
    with Store(path.with_name("b.sqlite")) as store, pytest.raises(JudgeError):
        store.ask(judge, asked)
    assert len(judge.asked) == 12


# Other judges ----------------------------------------------------------------------------


def test_another_specification_is_refused_with_the_fields_that_differ(path):
    asked = questions(3)
    filled(path, asked, model="m", dtype="fp32")
    other = HashJudge(model="m", dtype="bf16", device_map="auto")
    with Store(path) as store:
        for call in (store.ask, store.missing):
            with pytest.raises(JudgeError) as caught:
                call(other, asked)
            assert "dtype: fp32 in the store, bf16 now" in str(caught.value)
            assert "model:" not in str(caught.value)
    assert other.asked == []


def test_several_judges_where_they_are_meant(path):
    asked = questions(3)
    with Store(path, several=True) as store:
        store.ask(HashJudge(), asked)
        second = HashJudge(revision="2")
        store.ask(second, asked)
        assert len(second.asked) == len(asked)
        assert [s["revision"] for s in store.specifications().values()] == ["1", "2"]
        with pytest.raises(JudgeError, match="answers of 2 judges"):
            store.comparisons()
        digest, _ = store.specifications()
        first = {(q.first.id, q.second.id): expected(q).p for q in asked}
        assert as_dict(store.comparisons(judge=digest)) == first
    with Store(path) as store:  # one of those in it goes on without the option
        assert store.missing(second, asked) == []


# Files that are not stores ---------------------------------------------------------------


def test_what_is_not_a_store_is_refused_and_untouched(tmp_path):
    text, other = tmp_path / "pairs.csv", tmp_path / "other.sqlite"
    text.write_text("first,second,p\na,b,0.5\n" * 50)
    with closing(sqlite3.connect(other)) as raw:
        raw.execute("CREATE TABLE answers (x)")
    for file in (text, other):
        before = file.read_bytes()
        with pytest.raises(JudgeError, match="not a judgement store"):
            Store(file)
        with Store(":memory:") as store, pytest.raises(JudgeError, match="not a judgement store"):
            store.merge(file)
        assert file.read_bytes() == before
    for missing in (tmp_path, tmp_path / "nowhere" / "a.sqlite"):
        with pytest.raises(JudgeError, match="no such folder"):
            Store(missing)


def test_a_store_of_another_version_is_not_opened(path):
    Store(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(JudgeError, match="another version"):
        Store(path)
    with Store(":memory:") as store, pytest.raises(JudgeError, match="another version"):
        store.merge(path)


def test_a_damaged_store_is_named(path):
    whole = filled(path, questions(20)).read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(JudgeError, match=r"judgements\.sqlite.*damaged"), Store(path) as store:
        store.table()


# What comes out --------------------------------------------------------------------------


def test_texts_are_not_in_the_file(path):
    prompt = Prompt("secret/prompt", "Marzipan {first} or {second}?", system="Quince")
    question = Question(prompt, Text("one", "Rhubarb"), Text("two", "Gooseberry"))
    raw = filled(path, [question]).read_bytes()
    for word in (b"Marzipan", b"Quince", b"Rhubarb", b"Gooseberry"):
        assert word not in raw
    assert b"two" in raw  # control: names are in it, and would be found


def test_a_name_given_to_two_texts_must_be_settled(path):
    context, a, b = Text("context-0", "the context"), Text("a", "one"), Text("b", "two")
    edited, homonym = Text("b", "two, edited"), Text("context-0", "another context")
    judge = HashJudge()
    with Store(path) as store:
        store.ask(judge, [Question(PROMPT, a, b, context), Question(PROMPT, a, edited, context)])
        with pytest.raises(JudgeError, match=r"the same name: 'b'"):
            store.comparisons()
        kept = store.comparisons(texts=[a, edited])
        assert kept.p.tolist() == [expected(Question(PROMPT, a, edited, context)).p]
        store.ask(judge, [Question(PROMPT, a, b, homonym)])
        with pytest.raises(JudgeError, match=r"the same name: 'context-0'"):
            store.comparisons(texts=[a, b])
        apart = Question(PROMPT, a, b, Text("context-1", homonym.text))
        store.ask(judge, [apart])
        assert len(judge.asked) == 3
        assert store.comparisons(context="context-1").p.tolist() == [expected(apart).p]


def test_renamed_texts_and_prompts_cost_nothing_and_are_found(path):
    context, a, b = Text("c", "context"), Text("a", "one"), Text("b", "two")
    renamed = [Text("essay-1", "one"), Text("essay-2", "two")]
    prompt = Prompt("another/name", PROMPT.template)
    judge = HashJudge()
    with Store(path) as store:
        store.ask(judge, [Question(PROMPT, a, b, context)])
        twin = Text("twin", "one")  # under two names in one call
        answer, _ = store.ask(
            judge, [Question(prompt, *renamed, context), Question(PROMPT, twin, b, context)]
        )
        assert len(judge.asked) == 1
        found = store.comparisons(texts=renamed)
        assert found.items == ("essay-1", "essay-2")
        assert found.p.tolist() == [answer.p]
        assert len(store.comparisons(texts=[a, b])) == 1


def test_answers_with_neither_label_are_left_out_with_a_warning(path):
    asked, mute = questions(3), HashJudge(instead={0: Answer((-math.inf, -math.inf))})
    with Store(path) as store:
        answers = store.ask(mute, asked)
        assert answers[0].log_p == (-math.inf, -math.inf)
        with pytest.warns(UserWarning, match="1 of 6 answers held neither label"):
            assert len(store.comparisons()) == 5
        assert store.missing(mute, asked) == []


def test_the_table_has_every_answer(path):
    scoring = Prompt("test/score", "{first}: 1 to 3?", labels=("1", "2", "3"))

    scored = Answer((math.log(0.5), math.log(0.25), -math.inf))
    compared = questions(2)
    with Store(path) as store:
        both = HashJudge(instead={2: scored})
        store.ask(both, [*compared, Question(scoring, compared[0].first)])
        table = store.table()
    rows = table.set_index(["prompt", "first"])
    assert rows.loc[("test/better", "text-0")]["p"] == expected(compared[0]).p
    score = rows.loc[("test/score", "text-0")]
    assert (score["log_p_1"], score["log_p_3"]) == (math.log(0.5), -math.inf)
    assert (score["labels"], score["mass"]) == ("1 2 3", 0.75)
    assert math.isnan(score["p"])


# Merging ---------------------------------------------------------------------------------


def test_shards_merge_to_what_one_run_would_hold(path, tmp_path):
    asked = questions(5, contexts=2)
    for shard in range(3):
        filled(tmp_path / f"shard{shard}.sqlite", asked[shard::3] + asked[:2])
    with Store(path) as store:
        added = [store.merge(tmp_path / f"shard{shard}.sqlite").added for shard in range(3)]
        assert sum(added) == len(asked)
        judge = HashJudge()
        assert store.ask(judge, asked) == [expected(question) for question in asked]
        assert judge.asked == []
        same = len({q.key for q in asked[0::3] + asked[:2]})
        assert store.merge(tmp_path / "shard0.sqlite") == (0, same, 0, ())
        merged = {name: as_dict(group) for name, group in store.by_context().items()}
    with Store(filled(tmp_path / "whole.sqlite", asked)) as store:
        assert merged == {name: as_dict(group) for name, group in store.by_context().items()}


def test_conflicting_answers_are_reported_and_ours_stays(path, tmp_path):
    asked = questions(3)
    changed = Answer((math.log(0.5), math.log(0.25)))
    other = filled(tmp_path / "other.sqlite", asked, instead={3: changed})
    with Store(filled(path, asked)) as store:
        with pytest.warns(UserWarning, match="1 answers of .*other.sqlite differ"):
            assert store.merge(other) == (0, 5, 1, ())
        assert store.ask(HashJudge(), asked) == [expected(question) for question in asked]


def test_merging_another_judge_is_refused_and_changes_nothing(path, tmp_path):
    other = filled(tmp_path / "other.sqlite", questions(3), revision="2")
    with Store(filled(path, questions(2))) as store:
        with pytest.raises(JudgeError, match="revision: 1 in the store, 2 now"):
            store.merge(other)
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")  # no lock is left behind
        assert len(store) == 2
        assert len(store.specifications()) == 1
        assert len(store.ask(HashJudge(), questions(3))) == 6  # still usable
    with Store(path, several=True) as store:
        assert store.merge(other).added == 6
        assert len(store.specifications()) == 2


def test_damaged_rows_are_named_and_stay_out_of_a_merge(path, tmp_path):
    asked = questions(3)
    shard = filled(tmp_path / "shard.sqlite", asked)
    wrong = ["oops", "[-1.0]", "[NaN, -1.0]", "[3.0, 2.0]", '["a", "b"]']
    with closing(sqlite3.connect(shard)) as raw, raw:
        keys = raw.execute("SELECT question FROM answers").fetchall()
        for log_p, (key,) in zip(wrong, keys, strict=False):
            raw.execute("UPDATE answers SET log_p = ? WHERE question = ?", (log_p, key))
    with Store(path) as store:
        with pytest.warns(UserWarning, match="5 rows of .*shard.sqlite are damaged"):
            found = store.merge(shard)
        assert (found.added, found.same, len(found.refused)) == (1, 0, 5)
        assert all("test/better" in text and "'text-" in text for text in found.refused)
    with Store(shard) as store, pytest.raises(JudgeError, match=r"damaged.*'test/better'"):
        store.table()
    for place, damage in enumerate(("answers SET tokens = 'many'", "prompts SET labels = 'A B'")):
        other = filled(path.with_name(f"{place}.sqlite"), asked)
        with closing(sqlite3.connect(other)) as raw, raw:
            raw.execute(f"UPDATE {damage}")
        with Store(path) as store, pytest.warns(UserWarning, match="6 rows of .* are damaged"):
            assert store.merge(other).added == 0
    with closing(sqlite3.connect(shard)) as raw, raw:
        raw.execute("UPDATE judges SET specification = '7'")
    with Store(path) as store, pytest.warns(UserWarning, match="6 rows of .* are damaged"):
        assert store.merge(shard).added == 0
    with Store(shard) as store, pytest.raises(JudgeError, match=r"shard.*damaged"):
        store.specifications()
