"""The store under violence: kills, two writers, full disks, closed folders."""

import json
import random
import resource
import signal
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest

from judging.errors import JudgeError
from judging.question import Answer
from judging.store import Store
from tests.asking import HashJudge, expected, filled, questions
from tests.helpers import start

ASKED = questions(12, contexts=3)  # 396
EXPECTED = {question.key: expected(question) for question in ASKED}

# Asks everything and writes the keys of what was reported as stored, one a line, unbuffered.
ASK = """
import os
from judging.store import Store
from tests.asking import HashJudge, expected, questions

asked = questions(12, contexts=3)
key = {{expected(question): question.key for question in asked}}

def progress(*, done, total, answers):
    os.write(1, "".join(key[answer] + "\\n" for answer in answers).encode())

with Store({path!r}) as store:
    store.ask(HashJudge(delay={delay}), asked, progress)
"""


def stored(path):
    """Everything in the store, straight from the file."""
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = raw.execute(
            "SELECT hex(question), log_p, tokens, computed, seconds, draws FROM answers"
        ).fetchall()
    return {key.lower(): Answer(tuple(json.loads(log_p)), *rest) for key, log_p, *rest in rows}


@pytest.mark.long
def test_killed_at_random_moments_nothing_reported_is_lost(path):
    rng = random.Random(4)
    reported, kills = set(), 0
    for _ in range(3):
        running = start(ASK.format(path=str(path), delay=0.001))
        lines = []
        wanted = rng.randrange(1, 60)  # reports to wait for before the kill
        for line in running.stdout:
            lines.append(line)
            if len(lines) == wanted:
                break
        pause = rng.random() * 0.01
        threading.Event().wait(pause)  # anywhere in a commit or between two
        kills += running.poll() is None
        running.send_signal(signal.SIGKILL)
        lines += running.stdout.readlines()
        running.communicate()
        # The kill may have cut the last line.
        new = {line.strip() for line in lines if line.endswith("\n")}
        assert not new & reported  # asked again after it was reported
        reported |= new
        found = stored(path)
        assert reported <= found.keys()
        assert all(found[key] == EXPECTED[key] for key in found)
    assert kills >= 2  # else this was no test
    with Store(path) as store:
        last = HashJudge()
        done = len(store)
        answers = store.ask(last, ASKED)
    assert len(last.asked) == len(ASKED) - done
    assert answers == [EXPECTED[question.key] for question in ASKED]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judgements.sqlite"


def test_two_processes_write_at_once(path):
    both = [start(ASK.format(path=str(path), delay=0.0005)) for _ in range(2)]
    outputs = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert stored(path) == EXPECTED


def test_a_full_disk_is_named_and_loses_nothing(path):
    size = filled(path, ASKED[:40]).stat().st_size

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, size + 20_000))

    running = start(ASK.format(path=str(path), delay=0.001), preexec_fn=limit)
    out, error = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "judging.errors.JudgeError" in error
    assert "judgements.sqlite: the disk" in error.splitlines()[-1]
    reported = set(out.split())
    assert reported  # some were stored before it was full
    found = stored(path)
    assert reported | {question.key for question in ASKED[:40]} <= found.keys()
    assert all(found[key] == EXPECTED[key] for key in found)
    again = HashJudge()  # there is room again
    with Store(path) as store:
        store.ask(again, ASKED)
    assert len(again.asked) == len(ASKED) - len(found)


AS_NOBODY = """
import os
from judging.errors import JudgeError
from judging.store import Store
from tests.asking import HashJudge, questions

import filelock  # like what is imported next, while it may be read

with Store({path!r}) as store:
    store.comparisons()  # imports everything, while it may
if os.getuid() == 0:
    os.setuid(65534)  # permissions do not hold root back
with Store({path!r}) as store:
    print(len(store.ask(HashJudge(), questions(3))), len(store.comparisons()))
    try:
        store.ask(HashJudge(), questions(4))
    except JudgeError as error:
        print(error)
"""


def test_a_folder_that_cannot_be_written_can_be_read():
    with tempfile.TemporaryDirectory() as name:  # pytest's own are closed to others
        path = Path(name) / "judgements.sqlite"
        filled(path, questions(3)).chmod(0o444)
        path.parent.chmod(0o555)
        out, error = start(AS_NOBODY.format(path=str(path))).communicate(timeout=60)
        assert error == ""
        reading, writing = out.splitlines()
        assert reading == "6 6"
        assert "judgements.sqlite: the file or its folder cannot be written" in writing
        path.parent.chmod(0o755)


def test_a_store_locked_by_another_process_is_named(path, monkeypatch):
    filled(path, ASKED[:5])
    monkeypatch.setattr("judging.store.schema.WAIT", 0.05)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JudgeError, match="another process has kept the store locked"):
            Store(path)
        other.execute("ROLLBACK")
    assert len(stored(path)) == 5


def test_a_torn_answer_would_be_seen(path):
    """Control: the comparison above notices a single changed digit."""
    with sqlite3.connect(filled(path, ASKED)) as raw:
        raw.execute(
            "UPDATE answers SET tokens = tokens + 1 WHERE question IN "
            "(SELECT question FROM answers LIMIT 1)"
        )
    assert stored(path) != EXPECTED
