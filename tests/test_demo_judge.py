"""The demo judge, a formula that says so, and judges opened by name."""

import numpy as np
import pytest
from scipy.special import expit, logit

from poe import judges
from poe.errors import JudgeError
from poe.judges import open as open_judge
from poe.judges import prompts
from poe.judges.demo import DemoJudge, reading_ease, syllables
from poe.judges.questions import Prompt, Question, Text

EASY = Text("easy", "The cat sat. It was red.")
HARD = Text("hard", "Administrative considerations necessitate comprehensive documentation.")
PROMPT = prompts.for_attribute("easier to read")


def said(judge, first=EASY, second=HARD, prompt=PROMPT):
    ((position, answer),) = judge.answer([Question(prompt, first, second)])
    assert position == 0
    return answer


def test_syllables_counted_by_hand():
    words = {"cat": 1, "table": 2, "make": 1, "tree": 1, "rhythm": 1, "banana": 3, "the": 1}
    for word, count in words.items():
        assert syllables(word) == syllables(word.upper()) == count


def test_reading_ease_by_hand():
    # six words, two sentences, six syllables
    assert reading_ease(EASY.text) == pytest.approx(206.835 - 1.015 * 6 / 2 - 84.6 * 6 / 6)
    assert reading_ease(EASY.text) > 60 > reading_ease(HARD.text)
    assert reading_ease("… !? …") == 0.0
    assert reading_ease("no full stop here") == reading_ease("No full stop here.")


def test_p_is_a_sigmoid_of_the_difference():
    plain = DemoJudge(scale=30, lean=0, noise=0)
    d = (reading_ease(EASY.text) - reading_ease(HARD.text)) / 30
    assert said(plain).p == pytest.approx(expit(d))
    assert said(plain, HARD, EASY).p == pytest.approx(1 - said(plain).p)
    assert said(plain).mass == pytest.approx(1.0)
    assert said(plain).tokens == len(Question(PROMPT, EASY, HARD).text.split())


def test_lean_and_noise_are_what_they_say():
    plain, leaning = DemoJudge(lean=0, noise=0), DemoJudge(lean=0.7, noise=0)
    assert logit(said(leaning).p) - logit(said(plain).p) == pytest.approx(0.7)
    texts = [Text(str(k), EASY.text + " again" * k) for k in range(40)]
    noisy = DemoJudge(lean=0, noise=0.5)
    moved = [logit(said(noisy, one, EASY).p) - logit(said(plain, one, EASY).p) for one in texts]
    assert max(map(abs, moved)) <= 0.5 + 1e-9
    assert np.std(moved) > 0.15, "it does disturb"
    assert [said(noisy, one, EASY) for one in texts[:3]] != [said(noisy, EASY, EASY)] * 3


def test_the_same_question_has_the_same_answer_and_another_another():
    other = prompts.for_attribute("easier to read", thing="essay")
    answer = said(DemoJudge()).log_p
    assert answer == said(DemoJudge()).log_p
    assert answer != said(DemoJudge(), prompt=other).log_p


def test_it_says_what_it_is():
    given = DemoJudge().specification
    assert "not a language model" in given["model"]
    for other in ({"lean": 0}, {"scale": 9}, {"noise": 0}):
        assert DemoJudge(**other).specification != given


def test_it_only_compares():
    scoring = Prompt("score", "{first} How good?", labels=("1", "2"))
    with pytest.raises(JudgeError, match=r"compares two texts; prompt 'score' shows one"):
        list(DemoJudge().answer([Question(scoring, EASY)]))
    with pytest.raises(JudgeError, match="positive scale"):
        DemoJudge(scale=0)
    assert said(DemoJudge(scale=1e-3)).p == 1.0  # nothing overflows


# Judges by name --------------------------------------------------------------------------


def test_demo_by_name_with_options():
    judge = open_judge("demo", lean=0.1)
    assert isinstance(judge, DemoJudge)
    assert judge.lean == 0.1
    with pytest.raises(JudgeError, match=r"no option 'colour'; it has scale, lean, noise"):
        open_judge("demo", colour="red")


def test_names_that_no_judge_has_are_refused_with_the_forms():
    assert isinstance(open_judge(" demo "), DemoJudge)
    for name in ("", "gpt-4", "demo:x", "hf", "hf:", "openai:", "HF:x", "http:"):
        with pytest.raises(JudgeError, match=r"named .*, openai:MODEL@URL or demo"):
            open_judge(name)
    for name in ("openai:model", "openai:@http://x/v1", "openai:m@localhost", "http://x/v1"):
        with pytest.raises(JudgeError, match=r"openai:MODEL@URL, for example"):
            open_judge(name)


def test_model_names_may_hold_an_at_sign(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "poe.judges.server.ServerJudge",
        lambda model, url, **options: asked.append((model, url, options)),
    )
    open_judge("openai:org/model@v2@https://host:8000/v1", concurrency=3)
    open_judge("http://localhost:8000/v1", model="org/model")
    assert asked == [
        ("org/model@v2", "https://host:8000/v1", {"concurrency": 3}),
        ("org/model", "http://localhost:8000/v1", {}),
    ]


def test_what_is_not_installed_is_named_with_the_extra(monkeypatch):
    monkeypatch.setattr(judges, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(JudgeError, match=r"needs torch, which is not .*\[judge\]"):
        open_judge("hf:some/model")


def test_a_revision_follows_an_at_sign(monkeypatch):
    asked = []
    monkeypatch.setattr(judges, "find_spec", lambda name: object())
    monkeypatch.setattr(
        "poe.judges.transformers.TransformersJudge",
        lambda model, *, revision=None: asked.append((model, revision)),
    )
    open_judge("hf:org/model@abc")
    open_judge("hf:org/model")
    assert asked == [("org/model", "abc"), ("org/model", None)]
    with pytest.raises(JudgeError, match="names no model"):
        open_judge("hf:org/model@")
