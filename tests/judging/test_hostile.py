"""Devices, closed screens, and servers that mean harm: bounded, and no traceback."""

import gzip
import io
import os
import signal
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest

from judging.machine import write
from judging.practice.cli import main
from tests.helpers import HEARS_CTRL_C, ROOT
from tests.judge_server import SOUND, Raw, serving

pytestmark = pytest.mark.long

WORDS = [(f"n{k}", f"text number {k} of a kind") for k in range(6)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pd.DataFrame(WORDS, columns=["id", "text"]).to_csv("t.csv", index=False)
    rows = [("日本", "b", 0.7), ("b", "c", 0.6), ("c", "日本", 0.3)]
    pd.DataFrame(rows, columns=["first", "second", "p"]).to_csv("v.csv", index=False)
    return tmp_path


def rank(*more, judge="demo"):
    return main(["rank", "t.csv", "--attribute", "better", "--judge", judge, "--quiet", *more])


# What is written -------------------------------------------------------------------------------


def test_a_pipe_is_written_to_and_stays_one(folder):
    os.mkfifo("pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((folder / "pipe").read_text()))
    reader.start()
    assert rank("--out", "pipe") == 0
    reader.join(timeout=20)
    assert heard[0].startswith("rank,name,score")
    assert (folder / "pipe").is_fifo()


def test_a_device_stays_one(folder):
    assert rank("--out", "/dev/null") == 0
    assert not os.path.isfile("/dev/null")
    (folder / "link").symlink_to("/dev/null")
    assert rank("--out", "link") == 0
    assert (folder / "link").is_symlink()


def test_nobodys_files_are_deleted_and_modes_stay(folder):
    (folder / "o.csv.part").write_text("precious")
    assert rank("--out", "o.csv") == 0
    assert (folder / "o.csv.part").read_text() == "precious"
    (folder / "o.csv").chmod(0o640)
    assert rank("--out", "o.csv") == 0
    assert (folder / "o.csv").stat().st_mode & 0o777 == 0o640
    (folder / "far.csv").write_text("old")
    (folder / "near.csv").symlink_to("far.csv")
    write(folder / "near.csv", "new")
    assert (folder / "near.csv").is_symlink()
    assert (folder / "far.csv").read_text() == "new"
    assert [path.name for path in folder.glob("*.part")] == ["o.csv.part"]


# The screen ------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp437", "ascii"])
def test_a_screen_of_few_letters(encoding, folder, monkeypatch):
    """Names in Japanese, the dash of "1 to 2": the file is whole, the screen has marks."""
    for command in ("fit", "leaderboard"):
        screen = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", screen)
        assert main([command, "v.csv", "--out", "f.csv"]) == 0
        screen.flush()
        assert "??" in screen.buffer.getvalue().decode(encoding)
        assert "日本" in pd.read_csv("f.csv")["name"].tolist()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_screen_that_is_closed(closed, folder):
    command = f"{sys.executable} -m judging fit v.csv --out f.csv {closed}"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, capture_output=True, env=environment, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert len(pd.read_csv("f.csv")) == 3


def test_a_reader_that_goes_away_costs_no_file(folder):
    """As `| head -1` does; the pipe is closed before anything is printed."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "judging", "fit", "v.csv", "--out", "f.csv"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == b""
    assert len(pd.read_csv("f.csv")) == 3


def test_ctrl_c_while_loading_is_no_traceback():
    program = HEARS_CTRL_C + (
        "import os, signal, sys\n"
        "class Loading:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'judging.practice.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Loading())\n"
        "from judging.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")


# Servers that mean harm --------------------------------------------------------------------------


def hasty(url):
    return ("--judge-option", "timeout=1", "--judge-option", "patience=3"), f"openai:tiny@{url}"


def test_headers_a_byte_at_a_time_do_not_hold_a_run(folder, capsys):
    def drip(k, body):
        return Dripping()

    with serving(drip) as server:
        options, judge = hasty(server.url)
        begun = time.monotonic()
        assert rank(*options, judge=judge) == 1
        assert time.monotonic() - begun < 8
    assert "too slowly to be one" in capsys.readouterr().err


class Dripping(Raw):
    """Headers that never end, a byte every tenth of a second for half a minute."""

    pieces = (b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 300)


def test_a_few_bytes_that_stand_for_many(folder, capsys):
    """260 kB of gzip for a quarter of a gigabyte; and a gzip of that gzip."""
    once = gzip.compress(bytes(2**28), 1)
    twice = gzip.compress(once)
    for coding, content, said in (
        ("gzip", once, "answers with more than 16 MB"),
        ("gzip, gzip", twice, "answers with more than 16 MB"),
    ):
        head = f"Content-Encoding: {coding}\r\nContent-Length: {len(content)}\r\n\r\n"
        reply = Raw(b"HTTP/1.1 200 OK\r\n" + head.encode() + content)
        with serving(lambda k, body, reply=reply: reply) as s:
            options, judge = hasty(s.url)
            assert rank(*options, judge=judge) == 1
        assert said in capsys.readouterr().err


def test_what_was_asked_for_is_read():
    content = gzip.compress(SOUND)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(content)}\r\n\r\n"
    with serving(lambda k, body: Raw(head.encode() + content)) as server:
        from judging.judges import Answer
        from judging.judges.server.judge import FIRST_CALL, ServerJudge

        ((_, answer),) = ServerJudge("tiny", server.url).answer([FIRST_CALL])
    assert isinstance(answer, Answer)
    assert answer.tokens == 9
