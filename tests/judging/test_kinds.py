"""A judge is one class and one row of one table: a kind made here, used everywhere."""

import ast
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import judging
from judging import kinds
from judging.cost import cost
from judging.errors import JudgeError, NoJudgeError
from judging.judges.asking import stored_judge
from judging.judges.spending import Spending
from judging.practice.cli import main
from judging.practice.ranking import words
from judging.question import Answer, Question, Reader, Text, by_bytes
from judging.store import Store

ROOT = Path(judging.__file__).parent
TOY = """
from judging import kinds
from judging.question import Answer, Reader

class Toy(Reader):
    counted_by = "letters, by counting"
    def __init__(self, letter="e"):
        self.letter = letter
    @property
    def specification(self):
        return {"kind": "toy", "model": "counts letters", "letter": self.letter}
    def count_tokens(self, questions):
        return [len(question.text) for question in questions]
    def answer(self, questions):
        for k, question in enumerate(questions):
            one, other = (t.text.count(self.letter) + 1 for t in (question.first, question.second))
            p = one / (one + other)
            yield k, Answer((math.log(p), math.log(1 - p)), tokens=len(question.text))

def opened(rest, options):
    return Toy(rest, **options)

ROW = kinds.Kind(
    form="toy:LETTER",
    open=opened,
    engines=("toy",),
    means=lambda rest, specification: specification["letter"] == rest,
    unit="letters",
    simulated=True,
    caution="a toy counts letters",
)
"""


@pytest.fixture
def toy(monkeypatch):
    """The toy's class, its row in the table for one test."""
    import math

    space = {"math": math, "__name__": __name__}
    exec(TOY, space)
    monkeypatch.setitem(kinds.KINDS, "toy", space["ROW"])
    return space["Toy"]


def texts():
    return {f"t{k}": "e" * k + " and " + "x" * (9 - k) for k in range(1, 7)}


def test_one_row_opens_it_names_it_and_prices_it(toy):
    judge = judging.open("toy:e")
    assert isinstance(judge, toy)
    for wrong in ("toy", "toy:", "nobody"):
        with pytest.raises(NoJudgeError, match=r"[Aa] judge is named qwen, smollm2.*toy:LETTER"):
            judging.open(wrong)
    prompt = judging.prompts.for_attribute("louder")
    asked = [Question(prompt, Text("a", "eee"), Text("b", "e"))]
    told = cost(asked, judge, Store(":memory:").table(), calls=10)
    assert told.tokens == 10 * len(asked[0].text)
    assert told.tokens_by == "letters, by counting, one question"


def test_one_row_says_what_its_rankings_are(toy):
    store = Store(":memory:")
    ranking = judging.rank(texts(), "toy:e", attribute="louder", budget="all", store=store)
    assert ranking.to_frame()["name"].tolist() == [f"t{k}" for k in range(6, 0, -1)]
    said = words.in_text([ranking])
    assert "Note: a toy counts letters." in said
    assert f"{sum(answer.tokens for answer in ranking.judged.answers):,} letters;" in said
    assert words.kind(ranking).startswith("simulated")
    offline = judging.rank(
        texts(),
        "toy:e",
        attribute="louder",
        budget="all",
        store=store,
        asking=judging.Asking(offline=True),
    )
    np.testing.assert_array_equal(offline.fit.scores, ranking.fit.scores)
    with pytest.raises(JudgeError, match="offline, toy:x is none of the judges"):
        stored_judge(store, "toy:x")


def test_no_other_module_knows_a_kind_by_its_name():
    """The name demo was a special case in six modules."""
    names = {"demo", "qwen", "smollm2"}
    for path in ROOT.rglob("*.py"):
        if path.name in ("kinds.py", "demo.py", "models.py"):
            continue
        found = {
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not found & names, path


def test_every_row_has_an_example_of_its_form_that_is_accepted():
    examples = {
        "hf:MODEL": "hf:org/model@abc",
        "openai:MODEL@URL": "openai:m@http://h/v1",
    }
    for kind in kinds.KINDS.values():
        found, _ = kinds.named(examples.get(kind.form, kind.form))
        assert found is kind


@pytest.mark.parametrize(
    ("name", "specification", "means"),
    [
        ("qwen", {"kind": "llama.cpp", "model": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"}, True),
        ("qwen", {"kind": "llama.cpp", "model": "other.gguf"}, False),
        ("gguf:/a/other.gguf", {"kind": "llama.cpp", "model": "other.gguf"}, True),
        ("gguf:/a/other.gguf", {"kind": "llama.cpp", "model": "another.gguf"}, False),
        ("smollm2", {"kind": "transformers", "model": "SmolLM2-135M-Instruct.Q4_1.gguf"}, True),
        ("hf:/a/b", {"kind": "transformers", "model": "b"}, True),
        ("hf:a/b@c", {"kind": "transformers", "model": "a/b"}, True),
        ("hf:a/b", {"kind": "server", "model": "a/b"}, False),
        ("openai:a/b@http://h", {"kind": "server", "model": "a/b"}, True),
        ("openai:a/b@http://h", {"kind": "server", "model": "a"}, False),
        ("http://h/v1", {"kind": "server", "model": "a"}, True),
        ("demo", {"kind": "demo", "model": "demo"}, True),
        ("nobody", {"kind": "demo"}, False),
    ],
)
def test_a_name_means_a_specification(name, specification, means):
    assert kinds.means(name, specification) is means


def test_what_is_said_of_a_model_holds_on_either_engine():
    for engine in ("transformers", "llama.cpp"):
        small = {"kind": engine, "model": "SmolLM2-135M-Instruct.Q4_1.gguf"}
        (caution,) = kinds.cautions(small)
        assert "do not decide anything by it" in caution
    assert kinds.cautions({"kind": "own", "model": "mine"}) == []
    assert kinds.unit({"kind": "own"}) == "tokens"
    assert not kinds.simulated({"kind": "own"})


# A class without a row -----------------------------------------------------------------------


class Plain(Reader):
    """Only what every judge must have."""

    specification = MappingProxyType({"kind": "own", "model": "the first"})

    def answer(self, questions):
        for k, _ in enumerate(questions):
            yield k, Answer((np.log(0.6), np.log(0.4)))


def test_a_class_with_an_answer_is_enough():
    judge = Plain()
    assert (judge.spending, judge.written, judge.unknown) == (None, 1, ())
    assert judge.described == judge.specification
    prompt = judging.prompts.for_attribute("louder")
    asked = [Question(prompt, Text("a", "one two"), Text("b", "three"))]
    _, expected, _ = by_bytes(asked[0].text)
    assert cost(asked, judge, Store(":memory:").table()).tokens == pytest.approx(expected)
    assert judging.rank(texts(), judge, attribute="louder", budget="all").judged.new == 30
    with pytest.raises(JudgeError, match="a limit needs a judge that keeps it"):
        judging.rank(texts(), judge, attribute="louder", asking=judging.Asking(limit_calls=5))
    judge.spending = Spending(calls=None)
    assert (
        judging.rank(
            texts(), judge, attribute="louder", asking=judging.Asking(limit_calls=500)
        ).judged.new
        > 5
    )


def test_an_object_that_is_no_judge_is_refused_by_its_class(capsys):
    class Duck:
        specification = Plain.specification
        answer = Plain.answer

    with pytest.raises(JudgeError, match=r"Duck is no judge .* derive its class from judging\.Rea"):
        judging.rank(texts(), Duck(), attribute="louder")
    assert main(["rank", "no.csv", "--judge", "duck", "--attribute", "louder"]) != 0
    assert "there is no judge 'duck': a judge is named qwen" in capsys.readouterr().err
