"""What commands say in the cases that surprise: each was found by somebody who used them."""

import json
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import judging
import poe
from judging.errors import JudgeError
from judging.judges.server import ServerJudge
from judging.judges.spending import Spending, SpendingLimitError
from judging.practice.cli import main
from judging.store import Store
from tests.asking import HashJudge, questions
from tests.judge_server import serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"t{k},{'word ' * (k + 1)}ends" for k in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(["id,text", *rows]))
    renamed = [row.replace("t", "new", 1) for row in rows[:4]] + rows[4:]
    (tmp_path / "renamed.csv").write_text("\n".join(["id,text", *renamed]))
    return tmp_path


def rank(table, *more):
    return main(["rank", table, "--attribute", "nicer", "--judge", "demo", "--quiet", *more])


def test_a_store_counts_an_answer_once_whatever_its_texts_are_called(folder, capsys):
    assert rank("t.csv", "--budget", "all") == rank("renamed.csv", "--budget", "all") == 0
    capsys.readouterr()
    assert main(["store", "list", "judgements.sqlite", "--json"]) == 0
    (judge,) = json.loads(capsys.readouterr().out)
    (prompt,) = judge["prompts"]
    with Store("judgements.sqlite") as store:
        assert prompt["answers"] == len(store) == 56
        paid = store.table().drop_duplicates("log_p_1")["tokens"].sum()
        assert prompt["tokens"] < store.table()["tokens"].sum()
        assert prompt["tokens"] == paid
    assert main(["store", "list", "judgements.sqlite"]) == 0
    assert f"own/nicer: 56 answers, {prompt['tokens']:,} tokens" in capsys.readouterr().out


def test_what_a_later_context_cannot_keep_is_refused_before_anything_is_asked():
    rows = [{"id": f"{k}", "text": f"word {k}", "context": "large"} for k in range(12)]
    rows += [{"id": f"s{k}", "text": f"last {k}", "context": "small"} for k in range(3)]
    judge = HashJudge()
    said, four = r"^context-2: the rule 'probability of the top 4' says nothing", poe.top_known(4)
    with Store(":memory:") as store, pytest.raises(ValueError, match=said):
        judging.rank_each(pd.DataFrame(rows), [judge], ["nicer"], store=store, until=four)
    assert not judge.asked
    with Store(":memory:") as store:
        rules = (rule for rule in [poe.top_known(2)])  # an iterator is for all contexts
        both = judging.rank_each(pd.DataFrame(rows), [judge], ["nicer"], store=store, until=rules)
    assert all("probability of the top 2" in one.history for one in both)


def test_a_model_that_moved_keeps_its_answers(folder):
    asked = questions(3)
    with serving() as one, serving() as other, Store("s.sqlite") as store:
        store.ask(ServerJudge("tiny", one.url), asked[:3])
        name = ServerJudge("tiny", one.url).described["server"]
        with pytest.raises(JudgeError, match=rf"--judge-option server={name}"):
            store.ask(ServerJudge("tiny", other.url), asked[:3])
        store.ask(ServerJudge("tiny", other.url, server=name), asked[:3])
        assert len(store) == 3
        assert not any("messages" in body for body in other.requests)


def test_a_limit_counts_what_was_under_way_when_it_is_read():
    spending = Spending(calls=2)
    assert spending.reserve(10)
    assert spending.reserve(10)
    with pytest.raises(SpendingLimitError) as caught:
        spending.reserve(10)
    assert "(2 calls and 0 tokens were used)" in str(caught.value)
    spending.settle(10, 7)
    spending.settle(10, 8)
    assert "(2 calls and 15 tokens were used)" in str(caught.value)


def test_calls_are_kept_for_the_questions_that_were_begun():
    spending = Spending(calls=5)
    with spending.question(2):
        assert spending.reserve(10)
        with Thread() as other:  # has begun nothing: one call is kept, three are free
            assert [other.do(spending.reserve, 10) for _ in range(4)] == [True, True, True, False]
        spending.settle(10, 0, turned_away=True)  # its place is for the same question
        assert spending.reserve(10)
        assert spending.reserve(10)
        with pytest.raises(SpendingLimitError, match=r"limit of 5 calls is reached \(5 calls"):
            spending.reserve(10)
    spending = Spending(calls=5)
    too_many = pytest.raises(SpendingLimitError, match="and a question takes 3 calls")
    with spending.question(3), Thread() as other, too_many:
        other.do(spending.question(3).__enter__)
    with spending.question(3):
        assert spending.reserve(10), "what was kept and not used is free again"
    assert spending.calls == 1


def test_tokens_are_kept_for_the_questions_that_were_begun():
    spending = Spending(tokens=100)
    with spending.question(3, 20):  # 60 of 100
        with Thread() as other:
            assert [other.do(spending.reserve, 20) for _ in range(3)] == [True, True, False]
            other.do(spending.settle, 20, 20)
            other.do(spending.settle, 20, 0)
        assert [spending.reserve(20) for _ in range(3)] == [True, True, True]
        spending.settle(20, 5)
        spending.settle(20, 5)
        spending.settle(20, 0, turned_away=True)  # its tokens are for the same question
        with Thread() as other, pytest.raises(RuntimeError, match="must end first"):
            other.do(spending.question(2, 30, must_end_first).__enter__)
    too_many = pytest.raises(SpendingLimitError, match=r"the next question may need 80\)")
    with too_many, spending.question(4, 20):
        pass
    with spending.question(3, 20):  # what was kept and not used is free again
        assert spending.reserve(20)
    assert spending.tokens == 30


def must_end_first():
    raise RuntimeError("calls under way must end first")


class Thread:
    """Another thread that does one thing after the other."""

    def __enter__(self):
        self.pool = ThreadPoolExecutor(1)
        return self

    def do(self, what, *arguments):
        return self.pool.submit(what, *arguments).result()

    def __exit__(self, *error):
        self.pool.shutdown()


def test_ask_for_a_program(folder, capsys):
    asked = ["ask", "t.csv", "nicer", "--judge", "demo", "--quiet", "--json", "--budget", "12"]
    assert main([*asked, "--dry-run"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["calls"], plan["known"], plan["to_ask"]) == (12, 0, 12)
    assert main([*asked, "--limit-calls", "5"]) == 3
    partly = json.loads(capsys.readouterr().out)
    assert (partly["asked"], partly["left"]) == (5, 7)
    assert "the limit of 5 calls" in partly["stopped_because"]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["known"], found["asked"], found["left"], found["refused"]) == (5, 7, 0, 0)
    with Store("judgements.sqlite") as store:
        table = store.table()
    assert found["tokens"] == table["tokens"].sum()
    assert found["first_rate"] == pytest.approx((table["p"] > 0.5).mean())
    assert main([*asked, "--store", "other.sqlite"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"] == "own/nicer"


def test_what_reads_workbooks_and_parquet_is_in_an_extra_that_the_readme_names():
    wanted = {"openpyxl": "excel", "pyarrow": "parquet"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    readme = (ROOT / "README.md").read_text("utf-8")
    for package, extra in wanted.items():
        assert [re.match(r"[\w-]+", one)[0] for one in project["optional-dependencies"][extra]] == [
            package
        ]
        assert f"'.[{extra}]'" in readme
    assert not wanted.keys() & {re.match(r"[\w-]+", one)[0] for one in project["dependencies"]}
