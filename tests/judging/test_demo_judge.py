"""The demo judge, a formula that says so, and judges opened by name."""

import pytest
from scipy.special import expit

from judging import prompts
from judging.errors import JudgeError
from judging.judges import open as open_judge
from judging.judges.demo import DemoJudge, reading_ease
from judging.question import Question, Text

EASY = Text("easy", "The cat sat. It was red.")
HARD = Text("hard", "Administrative considerations necessitate comprehensive documentation.")
PROMPT = prompts.for_attribute("easier to read")


def said(judge, first=EASY, second=HARD):
    ((position, answer),) = judge.answer([Question(PROMPT, first, second)])
    assert position == 0
    return answer


def test_reading_ease_by_hand():
    # six words, two sentences, six syllables
    assert reading_ease(EASY.text) == pytest.approx(206.835 - 1.015 * 6 / 2 - 84.6 * 6 / 6)
    assert reading_ease(EASY.text) > 60 > reading_ease(HARD.text)
    assert reading_ease("… !? …") == 0.0


def test_p_is_a_sigmoid_of_the_difference():
    plain = DemoJudge(scale=30, lean=0, noise=0)
    d = (reading_ease(EASY.text) - reading_ease(HARD.text)) / 30
    assert said(plain).p == pytest.approx(expit(d))
    assert said(plain, HARD, EASY).p == pytest.approx(1 - said(plain).p)
    assert said(plain).mass == pytest.approx(1.0)
    assert said(plain).tokens == len(Question(PROMPT, EASY, HARD).text.split())


def test_it_says_what_it_is():
    given = DemoJudge().specification
    assert "not a language model" in given["model"]
    assert DemoJudge(lean=0).specification != given


# Judges by name --------------------------------------------------------------------------


def test_demo_by_name_with_options():
    judge = open_judge("demo", lean=0.1)
    assert isinstance(judge, DemoJudge)
    assert judge.lean == 0.1
    with pytest.raises(JudgeError, match="no option 'colour'"):
        open_judge("demo", colour="red")


def test_names_that_no_judge_has_are_refused_with_the_forms():
    assert isinstance(open_judge(" demo "), DemoJudge)
    forms = ("", "gpt-4", "demo:x", "hf", "hf:", "openai:", "http:", "http://x/v1")
    for name in (*forms, "openai:model", "openai:@http://x/v1", "openai:m@localhost"):
        with pytest.raises(JudgeError, match="openai:MODEL@URL"):
            open_judge(name)


def test_model_names_may_hold_an_at_sign(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "judging.judges.server.ServerJudge",
        lambda model, url, **options: asked.append((model, url, options)),
    )
    open_judge("openai:org/model@v2@https://host:8000/v1", concurrency=3)
    open_judge("http://localhost:8000/v1", model="org/model")
    assert asked == [
        ("org/model@v2", "https://host:8000/v1", {"concurrency": 3}),
        ("org/model", "http://localhost:8000/v1", {}),
    ]


def test_a_revision_follows_an_at_sign(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "judging.judges.transformers.TransformersJudge",
        lambda model, *, revision=None: asked.append((model, revision)),
    )
    open_judge("hf:org/model@abc")
    open_judge("hf:org/model")
    assert asked == [("org/model", "abc"), ("org/model", None)]
    with pytest.raises(JudgeError, match="names no model"):
        open_judge("hf:org/model@")
