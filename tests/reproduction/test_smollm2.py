"""SmolLM2, the language model that pip can install, and GGUF files in general."""

from __future__ import annotations

import json

import numpy as np
import pytest

from judging import judges, prompts
from judging.datasets.models import place
from judging.errors import JudgeError
from judging.judges import Question, Text
from reproduction import ask_model


@pytest.mark.parametrize("name", ["smollm2:x", "smollm"])
def test_other_names_are_no_judge(name):
    with pytest.raises(JudgeError, match="there is no judge"):
        judges.open(name)


@pytest.mark.needs("torch")
def test_a_file_that_is_not_there():
    with pytest.raises(JudgeError, match="there is no file nowhere"):
        judges.open("hf:nowhere.gguf")


# The model itself --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader():
    return judges.open("smollm2")


@pytest.mark.needs("smollm2")
def test_it_answers_as_it_did(reader):
    """The book's example again, against what data/measured has."""
    stored = json.loads((ask_model.folder() / "ferry.json").read_text("utf-8"))
    said = ask_model.told_of_ferry(reader, tokens=3)
    assert said["specification"] == stored["specification"]
    assert len(said["asked"]) == len(stored["asked"]) == 12
    for now, then in zip(said["asked"], stored["asked"], strict=True):
        assert (now["first"], now["second"]) == (then["first"], then["second"])
        np.testing.assert_allclose(np.exp(now["log_p"]), np.exp(then["log_p"]), atol=1e-3)
        likeliest = next(iter(then["next"].items()))
        assert now["next"][likeliest[0]] == pytest.approx(likeliest[1], abs=1e-3)
        assert likeliest == (" A", pytest.approx(then["log_p"][0], abs=1e-3))


@pytest.mark.needs("smollm2")
def test_kept_weights_are_those_of_the_file(reader):
    """The copy that is read next time gives what transformers makes of the GGUF file itself."""
    import torch
    from transformers import AutoModelForCausalLM

    path = place("smollm2")
    again = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    kept = dict(reader.loaded.model.named_parameters())
    for name, values in again.named_parameters():
        assert torch.equal(values, kept[name]), name


@pytest.mark.needs("smollm2")
def test_digits_are_read_after_their_space(reader):
    """The tokenizer gives the space before a digit a token of its own, which is no label."""
    prompt = prompts.load("topicalchat", "coherency", "g-eval")
    question = Question(prompt, Text("a", "Yes, I think so."), None, Text("c", "Is it late?"))
    written = reader.writer.write(prompt, question.text)
    assert written.endswith("Score: ")
    ((_, answer),) = reader.answer([question])
    assert 0.1 < answer.mass <= 1.0
    letters = prompts.load("topicalchat", "coherency")
    pair = Question(letters, Text("a", "Yes."), Text("b", "No."), Text("c", "Is it late?"))
    assert reader.writer.write(letters, pair.text).endswith("Response")
