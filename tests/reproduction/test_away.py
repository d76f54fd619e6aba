"""Questions that travel as token ids come back as answers, and two machines are compared."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judging.errors import JudgeError
from judging.store import Store
from reproduction import answers, ask_model, away
from reproduction.answers import PLACES
from reproduction.settings import Settings
from studies import engines

PROMPTS = [[5, 6, 7, 8], [5, 6, 7, 9, 10], [5, 6], [5, 6], [1]]


def packed(tmp_path, *parts):
    """A file as `away.pack` writes it."""
    file = tmp_path / "questions.npz"
    away.write(file, parts, {"model_type": "qwen2"})
    return away.Packed(file)


def test_prompts_come_out_as_they_went_in(tmp_path):
    labels = np.arange(10).reshape(5, 2)
    there = packed(
        tmp_path,
        away.Part("a", PROMPTS, labels),
        away.Part("b", PROMPTS[::-1], labels[::-1]),
    )
    assert there.runs == ["a", "b"]
    assert there.config == {"model_type": "qwen2"}
    for k, expected in enumerate((PROMPTS, PROMPTS[::-1])):
        assert there.part(k).ids == expected
    assert np.array_equal(there.part(1).labels, labels[::-1])


class Fake:
    """An engine whose answer is the length of a prompt; it stops the clock after one part."""

    def __init__(self, *of, **options):
        pass

    def answer(self, ready):
        yield [(one.position, (-float(one.tokens), -1.0), 2.0) for one in ready]


@pytest.mark.needs("torch")
def test_answers_are_written_part_by_part_until_time_is_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("judging.judges.transformers.engine.Engine", Fake)
    labels = np.zeros((5, 2), dtype=int)
    there = packed(tmp_path, *(away.Part(run, PROMPTS, labels) for run in "aab"))

    def answered(name, **options):
        out = tmp_path / name
        out.mkdir()
        away.answer(there, None, out, **options)
        return {path.stem: np.load(path) for path in out.glob("*.npz")}

    found = answered("all", until=np.inf)
    assert set(found) == {"0", "1", "2"}
    assert found["1"]["log_p"][:, 0].tolist() == [-4, -5, -2, -2, -1]
    assert found["0"]["computed"].tolist() == [2.0] * 5
    assert "15 answers, 30 tokens" in capsys.readouterr().out
    assert set(answered("second of three", until=np.inf, turn="2/2")) == {"1"}
    assert not answered("no time", until=-np.inf)


@pytest.fixture
def back(tmp_path, monkeypatch, placeholder_texts):
    """One part of a dialogue's questions, answered elsewhere; `unpack` finds as many here."""
    (run,) = [one for one in ask_model.RUNS if one.name == "topicalchat-poe"]
    some = run.of_context(ask_model.load("topicalchat"), 0)[:2]

    class Writer:
        def __init__(self):
            self.specification = {"kind": "transformers", "model": "qwen"}

        def prepare(self, some):
            return [type("Ready", (), {"ids": [9, 9]})() for _ in some]

    monkeypatch.setattr(away, "judge", lambda **options: Writer())
    monkeypatch.setattr(away, "questions", lambda: iter([(run.name, some)]))
    out = tmp_path / "out"
    out.mkdir()
    log_p = np.log([[0.75, 0.25], [0.5, 0.5]])
    np.savez(out / "0.npz", log_p=log_p, computed=np.ones(2), seconds=np.ones(2), at=0.0)
    return run, out


def test_answers_come_back_into_a_store(tmp_path, back):
    run, out = back
    packed(tmp_path, away.Part(run.name, [[1, 2, 3], [9, 9]], np.zeros((2, 2), dtype=int)))
    away.unpack(tmp_path / "questions.npz", tmp_path / "store.sqlite", out)
    with Store(tmp_path / "store.sqlite") as store:
        table = store.table()
    assert np.exp(table["log_p_1"]).tolist() == pytest.approx([0.75, 0.5])
    assert table["tokens"].tolist() == [3, 2]


def test_a_file_of_other_questions_is_refused(tmp_path, back):
    run, out = back
    packed(tmp_path, away.Part(run.name, [[9, 9], [1, 2]], np.zeros((2, 2), dtype=int)))
    with pytest.raises(JudgeError, match="other questions than this clone"):
        away.unpack(tmp_path / "questions.npz", tmp_path / "store.sqlite", out)


def test_two_machines_are_compared_call_by_call(monkeypatch, tmp_path):
    places = pd.DataFrame([["a", 0, 0, 1], ["a", 0, 1, 0], ["a", 0, 2, 1]], columns=PLACES)
    p = {"gpu": [0.6, 0.2, 0.9], "processor": [0.5, 0.4, 0.8]}
    tables = {
        name: places.assign(log_p_1=np.log(x), log_p_2=np.log1p(-np.array(x)))
        for name, x in p.items()
    }
    tables["processor"] = tables["processor"].iloc[:2]  # one was asked of the GPU alone
    (tmp_path / "t.csv.gz").write_bytes(b"")
    monkeypatch.setattr(answers, "folder", lambda model: tmp_path)
    which = {answers.QWEN: "gpu", answers.PROCESSOR: "processor"}
    monkeypatch.setattr(answers, "kept", lambda name, model: tables[which[model]])
    one, every = engines.table(Settings(draws=1)).to_dict("records")
    assert (one["table"], every["table"]) == ("t", "all")
    for row in (one, every):
        assert row["answers"] == 2
        assert row["apart"] == pytest.approx(0.15)  # (.1 + .2) / 2
        assert row["shift"] == pytest.approx(-0.05)
        assert row["most"] == pytest.approx(0.2)
        assert row["same"] == 100.0  # .5 counts as the first label, as argmax has it


def test_a_gpus_answers_take_the_place_of_a_processors(monkeypatch, tmp_path, placeholder_texts):
    """The demo judge on both sides: what was asked again moves, what was not stays."""
    for name in ("QWEN", "PROCESSOR"):
        monkeypatch.setattr(ask_model, name, replace(getattr(answers, name), judge="demo"))
    monkeypatch.setitem(ask_model.MODELS, "qwen", ask_model.QWEN)

    def folder(model=ask_model.SMOLLM2):
        return tmp_path / "measured" / model.folder

    for module in (ask_model, answers):
        monkeypatch.setattr(module, "folder", folder)
    few = ask_model.Run("topicalchat", "poe", ("coherency",), 2)
    other = ask_model.Run("topicalchat", "comparative-1", ("coherency",), 2)
    monkeypatch.setitem(ask_model.ASKED, "qwen", (few, other))
    ask_model.work(tmp_path / "first.sqlite", which="qwen")
    ask_model.keep(tmp_path / "first.sqlite", "qwen")
    more = ask_model.Run("topicalchat", "poe", ("coherency",), 5)
    monkeypatch.setitem(ask_model.ASKED, "qwen", (more,))
    monkeypatch.setattr(ask_model, "kept", lambda *of: pd.DataFrame(columns=PLACES))
    ask_model.work(tmp_path / "second.sqlite", which="qwen")
    machines = [{"device": name, "torch": "2", "transformers": "5"} for name in ("Y", "X", "Y")]
    ask_model.keep_apart(tmp_path / "second.sqlite", [more, other], machines=machines)
    here, beside = (
        pd.read_csv(folder(m) / "topicalchat-poe.csv.gz")
        for m in (ask_model.QWEN, ask_model.PROCESSOR)
    )
    assert (here["context"].nunique(), beside["context"].nunique()) == (5, 2)
    assert (folder(ask_model.QWEN) / "topicalchat-comparative-1.csv.gz").exists()
    assert not (folder(ask_model.PROCESSOR) / "topicalchat-comparative-1.csv.gz").exists()
    about, earlier = (
        json.loads((folder(m) / "measured.json").read_text())["runs"]
        for m in (ask_model.QWEN, ask_model.PROCESSOR)
    )
    assert [one["device"] for one in about["topicalchat-poe"]] == ["X and Y"]
    assert list(earlier) == ["topicalchat-poe"]
    assert "device" not in about["topicalchat-comparative-1"][0]
